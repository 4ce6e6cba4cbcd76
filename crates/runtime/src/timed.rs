// SPDX-License-Identifier: MIT OR Apache-2.0
//! The timed half of a device: a GPU with a clock, and the run of a batch of kernels on it. Which kernels make a batch is in `plan`.

use std::time::Instant;

use warpwatt_config::validate;
use warpwatt_exec::{Ending, Services};
use warpwatt_model::partition::Way;
use warpwatt_model::{BlockShape, Counters, Gpu, KernelReport, Launch, Monitor, Progress, RunOptions};

use crate::device::Device;
use crate::drain::Until;
use crate::error::Error;
use crate::launch::Ready;
use crate::options::{Mode, Observer, Options, Timed};
use crate::record::TimedRecord;
use crate::types::ModuleId;

/// A GPU, what waits for it, and how long it was at work.
pub(crate) struct TimedGpu {
    pub gpu: Gpu,
    timed: Timed,
    /// Launches of selected kernels so far.
    selected: u64,
    /// Cycles in which kernels were under way.
    kernel_cycles: u64,
}

/// A launch of a batch, and what it waits for.
pub(crate) struct BatchLaunch {
    pub ready: Ready,
    pub earliest: u64,
    /// Earlier launches of the batch that must have ended, and for how many cycles.
    pub after: Vec<(usize, u64)>,
}

impl TimedGpu {
    /// The timed GPU that the options request, if any; its limits are set in the options.
    pub fn new(options: &mut Options) -> Result<Option<TimedGpu>, Error> {
        let Mode::Timed(timed) = &options.mode else { return Ok(None) };
        validate(&timed.config).map_err(|errors| {
            let each: Vec<_> = errors.iter().map(|error| error.problem.message()).collect();
            Error::Config(each.join("; "))
        })?;
        options.sm = Gpu::limits(&timed.config);
        options.memory_bytes.get_or_insert(timed.config.memory_bytes());
        timed.techniques.validate(&timed.config).map_err(|errors| {
            let each: Vec<_> = errors.iter().map(ToString::to_string).collect();
            Error::Config(each.join("; "))
        })?;
        if let Some(wanted) = timed.techniques.wanted_counts()
            && timed.techniques.profile.is_none()
        {
            let name = wanted.technique;
            return Err(Error::Config(format!("`{name}` needs the counts of an earlier run")));
        }
        let gpu = Gpu::new(&timed.config, &timed.techniques);
        let mut timed = Timed::clone(timed);
        if options.checks.races || options.checks.uninit {
            // What is found first must not depend on which thread is faster.
            timed.threads = 1;
        }
        Ok(Some(TimedGpu { gpu, timed, selected: 0, kernel_cycles: 0 }))
    }

    /// Blocks and copies are noted.
    pub fn traces(&self) -> bool {
        self.timed.trace
    }
}

impl Device {
    /// The timed GPU of this device; `None` for a functional one.
    pub fn gpu(&self) -> Option<&Gpu> {
        self.timed_gpu.as_ref().map(|timed_gpu| &timed_gpu.gpu)
    }

    /// Everything that the timed GPU of this device has counted so far, including activity after the end of the last kernel.
    pub fn counters(&mut self) -> Option<Counters> {
        self.timed_gpu.as_mut().map(|timed_gpu| timed_gpu.gpu.counters())
    }

    /// A fault was to be injected, and no technique has noticed one.
    pub fn fault_is_pending(&mut self) -> bool {
        self.timed_gpu.as_mut().is_some_and(|timed_gpu| timed_gpu.gpu.fault_is_pending())
    }

    /// Blocks of a kernel that an SM may hold, if a technique limits them.
    pub(crate) fn limit_blocks(
        &mut self,
        m: ModuleId,
        kernel: &str,
        threads: u32,
    ) -> Result<Option<u32>, Error> {
        let image = self.image(m, kernel)?;
        let Some(TimedGpu { timed, .. }) = &self.timed_gpu else { return Ok(None) };
        let program = image.program();
        let shape = BlockShape { program, warps: threads.div_ceil(32), registers: program.registers };
        Ok(timed.techniques.limit_blocks(&timed.config, &shape))
    }

    /// The host has written bytes of device memory, or reads them: techniques at the memory controllers of a timed GPU see the lines.
    pub(crate) fn show_copy(&mut self, way: Way, at: u64, bytes: u64) -> Result<(), Error> {
        if way == Way::HostWrite {
            self.memory.notify_written(at, bytes);
        }
        let Some(timed_gpu) = &mut self.timed_gpu else { return Ok(()) };
        timed_gpu.gpu.copied(&self.memory, way, at, bytes);
        if way == Way::HostRead
            && timed_gpu.timed.techniques.are_verified()
            && let Some(detail) = timed_gpu.gpu.corrupted()
        {
            return Err(Error::Corrupted(detail));
        }
        Ok(())
    }

    /// How far the host has seen the device's clock go, in core cycles; `None` for a functional device. What is queued has not moved it
    /// yet.
    pub fn now_cycles(&self) -> Option<u64> {
        self.timed_gpu.is_some().then_some(self.clock.host)
    }

    /// How far the host has seen the device's clock go, in nanoseconds; `None` for a functional device.
    pub fn now_ns(&self) -> Option<f64> {
        Some(self.clock.ns(self.now_cycles()?))
    }

    /// Cycles in which kernels were under way so far.
    pub fn kernel_cycles(&self) -> Option<u64> {
        self.timed_gpu.as_ref().map(|timed_gpu| timed_gpu.kernel_cycles)
    }

    /// Runs all that is queued and waits for it. Errors of these launches are reported here, or by the call that has to wait for them.
    pub fn synchronize(&mut self) -> Result<(), Error> {
        self.finish(Until::Everything)
    }

    /// Whether this launch is to be timed, which counts it.
    pub(crate) fn selects(&mut self, m: ModuleId, kernel: &str) -> bool {
        let Some(timed_gpu) = &mut self.timed_gpu else { return false };
        let selection = &self.options.selection;
        if selection.kernels.is_some()
            && !selection.names(kernel, &self.modules[m.0 as usize].demangled(kernel))
        {
            return false;
        }
        timed_gpu.selected += 1;
        timed_gpu.selected > selection.skip
    }

    /// Runs launches together, each when it may, and logs them. Notes when each ended.
    pub(crate) fn run_timed(&mut self, batch: &[BatchLaunch], ends: &mut [Option<u64>]) -> Result<(), Error> {
        let left =
            self.options.max_thread_instructions.map(|most| most.saturating_sub(self.thread_instructions));
        let Some(timed_gpu) = &mut self.timed_gpu else { return Ok(()) };
        let Timed { threads, step_every_cycle, interval, limit_cycles, trace, .. } = timed_gpu.timed;
        // The GPU's clock never goes back: a batch starts where it stands, or when its first kernel can.
        let first = batch.iter().filter(|launch| launch.after.is_empty()).map(|launch| launch.earliest).min();
        let idle = first.unwrap_or_default().saturating_sub(timed_gpu.gpu.cycle());
        timed_gpu.gpu.advance(idle);
        let before = timed_gpu.gpu.cycle();
        let max_cycle =
            limit_cycles.map(|most| before.saturating_add(most.saturating_sub(timed_gpu.kernel_cycles)));
        let options = RunOptions {
            threads,
            step_every_cycle,
            max_cycle,
            max_thread_instructions: left,
            watchdog: self.options.watchdog,
            interrupt: Some(&self.options.interrupt),
            interval,
            blocks: trace,
        };
        let launches: Vec<_> = batch
            .iter()
            .map(|launch| Launch {
                grid: launch.ready.grid(),
                earliest: launch.earliest,
                after: launch.after.clone(),
                checks: self.options.checks,
                large_l1: launch.ready.config.prefer_l1
                    && timed_gpu.timed.config.has_large_l1(launch.ready.shared_bytes()),
            })
            .collect();
        let mut watch = Watch { observer: self.observer.as_mut(), batch };
        let started = Instant::now();
        let outcome = timed_gpu.gpu.run(&launches, &mut self.memory, &mut watch, &options);
        let seconds = started.elapsed().as_secs_f64();
        let now = timed_gpu.gpu.cycle();
        let (reports, fault) = match outcome {
            Ok(reports) => (reports, None),
            Err(failure) => (failure.reports, Some((failure.launch, failure.fault))),
        };

        timed_gpu.kernel_cycles += under_way(&reports);
        let issued: u64 = reports.iter().map(|report| report.stats.warp_instructions).sum();
        let mut stopped = None;
        for (position, (BatchLaunch { ready, .. }, report)) in batch.iter().zip(reports).enumerate() {
            let faulted = fault.as_ref().is_some_and(|(launch, _)| *launch == position);
            let share = match issued {
                0 => 1.0 / batch.len() as f64,
                issued => report.stats.warp_instructions as f64 / issued as f64,
            };
            if report.stats.ending != Ending::Finished && stopped.is_none() {
                stopped = Some((position, report.stats.ending));
            }
            let complete = !faulted && report.stats.ending == Ending::Finished;
            ends[position] = complete.then_some(report.start_cycle + report.cycles);
            self.thread_instructions += report.stats.thread_instructions;
            let lines = self.lines_of(ready);
            let mut record = self.entry(ready, &lines, &report.stats, &report.stalls_per_pc, complete);
            record.host_seconds = seconds * share;
            record.timed = Some(TimedRecord::new(ready.program(), &lines, &record, report));
            self.ended.push(record);
        }
        if let Some((launch, fault)) = fault {
            let Some(BatchLaunch { ready, .. }) = batch.get(launch) else {
                return Err(Error::Internal(format!("a fault in launch {launch} of {}", batch.len())));
            };
            return Err(self.fault(ready, &fault));
        }
        match stopped {
            None => batch.iter().try_for_each(|launch| self.conclude(&launch.ready)),
            Some((position, ending)) => {
                let cycles = limit_cycles.filter(|_| max_cycle.is_some_and(|most| now >= most));
                Err(self.stopped(&batch[position].ready, ending, cycles))
            }
        }
    }
}

/// Cycles in which at least one kernel was under way.
fn under_way(reports: &[KernelReport]) -> u64 {
    let mut spans: Vec<_> =
        reports.iter().map(|report| (report.start_cycle, report.start_cycle + report.cycles)).collect();
    spans.sort_unstable();
    let (mut sum, mut seen) = (0, 0);
    for (start, end) in spans {
        sum += end.saturating_sub(start.max(seen));
        seen = seen.max(end);
    }
    sum
}

/// Forwards events of the model to the device's observer, with the device's own launch numbers.
struct Watch<'a> {
    observer: &'a mut dyn Observer,
    batch: &'a [BatchLaunch],
}

impl Services for Watch<'_> {
    fn print(&mut self, text: &[u8]) {
        self.observer.print(text);
    }
}

impl Monitor for Watch<'_> {
    fn tick(&mut self, progress: &Progress) {
        if let Some(BatchLaunch { ready, .. }) = self.batch.get(progress.launch) {
            self.observer.tick(ready.index, &ready.program().name, progress);
        }
    }
}
