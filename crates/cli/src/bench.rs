// SPDX-License-Identifier: MIT OR Apache-2.0
//! `bench`: how fast the simulation is, in warp instructions per second of one core.
//!
//! Only the time in launches counts: inputs, references and compilation do not.

use serde_json::json;
use warpwatt_runtime::{Device, Level};

use crate::args::{BenchArgs, Execution};
use crate::console::{Console, write_result};
use crate::exit::{Exit, Failure};
use crate::interrupt;
use crate::job::{Job, Stop};
use crate::list::find_workload;
use crate::run::options;
use crate::session::{Watch, Watcher, isolated};
use crate::table::{Table, grouped};

struct Figure {
    name: &'static str,
    warp_instructions: u64,
    thread_instructions: u64,
    /// Of the launches of each run, sorted.
    seconds: Vec<f64>,
}

impl Figure {
    fn median(&self) -> f64 {
        let (low, high) = (self.seconds[(self.seconds.len() - 1) / 2], self.seconds[self.seconds.len() / 2]);
        // Elapsed times are never 0.
        ((low + high) / 2.0).max(1e-9)
    }

    fn warps_per_second(&self) -> f64 {
        self.warp_instructions as f64 / self.median()
    }

    fn threads_per_second(&self) -> f64 {
        self.thread_instructions as f64 / self.median()
    }
}

pub fn bench(args: &BenchArgs, console: &Console) -> Result<Exit, Failure> {
    if !args.functional {
        let failure = Failure::usage(
            "only functional simulation can be measured in this version: there is no timed model yet",
        );
        return Err(failure.help("add `--functional`"));
    }
    let workloads = match args.names.len() {
        0 => warpwatt_workloads::all().to_vec(),
        _ => args.names.iter().map(|name| find_workload(name)).collect::<Result<_, _>>()?,
    };
    let flag = interrupt::flag();
    let mut figures = Vec::new();
    for workload in workloads {
        let job = Job::Workload { workload, size: args.size, seed: 1 };
        console.detail(&format!("measuring {}", job.name()));
        let mut figure = Figure {
            name: workload.info().name,
            warp_instructions: 0,
            thread_instructions: 0,
            seconds: Vec::new(),
        };
        for _ in 0..args.repeat {
            let options = options(&Execution::default(), flag.clone());
            let live = Watch { silent: true, ..Watch::new(console, true) };
            let run = isolated(|| -> Result<_, Failure> {
                let (watcher, _) = Watcher::new(live);
                let failed = |error| Failure::device(&error, false);
                let mut device = Device::with(options, Box::new(watcher)).map_err(failed)?;
                let verdict = job.execute(&mut device).map_err(|stop| match stop {
                    Stop::Device { error, .. } => failed(error),
                    Stop::Io(message) | Stop::Request(message) => Failure::new(Exit::Io, message),
                })?;
                if let Some(failure) = verdict.failures.first() {
                    return Err(Failure::new(Exit::CheckFailed, format!("{}: {failure}", job.name())));
                }
                let log = device.log();
                let sum = |of: fn(&warpwatt_runtime::LaunchRecord) -> u64| log.iter().map(of).sum::<u64>();
                let seconds: f64 = log.iter().map(|launch| launch.host_seconds).sum();
                Ok((
                    sum(|launch| launch.warp_instructions),
                    sum(|launch| launch.thread_instructions),
                    seconds,
                ))
            });
            let (warps, threads, seconds) =
                run.map_err(|message| Failure::new(Exit::Internal, message))??;
            (figure.warp_instructions, figure.thread_instructions) = (warps, threads);
            figure.seconds.push(seconds);
        }
        figure.seconds.sort_by(f64::total_cmp);
        figures.push(figure);
    }
    report(args, &figures, console)?;
    if interrupt::signalled() { Ok(Exit::Interrupted) } else { Ok(Exit::Ok) }
}

/// The geometric mean treats a factor of two the same wherever it occurs.
fn geometric_mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0_u32), |(sum, count), value| (sum + value.ln(), count + 1));
    (sum / f64::from(count.max(1))).exp()
}

fn report(args: &BenchArgs, figures: &[Figure], console: &Console) -> Result<(), Failure> {
    let mean = geometric_mean(figures.iter().map(Figure::warps_per_second));
    let level = Level::detect().name();
    if let Some(path) = &args.json {
        let one = |figure: &Figure| {
            json!({
                "workload": figure.name,
                "warp_instructions": figure.warp_instructions,
                "thread_instructions": figure.thread_instructions,
                "seconds": figure.seconds,
                "warp_instructions_per_second": figure.warps_per_second(),
                "thread_instructions_per_second": figure.threads_per_second(),
            })
        };
        let document = json!({
            "schema": "warpwatt.bench/1",
            "tool": crate::record::tool(),
            "mode": "functional",
            "size": args.size.to_string(),
            "threads": 1,
            "isa_level": level,
            "workloads": figures.iter().map(one).collect::<Vec<_>>(),
            "geometric_mean_warp_instructions_per_second": mean,
        });
        let text = serde_json::to_string_pretty(&document)
            .map_err(|e| Failure::new(Exit::Internal, e.to_string()))?;
        write_result(path, &(text + "\n"), console)?;
        if path.as_os_str() == "-" {
            return Ok(());
        }
    }
    let mut table =
        Table::new(&["workload", "warp instructions", "seconds", "M warp instr/s", "M thread instr/s"]);
    for figure in figures {
        table.row([
            figure.name.to_owned(),
            grouped(figure.warp_instructions),
            format!("{:.3}", figure.median()),
            format!("{:.1}", figure.warps_per_second() * 1e-6),
            format!("{:.0}", figure.threads_per_second() * 1e-6),
        ]);
    }
    let means = [String::new(), String::new(), format!("{:.1}", mean * 1e-6), String::new()];
    let [a, b, c, d] = means;
    table.row(["geometric mean".to_owned(), a, b, c, d]);
    console.result(&table.render());
    console.summary(&format!(
        "\nsize {}, one core, {level}, median of {} run{}; only time in launches counts\n",
        args.size,
        args.repeat,
        if args.repeat == 1 { "" } else { "s" }
    ));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_is_geometric_and_the_median_is_in_the_middle() {
        assert!((geometric_mean([2.0, 8.0].into_iter()) - 4.0).abs() < 1e-12);
        let figure = |seconds: &[f64]| Figure {
            name: "x",
            warp_instructions: 12,
            thread_instructions: 384,
            seconds: seconds.to_vec(),
        };
        assert_eq!(figure(&[1.0, 2.0, 9.0]).median(), 2.0);
        assert_eq!(figure(&[1.0, 3.0]).warps_per_second(), 6.0);
        assert_eq!(figure(&[0.0]).median(), 1e-9);
    }
}
