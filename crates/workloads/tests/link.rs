// SPDX-License-Identifier: MIT OR Apache-2.0
//! Linked texts do what each does alone: all workloads run from texts that are linked of theirs, as few as constant memory allows.

use warpwatt_runtime::{Device, Error};
use warpwatt_workloads::{Size, Workload, all};

/// Whether the workload passed, and what each of its launches executed.
type Counts = (bool, Vec<(String, u64, u64)>);

fn counts(workload: &dyn Workload, ptx: &str) -> Result<Counts, Error> {
    let mut device = Device::new()?;
    let check = workload.run(&mut device, ptx, Size::Tiny, 1)?;
    device.synchronize()?;
    let launches = device.log().iter();
    let counts = launches
        .map(|launch| (launch.kernel.clone(), launch.warp_instructions, launch.thread_instructions))
        .collect();
    Ok((check.passed, counts))
}

/// The `.const` variables of a text: their names, and the bytes that they take with what alignment may add.
fn constants(ptx: &str) -> Vec<(&str, u32)> {
    let variables = ptx.lines().filter_map(|line| line.strip_prefix(".const ")?.strip_suffix(';'));
    let named = variables.map(|variable| variable.rsplit(' ').next().expect("it has a name"));
    named
        .map(|variable| match variable.split_once('[') {
            Some((name, bytes)) => (name, bytes.trim_end_matches(']').parse::<u32>().expect("a number") + 16),
            None => (variable, 8 + 16),
        })
        .collect()
}

/// Workloads that go together, each in the first lot that has room: constants fit into the 64 KiB of a module, and have names of their own, by which
/// the host finds them.
fn lots() -> Vec<Vec<&'static dyn Workload>> {
    let mut lots: Vec<Vec<&'static dyn Workload>> = Vec::new();
    let mut held: Vec<Vec<(&str, u32)>> = Vec::new();
    for workload in all() {
        let own = constants(workload.ptx());
        let has_room = |held: &[(&str, u32)]| {
            let bytes: u32 = held.iter().chain(&own).map(|(_, bytes)| bytes).sum();
            bytes <= 64 << 10 && !own.iter().any(|(name, _)| held.iter().any(|(other, _)| name == other))
        };
        let place = held.iter().position(|held| has_room(held)).unwrap_or(lots.len());
        if place == lots.len() {
            lots.push(Vec::new());
            held.push(Vec::new());
        }
        lots[place].push(*workload);
        held[place].extend(own);
    }
    lots
}

#[test]
fn workloads_run_the_same_from_linked_texts() {
    let mut ran = 0;
    for lot in lots() {
        let texts: Vec<_> = lot.iter().map(|workload| (workload.info().name, workload.ptx())).collect();
        let linked = warpwatt_ptx::link(&texts).expect("their names are their own");
        for workload in &lot {
            let name = workload.info().name;
            let alone = counts(*workload, workload.ptx()).expect("it runs alone");
            let together = counts(*workload, &linked).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(together.0, "{name}");
            assert_eq!(together.1, alone.1, "{name}");
        }
        assert!(lot.len() > 1, "there is nothing to link");
        ran += lot.len();
    }
    assert_eq!(ran, all().len());
}
