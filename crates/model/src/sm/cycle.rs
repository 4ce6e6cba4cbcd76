// SPDX-License-Identifier: MIT OR Apache-2.0
//! The cycle loop: what happens in a cycle, in which order, and which cycle is the next one in which something does.

use warpwatt_base::opaque;
use warpwatt_base::wheel::FEW;
use warpwatt_memory::DeviceMemory;

use super::event::Event;
use super::fetch::Fetched;
use super::mem::Done;
use super::warp::gate;
use super::work::{Kernels, Turn, Work};
use super::{CollectorPool, Slots, Sm};
use crate::net::{Client, Inbox, Outbox, Packet};

/// What an epoch lends an SM beside its part of the run.
pub struct SmContext<'e, 'a> {
    pub kernels: Kernels<'e, 'a>,
    pub memory: &'e DeviceMemory,
    pub inbox: &'e mut Inbox,
    pub outbox: &'e mut Outbox,
}

/// All that an epoch lends an SM.
pub(super) struct Epoch<'e, 'a> {
    pub turn: Turn<'e, 'a>,
    pub memory: &'e DeviceMemory,
    pub inbox: &'e mut Inbox,
    pub outbox: &'e mut Outbox,
    /// The next cycle in which a block or a packet comes from another actor.
    pub outside: u64,
}

impl Sm {
    /// Runs from cycle `from` to before `to`. With `step`, no cycle is skipped. `wake` is the first cycle in which something happens, if it is known: it lies before `from`
    /// otherwise.
    pub fn run(
        &mut self,
        work: &mut Work,
        context: &mut SmContext,
        (from, to): (u64, u64),
        wake: u64,
        step: bool,
    ) {
        if work.stopped.is_some() {
            return;
        }
        let start = match step {
            true => from,
            false if wake >= from => wake,
            false => self.wake(work, context.inbox, context.outbox, from),
        };
        debug_assert!(step || start == self.wake(work, context.inbox, context.outbox, from));
        if start >= to {
            self.next = start;
            return;
        }
        self.borrow_instructions(context.kernels);
        self.fetch.alarm = 0;
        let turn = Turn { now: start, end: to, kernels: context.kernels, work };
        let SmContext { memory, inbox, outbox, .. } = context;
        let outside = inbox.next().min(turn.work.next_start());
        let mut epoch = Epoch { turn, memory, inbox, outbox, outside };
        if self.resident_warps != 0 {
            self.charge_until(start);
        }
        match (self.spec.bit_instructions, self.has_techniques()) {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the host was asked whether it has them.
            (true, false) if !step => unsafe { self.run_with_bit_instructions::<false>(&mut epoch, false) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            (true, _) => unsafe { self.run_with_bit_instructions::<true>(&mut epoch, step) },
            _ => self.run_until_end::<true>(&mut epoch, step),
        }
    }

    /// Whether a technique acts in the register file or in the instruction cache.
    fn has_techniques(&self) -> bool {
        self.rf.has_sites() || self.fetch.data.has_sites()
    }

    /// `run_until_end` compiled with the host's bit and vector instructions: sets of warps and calendars are words.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    unsafe fn run_with_bit_instructions<const TECHNIQUES: bool>(&mut self, epoch: &mut Epoch, step: bool) {
        self.run_until_end::<TECHNIQUES>(epoch, step);
    }

    /// Cycle after cycle. Without `TECHNIQUES`, none of them is asked: there must be none, and cycles are skipped.
    #[inline(always)]
    fn run_until_end<const TECHNIQUES: bool>(&mut self, epoch: &mut Epoch, step: bool) {
        let step = TECHNIQUES && step;
        while epoch.turn.now < epoch.turn.end {
            let (sm, epoch) = (opaque(self), opaque(epoch));
            epoch.turn.now = sm.cycle::<TECHNIQUES>(epoch, step);
        }
        self.tally.accounted = self.tally.accounted.max(self.schedulers.accounted());
        self.next = epoch.turn.now;
    }

    /// The first cycle from `from` on in which something happens, given what has come in since the last epoch.
    pub fn wake(&self, work: &Work, inbox: &Inbox, outbox: &Outbox, from: u64) -> u64 {
        let mut next = self.next.min(inbox.next()).min(work.next_start()).min(self.mem.second.next());
        if next > from {
            next = next.min(self.mem.next(from, outbox)).min(self.fetch.next(from, outbox));
        }
        next.max(from)
    }

    /// One cycle, and those behind it in which nothing happens but events and arrivals, after which no warp can issue or be fetched for. Gives the next cycle.
    #[inline(always)]
    fn cycle<const TECHNIQUES: bool>(&mut self, epoch: &mut Epoch, step: bool) -> u64 {
        let now = epoch.turn.now;
        self.come_to(now);
        if self.fetch.alarm <= now {
            self.fetch.alarm = 0;
            if epoch.outside <= now {
                match TECHNIQUES {
                    #[cfg(target_arch = "x86_64")]
                    // SAFETY: the loop without techniques runs only on hosts with these instructions.
                    false => unsafe { self.take_from_outside_plainly(epoch) },
                    _ => self.take_from_outside(epoch),
                }
            }
            if self.mem.second.next() <= now {
                self.take_from_second_level(&mut epoch.turn);
            }
        }
        loop {
            let (sm, epoch) = (opaque(self), opaque(epoch));
            sm.take_instructions::<TECHNIQUES>(&mut epoch.turn);
            sm.take_events::<TECHNIQUES>(epoch);
            if sm.fetch.alarm == 0 {
                sm.let_memory_work(epoch);
            }
            // If no warp can issue or be fetched for, nothing changes until the next event.
            if sm.fetch.has_work::<TECHNIQUES>() || sm.schedulers.any_ready() {
                break;
            }
            if sm.fetch.alarm == 0 {
                sm.look_ahead(epoch);
            }
            if step {
                return epoch.turn.now + 1;
            }
            let next = sm.next_event().min(sm.fetch.next_arrival(&sm.warps)).max(epoch.turn.now + 1);
            if next >= sm.fetch.alarm.min(epoch.turn.end) {
                return sm.pass_beside_memory(epoch, next);
            }
            epoch.turn.now = next;
            sm.come_to(next);
        }
        let issued = self.issue_all::<TECHNIQUES>(epoch);
        if self.fetch_one::<TECHNIQUES>(&epoch.turn) && self.fetch.ports > 1 {
            self.fetch_more(&epoch.turn);
        }
        if self.fetch.alarm <= epoch.turn.now {
            self.look_ahead(epoch);
        }
        // A warp that is ready now mostly still is in the next cycle, or another one.
        let goes_on = issued && self.schedulers.any_ready() || step;
        if goes_on { epoch.turn.now + 1 } else { self.next_cycle::<TECHNIQUES>(epoch) }
    }

    /// Hands requests of instructions to the network, as the last one in a cycle that does, and finds out when anything but events and arrivals happens next.
    #[inline(always)]
    fn look_ahead(&mut self, epoch: &mut Epoch) {
        let soon = epoch.turn.now + 1;
        let mut others = epoch.outside.min(self.mem.second.next());
        if self.fetch.has_requests() {
            self.fetch.send(epoch.turn.now, epoch.outbox);
            others = others.min(self.fetch.next(soon, epoch.outbox));
        }
        self.others = others.max(soon);
        self.memory = self.mem.next(soon, epoch.outbox);
        self.fetch.alarm = self.others.min(self.memory);
    }

    /// The memory unit has something to do in a cycle, if not before.
    #[inline(always)]
    pub(super) fn expect_memory(&mut self, at: u64) {
        self.memory = self.memory.min(at);
        self.fetch.alarm = self.fetch.alarm.min(at);
    }

    /// Time passes in those parts that have a present of their own.
    #[inline(always)]
    fn come_to(&mut self, now: u64) {
        self.rf.advance(now);
        if self.resident_warps != 0 {
            self.schedulers.begin(now);
        }
    }

    /// Handles the events of the present cycle.
    #[inline(always)]
    fn take_events<const TECHNIQUES: bool>(&mut self, epoch: &mut Epoch) {
        let events = self.events.take(epoch.turn.now);
        if events == 0 {
            return;
        }
        let first = opaque(self).events.first(epoch.turn.now);
        let mut number = 0;
        loop {
            let (sm, epoch) = (opaque(self), opaque(epoch));
            sm.handle::<TECHNIQUES>(&mut epoch.turn, first[number % FEW]);
            number += 1;
            if number == events {
                break;
            }
            if number == FEW {
                return sm.handle_rest(&mut epoch.turn, events);
            }
        }
    }

    /// Steps the memory unit if it has something to do in the present cycle.
    #[inline(always)]
    fn let_memory_work(&mut self, epoch: &mut Epoch) {
        let now = epoch.turn.now;
        if self.stepped == now || self.mem.next(now, epoch.outbox) <= now {
            if self.stepped != now {
                self.mem.step(now, epoch.outbox, &mut self.done);
            }
            match *self.done.as_slice() {
                [] => {}
                // Mostly a single result that will be there later.
                [Done { at, token }] if at > now => {
                    self.events.push(at, Event::Data { op: token });
                    self.done.clear();
                }
                _ => self.follow_memory(&mut epoch.turn),
            }
        }
    }

    /// What the second-level cache answers by now.
    #[cold]
    #[inline(never)]
    fn take_from_second_level(&mut self, turn: &mut Turn) {
        while self.mem.second.next() <= turn.now
            && let Some(packet) = self.mem.second.take(turn.now)
        {
            self.answered(turn, &packet);
        }
    }

    /// Events of a cycle that has more than a few.
    #[cold]
    #[inline(never)]
    fn handle_rest(&mut self, turn: &mut Turn, events: usize) {
        for number in FEW..events {
            let event = self.events.rest(number);
            self.handle::<true>(turn, event);
        }
        self.events.clear_rest();
    }

    /// Blocks and packets that have come from other actors by now.
    #[cold]
    #[inline(never)]
    fn take_from_outside(&mut self, epoch: &mut Epoch) {
        let now = epoch.turn.now;
        if epoch.turn.work.next_start() <= now {
            self.start_blocks(&mut epoch.turn);
        }
        while let Some(packet) = epoch.inbox.peek(now) {
            self.answered_from_outside(&mut epoch.turn, packet);
            epoch.inbox.drop_next(now);
        }
        epoch.outside = epoch.inbox.next().min(epoch.turn.work.next_start());
    }

    /// [`Sm::take_from_outside`] where no technique acts: the way of a line from the network to the result of the only instruction that waits for it.
    #[cold]
    #[inline(never)]
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    fn take_from_outside_plainly(&mut self, epoch: &mut Epoch) {
        let now = epoch.turn.now;
        if epoch.turn.work.next_start() <= now {
            self.start_blocks(&mut epoch.turn);
        }
        loop {
            // Mostly it is a single packet: nothing is computed ahead of the loop.
            let (sm, epoch) = (opaque(self), opaque(epoch));
            let Some(packet) = epoch.inbox.peek(now) else { break };
            if packet.client == Client::L1d {
                match sm.mem.fill_here(now, packet, Client::L1d, &mut sm.done) {
                    Some(Done { at, token }) if at <= now => sm.data_here::<false>(&mut epoch.turn, token),
                    Some(Done { at, token }) => sm.events.push(at, Event::Data { op: token }),
                    None if sm.done.is_empty() => {}
                    None => sm.follow_memory(&mut epoch.turn),
                }
                if sm.mem.has_woken() {
                    sm.follow_memory(&mut epoch.turn);
                }
            } else {
                sm.answered_from_outside(&mut epoch.turn, packet);
            }
            epoch.inbox.drop_next(now);
        }
        epoch.outside = epoch.inbox.next().min(epoch.turn.work.next_start());
    }

    /// A reply from L2.
    #[inline(never)]
    fn answered_from_outside(&mut self, turn: &mut Turn, packet: &Packet) {
        if matches!(packet.client, Client::Instruction | Client::Constant) {
            self.mem.second.fill(packet);
        }
        self.answered(turn, packet);
    }

    /// Starts the next block, which is due, and all others that start by now.
    #[cold]
    #[inline(never)]
    fn start_blocks(&mut self, turn: &mut Turn) {
        while let Some(start) = turn.work.starts.pop_front() {
            self.start_block(turn, start);
            if turn.work.next_start() > turn.now {
                break;
            }
        }
    }

    /// A reply from L2, or from the second-level cache.
    #[inline(always)]
    fn answered(&mut self, turn: &mut Turn, packet: &Packet) {
        if packet.client == Client::Instruction {
            self.fetch.fill(turn.now, packet);
        } else {
            self.mem.fill(turn.now, packet, &mut self.done);
            if !self.done.is_empty() || self.mem.has_woken() {
                self.follow_memory(turn);
            }
        }
    }

    /// Results and wake-ups that the memory unit announced.
    #[cold]
    #[inline(never)]
    fn follow_memory(&mut self, turn: &mut Turn) {
        for i in 0..self.done.len() {
            let Done { at, token } = self.done[i];
            if at <= turn.now {
                self.data_now(turn, token);
            } else {
                self.events.push(at, Event::Data { op: token });
            }
        }
        self.done.clear();
        for slot in Slots(self.mem.take_woken()) {
            self.warps[slot].gates &= !gate::CONSTANT;
            self.evaluate(turn, slot);
        }
        for slot in Slots(self.waits.stores & self.mem.take_acknowledged()) {
            if self.mem.pending_writes(slot.number()) == 0 {
                self.stores_done(turn, slot);
            }
        }
    }

    /// The next cycle in which something happens, but for what the memory unit does alone before.
    #[inline(always)]
    fn next_cycle<const TECHNIQUES: bool>(&mut self, epoch: &mut Epoch) -> u64 {
        let soon = epoch.turn.now + 1;
        if self.fetch.has_work::<TECHNIQUES>() {
            return soon;
        }
        let mut next = self.next_event().min(self.fetch.next_arrival(&self.warps)).max(soon);
        if self.schedulers.any_ready() {
            next = next.min(self.next_collector(epoch.turn.now));
        }
        if next <= soon {
            return soon;
        }
        self.pass_beside_memory(epoch, next)
    }

    /// The cycle of the next event.
    #[inline(always)]
    fn next_event(&self) -> u64 {
        self.events.next().unwrap_or(u64::MAX)
    }

    /// The next cycle in which something happens, given that of the next event or arrival. What the memory unit does alone up to then is done.
    #[inline(always)]
    fn pass_beside_memory(&mut self, epoch: &mut Epoch, next: u64) -> u64 {
        if next < self.fetch.alarm {
            return next;
        }
        let next = next.min(self.others);
        if self.memory < next.min(epoch.turn.end) && !self.fetch.has_requests() {
            return self.step_memory(epoch, self.memory, next);
        }
        next.min(self.memory)
    }

    /// When a ready warp can issue, as far as collectors are concerned.
    #[cold]
    #[inline(never)]
    fn next_collector(&self, now: u64) -> u64 {
        let soon = now + 1;
        let mut wanted = self.schedulers.wanted();
        if wanted & !self.full_pools() != 0 {
            return soon;
        }
        let mut next = u64::MAX;
        while wanted != 0 {
            let pool = CollectorPool::ALL[wanted.trailing_zeros() as usize % CollectorPool::COUNT];
            wanted &= wanted - 1;
            // Memory instructions wait for a collector only if all units share them, and for the memory unit, which has events of its own.
            if pool != CollectorPool::Memory || self.rf.is_full(pool) {
                next = next.min(self.rf.free_at(pool, now).max(soon));
            }
        }
        next
    }

    /// Fetches for as many warps as there are further ports.
    #[cold]
    #[inline(never)]
    fn fetch_more(&mut self, turn: &Turn) {
        for _ in 1..self.fetch.ports {
            if !self.fetch_one::<true>(turn) {
                break;
            }
        }
    }

    /// Fetches for one warp. False if no warp has room for instructions.
    #[inline(always)]
    fn fetch_one<const TECHNIQUES: bool>(&mut self, turn: &Turn) -> bool {
        let Some(slot) = self.fetch.pick::<TECHNIQUES>() else { return false };
        let warp = &mut self.warps[slot];
        debug_assert!(warp.pc().is_some(), "nothing is fetched for a warp without a next instruction");
        let from = warp.next.wrapping_add(u32::from(warp.fetched));
        let end = warp.end;
        if from >= end {
            // There is nothing behind the last instruction; the executor reports a warp that gets there.
            self.fetch.need &= !slot.bit();
            if warp.next >= end {
                warp.fetched += 1 - warp.buffered;
                warp.buffered = 1;
                self.evaluate(turn, slot);
            }
            return true;
        }
        let count = turn.timing(warp, from).brings;
        if let Fetched::Hit { count, ready } =
            self.fetch.access::<TECHNIQUES>(turn.now, slot, from, (count, end), &mut self.mem.second)
        {
            self.fetch.announce::<TECHNIQUES>(ready, slot, warp, count);
        }
        true
    }
}
