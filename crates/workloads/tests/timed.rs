// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every workload on the timed GPU, at tiny: right, the same however they are simulated, nothing lost, and the counters of the golden file.

use std::fmt::Write;

use warpwatt_config::Config;
use warpwatt_model::{Counters, flatten};
use warpwatt_runtime::{Device, Level, Mode, ModuleId, Nobody, Options, Timed};
use warpwatt_testing::{conserve, golden};
use warpwatt_workloads::{Check, Size, Workload, all};

/// A run on a GTX 480.
fn run(workload: &dyn Workload, threads: u32, step_every_cycle: bool, level: Level) -> (Device, Check) {
    let timed = Timed { threads, step_every_cycle, ..Timed::new(Config::default()) };
    let options = Options { mode: Mode::Timed(Box::new(timed)), level, ..Options::default() };
    let mut device = Device::with(options, Box::new(Nobody)).expect("a device");
    let check = workload
        .run(&mut device, workload.ptx(), Size::Tiny, 1)
        .unwrap_or_else(|error| panic!("{}: {error}", workload.info().name));
    (device, check)
}

#[test]
fn nothing_is_lost() {
    for workload in all() {
        let (device, check) = run(*workload, 1, false, Level::detect());
        assert!(check.passed, "{}: {check:?}", workload.info().name);
        for record in device.log() {
            let compiled = device.compile(ModuleId(0), &record.kernel, false).expect("it ran");
            conserve::check(record, &compiled.program, &Config::default());
        }
    }
}

#[test]
fn threads_skipping_and_vector_instructions_do_not_show() {
    for workload in all() {
        let result = |threads, step, level| {
            let (device, check) = run(*workload, threads, step, level);
            let mut log = device.log().to_vec();
            log.iter_mut().for_each(|record| record.host_seconds = 0.0);
            (log, check, device.now_cycles())
        };
        let plain = result(1, false, Level::detect());
        for (threads, step, level) in [
            (2, false, Level::detect()),
            (3, false, Level::detect()),
            (1, true, Level::detect()),
            (1, false, Level::Plain),
        ] {
            let same = result(threads, step, level) == plain;
            assert!(same, "{}: {threads} threads, step {step}, {level:?}", workload.info().name);
        }
    }
}

/// Kernel, warp and thread instructions of every launch.
type Issued = Vec<(String, u64, u64)>;

/// What a workload issues, built for a target, on a GPU with or without independent threads.
fn issued(workload: &dyn Workload, target: &str, independent_threads: bool, timed: bool) -> Issued {
    let mut config = Config::default();
    config.sm.independent_threads = independent_threads;
    let mode = if timed { Mode::Timed(Box::new(Timed::new(config.clone()))) } else { Mode::Functional };
    let options = Options { mode, sm: warpwatt_model::Gpu::limits(&config), ..Options::default() };
    let mut device = Device::with(options, Box::new(Nobody)).expect("a device");
    let ptx = workload.ptx().replace(".target sm_50", &format!(".target {target}"));
    let check = workload.run(&mut device, &ptx, Size::Tiny, 1);
    let check = check.unwrap_or_else(|error| panic!("{} for {target}: {error}", workload.info().name));
    assert!(check.passed, "{} for {target}: {check:?}", workload.info().name);
    let log = device.log().iter();
    log.map(|record| (record.kernel.clone(), record.warp_instructions, record.thread_instructions)).collect()
}

#[test]
fn functional_and_timed_runs_issue_the_same_instructions_for_every_target_and_gpu() {
    for workload in all() {
        let expected = issued(*workload, "sm_50", false, false);
        for (target, independent_threads, timed) in [
            ("sm_50", false, true),
            ("sm_50", true, true),
            ("sm_75", false, false),
            ("sm_75", false, true),
            ("sm_75", true, false),
            ("sm_75", true, true),
        ] {
            let found = issued(*workload, target, independent_threads, timed);
            let name = workload.info().name;
            // Where atomics decide what a thread finds done, only the outputs are the same.
            if workload.info().order_dependent {
                continue;
            }
            assert_eq!(found, expected, "{name} for {target}, {independent_threads}, timed: {timed}");
        }
    }
}

/// All counters of all workloads, a line each.
fn counters() -> String {
    let mut text = String::new();
    for workload in all() {
        let (device, _) = run(*workload, 1, false, Level::detect());
        let mut sum = Counters::default();
        let mut cycles = 0;
        for record in device.log() {
            let timed = record.timed.as_ref().expect("all launches are timed");
            sum.add(&timed.counters);
            cycles += timed.cycles;
        }
        let name = workload.info().name;
        let _ = writeln!(text, "{name} cycles {cycles}");
        sum.visit(&mut |counter, count| {
            flatten(counter, count, &mut |counter, count| {
                if count != 0 {
                    let _ = writeln!(text, "{name} {counter} {count}");
                }
            });
        });
    }
    text
}

#[test]
fn counters_are_those_of_the_golden_file() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/timed-tiny.txt");
    let advice = "If the model is meant to behave differently, raise MODEL_VERSION in model and write the file anew with WARPWATT_BLESS=1";
    golden::check(path, &counters(), advice);
}
