// SPDX-License-Identifier: MIT OR Apache-2.0
//! The plainest machine with a time: SMs that issue one instruction a cycle, in epochs, each on a thread of its own if wanted.

use std::sync::Arc;

use warpwatt_exec::lanes::Level;
use warpwatt_exec::stepping::*;
use warpwatt_exec::{CheckOptions, Fault, FaultKind, Image, PcCount, SmLimits};
use warpwatt_isa::Op;
use warpwatt_memory::DeviceMemory;

use crate::common::*;

/// Epochs without an end after which a program is taken to hang.
const PATIENCE: u64 = 100_000;

#[derive(Clone, Copy)]
pub struct Timed {
    pub sms: u32,
    /// Cycles from merge to merge.
    pub epoch: u64,
    pub threads: bool,
    pub limits: SmLimits,
}

#[derive(Debug)]
pub struct TimedStats {
    pub counts: Vec<PcCount>,
    pub divergent_branches: u64,
    pub retries: u64,
    pub deferred: u64,
    pub stores: u64,
    pub atomics: u64,
}

struct Sm {
    id: u32,
    log: EpochLog,
    stepper: Stepper,
    slots: Vec<Resident>,
    /// Per slot and warp: it may not be stepped before the next merge.
    held: Vec<Vec<bool>>,
    deferred: Vec<(u64, usize, usize)>,
    turn: usize,
    retries: u64,
    fault: Option<Box<Fault>>,
}

impl AsMut<EpochLog> for Sm {
    fn as_mut(&mut self) -> &mut EpochLog {
        &mut self.log
    }
}

impl Sm {
    fn run_epoch(&mut self, prepared: &Prepared, memory: &DeviceMemory, from: u64, to: u64) {
        for cycle in from..to {
            // When no warp can be stepped, none can before the merge.
            if self.fault.is_some() || !self.issue(prepared, memory, cycle) {
                return;
            }
        }
    }

    /// Steps the next warp, in turn, that can be. False if there is none.
    fn issue(&mut self, prepared: &Prepared, memory: &DeviceMemory, cycle: u64) -> bool {
        let warps = prepared.warps_per_cta() as usize;
        let all = self.slots.len() * warps;
        for candidate in (0..all).map(|i| (self.turn + 1 + i) % all) {
            let (slot, warp) = (candidate / warps, candidate % warps);
            let cta = &mut self.slots[slot];
            if self.held[slot][warp] || cta.warp_pc(warp).is_none() {
                continue;
            }
            self.turn = candidate;
            let now = Now { cycle, nanoseconds: 2 * cycle };
            let outcome = self.stepper.step(prepared, memory, &mut self.log, cta, warp, now);
            match outcome.event {
                StepEvent::Retry => {
                    self.retries += 1;
                    self.held[slot][warp] = true;
                }
                StepEvent::Deferred => {
                    self.deferred.push((cycle, slot, warp));
                    self.held[slot][warp] = true;
                }
                event => self.follow(prepared, slot, event),
            }
            // What an atomic gives back is there after the merge.
            self.held[slot][warp] |= prepared.image().program().uops[outcome.pc as usize].op == Op::Atom;
            return true;
        }
        false
    }

    fn follow(&mut self, prepared: &Prepared, slot: usize, event: StepEvent) {
        let cta = &mut self.slots[slot];
        match event {
            StepEvent::Fault => self.fault = self.stepper.take_fault(),
            StepEvent::Exited | StepEvent::Barrier => {
                cta.open_barriers(prepared);
            }
            _ => {}
        }
    }
}

impl Timed {
    /// Executes what `Bench::run` would.
    pub fn run(&self, bench: &mut Bench, asm: &Asm) -> Result<TimedStats, Box<Fault>> {
        let params = bench.params();
        let image = Image::new(Arc::new(asm.program()), Level::detect()).unwrap();
        let bank3 = bench.bank3.clone();
        let limits = SmLimits { sms: self.sms, ..self.limits };
        let prepared = Prepared::new(&bench.launch(&image, &params, &bank3), limits)?;
        let mut sms: Vec<Sm> = (0..self.sms).map(|id| self.sm(&prepared, id)).collect();
        let (mut next, mut finished, mut cycle) = (0, 0, 0);
        let (mut stores, mut atomics, mut deferred) = (0, 0, 0);
        let mut busy = vec![vec![false; prepared.ctas_per_sm() as usize]; sms.len()];
        for epoch in 0.. {
            for (sm, busy) in sms.iter_mut().zip(&mut busy) {
                for (slot, busy) in busy.iter_mut().enumerate() {
                    if *busy && sm.slots[slot].is_done() {
                        *busy = false;
                        finished += 1;
                    }
                    if !*busy && next < prepared.ctas() {
                        let first = slot as u32 * prepared.warps_per_cta();
                        sm.slots[slot].start(&prepared, next, sm.id, first);
                        next += 1;
                        *busy = true;
                    }
                }
            }
            if finished == prepared.ctas() {
                break;
            }
            if epoch == PATIENCE {
                let slots = sms.iter().flat_map(|sm| &sm.slots).filter(|slot| !slot.is_done());
                let fault = stuck(&prepared, FaultKind::NoProgress, slots, format!("{epoch} epochs"));
                return Err(Box::new(fault));
            }
            let (memory, end) = (&bench.memory, cycle + self.epoch);
            if self.threads {
                std::thread::scope(|scope| {
                    for sm in &mut sms {
                        let prepared = &prepared;
                        scope.spawn(move || sm.run_epoch(prepared, memory, cycle, end));
                    }
                });
            } else {
                sms.iter_mut().for_each(|sm| sm.run_epoch(&prepared, memory, cycle, end));
            }
            cycle = end;
            // SAFETY: all entries are of this memory, and the slots are still what they were.
            let merged = unsafe { merge(&mut sms, &mut bench.memory, false) };
            stores += merged.stores;
            atomics += merged.atomics;
            let mut calls: Vec<_> = (0..sms.len())
                .flat_map(|sm| {
                    sms[sm].deferred.iter().map(move |&(cycle, slot, warp)| (cycle, sm, slot, warp))
                })
                .collect();
            calls.sort();
            for (_, sm, slot, warp) in calls {
                let Sm { stepper, slots, .. } = &mut sms[sm];
                deferred += 1;
                let (memory, printed) = (&mut bench.memory, &mut bench.printed);
                let outcome = stepper.execute_deferred(&prepared, memory, printed, &mut slots[slot], warp);
                sms[sm].follow(&prepared, slot, outcome.event);
            }
            for sm in &mut sms {
                sm.deferred.clear();
                sm.held.iter_mut().flatten().for_each(|held| *held = false);
                if let Some(fault) = sm.fault.take() {
                    return Err(fault);
                }
            }
            let slots = || sms.iter().flat_map(|sm| &sm.slots);
            let live: u32 = slots().map(Resident::live_threads).sum();
            if live != 0 && live == slots().map(Resident::waiting_at_grid).sum() {
                sms.iter_mut().flat_map(|sm| &mut sm.slots).for_each(Resident::wake_grid_barrier);
            }
        }
        let mut counts = vec![PcCount::default(); image.program().uops.len()];
        for sm in &sms {
            for (sum, count) in counts.iter_mut().zip(sm.stepper.counts()) {
                sum.issues += count.issues;
                sum.lanes += count.lanes;
            }
        }
        Ok(TimedStats {
            counts,
            divergent_branches: sms.iter().map(|sm| sm.stepper.divergent_branches()).sum(),
            retries: sms.iter().map(|sm| sm.retries).sum(),
            deferred,
            stores,
            atomics,
        })
    }

    fn sm(&self, prepared: &Prepared, id: u32) -> Sm {
        let (slots, warps) = (prepared.ctas_per_sm() as usize, prepared.warps_per_cta() as usize);
        Sm {
            id,
            log: EpochLog::new(),
            stepper: Stepper::new(prepared),
            slots: (0..slots).map(|_| Resident::new(prepared, CheckOptions::default())).collect(),
            held: vec![vec![false; warps]; slots],
            deferred: Vec::new(),
            turn: 0,
            retries: 0,
            fault: None,
        }
    }
}
