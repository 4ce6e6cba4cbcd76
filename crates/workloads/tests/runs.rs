// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every workload gives the right answer at the two lesser sizes, simulates as many instructions as its size promises, works on the class
//! of data that the table says, has the inputs that were frozen, and does the same again when it runs again. `warpwatt verify` checks
//! answers and instructions at all sizes, timed as well.

use std::fmt::Write;

use warpwatt_model::OpKind;
use warpwatt_runtime::{Device, ModuleId};
use warpwatt_workloads::{Check, Data, Size, Workload, all};

/// The outcome of a run, the thread instructions that it took and the class of its data by their mix.
fn run(workload: &dyn Workload, size: Size, seed: u64) -> (Check, u64, Data) {
    let name = workload.info().name;
    let mut device = Device::new().expect("a device");
    let check = workload
        .run(&mut device, workload.ptx(), size, seed)
        .unwrap_or_else(|error| panic!("{name}@{size} with seed {seed} does not run: {error}"));
    let (mut instructions, mut float, mut integer) = (0, 0, 0);
    for launch in device.log() {
        instructions += launch.thread_instructions;
        let program = device.compile(ModuleId(0), &launch.kernel, false).expect("it ran").program;
        for (uop, count) in program.uops.iter().zip(&launch.per_pc) {
            let kind = OpKind::of(uop).name();
            if Data::INTEGER.contains(&kind) {
                integer += count.lanes;
            } else if Data::FLOAT.contains(&kind) || Data::SPECIAL.contains(&kind) {
                float += count.lanes;
            }
        }
    }
    (check, instructions, Data::of_mix(float, integer))
}

/// Compares a text with the golden file of that name, or writes it there with `WARPWATT_BLESS=1`.
fn is_frozen(name: &str, found: &str) {
    let path = format!("{}/tests/golden/{name}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("WARPWATT_BLESS").is_some() {
        std::fs::write(path, found).expect("the golden file can be written");
        return;
    }
    let golden = std::fs::read_to_string(path).unwrap_or_default();
    let changed: Vec<_> = found.lines().filter(|line| !golden.lines().any(|other| other == *line)).collect();
    assert!(
        found == golden,
        "inputs are frozen, and these have changed: {changed:?}. Raise the version of the workload's generator, write the file anew with \
         WARPWATT_BLESS=1, and tell in CHANGELOG.md what changed, with ledgers before and after"
    );
}

#[test]
fn sizes_are_frozen() {
    let mut text = String::new();
    for workload in all() {
        let info = workload.info();
        for dim in info.dims {
            let _ = writeln!(
                text,
                "{} {} {} {:?}",
                info.name,
                info.generator,
                dim.name,
                Size::ALL.map(|s| dim.at(s))
            );
        }
    }
    is_frozen("sizes.txt", &text);
}

/// Runs all workloads of a size. What references expect follows from the inputs alone, so its hash tells whether those are as they were.
fn every_workload_passes(size: Size, seeds: &[u64]) {
    let (least, most) = size.thread_instructions();
    let mut wrong = Vec::new();
    let mut inputs = String::new();
    for workload in all() {
        for seed in seeds {
            let (check, instructions, data) = run(*workload, size, *seed);
            let _ = writeln!(inputs, "{} {seed} {:016x}", workload.info().name, check.expected);
            let run = format!("{}@{size} with seed {seed}", workload.info().name);
            if !check.passed {
                wrong.push(format!("{run}: {check:?}"));
            }
            if !(least..=most).contains(&instructions) {
                wrong.push(format!("{run}: {instructions} thread instructions"));
            }
            // A tiny problem is mostly edges.
            if size > Size::Tiny && data != workload.info().data {
                wrong.push(format!("{run}: {data:?} data"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    is_frozen(&format!("inputs-{size}.txt"), &inputs);
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
        let (one, ..) = run(*workload, Size::Tiny, 1);
        let (two, ..) = run(*workload, Size::Tiny, 2);
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
