// SPDX-License-Identifier: MIT OR Apache-2.0
//! `sweep`: runs every combination of parameters, workloads and techniques that a file names, and keeps the results as tables. docs/sweeps.md describes it.
//!
//! `keys` declares what may be written, `read` turns a text into a sweep or into diagnostics, `expand` makes points of it, `front` works out what they come to.

mod expand;
mod front;
mod keys;
mod read;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use crate::args::{SweepArgs, SweepCommand, SweepStatusArgs};
use crate::console::{Console, write_result};
use crate::exit::{Exit, Failure};
use crate::interrupt;
use crate::job::read_text;
use crate::points::{self, Folder, Outcome, Purpose, Row, Tables, Task, folder, internal};
use crate::slurm::{self, Run};
use crate::table::Table;
use expand::{Cell, Plan};

pub use keys::{names as key_names, schema};

/// Points beyond which no report is made: it keeps all of them in memory, 60 to 80 KB each, and compares configurations with each other pair by pair.
const MOST_REPORTED: usize = 10_000;

/// Where requests of points are written to.
const REQUESTS: &str = "requests";

pub fn sweep(args: &SweepArgs, console: &Console) -> Result<Exit, Failure> {
    match (&args.command, &args.file) {
        (Some(SweepCommand::Status(args)), _) => status(args, console),
        (Some(SweepCommand::Cancel(args)), _) => slurm::cancel(&args.out, console),
        (Some(SweepCommand::Work(args)), _) => slurm::work(args, console),
        (None, Some(file)) => run(file, args, interrupt::flag, console),
        // The command line does not let this pass.
        (None, None) => Err(Failure::usage("no sweep file is named")),
    }
}

/// Shows the points of a folder, or of a sweep file in a folder.
pub fn status(args: &SweepStatusArgs, console: &Console) -> Result<Exit, Failure> {
    let json = args.json.as_deref();
    if args.what.is_dir() {
        return slurm::status(&args.what, None, json, console);
    }
    let plan = Plan::new(&load(&args.what, console)?)?;
    let points = plan.tasks.into_iter().map(|task| (task.key, task.name)).collect();
    slurm::status(&args.out, Some(points), json, console)
}

/// Runs the sweep of a file until the flag is set, which is asked for before anything is run.
pub fn run(
    file: &Path,
    args: &SweepArgs,
    flag: impl FnOnce() -> Arc<AtomicBool>,
    console: &Console,
) -> Result<Exit, Failure> {
    let started = Instant::now();
    let sweep = load(file, console)?;
    let name = sweep.name.clone().unwrap_or_else(|| {
        file.file_stem().map_or("sweep".to_owned(), |stem| stem.to_string_lossy().into_owned())
    });
    let plan = Plan::new(&sweep)?;
    let settings = slurm::prepare(&args.engine, sweep.slurm.clone(), console)?;
    let folder = Folder::open(&args.out, &Purpose::Sweep(name.clone()))?;
    let points = plan.tasks.len();
    folder.log(&format!("sweep {name}: {points} points"));
    if args.requests {
        return requests(&plan.tasks, &folder, args, console);
    }

    let mut again = format!("warpwatt sweep {} --out {}", file.display(), args.out.display());
    again += &args.engine.words();
    let again = console.again(again);
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

    let costs = front::costs(&plan, &found);
    let there = |cell: &&Cell| found.get(cell.task).is_some();
    let mut columns = found.columns.clone();
    for cell in plan.cells.iter().filter(there) {
        columns.add_parameters(plan.configurations[cell.configuration].parameters.keys());
    }
    let mut tables = Tables::begin(&folder, columns, args.csv)?;
    for figure in front::figures(&plan, &costs) {
        let document = figure.document(&name, &[]);
        let text = warpwatt_results::json::to_text(&document).map_err(internal)?;
        folder.write(&format!("{}/{}.json", folder::FIGURES, figure.name), text.as_bytes())?;
        tables.figure(figure.name, &document)?;
    }
    let lost: Vec<_> = failed.iter().map(|(task, _)| plan.tasks[*task].name.clone()).collect();
    let document = front::document(&name, &plan, &costs, &lost);
    let text = warpwatt_results::json::to_text(&document).map_err(internal)?;
    folder.write("sweep.json", text.as_bytes())?;
    tables.points(plan.cells.iter().filter(there).map(|cell| {
        let configuration = &plan.configurations[cell.configuration];
        Row {
            experiment: &name,
            configuration: &configuration.name,
            task: &plan.tasks[cell.task],
            parameters: &configuration.parameters,
        }
    }))?;
    tables.end()?;

    if let Some(path) = &args.json {
        write_result(path, &text, console)?;
    }
    if args.json.as_deref() != Some(Path::new("-")) {
        console.result(&table(&plan, &costs));
        console.summary(&format!(
            "\ntime and energy are over those of `{}`, in the geometric mean; * is the Pareto front\nresults: {}; tables: {}\n",
            plan.configurations.first().map_or("", |first| &first.name),
            args.out.join("sweep.json").display(),
            args.out.join(folder::DATA).display(),
        ));
    }
    match points <= MOST_REPORTED {
        true => crate::paper::report_page(&args.out, console)?,
        false => console.note(&format!(
            "no report is made of more than {MOST_REPORTED} points; tables and figures have all of them"
        )),
    }
    if failed.is_empty() {
        return Ok(Exit::Ok);
    }
    points::told_failures(&plan.tasks, &failed, console);
    let message = format!("{} of {points} points failed; results are made from the others", failed.len());
    Err(Failure::new(Exit::CheckFailed, message)
        .help(format!("all of them are in {}", args.out.join(folder::LOG).display())))
}

fn load(path: &Path, console: &Console) -> Result<read::Sweep, Failure> {
    let text = read_text(path)?;
    let shown = path.display().to_string();
    parse(&text, &shown, console.color)
}

/// The sweep of a text, which messages call by that name.
pub fn parse(text: &str, shown: &str, color: bool) -> Result<read::Sweep, Failure> {
    read::read(text).map_err(|problems| {
        let mut out: Vec<_> = problems.iter().map(|problem| problem.render(shown, text, color)).collect();
        let count = problems.len();
        out.push(format!("{shown} cannot be used: {count} error{}", if count == 1 { "" } else { "s" }));
        Failure::rendered(Exit::Usage, out.join("\n\n"))
    })
}

/// Writes a request for each point that is missing, and nothing for others.
fn requests(tasks: &[Task], folder: &Folder, args: &SweepArgs, console: &Console) -> Result<Exit, Failure> {
    let missing: Vec<_> = tasks.iter().filter(|task| folder.point(&task.key).is_none()).collect();
    let names: BTreeSet<_> = missing.iter().map(|task| format!("{}.json", task.key)).collect();
    for task in &missing {
        let mut point = task.point.clone();
        // Points may be run in another folder.
        for file in [&mut point.gpu, &mut point.technology] {
            if Path::new(&*file).is_file()
                && let Ok(path) = std::path::absolute(&*file)
            {
                *file = path.display().to_string();
            }
        }
        let text = warpwatt_results::json::to_text(&point).map_err(internal)?;
        folder.write(&format!("{REQUESTS}/{}.json", task.key), text.as_bytes())?;
    }
    let old = std::fs::read_dir(args.out.join(REQUESTS)).into_iter().flatten().flatten();
    for entry in old.filter(|entry| !names.contains(&*entry.file_name().to_string_lossy())) {
        let path = entry.path();
        std::fs::remove_file(&path).map_err(|error| Failure::io("remove", &path, &error))?;
    }
    console.result(&format!(
        "{} of {} points are missing; a request for each is in {}\n",
        missing.len(),
        tasks.len(),
        args.out.join(REQUESTS).display()
    ));
    console.summary(&format!(
        "run each by `warpwatt point {0}/KEY.json {1}/KEY.json`, on any machine with this program; then the same\n\
         sweep without `--requests` takes the results\n",
        args.out.join(REQUESTS).display(),
        args.out.join(folder::POINTS).display()
    ));
    Ok(Exit::Ok)
}

fn table(plan: &Plan, costs: &[Vec<Option<front::Cost>>]) -> String {
    let relative = front::relative(costs);
    let mut table = Table::new(&["configuration", "time", "energy", "EDP", ""]).cut(0).left(4);
    for ((configuration, cost), on_front) in
        plan.configurations.iter().zip(&relative).zip(front::front(&relative))
    {
        let shown =
            |of: fn(front::Cost) -> f64| cost.map_or("no data".to_owned(), |cost| format!("{:.4}", of(cost)));
        table.row([
            configuration.name.clone(),
            shown(|cost| cost.seconds),
            shown(|cost| cost.energy_j),
            shown(|cost| cost.seconds * cost.energy_j),
            if on_front { "*" } else { "" }.to_owned(),
        ]);
    }
    table.render()
}
