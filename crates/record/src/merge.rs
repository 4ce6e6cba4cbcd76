// SPDX-License-Identifier: MIT OR Apache-2.0
//! The parts of a program's processes as one run record. Every process has a device of its own: cycles and counters add up.

use std::collections::BTreeMap;

use warpwatt_config::Config;
use warpwatt_results::{Copied, Host, Inputs, RunRecord, Status, Sums, Values, sha256_hex};

use crate::assemble::assemble;
use crate::energy::Energies;
use crate::launch::Whole;
use crate::part::Part;

/// The record of a run with these parts, and the texts of source lines; `config` and `energies` are those of a timed run.
/// Of the launches that the parts have in detail, the first `per_launch` are kept.
pub fn merge(
    mut inputs: Inputs,
    config: Option<&Config>,
    energies: Option<&Energies>,
    parts: Vec<(u32, Part)>,
    per_launch: u64,
    host: Host,
) -> (RunRecord, BTreeMap<(String, u32), String>) {
    let several = parts.len() > 1;
    let (mut kernels, mut sums) = (Vec::new(), Sums::default());
    let (mut texts, mut hashes) = (BTreeMap::new(), String::new());
    let (mut cycles, mut counters) = (0, Values::new());
    let mut copies = Vec::new();
    let (mut status, mut diagnostics) = (Status::Complete, Vec::new());
    for (number, part) in parts {
        status = worse(status, part.status);
        diagnostics.extend(part.diagnostics);
        part.ptx.iter().for_each(|hash| hashes.push_str(hash));
        let room = per_launch.saturating_sub(kernels.len() as u64) as usize;
        for (place, mut kernel) in part.kernels.into_iter().enumerate().take(room) {
            kernel.index = sums.launches() + place as u64;
            kernel.process = several.then_some(number);
            kernels.push(kernel);
        }
        sums.merge(&part.sums);
        copies.extend(
            part.copies.into_iter().map(|copy| Copied { process: several.then_some(number), ..copy }),
        );
        for (file, line, text) in part.texts {
            texts.entry((file, line)).or_insert(text);
        }
        let (more_cycles, more_counters) = part.whole.unwrap_or_default();
        cycles += more_cycles;
        for (name, reading) in more_counters {
            match counters.get_mut(&name) {
                Some(sum) => warpwatt_results::Reading::add(sum, &reading),
                None => drop(counters.insert(name, reading)),
            }
        }
    }
    inputs.ptx_sha256 = sha256_hex(hashes.as_bytes());
    let whole = config.map(|config| Whole { config: config.clone(), cycles, counters });
    let mut record = assemble(inputs, kernels, &sums, whole.as_ref(), energies, host);
    (record.status, record.diagnostics, record.copies) = (status, diagnostics, copies);
    (record, texts)
}

fn worse(one: Status, other: Status) -> Status {
    match (one, other) {
        (Status::Failed, _) | (_, Status::Failed) => Status::Failed,
        (Status::Partial, _) | (_, Status::Partial) => Status::Partial,
        _ => Status::Complete,
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use warpwatt_results::{Diagnostic, Reading, Severity};
    use warpwatt_runtime::{Args, Device, LaunchConfig, Mode, Nobody, Options};

    use super::*;

    const PTX: &str = ".version 7.8\n.target sm_75\n.address_size 64\n\
        .visible .entry k(.param .u64 p)\n{\n.reg .b32 %r<3>;\n.reg .b64 %rd<3>;\n\
        ld.param.u64 %rd1, [p];\nmov.u32 %r1, %tid.x;\nst.global.u32 [%rd1], %r1;\nret;\n}\n";

    /// A process that launches `k` so many times.
    fn part(launches: u32) -> Part {
        let options = Options { mode: Mode::timed(Config::default()), ..Options::default() };
        let mut device = Device::with(options, Box::new(Nobody)).expect("the GPU is legal");
        let module = device.load_module("k.ptx", PTX).expect("the text is PTX");
        let p = device.alloc(4).expect("there is room");
        for _ in 0..launches {
            device
                .launch(module, "k", &LaunchConfig::new(2, 64), &Args::new().ptr(p))
                .expect("the kernel runs");
        }
        device.synchronize().expect("the kernels end");
        let whole = Whole::of(&device).expect("it is timed");
        let config = Config::default();
        let kernels: Vec<_> =
            device.log().iter().map(|launch| crate::kernel(launch, Some(&config))).collect();
        Part {
            status: Status::Complete,
            sums: Sums::of(&kernels),
            kernels,
            whole: Some((whole.cycles, whole.counters)),
            diagnostics: Vec::new(),
            ptx: vec![sha256_hex(PTX.as_bytes())],
            texts: vec![("k.ptx".to_owned(), 10, "st.global.u32 [%rd1], %r1;".to_owned())],
            copies: Vec::new(),
            counts: None,
        }
    }

    fn inputs() -> Inputs {
        Inputs { program: Some(vec!["a.out".to_owned()]), ..Inputs::default() }
    }

    fn host() -> Host {
        Host {
            wall_seconds: 0.0,
            cpu_seconds: 0.0,
            peak_rss_bytes: 0,
            threads: 1,
            isa_level: "plain".to_owned(),
        }
    }

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("warpwatt-record-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir(&folder).expect("a folder can be made");
        folder
    }

    #[test]
    fn two_processes_become_one_record() {
        let folder = folder("two");
        let (first, second) = (part(1), part(2));
        assert_eq!(Part::claim(&folder).expect("it is free"), 1);
        assert_eq!(Part::claim(&folder).expect("it is free"), 2);
        assert_eq!(Part::claim(&folder).expect("it is free"), 3);
        second.write(&folder, 2).expect("it can be written");
        first.write(&folder, 1).expect("it can be written");
        let read = Part::read_all(&folder).expect("they can be read");
        assert_eq!(read, [(1, Some(first.clone())), (2, Some(second.clone())), (3, None)]);
        std::fs::remove_dir_all(&folder).expect("it can be removed");

        let parts: Vec<_> = read.into_iter().filter_map(|(number, part)| Some((number, part?))).collect();
        let again =
            |per_launch| merge(inputs(), Some(&Config::default()), None, parts.clone(), per_launch, host());
        let (record, texts) = again(16);
        let who: Vec<_> = record.kernels.iter().map(|kernel| (kernel.index, kernel.process)).collect();
        assert_eq!(who, [(0, Some(1)), (1, Some(2)), (2, Some(2))]);
        let cycles =
            first.whole.as_ref().map_or(0, |whole| whole.0) + second.whole.map_or(0, |whole| whole.0);
        assert_eq!(record.totals.cycles, Some(cycles));
        assert_eq!(record.totals.launches, 3);
        let issued = |part: &Part| match part.whole.as_ref().map(|whole| &whole.1["sm.issued.count"]) {
            Some(Reading::Count(count)) => *count,
            _ => 0,
        };
        assert_eq!(record.totals.counters["sm.issued.count"], Reading::Count(3 * issued(&first)));
        assert_eq!(texts.len(), 1);
        // Fewer in detail change nothing else.
        let (fewer, _) = again(2);
        assert_eq!((fewer.kernels.len(), &fewer.totals), (2, &record.totals));
        assert_eq!(fewer.by_kernel, record.by_kernel);
        let [group] = &record.by_kernel[..] else { panic!("there is one kernel") };
        assert_eq!((group.launches, group.first, group.grid), (3, 0, Some([2, 1, 1])));
        assert_eq!(record.status, Status::Complete);
    }

    #[test]
    fn one_process_is_not_numbered_and_the_worst_status_counts() {
        let (record, ..) = merge(inputs(), Some(&Config::default()), None, vec![(1, part(1))], 16, host());
        assert_eq!(record.kernels[0].process, None);
        let fault = Diagnostic {
            code: "memory".to_owned(),
            severity: Severity::Error,
            file: None,
            line: None,
            column: None,
            message: "out of bounds".to_owned(),
            help: None,
        };
        let failed = Part { status: Status::Failed, diagnostics: vec![fault.clone()], ..part(1) };
        let partial = Part { status: Status::Partial, ..part(1) };
        let (record, ..) = merge(inputs(), None, None, vec![(1, failed), (2, partial)], 16, host());
        assert_eq!((record.status, record.diagnostics), (Status::Failed, vec![fault]));
    }

    #[test]
    fn a_program_without_kernels_has_an_empty_record_of_its_mode() {
        let (record, ..) = merge(inputs(), Some(&Config::default()), None, Vec::new(), 16, host());
        assert_eq!((record.mode, record.totals.cycles), (warpwatt_results::Mode::Timed, Some(0)));
        let (record, ..) = merge(inputs(), None, None, Vec::new(), 16, host());
        assert_eq!((record.mode, record.totals.cycles), (warpwatt_results::Mode::Functional, None));
    }
}
