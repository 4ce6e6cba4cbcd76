// SPDX-License-Identifier: MIT OR Apache-2.0
//! What has to be run for papers: each variant with each workload and seed, as `run` would do it. A point that several papers need is run once.

use std::collections::HashMap;

use warpwatt_papers::{Chosen, Claim, Paper, Point, Seeds, Variant, at_needed_size};
use warpwatt_workloads::{Size, Workload};

use super::{choose, claims};
use crate::args::PaperArgs;
use crate::exit::Failure;
use crate::list::find_workload;
use crate::points::{Planner, Task};

pub struct Plan {
    /// Each point once.
    pub tasks: Vec<Task>,
    pub experiments: Vec<Experiment>,
}

/// The part of one paper.
pub struct Experiment {
    pub paper: &'static Paper,
    pub claims: Vec<Claim>,
    pub workloads: Vec<&'static dyn Workload>,
    /// Workloads outside of the suite, for the variants that need them.
    pub beside: Vec<&'static dyn Workload>,
    /// What there is of its suite.
    pub suite: Chosen,
    pub cells: Vec<Cell>,
}

/// A point as the paper sees it.
pub struct Cell {
    pub variant: &'static Variant,
    pub workload: &'static str,
    /// The place of its seed among all.
    pub seed: usize,
    /// It is for claims that can be measured from this size on, and not of the run's own size.
    pub larger: Option<Size>,
    /// Its place among the tasks.
    pub task: usize,
}

impl Plan {
    /// Points of these papers, with the options of the command line.
    pub fn new(papers: &[&'static Paper], args: &PaperArgs, seeds: &[u64]) -> Result<Plan, Failure> {
        let mut planner = match &args.points_of {
            Some(program) => Planner::of_program(program)?,
            None => Planner::new()?,
        };
        let mut plan = Plan { tasks: Vec::new(), experiments: Vec::new() };
        let mut known = HashMap::new();
        for paper in papers {
            let (workloads, suite) = choose(paper, &args.workloads, args.quick)?;
            let claims = claims::of(paper)?;
            // Workloads of the user's choice stand for themselves, and a quick run does without.
            let beside: Vec<_> = match args.workloads.is_empty() && !args.quick {
                true => {
                    suite.compute_bound.iter().map(|name| find_workload(name)).collect::<Result<_, _>>()?
                }
                false => Vec::new(),
            };
            let mut cells = Vec::new();
            let mut sizes = vec![None];
            if args.large_where_needed && args.size < Size::Large && !at_needed_size(paper).is_empty() {
                sizes.push(Some(Size::Large));
            }
            for larger in sizes {
                let variants: Vec<&'static Variant> = match larger {
                    None => paper.variants.iter().collect(),
                    Some(_) => at_needed_size(paper),
                };
                for variant in variants {
                    let seeds = match variant.seeds {
                        Seeds::All => seeds,
                        Seeds::First => &seeds[..seeds.len().min(1)],
                    };
                    let beside = if variant.beside { &beside[..] } else { &[] };
                    for (place, &seed) in seeds.iter().enumerate() {
                        for workload in workloads.iter().chain(beside) {
                            let size = larger.unwrap_or(args.size);
                            let cell = |task| {
                                let workload = workload.info().name;
                                Cell { variant, workload, seed: place, larger, task }
                            };
                            let task = task(&mut planner, paper, variant, (*workload, size, (place, seed)))?;
                            let next = plan.tasks.len();
                            let place = *known.entry(task.key.clone()).or_insert(next);
                            if place == next {
                                plan.tasks.push(task);
                            }
                            cells.push(cell(place));
                        }
                    }
                }
            }
            plan.experiments.push(Experiment { paper, claims, workloads, beside, suite, cells });
        }
        Ok(plan)
    }
}

impl Experiment {
    /// Names of all GPUs and of all technologies, those of the first variant first.
    pub fn machines(&self) -> (Vec<String>, Vec<String>) {
        let (mut gpus, mut technologies) = (Vec::new(), Vec::new());
        for variant in self.paper.variants {
            let gpu = variant.gpu.unwrap_or(self.paper.gpu);
            let technology = variant.technology.unwrap_or(self.paper.technology);
            for (names, name) in [(&mut gpus, gpu), (&mut technologies, technology)] {
                if !names.iter().any(|other| other == name) {
                    names.push(name.to_owned());
                }
            }
        }
        (gpus, technologies)
    }

    pub fn names(&self) -> Vec<String> {
        self.workloads.iter().map(|workload| workload.info().name.to_owned()).collect()
    }

    /// Points of it, each once.
    pub fn points(&self) -> usize {
        let mut tasks: Vec<_> = self.cells.iter().map(|cell| cell.task).collect();
        tasks.sort_unstable();
        tasks.dedup();
        tasks.len()
    }
}

/// What `run` would make of the variant's settings. The name has the seed where it is not the first.
fn task(
    planner: &mut Planner,
    paper: &Paper,
    variant: &Variant,
    (workload, size, (place, seed)): (&dyn Workload, Size, (usize, u64)),
) -> Result<Task, Failure> {
    let scaled = |text: &&str| match warpwatt_papers::Size::find(size.name()) {
        Some(size) => size.scaled(text).0,
        None => (*text).to_owned(),
    };
    let gpu = variant.gpu.unwrap_or(paper.gpu);
    let technology = variant.technology.unwrap_or(paper.technology);
    let workload = workload.info().name;
    let point = Point {
        settings: variant.settings.iter().map(|text| (*text).to_owned()).collect(),
        techniques: variant.techniques.iter().map(scaled).collect(),
        predication: variant.predication,
        ..Point::of_workload(workload, size.name(), seed, gpu, technology)
    };
    let suffix = if place == 0 { String::new() } else { format!("/seed-{seed}") };
    planner.task(format!("{workload}/{}{suffix}", variant.name), point)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::Parser;
    use warpwatt_papers::{PAPERS, warped_compression::area};
    use warpwatt_runtime::Techniques;

    use super::*;
    use crate::args::{Cli, Command};

    fn args(more: &[&str]) -> PaperArgs {
        let size: &[&str] = if more.contains(&"--size") { &[] } else { &["--size", "tiny"] };
        let words = [&["warpwatt", "paper", "all"], size, more].concat();
        let Command::Paper(args) = Cli::parse_from(words).command else { panic!("it is `paper`") };
        args
    }

    fn keys(more: &[&str], seed: u64) -> BTreeSet<String> {
        let plan = Plan::new(&[&PAPERS[0]], &args(more), &[seed]).expect("a plan");
        plan.tasks.into_iter().map(|task| task.key).collect()
    }

    #[test]
    fn every_variant_of_every_paper_can_be_run_and_has_a_key_of_its_own() {
        let all = warpwatt_workloads::all().len();
        for paper in PAPERS {
            let plan = Plan::new(&[paper], &args(&["--workloads", "all"]), &[1, 2, 3]).expect("a plan");
            let count = |seeds| paper.variants.iter().filter(|variant| variant.seeds == seeds).count();
            let runs = 3 * count(Seeds::All) + count(Seeds::First);
            assert_eq!(plan.tasks.len(), runs * all, "{}", paper.name);
            let [experiment] = &plan.experiments[..] else { panic!("one paper") };
            for cell in &experiment.cells {
                let task = &plan.tasks[cell.task];
                assert_eq!(task.point.techniques.len(), cell.variant.techniques.len(), "{}", task.name);
            }
        }
    }

    #[test]
    fn keys_are_the_same_every_time_and_differ_by_size_and_seed() {
        let usual = keys(&[], 1);
        assert_eq!(usual, keys(&[], 1));
        assert!(usual.is_disjoint(&keys(&[], 2)));
        assert!(usual.is_disjoint(&keys(&["--size", "small"], 1)));
    }

    #[test]
    fn points_that_papers_share_are_run_once() {
        let twice =
            Plan::new(&[&PAPERS[1], &PAPERS[1]], &args(&["--workloads", "bfs"]), &[1]).expect("a plan");
        assert_eq!(twice.tasks.len(), PAPERS[1].variants.len());
        assert_eq!(twice.experiments[0].points(), twice.experiments[1].points());
    }

    #[test]
    fn an_experiment_can_have_several_gpus_and_technologies() {
        const VARIANTS: &[Variant] =
            &[Variant::new("one"), Variant::new("other").on("gtx580", "gtx480-40nm")];
        const PAPER: &Paper = &Paper { variants: VARIANTS, ..PAPERS[0] };
        let plan = Plan::new(&[PAPER], &args(&["--workloads", "vecadd"]), &[1]).expect("a plan");
        let (gpus, technologies) = plan.experiments[0].machines();
        assert_eq!(
            (gpus.join(" "), technologies.join(" ")),
            ("gtx480-wc gtx580".into(), "wc45 gtx480-40nm".into())
        );
        assert_eq!(plan.tasks[1].point.gpu, "gtx580");
        assert_ne!(plan.tasks[0].key, plan.tasks[1].key);
    }

    #[test]
    fn workloads_beside_the_suite_are_run_with_the_variants_that_ask_for_them() {
        let e2mc = warpwatt_papers::find("e2mc").expect("a paper");
        let plan = Plan::new(&[e2mc], &args(&[]), &[1]).expect("a plan");
        let Experiment { beside, cells, .. } = &plan.experiments[0];
        assert!(!beside.is_empty());
        let asking: BTreeSet<_> =
            e2mc.variants.iter().filter(|variant| variant.beside).map(|variant| variant.name).collect();
        for workload in beside {
            let own = cells.iter().filter(|cell| cell.workload == workload.info().name);
            assert_eq!(own.map(|cell| cell.variant.name).collect::<BTreeSet<_>>(), asking);
        }
    }

    #[test]
    fn what_needs_a_larger_size_is_run_at_it_where_that_is_asked_for() {
        let e2mc = warpwatt_papers::find("e2mc").expect("a paper");
        let few = ["--workloads", "transpose,bfs", "--large-where-needed"];
        let plan = Plan::new(&[e2mc], &args(&few), &[1]).expect("a plan");
        let cells = &plan.experiments[0].cells;
        let large: BTreeSet<_> = cells
            .iter()
            .filter(|cell| cell.larger == Some(Size::Large))
            .map(|cell| cell.variant.name)
            .collect();
        assert!(
            large.contains("base") && large.contains("online-4") && !large.contains("values-2k"),
            "{large:?}"
        );
        for cell in cells {
            let size = plan.tasks[cell.task].point.size.as_deref();
            assert_eq!(size, Some(if cell.larger.is_some() { "large" } else { "tiny" }));
        }
        let sampling = cells.iter().find(|cell| cell.larger.is_some() && cell.variant.name == "online-4");
        let techniques = &plan.tasks[sampling.expect("it is planned").task].point.techniques;
        assert!(
            techniques[0].contains("sampling=20000000") || !techniques[0].contains("sampling"),
            "{techniques:?}"
        );
        let corf = warpwatt_papers::find("corf").expect("a paper");
        let plan = Plan::new(&[corf], &args(&few), &[1]).expect("a plan");
        assert!(
            plan.experiments[0].cells.iter().all(|cell| cell.larger.is_none()),
            "no claim of it needs that"
        );
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
