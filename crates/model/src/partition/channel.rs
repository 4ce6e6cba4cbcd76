// SPDX-License-Identifier: MIT OR Apache-2.0
//! A memory channel: picks the commands for the lines that wait, one in a command clock at most.
//!
//! Lines are served first-ready first-come-first-served: the oldest access to an open row that may go now; else the oldest line of
//! some bank has its row opened, or the open row closed once no access waits for it. With `fcfs` only the oldest line counts.
//! Reads go before writes with `dram.write_queue`: writes gather in a queue of their own, as long as the reads'; they are drained when it is three quarters
//! full or no read waits, until it is a quarter full or, if no read waits, empty. A read of a line that is still in the write queue
//! is answered from there. Without it both share one queue, and the oldest access to an open row, or else the oldest line, decides the
//! direction. When a refresh is due, all rows are closed and nothing else goes until it is over.
//!
//! Nothing is looked at in clocks in which no command can go: every constraint is a clock from which on something may be done. Transfers are kept with
//! the clock in which they are asked for, and the channel is advanced over many of them at a time. Accesses that follow each other for certain are made together (`streak`).

use std::collections::VecDeque;

use warpwatt_base::counters::Magnitudes;
use warpwatt_base::opaque;
use warpwatt_config::{Config, DramPolicy};

use super::banks::{Banks, Direction};
use super::controller::accesses_per_line;
use super::counters::DramCounters;
use super::queue::{Handle, Queue, Waiting};
use super::time::CommandClock;
pub use super::transfer::{Arrival, INTERNAL, Returned, Transfer};
use crate::host::{has_bit_instructions, in_two_copies};
use crate::ring::Ring;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Command {
    Access { bank: usize, direction: Direction },
    Activate { bank: usize, row: u64 },
    Precharge { bank: usize },
    PrechargeAll,
    Refresh,
}

/// Puts closing rows behind opening ones in the order of lines.
const CLOSING: u64 = 1 << 63;

#[derive(Clone, Debug)]
pub struct Channel {
    index: usize,
    policy: DramPolicy,
    clock: CommandClock,
    /// From the end of the data to the L2 slice, in core cycles.
    latency: u64,
    /// Accesses that each direction's queue holds, and the watermarks of the writes'.
    pub(super) capacity: u32,
    /// Writes have a queue of their own.
    pub(super) gathers: bool,
    high: u32,
    pub(super) low: u32,
    /// Lines on their way to the slice or waiting for it, in accesses: a line that techniques shortened takes less room.
    pub(super) return_capacity: usize,
    pub(super) returning: usize,
    /// Accesses of a whole line.
    line_accesses: usize,

    pub(super) banks: Banks,
    pub(super) queue: Queue,
    /// Transfers that were asked for in clocks that the channel has not come to, the first of these clocks (`u64::MAX` for none), and the accesses that they take.
    arrivals: Ring<Arrival>,
    pub(super) arrival_at: u64,
    arriving: [u32; 2],
    /// Transfers that wait for room in the queue.
    pub(super) inlet: VecDeque<Handle>,
    inlet_capacity: usize,
    /// Lines that were read, and when the first of them reaches the slice.
    returned: Ring<Returned>,
    returned_at: u64,
    /// What is being served.
    pub(super) direction: Direction,
    /// Of the last access.
    pub(super) bus_direction: Direction,
    /// The first clock that may still get a command.
    pub(super) now: u64,
    pub(super) refresh_due: u64,
    /// No command goes before this clock; 0 if that has to be looked for.
    next_at: u64,
    /// If that command is an access: the bit of its bank. It goes even if a line that is answered from the write queue has taken the last place meanwhile: the bit is in `granted`
    /// then.
    kept: u64,
    pub(super) granted: u64,
    /// No row is opened or closed before this clock; 0 if that has to be looked for.
    pub(super) rows_from: u64,
    /// Accesses in the queue of a direction when a line arrives there, and clocks from the request of a line to the end of its data.
    pub queues: Magnitudes,
    pub latencies: Magnitudes,
    /// Since when `active` or `idle` are not counted.
    counted: u64,
    /// Whether the host has instructions for bits.
    bit_instructions: bool,
    /// Accesses are made one by one.
    #[cfg(test)]
    pub one_by_one: bool,
    #[cfg(test)]
    pub trace: Vec<(u64, Command)>,
}

impl Channel {
    pub fn new(config: &Config, index: usize, lines: usize) -> Channel {
        let dram = &config.dram;
        let banks = Banks::new(config);
        let clock = CommandClock::new(config);
        // The return queue stands at the slice. On top of it is what the way back holds, half of the fixed latency: as many lines as
        // the bus moves meanwhile. A slot is taken with the first access to a line, and free again when the slice takes the line.
        let line_clocks = banks.spec.data * u64::from(accesses_per_line(config));
        let way = banks.spec.to_data[0] + banks.spec.data + clock.at(u64::from(dram.cycles / 2));
        Channel {
            index,
            policy: dram.policy,
            clock,
            latency: u64::from(dram.cycles),
            capacity: dram.queue,
            gathers: dram.write_queue,
            high: (dram.queue * 3 / 4).max(1),
            low: dram.queue / 4,
            return_capacity: (dram.return_queue as usize + way.div_ceil(line_clocks) as usize)
                * accesses_per_line(config) as usize,
            line_accesses: accesses_per_line(config) as usize,
            returning: 0,
            queue: Queue::new(2 * dram.queue as usize),
            arrivals: Ring::new(16),
            arrival_at: u64::MAX,
            arriving: [0; 2],
            inlet: VecDeque::with_capacity(config.l2.queue as usize + 2),
            inlet_capacity: config.l2.queue as usize,
            returned: Ring::new(lines),
            returned_at: u64::MAX,
            direction: Direction::Read,
            bus_direction: Direction::Read,
            now: 0,
            refresh_due: banks.spec.refi,
            next_at: 0,
            kept: 0,
            granted: 0,
            rows_from: 0,
            queues: Magnitudes::default(),
            latencies: Magnitudes::default(),
            counted: 0,
            bit_instructions: has_bit_instructions(),
            banks,
            #[cfg(test)]
            one_by_one: false,
            #[cfg(test)]
            trace: Vec::new(),
        }
    }

    /// Whether it has been advanced to a clock.
    #[inline(always)]
    pub fn is_in_present(&self, clock: u64) -> bool {
        self.now >= clock && self.arrival_at > clock
    }

    /// Whether so many transfers may be asked for, in the clock that the channel was last advanced to. One is always taken if none waits.
    pub fn has_room(&self, transfers: usize) -> bool {
        self.inlet.is_empty() || self.inlet.len() + transfers <= self.inlet_capacity
    }

    /// Whether it is certain, however far the channel has come, that two transfers find room in the present clock: there is, even if none of those before them gets into the
    /// queue, or all of them do.
    #[inline(always)]
    pub fn has_room_for_certain(&self) -> bool {
        self.inlet.len() + self.arrivals.len() + 2 <= self.inlet_capacity || self.takes_all()
    }

    /// Whether all transfers that have been asked for get into the queue.
    #[inline(never)]
    fn takes_all(&self) -> bool {
        let used = |d: Direction| self.queue.accesses(d) + self.arriving[d as usize];
        let (reads, writes) = (used(Direction::Read), used(Direction::Write));
        let most = if self.gathers { reads.max(writes) } else { reads + writes };
        self.inlet.is_empty() && most <= self.capacity
    }

    /// Asks for a transfer in a clock that is not before that of the last one, and that the channel has not gone beyond.
    #[inline(always)]
    pub fn push(&mut self, at: u64, transfer: Transfer) {
        debug_assert!(self.now <= at);
        self.arriving[transfer.direction as usize] += transfer.accesses;
        let place = self.queue.keep(&transfer);
        self.arrivals.push_back(Arrival { at, place });
        self.arrival_at = self.arrival_at.min(at);
    }

    /// The next transfer that arrives.
    #[inline(always)]
    pub(super) fn arriving(&self) -> Option<&Arrival> {
        self.arrivals.front()
    }

    /// It is let in.
    #[inline(always)]
    pub(super) fn drop_arriving(&mut self, direction: Direction, accesses: u32) {
        self.arrivals.drop_front();
        self.arrival_at = self.arrivals.front().map_or(u64::MAX, |arrival| arrival.at);
        self.arriving[direction as usize] -= accesses;
    }

    /// The next transfer arrives, in the clock that the channel has come to.
    #[inline(always)]
    fn arrive(&mut self, counters: &mut DramCounters) {
        let Some(&Arrival { place, .. }) = self.arriving() else { return };
        let &Waiting { direction, left, .. } = self.queue.get(place);
        self.drop_arriving(direction, left);
        if self.inlet.is_empty() && self.has_place(direction, left) {
            self.enter(self.now, place, counters);
            // More lines for the direction that is served do not change it.
            if direction != self.direction || !self.gathers {
                self.choose_direction();
            }
        } else {
            self.wait_before_queue(place, counters);
        }
    }

    #[inline(never)]
    fn wait_before_queue(&mut self, place: Handle, counters: &mut DramCounters) {
        self.inlet.push_back(place);
        self.admit(self.now, counters);
    }

    /// Accesses that wait in the queue of a direction.
    #[inline(always)]
    fn used(&self, direction: Direction) -> u32 {
        match self.gathers {
            true => self.queue.accesses(direction),
            false => self.queue.accesses(Direction::Read) + self.queue.accesses(Direction::Write),
        }
    }

    /// Whether the queue has room for a transfer.
    #[inline(always)]
    fn has_place(&self, direction: Direction, accesses: u32) -> bool {
        let used = self.used(direction);
        used == 0 || used + accesses <= self.capacity
    }

    /// Lets waiting transfers into the queue as far as there is room.
    #[inline(always)]
    pub(super) fn admit(&mut self, at: u64, counters: &mut DramCounters) {
        while let Some(&place) = self.inlet.front()
            && let &Waiting { direction, left, .. } = self.queue.get(place)
            && self.has_place(direction, left)
        {
            self.admit_first(at, counters);
        }
        self.choose_direction();
    }

    #[inline(never)]
    fn admit_first(&mut self, at: u64, counters: &mut DramCounters) {
        if let Some(place) = self.inlet.pop_front() {
            self.enter(at, place, counters);
        }
    }

    /// A transfer comes into the queue.
    #[inline(always)]
    fn enter(&mut self, at: u64, place: Handle, counters: &mut DramCounters) {
        let &Waiting { line, bank, row, direction, .. } = self.queue.get(place);
        let bank = usize::from(bank);
        self.queues.note(u64::from(self.used(direction)));
        if direction == Direction::Read
            && self.queue.waiting(Direction::Write) >> bank & 1 != 0
            && self.queue.holds(bank, Direction::Write, line)
        {
            return self.forward(at, place, counters);
        }
        self.line_up(place, bank, direction, self.banks.is_open(bank, row));
    }

    /// A transfer waits for its bank from now on, whose open row it wants or not.
    #[inline(always)]
    pub(super) fn line_up(&mut self, place: Handle, bank: usize, direction: Direction, open: bool) {
        let is_news = self.queue.push(place, open);
        // A line behind others of its bank that want the same command, or of the other direction, changes nothing.
        if is_news && direction == self.direction {
            self.note_stuck(bank);
            self.next_at = 0;
            self.granted = 0;
        }
    }

    /// A read is answered from the write queue.
    #[inline(never)]
    fn forward(&mut self, at: u64, place: Handle, counters: &mut DramCounters) {
        let &Waiting { left: accesses, asked, tag, .. } = self.queue.get(place);
        self.queue.free(place);
        counters.forwards += u64::from(tag < INTERNAL);
        self.returning += if tag < INTERNAL { accesses as usize } else { 0 };
        if self.next_at != 0 {
            self.granted = self.kept;
        }
        self.give_back(at, asked, tag, true, counters);
    }

    /// If all lines for a bank have come to wait for another row than the open one, or for any: it may be opened or closed for them.
    #[inline(always)]
    pub(super) fn note_stuck(&mut self, bank: usize) {
        if self.stuck() >> bank & 1 != 0 {
            self.rows_from = self.rows_from.min(self.row_from(bank));
        }
    }

    /// First clock in which a bank's row may be closed, or one be opened if it has none.
    #[inline(always)]
    pub(super) fn row_from(&self, bank: usize) -> u64 {
        match self.banks.open() >> bank & 1 {
            0 => self.banks.activate_from(bank),
            _ => self.banks.precharge_from(bank),
        }
    }

    #[inline(always)]
    pub(super) fn choose_direction(&mut self) {
        let direction = if self.gathers { self.drained() } else { self.queue.first_direction() };
        if direction != self.direction {
            self.direction = direction;
            self.rows_from = 0;
            self.next_at = 0;
            self.granted = 0;
        }
    }

    /// Whether it is certain after an access that the direction stays: reads are left and nothing came that would end them, or enough writes.
    #[inline(always)]
    pub(super) fn goes_on(&self, direction: Direction) -> bool {
        let enough = if direction == Direction::Read { 0 } else { self.low };
        self.gathers && self.queue.accesses(direction) > enough
    }

    /// Whether reads are served or gathered writes are drained.
    #[inline(always)]
    fn drained(&self) -> Direction {
        let reads = self.queue.accesses(Direction::Read);
        let writes = self.queue.accesses(Direction::Write);
        let crowded = writes >= self.high
            || self.inlet.front().is_some_and(|&place| self.queue.get(place).direction == Direction::Write);
        let drain = match self.direction {
            Direction::Read => crowded || reads == 0,
            Direction::Write => writes > self.low || reads == 0,
        };
        if writes > 0 && drain { Direction::Write } else { Direction::Read }
    }

    /// A line that was read in a clock goes to the slice.
    #[inline(always)]
    pub(super) fn give_back(
        &mut self,
        at: u64,
        asked: u64,
        tag: u32,
        forwarded: bool,
        counters: &mut DramCounters,
    ) {
        let done = at + self.banks.spec.to_data[0] + self.banks.spec.data;
        if tag < INTERNAL {
            counters.line_reads += 1;
            self.latencies.note(done - asked);
        }
        let at = self.clock.core(done) + self.latency;
        // They come back in the order in which they were read.
        self.returned_at = self.returned_at.min(at);
        self.returned.push_back(Returned { at, done, tag, channel: self.index, forwarded });
    }

    /// Issues all commands of clocks before `until`, and lets in what has arrived by then.
    #[inline(always)]
    pub fn advance(&mut self, until: u64, counters: &mut DramCounters) {
        if self.arrival_at > until {
            if self.now >= until {
                return;
            }
            if self.next_at >= until {
                self.now = until;
                return;
            }
        }
        self.issue_before(until, counters);
    }

    #[inline(always)]
    fn issue_before(&mut self, until: u64, counters: &mut DramCounters) {
        let channel = self;
        // Bit instructions are for sets of banks.
        in_two_copies!(channel.bit_instructions, |channel: &mut Channel,
                                                  until: u64,
                                                  counters: &mut DramCounters|
         -> () {
            channel.issue_before_plain(until, counters);
        });
    }

    #[inline(always)]
    fn issue_before_plain(&mut self, until: u64, counters: &mut DramCounters) {
        loop {
            // No addresses are computed ahead of the loop.
            let channel = opaque(self);
            while channel.arrival_at <= channel.now {
                channel.arrive(counters);
            }
            if channel.now >= until {
                return;
            }
            let end = channel.arrival_at.min(until);
            if channel.next_at >= end {
                channel.now = end;
                continue;
            }
            channel.next_at = 0;
            if channel.policy == DramPolicy::Fcfs {
                channel.issue_in_order(end, counters);
                continue;
            }
            let hits = channel.hits();
            // Where nothing waits, there is only the refresh to come.
            if hits == 0 && channel.queue.is_empty() && end <= channel.refresh_due {
                channel.now = end;
                (channel.next_at, channel.kept) = (channel.refresh_due, 0);
                continue;
            }
            let (access_at, bank) = channel.first_access(hits);
            let row = match channel.rows_from.max(channel.now) < access_at {
                true => channel.first_row_command(access_at).filter(|&(at, ..)| at < access_at),
                false => None,
            };
            // Most commands are accesses.
            if row.is_none() && access_at < channel.refresh_due.min(until) {
                #[cfg(test)]
                channel.check_access(access_at, bank);
                if channel.arrival_at > access_at || channel.absorb_before(access_at) {
                    channel.access_streak(access_at, bank, until, counters);
                } else {
                    channel.now = channel.arrival_at;
                    (channel.next_at, channel.kept) = (access_at, 1 << bank);
                }
                continue;
            }
            let next = match row {
                Some((at, bank, is_open)) => {
                    Some((at, channel.row_command(bank, is_open, channel.direction)))
                }
                None if access_at == u64::MAX => None,
                None => Some((access_at, Command::Access { bank, direction: channel.direction })),
            };
            channel.issue_or_keep(next, end, counters);
        }
    }

    /// The same where only the oldest line counts.
    #[cold]
    #[inline(never)]
    fn issue_in_order(&mut self, until: u64, counters: &mut DramCounters) {
        while self.now < until {
            let next = self.first_come();
            self.issue_or_keep(next, until, counters);
        }
    }

    /// Issues the first command that can go for a line, or what a refresh needs if that is due before. If that is not before `until`, notes when it goes.
    #[inline(always)]
    fn issue_or_keep(&mut self, next: Option<(u64, Command)>, until: u64, counters: &mut DramCounters) {
        #[cfg(test)]
        assert_eq!(next, self.plain_choice());
        let (at, command) = match next {
            Some((at, command)) if at < self.refresh_due => (at, command),
            _ => self.before_refresh(),
        };
        if at >= until {
            self.now = until;
            self.next_at = at;
            self.kept = if let Command::Access { bank, .. } = command { 1 << bank } else { 0 };
        } else {
            self.now = at + 1;
            self.issue(at, command, counters);
        }
    }

    /// What is to be done for a refresh, when nothing goes before it.
    #[cold]
    #[inline(never)]
    fn before_refresh(&self) -> (u64, Command) {
        let from = self.now.max(self.refresh_due);
        match self.banks.open() {
            0 => (from.max(self.banks.refresh_from()), Command::Refresh),
            _ => (from.max(self.banks.precharge_all_from()), Command::PrechargeAll),
        }
    }

    /// A bit for each bank whose open row a line waits for that may be accessed now: with no place to return it to, only a line that has one goes on.
    #[inline(always)]
    pub(super) fn hits(&self) -> u64 {
        let direction = self.direction;
        let hits = self.queue.hits(direction);
        match direction == Direction::Read && self.returning >= self.return_capacity {
            true => hits & (self.queue.begun(direction) | self.granted),
            false => hits,
        }
    }

    /// The oldest access to an open row of some banks that can go first: its clock and its bank. `u64::MAX` if there are none.
    #[inline(always)]
    fn first_access(&self, hits: u64) -> (u64, usize) {
        let direction = self.direction;
        if hits == 0 {
            return (u64::MAX, 0);
        }
        let floor = self.now.max(self.banks.bus_from(direction));
        if hits.is_power_of_two() {
            let bank = hits.trailing_zeros() as usize;
            return (self.banks.ready_from(bank).max(floor), bank);
        }
        // Mostly the oldest can go at once, if the group that was accessed last is left out.
        let others = hits & !self.banks.resting(floor);
        if others != 0 {
            let oldest = self.queue.oldest_hit(others, direction);
            if self.banks.ready_from(oldest) <= floor {
                return (floor, oldest);
            }
        }
        let mut best = (u64::MAX, u64::MAX, 0);
        for bank in bits(hits) {
            let at = self.banks.ready_from(bank).max(floor);
            let order = self.queue.hit_order(bank, direction);
            if at < best.0 || at == best.0 && order < best.1 {
                best = (at, order, bank);
            }
        }
        (best.0, best.2)
    }

    /// Banks whose lines all wait for another row than the open one, or for any.
    #[inline(always)]
    fn stuck(&self) -> u64 {
        self.queue.waiting(self.direction) & !self.queue.hits(self.direction)
    }

    /// The first opening or closing of a row that can go before a clock: for the oldest line, openings first. Gives its clock, the bank, and whether a
    /// row is open there.
    #[inline(always)]
    fn first_row_command(&mut self, before: u64) -> Option<(u64, usize, bool)> {
        let direction = self.direction;
        let stuck = self.stuck();
        let (mut closed, open) = (stuck & !self.banks.open(), stuck & self.banks.open());
        let (mut from, mut best) = (u64::MAX, (u64::MAX, u64::MAX, 0));
        let any_activate = self.banks.any_activate_from();
        if closed != 0 && any_activate >= before {
            from = any_activate;
            closed = 0;
        }
        for bank in bits(closed) {
            let order = self.queue.oldest_order(bank, direction);
            self.consider(self.banks.activate_from(bank), order, bank, &mut from, &mut best);
        }
        for bank in bits(open) {
            let order = self.queue.oldest_order(bank, direction) | CLOSING;
            self.consider(self.banks.precharge_from(bank), order, bank, &mut from, &mut best);
        }
        self.rows_from = from;
        let (at, order, bank) = best;
        (at != u64::MAX).then_some((at, bank, order & CLOSING != 0))
    }

    #[inline(always)]
    fn consider(&self, may: u64, order: u64, bank: usize, from: &mut u64, best: &mut (u64, u64, usize)) {
        *from = may.min(*from);
        let at = may.max(self.now);
        if at < best.0 || at == best.0 && order < best.1 {
            *best = (at, order, bank);
        }
    }

    fn row_command(&self, bank: usize, open: bool, direction: Direction) -> Command {
        if open {
            Command::Precharge { bank }
        } else {
            Command::Activate { bank, row: self.queue.wanted_row(bank, direction) }
        }
    }

    /// The next command of the oldest line.
    fn first_come(&self) -> Option<(u64, Command)> {
        let direction = self.direction;
        let banks = bits(self.queue.waiting(direction));
        let bank = banks.min_by_key(|&bank| self.queue.oldest_order(bank, direction))?;
        let waiting = self.queue.get(self.queue.oldest(bank, direction));
        if self.banks.is_open(bank, waiting.row) {
            let full = direction == Direction::Read && self.returning >= self.return_capacity;
            let at = self.banks.column_from(bank, direction).max(self.now);
            let started = self.queue.hit_started(bank, direction);
            let goes = started || !full || self.granted >> bank & 1 != 0;
            return goes.then_some((at, Command::Access { bank, direction }));
        }
        let open = self.banks.open() >> bank & 1 != 0;
        let at = if open { self.banks.precharge_from(bank) } else { self.banks.activate_from(bank) };
        Some((at.max(self.now), self.row_command(bank, open, direction)))
    }

    #[inline(never)]
    fn issue(&mut self, at: u64, command: Command, counters: &mut DramCounters) {
        #[cfg(test)]
        if !matches!(command, Command::Access { .. }) {
            self.trace.push((at, command));
        }
        match command {
            Command::Access { bank, .. } => self.access_once(at, bank, counters),
            Command::Activate { bank, row } => {
                self.credit(at, counters);
                self.banks.open_row(at, bank, row);
                self.queue.opened(bank, row);
                self.rows_from = 0;
                counters.activates += 1;
            }
            Command::Precharge { bank } => {
                self.credit(at, counters);
                self.close(at, bank, counters);
            }
            Command::PrechargeAll => {
                self.credit(at, counters);
                bits(self.banks.open()).for_each(|bank| self.close(at, bank, counters));
            }
            Command::Refresh => {
                self.banks.refresh(at);
                self.refresh_due += self.banks.spec.refi;
                self.rows_from = 0;
                counters.refreshes += 1;
                counters.refreshing += self.banks.spec.rfc;
            }
        }
    }

    fn close(&mut self, at: u64, bank: usize, counters: &mut DramCounters) {
        self.banks.close_row(at, bank);
        self.queue.closed(bank);
        self.rows_from = 0;
        counters.precharges += 1;
    }

    /// Counts the time up to a clock in which rows are opened or closed.
    fn credit(&mut self, at: u64, counters: &mut DramCounters) {
        let passed = at.saturating_sub(self.counted);
        if self.banks.open() != 0 {
            counters.active += passed;
        } else {
            counters.idle += passed;
        }
        self.counted = self.counted.max(at);
    }

    /// Counts all time before a clock.
    pub fn settle(&mut self, until: u64, counters: &mut DramCounters) {
        self.advance(until, counters);
        self.credit(until, counters);
    }

    /// The line that reaches the slice next, as far as that is known.
    #[inline(always)]
    pub fn returned(&self) -> Option<Returned> {
        self.returned.front().copied()
    }

    /// When that is, `u64::MAX` if it is not known.
    #[inline(always)]
    pub fn returned_at(&self) -> u64 {
        self.returned_at
    }

    #[inline(always)]
    fn note_first(&mut self) {
        self.returned_at = self.returned.front().map_or(u64::MAX, |line| line.at);
    }

    /// The controller takes the lines whose return is known, to hold them until the slice does.
    #[inline]
    pub fn pick_up(&mut self) -> Option<Returned> {
        let line = self.returned();
        self.returned.drop_front();
        self.note_first();
        line
    }

    /// The slice takes the line that reaches it next, in the present clock. The channel need not have come to that, as long as places for lines do not get scarce
    /// on the way there: false if they may.
    #[inline(always)]
    pub fn take_early(&mut self) -> bool {
        let reads = self.queue.accesses(Direction::Read) + self.arriving[Direction::Read as usize];
        let is_certain = self.inlet.is_empty() && self.returning + (reads as usize) < self.return_capacity;
        if is_certain {
            self.take();
        }
        is_certain
    }

    /// The slice takes the line that reaches it next, in the clock that the channel was advanced to.
    #[inline(always)]
    pub fn take(&mut self) {
        self.returned.drop_front();
        self.note_first();
        self.taken(self.line_accesses);
    }

    /// The slice has taken a line of so many accesses: its place is free.
    #[inline(always)]
    pub fn taken(&mut self, accesses: usize) {
        if self.returning >= self.return_capacity {
            self.next_at = 0;
            self.granted = 0;
        }
        self.returning -= accesses;
    }

    /// Reads are waiting whose return is not known yet.
    #[inline(always)]
    pub fn has_reads(&self) -> bool {
        let reads = self.queue.accesses(Direction::Read) + self.arriving[Direction::Read as usize];
        reads != 0 || !self.inlet.is_empty()
    }

    /// A clock before which there is no command, of a waiting line or of a refresh.
    #[inline(always)]
    pub fn due(&self) -> u64 {
        self.next_at.max(self.now).min(self.arrival_at)
    }

    /// A clock before which no waiting line gets a command, `u64::MAX` if none waits.
    pub fn next(&self) -> u64 {
        if self.queue.is_empty() { self.arrival_at } else { self.due() }
    }

    pub fn is_idle(&self) -> bool {
        let nothing_waits = self.queue.is_empty() && self.inlet.is_empty() && self.arrivals.is_empty();
        nothing_waits && self.returned.is_empty()
    }

    /// What is waiting, in words.
    pub fn waiting(&self, name: &str, out: &mut Vec<String>) {
        let reads = self.queue.accesses(Direction::Read);
        let writes = self.queue.accesses(Direction::Write);
        if reads + writes > 0 || !self.inlet.is_empty() {
            out.push(format!(
                "{name}: {reads} read and {writes} write accesses wait, {} lines before the queue",
                self.inlet.len()
            ));
        }
        if !self.returned.is_empty() {
            out.push(format!("{name}: {} lines wait for the L2 slice", self.returned.len()));
        }
    }
}

#[cfg(test)]
impl Channel {
    /// An access was chosen.
    fn check_access(&self, at: u64, bank: usize) {
        let command = Command::Access { bank, direction: self.direction };
        assert_eq!(Some((at, command)), self.plain_choice());
    }

    /// The command that is chosen, found without masks and bounds by looking at every waiting line.
    fn plain_choice(&self) -> Option<(u64, Command)> {
        let direction = self.direction;
        let full = direction == Direction::Read && self.returning >= self.return_capacity;
        let lists = (0..64).filter(|bank| self.queue.waiting(direction) >> bank & 1 != 0);
        let lists = lists.map(|bank| (bank, self.queue.lines(bank, direction)));
        let mut choices = Vec::new();
        for (bank, lines) in lists {
            let first = match self.policy {
                DramPolicy::FrFcfs => lines.iter().find(|line| self.banks.is_open(bank, line.row)),
                DramPolicy::Fcfs => None,
            };
            let line = first.unwrap_or(&lines[0]);
            let (rank, from, command) = if self.banks.is_open(bank, line.row) {
                (0, self.banks.column_from(bank, direction), Command::Access { bank, direction })
            } else if self.banks.open() >> bank & 1 == 0 {
                // A line that a refresh interrupted goes on before others begin.
                let row = lines.iter().find(|line| line.started).unwrap_or(line).row;
                (1, self.banks.activate_from(bank), Command::Activate { bank, row })
            } else {
                (2, self.banks.precharge_from(bank), Command::Precharge { bank })
            };
            let goes = rank != 0 || line.started || !full || self.granted >> bank & 1 != 0;
            choices.push((from.max(self.now), rank, line.order, command, goes));
        }
        if self.policy == DramPolicy::Fcfs {
            let oldest = choices.iter().map(|choice| choice.2).min();
            choices.retain(|choice| Some(choice.2) == oldest);
        }
        choices.retain(|choice| choice.4);
        choices.iter().min_by_key(|choice| (choice.0, choice.1, choice.2)).map(|choice| (choice.0, choice.3))
    }
}

/// The numbers of the bits that are set.
#[inline(always)]
pub(super) fn bits(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(
        #[inline(always)]
        move || {
            if mask == 0 {
                return None;
            }
            let bit = mask.trailing_zeros() as usize;
            mask &= mask - 1;
            Some(bit)
        },
    )
}
