// SPDX-License-Identifier: MIT OR Apache-2.0
//! From a device's log to kernels of the run record, and figures about the host.

use std::time::Instant;

use warpwatt_base::counters::Count;
use warpwatt_config::Config;
use warpwatt_results::derived::derive;
use warpwatt_results::{
    Blocks, Copied, Counted, Diagnostic, Elapsed, Host, Kernel, Launched, LaunchedEnergy, LaunchedLine, Line,
    LineJoules, Mode, Reading, Series, Severity, Sms, Stalls, Tool, Values, counters, ipc,
};
use warpwatt_runtime::{
    Counters, Device, Error, LaunchRecord, Level, Notice, Problem, SmCounters, Stall, TimedRecord,
};

use crate::energy::{LaunchEnergy, LineShare};

/// Version and commit of the program, as `--version` prints them.
pub const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("WARPWATT_COMMIT"), ")");

pub fn tool() -> Tool {
    Tool::new(env!("CARGO_PKG_VERSION"), env!("WARPWATT_COMMIT"), warpwatt_runtime::MODEL_VERSION)
}

pub fn kernel(launch: &LaunchRecord, config: Option<&Config>) -> Kernel {
    kernel_in(launch, config, &mut Sorted::default())
}

/// The same; `sorted` is kept from launch to launch.
pub(crate) fn kernel_in(launch: &LaunchRecord, config: Option<&Config>, sorted: &mut Sorted) -> Kernel {
    let mut values = Values::new();
    let mut put =
        |info: warpwatt_base::counters::CounterInfo, value| values.insert(info.name.to_owned(), value);
    put(counters::BARRIERS, Reading::Count(launch.barriers));
    put(counters::DIVERGENT_BRANCHES, Reading::Count(launch.divergent_branches));
    if launch.warp_instructions > 0 {
        let lanes = launch.thread_instructions as f64 / launch.warp_instructions as f64;
        put(counters::LANES, Reading::Ratio(lanes));
    }
    let lines = launch.lines.iter().map(|line| Line {
        file: line.file.to_string(),
        line: line.line,
        warp_instructions: line.warp_instructions,
        thread_instructions: line.thread_instructions,
        stalls: launch.timed.as_ref().map(|_| {
            by_reason(|stall| line.stalls[stall as usize]).filter(|(_, cycles)| *cycles > 0).collect()
        }),
    });
    let mut kernel = Kernel {
        index: launch.index,
        name: launch.kernel.clone(),
        demangled: launch.demangled.clone(),
        grid: launch.grid,
        block: launch.block,
        stream: launch.stream,
        process: None,
        registers: launch.registers,
        shared_bytes: launch.shared_bytes,
        local_bytes: launch.local_bytes,
        mode: Mode::Functional,
        start_cycle: None,
        cycles: None,
        warp_instructions: launch.warp_instructions,
        thread_instructions: launch.thread_instructions,
        ipc: None,
        warp_ipc_per_sm: None,
        counters: values,
        stalls: None,
        lines: lines.collect(),
        sms: None,
        series: None,
        blocks: None,
        energy: None,
    };
    if let (Some(timed), Some(config)) = (&launch.timed, config) {
        add_time(&mut kernel, timed, config, sorted);
    }
    kernel
}

/// What the sums of a run take from a launch, but for counters of the GPU: no names are copied, and nothing is made that only a launch in detail has. Gives
/// what `add` does.
pub(crate) fn add_up(
    launch: &LaunchRecord,
    config: Option<&Config>,
    energy: Option<&LaunchEnergy>,
    add: impl FnOnce(&Launched) -> usize,
) -> usize {
    let timed = launch.timed.as_ref().zip(config);
    let reasons = |stalls: &warpwatt_runtime::Stalls| -> Vec<(&'static str, u64)> {
        Stall::ALL.into_iter().map(|stall| (stall.name(), stalls[stall as usize])).collect()
    };
    let lines = launch.lines.iter().map(|line| LaunchedLine {
        file: &line.file,
        line: line.line,
        warp_instructions: line.warp_instructions,
        thread_instructions: line.thread_instructions,
        stalls: launch.timed.as_ref().map(|_| {
            let mut stalls = reasons(&line.stalls);
            stalls.retain(|(_, cycles)| *cycles > 0);
            stalls
        }),
    });
    let energy = energy.zip(launch.timed.as_ref()).map(|(energy, timed)| {
        let slots = timed.counters.sm.issue.slots as f64;
        let lines = launch.lines.iter().zip(energy.lines(launch, timed)).map(|(line, share)| {
            let LineShare { energy_j, dynamic_j, time_share } = share;
            (&*line.file, line.line, LineJoules { energy_j, dynamic_j, slots: time_share * slots })
        });
        let classes = energy.classes(timed).into_iter().map(|(kind, sums)| (kind.name(), sums));
        LaunchedEnergy {
            total_j: energy.whole.total().0,
            dynamic_j: energy.whole.dynamic.0,
            static_j: energy.whole.static_.0,
            average_w: energy.average_w(),
            lines: lines.collect(),
            classes: classes.collect(),
        }
    });
    let (warps, threads) = (launch.warp_instructions, launch.thread_instructions);
    let rates = timed.and_then(|(timed, config)| ipc(threads, warps, timed.cycles, config));
    add(&Launched {
        name: &launch.kernel,
        demangled: &launch.demangled,
        mode: if timed.is_some() { Mode::Timed } else { Mode::Functional },
        grid: launch.grid,
        block: launch.block,
        registers: launch.registers,
        shared_bytes: launch.shared_bytes,
        local_bytes: launch.local_bytes,
        cycles: timed.map(|(timed, _)| timed.cycles),
        warp_instructions: warps,
        thread_instructions: threads,
        ipc: rates.map(|rate| rate.0),
        counts: vec![
            (counters::BARRIERS.name, launch.barriers),
            (counters::DIVERGENT_BRANCHES.name, launch.divergent_branches),
        ],
        counters: Counted::Later,
        stalls: timed.map(|(timed, _)| reasons(&timed.counters.sm.stalls)),
        lines: lines.collect(),
        energy,
    })
}

fn add_time(kernel: &mut Kernel, timed: &TimedRecord, config: &Config, sorted: &mut Sorted) {
    kernel.mode = Mode::Timed;
    (kernel.start_cycle, kernel.cycles) = (Some(timed.start_cycle), Some(timed.cycles));
    let rates = ipc(kernel.thread_instructions, kernel.warp_instructions, timed.cycles, config);
    (kernel.ipc, kernel.warp_ipc_per_sm) = (rates.map(|rate| rate.0), rates.map(|rate| rate.1));
    let mut values = sorted.values(&timed.counters);
    kernel.stalls = Some(by_reason(|stall| timed.counters.sm.stalls[stall as usize]).collect());
    derive(&mut values, timed.cycles, config);
    // Few are added to many.
    values.extend(std::mem::take(&mut kernel.counters));
    kernel.counters = values;
    let column = |of: fn(&SmCounters) -> u64| timed.per_sm.iter().map(of).collect();
    kernel.sms = Some(Sms {
        issued: column(|sm| sm.issue.issued),
        active_cycles: column(|sm| sm.issue.active),
        stalls: Stall::ALL
            .map(|stall| {
                let cycles = timed.per_sm.iter().map(|sm| sm.stalls[stall as usize]).collect();
                (stall.name().to_owned(), cycles)
            })
            .into(),
    });
    kernel.series = (!timed.series.is_empty()).then(|| series(timed, config));
    kernel.blocks = (!timed.blocks.is_empty()).then(|| blocks(timed));
}

fn blocks(timed: &TimedRecord) -> Blocks {
    let end = timed.start_cycle + timed.cycles;
    let mut columns = Blocks::default();
    for span in &timed.blocks {
        columns.block.push(span.block);
        columns.sm.push(span.sm);
        columns.start_cycle.push(span.start_cycle);
        columns.end_cycle.push(span.end_cycle.unwrap_or(end).max(span.start_cycle));
    }
    columns
}

/// Copies that a device noted.
pub fn copies(device: &Device) -> Vec<Copied> {
    let each = device.copies().iter().map(|copy| Copied {
        way: copy.way.to_owned(),
        bytes: copy.bytes,
        start_cycle: copy.start_cycle,
        end_cycle: copy.end_cycle,
        process: None,
    });
    each.collect()
}

/// The samples as one list per counter. Histograms over time would be tables, and are left out.
fn series(timed: &TimedRecord, config: &Config) -> Series {
    let mut series = Series::new();
    let (mut before, mut sorted) = (timed.start_cycle, Sorted::default());
    for sample in &timed.series {
        let mut row = sorted.values(&sample.counters);
        row.retain(|_, reading| matches!(reading, Reading::Count(_)));
        derive(&mut row, sample.cycle.saturating_sub(before), config);
        row.insert("cycle".to_owned(), Reading::Count(sample.cycle));
        for info in warpwatt_results::derived::DERIVED {
            // Lists are of one length: what a sample does not have is 0 in it.
            row.entry(info.info.name.to_owned()).or_insert(Reading::Ratio(0.0));
        }
        for (name, reading) in row {
            series.entry(name).or_default().push(reading);
        }
        before = sample.cycle;
    }
    series
}

/// Makes values by name of counters. Launch after launch they are visited in the same order, so that the order of their names is found once.
#[derive(Default)]
pub(crate) struct Sorted {
    /// Places among the counters as they are visited, in the order of names.
    order: Vec<usize>,
}

impl Sorted {
    fn values(&mut self, counters: &Counters) -> Values {
        let mut visited = Vec::new();
        counters.visit(&mut |name: &'static str, count: Count| visited.push((name, Reading::of(count))));
        if self.order.len() != visited.len() {
            self.order = (0..visited.len()).collect();
            self.order.sort_by_key(|&at| visited[at].0);
        }
        let reading = |&at: &usize| {
            let (name, reading) = &mut visited[at];
            ((*name).to_owned(), std::mem::replace(reading, Reading::Count(0)))
        };
        // A map is made from a list in less time than entry by entry, and from one in order in still less; it would sort any other.
        self.order.iter().map(reading).collect()
    }
}

fn by_reason(of: impl Fn(Stall) -> u64) -> impl Iterator<Item = (String, u64)> {
    Stall::ALL.into_iter().map(move |stall| (stall.name().to_owned(), of(stall)))
}

/// Issue slots without issue, from the counters that are named after their reasons.
fn stalls(values: &Values) -> Stalls {
    by_reason(|stall| match values.get(&format!("sm.stall.{}.count", stall.name())) {
        Some(Reading::Count(count)) => *count,
        _ => 0,
    })
    .collect()
}

/// What a timed device counted as a whole.
#[derive(Clone, Debug)]
pub struct Whole {
    pub config: Config,
    /// Cycles in which kernels were under way.
    pub cycles: u64,
    pub counters: Values,
}

impl Whole {
    pub fn of(device: &Device) -> Option<Whole> {
        let gpu = device.gpu()?;
        let cycles = device.kernel_cycles()?;
        Some(Whole { config: gpu.config().clone(), cycles, counters: Sorted::default().values(gpu.busy()) })
    }

    pub fn elapsed(&self) -> Elapsed<'_> {
        Elapsed {
            config: &self.config,
            cycles: self.cycles,
            counters: self.counters.clone(),
            stalls: stalls(&self.counters),
        }
    }
}

pub fn problem(problem: Problem) -> Diagnostic {
    Diagnostic {
        code: problem.code.to_owned(),
        severity: match problem.severity {
            "error" => Severity::Error,
            "warning" => Severity::Warning,
            _ => Severity::Note,
        },
        file: Some(problem.file),
        line: Some(problem.line),
        column: Some(problem.column),
        message: problem.message,
        help: problem.help,
    }
}

/// What a device's error means for the record.
/// A finding of a check that did not stop the run.
pub fn notice_diagnostic(notice: &Notice) -> Diagnostic {
    let place = notice.place.as_ref();
    Diagnostic {
        code: notice.code.to_owned(),
        severity: Severity::Warning,
        file: place.map(|place| place.file.clone()),
        line: place.map(|place| place.line),
        column: place.map(|place| place.column).filter(|&column| column > 0),
        message: notice.message.clone(),
        help: None,
    }
}

pub fn diagnostics(error: &Error) -> Vec<Diagnostic> {
    if let Error::Ptx(refusal) = error {
        return refusal.problems().into_iter().map(problem).collect();
    }
    let place = match error {
        Error::Fault(report) => report.source.as_ref().or(report.ptx.as_ref()),
        _ => None,
    };
    vec![Diagnostic {
        code: error.code().to_owned(),
        severity: Severity::Error,
        file: place.map(|place| place.file.clone()),
        line: place.map(|place| place.line),
        column: place.map(|place| place.column).filter(|&column| column > 0),
        message: error.to_string(),
        help: error.help().map(str::to_owned),
    }]
}

/// Time and memory that the run takes on the host.
pub struct Meter {
    started: Instant,
    cpu: f64,
}

impl Meter {
    pub fn start() -> Meter {
        Meter { started: Instant::now(), cpu: usage().0 }
    }

    pub fn host(&self, level: Level, threads: u32) -> Host {
        let (cpu, peak_rss_bytes) = usage();
        Host {
            wall_seconds: self.started.elapsed().as_secs_f64(),
            cpu_seconds: cpu - self.cpu,
            peak_rss_bytes,
            threads,
            isa_level: level.name().to_owned(),
        }
    }
}

/// Processor seconds and peak resident bytes of this process.
pub fn usage() -> (f64, u64) {
    let (seconds, bytes) = usage_of(libc::RUSAGE_SELF);
    (seconds, high_water().unwrap_or(bytes))
}

/// Peak resident bytes of the program that runs now. The value of `getrusage` includes the process that started it.
fn high_water() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let kilobytes = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix("kB"))?;
    Some(kilobytes.trim().parse::<u64>().ok()? * 1024)
}

/// CPU seconds of all child processes that have ended, and peak resident bytes of the largest.
pub fn children_usage() -> (f64, u64) {
    usage_of(libc::RUSAGE_CHILDREN)
}

fn usage_of(whose: libc::c_int) -> (f64, u64) {
    // SAFETY: `getrusage` fills the plain C structure it is given.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(whose, &mut usage);
        usage
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 * 1e-6;
    (seconds(usage.ru_utime) + seconds(usage.ru_stime), usage.ru_maxrss as u64 * 1024)
}
