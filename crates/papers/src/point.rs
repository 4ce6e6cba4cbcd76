// SPDX-License-Identifier: MIT OR Apache-2.0
//! Points: one workload on one GPU with certain techniques, what identifies it, and what is kept of its run (`warpwatt.point/1`).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use warpwatt_results::{
    Check, ComponentEnergy, Inputs, Reading, RunRecord, Status, StructureEnergy, Values, sha256_hex,
};

use crate::measure::Column;

/// Name and version of a point file's layout.
pub const POINT_SCHEMA: &str = "warpwatt.point/1";

/// What is run, as the command line takes it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Point {
    pub workload: String,
    pub size: String,
    pub seed: u64,
    pub gpu: String,
    /// `key=value`.
    pub settings: Vec<String>,
    /// In canonical form.
    pub techniques: Vec<String>,
    pub technology: String,
    pub predication: bool,
}

impl Point {
    /// The command that runs it alone.
    pub fn command(&self) -> String {
        let mut text =
            format!("warpwatt run {}@{} --seed {} --gpu {}", self.workload, self.size, self.seed, self.gpu);
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
    /// The technology's text.
    pub technology: &'a str,
    pub predication: bool,
    pub workload: &'a str,
    pub ptx: &'a str,
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
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PointRecord {
    /// Always `warpwatt.point/1`.
    pub schema: String,
    /// What the file is named by.
    pub key: String,
    pub status: Status,
    pub inputs: Inputs,
    pub check: Option<Check>,
    /// In which kernels were under way.
    pub cycles: u64,
    pub warp_instructions: u64,
    pub thread_instructions: u64,
    /// Of the whole run.
    pub counters: Values,
    pub energy: PointEnergy,
    /// The only part that differs from run to run.
    pub host: PointHost,
}

#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PointEnergy {
    pub total_j: f64,
    pub dynamic_j: f64,
    pub static_j: f64,
    pub components: Vec<ComponentEnergy>,
    pub structures: Vec<StructureEnergy>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PointHost {
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
            host: PointHost { wall_seconds: record.host.wall_seconds },
        })
    }

    /// A point file, if it is a whole one of this key.
    pub fn read(text: &str, key: &str) -> Option<PointRecord> {
        let record: PointRecord = serde_json::from_str(text).ok()?;
        let sound = record.schema == POINT_SCHEMA && record.key == key && record.status == Status::Complete;
        sound.then_some(record)
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

    /// The same with workloads beside the suite.
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

    fn parts<'a>(techniques: &'a [String]) -> KeyParts<'a> {
        KeyParts {
            build: "b",
            gpu_sha256: "g",
            techniques,
            technology: "t",
            predication: true,
            workload: "w",
            ptx: "p",
            generator: 1,
            seed: 1,
            size: "tiny",
        }
    }

    #[test]
    fn every_part_changes_the_key() {
        let (none, one) = (Vec::new(), vec!["x".to_owned()]);
        let usual = parts(&none);
        let others = [
            KeyParts { build: "c", ..usual.clone() },
            KeyParts { gpu_sha256: "h", ..usual.clone() },
            KeyParts { techniques: &one, ..usual.clone() },
            KeyParts { technology: "u", ..usual.clone() },
            KeyParts { predication: false, ..usual.clone() },
            KeyParts { workload: "v", ..usual.clone() },
            KeyParts { ptx: "q", ..usual.clone() },
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
            workload: "bfs".to_owned(),
            size: "tiny".to_owned(),
            seed: 3,
            gpu: "gtx480-wc".to_owned(),
            settings: vec!["sm.scheduler=lrr".to_owned()],
            techniques: vec!["warped-compression:gating=off".to_owned()],
            technology: "wc45".to_owned(),
            predication: true,
        };
        assert_eq!(
            point.command(),
            "warpwatt run bfs@tiny --seed 3 --gpu gtx480-wc --set sm.scheduler=lrr \
             --with warped-compression:gating=off --technology wc45"
        );
        point.predication = false;
        assert!(point.command().ends_with("--technology wc45 --no-predication"), "{}", point.command());
    }
}
