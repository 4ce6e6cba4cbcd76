// SPDX-License-Identifier: MIT OR Apache-2.0
//! Latency and rate of arithmetic, and the peak rates of whole GPUs.

use std::sync::LazyLock;

use warpwatt_config::Config;
use warpwatt_runtime::{Args, LaunchConfig};

use crate::bench::{Bench, gpu, one_sm};
use crate::figure::{Figure, all_hold};
use crate::kernels::{CLASSES, Class, peak};

/// Cycles and warp instructions of a kernel that repeats its body `n` times.
fn run(config: &Config, ptx: &str, launch: LaunchConfig, n: u32) -> (f64, f64) {
    let mut bench = Bench::new(config, ptx);
    let out = bench.alloc(4 * launch.grid.count() * launch.block.count());
    let ran = bench.run(launch, &Args::new().ptr(out).u32(n).u32(3).u32(5));
    (ran.cycles as f64, ran.record.warp_instructions as f64)
}

/// Cycles of one step of a chain in a single warp. Two lengths of the loop and two of its body leave only the steps: what the kernel,
/// the loop and cold caches cost is the same in each pair.
fn dependent(class: &Class) -> f64 {
    let config = one_sm();
    let time = |length: usize, n: u32| run(&config, &class.kernel(1, length), LaunchConfig::new(1, 32), n);
    let (short, long) = (16, 48);
    let [a, b, c, d] = [time(short, 10), time(short, 20), time(long, 10), time(long, 20)];
    let cycles = (d.0 - c.0) - (b.0 - a.0);
    let instructions = (d.1 - c.1) - (b.1 - a.1);
    let steps = if class.key == "convert" { 2.0 } else { 1.0 };
    assert_eq!(instructions, steps * 10.0 * (long - short) as f64, "{} was rewritten", class.key);
    cycles / instructions
}

fn parameter(config: &Config, key: &str) -> u32 {
    config.get(key).and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("no number {key}"))
}

static LATENCIES: LazyLock<Vec<Figure>> = LazyLock::new(|| {
    let config = one_sm();
    let one = |class: &Class| {
        let latency = parameter(&config, &format!("sm.latency.{}", class.key));
        let reads = class.operands.div_ceil(config.rf.collector_ports).max(u32::from(class.operands != 0));
        let known = f64::from(1 + reads + latency);
        Figure::new(format!("{}: dependent issue", class.what), known, dependent(class), "cycles", 0.002)
            .from(format!(
                "1 + ⌈{} operands / sm.rf.collector_ports⌉ + sm.latency.{}",
                class.operands, class.key
            ))
    };
    CLASSES.iter().map(one).collect()
});

#[test]
fn a_dependent_instruction_waits_for_operands_and_unit() {
    all_hold(&LATENCIES);
}

static RATES: LazyLock<Vec<Figure>> = LazyLock::new(|| {
    let config = one_sm();
    let one = |class: &Class| {
        let ptx = if class.has_chains() { class.kernel(4, 32) } else { class.kernel(1, 128) };
        let launch = LaunchConfig::new(8, 192);
        let (short, long) = (run(&config, &ptx, launch, 4), run(&config, &ptx, launch, 12));
        let measured = 32.0 * (long.1 - short.1) / (long.0 - short.0);
        let units = match class.key {
            "fp64" => config.units.fp64,
            "special" | "convert" | "bit_count" => config.units.sfu,
            "shuffle" => config.units.ldst,
            _ => config.units.sp,
        };
        let initiation = parameter(&config, &format!("sm.initiation.{}", class.key));
        let known = 32.0 * (f64::from(units) / f64::from(initiation)).min(f64::from(config.sm.schedulers));
        // At two instructions a cycle, operands that meet in a bank are felt, and fetches, of which there are no more.
        let tolerance = if initiation == 1 { 0.12 } else { 0.05 };
        Figure::new(format!("{}: rate of an SM", class.what), known, measured, "lanes/cycle", tolerance)
            .from(format!("32 × units / sm.initiation.{}, at most 32 × sm.schedulers", class.key))
    };
    CLASSES.iter().map(one).collect()
});

#[test]
fn with_enough_warps_units_are_the_limit() {
    all_hold(&RATES);
}

/// 10^9 operations a second of all SMs, a fused multiply-add being two.
fn gflops(name: &str, ty: &str, n: u32) -> f64 {
    let config = gpu(name, &[]);
    let launch = LaunchConfig::new(8 * config.gpu.sms, 192);
    let ptx = peak(ty, 128);
    let (short, long) = (run(&config, &ptx, launch, n).0, run(&config, &ptx, launch, 3 * n).0);
    let operations = 2.0 * 128.0 * f64::from(2 * n) * (launch.grid.count() * launch.block.count()) as f64;
    operations / (long - short) * f64::from(config.clock.core_mhz) / 1e3
}

static PEAKS: LazyLock<Vec<Figure>> = LazyLock::new(|| {
    let one = |gpu: &str, ty: &str, n, known: f64, silicon| {
        Figure::new(format!("{gpu}: {ty} fused multiply-adds"), known, gflops(gpu, ty, n), "GFLOP/s", 0.05)
            .from("published run on the card")
            .silicon(silicon)
    };
    vec![
        one("gtx480", "f32", 8, 1266.0, "1266"),
        one("gtx580", "f32", 8, 1487.0, "1487"),
        one("gtx480", "f64", 2, 168.0, "168"),
        one("gtx580", "f64", 2, 197.0, "197"),
    ]
});

#[test]
fn peak_rates_are_those_of_the_cards() {
    all_hold(&PEAKS);
}

/// Bodies of loops that the instruction caches do not hold: as many instructions as they have, 4 and 16 times.
static UNROLLED: LazyLock<Vec<Figure>> = LazyLock::new(|| {
    let one = |name: &str, body: u32, known: f64, silicon| {
        let config = gpu(name, &["gpu.sms=1"]);
        let sms = f64::from(gpu(name, &[]).gpu.sms);
        let launch = LaunchConfig::new(8, 192);
        let ptx = peak("f32", body as usize);
        let cycles = |n| run(&config, &ptx, launch, n).0;
        let operations = 2.0 * f64::from(body) * (launch.grid.count() * launch.block.count()) as f64;
        let measured = operations / (cycles(3) - cycles(2)) * f64::from(config.clock.core_mhz) / 1e3 * sms;
        Figure::new(format!("{name}: multiply-adds in a body of {body}"), known, measured, "GFLOP/s", 0.08)
            .from("published run on the card, long unrolled bodies; one SM times their number")
            .silicon(silicon)
    };
    vec![
        one("gtx480", 1024, 1266.0, "1266"),
        one("gtx480", 4096, 1266.0, "1266"),
        one("gtx480", 16384, 1266.0, "1266"),
        one("gtx580", 4096, 1487.0, "1487"),
    ]
});

#[test]
fn long_straight_code_runs_at_the_rate_of_the_units() {
    all_hold(&UNROLLED);
}

pub fn figures() -> Vec<Figure> {
    [&LATENCIES, &RATES, &PEAKS, &UNROLLED].into_iter().flat_map(|group| group.to_vec()).collect()
}
