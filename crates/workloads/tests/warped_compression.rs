// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every workload with compressed registers, at tiny: every value that is read is compared with what was written, results are as without,
//! and nothing of how they are simulated shows.

use warpwatt_config::{Config, GpuFile};
use warpwatt_runtime::{
    Device, Error, InjectedFault, Level, Mode, ModuleId, Nobody, Options, Techniques, Timed,
};
use warpwatt_testing::conserve;
use warpwatt_testing::ways::{WAYS, with};
use warpwatt_workloads::{Check, Size, Workload, all};

fn gpu() -> Config {
    GpuFile::preset("gtx480-wc").expect("a preset").config
}

fn device(timed: Timed, level: Level) -> Device {
    let options = Options { mode: Mode::Timed(Box::new(timed)), level, ..Options::default() };
    Device::with(options, Box::new(Nobody)).expect("a device")
}

fn run(workload: &dyn Workload, techniques: Techniques) -> (Device, Check) {
    let mut device = device(Timed { techniques, ..Timed::new(gpu()) }, Level::detect());
    let check = workload
        .run(&mut device, workload.ptx(), Size::Tiny, 1)
        .unwrap_or_else(|error| panic!("{}: {error}", workload.info().name));
    (device, check)
}

#[test]
fn results_are_right_and_nothing_is_lost() {
    for workload in all() {
        for way in WAYS.iter().filter(|way| way.starts_with("warped-compression")) {
            let name = workload.info().name;
            let (device, check) = run(*workload, with(way));
            assert!(check.passed, "{name} with {way}: {check:?}");
            for record in device.log() {
                let compiled = device.compile(ModuleId(0), &record.kernel, false).expect("it ran");
                conserve::check(record, &compiled.program, &gpu());
            }
        }
    }
}

#[test]
fn without_latencies_wake_up_and_moves_cycles_are_those_of_the_baseline() {
    for workload in all() {
        let base = run(*workload, with("")).0.now_cycles();
        let free = "warped-compression:compress_cycles=0,decompress_cycles=0,wake_cycles=0,mov=off";
        assert_eq!(run(*workload, with(free)).0.now_cycles(), base, "{}", workload.info().name);
        let gating = "warped-compression:compression=off,wake_cycles=0";
        assert_eq!(run(*workload, with(gating)).0.now_cycles(), base, "{}", workload.info().name);
    }
}

#[test]
fn observing_and_verifying_do_not_show_in_time() {
    for workload in all() {
        let plain = run(*workload, Techniques { verify: false, ..with("warped-compression") }).0;
        let watched = run(*workload, with("warped-compression:observe=on")).0;
        assert_eq!(plain.now_cycles(), watched.now_cycles(), "{}", workload.info().name);
    }
}

#[test]
fn threads_and_skipping_do_not_show() {
    for workload in all() {
        for way in ["warped-compression:observe=on", "warped-compression:divergent=merge"] {
            let result = |threads, step_every_cycle, level| {
                let timed = Timed { threads, step_every_cycle, techniques: with(way), ..Timed::new(gpu()) };
                let mut device = device(timed, level);
                let check = workload.run(&mut device, workload.ptx(), Size::Tiny, 1).expect("it runs");
                let mut log = device.log().to_vec();
                log.iter_mut().for_each(|record| record.host_seconds = 0.0);
                (log, check, device.now_cycles())
            };
            let plain = result(1, false, Level::detect());
            for (threads, step, level) in
                [(2, false, Level::detect()), (1, true, Level::detect()), (1, false, Level::Plain)]
            {
                let same = result(threads, step, level) == plain;
                assert!(same, "{} with {way}: {threads} threads, step {step}", workload.info().name);
            }
        }
    }
}

#[test]
fn a_spoilt_bit_is_noticed() {
    for workload in all() {
        for way in ["warped-compression", "warped-compression:window=thread"] {
            let techniques = Techniques { inject: Some(InjectedFault::Rf), verify: false, ..with(way) };
            let mut device = device(Timed { techniques, ..Timed::new(gpu()) }, Level::detect());
            let name = workload.info().name;
            let found = workload.run(&mut device, workload.ptx(), Size::Tiny, 1);
            let Err(Error::Fault(report)) = found else { panic!("{name} with {way}: it was not noticed") };
            let text = report.to_string();
            assert!(text.contains("returned another value"), "{text}");
        }
    }
}
