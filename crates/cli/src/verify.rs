// SPDX-License-Identifier: MIT OR Apache-2.0
//! `verify`: runs workloads at their sizes and seeds, functional and timed, and compares outputs with the references and runs with
//! their properties in the table of workloads.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use serde_json::{Value, json};
use warpwatt_runtime::{Device, LaunchRecord};
use warpwatt_workloads::{Fill, Size, Workload};

use crate::args::{Execution, VerifyArgs};
use crate::console::{Console, check_writable, write_result};
use crate::exit::{Exit, Failure};
use crate::gpu::Machine;
use crate::interrupt;
use crate::job::Job;
use crate::list::find_workload;
use crate::points::progress::Progress;
use crate::run::{Target, cores, options};
use crate::session::{Watch, Watcher, isolated};
use crate::table::{Table, grouped, paragraph};
use crate::workloads::Suites;

/// One run to make.
struct Task {
    workload: &'static dyn Workload,
    size: Size,
    seed: u64,
    timed: bool,
}

/// What a run found.
struct Found {
    thread_instructions: u64,
    /// Of a timed run.
    busy: Option<Busy>,
    seconds: f64,
    /// What is wrong, in sentences.
    wrong: Vec<String>,
}

/// How busy the SMs were, over all kernels, from the first block's start to the last one's end of each.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Busy {
    /// Share of the SMs' cycles in which they held warps.
    with_warps: f64,
    /// Share of the schedulers' slots in which an instruction was issued.
    issued: f64,
}

impl Task {
    fn name(&self) -> String {
        let mode = if self.timed { "timed" } else { "functional" };
        format!("{}@{}, seed {}, {mode}", self.workload.info().name, self.size, self.seed)
    }
}

pub fn verify(args: &VerifyArgs, console: &Console) -> Result<Exit, Failure> {
    check_writable(args.json.as_deref())?;
    let all = warpwatt_workloads::all().iter().copied();
    let workloads: Vec<&dyn Workload> = match (&args.paper, args.names.len()) {
        (Some(paper), _) => {
            let chosen = Suites::read()?.chosen(paper);
            all.filter(|workload| chosen.workloads.iter().any(|name| name == workload.info().name)).collect()
        }
        (None, 0) => all.collect(),
        _ => args.names.iter().map(|name| find_workload(name)).collect::<Result<_, _>>()?,
    };
    let target = match args.functional {
        true => None,
        false => Some(Target::on(Machine::new(&args.gpu)?, 1)?),
    };
    let mut tasks = Vec::new();
    for size in &args.sizes {
        for workload in &workloads {
            for seed in &args.seeds {
                let task = |timed| Task { workload: *workload, size: *size, seed: *seed, timed };
                tasks.extend((!args.timed).then(|| task(false)));
                tasks.extend((!args.functional).then(|| task(true)));
            }
        }
    }
    let flag = interrupt::flag();
    let found = run_all(&tasks, target.as_ref(), args.jobs.unwrap_or_else(cores), &flag, console)?;
    report(args, &tasks, &found, console)?;
    if interrupt::signalled().is_some() {
        return Ok(Exit::Interrupted);
    }
    let failed = found.iter().flatten().filter(|found| !found.wrong.is_empty()).count();
    if failed > 0 {
        let message = format!("{failed} of {} runs failed", tasks.len());
        return Err(Failure::new(Exit::CheckFailed, message));
    }
    Ok(Exit::Ok)
}

/// What each task found; nothing for those that an interruption left out.
fn run_all(
    tasks: &[Task],
    target: Option<&Target>,
    jobs: u32,
    flag: &Arc<AtomicBool>,
    console: &Console,
) -> Result<Vec<Option<Found>>, Failure> {
    let names: Vec<_> = tasks.iter().map(Task::name).collect();
    let progress = Progress::new(console, jobs, names.iter().map(String::as_str), 0);
    let results: Vec<_> = tasks.iter().map(|_| Mutex::new(None)).collect();
    let failure = Mutex::new(None);
    let next = AtomicUsize::new(0);
    let worker = || {
        while !flag.load(Ordering::Relaxed) {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(task) = tasks.get(index) else { return };
            let name = task.name();
            progress.begin(&name);
            let started = Instant::now();
            let found = run(task, target, flag);
            progress.end(&name, started.elapsed().as_secs_f64(), found.is_ok());
            match found {
                Ok(found) => {
                    console.detail(&format!("{name}: {:.2} s", found.seconds));
                    *results[index].lock().unwrap_or_else(PoisonError::into_inner) = Some(found);
                }
                // What an interruption cut short is no finding.
                Err(_) if flag.load(Ordering::Relaxed) => return,
                Err(refused) => {
                    failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(refused);
                    return;
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..(jobs as usize).min(tasks.len()) {
            scope.spawn(worker);
        }
        worker();
    });
    match failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(failure) => Err(failure),
        None => Ok(results
            .into_iter()
            .map(|result| result.into_inner().unwrap_or_else(PoisonError::into_inner))
            .collect()),
    }
}

fn run(task: &Task, target: Option<&Target>, flag: &Arc<AtomicBool>) -> Result<Found, Failure> {
    let target = target.filter(|_| task.timed);
    let options = options(&Execution::default(), target, flag.clone());
    let job = Job::Workload { workload: task.workload, size: task.size, seed: task.seed };
    let started = Instant::now();
    let run = isolated(|| -> Result<_, Failure> {
        let (watcher, _) = Watcher::new(Watch { silent: true, ..Watch::default() });
        let failed = |error| Failure::device(&error, false);
        let mut device = Device::with(options, Box::new(watcher)).map_err(failed)?;
        let verdict = job.run(&mut device)?;
        let log = device.log();
        let thread_instructions = log.iter().map(|launch| launch.thread_instructions).sum();
        let busy = target.map(|target| {
            let config = &target.timed.config;
            busy(log, config.gpu.sms, config.sm.schedulers, config.gpu.kernel_launch_cycles)
        });
        Ok((verdict, thread_instructions, busy))
    });
    let (verdict, thread_instructions, busy) =
        run.map_err(|message| Failure::new(Exit::Internal, message))??;
    let mut wrong = verdict.failures;
    let (least, most) = task.size.thread_instructions();
    if !(least..=most).contains(&thread_instructions) {
        wrong.push(format!(
            "{} thread instructions, not {} to {}",
            grouped(thread_instructions),
            grouped(least),
            grouped(most)
        ));
    }
    if let Some(busy) = busy.filter(|_| task.size >= Size::Medium) {
        wrong.extend(misfit(task.workload.info().fill, busy.with_warps, task.size));
    }
    Ok(Found { thread_instructions, busy, seconds: started.elapsed().as_secs_f64(), wrong })
}

/// How busy the SMs were in these launches. What lies between a launch and the dispatch of its first block does not count.
fn busy(log: &[LaunchRecord], sms: u32, schedulers: u32, launch_cycles: u32) -> Busy {
    let (mut cycles, mut active, mut issued) = (0, 0, 0);
    for launch in log {
        let Some(timed) = &launch.timed else { continue };
        cycles += timed.cycles.saturating_sub(launch_cycles.into()) * u64::from(sms);
        active += timed.per_sm.iter().map(|sm| sm.issue.active).sum::<u64>();
        issued += launch.warp_instructions;
    }
    let share = |part: u64, of: u64| part as f64 / of.max(1) as f64;
    Busy { with_warps: share(active, cycles), issued: share(issued, cycles * u64::from(schedulers)) }
}

/// The contradiction with the table's entry about full SMs, if any.
fn misfit(fill: Fill, with_warps: f64, size: Size) -> Option<String> {
    let full = with_warps >= Fill::LEAST;
    match fill {
        Fill::Full if !full => Some(format!(
            "SMs hold warps in {:.1} % of the cycles, not in {:.0} %",
            100.0 * with_warps,
            100.0 * Fill::LEAST
        )),
        Fill::Partial(_) if full && size == Size::Medium => Some(
            "SMs have warps at least as often as required, but the table lists the workload as an exception"
                .to_owned(),
        ),
        _ => None,
    }
}

fn report(
    args: &VerifyArgs,
    tasks: &[Task],
    found: &[Option<Found>],
    console: &Console,
) -> Result<(), Failure> {
    if let Some(path) = &args.json {
        let text = warpwatt_results::json::to_text(&document(tasks, found))
            .map_err(|e| Failure::new(Exit::Internal, e.to_string()))?;
        write_result(path, &text, console)?;
        if path.as_os_str() == "-" {
            return Ok(());
        }
    }
    let titles = ["workload", "size", "seed", "mode", "thread instr", "warps %", "issue %", "s", "result"];
    let mut table = Table::new(&titles).left(1).left(3).left(8);
    let share = |share: Option<f64>| share.map_or(String::new(), |share| format!("{:.1}", 100.0 * share));
    for (task, found) in tasks.iter().zip(found) {
        let Some(found) = found else { continue };
        table.row([
            task.workload.info().name.to_owned(),
            task.size.to_string(),
            task.seed.to_string(),
            if task.timed { "timed" } else { "functional" }.to_owned(),
            grouped(found.thread_instructions),
            share(found.busy.map(|busy| busy.with_warps)),
            share(found.busy.map(|busy| busy.issued)),
            format!("{:.2}", found.seconds),
            if found.wrong.is_empty() { "ok" } else { "WRONG" }.to_owned(),
        ]);
    }
    console.result(&table.render());
    for (task, found) in tasks.iter().zip(found) {
        for wrong in found.iter().flat_map(|found| &found.wrong) {
            console.result(&format!("{}: {wrong}\n", task.name()));
        }
    }
    let done = found.iter().flatten().count();
    let right = found.iter().flatten().filter(|found| found.wrong.is_empty()).count();
    console.summary(&format!(
        "\n{right} of {done} runs passed\n{}",
        paragraph(
            "`warps %`: cycles in which an SM has warps; `issue %`: issue slots used; both from the start of the first \
             block to the end of the last one of each kernel",
            0
        )
    ));
    Ok(())
}

fn document(tasks: &[Task], found: &[Option<Found>]) -> Value {
    let one = |(task, found): (&Task, &Option<Found>)| {
        let found = found.as_ref()?;
        Some(json!({
            "workload": task.workload.info().name,
            "size": task.size.to_string(),
            "seed": task.seed,
            "mode": if task.timed { "timed" } else { "functional" },
            "passed": found.wrong.is_empty(),
            "wrong": found.wrong,
            "thread_instructions": found.thread_instructions,
            "share_with_warps": found.busy.map(|busy| busy.with_warps),
            "share_issued": found.busy.map(|busy| busy.issued),
            "wall_seconds": found.seconds,
        }))
    };
    json!({
        "schema": "warpwatt.verify/1",
        "tool": warpwatt_record::tool(),
        "runs": tasks.iter().zip(found).filter_map(one).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_held_to_what_it_says_about_full_sms() {
        assert_eq!(misfit(Fill::Full, 0.95, Size::Large), None);
        assert_eq!(misfit(Fill::Partial("few rows"), 0.5, Size::Medium), None);
        assert!(misfit(Fill::Full, 0.899, Size::Large).is_some_and(|text| text.contains("89.9 %")));
        assert!(misfit(Fill::Partial("few rows"), 0.95, Size::Medium).is_some());
        assert_eq!(
            misfit(Fill::Partial("few rows"), 0.95, Size::Large),
            None,
            "a larger problem may fill them"
        );
    }
}
