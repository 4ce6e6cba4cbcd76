// SPDX-License-Identifier: MIT OR Apache-2.0
//! Points: one workload on one GPU with certain techniques, what identifies it, and what is kept of its run (`warpwatt.point/1`).

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use warpwatt_results::{
    Check, ComponentEnergy, GroupEnergy, Inputs, KernelGroup, Reading, RunRecord, Status, StructureEnergy,
    Values, sha256_hex,
};

use crate::measure::Column;

/// Name and version of a point file's layout.
pub const POINT_SCHEMA: &str = "warpwatt.point/1";

/// Schema of the file that requests a point.
pub const REQUEST_SCHEMA: &str = "warpwatt.request/1";

/// What is run, as the command line takes it: a workload, or a program for `exec`. As a file it is what `warpwatt point` reads.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Point {
    /// Always `warpwatt.request/1`.
    pub schema: String,
    /// Name of a built-in workload.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub workload: Option<String>,
    /// Size of the workload: tiny, small, medium or large.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub size: Option<String>,
    /// Seed of the workload's inputs.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub seed: Option<u64>,
    /// Program and arguments that `exec` runs, instead of a workload.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub command: Option<Vec<String>>,
    /// Files that the program reads, besides those that its arguments name: a change of one makes it another point.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub files: Vec<String>,
    /// A built-in GPU, or a TOML file.
    pub gpu: String,
    /// Parameters of the GPU and of techniques that are changed, as `key=value`.
    #[serde(default)]
    pub settings: Vec<String>,
    /// Techniques that are on, as `--with` takes them.
    #[serde(default)]
    pub techniques: Vec<String>,
    /// A built-in technology, or a TOML file.
    pub technology: String,
    /// Short branches become guarded instructions.
    #[serde(default = "yes")]
    pub predication: bool,
}

fn yes() -> bool {
    true
}

impl Point {
    /// A workload on an unchanged GPU.
    pub fn of_workload(workload: &str, size: &str, seed: u64, gpu: &str, technology: &str) -> Point {
        Point {
            schema: REQUEST_SCHEMA.to_owned(),
            workload: Some(workload.to_owned()),
            size: Some(size.to_owned()),
            seed: Some(seed),
            command: None,
            files: Vec::new(),
            gpu: gpu.to_owned(),
            settings: Vec::new(),
            techniques: Vec::new(),
            technology: technology.to_owned(),
            predication: true,
        }
    }

    /// What is run, without how: `bfs@tiny`, or the program's command line.
    pub fn subject(&self) -> String {
        match (&self.workload, &self.command) {
            (_, Some(words)) => words.join(" "),
            (workload, None) => {
                let size = self.size.as_deref().unwrap_or("small");
                format!("{}@{size}", workload.as_deref().unwrap_or_default())
            }
        }
    }

    /// The command that runs it alone.
    pub fn command(&self) -> String {
        let mut text = match &self.command {
            Some(_) => format!("warpwatt exec --gpu {}", self.gpu),
            None => {
                let seed = self.seed.unwrap_or(1);
                format!("warpwatt run {} --seed {seed} --gpu {}", self.subject(), self.gpu)
            }
        };
        for setting in &self.settings {
            text += &format!(" --set {setting}");
        }
        for technique in &self.techniques {
            text += &format!(" --with {technique}");
        }
        text += &format!(" --technology {}", self.technology);
        if !self.predication {
            text += " --no-predication";
        }
        if self.command.is_some() {
            text += &format!(" -- {}", self.subject());
        }
        text
    }
}

/// All that decides what a point's run finds.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct KeyParts<'a> {
    /// Hash of the program.
    pub build: &'a str,
    /// Hash of all parameters of the GPU.
    pub gpu_sha256: &'a str,
    /// In canonical form.
    pub techniques: &'a [String],
    /// Hash of the technology's text.
    pub technology_sha256: &'a str,
    pub predication: bool,
    /// Name of the workload, or words of a program's command line.
    pub subject: &'a [String],
    /// Hashes of the workload's PTX, or of the files of a program.
    pub files_sha256: &'a [String],
    /// Version of the generators of inputs.
    pub generator: u32,
    pub seed: u64,
    pub size: &'a str,
}

impl KeyParts<'_> {
    /// The name of the point's file. JSON keeps the parts apart.
    pub fn key(&self) -> Result<String, serde_json::Error> {
        serde_json::to_vec(self).map(|parts| sha256_hex(&parts))
    }
}

/// What is kept of a point's run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PointRecord {
    /// Always `warpwatt.point/1`.
    pub schema: String,
    /// What the file is named by.
    pub key: String,
    /// Always `complete`.
    pub status: Status,
    /// All that decides the result.
    pub inputs: Inputs,
    /// The comparison with the reference.
    pub check: Option<Check>,
    /// In which kernels were under way.
    pub cycles: u64,
    /// Instructions issued, each for a whole warp.
    pub warp_instructions: u64,
    /// Thread instructions: each instruction issued counts once for every active lane.
    pub thread_instructions: u64,
    /// Of the whole run.
    pub counters: Values,
    /// What the GPU took while kernels were under way.
    pub energy: PointEnergy,
    /// Launches added up by kernel, in order of first launch.
    #[serde(default)]
    pub kernels: Vec<PointKernel>,
    /// The only part that differs from run to run.
    pub host: PointHost,
}

#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PointEnergy {
    /// All of it, in joules.
    pub total_j: f64,
    /// Of events.
    pub dynamic_j: f64,
    /// Of time.
    pub static_j: f64,
    /// By component, as in the technology file.
    pub components: Vec<ComponentEnergy>,
    /// By structure, as in the technology file.
    pub structures: Vec<StructureEnergy>,
}

/// All launches of one kernel.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PointKernel {
    /// As in the PTX text.
    pub name: String,
    /// As in the source.
    pub demangled: String,
    /// Number of launches.
    pub launches: u64,
    /// Per thread, the most of any launch.
    pub registers: u32,
    /// Static and dynamic shared memory per block, the most of any launch.
    pub shared_bytes: u32,
    /// Cycles of all launches added up, whether they overlapped or not.
    pub cycles: u64,
    /// Instructions issued, each for a whole warp.
    pub warp_instructions: u64,
    /// Thread instructions: each instruction issued counts once for every active lane.
    pub thread_instructions: u64,
    /// What the GPU took while these launches ran.
    pub energy: GroupEnergy,
    /// Counts that are not 0; histograms and ratios are left out.
    pub counters: Values,
}

impl PointKernel {
    fn of(group: KernelGroup) -> PointKernel {
        let counted = |reading: &Reading| matches!(reading, Reading::Count(count) if *count > 0);
        PointKernel {
            name: group.name,
            demangled: group.demangled,
            launches: group.launches,
            registers: group.registers,
            shared_bytes: group.shared_bytes,
            cycles: group.cycles.unwrap_or_default(),
            warp_instructions: group.warp_instructions,
            thread_instructions: group.thread_instructions,
            energy: group.energy.unwrap_or_default(),
            counters: group.counters.into_iter().filter(|(_, reading)| counted(reading)).collect(),
        }
    }
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PointHost {
    /// Time that the run took.
    pub wall_seconds: f64,
}

impl PointRecord {
    /// What a timed run with energy leaves; nothing of another one.
    pub fn of(key: String, record: RunRecord) -> Option<PointRecord> {
        let energy = record.energy?;
        Some(PointRecord {
            schema: POINT_SCHEMA.to_owned(),
            key,
            status: record.status,
            inputs: record.inputs,
            check: record.check,
            cycles: record.totals.cycles?,
            warp_instructions: record.totals.warp_instructions,
            thread_instructions: record.totals.thread_instructions,
            counters: record.totals.counters,
            energy: PointEnergy {
                total_j: energy.total_j,
                dynamic_j: energy.dynamic_j,
                static_j: energy.static_j,
                components: energy.components,
                structures: energy.structures,
            },
            kernels: record.by_kernel.into_iter().map(PointKernel::of).collect(),
            host: PointHost { wall_seconds: record.host.wall_seconds },
        })
    }

    /// A point file, if it is a whole one of this key.
    pub fn read(text: &str, key: &str) -> Option<PointRecord> {
        let record: PointRecord = serde_json::from_str(text).ok()?;
        let sound = record.schema == POINT_SCHEMA && record.key == key && record.status == Status::Complete;
        sound.then_some(record)
    }

    /// Time in which kernels were under way, by the GPU's core clock.
    pub fn seconds(&self) -> Option<f64> {
        let mhz: f64 = self.inputs.gpu.as_ref()?.parameters.get("clock.core_mhz")?.parse().ok()?;
        (mhz > 0.0).then(|| self.cycles as f64 / (mhz * 1e6))
    }

    /// A counter, or the sum of a histogram.
    pub fn count(&self, name: &str) -> Option<f64> {
        match self.counters.get(name)? {
            Reading::Count(count) => Some(*count as f64),
            Reading::Ratio(ratio) => Some(*ratio),
            Reading::Histogram(buckets) => Some(buckets.iter().sum::<u64>() as f64),
        }
    }

    /// A place of a histogram; places behind the last that is not 0 are not written.
    pub fn bucket(&self, name: &str, place: usize) -> Option<f64> {
        Some(self.buckets(name)?.get(place).copied().unwrap_or_default() as f64)
    }

    /// All places of a histogram, up to the last that is not 0.
    pub fn buckets(&self, name: &str) -> Option<&[u64]> {
        match self.counters.get(name)? {
            Reading::Histogram(buckets) => Some(buckets),
            _ => None,
        }
    }

    /// Dynamic energy of a structure, in joules; 0 if the technology has none of that name.
    pub fn dynamic(&self, structure: &str) -> f64 {
        self.structures(structure).map(|part| part.dynamic_j).sum()
    }

    /// Leakage of a structure, in joules.
    pub fn leakage(&self, structure: &str) -> f64 {
        self.structures(structure).map(|part| part.static_j).sum()
    }

    fn structures<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a StructureEnergy> {
        self.energy.structures.iter().filter(move |part| part.name == name)
    }
}

/// The schema of `warpwatt.point/1` as a JSON document.
pub fn point_schema() -> Value {
    named(schemars::schema_for!(PointRecord), POINT_SCHEMA)
}

/// The schema of `warpwatt.request/1` as a JSON document.
pub fn request_schema() -> Value {
    named(schemars::schema_for!(Point), REQUEST_SCHEMA)
}

fn named(mut schema: schemars::Schema, id: &str) -> Value {
    schema.insert("$id".to_owned(), id.into());
    schema.to_value()
}

/// What the points of a paper found with one seed, by variant and workload.
#[derive(Clone, Debug, Default)]
pub struct Points {
    /// In the order of columns.
    pub workloads: Vec<String>,
    /// Workloads beside the suite, which some variants are run with.
    pub beside: Vec<String>,
    records: BTreeMap<(String, String), PointRecord>,
}

impl Points {
    pub fn new(workloads: Vec<String>) -> Points {
        Points { workloads, ..Points::default() }
    }

    /// Adds workloads beside the suite.
    pub fn with_beside(self, beside: Vec<String>) -> Points {
        Points { beside, ..self }
    }

    /// The points of the workloads beside the suite.
    pub fn of_beside(&self) -> Points {
        Points { workloads: self.beside.clone(), beside: Vec::new(), records: self.records.clone() }
    }

    pub fn put(&mut self, variant: &str, workload: &str, record: PointRecord) {
        self.records.insert((variant.to_owned(), workload.to_owned()), record);
    }

    pub fn get(&self, variant: &str, workload: &str) -> Option<&PointRecord> {
        self.records.get(&(variant.to_owned(), workload.to_owned()))
    }

    /// A value of each workload's point of a variant.
    pub fn column(&self, variant: &str, of: impl Fn(&PointRecord) -> Option<f64>) -> Column {
        Column(self.workloads.iter().map(|workload| of(self.get(variant, workload)?)).collect())
    }

    /// Which workloads use a structure: those for which a counter of a variant is above 0.
    pub fn users(&self, variant: &str, counter: &str) -> Vec<bool> {
        let uses = |workload: &String| self.get(variant, workload)?.count(counter).map(|count| count > 0.0);
        self.workloads.iter().map(|workload| uses(workload).unwrap_or_default()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts<'a>(techniques: &'a [String], names: &'a [String]) -> KeyParts<'a> {
        KeyParts {
            build: "b",
            gpu_sha256: "g",
            techniques,
            technology_sha256: "t",
            predication: true,
            subject: names,
            files_sha256: &[],
            generator: 1,
            seed: 1,
            size: "tiny",
        }
    }

    #[test]
    fn every_part_changes_the_key() {
        let (none, one) = (Vec::new(), vec!["x".to_owned()]);
        let (name, other) = (vec!["w".to_owned()], vec!["v".to_owned()]);
        let usual = parts(&none, &name);
        let others = [
            KeyParts { build: "c", ..usual.clone() },
            KeyParts { gpu_sha256: "h", ..usual.clone() },
            KeyParts { techniques: &one, ..usual.clone() },
            KeyParts { technology_sha256: "u", ..usual.clone() },
            KeyParts { predication: false, ..usual.clone() },
            KeyParts { subject: &other, ..usual.clone() },
            KeyParts { files_sha256: &other, ..usual.clone() },
            KeyParts { generator: 2, ..usual.clone() },
            KeyParts { seed: 2, ..usual.clone() },
            KeyParts { size: "small", ..usual.clone() },
            // The same letters, divided otherwise.
            KeyParts { build: "bg", gpu_sha256: "", ..usual.clone() },
            usual,
        ];
        let keys: std::collections::BTreeSet<_> =
            others.iter().map(|parts| parts.key().expect("plain parts")).collect();
        assert_eq!(keys.len(), others.len());
        assert!(keys.iter().all(|key| key.len() == 64));
    }

    #[test]
    fn a_point_tells_how_to_run_it_alone() {
        let mut point = Point {
            settings: vec!["sm.scheduler=lrr".to_owned()],
            techniques: vec!["warped-compression:gating=off".to_owned()],
            ..Point::of_workload("bfs", "tiny", 3, "gtx480-wc", "wc45")
        };
        assert_eq!(
            point.command(),
            "warpwatt run bfs@tiny --seed 3 --gpu gtx480-wc --set sm.scheduler=lrr \
             --with warped-compression:gating=off --technology wc45"
        );
        point.predication = false;
        assert!(point.command().ends_with("--technology wc45 --no-predication"), "{}", point.command());
        point.command = Some(vec!["./saxpy".to_owned(), "1000".to_owned()]);
        assert!(point.command().starts_with("warpwatt exec --gpu gtx480-wc --set"), "{}", point.command());
        assert!(point.command().ends_with("--no-predication -- ./saxpy 1000"), "{}", point.command());
    }
}
