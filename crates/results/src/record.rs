// SPDX-License-Identifier: MIT OR Apache-2.0
//! The parts of a run record, in the order in which they are written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::counters::{Reading, Values};
use crate::{MODEL_VERSION, RUN_SCHEMA};

/// One run of a workload or of a launch file.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunRecord {
    /// Always `warpwatt.run/1`.
    pub schema: String,
    /// What made the record.
    pub tool: Tool,
    /// What was simulated.
    pub mode: Mode,
    /// Whether the run came to its end.
    pub status: Status,
    /// All that decides the result.
    pub inputs: Inputs,
    /// One entry per launch, in launch order.
    pub kernels: Vec<Kernel>,
    /// Sums over all launches.
    pub totals: Totals,
    /// The comparison with the reference, or the launch file's own comparisons.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub check: Option<Check>,
    /// What went wrong, and warnings.
    pub diagnostics: Vec<Diagnostic>,
    /// The only part that differs from run to run.
    pub host: Host,
}

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
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Inputs {
    /// Name of a built-in workload.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub workload: Option<String>,
    /// Its size: tiny, small, medium or large.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub size: Option<String>,
    /// Seed of its inputs.
    pub seed: u64,
    /// Of the PTX text.
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
    pub parameters: std::collections::BTreeMap<String, String>,
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
    /// Per thread.
    pub registers: u32,
    /// Static and dynamic shared memory per block.
    pub shared_bytes: u32,
    /// Local memory per thread: stack and spills.
    pub local_bytes: u32,
    /// How it was simulated.
    pub mode: Mode,
    /// Instructions issued, each for a whole warp.
    pub warp_instructions: u64,
    /// The same times the lanes that took part.
    pub thread_instructions: u64,
    /// By name; the counters are listed below.
    pub counters: Values,
    /// By source line, in order of file and line.
    pub lines: Vec<Line>,
}

/// What one source line issued.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// The file of the line table; the PTX text itself where there is no line table.
    pub file: String,
    /// From 1; 0 for what belongs to no line.
    pub line: u32,
    /// Instructions issued for it.
    pub warp_instructions: u64,
    /// The same times the lanes that took part.
    pub thread_instructions: u64,
}

/// Sums over all launches.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Totals {
    /// Number of launches.
    pub launches: u64,
    /// Instructions issued, each for a whole warp.
    pub warp_instructions: u64,
    /// The same times the lanes that took part.
    pub thread_instructions: u64,
    /// Counts added up, ratios of the sums.
    pub counters: Values,
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
    pub fn new(version: &str, commit: &str) -> Tool {
        Tool { version: version.to_owned(), commit: commit.to_owned(), model_version: MODEL_VERSION }
    }
}

impl RunRecord {
    /// A record of a functional run with its sums worked out.
    pub fn functional(
        tool: Tool,
        status: Status,
        inputs: Inputs,
        kernels: Vec<Kernel>,
        host: Host,
    ) -> RunRecord {
        let totals = Totals::of(&kernels);
        RunRecord {
            schema: RUN_SCHEMA.to_owned(),
            tool,
            mode: Mode::Functional,
            status,
            inputs,
            kernels,
            totals,
            check: None,
            diagnostics: Vec::new(),
            host,
        }
    }

    /// The document as written to a file: indented, with a newline at the end.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }
}

impl Totals {
    /// Counts add up; ratios are worked out again from the sums.
    pub fn of(kernels: &[Kernel]) -> Totals {
        let mut totals = Totals { launches: kernels.len() as u64, ..Totals::default() };
        let mut lines = std::collections::BTreeMap::<(&str, u32), (u64, u64)>::new();
        for kernel in kernels {
            totals.warp_instructions += kernel.warp_instructions;
            totals.thread_instructions += kernel.thread_instructions;
            for (name, reading) in &kernel.counters {
                let Reading::Count(count) = reading else { continue };
                let sum = totals.counters.entry(name.clone()).or_insert(Reading::Count(0));
                if let Reading::Count(sum) = sum {
                    *sum += count;
                }
            }
            for line in &kernel.lines {
                let sum = lines.entry((&line.file, line.line)).or_default();
                sum.0 += line.warp_instructions;
                sum.1 += line.thread_instructions;
            }
        }
        if totals.warp_instructions > 0 {
            let lanes = totals.thread_instructions as f64 / totals.warp_instructions as f64;
            totals.counters.insert(crate::counters::LANES.name.to_owned(), Reading::Ratio(lanes));
        }
        totals.lines = lines
            .into_iter()
            .map(|((file, line), (warp_instructions, thread_instructions))| Line {
                file: file.to_owned(),
                line,
                warp_instructions,
                thread_instructions,
            })
            .collect();
        totals
    }
}

/// SHA-256 in lower-case hexadecimal.
pub fn sha256_hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(index: u64, line: u32, warps: u64) -> Kernel {
        let mut counters = Values::new();
        counters.insert(crate::counters::BARRIERS.name.to_owned(), Reading::Count(2));
        counters.insert(crate::counters::LANES.name.to_owned(), Reading::Ratio(32.0));
        Kernel {
            index,
            name: "k".into(),
            demangled: "k".into(),
            grid: [1, 1, 1],
            block: [32, 1, 1],
            stream: 0,
            registers: 8,
            shared_bytes: 0,
            local_bytes: 0,
            mode: Mode::Functional,
            warp_instructions: warps,
            thread_instructions: warps * 16,
            counters,
            lines: vec![Line {
                file: "k.cu".into(),
                line,
                warp_instructions: warps,
                thread_instructions: warps * 16,
            }],
        }
    }

    fn record() -> RunRecord {
        let inputs = Inputs {
            workload: Some("vecadd".into()),
            size: Some("tiny".into()),
            seed: 1,
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
        let kernels = vec![kernel(0, 3, 10), kernel(1, 3, 20), kernel(2, 7, 1)];
        RunRecord::functional(Tool::new("0", "unknown"), Status::Complete, inputs, kernels, host)
    }

    #[test]
    fn totals_add_up_by_line_and_ratios_are_not_summed() {
        let totals = record().totals;
        assert_eq!((totals.launches, totals.warp_instructions), (3, 31));
        let lines: Vec<_> = totals.lines.iter().map(|line| (line.line, line.warp_instructions)).collect();
        assert_eq!(lines, [(3, 30), (7, 1)]);
        assert_eq!(totals.counters["exec.barriers.count"], Reading::Count(6));
        assert_eq!(totals.counters["exec.lanes_per_warp_instruction.ratio"], Reading::Ratio(16.0));
    }

    #[test]
    fn a_functional_record_has_no_timed_fields_and_reads_back() {
        let text = record().to_json().expect("a record is JSON");
        for absent in ["cycles", "ipc", "energy", "stalls", "\"gpu\"", "technology"] {
            assert!(!text.contains(absent), "{absent} is not part of a functional run");
        }
        assert_eq!(serde_json::from_str::<RunRecord>(&text).expect("it reads back"), record());
    }

    #[test]
    fn the_empty_text_has_its_well_known_hash() {
        assert!(sha256_hex(b"").starts_with("e3b0c44298fc1c14"));
    }
}
