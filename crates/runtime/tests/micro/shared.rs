// SPDX-License-Identifier: MIT OR Apache-2.0
//! Shared memory: latency, conflicts, broadcast, atomics.

use std::sync::LazyLock;

use warpwatt_runtime::{Args, LaunchConfig};

use crate::bench::{Bench, one_sm};
use crate::figure::{Figure, all_hold};
use crate::kernels;

/// Cycles of an access: what 16 more in each of 20 iterations add.
fn cycles(ptx: &str, launch: LaunchConfig, stride: u32, per_iteration: u64) -> f64 {
    let config = one_sm();
    let time = |n: u32| {
        let mut bench = Bench::new(&config, ptx);
        let out = bench.alloc(4 * launch.grid.count() * launch.block.count());
        bench.run(launch, &Args::new().ptr(out).u32(n).u32(stride).u32(0)).cycles
    };
    (time(40) - time(20)) as f64 / (20 * per_iteration) as f64
}

static FIGURES: LazyLock<Vec<Figure>> = LazyLock::new(|| {
    let config = one_sm();
    let mut figures = Vec::new();
    let (one, all) = (LaunchConfig::new(1, 32), LaunchConfig::new(8, 192));
    let chase = |stride| cycles(&kernels::shared_chase(), one, stride, 16);
    let known = |ways: u32| f64::from(2 + config.shared.cycles + ways - 1);
    figures.push(
        Figure::new("shared memory: latency, all lanes on one word", known(1), chase(0), "cycles", 0.0)
            .from("1 + 1 operand + sm.shared.cycles")
            .silicon("no more than L1, whose array it is: 22 (45 hot clocks on a GF106: Andersch et al., ISPASS 2015); 26 (GPGPU-Sim 4.2, tuned to the card)"),
    );
    for ways in [1, 2, 4, 8, 16, 32] {
        let what = format!("shared memory: latency with {ways}-way conflicts");
        figures.push(
            Figure::new(what, known(ways), chase(ways), "cycles", 0.0)
                .from("1 + 1 operand + sm.shared.cycles + ways − 1"),
        );
    }
    figures.push(
        Figure::new("shared memory: latency with a stride of 33 words", known(1), chase(33), "cycles", 0.0)
            .from("odd strides have no conflicts"),
    );
    for ways in [1, 2, 4, 8, 16, 32] {
        // 48 warps with 32 stores each.
        let measured = cycles(&kernels::shared_writes(), all, ways, 48 * 32);
        let what = format!("shared memory: cycles a store with {ways}-way conflicts, many warps");
        let limit = f64::from(ways) / f64::from(config.units.ldst);
        figures.push(Figure::new(what, limit, measured, "cycles", 0.08).from("ways"));
    }
    for (stride, rounds, what) in [(1, 1, "on 32 words"), (32, 32, "in one bank"), (0, 32, "on one word")] {
        let known = f64::from(2 + config.shared.cycles - 1 + rounds * config.shared.atomic_cycles);
        let measured = cycles(&kernels::shared_atomics(), one, stride, 16);
        figures.push(
            Figure::new(
                format!("shared memory: latency of an atomic {what}"),
                known,
                measured,
                "cycles",
                0.0,
            )
            .from("1 + 1 for operands + sm.shared.cycles − 1 + rounds × sm.shared.atomic_cycles"),
        );
    }
    figures
});

#[test]
fn shared_memory_serves_a_word_of_each_bank_a_cycle() {
    all_hold(&FIGURES);
}

pub fn figures() -> Vec<Figure> {
    FIGURES.to_vec()
}
