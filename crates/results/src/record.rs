// SPDX-License-Identifier: MIT OR Apache-2.0
//! The parts of a run record, in the order in which they are written.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use warpwatt_config::{Config, listing, sha256};

use crate::RUN_SCHEMA;
use crate::counters::{Reading, Values};
use crate::energy::Energy;
use crate::group::KernelGroup;
use crate::totals::{Elapsed, Sums};

/// One run of a workload, of a launch file, or of a program.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunRecord {
    /// Always `warpwatt.run/2`.
    pub schema: String,
    /// What made the record.
    pub tool: Tool,
    /// What was simulated; kernels of a timed run that were left out are functional.
    pub mode: Mode,
    /// Whether the run came to its end.
    pub status: Status,
    /// All that decides the result.
    pub inputs: Inputs,
    /// The first launches in detail, in launch order: as many as `--per-launch` says.
    pub kernels: Vec<Kernel>,
    /// All launches, those in `kernels` included, added up by kernel, in order of first launch.
    pub by_kernel: Vec<KernelGroup>,
    /// Sums over all launches.
    pub totals: Totals,
    /// What the GPU took while kernels were under way; absent in functional mode.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub energy: Option<Energy>,
    /// The comparison with the reference, or the launch file's own comparisons.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub check: Option<Check>,
    /// Copies and fills, in the order in which they were made; only with `--trace`.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub copies: Vec<Copied>,
    /// Text of the source lines in `totals.lines` and around them, by file and line, where it could be had.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub sources: SourceTexts,
    /// What went wrong, and warnings.
    pub diagnostics: Vec<Diagnostic>,
    /// The only part that differs from run to run.
    pub host: Host,
}

/// Lines of source files, by file and by number from 1.
pub type SourceTexts = BTreeMap<String, BTreeMap<u32, String>>;

/// What made the record.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tool {
    /// Version of the program.
    pub version: String,
    /// Commit that the program was built from, or `unknown`.
    pub commit: String,
    /// Bumped when a counter of a golden run changes.
    pub model_version: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Values only: no cycles, no energy.
    Functional,
    /// Values and time.
    Timed,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    Complete,
    /// A limit or an interrupt ended the run: what is there is right as far as it goes.
    Partial,
    /// A check or the simulated program failed.
    Failed,
}

/// What was run.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Inputs {
    /// Name of a built-in workload.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub workload: Option<String>,
    /// Its size: tiny, small, medium or large.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub size: Option<String>,
    /// Program and arguments that `exec` ran, without folders.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub program: Option<Vec<String>>,
    /// Seed of the workload's inputs.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub seed: Option<u64>,
    /// Of the PTX text; of the hashes of all texts, in the order of loading, where a program brought them.
    pub ptx_sha256: String,
    /// Of the launch file, when there is one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub launch_sha256: Option<String>,
    /// The GPU's parameters; absent in functional mode, where they play no part.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub gpu: Option<Gpu>,
    /// Canonical strings of the techniques that were on.
    pub techniques: Vec<String>,
    /// The technology that energy was computed for.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub technology: Option<String>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Gpu {
    /// Its preset.
    pub name: String,
    /// Every parameter with its value.
    pub parameters: BTreeMap<String, String>,
    /// Of the parameters.
    pub sha256: String,
}

/// One launch.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Kernel {
    /// Counted from 0 over the launches of the run.
    pub index: u64,
    /// As in the PTX text.
    pub name: String,
    /// As in the source.
    pub demangled: String,
    /// Blocks in x, y and z.
    pub grid: [u32; 3],
    /// Threads per block in x, y and z.
    pub block: [u32; 3],
    /// Stream that it was launched on.
    pub stream: u32,
    /// Number of the process that launched it, from 1; only where there were several.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub process: Option<u32>,
    /// Per thread.
    pub registers: u32,
    /// Static and dynamic shared memory per block.
    pub shared_bytes: u32,
    /// Local memory per thread: stack and spills.
    pub local_bytes: u32,
    /// How it was simulated.
    pub mode: Mode,
    /// When it was launched, on the device's clock of core cycles.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub start_cycle: Option<u64>,
    /// From its launch to the end of its last block.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cycles: Option<u64>,
    /// Instructions issued, each for a whole warp.
    pub warp_instructions: u64,
    /// Thread instructions: each instruction issued counts once for every active lane.
    pub thread_instructions: u64,
    /// Thread instructions per cycle.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ipc: Option<f64>,
    /// Warp instructions per cycle and SM.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub warp_ipc_per_sm: Option<f64>,
    /// By name. In a timed run they are those of the whole GPU while the kernel ran: kernels that ran at the same time share them.
    pub counters: Values,
    /// Issue slots of the GPU without issue, by reason. With those that issued they are all slots there are, cycles x schedulers x
    /// SMs; up to an epoch more for a kernel that ended while others ran.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub stalls: Option<Stalls>,
    /// By source line, in order of file and line.
    pub lines: Vec<Line>,
    /// By SM, while the kernel ran.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub sms: Option<Sms>,
    /// Over time, one list per counter, with the ends of the intervals in `cycle`; only with `--interval`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub series: Option<Series>,
    /// Where and when its blocks ran; only with `--trace`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub blocks: Option<Blocks>,
    /// What the GPU took while the kernel ran; kernels that ran at the same time share it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub energy: Option<Energy>,
}

/// Scheduler cycles without issue, by reason.
pub type Stalls = BTreeMap<String, u64>;

/// What was counted in each interval, by name.
pub type Series = BTreeMap<String, Vec<Reading>>;

/// A few figures of every SM, in the order of the SMs.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sms {
    /// Instructions issued.
    pub issued: Vec<u64>,
    /// Cycles with at least one resident warp.
    pub active_cycles: Vec<u64>,
    /// Scheduler cycles without issue, by reason.
    pub stalls: BTreeMap<String, Vec<u64>>,
}

/// Columns of one length, one place for each block, in the order of their starts.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Blocks {
    /// Number of the block in its grid.
    pub block: Vec<u64>,
    /// The SM that it ran on.
    pub sm: Vec<u32>,
    /// When it started.
    pub start_cycle: Vec<u64>,
    /// The cycle after its last one; of a block that had not ended, that of the kernel.
    pub end_cycle: Vec<u64>,
}

/// A copy between host and device, or within one of them, or a fill.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Copied {
    /// `to_device`, `from_device`, `on_device` or `on_host`.
    pub way: String,
    /// Bytes that were moved.
    pub bytes: u64,
    /// When it started, on the device's clock of core cycles.
    pub start_cycle: u64,
    /// When it ended.
    pub end_cycle: u64,
    /// Number of the process, from 1; only where there were several.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub process: Option<u32>,
}

/// What was done for one source line.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// The file of the line table; the PTX text itself where there is no line table.
    pub file: String,
    /// From 1; 0 for what belongs to no line.
    pub line: u32,
    /// Instructions issued for it.
    pub warp_instructions: u64,
    /// Thread instructions: each instruction issued counts once for every active lane.
    pub thread_instructions: u64,
    /// Scheduler cycles in which its instructions were waited for, by reason.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub stalls: Option<Stalls>,
}

/// Sums over all launches.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Totals {
    /// Number of launches.
    pub launches: u64,
    /// Cycles in which timed kernels were under way; kernels that ran at the same time share them.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cycles: Option<u64>,
    /// Instructions issued, each for a whole warp.
    pub warp_instructions: u64,
    /// Thread instructions: each instruction issued counts once for every active lane.
    pub thread_instructions: u64,
    /// Thread instructions of timed kernels per cycle.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ipc: Option<f64>,
    /// Warp instructions of timed kernels per cycle and SM.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub warp_ipc_per_sm: Option<f64>,
    /// Counts added up, ratios of the sums.
    pub counters: Values,
    /// Issue slots without issue, by reason.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub stalls: Option<Stalls>,
    /// By source line, over all launches.
    pub lines: Vec<Line>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// Whether no value was further off than the tolerance.
    pub passed: bool,
    /// Largest error of any value compared; absent when it is not finite.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub max_error: Option<f64>,
    /// Largest error that passes.
    pub tolerance: f64,
    /// Values compared.
    pub compared: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    Error,
    Warning,
    Note,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Diagnostic {
    /// Stable short code.
    pub code: String,
    /// How bad it is.
    pub severity: Severity,
    /// The file it is about.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub file: Option<String>,
    /// From 1.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub line: Option<u32>,
    /// From 1.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub column: Option<u32>,
    /// What is wrong.
    pub message: String,
    /// What can be done about it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub help: Option<String>,
}

/// The machine that ran the simulation, not the one simulated.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Elapsed time.
    pub wall_seconds: f64,
    /// Processor time of all threads.
    pub cpu_seconds: f64,
    /// Most memory that was resident.
    pub peak_rss_bytes: u64,
    /// Threads that simulated.
    pub threads: u32,
    /// Instruction set that the lanes were computed with: `plain`, `avx2` or `avx512`.
    pub isa_level: String,
}

impl Tool {
    pub fn new(version: &str, commit: &str, model_version: u32) -> Tool {
        Tool { version: version.to_owned(), commit: commit.to_owned(), model_version }
    }
}

impl Gpu {
    pub fn of(name: &str, config: &Config) -> Gpu {
        let parameters = listing(config).into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        Gpu { name: name.to_owned(), parameters, sha256: sha256(config) }
    }
}

impl RunRecord {
    /// The record of a run with these launches in detail and these sums over all launches; `elapsed` is what a timed run counted as a
    /// whole.
    pub fn new(
        tool: Tool,
        inputs: Inputs,
        kernels: Vec<Kernel>,
        sums: &Sums,
        elapsed: Option<Elapsed>,
        host: Host,
    ) -> RunRecord {
        let mode = if elapsed.is_some() { Mode::Timed } else { Mode::Functional };
        let by_kernel = sums.groups(elapsed.as_ref().map(|elapsed| elapsed.config));
        let totals = sums.totals(elapsed);
        RunRecord {
            schema: RUN_SCHEMA.to_owned(),
            tool,
            mode,
            status: Status::Complete,
            inputs,
            kernels,
            by_kernel,
            totals,
            energy: None,
            check: None,
            copies: Vec::new(),
            sources: SourceTexts::new(),
            diagnostics: Vec::new(),
            host,
        }
    }

    /// The document as written to a file: indented, with a newline at the end.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        crate::json::to_text(self)
    }
}

/// SHA-256 in lower-case hexadecimal.
pub fn sha256_hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(index: u64, line: u32, warps: u64, mode: Mode) -> Kernel {
        let mut counters = Values::new();
        counters.insert(crate::counters::BARRIERS.name.to_owned(), Reading::Count(2));
        counters.insert(crate::counters::LANES.name.to_owned(), Reading::Ratio(32.0));
        let timed = mode == Mode::Timed;
        if timed {
            counters.insert("made.up.count".to_owned(), Reading::Count(5));
        }
        let stalls = || timed.then(|| Stalls::from([("memory".to_owned(), 7)]));
        Kernel {
            index,
            name: "k".into(),
            demangled: "k".into(),
            grid: [1, 1, 1],
            block: [32, 1, 1],
            stream: 0,
            process: None,
            registers: 8,
            shared_bytes: 0,
            local_bytes: 0,
            mode,
            start_cycle: timed.then_some(index),
            cycles: timed.then_some(100),
            warp_instructions: warps,
            thread_instructions: warps * 16,
            ipc: None,
            warp_ipc_per_sm: None,
            counters,
            stalls: stalls(),
            lines: vec![Line {
                file: "k.cu".into(),
                line,
                warp_instructions: warps,
                thread_instructions: warps * 16,
                stalls: stalls(),
            }],
            sms: None,
            series: None,
            blocks: None,
            energy: None,
        }
    }

    fn record(modes: [Mode; 3], elapsed: Option<Elapsed>) -> RunRecord {
        let inputs = Inputs {
            workload: Some("vecadd".into()),
            size: Some("tiny".into()),
            program: None,
            seed: Some(1),
            ptx_sha256: sha256_hex(b""),
            launch_sha256: None,
            gpu: None,
            techniques: Vec::new(),
            technology: None,
        };
        let host = Host {
            wall_seconds: 0.5,
            cpu_seconds: 0.5,
            peak_rss_bytes: 1,
            threads: 1,
            isa_level: "plain".into(),
        };
        let [first, second, third] = modes;
        let kernels = vec![kernel(0, 3, 10, first), kernel(1, 3, 20, second), kernel(2, 7, 1, third)];
        let sums = Sums::of(&kernels);
        RunRecord::new(Tool::new("0", "unknown", 1), inputs, kernels, &sums, elapsed, host)
    }

    fn functional() -> RunRecord {
        record([Mode::Functional; 3], None)
    }

    #[test]
    fn totals_add_up_by_line_and_ratios_are_not_summed() {
        let totals = functional().totals;
        assert_eq!((totals.launches, totals.warp_instructions), (3, 31));
        let lines: Vec<_> = totals.lines.iter().map(|line| (line.line, line.warp_instructions)).collect();
        assert_eq!(lines, [(3, 30), (7, 1)]);
        assert_eq!(totals.counters["exec.barriers.count"], Reading::Count(6));
        assert_eq!(totals.counters["exec.lanes_per_warp_instruction.ratio"], Reading::Ratio(16.0));
    }

    #[test]
    fn totals_of_a_timed_run_are_those_of_the_device() {
        let config = Config::default();
        let elapsed = Elapsed {
            config: &config,
            cycles: 150,
            counters: Values::from([("made.up.count".to_owned(), Reading::Count(6))]),
            stalls: Stalls::from([("memory".to_owned(), 9)]),
        };
        let record = record([Mode::Functional, Mode::Timed, Mode::Timed], Some(elapsed));
        assert_eq!(record.mode, Mode::Timed);
        let totals = record.totals;
        assert_eq!(totals.cycles, Some(150), "kernels may overlap");
        assert_eq!(totals.counters["made.up.count"], Reading::Count(6));
        assert_eq!(totals.counters["exec.barriers.count"], Reading::Count(6));
        assert_eq!(totals.ipc, Some(21.0 * 16.0 / 150.0), "of the timed kernels");
        let line = &totals.lines[0];
        assert_eq!((line.warp_instructions, line.stalls.as_ref().map(|s| s["memory"])), (30, Some(7)));
    }

    #[test]
    fn a_functional_record_has_no_timed_fields_and_reads_back() {
        let text = functional().to_json().expect("a record is JSON");
        for absent in ["cycles", "ipc", "energy", "stalls", "\"gpu\"", "technology", "series", "sms"] {
            assert!(!text.contains(absent), "{absent} is not part of a functional run");
        }
        assert_eq!(serde_json::from_str::<RunRecord>(&text).expect("it reads back"), functional());
    }

    #[test]
    fn a_gpu_is_told_apart_by_its_parameters() {
        let (mut config, plain) = (Config::default(), Gpu::of("gtx480", &Config::default()));
        assert_eq!(plain.parameters["gpu.sms"], "15");
        config.gpu.sms = 14;
        assert_ne!(Gpu::of("gtx480", &config).sha256, plain.sha256);
    }

    #[test]
    fn the_empty_text_has_its_well_known_hash() {
        assert!(sha256_hex(b"").starts_with("e3b0c44298fc1c14"));
    }
}
