// SPDX-License-Identifier: MIT OR Apache-2.0
//! What has to be run for a paper: each variant with each workload and seed, as `run` would do it, and the key that its result is kept under.

use warpwatt_config::sha256;
use warpwatt_papers::{KeyParts, Paper, Point, Seeds, Variant};
use warpwatt_results::sha256_hex;
use warpwatt_workloads::{Size, Workload};

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
    /// The place of its seed among all.
    pub seed: usize,
    /// Its place among the targets.
    pub target: usize,
    pub job: Job,
    pub point: Point,
    pub key: String,
}

impl Task {
    /// `workload/variant`, with the seed where it is not the first.
    pub fn name(&self) -> String {
        let seed = if self.seed == 0 { String::new() } else { format!("/seed-{}", self.point.seed) };
        format!("{}/{}{seed}", self.point.workload, self.variant.name)
    }
}

impl Plan {
    /// All variants with the workloads, and those that ask for it with the workloads beside the suite.
    pub fn new(
        paper: &'static Paper,
        workloads: &[&'static dyn Workload],
        beside: &[&'static dyn Workload],
        size: Size,
        seeds: &[u64],
    ) -> Result<Plan, Failure> {
        let build = build()?;
        let mut plan = Plan { targets: Vec::new(), tasks: Vec::new() };
        for variant in paper.variants {
            let target = target(paper, variant, size)?;
            let gpu_sha256 = sha256(&target.timed.config);
            let techniques = target.timed.techniques.canonical();
            let seeds = match variant.seeds {
                Seeds::All => seeds,
                Seeds::First => &seeds[..seeds.len().min(1)],
            };
            let beside = if variant.beside { beside } else { &[] };
            let workloads = || workloads.iter().chain(beside);
            let runs = seeds.iter().enumerate().flat_map(|seed| workloads().map(move |one| (seed, one)));
            for ((place, &seed), workload) in runs {
                let name = workload.info().name;
                let parts = KeyParts {
                    build: &build,
                    gpu_sha256: &gpu_sha256,
                    techniques: &techniques,
                    technology: &target.technology.file.text,
                    predication: variant.predication,
                    workload: name,
                    ptx: workload.ptx(),
                    generator: workload.info().generator,
                    seed,
                    size: size.name(),
                };
                plan.tasks.push(Task {
                    variant,
                    seed: place,
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
                        predication: variant.predication,
                    },
                });
            }
            plan.targets.push(target);
        }
        Ok(plan)
    }

    /// Names of all GPUs and of all technologies, those of the first variant first.
    pub fn machines(&self) -> (Vec<String>, Vec<String>) {
        let (mut gpus, mut technologies) = (Vec::new(), Vec::new());
        for target in &self.targets {
            for (names, name) in [(&mut gpus, &target.name), (&mut technologies, &target.technology.name)] {
                if !names.contains(name) {
                    names.push(name.clone());
                }
            }
        }
        (gpus, technologies)
    }

    /// Of the GPU that the variants change.
    pub fn gpu_sha256(&self) -> String {
        self.targets.first().map(|target| sha256(&target.timed.config)).unwrap_or_default()
    }
}

/// What `run` would make of the variant's settings. Points run side by side, each on one thread.
fn target(paper: &Paper, variant: &Variant, size: Size) -> Result<Target, Failure> {
    let scaled = |text: &&str| match warpwatt_papers::Size::find(size.name()) {
        Some(size) => size.scaled(text).0,
        None => (*text).to_owned(),
    };
    let gpu = GpuArgs {
        gpu: Some(variant.gpu.unwrap_or(paper.gpu).to_owned()),
        set: variant.settings.iter().map(|text| (*text).to_owned()).collect(),
        with: variant.techniques.iter().map(scaled).collect(),
        ..GpuArgs::default()
    };
    let technology = Some(variant.technology.unwrap_or(paper.technology).to_owned());
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
        let plan = Plan::new(&PAPERS[0], warpwatt_workloads::all(), &[], size, &[seed]).expect("a plan");
        plan.tasks.into_iter().map(|task| task.key).collect()
    }

    #[test]
    fn every_variant_of_every_paper_can_be_run_and_has_a_key_of_its_own() {
        for paper in PAPERS {
            let plan =
                Plan::new(paper, warpwatt_workloads::all(), &[], Size::Tiny, &[1, 2, 3]).expect("a plan");
            let count = |seeds| paper.variants.iter().filter(|variant| variant.seeds == seeds).count();
            let runs = 3 * count(Seeds::All) + count(Seeds::First);
            assert_eq!(plan.tasks.len(), runs * warpwatt_workloads::all().len());
            let keys: BTreeSet<_> = plan.tasks.iter().map(|task| &task.key).collect();
            assert_eq!(keys.len(), plan.tasks.len());
            for task in &plan.tasks {
                let techniques = task.variant.techniques.len();
                assert_eq!(task.point.techniques.len(), techniques, "{}", task.name());
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
    fn an_experiment_can_have_several_gpus_and_technologies() {
        const VARIANTS: &[Variant] =
            &[Variant::new("one"), Variant::new("other").on("gtx580", "gtx480-40nm")];
        const PAPER: &Paper = &Paper { variants: VARIANTS, ..PAPERS[0] };
        let workload = warpwatt_workloads::find("vecadd").expect("a workload");
        let plan = Plan::new(PAPER, &[workload], &[], Size::Tiny, &[1]).expect("a plan");
        let (gpus, technologies) = plan.machines();
        assert_eq!(
            (gpus, technologies),
            (
                vec!["gtx480-wc".to_owned(), "gtx580".to_owned()],
                vec!["wc45".to_owned(), "gtx480-40nm".to_owned()]
            )
        );
        assert_eq!(plan.tasks[1].point.gpu, "gtx580");
        assert_ne!(plan.tasks[0].key, plan.tasks[1].key);
    }

    #[test]
    fn workloads_beside_the_suite_are_run_with_the_variants_that_ask_for_them() {
        const VARIANTS: &[Variant] =
            &[Variant::new("one"), Variant::new("other").set(&["sm.ctas=1"]).beside()];
        const PAPER: &Paper = &Paper { variants: VARIANTS, ..PAPERS[0] };
        let find = |name| warpwatt_workloads::find(name).expect("a workload");
        let plan = Plan::new(PAPER, &[find("vecadd")], &[find("sgemm")], Size::Tiny, &[1]).expect("a plan");
        let names: Vec<_> = plan.tasks.iter().map(Task::name).collect();
        assert_eq!(names, ["vecadd/one", "vecadd/other", "sgemm/other"]);
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
