// SPDX-License-Identifier: MIT OR Apache-2.0
//! The timed half of a device: a GPU with a clock, and launches on streams that wait to be run together.
//!
//! Launches on stream 0 run at the call. Those on other streams are queued; whatever the host does that could see their results
//! (a launch on stream 0, a copy, `memset`, `free`, `synchronize`) runs them first. Device time passes by kernels and copies;
//! host code takes none (CUDA C++ Programming Guide, "Streams", with the legacy default stream).

use std::time::Instant;

use warpwatt_config::validate;
use warpwatt_exec::{Ending, GridStats, Services};
use warpwatt_model::{Gpu, KernelReport, Launch, Monitor, Progress, RunOptions};

use crate::demangle::demangle;
use crate::device::Device;
use crate::error::Error;
use crate::launch::Ready;
use crate::options::{Mode, Observer, Options, Timed};
use crate::record::TimedRecord;

/// A GPU, what waits for it, and how long it was at work.
pub(crate) struct Clocked {
    pub gpu: Gpu,
    timed: Timed,
    /// Checked launches on streams other than 0, in launch order.
    queue: Vec<Ready>,
    /// Launches of selected kernels so far.
    selected: u64,
    /// Cycles in which kernels were under way.
    kernel_cycles: u64,
}

/// What a copy moves bytes over.
#[derive(Clone, Copy)]
pub(crate) enum Path {
    /// Between host and device.
    Host,
    /// Within device memory, at the memory's peak rate.
    Device,
}

impl Clocked {
    /// The timed half that the options ask for, if they do, with the limits of its SMs put into the options.
    pub fn new(options: &mut Options) -> Result<Option<Clocked>, Error> {
        let Mode::Timed(timed) = &options.mode else { return Ok(None) };
        validate(&timed.config).map_err(|errors| {
            let each: Vec<_> = errors.iter().map(|error| error.problem.message()).collect();
            Error::Config(each.join("; "))
        })?;
        options.sm = Gpu::limits(&timed.config);
        let gpu = Gpu::new(&timed.config);
        let timed = Timed::clone(timed);
        Ok(Some(Clocked { gpu, timed, queue: Vec::new(), selected: 0, kernel_cycles: 0 }))
    }

    /// Lets the time of a copy pass.
    pub fn copy(&mut self, path: Path, bytes: u64) {
        let config = &self.timed.config;
        let mhz = u128::from(config.clock.core_mhz);
        let latency = u128::from(config.pcie.latency_ns) * mhz / 1000;
        let rate = match path {
            Path::Host => u128::from(config.pcie.bandwidth_mbs),
            Path::Device => u128::from(config.dram_peak_bytes_per_second() / 1_000_000),
        };
        let cycles = latency + (u128::from(bytes) * mhz).div_ceil(rate.max(1));
        self.gpu.advance(u64::try_from(cycles.max(1)).unwrap_or(u64::MAX >> 1));
    }
}

impl Device {
    /// The timed GPU of this device; `None` for a functional one.
    pub fn gpu(&self) -> Option<&Gpu> {
        self.clocked.as_ref().map(|clocked| &clocked.gpu)
    }

    /// The device's clock in core cycles; `None` for a functional device. Queued launches have not moved it yet.
    pub fn now_cycles(&self) -> Option<u64> {
        self.gpu().map(Gpu::cycle)
    }

    /// The device's clock in nanoseconds.
    pub fn now_ns(&self) -> Option<f64> {
        let gpu = self.gpu()?;
        Some(gpu.cycle() as f64 * 1e3 / f64::from(gpu.config().clock.core_mhz))
    }

    /// Cycles in which kernels were under way so far.
    pub fn kernel_cycles(&self) -> Option<u64> {
        self.clocked.as_ref().map(|clocked| clocked.kernel_cycles)
    }

    /// Runs what was launched on streams and waits for it. Errors of these launches are reported here, or by the call that has to
    /// wait for them.
    pub fn synchronize(&mut self) -> Result<(), Error> {
        let Some(clocked) = &mut self.clocked else { return Ok(()) };
        match std::mem::take(&mut clocked.queue) {
            queue if queue.is_empty() => Ok(()),
            queue => self.run_timed(queue),
        }
    }

    /// Waits for kernels, then lets the time of a copy pass.
    pub(crate) fn pass_copy(&mut self, path: Path, bytes: u64) -> Result<(), Error> {
        self.synchronize()?;
        if let Some(clocked) = &mut self.clocked {
            clocked.copy(path, bytes);
        }
        Ok(())
    }

    /// Whether this launch is to be timed, which counts it.
    pub(crate) fn selects(&mut self, kernel: &str) -> bool {
        let Some(clocked) = &mut self.clocked else { return false };
        if !self.options.selection.names(kernel, &demangle(kernel)) {
            return false;
        }
        clocked.selected += 1;
        clocked.selected > self.options.selection.skip
    }

    pub(crate) fn enqueue(&mut self, ready: Ready) {
        if let Some(clocked) = &mut self.clocked {
            clocked.queue.push(ready);
        }
    }

    /// Runs launches together, each stream's in order, and logs them.
    pub(crate) fn run_timed(&mut self, batch: Vec<Ready>) -> Result<(), Error> {
        let left =
            self.options.max_thread_instructions.map(|most| most.saturating_sub(self.thread_instructions));
        let Some(clocked) = &mut self.clocked else { return Ok(()) };
        let Timed { threads, step_every_cycle, interval, limit_cycles, .. } = clocked.timed;
        let before = clocked.gpu.cycle();
        let max_cycle =
            limit_cycles.map(|most| before.saturating_add(most.saturating_sub(clocked.kernel_cycles)));
        let options = RunOptions {
            threads,
            step_every_cycle,
            max_cycle,
            max_thread_instructions: left,
            watchdog: self.options.watchdog,
            interrupt: Some(&self.options.interrupt),
            interval,
        };
        let launches: Vec<_> = batch
            .iter()
            .map(|ready| Launch {
                grid: ready.grid(),
                stream: ready.config.stream,
                checks: self.options.checks,
            })
            .collect();
        let mut watch = Watch { observer: self.observer.as_mut(), batch: &batch };
        let started = Instant::now();
        let outcome = clocked.gpu.run(&launches, &mut self.memory, &mut watch, &options);
        let seconds = started.elapsed().as_secs_f64();
        let now = clocked.gpu.cycle();
        clocked.kernel_cycles += now - before;
        let (reports, fault) = match outcome {
            Ok(reports) => (reports, None),
            Err(failure) => (failure.reports, Some((failure.launch, failure.fault))),
        };

        let issued: u64 = reports.iter().map(|report| report.stats.warp_instructions).sum();
        let mut stopped = None;
        for (position, (ready, report)) in batch.iter().zip(reports).enumerate() {
            let faulted = fault.as_ref().is_some_and(|(launch, _)| *launch == position);
            let share = match issued {
                0 => 1.0 / batch.len() as f64,
                issued => report.stats.warp_instructions as f64 / issued as f64,
            };
            if report.stats.ending != Ending::Finished && stopped.is_none() {
                stopped = Some((position, report.stats.ending));
            }
            let complete = !faulted && report.stats.ending == Ending::Finished;
            self.thread_instructions += report.stats.thread_instructions;
            let (stats, stalls, timed) = split(report);
            let mut record = self.entry(ready, &stats, &stalls, complete);
            record.host_seconds = seconds * share;
            record.timed = Some(timed);
            self.log.push(record);
        }
        if let Some((launch, fault)) = fault {
            let Some(ready) = batch.get(launch) else {
                return Err(Error::Internal(format!("a fault in launch {launch} of {}", batch.len())));
            };
            return Err(self.fault(ready, &fault));
        }
        match stopped {
            None => Ok(()),
            Some((position, ending)) => {
                let cycles = limit_cycles.filter(|_| max_cycle.is_some_and(|most| now >= most));
                Err(self.stopped(&batch[position], ending, cycles))
            }
        }
    }
}

fn split(report: KernelReport) -> (GridStats, Vec<warpwatt_model::Stalls>, TimedRecord) {
    let KernelReport { stats, start_cycle, cycles, counters, per_sm, stalls_per_pc, series } = report;
    (stats, stalls_per_pc, TimedRecord { start_cycle, cycles, counters, per_sm, series })
}

/// Hands what the model has to tell to the device's observer, with the device's own numbers of launches.
struct Watch<'a> {
    observer: &'a mut dyn Observer,
    batch: &'a [Ready],
}

impl Services for Watch<'_> {
    fn print(&mut self, text: &[u8]) {
        self.observer.print(text);
    }
}

impl Monitor for Watch<'_> {
    fn tick(&mut self, progress: &Progress) {
        if let Some(ready) = self.batch.get(progress.launch) {
            self.observer.tick(ready.index, &ready.program().name, progress);
        }
    }
}
