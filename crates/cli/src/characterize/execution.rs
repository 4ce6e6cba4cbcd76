// SPDX-License-Identifier: MIT OR Apache-2.0
//! What workloads execute, how they fill the card, and what more bandwidth gives them.

use std::collections::BTreeMap;

use serde::Deserialize;
use warpwatt_results::RunRecord;
use warpwatt_workloads::Data;

use super::runs::{BANDWIDTH, CARD, Measured};
use super::sheet::{Cell, Heading, Sheet, heading, percent};
use crate::exit::{Exit, Failure};

/// Kinds of operations beside arithmetic, by their names in `ops.NAME.count`. Whatever is in none of them is in the last column.
const MEMORY: &[&str] = &["load", "store", "atomic", "texture", "surface"];
const CONTROL: &[&str] = &["branch", "barrier", "fence", "vote", "shuffle", "system"];

fn operations(measured: &Measured, kinds: &[&str], what: &str) -> f64 {
    kinds.iter().filter_map(|kind| measured.count(CARD, &format!("ops.{kind}.{what}"))).sum()
}

pub fn mix(measured: &[Measured]) -> Sheet {
    let row = |one: &Measured| {
        let all = one.run(CARD).map_or(0.0, |run| run.totals.warp_instructions as f64);
        let shares = [Data::INTEGER, Data::FLOAT, Data::SPECIAL, MEMORY, CONTROL]
            .map(|kinds| operations(one, kinds, "count"));
        let rest = all - shares.iter().sum::<f64>();
        let lanes = |kinds: &[&str]| operations(one, kinds, "lanes.count");
        let (float, integer) = (lanes(Data::FLOAT) + lanes(Data::SPECIAL), lanes(Data::INTEGER));
        let issued = one.count(CARD, "sm.lanes.histogram").unwrap_or_default()
            + one.count(CARD, "sm.no_lanes.count").unwrap_or_default();
        let full = one.buckets(CARD, "sm.lanes.histogram", 31..32).unwrap_or_default();
        let mut cells: Vec<Cell> =
            shares.iter().chain([&rest]).map(|part| percent(*part, all).into()).collect();
        cells.push(percent(float, float + integer).into());
        cells.push(Cell::Word(Data::of_mix(float as u64, integer as u64).name().to_owned()));
        cells.push(one.count(CARD, "exec.lanes_per_warp_instruction.ratio").into());
        cells.push(percent(issued - full, issued).into());
        (one.name(), cells)
    };
    Sheet {
        key: "mix",
        title: "Instructions",
        note: "Warp instructions by kind in percent: integer, floating-point, special functions, memory, control, and the rest (moves and \
               conversions). `fp %`: floating-point lanes of all arithmetic. `data`: class by this share: int below 10 %, mixed below 25 %, otherwise float. `lanes`: mean number of active lanes of an instruction. `part %`: instructions that fewer than 32 lanes execute.",
        headings: vec![
            heading("integer", "int", 1),
            heading("float", "float", 1),
            heading("special", "spec", 1),
            heading("memory", "mem", 1),
            heading("control", "ctrl", 1),
            heading("rest", "rest", 1),
            heading("float_of_arithmetic", "fp %", 1),
            heading("data", "data", 0),
            heading("lanes", "lanes", 1),
            heading("partial", "part %", 1),
        ],
        rows: measured.iter().map(row).collect(),
    }
}

/// What `reference/ptxas.toml` has for a kernel.
#[derive(Deserialize)]
struct Assembled {
    workload: String,
    name: String,
    registers_sm50: u32,
}

#[derive(Deserialize)]
struct Reference {
    kernel: Vec<Assembled>,
}

/// Registers a thread by ptxas, by workload and kernel.
fn assembled() -> Result<BTreeMap<(String, String), u32>, Failure> {
    let reference: Reference = toml::from_str(warpwatt_workloads::PTXAS)
        .map_err(|error| Failure::new(Exit::Internal, format!("reference figures of ptxas: {error}")))?;
    let kernels = reference.kernel.into_iter();
    Ok(kernels.map(|kernel| ((kernel.workload, kernel.name), kernel.registers_sm50)).collect())
}

pub fn machine(measured: &[Measured]) -> Result<Sheet, Failure> {
    let ptxas = assembled()?;
    let row = |one: &Measured| {
        let run = one.run(CARD);
        let most = |of: &dyn Fn(&str, u32) -> Option<u32>| {
            let kernels = run.map_or(&[][..], |run| &run.by_kernel);
            kernels.iter().filter_map(|kernel| of(&kernel.name, kernel.registers)).max().map(f64::from)
        };
        let theirs = |name: &str, _| ptxas.get(&(one.name().to_owned(), name.to_owned())).copied();
        let launches = run.map_or(0.0, |run| run.totals.launches as f64);
        let cycles = run.and_then(cycles).unwrap_or_default();
        let gaps = (launches * one.launch_cycles).min(cycles);
        let active = one.count(CARD, "sm.active.cycles").unwrap_or_default();
        let share = |counter: &str| one.count(CARD, counter).map(|share| 100.0 * share);
        let cells = [
            most(&|_, ours| Some(ours)),
            most(&theirs),
            Some(launches),
            share("sm.occupancy.ratio"),
            percent(active, one.sms * (cycles - gaps)),
            percent(gaps, cycles),
            share("sm.issue_utilisation.ratio"),
            run.and_then(|run| run.totals.ipc),
        ];
        (one.name(), cells.map(Cell::from).to_vec())
    };
    Ok(Sheet {
        key: "machine",
        title: "Machine (gtx480)",
        note: "`regs`: registers a thread of the kernel that needs the most, and the number that NVIDIA's assembler gives it for sm_50. `occ %`: occupancy, resident warps over the maximum, in all cycles with kernels. `warps %`: cycles in which an SM holds warps, from the start of the first block to the end of the last block of each kernel. `gaps %`: cycles between a launch and its first block, of all cycles with kernels. `issue %`: \
               slots of the schedulers that issued. `IPC`: thread instructions a cycle.",
        headings: vec![
            heading("registers", "regs", 0),
            heading("registers_ptxas", "ptxas", 0),
            heading("launches", "launches", 0),
            heading("occupancy", "occ %", 1),
            heading("with_warps", "warps %", 1),
            heading("launch_gaps", "gaps %", 1),
            heading("issue_utilisation", "issue %", 1),
            heading("ipc", "IPC", 1),
        ],
        rows: measured.iter().map(row).collect(),
    })
}

fn cycles(run: &RunRecord) -> Option<f64> {
    run.totals.cycles.map(|cycles| cycles as f64)
}

pub fn bandwidth(measured: &[Measured]) -> Sheet {
    const HEADINGS: [Heading; 3] = [
        heading("bandwidth_2x", "2x", 3),
        heading("bandwidth_4x", "4x", 3),
        heading("bandwidth_8x", "8x", 3),
    ];
    let row = |one: &Measured| {
        let base = one.run(BANDWIDTH[0]).and_then(cycles);
        let speedup = |variant: &str| Some(base? / one.run(variant).and_then(cycles)?);
        (one.name(), BANDWIDTH[1..].iter().map(|variant| speedup(variant).into()).collect())
    };
    Sheet {
        key: "bandwidth",
        title: "Speedup with more bandwidth (gtx580-e2mc)",
        note: "Cycles at the GPU's memory clock over cycles at two, four and eight times that clock (E2MC, Figure 1). A program that gains less than 5 % at eight times the bandwidth is compute-bound by E2MC's rule.",
        headings: HEADINGS.into(),
        rows: measured.iter().map(row).collect(),
    }
}
