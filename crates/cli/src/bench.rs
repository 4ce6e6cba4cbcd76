// SPDX-License-Identifier: MIT OR Apache-2.0
//! `bench`: how fast the simulation is, functional beside timed, in warp instructions and SM-cycles per second.
//!
//! Only the time in launches counts: inputs, references and compilation do not. Runs of both modes take turns, so that a machine
//! that gets slower for a while is unfair to neither.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use serde_json::{Value, json};
use warpwatt_record::Collector;
use warpwatt_runtime::{Device, Level};

use crate::args::{BenchArgs, Execution};
use crate::console::{Console, check_writable, write_result};
use crate::exit::{Exit, Failure};
use crate::gpu::Machine;
use crate::interrupt;
use crate::job::Job;
use crate::list::find_workload;
use crate::run::{Target, options};
use crate::session::{Watch, Watcher, isolated};
use crate::summary::techniques;
use crate::table::{Table, grouped, paragraph};

/// What one run of a workload did, and how long its launches took.
struct Lap {
    warp_instructions: u64,
    thread_instructions: u64,
    /// Of a timed run.
    cycles: Option<u64>,
    seconds: f64,
}

/// The runs of a workload in one mode.
#[derive(Default)]
struct Laps(Vec<Lap>);

impl Laps {
    fn seconds(&self) -> Vec<f64> {
        let mut seconds: Vec<_> = self.0.iter().map(|lap| lap.seconds).collect();
        seconds.sort_by(f64::total_cmp);
        seconds
    }

    fn median(&self) -> f64 {
        let seconds = self.seconds();
        let (low, high) = (seconds[(seconds.len() - 1) / 2], seconds[seconds.len() / 2]);
        // Elapsed times are never 0.
        ((low + high) / 2.0).max(1e-9)
    }

    /// A figure of the run, which is the same in all of them, per second.
    fn rate(&self, of: impl Fn(&Lap) -> u64) -> f64 {
        self.0.first().map_or(0.0, |lap| of(lap) as f64 / self.median())
    }

    fn warps_per_second(&self) -> f64 {
        self.rate(|lap| lap.warp_instructions)
    }
}

struct Figure {
    name: &'static str,
    functional: Laps,
    /// Empty when only functional simulation is measured.
    timed: Laps,
}

pub fn bench(args: &BenchArgs, console: &Console) -> Result<Exit, Failure> {
    check_writable(args.json.as_deref())?;
    let workloads = match args.names.len() {
        0 => warpwatt_workloads::all().to_vec(),
        _ => args.names.iter().map(|name| find_workload(name)).collect::<Result<_, _>>()?,
    };
    let target = match args.functional {
        true => None,
        false => Some(Target::on(Machine::new(&args.gpu)?, args.threads)?),
    };
    let flag = interrupt::flag();
    let mut figures = Vec::new();
    for workload in workloads {
        let job = Job::Workload { workload, size: args.size, seed: 1 };
        console.detail(&format!("measuring {}", job.name()));
        let mut figure =
            Figure { name: workload.info().name, functional: Laps::default(), timed: Laps::default() };
        for _ in 0..args.repeat {
            figure.functional.0.push(lap(&job, None, &flag, console)?);
            if let Some(target) = &target {
                figure.timed.0.push(lap(&job, Some(target), &flag, console)?);
            }
        }
        figures.push(figure);
    }
    report(args, target.as_ref(), &figures, console)?;
    if interrupt::signalled().is_some() { Ok(Exit::Interrupted) } else { Ok(Exit::Ok) }
}

fn lap(
    job: &Job,
    target: Option<&Target>,
    flag: &Arc<AtomicBool>,
    console: &Console,
) -> Result<Lap, Failure> {
    let options = options(&Execution::default(), target, flag.clone());
    let watch = Watch { silent: true, ..Watch::new(console, true) };
    let run = isolated(|| -> Result<_, Failure> {
        // Launches are added up as they end, so that memory does not grow with their number.
        let collector = Collector::new(target.map(|target| target.timed.config.clone()), None, 0);
        let watcher = Watcher::new(watch).0.collecting(collector.clone());
        let failed = |error| Failure::device(&error, false);
        let mut device = Device::with(options, Box::new(watcher)).map_err(failed)?;
        let verdict = job.run(&mut device)?;
        if let Some(failure) = verdict.failures.first() {
            return Err(Failure::new(Exit::CheckFailed, format!("{}: {failure}", job.name())));
        }
        let launches = collector.take();
        Ok(Lap {
            warp_instructions: launches.sums.warp_instructions(),
            thread_instructions: launches.sums.thread_instructions(),
            cycles: device.kernel_cycles(),
            seconds: launches.host_seconds,
        })
    });
    run.map_err(|message| Failure::new(Exit::Internal, message))?
}

/// The geometric mean treats a factor of two the same wherever it occurs.
fn geometric_mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0_u32), |(sum, count), value| (sum + value.ln(), count + 1));
    (sum / f64::from(count.max(1))).exp()
}

fn report(
    args: &BenchArgs,
    target: Option<&Target>,
    figures: &[Figure],
    console: &Console,
) -> Result<(), Failure> {
    let sms = target.map_or(0, |target| u64::from(target.timed.config.gpu.sms));
    if let Some(path) = &args.json {
        let text = warpwatt_results::json::to_text(&document(args, target, figures, sms))
            .map_err(|e| Failure::new(Exit::Internal, e.to_string()))?;
        write_result(path, &text, console)?;
        if path.as_os_str() == "-" {
            return Ok(());
        }
    }
    console.result(&table(target.is_some(), figures, sms));
    let machine = target.map_or(String::new(), |target| {
        format!("{}{}, ", target.name, techniques(&target.timed.techniques.canonical()))
    });
    let threads = match (target, args.threads) {
        (None, _) | (_, 1) => format!("{machine}one core"),
        (Some(_), threads) => format!("{machine}{threads} threads for the timed runs"),
    };
    let how = format!(
        "size {}, {threads}, {}, median of {} run{}; only time in launches counts; peak memory {:.0} MB",
        args.size,
        Level::detect().name(),
        args.repeat,
        if args.repeat == 1 { "" } else { "s" },
        warpwatt_record::usage().1 as f64 * 1e-6
    );
    console.summary(&format!("\n{}", paragraph(&how, 0)));
    Ok(())
}

fn document(args: &BenchArgs, target: Option<&Target>, figures: &[Figure], sms: u64) -> Value {
    let mode = |laps: &Laps| {
        let mut fields = json!({
            "seconds": laps.seconds(),
            "warp_instructions_per_second": laps.warps_per_second(),
            "thread_instructions_per_second": laps.rate(|lap| lap.thread_instructions),
        });
        if let Some(cycles) = laps.0.first().and_then(|lap| lap.cycles) {
            fields["cycles"] = cycles.into();
            fields["sm_cycles_per_second"] = laps.rate(|_| cycles * sms).into();
        }
        fields
    };
    let one = |figure: &Figure| {
        let lap = figure.functional.0.first();
        let mut fields = json!({
            "workload": figure.name,
            "warp_instructions": lap.map(|lap| lap.warp_instructions),
            "thread_instructions": lap.map(|lap| lap.thread_instructions),
            "functional": mode(&figure.functional),
        });
        if target.is_some() {
            fields["timed"] = mode(&figure.timed);
        }
        fields
    };
    let mean = |of: fn(&Figure) -> f64| geometric_mean(figures.iter().map(of));
    let mut means = json!({
        "functional_warp_instructions_per_second": mean(|figure| figure.functional.warps_per_second()),
    });
    if target.is_some() {
        means["timed_warp_instructions_per_second"] = mean(|figure| figure.timed.warps_per_second()).into();
    }
    json!({
        "schema": "warpwatt.bench/1",
        "tool": warpwatt_record::tool(),
        "gpu": target.map(|target| warpwatt_results::Gpu::of(&target.name, &target.timed.config)),
        "techniques": target.map(|target| target.timed.techniques.canonical()).unwrap_or_default(),
        "size": args.size.to_string(),
        "threads": args.threads,
        "isa_level": Level::detect().name(),
        "workloads": figures.iter().map(one).collect::<Vec<_>>(),
        "geometric_means": means,
        "peak_rss_bytes": warpwatt_record::usage().1,
    })
}

fn table(timed: bool, figures: &[Figure], sms: u64) -> String {
    let millions = |rate: f64| match rate * 1e-6 {
        rate if rate < 10.0 => format!("{rate:.2}"),
        rate => format!("{rate:.1}"),
    };
    let first = |laps: &Laps, of: fn(&Lap) -> u64| laps.0.first().map_or(0, of);
    let mut titles = vec!["workload", "warp instr", "functional s", "M instr/s"];
    if timed {
        titles.extend(["cycles", "timed s", "M instr/s", "M SM-cycles/s"]);
    }
    let mut table = Table::new(&titles).optional(1);
    for Figure { name, functional, timed: laps } in figures {
        let mut row = vec![
            (*name).to_owned(),
            grouped(first(functional, |lap| lap.warp_instructions)),
            format!("{:.3}", functional.median()),
            millions(functional.warps_per_second()),
        ];
        if timed {
            let cycles = first(laps, |lap| lap.cycles.unwrap_or_default());
            row.extend([
                grouped(cycles),
                format!("{:.3}", laps.median()),
                millions(laps.warps_per_second()),
                millions(laps.rate(|_| cycles * sms)),
            ]);
        }
        table.cells(row);
    }
    let mean = |of: &dyn Fn(&Figure) -> f64| millions(geometric_mean(figures.iter().map(of)));
    let functional = mean(&|figure| figure.functional.warps_per_second());
    let mut row = vec!["geometric mean".to_owned(), String::new(), String::new(), functional];
    if timed {
        let cycles = |figure: &Figure| figure.timed.rate(|lap| lap.cycles.unwrap_or_default() * sms);
        let warps = mean(&|figure| figure.timed.warps_per_second());
        row.extend([String::new(), String::new(), warps, mean(&cycles)]);
    }
    table.cells(row);
    table.render()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_is_geometric_and_the_median_is_in_the_middle() {
        assert!((geometric_mean([2.0, 8.0].into_iter()) - 4.0).abs() < 1e-12);
        let laps = |seconds: &[f64]| {
            let lap = |&seconds: &f64| Lap {
                warp_instructions: 12,
                thread_instructions: 384,
                cycles: Some(6),
                seconds,
            };
            Laps(seconds.iter().map(lap).collect())
        };
        assert_eq!(laps(&[9.0, 1.0, 2.0]).median(), 2.0);
        assert_eq!(laps(&[1.0, 3.0]).warps_per_second(), 6.0);
        assert_eq!(laps(&[0.0]).median(), 1e-9);
        assert_eq!(laps(&[2.0]).rate(|lap| lap.cycles.unwrap_or_default() * 15), 45.0);
    }
}
