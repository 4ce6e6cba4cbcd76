// SPDX-License-Identifier: MIT OR Apache-2.0
//! What has to be run for a paper: each variant with each workload, as `run` would do it, and the key that its result is kept under.

use warpwatt_config::sha256;
use warpwatt_papers::{KeyParts, Paper, Point, Variant};
use warpwatt_results::sha256_hex;
use warpwatt_workloads::{GENERATOR, Size, Workload};

use super::internal;
use crate::args::{GpuArgs, Timing};
use crate::exit::{Exit, Failure};
use crate::job::Job;
use crate::run::Target;

pub struct Plan {
    /// One for each variant.
    pub targets: Vec<Target>,
    pub tasks: Vec<Task>,
}

/// One point that is needed.
pub struct Task {
    pub variant: &'static Variant,
    /// Its place among the targets.
    pub target: usize,
    pub job: Job,
    pub point: Point,
    pub key: String,
}

impl Task {
    /// `workload/variant`.
    pub fn name(&self) -> String {
        format!("{}/{}", self.point.workload, self.variant.name)
    }
}

impl Plan {
    pub fn new(
        paper: &'static Paper,
        workloads: &[&'static dyn Workload],
        size: Size,
        seed: u64,
    ) -> Result<Plan, Failure> {
        let build = build()?;
        let mut plan = Plan { targets: Vec::new(), tasks: Vec::new() };
        for variant in paper.variants {
            let target = target(paper, variant)?;
            let gpu_sha256 = sha256(&target.timed.config);
            let techniques = target.timed.techniques.canonical();
            for workload in workloads {
                let name = workload.info().name;
                let parts = KeyParts {
                    build: &build,
                    gpu_sha256: &gpu_sha256,
                    techniques: &techniques,
                    technology: &target.technology.file.text,
                    workload: name,
                    ptx: workload.ptx(),
                    generator: GENERATOR,
                    seed,
                    size: size.name(),
                };
                plan.tasks.push(Task {
                    variant,
                    target: plan.targets.len(),
                    job: Job::Workload { workload: *workload, size, seed },
                    key: parts.key().map_err(internal)?,
                    point: Point {
                        workload: name.to_owned(),
                        size: size.to_string(),
                        seed,
                        gpu: target.name.clone(),
                        settings: variant.settings.iter().map(|text| (*text).to_owned()).collect(),
                        techniques: techniques.clone(),
                        technology: target.technology.name.clone(),
                    },
                });
            }
            plan.targets.push(target);
        }
        Ok(plan)
    }

    /// Of the GPU that the variants change.
    pub fn gpu_sha256(&self) -> String {
        self.targets.first().map(|target| sha256(&target.timed.config)).unwrap_or_default()
    }
}

/// What `run` would make of the variant's settings. Points run side by side, each on one thread.
fn target(paper: &Paper, variant: &Variant) -> Result<Target, Failure> {
    let gpu = GpuArgs {
        gpu: Some(paper.gpu.to_owned()),
        set: variant.settings.iter().map(|text| (*text).to_owned()).collect(),
        with: variant.technique.iter().map(|text| (*text).to_owned()).collect(),
        ..GpuArgs::default()
    };
    let technology = Some(paper.technology.to_owned());
    Target::new(&Timing { gpu, threads: Some(1), technology, ..Timing::default() })
}

/// The hash of the program that runs, which stands for everything that is built in.
fn build() -> Result<String, Failure> {
    // This one is there even if the file was replaced meanwhile.
    let program = std::fs::read("/proc/self/exe").or_else(|_| std::fs::read(std::env::current_exe()?));
    let bytes = program
        .map_err(|error| Failure::new(Exit::Io, format!("cannot read the program that runs: {error}")))?;
    Ok(sha256_hex(&bytes))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use warpwatt_papers::{PAPERS, warped_compression::area};
    use warpwatt_runtime::Techniques;

    use super::*;

    fn keys(size: Size, seed: u64) -> BTreeSet<String> {
        let plan = Plan::new(&PAPERS[0], warpwatt_workloads::all(), size, seed).expect("a plan");
        plan.tasks.into_iter().map(|task| task.key).collect()
    }

    #[test]
    fn every_variant_of_every_paper_can_be_run_and_has_a_key_of_its_own() {
        for paper in PAPERS {
            let plan = Plan::new(paper, warpwatt_workloads::all(), Size::Tiny, 1).expect("a plan");
            assert_eq!(plan.tasks.len(), paper.variants.len() * warpwatt_workloads::all().len());
            let keys: BTreeSet<_> = plan.tasks.iter().map(|task| &task.key).collect();
            assert_eq!(keys.len(), plan.tasks.len());
            for task in &plan.tasks {
                let technique = task.variant.technique;
                assert_eq!(task.point.techniques.len(), usize::from(technique.is_some()), "{}", task.name());
            }
        }
    }

    #[test]
    fn keys_are_the_same_every_time_and_differ_by_size_and_seed() {
        let usual = keys(Size::Tiny, 1);
        assert_eq!(usual, keys(Size::Tiny, 1));
        assert!(usual.is_disjoint(&keys(Size::Tiny, 2)));
        assert!(usual.is_disjoint(&keys(Size::Small, 1)));
    }

    #[test]
    fn the_area_is_that_of_the_usual_units() {
        let mut techniques = Techniques::default();
        techniques.with("warped-compression").expect("a technique");
        let usual = |name| techniques.get("warped-compression", name).and_then(|text| text.parse().ok());
        let units = area::TABLE_2;
        assert_eq!(usual("compressors"), Some(units.compressors));
        assert_eq!(usual("decompressors"), Some(units.decompressors));
        assert_eq!(usual("compress_cycles"), Some(units.compress_cycles));
    }
}
