// SPDX-License-Identifier: MIT OR Apache-2.0
//! Accesses of a memory channel, those that follow each other for certain in one go.
//!
//! A line takes several accesses to one open row. While no row is opened or closed and the direction stays, the oldest line that may go does: one line by itself, at
//! the distance of accesses in one bank group, or two lines of different groups in turn, where the second one fills the clocks in which the group of the first rests.
//! Which of them it is, is found out once, and when each access goes follows. A streak ends with its line at the latest, or with the first of two, or with both if they have as many
//! accesses left. Lines that arrive meanwhile are let in ahead of time if they have to wait for its end anyway.

use warpwatt_base::opaque;

use super::banks::Direction;
use super::channel::{Arrival, Channel, INTERNAL, bits};
use super::counters::DramCounters;
use super::queue::{Accessed, Waiting};

/// Accesses at equal distances.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Streak {
    count: u32,
    gap: u64,
    /// The bank that every second one goes to, if it is another than that of the first.
    other: usize,
}

impl Streak {
    /// How many of the accesses from a clock on go before another one, which is later.
    #[inline(always)]
    fn before(&self, from: u64, clock: u64) -> u32 {
        (clock - from).div_ceil(self.gap) as u32
    }

    #[inline(always)]
    fn last(&self, from: u64) -> u64 {
        from + u64::from(self.count - 1) * self.gap
    }
}

impl Channel {
    /// Makes an access that was chosen, and those that follow it for certain before `until`.
    #[inline(always)]
    pub(super) fn access_streak(&mut self, at: u64, bank: usize, until: u64, counters: &mut DramCounters) {
        let direction = self.direction;
        if self.bus_direction != direction {
            counters.turnarounds += 1;
            self.bus_direction = direction;
        }
        self.granted = 0;
        let (mut last, mut last_bank, mut count, mut rest) = (at, bank, 1, 1);
        // A row may be opened or closed between two accesses, but not in the clock of one.
        let limit = until.min(self.refresh_due).min(self.rows_from.saturating_add(1));
        if at + self.banks.spec.gap < limit && self.gathers && self.inlet.is_empty() {
            let streak = self.let_in_during(at, bank, self.streak(at, bank, limit));
            last = streak.last(at);
            (count, rest) = (streak.count, streak.count);
            if streak.other != bank && count > 1 {
                let half = count / 2;
                let last_but_one = if count % 2 == 0 { bank } else { streak.other };
                last_bank = bank ^ streak.other ^ last_but_one;
                rest = count - half;
                #[cfg(test)]
                self.note_accesses(at, bank, Streak { count: count - 1, ..streak });
                self.access::<false>(last - streak.gap, last_but_one, half, counters);
                self.end_line(last - streak.gap, last_but_one, counters);
            } else {
                #[cfg(test)]
                self.note_accesses(at, bank, Streak { count: count - 1, ..streak });
            }
        }
        #[cfg(test)]
        self.note_accesses(last, last_bank, Streak { count: 1, gap: 0, other: last_bank });
        match direction {
            Direction::Read => counters.reads += u64::from(count),
            Direction::Write => counters.writes += u64::from(count),
        }
        let channel = opaque(self);
        channel.now = last + 1;
        channel.access::<true>(last, last_bank, rest, counters);
        channel.end_line(last, last_bank, counters);
        if !channel.inlet.is_empty() {
            channel.admit(channel.now, counters);
        } else if !channel.goes_on(direction) {
            channel.choose_direction();
        }
    }

    /// Makes a single access.
    #[inline(never)]
    pub(super) fn access_once(&mut self, at: u64, bank: usize, counters: &mut DramCounters) {
        self.access_streak(at, bank, 0, counters);
    }

    /// If an access was the last one of its line, that is ready.
    #[inline(always)]
    fn end_line(&mut self, last: u64, bank: usize, counters: &mut DramCounters) {
        let direction = self.direction;
        if let Some(Accessed { tag, asked }) = self.queue.remove_accessed(bank, direction) {
            match direction {
                Direction::Read => self.give_back(last, asked, tag, false, counters),
                Direction::Write => counters.line_writes += u64::from(tag < INTERNAL),
            }
            self.note_stuck(bank);
        }
    }

    /// Makes accesses to a bank, the last of them in a clock. `LAST`: none to another bank is made after it in the same streak.
    #[inline(always)]
    fn access<const LAST: bool>(&mut self, last: u64, bank: usize, count: u32, counters: &mut DramCounters) {
        let direction = self.direction;
        if LAST {
            self.banks.take_bus(last, bank, direction);
        }
        let fresh = self.banks.column(last, bank, direction);
        counters.row_misses += u64::from(fresh);
        if let Some((tag, accesses)) = self.queue.access(bank, direction, count)
            && direction == Direction::Read
            && tag < INTERNAL
        {
            self.returning += accesses as usize;
        }
    }

    /// The accesses that follow for certain before `limit` if a bank is accessed in a clock.
    #[inline(always)]
    fn streak(&self, at: u64, bank: usize, limit: u64) -> Streak {
        let direction = self.direction;
        let (queue, banks) = (&self.queue, &self.banks);
        let (gap, group_gap) = (banks.spec.gap, banks.spec.group_gap);
        let one = Streak { count: 1, gap, other: bank };
        #[cfg(test)]
        if self.one_by_one {
            return one;
        }
        let most = self.accesses_before_turning(direction);
        let left = queue.hit_left(bank, direction);
        let hits = queue.hits(direction);
        let mut alone_before = limit;
        if !hits.is_power_of_two() {
            let rests = group_gap > gap;
            let group = if rests { banks.group_of(bank) } else { u64::MAX };
            // Of two lines of a group, the older one goes.
            let (rivals, apart) = (hits & group, hits & !group);
            if !rivals.is_power_of_two() && queue.oldest_hit(rivals, direction) != bank {
                return one;
            }
            if apart != 0 {
                let other = queue.oldest_hit(apart, direction);
                if banks.ready_from(other) <= at + gap {
                    // The oldest of all groups but that of the other one is accessed each time when that rests.
                    let rest = hits & !banks.group_of(other);
                    let is_next = rest.is_power_of_two() || queue.oldest_hit(rest, direction) == bank;
                    if !is_next || group_gap > 2 * gap || self.fills_up(bank, other) {
                        return one;
                    }
                    // When the first line ends, the other one goes on with its last access if no row can be closed before.
                    let other_left = queue.hit_left(other, direction);
                    let ends_both = left == other_left && banks.spec.closes_late[direction as usize];
                    let both = if ends_both { 2 * left } else { (2 * left - 1).min(2 * other_left) };
                    return Streak { count: fit(at, gap, limit, most.min(both)), gap, other };
                }
                // It is left alone until a bank of another group can be accessed.
                let ready = bits(apart).map(|bank| banks.ready_from(bank)).min();
                alone_before = limit.min(ready.unwrap_or(u64::MAX));
                if alone_before <= at {
                    return one;
                }
            }
        }
        Streak { count: fit(at, group_gap, alone_before, most.min(left)), gap: group_gap, other: bank }
    }

    /// Lets in transfers that arrive while a streak is under way. If that does not take its course then, it ends before: gives what is left of it.
    #[inline(always)]
    fn let_in_during(&mut self, at: u64, bank: usize, mut streak: Streak) -> Streak {
        while self.arrival_at <= streak.last(at) {
            let made = |clock| streak.before(at, clock);
            let is_harmless = self.absorb(streak.last(at), made, |channel, wanted| {
                // The clocks in which one group rests are free for another one.
                streak.gap == channel.banks.spec.gap || channel.banks.group_of(bank) >> wanted & 1 != 0
            });
            if !is_harmless {
                streak.count = streak.before(at, self.arrival_at);
            }
        }
        streak
    }

    /// Whether places for lines on their way to the slice may get scarce with those of two banks.
    #[inline(always)]
    fn fills_up(&self, bank: usize, other: usize) -> bool {
        let direction = self.direction;
        let places = self.queue.hit_left(bank, direction) + self.queue.hit_left(other, direction);
        direction == Direction::Read && self.returning + places as usize >= self.return_capacity
    }

    /// Accesses that are made before it is asked again whether the other direction is served.
    #[inline(always)]
    fn accesses_before_turning(&self, direction: Direction) -> u32 {
        match direction {
            Direction::Write if self.queue.accesses(Direction::Read) != 0 => {
                self.queue.accesses(Direction::Write).saturating_sub(self.low).max(1)
            }
            _ => u32::MAX,
        }
    }

    /// Lets in transfers that arrive up to the clock of the next access, up to the first that may change it: false if there is one.
    #[inline(always)]
    pub(super) fn absorb_before(&mut self, access_at: u64) -> bool {
        while self.arrival_at <= access_at {
            let is_harmless = self.absorb(
                access_at,
                |_| 0,
                |channel, wanted| {
                    let bus_from = channel.banks.bus_from(channel.direction);
                    channel.banks.ready_from(wanted).max(bus_from).max(channel.arrival_at) >= access_at
                },
            );
            if !is_harmless {
                return false;
            }
        }
        true
    }

    /// Lets in the next transfer ahead of time if accesses up to a clock take their course nevertheless. `made`: how many of them go before a clock; `is_harmless`: whether an
    /// access to the open row of its bank has to wait for them.
    #[inline(always)]
    fn absorb(
        &mut self,
        last: u64,
        made: impl Fn(u64) -> u32,
        is_harmless: impl Fn(&Channel, usize) -> bool,
    ) -> bool {
        let Some(&Arrival { at, place }) = self.arriving() else { return false };
        let &Waiting { bank, row, direction, left: accesses, .. } = self.queue.get(place);
        let bank = usize::from(bank);
        let used = self.queue.accesses(direction);
        if direction != self.direction
            || used + accesses > self.capacity
            || !self.gathers
            || !self.inlet.is_empty()
        {
            return false;
        }
        // It may be answered from the write queue.
        if direction == Direction::Read && self.queue.waiting(Direction::Write) >> bank & 1 != 0 {
            return false;
        }
        let open = self.banks.is_open(bank, row);
        let is_harmless = match open {
            true => is_harmless(self, bank),
            false => self.queue.waiting(direction) >> bank & 1 != 0 || self.row_from(bank) >= last,
        };
        if is_harmless {
            self.drop_arriving(direction, accesses);
            self.queues.note(u64::from(used - made(at)));
            self.line_up(place, bank, direction, open);
        }
        is_harmless
    }
}

/// How many of at most `most` accesses at equal distances go before a clock. The first one does.
#[inline(always)]
fn fit(at: u64, gap: u64, before: u64, most: u32) -> u32 {
    match at + u64::from(most - 1) * gap < before {
        true => most,
        false => (before - at).div_ceil(gap) as u32,
    }
}

#[cfg(test)]
impl Channel {
    /// Accesses are made.
    fn note_accesses(&mut self, at: u64, bank: usize, streak: Streak) {
        use super::channel::Command;
        let direction = self.direction;
        let banks = [bank, streak.other].into_iter().cycle();
        let clocks = (0..u64::from(streak.count)).map(|i| at + i * streak.gap);
        self.trace.extend(clocks.zip(banks).map(|(at, bank)| (at, Command::Access { bank, direction })));
    }
}
