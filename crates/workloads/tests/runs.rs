// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every workload gives the right answer at the two lesser sizes, simulates as many instructions as its size promises,
//! and does the same again when it runs again. `warpwatt verify` does the same for all sizes, timed as well.

use warpwatt_runtime::Device;
use warpwatt_workloads::{Check, Size, Workload, all};

/// The outcome of a run and the thread instructions that it took.
fn run(workload: &dyn Workload, size: Size, seed: u64) -> (Check, u64) {
    let name = workload.info().name;
    let mut device = Device::new().expect("a device");
    let check = workload
        .run(&mut device, workload.ptx(), size, seed)
        .unwrap_or_else(|error| panic!("{name}@{size} with seed {seed} does not run: {error}"));
    (check, device.log().iter().map(|launch| launch.thread_instructions).sum())
}

fn every_workload_passes(size: Size, seeds: &[u64]) {
    let (least, most) = size.thread_instructions();
    let mut wrong = Vec::new();
    for workload in all() {
        for seed in seeds {
            let (check, instructions) = run(*workload, size, *seed);
            let run = format!("{}@{size} with seed {seed}", workload.info().name);
            if !check.passed {
                wrong.push(format!("{run}: {check:?}"));
            }
            if !(least..=most).contains(&instructions) {
                wrong.push(format!("{run}: {instructions} thread instructions"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_workload_passes_when_tiny() {
    every_workload_passes(Size::Tiny, &[1, 2]);
}

#[test]
fn every_workload_passes_when_small() {
    every_workload_passes(Size::Small, &[1, 2]);
}

#[test]
fn a_run_repeats_itself_to_the_bit() {
    for workload in all() {
        assert_eq!(run(*workload, Size::Tiny, 3), run(*workload, Size::Tiny, 3));
    }
}

#[test]
fn another_seed_is_another_problem() {
    for workload in all() {
        let (one, _) = run(*workload, Size::Tiny, 1);
        let (two, _) = run(*workload, Size::Tiny, 2);
        // All inputs of `lib` are constants, as in the original.
        assert_eq!(one.digest == two.digest, workload.info().name == "lib", "{}", workload.info().name);
    }
}

#[test]
fn a_run_gives_its_memory_back() {
    for workload in all() {
        let mut device = Device::new().expect("a device");
        for _ in 0..2 {
            let check = workload.run(&mut device, workload.ptx(), Size::Tiny, 1).expect("it runs twice");
            assert!(check.passed);
        }
        // What is left is of the two modules, not of the runs.
        let held: Vec<_> = device.allocations().filter(|a| !a.name.starts_with("constants of ")).collect();
        assert!(held.is_empty(), "{} holds {held:?}", workload.info().name);
    }
}
