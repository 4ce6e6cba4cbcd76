// SPDX-License-Identifier: MIT OR Apache-2.0
//! No parameter of a technique is dead: each has a value that changes what is counted, or what energy is worked out from.

use warpwatt_config::{Config, GpuFile, Kind, Parameter, Policy};
use warpwatt_runtime::{Device, LaunchRecord, Mode, Nobody, Options, Technique, Techniques, Timed};
use warpwatt_workloads::{Size, all};

/// Programs with divergence, guards, full warps, shared memory, and loads that hit L1.
const WORKLOADS: [&str; 2] = ["histo", "bfs"];

/// Units of parameters that only energy depends on.
const OF_ENERGY: [&str; 4] = ["%", "pJ", "fJ", "mV"];

/// What needs a program with textures: `caches.rs` of the runtime's tests has one.
const ELSEWHERE: [&str; 1] = ["technique.dwl.texture"];

/// Parameters that show only with another one set.
const ALONG_WITH: [(&str, (&str, &str)); 1] = [("technique.drowsy.index", ("region", "16"))];

fn gpu() -> Config {
    let mut config = GpuFile::preset("gtx480-wc").expect("a preset").config;
    // Some parameters are for this scheduler alone.
    config.sm.scheduler = Policy::TwoLevel;
    config
}

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
        Kind::Integer { min, max } => [min, max].map(|number| number.to_string()).into(),
        Kind::Switch => ["on", "off"].map(str::to_owned).into(),
        Kind::Choice(words) => words.iter().map(|&word| word.to_owned()).collect(),
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
        let usual = with(info, &[]).expect("it is possible");
        let counted_usual = run(&usual);
        for parameter in (info.parameters)().iter().filter(|parameter| !ELSEWHERE.contains(&parameter.key)) {
            let along = ALONG_WITH.iter().find(|(key, _)| *key == parameter.key).map(|(_, setting)| *setting);
            let usual =
                along.map_or_else(|| usual.clone(), |setting| with(info, &[setting]).expect("possible"));
            let counted = if along.is_some() { run(&usual) } else { counted_usual.clone() };
            let numbers = usual.numbers();
            let settings = |value: &String| -> Vec<(&str, String)> {
                let own = (parameter.name, value.clone());
                along.map(|(name, value)| (name, value.to_owned())).into_iter().chain([own]).collect()
            };
            let others: Vec<_> = values(parameter)
                .iter()
                .filter_map(|value| {
                    let settings = settings(value);
                    let settings: Vec<_> =
                        settings.iter().map(|(name, value)| (*name, value.as_str())).collect();
                    with(info, &settings)
                })
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
