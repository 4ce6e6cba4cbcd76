// SPDX-License-Identifier: MIT OR Apache-2.0
//! A cycle of the load/store unit: requests go to the network, and slots make a transaction each.

use warpwatt_base::counters::Magnitudes;
use warpwatt_exec::AccessKind;

use super::coalesce::Line;
use super::flight::{Done, FlightId, Flights};
use super::job::{Entry, Job, Part, Unit};
use super::l1d::Op;
use super::shared::Passes;
use super::slot::{Cause, NONE, Slot};
use super::{Answer, MemoryUnit, Requester, SLOTS, end_alone, land, start};
use crate::host::in_two_copies;
use crate::net::Outbox;

/// Who makes the next transaction of an instruction, which may not have a handle yet.
#[inline(always)]
fn requester(entry: &Entry, flights: &Flights) -> Requester {
    let is_alone = entry.flight == FlightId::NONE;
    let flight = if is_alone { flights.upcoming() } else { entry.flight };
    let Job { token, issued, warp, lanes, .. } = entry.job;
    Requester { flight, is_alone, warp, lanes, token, issued }
}

/// A transaction of an instruction was made.
#[inline(always)]
fn note(
    answer: Answer,
    entry: &Entry,
    flights: &mut Flights,
    latencies: &mut Magnitudes,
    done: &mut Vec<Done>,
) {
    match (answer, entry.flight) {
        (Answer::At(at), FlightId::NONE) => finish(&entry.job, latencies, at, done),
        (Answer::At(at), flight) => land(flights, latencies, flight, at, done),
        // The handle that it was told to wait with.
        (Answer::Later, FlightId::NONE) => {
            start(flights, entry);
        }
        (Answer::Later | Answer::WithLine, _) => {}
    }
}

/// The only transaction of an instruction that nothing waited for is done as of cycle `at`.
#[inline(always)]
fn finish(job: &Job, latencies: &mut Magnitudes, at: u64, done: &mut Vec<Done>) {
    if job.is_load() {
        latencies.note(at.saturating_sub(job.issued));
    }
    done.push(Done { at, token: job.token });
}

impl MemoryUnit {
    /// One cycle.
    #[inline(always)]
    pub fn step(&mut self, now: u64, outbox: &mut Outbox, done: &mut Vec<Done>) {
        let unit = self;
        // Bit and vector instructions are for words of a line and tags of a set.
        in_two_copies!(unit.bit_instructions, |unit: &mut MemoryUnit,
                                               now: u64,
                                               outbox: &mut Outbox,
                                               done: &mut Vec<Done>|
         -> () {
            if !unit.step_at_once(now, done) {
                unit.step_slowly(now, outbox, done);
            }
        });
    }

    /// A cycle in which at most an access to shared memory begins, as most do, in the only slot and without a technique. False if it is another; then
    /// nothing has happened. It calls nothing, so that the host keeps all in registers.
    #[inline(always)]
    fn step_at_once(&mut self, now: u64, done: &mut Vec<Done>) -> bool {
        if !self.is_plain || self.slots[0].entry != NONE || self.has_requests() {
            return false;
        }
        let start = self.next_start();
        if start > now {
            self.wake = start;
            (self.accounted, self.port_accounted) = (now + 1, now + 1);
            return true;
        }
        let entry = self.instructions.front();
        let Part::Shared { kind, passes, .. } = entry.first else { return false };
        let is_usual = kind != AccessKind::Atomic && entry.flight == FlightId::NONE;
        // A list that is full would have to be made longer by a call.
        if !is_usual || done.len() == done.capacity() {
            return false;
        }
        (self.accounted, self.port_accounted) = (now + 1, now + 1);
        self.begin_in_shared(now, kind == AccessKind::Load, passes, done);
        true
    }

    /// The first instruction of the queue, a single access to shared memory, begins in the only slot, which is free.
    #[inline(always)]
    fn begin_in_shared(&mut self, now: u64, is_load: bool, passes: Passes, done: &mut Vec<Done>) {
        let entry = self.instructions.front();
        let at = self.shared.access_plainly(now, is_load, entry.job.lanes, passes);
        if is_load {
            self.latencies.note(at - entry.job.issued);
        }
        done.push(Done { at, token: entry.job.token });
        self.counters.instructions += 1;
        self.counters.busy += u64::from(passes.cycles);
        self.leave_slot(now + u64::from(passes.cycles));
    }

    /// The first instruction of the queue has made its only transaction, which occupies the only slot until before a cycle.
    #[inline(always)]
    fn leave_slot(&mut self, until: u64) {
        self.instructions.pop();
        self.slots[0].until = until;
        self.slot_free = until;
        self.wake = self.next_start();
    }

    /// A cycle of the only slot, which is not blocked, where no technique acts: most instructions make a single transaction, or some with lines of global
    /// memory. One that makes a single one is not kept in the slot.
    #[inline(always)]
    fn work_plainly(&mut self, now: u64, done: &mut Vec<Done>) {
        let Slot { entry: place, line, .. } = self.slots[0];
        let is_new = place == NONE;
        let entry = match is_new {
            true => {
                let start = self.next_start();
                if start > now {
                    self.wake = start;
                    return;
                }
                self.instructions.front_mut()
            }
            false => &mut self.instructions[place],
        };
        let (op, end) = match entry.first {
            Part::Line { address } if is_new => return self.load_line(now, address, done),
            Part::Global { op, end } if entry.others.is_empty() => (op, end),
            Part::Shared { kind, passes, .. }
                if is_new && kind != AccessKind::Atomic && entry.flight == FlightId::NONE =>
            {
                return self.begin_in_shared(now, kind == AccessKind::Load, passes, done);
            }
            _ => return self.work_otherwise(now, done),
        };
        let number = if is_new { 0 } else { line };
        let requester = requester(entry, &self.flights);
        let answer = match self.l1d.access_plainly(now, op, &entry.lines[number as usize], requester) {
            Ok(answer) => answer,
            Err(cause) => return self.block(now, number, cause),
        };
        note(answer, entry, &mut self.flights, &mut self.latencies, done);
        self.counters.busy += 1;
        if number + 1 == end {
            entry.lines.clear();
            if is_new {
                self.counters.instructions += 1;
                return self.leave_slot(now + 1);
            }
            self.slots[0].entry = NONE;
            self.slot_free = now + 1;
            self.wake = self.next_start();
        } else {
            if is_new {
                self.counters.instructions += 1;
                self.slots[0] = Slot::new(self.instructions.pop(), now);
            }
            self.slots[0].line = number + 1;
            (self.slot_free, self.wake) = (u64::MAX, now + 1);
        }
        self.slots[0].until = now + 1;
    }

    /// The first instruction of the queue, which loads a line of global memory, makes its only transaction, for which the only slot is free.
    #[inline(always)]
    fn load_line(&mut self, now: u64, address: u64, done: &mut Vec<Done>) {
        let Job { token, issued, warp, lanes, .. } = self.instructions.front().job;
        let requester = Requester { flight: FlightId::NONE, is_alone: true, warp, lanes, token, issued };
        match self.l1d.access_plainly(now, Op::Load, &Line::whole(address), requester) {
            Ok(Answer::At(at)) => done.push(end_alone(&mut self.latencies, (token, issued), at)),
            Ok(Answer::Later | Answer::WithLine) => {}
            Err(cause) => return self.block(now, 0, cause),
        }
        self.counters.busy += 1;
        self.counters.instructions += 1;
        self.leave_slot(now + 1);
    }

    /// The first instruction of the queue takes the only slot.
    #[inline(always)]
    fn take_slot(&mut self, now: u64) {
        self.counters.instructions += 1;
        let place = self.instructions.pop();
        self.instructions[place].unpack();
        self.slots[0] = Slot::new(place, now);
    }

    /// The transaction with the line of this number has to wait, of the instruction in the only slot or, if that is free, of the first of the queue.
    #[cold]
    #[inline(never)]
    fn block(&mut self, now: u64, line: u32, cause: Cause) {
        if self.slots[0].entry == NONE {
            self.take_slot(now);
        }
        self.note_blocked(cause, 1);
        let slot = Slot { line, until: now + 1, blocked: Some(cause), ..self.slots[0] };
        (self.slots[0], self.is_blocked, self.slot_free) = (slot, true, u64::MAX);
        self.wake = self.slot_wake(&slot);
    }

    /// [`MemoryUnit::work_plainly`] for unusual instructions.
    #[inline(never)]
    fn work_otherwise(&mut self, now: u64, done: &mut Vec<Done>) {
        let unit = self;
        in_two_copies!(unit.bit_instructions, |unit: &mut MemoryUnit,
                                               now: u64,
                                               done: &mut Vec<Done>|
         -> () {
            unit.work_alone(now, done);
        });
    }

    /// Offers the next request of the L1 data cache to the network, where no other cache has one, and no slot is blocked.
    #[inline(always)]
    fn send_line(&mut self, now: u64, outbox: &mut Outbox) {
        if self.accounted < now {
            self.l1d.counters.network += now - self.accounted;
        }
        outbox.stalled(self.port_accounted.min(now), now);
        if !self.l1d.send(now, outbox) {
            self.l1d.counters.network += 1;
            outbox.stalled(now, now + 1);
        }
    }

    #[inline(always)]
    fn step_slowly(&mut self, now: u64, outbox: &mut Outbox, done: &mut Vec<Done>) {
        let unit = self;
        in_two_copies!(unit.bit_instructions, |unit: &mut MemoryUnit,
                                               now: u64,
                                               outbox: &mut Outbox,
                                               done: &mut Vec<Done>|
         -> () {
            let is_free = unit.slots[0].entry == NONE || unit.slots[0].until <= now;
            if unit.is_plain
                && is_free
                && !unit.is_blocked
                && unit.constant.requests.len() | unit.texture.requests.len() == 0
            {
                if !unit.l1d.requests.is_empty() {
                    unit.send_line(now, outbox);
                }
                (unit.accounted, unit.port_accounted) = (now + 1, now + 1);
                return unit.work_plainly(now, done);
            }
            // Without requests and a blocked slot, there is nothing to account for.
            if unit.has_requests() {
                unit.send(now, outbox);
            } else if unit.is_blocked {
                unit.settle(now);
            }
            (unit.accounted, unit.port_accounted) = (now + 1, now + 1);

            if unit.width == 1 { unit.work_alone(now, done) } else { unit.work_together(now, done) }
        });
    }

    /// One cycle of the only slot.
    #[inline(always)]
    fn work_alone(&mut self, now: u64, done: &mut Vec<Done>) {
        if self.slots[0].entry == NONE {
            let start = self.next_start();
            if start > now {
                self.wake = start;
                return;
            }
            self.take_slot(now);
        }
        self.go_on_alone(now, done);
    }

    /// One cycle of the only slot, which works on an instruction.
    #[inline(always)]
    fn go_on_alone(&mut self, now: u64, done: &mut Vec<Done>) {
        if self.slots[0].until <= now {
            self.work::<true>(0, now, &mut 0, done);
        }
        let slot = &self.slots[0];
        self.is_blocked = slot.blocked.is_some();
        // While it works on an instruction, none starts.
        if slot.entry == NONE {
            self.slot_free = slot.until;
            self.wake = self.next_start();
        } else {
            self.slot_free = u64::MAX;
            self.wake = self.slot_wake(slot);
        }
    }

    /// When a slot goes on by itself.
    #[inline(always)]
    fn slot_wake(&self, slot: &Slot) -> u64 {
        match slot.blocked {
            None | Some(Cause::Unit) => slot.until,
            Some(Cause::Fragments) => self.texture.room_at(),
            Some(_) => u64::MAX,
        }
    }

    /// One cycle of several slots.
    #[cold]
    #[inline(never)]
    fn work_together(&mut self, now: u64, done: &mut Vec<Done>) {
        let (mut taken, mut index) = (0, 0);
        // When slots go on by themselves, and when one of them is free.
        let (mut next, mut free, mut is_blocked) = (u64::MAX, u64::MAX, false);
        loop {
            let mut slot = if index < self.working {
                self.slots[index % SLOTS]
            } else if index < self.width
                && self.instructions.ready() <= now
                && !MemoryUnit::is_taken(self.instructions.front(), taken)
            {
                self.counters.instructions += 1;
                let entry = self.instructions.pop_aside(self.free_aside());
                self.working += 1;
                self.slots[index % SLOTS] = Slot::new(entry, now);
                self.slots[index % SLOTS]
            } else {
                break;
            };
            if slot.until > now {
                taken |= slot.bit();
            } else if slot.entry == NONE {
                self.working -= 1;
                for later in index..self.working {
                    self.slots[later % SLOTS] = self.slots[(later + 1) % SLOTS];
                }
                continue;
            } else {
                self.work::<false>(index, now, &mut taken, done);
                slot = self.slots[index % SLOTS];
            }
            if slot.entry == NONE {
                free = free.min(slot.until);
            } else {
                next = next.min(self.slot_wake(&slot));
                is_blocked |= slot.blocked.is_some();
            }
            index += 1;
        }
        self.is_blocked = is_blocked;
        self.slot_free = if self.working < self.width { 0 } else { free };
        self.wake = next.min(self.next_start());
    }

    /// Whether an instruction would start with a cache that an older one works with.
    #[inline(always)]
    fn is_taken(entry: &Entry, taken: u32) -> bool {
        let first = &entry.first;
        !matches!(first, Part::Nothing) && taken >> first.unit() as u32 & 1 != 0
    }

    /// A place for an instruction that starts beside others. One of the slots is free.
    fn free_aside(&self) -> usize {
        let is_free =
            |&number: &usize| self.started().all(|slot| slot.entry != self.instructions.aside(number));
        (0..SLOTS).find(is_free).unwrap_or_default()
    }

    /// Makes the next transaction of a slot. `ALONE`: there is no other, which could take its cache.
    #[inline(always)]
    fn work<const ALONE: bool>(&mut self, index: usize, now: u64, taken: &mut u32, done: &mut Vec<Done>) {
        let slot = &mut self.slots[index % SLOTS];
        slot.until = now + 1;
        if slot.blocked == Some(Cause::Mshrs) && (ALONE || *taken == 0) && self.l1d.is_still_full() {
            *taken |= slot.bit();
            self.note_blocked(Cause::Mshrs, 1);
            return;
        }
        let entry = &mut self.instructions[slot.entry];
        let &Part::Global { op, end } = slot.current(entry) else {
            let unit = self;
            in_two_copies!(unit.bit_instructions, |unit: &mut MemoryUnit,
                                                   index: usize,
                                                   now: u64,
                                                   taken: &mut u32,
                                                   done: &mut Vec<Done>|
             -> () {
                unit.work_elsewhere(index, now, taken, done);
            });
            return;
        };
        if !ALONE && !slot.takes(Unit::L1d, taken) {
            self.note_blocked(Cause::Unit, 1);
            return;
        }
        let requester = requester(entry, &self.flights);
        match self.l1d.access(now, op, &entry.lines[slot.line as usize], requester) {
            Ok(answer) => {
                note(answer, entry, &mut self.flights, &mut self.latencies, done);
                self.counters.busy += 1;
                slot.blocked = None;
                slot.line += 1;
                if slot.line == end && !slot.next_part(entry) {
                    entry.clear();
                    slot.entry = NONE;
                }
            }
            Err(cause) => {
                slot.blocked = Some(cause);
                self.note_blocked(cause, 1);
            }
        }
    }

    /// Makes the next transaction of a slot, which is not one with the L1 data cache.
    #[inline(always)]
    fn work_elsewhere(&mut self, index: usize, now: u64, taken: &mut u32, done: &mut Vec<Done>) {
        let slot = &mut self.slots[index % SLOTS];
        let entry = &mut self.instructions[slot.entry];
        let current = *slot.current(entry);
        if !matches!(current, Part::Nothing) && !slot.takes(current.unit(), taken) {
            self.note_blocked(Cause::Unit, 1);
            return;
        }
        let requester = requester(entry, &self.flights);
        let (latencies, flights) = (&mut self.latencies, &mut self.flights);
        let line = || &entry.lines[slot.line as usize];
        let (answer, end) = match current {
            // Lines are unpacked by now.
            Part::Nothing | Part::Global { .. } | Part::Line { .. } => (Ok(Answer::At(now)), None),
            Part::Shared { kind, passes, rows } => {
                slot.until = now + u64::from(passes.cycles);
                let base = entry.origin.shared_row;
                let at = self.shared.access(now, kind, entry.job.lanes, passes, base, (&entry.rows, rows));
                (Ok(Answer::At(at)), None)
            }
            Part::Constant { end } => {
                (self.constant.access(now, line(), requester, &mut self.second), Some(end))
            }
            Part::Texture { end } => {
                let mut land = |flight, at| land(flights, latencies, flight, at, done);
                let answer = self.texture.access(now, line(), requester, &mut land);
                (answer.map(|()| Answer::Later), Some(end))
            }
        };
        match answer {
            Ok(answer) => {
                note(answer, entry, flights, latencies, done);
                if !matches!(current, Part::Nothing) {
                    self.counters.busy += slot.until - now;
                }
                slot.blocked = None;
                slot.line += u32::from(end.is_some());
                if end.is_none_or(|end| slot.line == end) && !slot.next_part(entry) {
                    entry.clear();
                    slot.entry = NONE;
                }
            }
            Err(cause) => {
                slot.blocked = Some(cause);
                self.note_blocked(cause, 1);
            }
        }
    }

    /// Offers each cache's next request to the network.
    #[inline(always)]
    fn send(&mut self, now: u64, outbox: &mut Outbox) {
        let unit = self;
        in_two_copies!(unit.bit_instructions, |unit: &mut MemoryUnit, now: u64, outbox: &mut Outbox| -> () {
            unit.send_plain(now, outbox);
        });
    }

    #[inline(always)]
    fn send_plain(&mut self, now: u64, outbox: &mut Outbox) {
        self.settle(now);
        outbox.stalled(self.port_accounted.min(now), now);
        let constant = self.constant.requests.is_empty() || self.constant.send(now, outbox);
        let texture = self.texture.requests.is_empty() || self.texture.send(now, outbox);
        let l1d = self.l1d.send(now, outbox);
        if !(constant && texture && l1d) {
            self.constant.counters.network += u64::from(!constant);
            self.texture.counters.network += u64::from(!texture);
            self.l1d.counters.network += u64::from(!l1d);
            outbox.stalled(now, now + 1);
        }
    }
}
