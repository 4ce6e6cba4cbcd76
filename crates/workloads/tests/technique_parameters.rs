// SPDX-License-Identifier: MIT OR Apache-2.0
//! No parameter of a technique is dead: each has a value that changes what is counted, or what energy is worked out from.

use warpwatt_config::{Config, GpuFile, Parameter, ParameterKind, Policy};
use warpwatt_runtime::{Device, LaunchRecord, Mode, Nobody, Options, Technique, Techniques, Timed};
use warpwatt_workloads::{Size, all};

/// Programs with divergence, guards, full warps, shared memory, loads that hit L1, and registers that are read together in a loop and outside it.
const WORKLOADS: [&str; 3] = ["histo", "bfs", "blackscholes"];

/// Units of parameters that only energy depends on.
const OF_ENERGY: [&str; 4] = ["%", "pJ", "fJ", "mV"];

/// Small L2 slices, so that lines are written back.
fn gpu() -> Config {
    let mut config = GpuFile::preset("gtx480-wc").expect("a preset").config;
    // Some parameters are for this scheduler alone.
    config.sm.scheduler = Policy::TwoLevel;
    (config.l2.sets, config.l2.ways) = (4, 4);
    config
}

/// What has to be set beside a parameter for it to have an effect: E2MC's codes come from a profile, which there is none of here, or from sampling;
/// in programs as small as these, CORF's pairs leave nothing to first fit.
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
        "technique.corf.first_fit" => &[("pairs", "none")],
        "technique.drowsy.index" => &[("region", "16")],
        key if key.starts_with("technique.e2mc.") => &[("probability", "online"), ("sampling", "1000")],
        _ => &[],
    }
}

/// Parameters that decide what is done before a device runs, and one that needs a program with textures, which the runtime's tests have.
const ELSEWHERE: [&str; 6] = [
    "technique.e2mc.profile",
    "technique.e2mc.profile_from",
    "technique.e2mc.profile_seed",
    "technique.corf.profile",
    "technique.corf++.profile",
    "technique.dwl.texture",
];

fn run(techniques: &Techniques) -> Vec<LaunchRecord> {
    let techniques = Techniques { verify: false, ..techniques.clone() };
    let mode = Mode::Timed(Box::new(Timed { techniques, ..Timed::new(gpu()) }));
    let mut device =
        Device::with(Options { mode, ..Options::default() }, Box::new(Nobody)).expect("a device");
    for workload in all().iter().filter(|workload| WORKLOADS.contains(&workload.info().name)) {
        workload.run(&mut device, workload.ptx(), Size::Tiny, 1).expect("it runs");
    }
    let mut log = device.log().to_vec();
    log.iter_mut().for_each(|record| record.host_seconds = 0.0);
    log
}

/// Values worth a try: the ends of a range, the other position of a switch, all words.
fn values(parameter: &Parameter) -> Vec<String> {
    match parameter.kind {
        ParameterKind::Integer { min, max } => [min, max].map(|number| number.to_string()).into(),
        ParameterKind::Switch => ["on", "off"].map(str::to_owned).into(),
        ParameterKind::Choice(words) => words.iter().map(|&word| word.to_owned()).collect(),
        ParameterKind::File => vec![],
    }
}

fn with(info: &Technique, settings: &[(&str, &str)]) -> Option<Techniques> {
    let mut techniques = Techniques::default();
    techniques.with(info.name).expect("it is in the list");
    for (name, value) in settings {
        techniques.set(&format!("{}.{name}", info.name), value).expect("it is legal");
    }
    let possible = techniques.validate(&gpu()).is_ok() && techniques.wanted_counts().is_none();
    possible.then_some(techniques)
}

#[test]
fn every_parameter_of_every_technique_shows() {
    for info in Techniques::ALL.iter().filter(|info| !info.is_probe()) {
        let plain = with(info, &[]).map(|usual| (run(&usual), usual));
        for parameter in (info.parameters)().iter().filter(|one| !ELSEWHERE.contains(&one.key)) {
            let beside = beside(parameter);
            let usual = with(info, beside).expect("it is possible");
            let counted =
                plain.as_ref().filter(|(_, other)| *other == usual).map(|(counted, _)| counted.clone());
            let (counted, numbers) = (counted.unwrap_or_else(|| run(&usual)), usual.numbers());
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
