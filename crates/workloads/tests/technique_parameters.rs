// SPDX-License-Identifier: MIT OR Apache-2.0
//! No parameter of a technique is dead: each has a value that changes what is counted, or what energy is worked out from.

use warpwatt_config::{Config, GpuFile, Kind, Parameter};
use warpwatt_runtime::{Device, LaunchRecord, Mode, Nobody, Options, Technique, Techniques, Timed};
use warpwatt_workloads::{Size, all};

/// A program with divergence, guards and full warps.
const WORKLOAD: &str = "histo";

/// Units of parameters that only energy depends on.
const OF_ENERGY: [&str; 2] = ["%", "pJ"];

fn gpu() -> Config {
    GpuFile::preset("gtx480-wc").expect("a preset").config
}

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
        let (counted, numbers) = (run(&usual), usual.numbers());
        for parameter in (info.parameters)() {
            let others: Vec<_> = values(parameter)
                .iter()
                .filter_map(|value| with(info, &[(parameter.name, value)]))
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
