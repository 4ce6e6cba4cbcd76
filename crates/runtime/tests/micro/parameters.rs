// SPDX-License-Identifier: MIT OR Apache-2.0
//! No parameter is dead: each one, doubled or halved or set to another choice, moves some counter of some small job.

use std::collections::BTreeMap;

use warpwatt_config::{Config, Parameter, ParameterKind, apply, validate};

use crate::bench::{How, gpu};
use crate::jobs::{JOBS, Job, Outcome};

/// A small GPU, with an L2 that small jobs do not fit into.
const SMALL: &[&str] = &["gpu.sms=2", "gpu.partitions=2", "l2.sets=8", "gpu.kernel_launch_cycles=300"];

/// What has to be so for a parameter to matter at all.
fn context(key: &str) -> Vec<String> {
    let settings: &[&str] = match key {
        "noc.hop_cycles" | "noc.mesh_columns" => &["noc.topology=mesh", "noc.mesh_columns=2"],
        // The mesh of a large GPU is too wide for a small one.
        "noc.topology" => &["noc.mesh_columns=2"],
        // Half of what it needs makes a kernel spill.
        "sm.thread_registers" => &["sm.thread_registers=64"],
        // Two banks in turn, which have one group or two.
        "dram.upper_groups" => &["dram.bank_hash=false"],
        "sm.active_warps" => &["sm.scheduler=two-level"],
        // Exactly five blocks of four warps find room, with a unit that is rounded up more when it is doubled.
        "sm.register_unit" => {
            let registers = 32 * Job::named("registers").registers();
            let rounds =
                |&unit: &u32| registers.next_multiple_of(2 * unit) > registers.next_multiple_of(unit);
            let unit = (1..=16).map(|k| 32 * k).find(rounds).expect("a unit");
            let warp = registers.next_multiple_of(unit);
            return vec![format!("sm.register_unit={unit}"), format!("sm.registers={}", 5 * 4 * warp)];
        }
        // The farther the memory, the more come for a line before it is there.
        "l2.merges" => &["dram.cycles=400"],
        // Requests wait behind a short queue, lines before an L2 that takes its time.
        "l2.queue" => &["dram.queue=8"],
        // It cannot be more than the gap within a bank group.
        "dram.t_ccd" => &["dram.t_ccdl=4"],
        // Launches of a stream follow each other no faster than the first comes.
        "gpu.kernel_gap_cycles" => &["gpu.kernel_gap_cycles=100"],
        // Instructions of one warp do not fill many.
        "sm.rf.collectors_fp64" => &["sm.rf.collectors_fp64=2"],
        // A little smaller than the code.
        "sm.second.bytes" | "sm.second.ways" => &["sm.second.bytes=8192"],
        "dram.return_queue" => &["l2.port_bytes=8", "l2.mshrs=64"],
        _ => &[],
    };
    settings.iter().map(|&setting| setting.to_owned()).collect()
}

/// Jobs that are likely to show a parameter, to be run first.
fn likely(key: &str) -> &'static str {
    match key {
        "sm.independent_threads" => return "turns",
        "sm.l1d.large_ways" | "sm.shared.small_bytes" => return "local",
        _ => {}
    }
    match key.rsplit_once('.').map_or("", |(section, _)| section) {
        "gpu" | "pcie" => "streams",
        "sm.fetch" | "sm.icache" | "sm.second" => "code",
        "sm.shared" => "shared",
        "sm.constant" | "sm.texture" => "small caches",
        "sm.l1d" | "noc" | "l2" | "dram" | "clock" => "memory",
        "sm" => "registers",
        _ => "arithmetic",
    }
}

/// Other values of a parameter, in the order in which they are tried.
fn others(parameter: &Parameter, config: &Config) -> Vec<String> {
    let now = config.get(parameter.key).expect("a key of the listing");
    match parameter.kind {
        ParameterKind::Integer { .. } => {
            let now: u64 = now.parse().expect("a number");
            vec![(2 * now.max(1)).to_string(), (now / 2).to_string()]
        }
        ParameterKind::Switch => vec![(now != "true").to_string()],
        ParameterKind::Choice(words) => {
            words.iter().filter(|&&word| word != now).map(|&word| word.to_owned()).collect()
        }
        ParameterKind::File => vec![],
    }
}

#[test]
fn every_parameter_moves_a_counter() {
    let mut bases = BTreeMap::<(Vec<String>, &str), Outcome>::new();
    let (mut dead, mut illegal) = (Vec::new(), Vec::new());
    // Those of `power` change energy alone, which is tested with it; the size of memory and the most threads of a block decide what is refused, and
    // nothing else: `large` and tests of launches look at them.
    let refuses = ["gpu.memory_mb", "sm.block_threads"];
    let elsewhere = |parameter: &&Parameter| parameter.section == "power" || refuses.contains(&parameter.key);
    for parameter in Config::parameters().iter().filter(|parameter| !elsewhere(parameter)) {
        let settings = context(parameter.key);
        let all: Vec<&str> = SMALL.iter().copied().chain(settings.iter().map(String::as_str)).collect();
        let base = gpu("gtx480", &all);
        let changed: Vec<Config> = others(parameter, &base)
            .into_iter()
            .filter_map(|value| {
                let mut config = base.clone();
                apply(&mut config, &format!("{}={value}", parameter.key)).ok()?;
                validate(&config).ok()?;
                Some(config)
            })
            .collect();
        if changed.is_empty() {
            illegal.push(parameter.key);
            continue;
        }
        let first = likely(parameter.key);
        let jobs =
            JOBS.iter().filter(|job| job.name == first).chain(JOBS.iter().filter(|job| job.name != first));
        let moves = jobs.into_iter().any(|job| {
            let before = bases
                .entry((settings.clone(), job.name))
                .or_insert_with(|| job.run(Some(&base), How::default()))
                .clone();
            changed.iter().any(|config| {
                let after = job.run(Some(config), How::default());
                assert_eq!(
                    after.output, before.output,
                    "{}: what {} computes has changed",
                    parameter.key, job.name
                );
                after.counts != before.counts
            })
        });
        if !moves {
            dead.push(parameter.key);
        }
    }
    assert!(illegal.is_empty(), "can be neither doubled nor halved: {illegal:?}");
    assert!(dead.is_empty(), "nothing moves: {dead:?}");
}
