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
    text
}

pub fn figures() -> Vec<Figure> {
    STREAMS.to_vec()
}
