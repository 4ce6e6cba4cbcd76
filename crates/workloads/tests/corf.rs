// SPDX-License-Identifier: MIT OR Apache-2.0
//! All workloads with packed, released and coalesced registers, at tiny: every value that is read is compared with what was written, results are as
//! without, and nothing of how they are simulated shows.

use warpwatt_config::{Config, GpuFile};
use warpwatt_model::techniques::{packing, renaming};
use warpwatt_runtime::{Counters, Device, Mode, ModuleId, Nobody, Options, Techniques, Timed};
use warpwatt_testing::conserve;
use warpwatt_workloads::{Size, Workload, all};

fn gpu() -> Config {
    let mut config = GpuFile::preset("gtx480-corf").expect("a preset").config;
    config.rf.collectors_shared = 4;
    config
}

fn with(texts: &[&str]) -> Techniques {
    let mut techniques = Techniques { verify: true, ..Techniques::default() };
    texts.iter().for_each(|text| techniques.with(text).expect("it is legal"));
    techniques
}

/// Runs a workload, and checks its result, sums and laws.
fn run(workload: &dyn Workload, texts: &[&str]) -> (u64, Counters) {
    let techniques = with(texts);
    let mode = Mode::Timed(Box::new(Timed { techniques: techniques.clone(), ..Timed::new(gpu()) }));
    let mut device =
        Device::with(Options { mode, ..Options::default() }, Box::new(Nobody)).expect("a device");
    let name = workload.info().name;
    let check = workload
        .run(&mut device, workload.ptx(), Size::Tiny, 1)
        .unwrap_or_else(|error| panic!("{name} with {texts:?}: {error}"));
    assert!(check.passed, "{name} with {texts:?}: {check:?}");
    let mut all = Counters::default();
    for record in device.log() {
        let program = device.compile(ModuleId(0), &record.kernel, false).expect("it ran").program;
        conserve::check(record, &techniques.rewrite(&program).unwrap_or(program), &gpu());
        all.add(&record.timed.as_ref().expect("it is timed").counters);
    }
    (device.now_cycles().expect("it is timed"), all)
}

#[test]
fn results_are_right_and_reads_fall_by_what_coalesces() {
    for workload in all() {
        let name = workload.info().name;
        let plain = run(*workload, &[]).1.sm.registers;
        for way in [["corf"], ["corf++"]] {
            let counters = run(*workload, &way).1;
            let own = counters.sm.techniques.find::<packing::Counters>().expect("it is on");
            // Where atomics decide what a thread finds done, only the outputs are the same.
            if workload.info().order_dependent {
                continue;
            }
            let expected = plain.reads + own.growth_reads - own.coalesced;
            assert_eq!(counters.sm.registers.reads, expected, "{name} with {way:?}");
        }
    }
}

#[test]
fn with_everything_free_cycles_are_those_of_the_baseline_and_both_save_more_than_either() {
    let size = |counters: &Counters| {
        let table = counters.sm.techniques.find::<renaming::Counters>().expect("it is on");
        table.entries as f64 / table.registers as f64
    };
    let (mut packed, mut released, mut both) = (0.0, 0.0, 0.0);
    for workload in all() {
        let name = workload.info().name;
        let base = run(*workload, &[]).0;
        let free = |texts: &[&str]| {
            let (cycles, counters) = run(*workload, &[&["renaming:ports=0"], texts].concat());
            assert_eq!(cycles, base, "{name} with {texts:?}");
            size(&counters)
        };
        const PACKING: &str = "packing:packers=0,growth_reads=off";
        packed += free(&[PACKING]);
        released += free(&["virtualization"]);
        both += free(&[PACKING, "virtualization"]);
        free(&[PACKING, "corf:pairs=none,first_fit=off"]);
    }
    assert!(both < packed && both < released, "{both}, {packed}, {released}");
}
