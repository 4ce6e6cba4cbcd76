// SPDX-License-Identifier: MIT OR Apache-2.0
//! A run: epochs in which actors run side by side, and what happens between them, in a fixed order.
//!
//! Between epochs: faults are looked for; stores, atomics and system calls of all SMs take effect in (cycle, SM, sequence) order;
//! packets and credits are exchanged; the work distributor dispatches blocks; samples are taken; time is moved on, over epochs in which no actor
//! has anything to do.

use std::sync::Arc;

use warpwatt_exec::stepping::{self, Prepared, StepEvent};
use warpwatt_exec::{Ending, Fault, FaultKind, GridStats, PcCount};
use warpwatt_memory::DeviceMemory;

use super::Gpu;
use super::counted::{Account, Counted, Report};
use super::dispatch::{Dispatcher, Standing};
use super::threads::{Cells, Next, rounds};
use super::watchdog::{Finding, Moment, Watch};
use crate::counters::Counters;
use crate::net::{AWAKE, exchange};
use crate::ops::{OpCounters, OpKind};
use crate::report::{Failure, KernelReport, Launch, Monitor, Path, PcFacts, Progress, RunOptions};
use crate::sm::{Kernel, KernelState, Kernels, SmContext, Stall, Stopped, Timing, Work};

/// Epochs between two checks of limits and progress.
const LOOK: u64 = 64;
/// Warp instructions of an epoch from which on it is worth waking all threads.
const BUSY: u64 = 48;

/// Why a run ends before its kernels do.
enum Stop {
    Fault { launch: usize, fault: Box<Fault> },
    Ending(Ending),
}

/// What SMs left to be done after an epoch.
#[derive(Default)]
struct Left {
    stopped: bool,
    /// The first and the last SM with stores or atomics.
    logged: Option<(usize, usize)>,
    /// System calls.
    deferred: bool,
    /// Warps wait for the merge or at the barrier of their grid.
    merging: bool,
    /// Blocks have ended.
    finished: bool,
}

pub(super) struct Run<'g, 'a> {
    gpu: &'g mut Gpu,
    memory: &'g mut DeviceMemory,
    pub kernels: Vec<Kernel<'a>>,
    /// The instructions of all kernels, if there are several.
    timing: Vec<Timing>,
    pub works: Cells<Work>,
    dispatcher: Dispatcher,
    /// Before which cycle each actor, SMs first, has nothing to do: those that have nothing to do before the end of an epoch are left alone.
    wakes: Vec<u64>,
    /// SMs that have something to do in the epoch, in order.
    ran: Vec<usize>,
    /// Instructions that each SM had issued by the last epoch that it ran in.
    issued_by: Vec<u64>,
    /// Lanes of some SM are at the barrier of their grid.
    at_grid_barrier: bool,
    accounts: Vec<Option<Account>>,
    /// SMs may have run since everything was counted.
    ran_since: bool,
    from: u64,
    to: u64,
    epoch: u64,
    step: bool,
    /// Techniques verify what they store.
    verifies: bool,
    epochs: u64,
    next_sample: u64,
    /// Thread instructions after which techniques at the memory controllers exchange data.
    tells_at: u64,
    issued: u64,
    /// Thread and warp instructions of earlier runs.
    before: u64,
    issued_before: u64,
    watch: Watch,
    /// A kernel has been under way since counters of time were brought up to date.
    under_way: bool,
    /// Everything counted before the run, and what was counted until the last kernel that ended.
    start: Arc<Counters>,
    busy: Arc<Counters>,
    /// Operations of kernels that have ended, by SM; empty as long as none has.
    ended_ops: Vec<OpCounters>,
}

/// The instructions of several kernels, one after the other. Those of a single one are where they are.
fn join_instructions(kernels: &[Kernel]) -> Vec<Timing> {
    match kernels {
        [_] => Vec::new(),
        several => several.iter().flat_map(|kernel| kernel.decoded.timing.iter().cloned()).collect(),
    }
}

/// The kernels as SMs see them.
fn kernels<'r, 'a>(all: &'r [Kernel<'a>], joined: &'r [Timing]) -> Kernels<'r, 'a> {
    let timing = match all {
        [only] => &only.decoded.timing,
        _ => joined,
    };
    Kernels { all, timing }
}

impl<'g, 'a> Run<'g, 'a> {
    pub fn new(
        gpu: &'g mut Gpu,
        launches: &[Launch<'a>],
        memory: &'g mut DeviceMemory,
        options: &RunOptions,
    ) -> Result<Run<'g, 'a>, Box<Failure>> {
        let mut kernels: Vec<Kernel> = Vec::new();
        for (launch, wanted) in launches.iter().enumerate() {
            let mut limits = Gpu::limits(&gpu.config);
            let large_l1 = wanted.large_l1;
            limits.shared_bytes = gpu.config.shared_bytes(large_l1);
            let unlimited = limits;
            let most = gpu.techniques.limit_blocks(&gpu.config, &wanted.shape());
            limits.ctas = limits.ctas.min(most.unwrap_or(u32::MAX));
            let prepared = Prepared::new(&wanted.grid, limits)
                .map_err(|fault| Box::new(Failure { fault: *fault, launch, reports: Vec::new() }))?;
            let decoded = gpu.decoded(prepared.image());
            let code = gpu.code(std::ptr::from_ref(prepared.image()).addr());
            let (threads, shared) = (prepared.threads_per_cta(), prepared.shared_bytes());
            let fit = unlimited.ctas_per_sm(threads, prepared.registers(), shared);
            let kept_out = fit.saturating_sub(prepared.ctas_per_sm()) * prepared.warps_per_cta();
            let first = kernels.iter().map(|kernel| kernel.decoded.timing.len() as u32).sum();
            let checks = wanted.checks;
            kernels.push(Kernel { prepared, decoded, checks, code, first, most, large_l1, kept_out });
        }
        let none = || (0..gpu.config.gpu.sms).map(|_| Work::default()).collect();
        let mut works: Cells<Work> = gpu.works.take().unwrap_or_else(none);
        for (work, spare) in works.as_mut_slice().iter_mut().zip(gpu.spare.as_mut_slice()) {
            work.shares.extend(kernels.iter().map(|kernel| KernelState::new(kernel, spare)));
        }
        let dispatcher = Dispatcher::new(&gpu.config, &kernels, launches, options.blocks);
        let epoch = u64::from(gpu.config.epoch());
        // Time that passed without kernels is none of theirs.
        gpu.boundary = gpu.boundary.max(gpu.now / epoch * epoch);
        let boundary = gpu.boundary;
        let (sms, partitions) = (gpu.config.gpu.sms as usize, gpu.config.gpu.partitions as usize);
        let mut run = Run {
            memory,
            wakes: vec![AWAKE; sms + partitions],
            ran: (0..sms).collect(),
            issued_by: vec![0; sms],
            at_grid_barrier: false,
            accounts: kernels.iter().map(|_| None).collect(),
            ran_since: false,
            timing: join_instructions(&kernels),
            kernels,
            works,
            dispatcher,
            from: boundary,
            to: boundary,
            epoch,
            step: options.step_every_cycle,
            verifies: gpu.techniques.are_verified(),
            epochs: 0,
            next_sample: options.interval.map_or(u64::MAX, |interval| gpu.now + interval.max(epoch)),
            tells_at: gpu.tells_at(),
            issued: 0,
            before: 0,
            issued_before: 0,
            watch: Watch::new(Moment { issued: 0, cycle: boundary }),
            under_way: false,
            start: Arc::clone(&gpu.nothing),
            busy: Arc::clone(&gpu.nothing),
            ended_ops: Vec::new(),
            gpu,
        };
        (run.before, run.issued_before) = (run.thread_instructions(), run.count_issued());
        run.issued = run.issued_before;
        run.settle(run.gpu.now);
        let counted = run.count();
        run.start = Arc::clone(&counted.all);
        run.launch(run.gpu.now, run.gpu.now + 1, Some(counted));
        Ok(run)
    }

    pub fn finish(
        mut self,
        monitor: &mut dyn Monitor,
        options: &RunOptions,
    ) -> Result<Vec<KernelReport>, Box<Failure>> {
        let actors = (self.gpu.config.gpu.sms + self.gpu.config.gpu.partitions) as usize;
        let mut stop = None;
        // The first round finds nothing to do: it only opens the first epoch.
        rounds(options.threads.max(1) as usize, &mut self, actors, Run::run_actor, |run| {
            match run.between(monitor, options) {
                Ok(next) => next,
                Err(why) => {
                    stop = Some(why);
                    Next::Stop
                }
            }
        });
        self.gpu.boundary = self.to;
        let ending = match &stop {
            None => Ending::Finished,
            Some(Stop::Ending(ending)) => *ending,
            Some(Stop::Fault { .. }) => Ending::Interrupted,
        };
        let reports = self.reports(ending);
        let sms = self.gpu.spare.as_mut_slice().iter_mut().zip(self.works.as_mut_slice());
        for (sm, (spare, work)) in sms.enumerate() {
            for (share, queue) in work.shares.drain(..).zip(&self.dispatcher.kernels) {
                spare.keep(share, queue.took[sm]);
            }
            work.restart();
        }
        self.note_changes();
        for kernel in self.kernels.drain(..) {
            self.gpu.keep_decoded(kernel.prepared.image(), kernel.decoded);
        }
        self.gpu.works = Some(self.works);
        match stop {
            Some(Stop::Fault { launch, fault }) => Err(Box::new(Failure { fault: *fault, launch, reports })),
            _ => Ok(reports),
        }
    }

    /// Runs one actor through the epoch, if it has something to do.
    #[inline(always)]
    fn run_actor(&self, actor: usize) {
        if self.wakes[actor] < self.to {
            self.run_awake(actor);
        }
    }

    #[inline(never)]
    fn run_awake(&self, actor: usize) {
        let (from, to, step) = (self.from, self.to, self.step);
        let sms = self.gpu.config.gpu.sms as usize;
        // SAFETY: each actor is run once a round, and touches only what is its own.
        unsafe {
            if actor < sms {
                let mut context = SmContext {
                    kernels: kernels(&self.kernels, &self.timing),
                    memory: self.memory,
                    inbox: self.gpu.replies_in.get(actor),
                    outbox: self.gpu.requests_out.get(actor),
                };
                let (sm, work) = (self.gpu.sms.get(actor), self.works.get(actor));
                sm.run(work, &mut context, (from, to), self.wakes[actor], step);
            } else {
                let index = actor - sms;
                let (inbox, outbox) = (self.gpu.requests_in.get(index), self.gpu.replies_out.get(index));
                self.gpu.partitions.get(index).run(from, to, self.memory, inbox, outbox, step);
            }
        }
    }

    /// All that happens between two epochs.
    fn between(&mut self, monitor: &mut dyn Monitor, options: &RunOptions) -> Result<Next, Stop> {
        let left = self.survey();
        if left.stopped || self.verifies {
            self.find_faults()?;
        }
        self.merge(&left, monitor)?;
        if left.finished || left.deferred {
            let ended = self.dispatcher.collect(self.works.as_mut_slice(), &self.ran);
            if !ended.is_empty() {
                self.close(&ended);
            }
        }
        let Gpu { requests_out, requests_in, replies_out, replies_in, meshes, .. } = &mut *self.gpu;
        let [request_mesh, reply_mesh] = meshes;
        let (sms, partitions) = self.wakes.split_at_mut(replies_in.as_mut_slice().len());
        exchange(
            (requests_out.as_mut_slice(), sms),
            (requests_in.as_mut_slice(), partitions),
            request_mesh.as_mut(),
            self.to,
        );
        exchange(
            (replies_out.as_mut_slice(), partitions),
            (replies_in.as_mut_slice(), sms),
            reply_mesh.as_mut(),
            self.to,
        );
        if self.dispatcher.is_done() {
            if self.is_drained() {
                return Ok(Next::Stop);
            }
        } else if self.to >= self.next_sample {
            self.sample(options);
        }
        if self.tells_at != u64::MAX && self.thread_instructions() >= self.tells_at {
            self.gpu.tell(self.to);
            self.tells_at = self.gpu.tells_at();
        }
        self.epochs += 1;
        let issued = self.count_issued();
        let often = options.max_thread_instructions.is_some() || self.watch.is_on();
        if self.epochs.is_multiple_of(LOOK) || often {
            self.look(monitor, options, issued)?;
        }
        if let Some(most) = options.max_cycle
            && self.to >= most
        {
            return Err(Stop::Ending(Ending::LimitReached));
        }
        self.move_on()?;
        let busy = issued - self.issued >= BUSY;
        self.issued = issued;
        Ok(if busy { Next::All } else { Next::Alone })
    }

    /// Looks at all SMs that ran in the epoch, once: most have left nothing.
    fn survey(&mut self) -> Left {
        let (sms, works) = (self.gpu.sms.as_mut_slice(), self.works.as_mut_slice());
        let mut left = Left::default();
        for &sm in &self.ran {
            let work = &works[sm];
            left.stopped |= work.stopped.is_some();
            left.deferred |= !work.deferred.is_empty();
            left.merging |= sms[sm].has_merging() | work.at_grid_barrier;
            left.finished |= !work.finished.is_empty();
            if !work.log.is_empty() {
                left.logged = Some((left.logged.map_or(sm, |(first, _)| first), sm));
            }
        }
        left
    }

    /// The first fault, by cycle and SM, ends the run.
    fn find_faults(&mut self) -> Result<(), Stop> {
        let works = self.works.as_mut_slice();
        let stopped = |sm: &usize| works[*sm].stopped.as_ref().map(|stopped| (stopped.cycle, *sm));
        let first = self.ran.iter().filter_map(stopped).min();
        match first.and_then(|(_, sm)| works[sm].stopped.take()) {
            Some(Stopped { kernel, fault, .. }) => Err(Stop::Fault { launch: kernel as usize, fault }),
            None if self.verifies => self.find_corruption(),
            None => Ok(()),
        }
    }

    /// What techniques found wrong in caches and memory, where no instruction is to be named.
    fn find_corruption(&mut self) -> Result<(), Stop> {
        let Some(detail) = self.gpu.corrupted() else { return Ok(()) };
        let kernels = &self.dispatcher.kernels;
        let launch = kernels.iter().position(|queue| matches!(queue.standing, Standing::Launched { .. }));
        let fault = Box::new(Fault::bare(FaultKind::Corrupted, 0, detail));
        Err(Stop::Fault { launch: launch.unwrap_or(0), fault })
    }

    /// Stores, atomics and system calls of the epoch take effect.
    fn merge(&mut self, left: &Left, monitor: &mut dyn Monitor) -> Result<(), Stop> {
        let works = self.works.as_mut_slice();
        if let Some((first, last)) = left.logged {
            // SAFETY: no SM runs; allocations that stores went to live on, since nothing frees during an epoch, and the registers that
            // atomics write belong to blocks that cannot end before the result is there.
            let outcome =
                unsafe { stepping::merge(&mut works[first..=last], self.memory, self.watch.is_on()) };
            self.watch.changed |= outcome.changed;
        }
        if left.deferred {
            self.execute_deferred(monitor)?;
        }
        if !left.merging && !left.deferred && !self.at_grid_barrier {
            return Ok(());
        }
        let (sms, works) = (self.gpu.sms.as_mut_slice(), self.works.as_mut_slice());
        for &sm in &self.ran {
            if sms[sm].has_merging() {
                sms[sm].merged(&mut works[sm], kernels(&self.kernels, &self.timing), self.to);
            }
            self.at_grid_barrier |= works[sm].at_grid_barrier;
        }
        if self.at_grid_barrier {
            self.open_grid_barriers();
            self.at_grid_barrier = self.works.as_mut_slice().iter().any(|work| work.at_grid_barrier);
        }
        Ok(())
    }

    /// System calls, in (cycle, SM, sequence) order.
    #[cold]
    fn execute_deferred(&mut self, monitor: &mut dyn Monitor) -> Result<(), Stop> {
        let mut all = Vec::new();
        for (sm, work) in self.works.as_mut_slice().iter_mut().enumerate() {
            all.extend(work.deferred.drain(..).map(|deferred| (deferred.cycle, sm, deferred.warp)));
        }
        all.sort_by_key(|&(cycle, sm, _)| (cycle, sm));
        for (_, sm, warp) in all {
            let (sms, works) = (self.gpu.sms.as_mut_slice(), self.works.as_mut_slice());
            let event = sms[sm].execute_deferred(
                &mut works[sm],
                kernels(&self.kernels, &self.timing),
                usize::from(warp),
                self.memory,
                monitor,
            );
            match event {
                StepEvent::Fault => {}
                StepEvent::Grid => works[sm].at_grid_barrier = true,
                _ => continue,
            }
            self.find_faults()?;
        }
        Ok(())
    }

    /// Opens the barrier of each grid whose threads are all there.
    #[cold]
    fn open_grid_barriers(&mut self) {
        let sms = self.gpu.config.gpu.sms as usize;
        for kernel in 0..self.kernels.len() {
            let queue = &self.dispatcher.kernels[kernel];
            let works = self.works.as_mut_slice();
            let residents = works.iter().flat_map(|work| &work.shares[kernel].residents);
            let (mut live, mut waiting) = (0, 0);
            for resident in residents.filter(|resident| !resident.is_done()) {
                live += u64::from(resident.live_threads());
                waiting += u64::from(resident.waiting_at_grid());
            }
            // Blocks that have not started count as not there.
            if queue.given != queue.ctas || live == 0 || waiting != live {
                continue;
            }
            if works.iter().any(|work| work.starts.iter().any(|start| start.kernel as usize == kernel)) {
                continue;
            }
            for (sm, work) in self.gpu.sms.as_mut_slice().iter_mut().zip(works) {
                for resident in &mut work.shares[kernel].residents {
                    resident.wake_grid_barrier();
                }
                work.at_grid_barrier = false;
                work.progress += 1;
                let kernels = kernels(&self.kernels, &self.timing);
                sm.grid_barrier_opened(work, kernels, kernel as u32, self.to);
            }
            self.wakes[..sms].fill(AWAKE);
        }
    }

    /// Kernels ended: their counters are taken, and those that waited for them are launched.
    fn close(&mut self, ended: &[usize]) {
        let end = ended.iter().filter_map(|&kernel| match self.dispatcher.kernels[kernel].standing {
            Standing::Ended { end, .. } => Some(end),
            _ => None,
        });
        let end = end.max().unwrap_or(self.to);
        self.gpu.now = self.gpu.now.max(end);
        self.settle(end);
        // SMs at work on other kernels have gone through the epoch to its end, whether or not they skipped cycles of it.
        for (sm, work) in self.gpu.sms.as_mut_slice().iter_mut().zip(self.works.as_mut_slice()) {
            if sm.has_warps() {
                sm.settle(work, self.to);
            }
        }
        for &kernel in ended {
            self.note_ops(kernel);
        }
        let counted = self.count();
        self.busy = Arc::new(counted.all.since(&self.start));
        for &kernel in ended {
            self.close_account(kernel, end, &counted);
        }
        self.launch(end, end + 1, Some(counted));
    }

    /// Everything counted so far. Operations follow from what was issued by kernels that run or have ended.
    fn count(&mut self) -> Counted {
        let mut ops = self.ended_ops.clone();
        for (kernel, queue) in self.dispatcher.kernels.iter().enumerate() {
            if matches!(queue.standing, Standing::Launched { .. }) {
                add_ops(&mut ops, &self.kernels[kernel], kernel, self.works.as_mut_slice(), &queue.took);
            }
        }
        self.note_changes();
        self.gpu.counted.read(self.gpu.sms.as_mut_slice());
        let mut all = Arc::clone(&self.gpu.counted.sum);
        // The sum stays as it is: this makes a copy.
        let counters = Arc::make_mut(&mut all);
        self.gpu.count_outside_of_sms(counters);
        for ops in &ops {
            counters.ops.add(ops);
        }
        Counted { all, sms: self.gpu.counted.sms.clone(), ops }
    }

    /// SMs that got blocks in this run may have counted something in epochs since everything was counted.
    fn note_changes(&mut self) {
        if !std::mem::take(&mut self.ran_since) {
            return;
        }
        for queue in &self.dispatcher.kernels {
            for (sm, _) in queue.took.iter().enumerate().filter(|(_, took)| **took) {
                self.gpu.counted.changes(sm);
            }
        }
    }

    /// A kernel ended: its operations are final.
    fn note_ops(&mut self, kernel: usize) {
        let took = &self.dispatcher.kernels[kernel].took;
        add_ops(&mut self.ended_ops, &self.kernels[kernel], kernel, self.works.as_mut_slice(), took);
    }

    fn close_account(&mut self, kernel: usize, end: u64, counted: &Counted) {
        let Some(account) = &mut self.accounts[kernel] else { return };
        if !account.series.is_empty() || self.next_sample != u64::MAX {
            account.sample(end, &counted.all);
        }
        account.close(counted, (&self.start, &self.busy));
    }

    /// Launches kernels whose turn it is. `counted`: everything counted so far, if that is known.
    fn launch(&mut self, now: u64, until: u64, mut counted: Option<Counted>) {
        for kernel in self.dispatcher.launch(now, until) {
            let start = counted.take().unwrap_or_else(|| self.count());
            self.accounts[kernel] = Some(Account::new(start));
            let sms = self.gpu.sms.as_mut_slice();
            for (index, sm) in sms.iter_mut().enumerate() {
                sm.new_kernel(self.to, self.kernels[kernel].large_l1);
                if !sm.is_idle() {
                    // Lines that an earlier kernel changed are written back.
                    self.gpu.counted.changes(index);
                }
            }
            self.wakes[..sms.len()].fill(AWAKE);
        }
        let kernels = &self.dispatcher.kernels;
        self.under_way = kernels.iter().any(|queue| matches!(queue.standing, Standing::Launched { .. }));
    }

    /// Brings counters up to date that grow with time.
    fn settle(&mut self, now: u64) {
        for (sm, work) in self.gpu.sms.as_mut_slice().iter_mut().zip(self.works.as_mut_slice()) {
            sm.settle(work, now);
        }
        for partition in self.gpu.partitions.as_mut_slice() {
            partition.settle(self.to, self.under_way);
        }
    }

    fn sample(&mut self, options: &RunOptions) {
        let interval = options.interval.unwrap_or(u64::MAX).max(self.epoch);
        while self.next_sample <= self.to {
            self.next_sample += interval;
        }
        self.settle(self.to);
        let counters = self.count().all;
        for account in self.accounts.iter_mut().flatten().filter(|account| account.report.is_none()) {
            account.sample(self.to, &counters);
        }
    }

    /// Instructions issued so far, on all SMs.
    fn count_issued(&mut self) -> u64 {
        let mut issued = self.issued;
        for &sm in &self.ran {
            let now = self.gpu.sms.as_mut_slice()[sm].issued();
            issued += now - std::mem::replace(&mut self.issued_by[sm], now);
        }
        issued
    }

    fn thread_instructions(&mut self) -> u64 {
        self.gpu.sms.as_mut_slice().iter().map(|sm| sm.thread_instructions()).sum()
    }

    /// Limits, interrupts, signs of life, progress.
    fn look(&mut self, monitor: &mut dyn Monitor, options: &RunOptions, issued: u64) -> Result<(), Stop> {
        if options.interrupt.is_some_and(|flag| flag.load(std::sync::atomic::Ordering::Relaxed)) {
            return Err(Stop::Ending(Ending::Interrupted));
        }
        let thread_instructions = self.thread_instructions();
        if options.max_thread_instructions.is_some_and(|most| thread_instructions - self.before >= most) {
            return Err(Stop::Ending(Ending::LimitReached));
        }
        let kernels = &self.dispatcher.kernels;
        let launch = kernels.iter().position(|queue| !matches!(queue.standing, Standing::Ended { .. }));
        let launch = launch.unwrap_or(kernels.len() - 1);
        let queue = &kernels[launch];
        let start_cycle = match queue.standing {
            Standing::Launched { at, .. } | Standing::Ended { at, .. } => at,
            Standing::Queued => self.to,
        };
        monitor.tick(&Progress {
            launch,
            ctas_done: queue.done,
            ctas: queue.ctas,
            cycle: self.to,
            start_cycle,
            warp_instructions: issued - self.issued_before,
            thread_instructions: thread_instructions - self.before,
        });
        let sms = self.gpu.sms.as_mut_slice();
        // A kernel that starts later may bring what those that run wait for.
        let awaits_kernels = self.dispatcher.next(self.to) != u64::MAX;
        let now = Moment { issued: issued - self.issued_before, cycle: self.to };
        let finding = self.watch.look(sms, self.works.as_mut_slice(), &self.kernels, now, options.watchdog);
        match finding {
            Some(Finding::Stuck { .. }) if awaits_kernels => Ok(()),
            Some(Finding::Stuck { launch, fault }) => Err(Stop::Fault { launch, fault }),
            Some(Finding::Ending(ending)) => Err(Stop::Ending(ending)),
            None => Ok(()),
        }
    }

    /// Chooses the next epoch: the following one, or the first in which an actor is busy.
    fn move_on(&mut self) -> Result<(), Stop> {
        let start = self.to;
        let mut next = self.dispatcher.next(start);
        let Gpu { sms, partitions, requests_out, requests_in, replies_in, .. } = &mut *self.gpu;
        let (sms, works) = (sms.as_mut_slice(), self.works.as_mut_slice());
        let (inboxes, outboxes) = (replies_in.as_mut_slice(), requests_out.as_mut_slice());
        let (sm_wakes, partition_wakes) = self.wakes.split_at_mut(self.issued_by.len());
        // For actors that slept through the epoch and got nothing, it still holds.
        for (sm, wake) in sm_wakes.iter_mut().enumerate() {
            if *wake < start {
                *wake = sms[sm].wake(&works[sm], &inboxes[sm], &outboxes[sm], start);
            }
            next = next.min(*wake);
        }
        let (partitions, inboxes) = (partitions.as_mut_slice(), requests_in.as_mut_slice());
        for (partition, wake) in partition_wakes.iter_mut().enumerate() {
            if *wake < start {
                *wake = partitions[partition].next().min(inboxes[partition].next());
            }
            next = next.min(*wake);
        }
        if self.step {
            self.wakes.fill(AWAKE);
        }
        if next == u64::MAX {
            return Err(self.deadlock());
        }
        let skipped = if self.step { 0 } else { next.saturating_sub(start) / self.epoch * self.epoch };
        self.from = start + skipped;
        self.to = self.from;
        if self.dispatcher.is_due(self.from + self.epoch) {
            self.settle(self.from);
            self.launch(self.from, self.from + self.epoch, None);
        }
        self.to = self.from + self.epoch;
        self.dispatcher.dispatch(self.from, self.to, self.works.as_mut_slice(), &mut self.wakes);
        // Without a branch for each: the next one takes the place of one that sleeps.
        let wakes = &self.wakes[..self.issued_by.len()];
        self.ran.resize(wakes.len() + 1, 0);
        let mut awake = 0;
        for (sm, wake) in wakes.iter().enumerate() {
            self.ran[awake] = sm;
            awake += usize::from(*wake < self.to);
        }
        self.ran.truncate(awake);
        self.ran_since = true;
        Ok(())
    }

    /// Nothing will ever happen again.
    #[cold]
    fn deadlock(&mut self) -> Stop {
        let works = self.works.as_mut_slice();
        let is_live = |kernel: usize| {
            let mut residents = works.iter().flat_map(|work| &work.shares[kernel].residents);
            residents.any(|resident| !resident.is_done())
        };
        let launch = (0..self.kernels.len()).find(|&kernel| is_live(kernel)).unwrap_or(0);
        let residents = works.iter().flat_map(|work| &work.shares[launch].residents);
        let mut detail = "all warps wait, and nothing is under way that could let them go on".to_owned();
        let units = self.gpu.sms.as_mut_slice().iter().flat_map(|sm| sm.waiting());
        let units: Vec<String> = units
            .chain(self.gpu.partitions.as_mut_slice().iter().flat_map(|partition| partition.waiting()))
            .collect();
        if !units.is_empty() {
            detail += &format!("; waiting: {}", units.join(", "));
        }
        let live = residents.filter(|resident| !resident.is_done());
        let fault = stepping::stuck(&self.kernels[launch].prepared, FaultKind::BarrierDeadlock, live, detail);
        Stop::Fault { launch, fault: Box::new(fault) }
    }

    /// All kernels have ended and nothing is under way any more.
    fn is_drained(&mut self) -> bool {
        self.gpu.sms.as_mut_slice().iter().all(|sm| sm.is_idle())
            && self.gpu.partitions.as_mut_slice().iter().all(|partition| partition.is_idle())
            && self.gpu.replies_in.as_mut_slice().iter().all(|inbox| inbox.next() == u64::MAX)
            && self.gpu.requests_in.as_mut_slice().iter().all(|inbox| inbox.next() == u64::MAX)
    }

    fn reports(&mut self, ending: Ending) -> Vec<KernelReport> {
        if ending != Ending::Finished {
            // Kernels that run are cut off here.
            self.gpu.now = self.gpu.now.max(self.to);
            self.settle(self.to);
            let counted = self.count();
            self.busy = Arc::new(counted.all.since(&self.start));
            for kernel in 0..self.kernels.len() {
                if matches!(self.dispatcher.kernels[kernel].standing, Standing::Launched { .. }) {
                    self.close_account(kernel, self.to, &counted);
                }
            }
        }
        self.gpu.busy.add(&self.busy);
        (0..self.kernels.len()).map(|kernel| self.report(kernel, ending)).collect()
    }

    fn report(&mut self, kernel: usize, ending: Ending) -> KernelReport {
        let prepared = &self.kernels[kernel].prepared;
        let queue = &self.dispatcher.kernels[kernel];
        let (start_cycle, end, ended) = match queue.standing {
            Standing::Ended { at, end } => (at, end, true),
            Standing::Launched { at, .. } => (at, self.to.max(at), false),
            Standing::Queued => (self.to, self.to, false),
        };
        let len = self.kernels[kernel].decoded.uops();
        let mut per_pc = vec![PcCount::default(); len];
        let mut stalls_per_pc = vec![[0; Stall::COUNT]; len];
        let uops = &prepared.image().program().uops;
        let timing = &self.kernels[kernel].decoded.timing;
        let mut facts_per_pc: Vec<_> = uops
            .iter()
            .zip(timing)
            .map(|(uop, timing)| PcFacts {
                kind: OpKind::of(uop),
                unit: timing.unit,
                path: Path::of(uop),
                reads: timing.sources,
                writes: timing.dst_words,
                constants: timing.constants,
                lines: 0,
            })
            .collect();
        let (mut divergent_branches, mut barriers) = (0, 0);
        let works = self.works.as_mut_slice().iter().zip(&queue.took);
        for (work, _) in works.filter(|(_, took)| **took) {
            let share = &work.shares[kernel];
            for (sum, count) in per_pc.iter_mut().zip(share.stepper.counts()) {
                sum.issues += count.issues;
                sum.lanes += count.lanes;
            }
            let stalls = stalls_per_pc.as_flattened_mut().iter_mut().zip(share.stalls.as_flattened());
            stalls.for_each(|(sum, count)| *sum += count);
            for (facts, lines) in facts_per_pc.iter_mut().zip(&share.lines) {
                facts.lines += lines;
            }
            divergent_branches += share.stepper.divergent_branches();
            barriers += share.barriers;
        }
        let sms = u64::from(self.gpu.config.gpu.sms);
        let stats = GridStats {
            ending: if ended { Ending::Finished } else { ending },
            warp_instructions: per_pc.iter().map(|count| count.issues).sum(),
            thread_instructions: per_pc.iter().map(|count| count.lanes).sum(),
            per_pc,
            barriers,
            divergent_branches,
            ctas_finished: queue.done,
            ctas: queue.ctas,
            warps: queue.ctas * u64::from(prepared.warps_per_cta()),
            resident_ctas: (u64::from(prepared.ctas_per_sm()) * sms).min(queue.ctas),
        };
        let (counters, per_sm, ops_per_sm, series) = match self.accounts[kernel].take() {
            Some(account) => {
                let Report { all, per_sm, ops } = account.report.unwrap_or_default();
                (all, per_sm, ops, account.series)
            }
            None => Default::default(),
        };
        let blocks = std::mem::take(&mut self.dispatcher.kernels[kernel].spans);
        KernelReport {
            stats,
            start_cycle,
            cycles: end - start_cycle,
            counters,
            per_sm,
            ops_per_sm,
            stalls_per_pc,
            facts_per_pc,
            series,
            blocks,
        }
    }
}

/// Adds what a kernel has issued so far on each SM that took a block of it.
fn add_ops(ops: &mut Vec<OpCounters>, kernel: &Kernel, index: usize, works: &mut [Work], took: &[bool]) {
    ops.resize(took.len(), OpCounters::default());
    let program = kernel.prepared.image().program();
    for ((ops, work), _) in ops.iter_mut().zip(works).zip(took).filter(|(_, took)| **took) {
        ops.add_program(program, work.shares[index].stepper.counts());
    }
}
