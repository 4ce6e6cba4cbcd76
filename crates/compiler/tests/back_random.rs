// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random functions through the whole back end: the checker proves every allocation, and the micro-ops store what the SSA form means.

mod back_support;

use back_support::generator::{Shape, function};
use back_support::scalar::{run_ssa, run_uops};
use warpwatt_compiler::back::{BackOptions, generate};
use warpwatt_compiler::print;

fn compare(seeds: std::ops::Range<u64>, shape: &Shape) {
    for seed in seeds {
        let f = function(seed, shape);
        let meant = run_ssa(&f);
        for (budget, schedule) in [(255, true), (255, false), (63, true), (20, true), (16, true), (16, false)]
        {
            let options = BackOptions { budget, schedule, verify: true, ..BackOptions::default() };
            let made = generate(vec![f.clone()], &options)
                .unwrap_or_else(|e| panic!("seed {seed}, budget {budget}: {e}\n{}", print::function(&f)));
            assert!(made.registers <= budget, "seed {seed}: {} registers of {budget}", made.registers);
            let got = run_uops(&made.uops);
            let differs = meant.iter().find(|(at, word)| got.get(at) != Some(word));
            if got != meant {
                let code: Vec<String> =
                    made.uops.iter().enumerate().map(|(i, u)| format!("L{i}: {u}")).collect();
                panic!(
                    "seed {seed}, budget {budget}, schedule {schedule}: other results, first at {differs:x?}\n{}\n{}",
                    print::function(&f),
                    code.join("\n")
                );
            }
        }
    }
}

#[test]
fn straight_code_keeps_its_meaning() {
    compare(0..200, &Shape { length: 12, nesting: 0, pressure: 2 });
}

#[test]
fn branches_and_loops_keep_their_meaning() {
    compare(1000..1150, &Shape { length: 8, nesting: 2, pressure: 2 });
}

#[test]
fn high_pressure_spills_and_keeps_the_meaning() {
    compare(2000..2050, &Shape { length: 8, nesting: 1, pressure: 70 });
}

#[test]
fn deep_nesting_keeps_the_meaning() {
    compare(3000..3040, &Shape { length: 4, nesting: 3, pressure: 10 });
}
