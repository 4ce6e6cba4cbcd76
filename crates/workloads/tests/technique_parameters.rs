// SPDX-License-Identifier: MIT OR Apache-2.0
//! No parameter of a technique is dead: each has a value that changes what is counted, or what energy is worked out from.

use warpwatt_config::{Config, GpuFile, Kind, Parameter};
use warpwatt_runtime::{Device, LaunchRecord, Mode, Nobody, Options, Technique, Techniques, Timed};
use warpwatt_workloads::{Size, all};

/// A program with divergence, guards and full warps.
const WORKLOAD: &str = "histo";

/// Units of parameters that only energy depends on.
const OF_ENERGY: [&str; 2] = ["%", "pJ"];

/// Small L2 slices, so that lines are written back.
fn gpu() -> Config {
    let mut config = GpuFile::preset("gtx480-wc").expect("a preset").config;
    (config.l2.sets, config.l2.ways) = (4, 4);
    config
}

/// What has to be set beside a parameter for it to have an effect: E2MC's codes come from a profile, which there is none of here, or from sampling.
fn beside(parameter: &Parameter) -> &'static [(&'static str, &'static str)] {
    match parameter.key {
        "technique.e2mc.probability" => &[("sampling", "1000")],
        "technique.e2mc.compress_clocks" | "technique.e2mc.decompress_clocks" => {
            &[("probability", "online"), ("sampling", "1000"), ("latency", "set")]
        }
        "technique.e2mc.latency" => &[
            ("probability", "online"),
            ("sampling", "1000"),
            ("compress_clocks", "0"),
            ("decompress_clocks", "500"),
        ],
        "technique.e2mc.sampling" => &[("probability", "online")],
        key if key.starts_with("technique.e2mc.") => &[("probability", "online"), ("sampling", "1000")],
        _ => &[],
    }
}

/// Parameters that decide what is done before a device runs.
const BEFOREHAND: [&str; 2] = ["technique.e2mc.profile", "technique.e2mc.profile_from"];

fn run(techniques: &Techniques) -> Vec<LaunchRecord> {
    let workload = all().iter().find(|workload| workload.info().name == WORKLOAD).expect("a workload");
    let techniques = Techniques { verify: false, ..techniques.clone() };
    let mode = Mode::Timed(Box::new(Timed { techniques, ..Timed::new(gpu()) }));
    let mut device =
        Device::with(Options { mode, ..Options::default() }, Box::new(Nobody)).expect("a device");
    workload.run(&mut device, workload.ptx(), Size::Tiny, 1).expect("it runs");
    let mut log = device.log().to_vec();
    log.iter_mut().for_each(|record| record.host_seconds = 0.0);
    log
}

/// Values worth a try: the ends of a range, the other position of a switch, all words.
fn values(parameter: &Parameter) -> Vec<String> {
    match parameter.kind {
        Kind::Integer { min, max } => [min, max].map(|number| number.to_string()).into(),
        Kind::Switch => ["on", "off"].map(str::to_owned).into(),
        Kind::Choice(words) => words.iter().map(|&word| word.to_owned()).collect(),
        Kind::File => vec![],
    }
}

fn with(info: &Technique, settings: &[(&str, &str)]) -> Option<Techniques> {
    let mut techniques = Techniques::default();
    techniques.with(info.name).expect("it is in the list");
    for (name, value) in settings {
        techniques.set(&format!("{}.{name}", info.name), value).expect("it is legal");
    }
    techniques.validate(&gpu()).is_ok().then_some(techniques)
}

#[test]
fn every_parameter_of_every_technique_shows() {
    for info in Techniques::ALL.iter().filter(|info| !info.is_probe()) {
        for parameter in (info.parameters)().iter().filter(|one| !BEFOREHAND.contains(&one.key)) {
            let beside = beside(parameter);
            let usual = with(info, beside).expect("it is possible");
            let (counted, numbers) = (run(&usual), usual.numbers());
            let others: Vec<_> = values(parameter)
                .iter()
                .filter_map(|value| with(info, &[beside, &[(parameter.name, value)]].concat()))
                .filter(|techniques| *techniques != usual)
                .collect();
            let shows = |techniques: &Techniques| match OF_ENERGY.contains(&parameter.unit) {
                true => techniques.numbers() != numbers && run(techniques) == counted,
                false => run(techniques) != counted,
            };
            assert!(!others.is_empty(), "{} has one value", parameter.key);
            assert!(others.iter().any(shows), "{} does not show", parameter.key);
        }
    }
}
