// SPDX-License-Identifier: MIT OR Apache-2.0
//! From a device's log to the run record, and figures about the host.

use std::time::Instant;

use warpwatt_results::{Diagnostic, Host, Kernel, Line, Mode, Reading, Severity, Tool, counters};
use warpwatt_runtime::{Error, LaunchRecord, Level, Problem};

pub fn tool() -> Tool {
    Tool::new(env!("CARGO_PKG_VERSION"), env!("WARPWATT_COMMIT"))
}

pub fn kernel(launch: &LaunchRecord) -> Kernel {
    let mut values = counters::Values::new();
    let mut put = |counter: counters::Counter, value| values.insert(counter.name.to_owned(), value);
    put(counters::BARRIERS, Reading::Count(launch.barriers));
    put(counters::DIVERGENT_BRANCHES, Reading::Count(launch.divergent_branches));
    if launch.warp_instructions > 0 {
        let lanes = launch.thread_instructions as f64 / launch.warp_instructions as f64;
        put(counters::LANES, Reading::Ratio(lanes));
    }
    let lines = launch.lines.iter().map(|line| Line {
        file: line.file.clone(),
        line: line.line,
        warp_instructions: line.warp_instructions,
        thread_instructions: line.thread_instructions,
    });
    Kernel {
        index: launch.index,
        name: launch.kernel.clone(),
        demangled: launch.demangled.clone(),
        grid: launch.grid,
        block: launch.block,
        stream: launch.stream,
        registers: launch.registers,
        shared_bytes: launch.shared_bytes,
        local_bytes: launch.local_bytes,
        mode: Mode::Functional,
        warp_instructions: launch.warp_instructions,
        thread_instructions: launch.thread_instructions,
        counters: values,
        lines: lines.collect(),
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

    pub fn host(&self, level: Level) -> Host {
        let (cpu, peak_rss_bytes) = usage();
        Host {
            wall_seconds: self.started.elapsed().as_secs_f64(),
            cpu_seconds: cpu - self.cpu,
            peak_rss_bytes,
            threads: 1,
            isa_level: level.name().to_owned(),
        }
    }
}

/// Processor seconds and peak resident bytes of this process.
fn usage() -> (f64, u64) {
    // SAFETY: `getrusage` fills the plain C structure it is given.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 * 1e-6;
    (seconds(usage.ru_utime) + seconds(usage.ru_stime), usage.ru_maxrss as u64 * 1024)
}
