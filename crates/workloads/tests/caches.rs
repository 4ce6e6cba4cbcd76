// SPDX-License-Identifier: MIT OR Apache-2.0
//! Workloads with techniques in caches, at tiny, together with those of the register file and of memory, and on GPUs of other shapes: results are
//! right, and time and events add up.

use warpwatt_config::{Config, GpuFile};
use warpwatt_runtime::{Device, Mode, ModuleId, Nobody, Options, Techniques, Timed};
use warpwatt_testing::conserve;
use warpwatt_workloads::{Size, Workload, all};

fn preset(name: &str) -> Config {
    GpuFile::preset(name).expect("a preset").config
}

/// Runs a workload, checks its result, sums and laws, and gives its cycles.
fn run(workload: &dyn Workload, config: &Config, texts: &[&str]) -> u64 {
    let name = workload.info().name;
    let mut techniques = Techniques { verify: true, ..Techniques::default() };
    texts.iter().for_each(|text| techniques.with(text).expect("it is legal"));
    techniques.validate(config).unwrap_or_else(|refused| panic!("{texts:?}: {refused:?}"));
    let timed = Timed { techniques: techniques.clone(), ..Timed::new(config.clone()) };
    let options = Options { mode: Mode::Timed(Box::new(timed)), ..Options::default() };
    let mut device = Device::with(options, Box::new(Nobody)).expect("a device");
    let check = workload
        .run(&mut device, workload.ptx(), Size::Tiny, 1)
        .unwrap_or_else(|error| panic!("{name} with {texts:?}: {error}"));
    assert!(check.passed, "{name} with {texts:?}: {check:?}");
    for record in device.log() {
        let program = device.compile(ModuleId(0), &record.kernel, false).expect("it ran").program;
        conserve::check(record, &techniques.rewrite(&program).unwrap_or(program), config);
    }
    device.now_cycles().expect("it is timed")
}

const E2MC: &str = "e2mc:probability=online,sampling=1000";

/// Techniques of caches with those of the register file and of memory, each with one workload.
const TOGETHER: [&[&str]; 8] = [
    &["drowsy:instruction=on", "dwl", "corf++"],
    &["drowsy:region=16", "dwl:mask=bytes", "warped-compression"],
    &["drowsy:policy=immediate", "dwl", E2MC],
    &["gated:idle_cycles=100,instruction=on", "filter-cache", "corf++"],
    &["gated:idle_cycles=500", "dwl", "warped-compression"],
    &["gated:idle_cycles=30,region=8", E2MC],
    &["drowsy", "dwl", "corf++", E2MC],
    &["drowsy:region=16", "dwl", "filter-cache", "warped-compression", E2MC],
];

#[test]
fn results_are_right_with_techniques_of_register_file_and_memory() {
    let gpu = preset("gtx480");
    for (workload, together) in all().iter().zip(TOGETHER) {
        run(*workload, &gpu, together);
    }
}

#[test]
fn without_wake_up_cycles_are_those_of_the_baseline() {
    let gpu = preset("gtx480-thesis");
    for workload in all().iter().step_by(6) {
        let base = run(*workload, &gpu, &[]);
        let name = workload.info().name;
        for way in ["drowsy:wake_cycles=0,instruction=on", "drowsy:region=1048576,instruction=on"] {
            assert_eq!(run(*workload, &gpu, &[way, "dwl"]), base, "{name} with {way}");
        }
    }
}

#[test]
fn they_work_on_gpus_of_other_shapes() {
    let shaped = |change: fn(&mut Config)| {
        let mut config = preset("gtx480-thesis");
        change(&mut config);
        config
    };
    let gpus = [
        ("gtx480", preset("gtx480")),
        ("gtx580-e2mc", preset("gtx580-e2mc")),
        ("48 KB of L1", shaped(|gpu| (gpu.shared.bytes, gpu.l1d.ways) = (16384, 6))),
        (
            "one way",
            shaped(|gpu| {
                (gpu.l1d.ways, gpu.l2.ways, gpu.constant.ways) = (1, 1, 1);
                (gpu.texture.ways, gpu.icache.ways) = (1, 1);
            }),
        ),
        ("12 partitions", shaped(|gpu| gpu.gpu.partitions = 12)),
    ];
    let workloads = all();
    for (name, gpu) in &gpus {
        println!("{name}");
        for workload in workloads.iter().filter(|one| ["histo", "simpletexture"].contains(&one.info().name)) {
            run(*workload, gpu, &["drowsy:region=4,instruction=on", "dwl", "filter-cache", "block-profile"]);
            run(*workload, gpu, &["gated:idle_cycles=200,region=2,instruction=on", "dwl:mask=bytes"]);
        }
    }
}
