// SPDX-License-Identifier: MIT OR Apache-2.0
//! `paper`: runs what a paper's figures need, each point once, and writes figures and ledger. What these are made of is in `papers`.

mod claims;
mod folder;
mod plan;
mod point;
mod pool;
pub mod progress;
mod report;

use std::path::Path;
use std::time::Instant;

use warpwatt_base::suggest;
use warpwatt_papers::{About, Claim, Ledger, PAPERS, Paper, Points};
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

pub fn paper(args: &PaperArgs, console: &Console) -> Result<Exit, Failure> {
    let started = Instant::now();
    let paper = find(&args.name)?;
    let claims = claims::of(paper)?;
    let workloads = choose(&args.workloads)?;
    let plan = Plan::new(paper, &workloads, args.size, args.seed)?;
    let folder = Folder::open(&args.out, paper.name)?;
    folder.log(&format!(
        "{}, size {}, seed {}: {} points",
        paper.name,
        args.size,
        args.seed,
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

    let mut found = Points::new(workloads.iter().map(|workload| workload.info().name.to_owned()).collect());
    for (task, record) in plan.tasks.iter().zip(records) {
        if let Some(record) = record {
            found.put(task.variant.name, &task.point.workload, record);
        }
    }
    let about = About {
        paper: paper.name.to_owned(),
        title: paper.title.to_owned(),
        citation: paper.citation.to_owned(),
        tool: record::tool(),
        gpu: paper.gpu.to_owned(),
        gpu_sha256: plan.gpu_sha256(),
        technology: paper.technology.to_owned(),
        size: args.size.to_string(),
        seed: args.seed,
        workloads: found.workloads.clone(),
        of_workloads: warpwatt_workloads::first().len(),
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
    points: &Points,
    folder: &Folder,
) -> Result<Ledger, Failure> {
    let findings = (paper.evaluate)(points);
    for figure in &findings.figures {
        let text = warpwatt_results::json::to_text(&figure.document(paper.name, claims)).map_err(internal)?;
        folder.write(&format!("{}/{}.json", folder::FIGURES, figure.name), &text)?;
    }
    let ledger = Ledger::new(about, claims, &findings.measures);
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
        "warpwatt paper {} --size {} --seed {} --out {}",
        args.name,
        args.size,
        args.seed,
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

/// The workloads of these names, or the first fourteen, in the order of their list.
fn choose(names: &[String]) -> Result<Vec<&'static dyn Workload>, Failure> {
    let all = warpwatt_workloads::all();
    let names: Vec<_> = names.iter().map(|name| name.trim()).filter(|name| !name.is_empty()).collect();
    if names.is_empty() {
        return Ok(warpwatt_workloads::first().to_vec());
    }
    for name in &names {
        find_workload(name)?;
    }
    Ok(all.iter().copied().filter(|workload| names.contains(&workload.info().name)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workloads_are_in_the_order_of_their_list_and_known() {
        let names = |given: &[&str]| -> Result<Vec<&str>, Failure> {
            let given: Vec<_> = given.iter().map(|name| (*name).to_owned()).collect();
            Ok(choose(&given)?.iter().map(|workload| workload.info().name).collect())
        };
        assert_eq!(names(&["bfs", "vecadd", "bfs"]).expect("known"), ["vecadd", "bfs"]);
        assert_eq!(names(&["bfs", " "]).expect("a comma too many"), ["bfs"]);
        assert_eq!(names(&[]).expect("all").len(), 14);
        assert_eq!(names(&["bsf"]).expect_err("unknown").exit, Exit::Usage);
    }

    #[test]
    fn a_paper_that_is_not_there_is_told_with_what_was_meant() {
        let refused = find("warped-compresion").expect_err("misspelt");
        assert_eq!(refused.help.as_deref(), Some("did you mean `warped-compression`?"));
    }
}
