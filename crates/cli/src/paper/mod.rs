// SPDX-License-Identifier: MIT OR Apache-2.0
//! `paper`: runs what the figures of papers need, each point once, and writes figures, ledgers and tables. What these are made of is in `papers`.

mod another;
mod claims;
mod plan;
mod report;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use serde_json::Value;
use warpwatt_base::suggest;
use warpwatt_papers::{
    About, Chosen, Evidence, Figure, Findings, Ledger, PAPERS, Paper, PointRecord, Points, Size,
    figures_at_needed_size,
};
use warpwatt_record as record;
use warpwatt_workloads::Workload;

use crate::args::PaperArgs;
use crate::console::{Console, write_result};
use crate::exit::{Exit, Failure};
use crate::interrupt;
use crate::list::find_workload;
use crate::points::{self, Folder, FoundPoints, Outcome, Purpose, Row, Tables, Task, folder, internal};
use crate::slurm::{self, Run};
use plan::{Cell, Experiment, Plan};

pub use claims::list as list_claims;

/// Stands for all workloads, and for all papers.
const ALL: &str = "all";

pub fn paper(args: &PaperArgs, console: &Console) -> Result<Exit, Failure> {
    reproduce(args, interrupt::flag, console)
}

/// Reproduces a paper until the flag is set, which is asked for before anything is run.
pub fn reproduce(
    args: &PaperArgs,
    flag: impl FnOnce() -> Arc<AtomicBool>,
    console: &Console,
) -> Result<Exit, Failure> {
    let started = Instant::now();
    let papers = find(&args.name)?;
    let seeds = distinct(if args.quick { &args.seeds[..1] } else { &args.seeds });
    let simulated_by = args.points_of.as_deref().map(another::tool).transpose()?;
    let plan = Plan::new(&papers, args, &seeds)?;
    let again = console.again(again(args));
    let settings = slurm::prepare(&args.engine, None, console)?;
    let folder = Folder::open(&args.out, &Purpose::Paper(args.name.clone()))?;
    if let Some(program) = &args.points_of {
        another::all_there(&plan.tasks, &folder, program)?;
    }
    let points = plan.tasks.len();
    folder.log(&format!("{}, size {}, seeds {}: {points} points", args.name, args.size, list(&seeds)));

    let how = (settings.as_ref(), args.engine.detach);
    let flag = flag();
    let Outcome { found, failed, there, run, interrupted } =
        match slurm::run(&plan.tasks, &folder, how, (args.jobs, again.clone()), &flag, console)? {
            Run::Ended(outcome) => outcome,
            Run::Detached => return Ok(Exit::Ok),
        };
    if interrupted {
        folder.log("interrupted");
        let message = format!("interrupted: {} of {points} points are done and kept", there + run);
        return Err(Failure::new(Exit::Interrupted, message)
            .help(format!("to continue, repeat the command: {again}")));
    }
    let time = started.elapsed().as_secs_f64();
    let summary = format!("{there} of {points} points reused, {run} simulated in {time:.0} s");
    folder.log(&summary);
    console.note(&summary);

    let read = |(place, task): (usize, &Task)| found.get(place).and_then(|_| folder.point(&task.key));
    let records: Vec<_> = plan.tasks.iter().enumerate().map(read).collect();
    let mut written = Vec::new();
    for experiment in &plan.experiments {
        let about =
            About { simulated_by: simulated_by.clone(), ..about(experiment, &plan, &failed, &seeds, args)? };
        written.push(Written::new(experiment, about, &records, seeds.len())?);
    }
    for paper in &written {
        // The results of a single paper are at the top of the folder.
        let place = if papers.len() == 1 { String::new() } else { format!("{}/", paper.ledger.about.paper) };
        paper.write(&place, &folder)?;
    }
    drop(records);
    write_tables(&plan, &found, &written, &folder, args.csv)?;
    let on_stdout = match &args.json {
        Some(path) => {
            write_result(path, &ledgers(&written)?, console)?;
            path == Path::new("-")
        }
        None => false,
    };
    if !on_stdout {
        for paper in &written {
            report::print(&paper.ledger, &paper.figures, console);
        }
        report::files(&written.iter().map(|paper| &paper.ledger).collect::<Vec<_>>(), &args.out, console);
    }
    report_page(&args.out, console)?;
    if failed.is_empty() {
        return Ok(Exit::Ok);
    }
    points::told_failures(&plan.tasks, &failed, console);
    let message = format!("{} of {points} points failed; ledgers are made from the others", failed.len());
    Err(Failure::new(Exit::CheckFailed, message)
        .help(format!("all of them are in {}", args.out.join(folder::LOG).display())))
}

/// Writes the HTML report of the folder, after everything that it shows is there.
pub fn report_page(out: &Path, console: &Console) -> Result<(), Failure> {
    let page = warpwatt_report::write(out).map_err(|error| Failure::new(Exit::Io, error.to_string()))?;
    console.note(&format!("report: {}", page.display()));
    Ok(())
}

/// What is made of the points of a paper.
struct Written {
    ledger: Ledger,
    /// Name and document of each figure.
    figures: Vec<(String, Value)>,
}

impl Written {
    fn new(
        experiment: &Experiment,
        about: About,
        records: &[Option<PointRecord>],
        seeds: usize,
    ) -> Result<Written, Failure> {
        let Experiment { paper, claims, .. } = experiment;
        let evaluated = |larger: bool| -> (Vec<_>, Vec<_>) {
            let findings = collected(experiment, records, seeds, larger).into_iter();
            findings
                .map(|points| (paper.evaluate)(&points))
                .map(|Findings { figures, measures }| (figures, measures))
                .unzip()
        };
        let (figures, measures) = evaluated(false);
        let document = |figure: &Figure| (figure.name.to_owned(), figure.document(paper.name, claims));
        let mut figures: Vec<_> = Figure::together(&figures).iter().map(document).collect();
        let evidence = Evidence(measures);
        let Some(size) = about.larger else {
            return Ok(Written { figures, ledger: Ledger::new(about, claims, &evidence) });
        };
        let (larger, measures) = evaluated(true);
        for figure in Figure::together(&larger) {
            let replaced = figures_at_needed_size(paper).contains(&figure.name);
            if let Some(place) = figures.iter_mut().find(|(name, _)| replaced && *name == figure.name) {
                *place = document(&figure);
                place.1["title"] = format!("{}, at {}", figure.title, size.name()).into();
            }
        }
        Ok(Written { figures, ledger: Ledger::with_larger(about, claims, evidence, &Evidence(measures)) })
    }

    fn write(&self, place: &str, folder: &Folder) -> Result<(), Failure> {
        for (name, document) in &self.figures {
            let text = warpwatt_results::json::to_text(document).map_err(internal)?;
            folder.write(&format!("{place}{}/{name}.json", folder::FIGURES), text.as_bytes())?;
        }
        folder.write(&format!("{place}ledger.json"), self.ledger.to_json().map_err(internal)?.as_bytes())?;
        let mut page = self.ledger.to_markdown();
        if self.ledger.rows.is_empty() {
            page += &format!("\n```text\n{}```\n", report::combinations(&self.figures));
        }
        folder.write(&format!("{place}ledger.md"), page.as_bytes())
    }
}

/// The points of each seed, of the run's size or of the larger one.
fn collected(
    experiment: &Experiment,
    records: &[Option<PointRecord>],
    seeds: usize,
    larger: bool,
) -> Vec<Points> {
    let beside = experiment.beside.iter().map(|workload| workload.info().name.to_owned()).collect::<Vec<_>>();
    let points_of = |_| Points::new(experiment.names()).with_beside(beside.clone());
    let mut found: Vec<_> = (0..seeds).map(points_of).collect();
    for Cell { variant, workload, seed, task, .. } in
        experiment.cells.iter().filter(|cell| cell.larger.is_some() == larger)
    {
        let record = records.get(*task).cloned().flatten();
        if let Some((points, record)) = found.get_mut(*seed).zip(record) {
            points.put(variant.name, workload, record);
        }
    }
    found
}

fn about(
    experiment: &Experiment,
    plan: &Plan,
    failed: &[(usize, String)],
    seeds: &[u64],
    args: &PaperArgs,
) -> Result<About, Failure> {
    let known = |size: warpwatt_workloads::Size| {
        Size::find(size.name()).ok_or_else(|| internal(format!("papers cannot run at size {size}")))
    };
    let paper = experiment.paper;
    let (gpus, technologies) = experiment.machines();
    let first = experiment.cells.first().map(|cell| plan.tasks[cell.task].gpu_sha256.to_string());
    let mut lost: Vec<_> = experiment
        .cells
        .iter()
        .filter(|cell| failed.iter().any(|(task, _)| *task == cell.task))
        .map(|cell| plan.tasks[cell.task].name.clone())
        .collect();
    lost.dedup();
    let larger = experiment.cells.iter().find_map(|cell| cell.larger).map(known).transpose()?;
    let suite = &experiment.suite;
    Ok(About {
        paper: paper.name.to_owned(),
        title: paper.title.to_owned(),
        citation: paper.citation.to_owned(),
        tool: record::tool(),
        simulated_by: None,
        gpus,
        gpu_sha256: first.unwrap_or_default(),
        technologies,
        size: known(args.size)?,
        seeds: seeds.to_vec(),
        workloads: experiment.names(),
        of_suite: args.workloads.is_empty() && !args.quick,
        quick_of: (args.quick && args.workloads.is_empty())
            .then(|| suite.workloads.len() + suite.missing.len()),
        larger,
        missing: suite.missing.clone(),
        stand_ins: suite.stand_ins.clone(),
        points: experiment.points(),
        failed: lost,
    })
}

/// One ledger by itself, several as a list.
fn ledgers(written: &[Written]) -> Result<String, Failure> {
    match written {
        [one] => one.ledger.to_json().map_err(internal),
        all => {
            let all: Vec<_> = all.iter().map(|paper| &paper.ledger).collect();
            warpwatt_results::json::to_text(&all).map_err(internal)
        }
    }
}

fn write_tables(
    plan: &Plan,
    found: &FoundPoints,
    written: &[Written],
    folder: &Folder,
    csv: bool,
) -> Result<(), Failure> {
    let mut tables = Tables::begin(folder, found.columns.clone(), csv)?;
    let none = BTreeMap::new();
    for experiment in &plan.experiments {
        let there = experiment.cells.iter().filter(|cell| found.get(cell.task).is_some());
        tables.points(there.map(|cell| Row {
            experiment: experiment.paper.name,
            configuration: cell.variant.name,
            task: &plan.tasks[cell.task],
            parameters: &none,
        }))?;
    }
    for (name, document) in written.iter().flat_map(|paper| &paper.figures) {
        tables.figure(name, document)?;
    }
    tables.end()
}

/// The command that continues an interrupted one.
fn again(args: &PaperArgs) -> String {
    let mut text = format!("warpwatt paper {} --size {} --out {}", args.name, args.size, args.out.display());
    if args.quick {
        text += " --quick";
    } else {
        text += &format!(" --seeds {}", list(&args.seeds));
    }
    if !args.workloads.is_empty() {
        text += &format!(" --workloads {}", args.workloads.join(","));
    }
    if args.large_where_needed {
        text += " --large-where-needed";
    }
    text + &args.engine.words()
}

/// The paper of a name, or all of them.
fn find(name: &str) -> Result<Vec<&'static Paper>, Failure> {
    if name == ALL {
        return Ok(PAPERS.iter().collect());
    }
    warpwatt_papers::find(name).map(|paper| vec![paper]).ok_or_else(|| {
        let names: Vec<_> = PAPERS.iter().map(|paper| paper.name).chain([ALL]).collect();
        let failure = Failure::usage(format!("there is no paper `{name}`"));
        failure.help(match suggest::nearest(name, &names) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("there are: {}", names.join(", ")),
        })
    })
}

/// Seeds with commas.
fn list(seeds: &[u64]) -> String {
    seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(",")
}

/// Each seed once, in the order in which they are given.
fn distinct(seeds: &[u64]) -> Vec<u64> {
    let mut kept = Vec::new();
    for seed in seeds {
        if !kept.contains(seed) {
            kept.push(*seed);
        }
    }
    kept
}

/// The workloads of these names (`all` for all of them), or those of the paper's suite (`quick`: some of them), in the order of their list; and what
/// there is of the suite.
fn choose(
    paper: &Paper,
    names: &[String],
    quick: bool,
) -> Result<(Vec<&'static dyn Workload>, Chosen), Failure> {
    let all = warpwatt_workloads::all();
    let table: Vec<_> = all.iter().map(|workload| workload.info().name).collect();
    let data = warpwatt_papers::suite(paper.name).map_err(internal)?;
    let few = data.as_ref().filter(|_| quick).map(|suite| suite.quick.clone());
    let suite = data.map(|suite| suite.choose(&table)).unwrap_or_default();
    let usual = few.unwrap_or_else(|| suite.workloads.clone());
    let given = names.len();
    let names: Vec<_> = names.iter().map(|name| name.trim()).filter(|name| !name.is_empty()).collect();
    if given > 0 && names.is_empty() {
        let failure = Failure::usage("`--workloads` names no workload");
        return Err(
            failure.help("name workloads, with commas between them, or leave it out for the paper's suite")
        );
    }
    for name in names.iter().filter(|name| **name != ALL) {
        find_workload(name)?;
    }
    let wanted = |name: &str| match names.is_empty() {
        true => usual.iter().any(|other| other == name),
        false => names.contains(&ALL) || names.contains(&name),
    };
    let chosen = all.iter().copied().filter(|workload| wanted(workload.info().name)).collect();
    Ok((chosen, suite))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workloads_are_in_the_order_of_their_list_and_known() {
        let names = |given: &[&str]| -> Result<Vec<&str>, Failure> {
            let given: Vec<_> = given.iter().map(|name| (*name).to_owned()).collect();
            Ok(choose(&PAPERS[0], &given, false)?.0.iter().map(|workload| workload.info().name).collect())
        };
        assert_eq!(names(&["bfs", "vecadd", "bfs"]).expect("known"), ["vecadd", "bfs"]);
        assert_eq!(names(&["bfs", " "]).expect("a comma too many"), ["bfs"]);
        assert_eq!(names(&["all"]).expect("all").len(), warpwatt_workloads::all().len());
        let suite = names(&[]).expect("the suite");
        assert!(suite.contains(&"lib") && !suite.contains(&"vecadd"), "{suite:?}");
        assert_eq!(names(&["bsf"]).expect_err("unknown").exit, Exit::Usage);
        let quick = choose(&PAPERS[0], &[], true).expect("a quick run").0;
        let quick: Vec<_> = quick.iter().map(|workload| workload.info().name).collect();
        assert!(quick.len() < suite.len() && quick.iter().all(|name| suite.contains(name)), "{quick:?}");
    }

    #[test]
    fn seeds_are_taken_once_and_in_order() {
        assert_eq!(distinct(&[3, 1, 3]), [3, 1]);
        assert_eq!(list(&[3, 1]), "3,1");
    }

    #[test]
    fn a_paper_that_is_not_there_is_told_with_what_was_meant() {
        let refused = find("warped-compresion").expect_err("misspelt");
        assert_eq!(refused.help.as_deref(), Some("did you mean `warped-compression`?"));
        assert_eq!(find("all").expect("all papers").len(), PAPERS.len());
    }
}
