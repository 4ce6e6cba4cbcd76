// SPDX-License-Identifier: MIT OR Apache-2.0
//! Streams that real programs are made of: warps, blocks or the loads of a thread at distances of a power of two, and grid-stride loops with
//! several loads in flight. Cards read at about the same rate in all of them; and what in the memory system that rests on, one mechanism at a
//! time.

use std::sync::LazyLock;

use warpwatt_config::Config;
use warpwatt_runtime::{Args, LaunchConfig};

use crate::bench::{Bench, gpu};
use crate::figure::{Figure, all_hold};
use crate::kernels::looped;

const THREADS: u32 = 256;
/// Of the buffer. Places beyond it start again behind what has been read.
const BYTES: u64 = 1 << 28;

/// Where the threads of a stream read, in bytes.
#[derive(Clone, Copy)]
struct Shape {
    /// Between warps of a block, and between blocks.
    warps: u64,
    blocks: u64,
    /// Between the loads of a thread, of which so many are made before the first is used.
    loads: u64,
    in_flight: usize,
    /// Bytes from one stretch to the next when the buffer has been gone through.
    turn: u64,
}

impl Shape {
    fn kernel(&self) -> String {
        let Shape { warps, blocks, loads, in_flight, turn } = *self;
        let before = format!(
            "    shr.u32 %r8, %r3, 5;
    mul.wide.u32 %rd3, %r4, {blocks};
    mul.wide.u32 %rd4, %r8, {warps};
    add.u64 %rd3, %rd3, %rd4;
    shr.u64 %rd4, %rd3, {};
    mul.lo.u64 %rd4, %rd4, {turn};
    add.u64 %rd3, %rd3, %rd4;
    cvt.u32.u64 %r9, %rd3;
    and.b32 %r10, %r3, 31;
    shl.b32 %r10, %r10, 2;
    add.u32 %r9, %r9, %r10;
    mov.f32 %f70, 0f00000000;",
            BYTES.ilog2()
        );
        let place = |i: usize| {
            let r = 20 + i;
            format!(
                "    and.b32 %r{r}, %r9, {};\n    cvt.u64.u32 %rd{r}, %r{r};\n    add.u64 %rd{r}, %rd0, %rd{r};\n    add.u32 %r9, %r9, {loads};\n",
                BYTES - 1
            )
        };
        let all = |one: &dyn Fn(usize) -> String| (0..in_flight).map(one).collect::<String>();
        let body = all(&place)
            + &all(&|i| format!("    ld.global.f32 %f{i}, [%rd{}];\n", 20 + i))
            + &all(&|i| format!("    add.f32 %f70, %f70, %f{i};\n"));
        let after = "    setp.eq.f32 %p1, %f70, 0fBF800000;\n    @%p1 st.global.f32 [%rd0], %f70;\n";
        looped("", &before, &body, after)
    }

    fn cycles(&self, config: &Config, blocks: u32, iterations: u32) -> u64 {
        let mut bench = Bench::new(config, &self.kernel());
        let at = bench.alloc(BYTES);
        let args = Args::new().ptr(at).u32(iterations).u32(0).u32(0);
        bench.run(LaunchConfig::new(blocks, THREADS), &args).cycles
    }
}

/// 10^9 bytes a second, from what is added to a run.
fn rate(config: &Config, bytes: u64, cycles: u64) -> f64 {
    bytes as f64 / cycles as f64 * f64::from(config.clock.core_mhz) / 1e3
}

/// Each thread makes 16 loads.
fn stream(config: &Config, shape: Shape) -> f64 {
    let loads = 16;
    let iterations = loads / shape.in_flight as u32;
    let [few, many] = [240, 480].map(|blocks| shape.cycles(config, blocks, iterations));
    rate(config, 240 * u64::from(THREADS * 4 * loads), many - few)
}

/// Warps or blocks that each read a stretch of their own, so far from each other.
fn stretches(distance: u64, in_flight: usize, of_blocks: bool) -> Shape {
    let warps = if of_blocks { 16 * 128 } else { distance };
    let blocks = if of_blocks { distance } else { 8 * distance };
    Shape { warps, blocks, loads: 128, in_flight, turn: 16 * 128 }
}

/// Neighbouring warps read neighbouring lines, and the loads of a thread are so far from each other.
fn far_loads(distance: u64, in_flight: usize) -> Shape {
    Shape { warps: 128, blocks: 1024, loads: distance, in_flight, turn: 1 << 20 }
}

/// A grid-stride loop of a fixed number of blocks.
fn grid_stride(config: &Config, blocks: u32, in_flight: usize) -> f64 {
    let step = u64::from(blocks * THREADS * 4);
    let shape = Shape { warps: 128, blocks: 1024, loads: step, in_flight, turn: 128 };
    let iterations = [48, 112].map(|loads| loads / in_flight as u32);
    let [few, many] = iterations.map(|iterations| shape.cycles(config, blocks, iterations));
    rate(config, step * 64, many - few)
}

/// What published runs on the cards allow: two runs on the GTX 480, and 5 % beyond; one on the GTX 580.
fn beside_card(what: String, gpu: &str, measured: f64) -> Figure {
    let (known, tolerance, silicon) =
        if gpu == "gtx480" { (158.0, 0.0875, "152, 164") } else { (170.0, 0.08, "170") };
    Figure::new(format!("{gpu}: {what}"), known, measured, "GB/s", tolerance)
        .from("published runs on the card, streaming read through L1 with plain loads")
        .silicon(silicon)
}

static STREAMS: LazyLock<Vec<Figure>> = LazyLock::new(|| {
    let mut figures = Vec::new();
    for name in ["gtx480", "gtx580"] {
        let config = gpu(name, &[]);
        for (bits, in_flight) in [(12, 4), (17, 2), (20, 4)] {
            let measured = stream(&config, stretches(1 << bits, in_flight, false));
            let what = format!("read, warps 2^{bits} bytes apart, {in_flight} loads in flight");
            figures.push(beside_card(what, name, measured));
        }
        for bits in [16, 21] {
            let measured = stream(&config, stretches(1 << bits, 4, true));
            figures.push(beside_card(
                format!("read, blocks 2^{bits} bytes apart, 4 loads in flight"),
                name,
                measured,
            ));
        }
        for (bits, in_flight) in [(18, 8), (20, 16)] {
            let measured = stream(&config, far_loads(1 << bits, in_flight));
            let what = format!("read, loads of a thread 2^{bits} bytes apart, {in_flight} in flight");
            figures.push(beside_card(what, name, measured));
        }
        for (blocks, in_flight) in [(8, 2), (8, 4), (8, 8), (4, 4)] {
            let blocks = blocks * config.gpu.sms;
            let measured = grid_stride(&config, blocks, in_flight);
            let what = format!("grid-stride reduction of {blocks} blocks, {in_flight} loads in flight");
            // Warps of a loop stay in step, so that lines come in waves.
            figures.push(Figure { tolerance: 0.17, ..beside_card(what, name, measured) });
        }
    }
    figures
});

#[test]
fn streams_at_any_distance_run_at_the_rate_of_the_cards() {
    all_hold(&STREAMS);
}

/// A mechanism, and what takes it away.
const MECHANISMS: &[(&str, &[&str])] = &[
    ("as the card", &[]),
    ("sets by the line number", &["sm.l1d.set_index=modulo"]),
    ("places taken with the miss", &["sm.l1d.allocate=miss"]),
    ("both", &["sm.l1d.set_index=modulo", "sm.l1d.allocate=miss"]),
    ("partitions and channels not hashed", &["dram.address_hash=false"]),
    ("32 miss registers of L1", &["sm.l1d.mshrs=32"]),
    ("32 miss registers of an L2 slice", &["l2.mshrs=32"]),
    ("128 miss registers of an L2 slice", &["l2.mshrs=128"]),
    ("a memory 115 cycles nearer", &["dram.cycles=40"]),
];

/// GB/s with a mechanism taken away: a grid-stride loop with four loads in flight, and loads 2^20 bytes apart with 16 in flight.
static ATTRIBUTED: LazyLock<Vec<(&str, [f64; 2])>> = LazyLock::new(|| {
    let one = |settings: &[&str]| {
        let config = gpu("gtx480", settings);
        [grid_stride(&config, 120, 4), stream(&config, far_loads(1 << 20, 16))]
    };
    MECHANISMS.iter().map(|&(what, settings)| (what, one(settings))).collect()
});

/// What the grid-stride loop of 60 blocks is short of: settings and loads in flight.
const FEW_BLOCKS: [(&str, &[&str], usize); 4] = [
    ("as the card: 128 lines wanted, 64 miss registers of L1", &[], 4),
    ("2 loads in flight: 64 lines wanted", &[], 2),
    ("128 miss registers of L1", &["sm.l1d.mshrs=128"], 4),
    ("loose round-robin scheduler", &["sm.scheduler=lrr"], 4),
];

static FEW: LazyLock<Vec<f64>> = LazyLock::new(|| {
    let one = |&(_, settings, in_flight): &(&str, &[&str], usize)| {
        grid_stride(&gpu("gtx480", settings), 60, in_flight)
    };
    FEW_BLOCKS.iter().map(one).collect()
});

#[test]
fn few_blocks_lose_what_a_greedy_scheduler_lets_warps_run_ahead() {
    let [card, fewer, more, turns] = FEW[..] else { unreachable!("one rate for each line") };
    assert!(fewer > 1.15 * card && more > 1.15 * card && turns > 1.05 * card, "{FEW:?}");
}

#[test]
fn the_rate_rests_on_the_hash_the_place_and_the_registers() {
    let of = |what: &str| ATTRIBUTED.iter().find(|(name, _)| *name == what).expect("it was measured").1;
    let card = of("as the card");
    assert!(of("both")[0] < 0.8 * card[0] && of("both")[1] < 0.5 * card[1]);
    assert!(of("places taken with the miss")[1] < 0.5 * card[1]);
    assert!(of("partitions and channels not hashed")[0] < 0.85 * card[0]);
}

/// The table of mechanisms.
pub fn attributed() -> String {
    let mut text = "\n### Which mechanisms limit streams\n\nGB/s of a GTX 480 with one mechanism removed: a grid-stride loop of 120 blocks with 4 loads in flight, and loads of a thread 2^20 bytes apart with 16 in flight. The card reads 152 to 164.\n\n| | grid-stride | loads apart |\n|---|---:|---:|\n".to_owned();
    for (what, [loops, loads]) in ATTRIBUTED.iter() {
        text += &format!("| {what} | {loops:.1} | {loads:.1} |\n");
    }
    text += FEW_BLOCKS_TEXT;
    for ((what, ..), rate) in FEW_BLOCKS.iter().zip(FEW.iter()) {
        text += &format!("| {what} | {rate:.1} |\n");
    }
    text += NEIGHBOURS;
    text
}

const FEW_BLOCKS_TEXT: &str = "
### Why 60 blocks read more slowly than 120

A grid-stride loop of 60 blocks has 32 warps an SM, each with 4 loads in flight: 128 lines, for which L1 has 64 miss registers. The scheduler is greedy, then oldest:
a free miss register always goes to the oldest warp that waits for one. Old warps run through the whole loop while young ones wait, and when the old ones
have exited, too few are left to keep 64 lines in flight. All SMs finish within 2 % of each other; but in the mean over the run of 28 iterations 23.6 of 32 warps are
resident (31.5 with 128 miss registers), and the miss registers are full in 55 % of the cycles. This loss grows with the length of the loop, so the difference of two runs includes it. The row cycle of the memory matters little: with row times of one clock the loop reads at 140 GB/s. GB/s with one mechanism changed:

| | 60 blocks |
|---|---:|
";

/// Figures of runs by launch files, with a buffer that the host had filled.
const NEIGHBOURS: &str = "
The published figures are for streaming reads, not for this loop; whether a card loses as much is unknown. Neither its scheduling policy nor its number of miss registers is published, so both
choices are kept.

### Accuracy of the rates of streams

A rate is the difference between runs of 240 and 480 blocks. The end of a run, when the last blocks are thinly spread over the SMs, differs between the two, so that changes of a few
cycles anywhere move the difference by several percent, although the runs themselves hardly change. The read with warps 2^17
bytes apart on a GTX 580, with 2 loads in flight: 177.6 GB/s from 23,998 and 41,091 cycles; with branches of 5, 7 and 8 cycles instead of 6: 178.2, 183.4, 180.3; additions of 5 and 7 cycles instead of
6: 182.6, 184.7; multiply-adds of 5 and 7: 180.0, 181.2; 32 register banks: 185.7; a block dispatched every second cycle: 172.5; six more cycles to launch a block: 186.9. The longer run takes between 40,762 and 41,551
cycles in all of these, within 2 %, and the shorter one between 23,954 and 24,799, within 3.5 %. A different register allocation shifts such cycles: when the rule for registers of memory operations was added, this row
went from 179.2 to 164.0 GB/s, while the same kernel from a launch file, which starts with other lines in L2, read at 176.7 before and 177.6 after it, with the same instructions and the same row hits.
";

pub fn figures() -> Vec<Figure> {
    STREAMS.to_vec()
}
