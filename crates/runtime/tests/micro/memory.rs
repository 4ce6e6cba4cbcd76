// SPDX-License-Identifier: MIT OR Apache-2.0
//! Global memory: latency by pointer chase, and bandwidth.

use std::sync::LazyLock;

use warpwatt_config::Config;
use warpwatt_runtime::{Args, LaunchConfig};

use crate::bench::{Bench, gpu, one_sm};
use crate::figure::{Figure, all_hold};
use crate::kernels::{self, Stream};

/// Cycles of a load that goes around a ring of `count` pointers, `stride` bytes apart, after the ring has been gone around once.
fn chase(config: &Config, load: &str, count: u64, stride: u64) -> f64 {
    chase_as(LaunchConfig::new(1, 1), config, load, count, stride)
}

/// [`chase`] with a launch that may prefer L1.
fn chase_as(launch: LaunchConfig, config: &Config, load: &str, count: u64, stride: u64) -> f64 {
    let rounds = |n: u64| n * count.max(256).div_ceil(16);
    let time = |n: u64| {
        let mut bench = Bench::new(config, &kernels::chase(load));
        let at = bench.alloc(count * stride);
        bench.ring(at, count, stride);
        let args = Args::new().ptr(at).u32(n as u32).u32(0).u32(0);
        bench.run(launch, &args).cycles
    };
    (time(rounds(2)) - time(rounds(1))) as f64 / (16 * rounds(1)) as f64
}

/// Core cycles of clocks of another domain.
fn cycles(clocks: u32, mhz: u32, config: &Config) -> f64 {
    f64::from(clocks) * f64::from(config.clock.core_mhz) / f64::from(mhz)
}

/// A load that L2 answers: operands, the way there with one flit, the slice, the way back with a line.
pub fn l2_latency(config: &Config) -> f64 {
    let network =
        |payload| cycles(config.flits(payload), config.clock.noc_mhz, config) + f64::from(config.noc.cycles);
    let slice = cycles(config.l2_line_cycles() + config.l2.cycles, config.clock.l2_mhz, config);
    2.0 + 1.0 + network(0) + slice + network(128)
}

/// What memory adds to that, for a row that is open.
fn dram_latency(config: &Config) -> f64 {
    let clocks = config.dram.t_cl + config.dram_line_accesses() * config.dram_access_clocks();
    let fill = cycles(config.l2_line_cycles(), config.clock.l2_mhz, config);
    cycles(clocks, config.clock.dram_mhz, config) + f64::from(config.dram.cycles) + fill
}

static LATENCIES: LazyLock<Vec<Figure>> = LazyLock::new(|| {
    let config = gpu("gtx480", &["gpu.sms=1"]);
    let load = "ld.global.u64";
    let result = f64::from(2u32.div_ceil(config.rf.write_back_memory) - 1);
    let l1 = f64::from(2 + config.l1d.cycles) + result;
    let l2 = l2_latency(&config) + result;
    let mut figures = vec![
        Figure::new("load: 8 KB, in L1", l1, chase(&config, load, 64, 128), "cycles", 0.0)
            .from("1 + 1 operand + sm.l1d.cycles + the second word of the result")
            .silicon("22 (45 hot clocks on a GF106: Andersch et al., ISPASS 2015) to 35 (GPGPU-Sim 4.2, tuned to the card)"),
        Figure::new(
            "load: 32 KB, in the 48 KB of L1 that the program prefers",
            l1,
            chase_as(LaunchConfig::new(1, 1).prefer_l1(), &config, load, 256, 128),
            "cycles",
            0.0,
        )
        .from("1 + 1 operand + sm.l1d.cycles + the second word of the result"),
        Figure::new("load: 32 KB, without the preference", l2, chase(&config, load, 256, 128), "cycles", 0.03)
            .from("as from L2"),
        Figure::new("load: 256 KB, in L2", l2, chase(&config, load, 2048, 128), "cycles", 0.03)
            .from("4 + flits and noc.cycles both ways + data array + l2.cycles")
            .silicon("155 (310 hot clocks on a GF106: Andersch et al.)"),
        Figure::new(
            "load: 1.5 MB, in memory",
            l2 + dram_latency(&config),
            chase(&config, load, 12288, 128),
            "cycles",
            0.05,
        )
        .from("the same + dram.cycles + t_cl + burst + fill, rows mostly open")
        .silicon("342 (685 hot clocks on a GF106: Andersch et al.), 200 to 400 (400 to 800 hot clocks: CUDA C Programming Guide)"),
    ];
    // An L2 of one line, and two lines in turn: in one row, or in two rows of one bank.
    let small = gpu(
        "gtx480",
        &[
            "gpu.sms=1",
            "gpu.partitions=1",
            "sm.l1d.global=false",
            "l2.sets=1",
            "l2.ways=1",
            "dram.channels=1",
            "dram.bank_hash=false",
            // Without refreshes, which meet some loads and not others.
            "dram.t_refi=1000000",
        ],
    );
    let hit = chase(&small, load, 2, 128);
    let miss = chase(&small, load, 2, u64::from(small.dram.banks * small.dram.row_bytes));
    let row = cycles(small.dram.t_rp + small.dram.t_rcd, small.clock.dram_mhz, &small);
    figures.push(
        Figure::new("memory: another row of a bank, against the open one", row, miss - hit, "cycles", 0.17)
            .from("dram.t_rp + dram.t_rcd, to a clock or two of L2 and memory"),
    );
    figures
});

#[test]
fn a_load_takes_as_long_as_its_way() {
    all_hold(&LATENCIES);
}

/// 10^9 bytes a second that are asked for: those that more blocks ask for, in the time that they add.
pub fn bandwidth(config: &Config, what: Stream, apart: usize) -> f64 {
    let step = (32 * 256 * apart) as u64;
    // Enough for memory to settle, and not more lines for strides.
    let blocks = [600, 1800].map(|blocks| blocks / apart.min(8) as u64);
    let time = |blocks: u64| {
        let mut bench = Bench::new(config, &kernels::stream(what, apart));
        let (buffers, behind) = if what == Stream::Copy { (2, blocks * step / 4096) } else { (1, 0) };
        let at = bench.alloc(buffers * blocks * step);
        let args = Args::new().ptr(at).u32(0).u32(behind as u32).u32(0);
        bench.run(LaunchConfig::new(blocks as u32, 256), &args).cycles
    };
    let bytes = (blocks[1] - blocks[0]) * 32 * 256 * if what == Stream::Copy { 2 } else { 1 };
    bytes as f64 / (time(blocks[1]) - time(blocks[0])) as f64 * f64::from(config.clock.core_mhz) / 1e3
}

static BANDWIDTHS: LazyLock<Vec<Figure>> = LazyLock::new(|| {
    let mut figures = Vec::new();
    let (gtx480, gtx580) = (gpu("gtx480", &[]), gpu("gtx580", &[]));
    let streamed = bandwidth(&gtx480, Stream::Read, 1);
    figures.push(
        Figure::new("gtx480: streaming read", 158.0, streamed, "GB/s", 0.0875)
            .from("two published runs on the card, and 5 % beyond")
            .silicon("152, 164"),
    );
    figures.push(
        Figure::new("gtx580: streaming read", 170.0, bandwidth(&gtx580, Stream::Read, 1), "GB/s", 0.05)
            .from("published run on the card")
            .silicon("170"),
    );
    let vectors = bandwidth(&gtx480, Stream::ReadVectors, 1);
    figures.push(
        Figure::new("gtx480: streaming read, 16 bytes a lane", streamed, vectors, "GB/s", 0.1)
            .from("as with 4 bytes a lane"),
    );
    for stride in [2, 8, 32] {
        figures.push(
            Figure::new(
                format!("gtx480: read of one word in {stride}"),
                streamed / stride as f64,
                bandwidth(&gtx480, Stream::Read, stride),
                "GB/s",
                0.1,
            )
            .from("streaming read / stride: whole lines move"),
        );
    }
    let peak = gtx480.dram_peak_bytes_per_second() as f64 / 1e9;
    // Each line goes through the data array of its slice twice: written, and read when it makes room.
    let per_line =
        cycles(2 * gtx480.l2_line_cycles(), gtx480.clock.l2_mhz, &gtx480) / f64::from(gtx480.clock.core_mhz);
    let array = f64::from(gtx480.gpu.partitions) * 128.0 / per_line / 1e3;
    let write = bandwidth(&gtx480, Stream::Write, 1);
    figures.push(
        Figure::new("gtx480: streaming write", peak.min(array), write, "GB/s", 0.05)
            .from("gpu.partitions × 128 bytes / (2 × 128 / l2.port_bytes), or the data bus if slower"),
    );
    figures.push(
        Figure::new(
            "gtx480: copy, both directions together",
            peak,
            bandwidth(&gtx480, Stream::Copy, 1),
            "GB/s",
            0.25,
        )
        .from("peak of the data bus; turning it around costs some"),
    );
    figures
});

#[test]
fn bandwidths_are_those_of_the_cards() {
    all_hold(&BANDWIDTHS);
}

/// Blocks read the same 512 KB over and over, past L1.
static L2: LazyLock<Vec<Figure>> = LazyLock::new(|| {
    let config = gpu("gtx480", &["sm.l1d.global=false"]);
    let measured = bandwidth(&config, Stream::ReadAgain, 1);
    // A partition's port sends a line in as many network clocks as it has flits.
    let port = 128.0 / f64::from(config.flits(128)) * f64::from(config.clock.noc_mhz) / 1e3;
    let array = f64::from(config.l2.port_bytes) * f64::from(config.clock.l2_mhz) / 1e3;
    let known = f64::from(config.gpu.partitions) * port.min(array);
    vec![
        Figure::new("gtx480: read from L2", known, measured, "GB/s", 0.2)
            .from("gpu.partitions × a line in its flits' network clocks; answers of a slice leave in order"),
    ]
});

#[test]
fn l2_sends_a_line_after_the_other() {
    all_hold(&L2);
}

/// Latencies on one SM do not depend on how many there are.
#[test]
fn latency_is_the_same_with_all_sms() {
    let load = "ld.global.u64";
    assert_eq!(chase(&one_sm(), load, 64, 128), chase(&gpu("gtx480", &[]), load, 64, 128));
}

pub fn figures() -> Vec<Figure> {
    [&LATENCIES, &BANDWIDTHS, &L2].into_iter().flat_map(|group| group.to_vec()).collect()
}
