// SPDX-License-Identifier: MIT OR Apache-2.0
//! `paper`: runs what a paper's figures need, each point once, and writes figures and ledger. What these are made of is in `papers`.

mod claims;
mod folder;
mod plan;
pub mod point;
mod pool;
pub mod progress;
mod report;

use std::path::Path;
use std::time::Instant;

use warpwatt_base::suggest;
use warpwatt_papers::{About, Chosen, Claim, Evidence, Figure, Ledger, PAPERS, Paper, Points};
use warpwatt_record as record;
use warpwatt_workloads::Workload;

use crate::args::PaperArgs;
use crate::console::{Console, write_result};
use crate::exit::{Exit, Failure};
use crate::interrupt;
use crate::list::find_workload;
use crate::run::cores;
use folder::Folder;
use plan::Plan;
use pool::Outcome;

pub use claims::list as list_claims;

/// Stands for all workloads.
const ALL: &str = "all";

pub fn paper(args: &PaperArgs, console: &Console) -> Result<Exit, Failure> {
    let started = Instant::now();
    let paper = find(&args.name)?;
    let claims = claims::of(paper)?;
    let (workloads, suite) = choose(paper, &args.workloads)?;
    let seeds = distinct(&args.seeds);
    let plan = Plan::new(paper, &workloads, args.size, &seeds)?;
    let folder = Folder::open(&args.out, paper.name)?;
    folder.log(&format!(
        "{}, size {}, seeds {}: {} points",
        paper.name,
        args.size,
        list(&seeds),
        plan.tasks.len()
    ));

    let flag = interrupt::flag();
    let jobs = args.jobs.unwrap_or_else(cores).min(cores());
    if let Some(asked) = args.jobs.filter(|asked| *asked > jobs) {
        console.note(&format!("{jobs} runs at a time, not {asked}: the machine has no more cores"));
    }
    let Outcome { records, failed, there, run, interrupted } =
        pool::run(&plan, &folder, jobs, &flag, console)?;
    let points = plan.tasks.len();
    if interrupted {
        folder.log("interrupted");
        let message = format!("interrupted: {} of {points} points are done and kept", there + run);
        return Err(Failure::new(Exit::Interrupted, message)
            .help(format!("the same command goes on from there: {}", again(args))));
    }
    let time = started.elapsed().as_secs_f64();
    let summary = format!("{there} of {points} points were there, {run} were run; {time:.0} s");
    folder.log(&summary);
    console.note(&summary);

    let names: Vec<_> = workloads.iter().map(|workload| workload.info().name.to_owned()).collect();
    let mut found: Vec<_> = seeds.iter().map(|_| Points::new(names.clone())).collect();
    for (task, record) in plan.tasks.iter().zip(records) {
        if let Some((points, record)) = found.get_mut(task.seed).zip(record) {
            points.put(task.variant.name, &task.point.workload, record);
        }
    }
    let (gpus, technologies) = plan.machines();
    let size = warpwatt_papers::Size::find(args.size.name())
        .ok_or_else(|| Failure::new(Exit::Internal, format!("papers know no size {}", args.size)))?;
    let about = About {
        paper: paper.name.to_owned(),
        title: paper.title.to_owned(),
        citation: paper.citation.to_owned(),
        tool: record::tool(),
        gpus,
        gpu_sha256: plan.gpu_sha256(),
        technologies,
        size,
        seeds: seeds.clone(),
        workloads: names,
        of_suite: args.workloads.is_empty(),
        missing: suite.missing,
        stand_ins: suite.stand_ins,
        points,
        failed: failed.iter().map(|(task, _)| plan.tasks[*task].name()).collect(),
    };
    let ledger = write(paper, about, &claims, &found, &folder)?;
    let on_stdout = match &args.json {
        Some(path) => {
            write_result(path, &json(&ledger)?, console)?;
            path == Path::new("-")
        }
        None => false,
    };
    if !on_stdout {
        report::print(&ledger, &args.out, console);
    }
    if failed.is_empty() {
        return Ok(Exit::Ok);
    }
    report::failures(&plan, &failed, console);
    let message = format!("{} of {points} points failed; the ledger is made from the others", failed.len());
    Err(Failure::new(Exit::CheckFailed, message)
        .help(format!("all of them are in {}", args.out.join(folder::LOG).display())))
}

/// Works out figures and ledger, and writes them.
fn write(
    paper: &Paper,
    about: About,
    claims: &[Claim],
    seeds: &[Points],
    folder: &Folder,
) -> Result<Ledger, Failure> {
    let findings = seeds.iter().map(paper.evaluate);
    let (figures, measures): (Vec<_>, Vec<_>) =
        findings.map(|findings| (findings.figures, findings.measures)).unzip();
    for figure in &Figure::together(&figures) {
        let text = warpwatt_results::json::to_text(&figure.document(paper.name, claims)).map_err(internal)?;
        folder.write(&format!("{}/{}.json", folder::FIGURES, figure.name), &text)?;
    }
    let ledger = Ledger::new(about, claims, &Evidence(measures));
    folder.write("ledger.json", &json(&ledger)?)?;
    folder.write("ledger.md", &ledger.to_markdown())?;
    Ok(ledger)
}

fn json(ledger: &Ledger) -> Result<String, Failure> {
    ledger.to_json().map_err(internal)
}

fn internal(error: serde_json::Error) -> Failure {
    Failure::new(Exit::Internal, error.to_string())
}

/// The command that goes on with what was begun.
fn again(args: &PaperArgs) -> String {
    let mut text = format!(
        "warpwatt paper {} --size {} --seeds {} --out {}",
        args.name,
        args.size,
        list(&args.seeds),
        args.out.display()
    );
    if !args.workloads.is_empty() {
        text += &format!(" --workloads {}", args.workloads.join(","));
    }
    text
}

fn find(name: &str) -> Result<&'static Paper, Failure> {
    warpwatt_papers::find(name).ok_or_else(|| {
        let names: Vec<_> = PAPERS.iter().map(|paper| paper.name).collect();
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

/// The workloads of these names (`all` for all of them), or those of the paper's suite, in the order of their list; and what there is of the suite.
fn choose(paper: &Paper, names: &[String]) -> Result<(Vec<&'static dyn Workload>, Chosen), Failure> {
    let all = warpwatt_workloads::all();
    let table: Vec<_> = all.iter().map(|workload| workload.info().name).collect();
    let suite = warpwatt_papers::suite(paper.name)
        .map_err(|error| Failure::new(Exit::Internal, error.to_string()))?
        .map(|suite| suite.choose(&table))
        .unwrap_or_default();
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
        true => suite.workloads.iter().any(|other| other == name),
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
            Ok(choose(&PAPERS[0], &given)?.0.iter().map(|workload| workload.info().name).collect())
        };
        assert_eq!(names(&["bfs", "vecadd", "bfs"]).expect("known"), ["vecadd", "bfs"]);
        assert_eq!(names(&["bfs", " "]).expect("a comma too many"), ["bfs"]);
        assert_eq!(names(&["all"]).expect("all").len(), warpwatt_workloads::all().len());
        let suite = names(&[]).expect("the suite");
        assert!(suite.contains(&"lib") && !suite.contains(&"vecadd"), "{suite:?}");
        assert_eq!(names(&["bsf"]).expect_err("unknown").exit, Exit::Usage);
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
    }
}
