// SPDX-License-Identifier: MIT OR Apache-2.0
//! A memory partition: an L2 slice, its memory controller and GDDR5.
//!
//! ```text
//!  requests ─► slice: tags ─► data array, atomic unit ─► replies ─►
//!                │  ▲
//!     fetches,   │  │ fills
//!     write-backs▼  │
//!             controller: channel ─► queue by bank ─► commands ─► banks
//! ```
//!
//! The slice works in L2 clocks, the channels in command clocks; both are told in core cycles. Values are in device
//! memory since their instruction was issued, and the partition decides when an answer arrives; techniques at the controller see the bytes of
//! each line that moves (`site`).

mod banks;
mod channel;
mod controller;
mod counters;
mod held;
mod hits;
mod mapping;
mod misses;
mod queue;
mod replies;
mod site;
mod slice;
mod streak;
#[cfg(test)]
mod tests;
mod time;
mod transfer;

use warpwatt_config::Config;
use warpwatt_memory::DeviceMemory;

use crate::address::Interleave;
use crate::host::{has_bit_instructions, in_two_copies};
use crate::net::{Inbox, LINE_BYTES, Outbox};
use crate::techniques::{TechniqueCounters, Techniques};
use controller::Controller;
pub use counters::{DramCounters, L2Counters};
pub use site::{ControllerMessage, LineBytes, Metadata, Transfer, TransferPlan, TransferSite, Way};
use slice::{Cause, LookedUp, Slice};
use time::SliceClock;

pub struct Partition {
    index: usize,
    interleave: Interleave,
    clock: SliceClock,
    slice: Slice,
    memory: Controller,
    /// The next L2 clock to be run.
    next_clock: u64,
    /// Why the next request stood still in the last clock that was run, if it did.
    blocked: Option<Cause>,
    /// The next request's line, if that was looked up. No other request allocates or evicts lines before it is taken.
    head: Option<LookedUp>,
    /// A clock is a cycle, and no technique is at the controller. If none is at the data array either, the loop is one that is compiled for such partitions
    /// alone, and requests that hit can be taken by `hits`.
    is_plain: bool,
    /// The last request hit, and they are: the next one may hit, too.
    hits: bool,
    /// Whether the host has instructions for bits.
    bit_instructions: bool,
}

impl Partition {
    pub fn new(config: &Config, techniques: &Techniques, index: usize) -> Partition {
        let clock = SliceClock::new(config);
        let slice = Slice::new(config, techniques, index as u32);
        let memory = Controller::new(config, techniques, index, config.l2.mshrs as usize);
        Partition {
            index,
            interleave: Interleave::new(config),
            is_plain: clock.is_core() && !memory.has_sites(),
            clock,
            slice,
            memory,
            hits: false,
            next_clock: 0,
            blocked: None,
            head: None,
            bit_instructions: has_bit_instructions(),
        }
    }

    pub fn l2(&self) -> L2Counters {
        self.slice.counters()
    }

    pub fn dram(&self) -> DramCounters {
        self.memory.counters()
    }

    /// What techniques counted in this partition.
    pub fn technique_counters(&self) -> TechniqueCounters {
        let mut counters = TechniqueCounters::default();
        self.memory.count_techniques(&mut counters);
        self.slice.data.count_techniques(&mut counters);
        counters
    }

    /// What a technique found wrong, if one did.
    pub fn corrupted(&self) -> Option<String> {
        self.slice.data.corrupted().or_else(|| self.memory.corrupted())
    }

    /// A stored bit was to be flipped, and no technique has noticed one.
    pub fn fault_is_pending(&self) -> bool {
        self.slice.data.fault_is_pending() || self.memory.fault_is_pending()
    }

    /// The host copies or fills a line of this partition, or reads it.
    pub fn copied(&mut self, now: u64, way: Way, address: u64, memory: &DeviceMemory) {
        self.memory.copied(now, way, address, memory);
    }

    /// A line that the host wrote stays in L2, if it finds room.
    pub fn leave(&mut self, address: u64) {
        let partition = self;
        in_two_copies!(partition.bit_instructions, |partition: &mut Partition, address: u64| -> () {
            partition.slice.leave(partition.interleave.local(address) / LINE_BYTES)
        });
    }

    /// How many thread instructions are to be executed until techniques at the controllers tell each other something.
    pub fn tells_at(&self) -> u64 {
        self.memory.tells_at()
    }

    /// What techniques have to tell, each with its place in the list of techniques.
    pub fn tell(&mut self, told: &mut Vec<(usize, ControllerMessage)>) {
        self.memory.tell(told);
    }

    /// What the technique at a place in the list told at all controllers.
    pub fn hear(&mut self, now: u64, technique: usize, told: &[ControllerMessage]) {
        self.memory.hear(now, technique, told);
    }

    /// Runs from cycle `from` to before `to`. `step`: no clock is skipped, with the same result. `memory` is read only, for techniques.
    pub fn run(
        &mut self,
        from: u64,
        to: u64,
        memory: &DeviceMemory,
        inbox: &mut Inbox,
        outbox: &mut Outbox,
        step: bool,
    ) {
        let partition = self;
        // Bit and vector instructions are for words of a line and tags of a set.
        if partition.is_plain && !partition.slice.data.has_sites() && !step {
            in_two_copies!(partition.bit_instructions, |partition: &mut Partition,
                                                        from: u64,
                                                        to: u64,
                                                        memory: &DeviceMemory,
                                                        inbox: &mut Inbox,
                                                        outbox: &mut Outbox|
             -> () {
                partition.run_clocks::<true>(from, to, memory, inbox, outbox, false)
            });
        } else {
            in_two_copies!(partition.bit_instructions, |partition: &mut Partition,
                                                        from: u64,
                                                        to: u64,
                                                        memory: &DeviceMemory,
                                                        inbox: &mut Inbox,
                                                        outbox: &mut Outbox,
                                                        step: bool|
             -> () {
                partition.run_clocks::<false>(from, to, memory, inbox, outbox, step)
            });
        }
    }

    /// `PLAIN`: the partition is.
    #[inline(always)]
    fn run_clocks<const PLAIN: bool>(
        &mut self,
        from: u64,
        to: u64,
        memory: &DeviceMemory,
        inbox: &mut Inbox,
        outbox: &mut Outbox,
        step: bool,
    ) {
        let end = self.first::<PLAIN>(to);
        let mut clock = self.next_clock.max(self.first::<PLAIN>(from));
        self.stand_still(self.next_clock, clock);
        if !step && !self.slice.is_fetching() && inbox.next() >= to {
            clock = clock.max(end);
        }
        while clock < end {
            let until = if step { clock } else { end };
            let last_hit = if PLAIN { self.take_hits(clock, end, inbox, outbox) } else { None };
            clock = match last_hit {
                Some(clock) => clock,
                None => self.step::<PLAIN>(clock, until, memory, inbox, outbox),
            };
            let next = if step { clock + 1 } else { self.next_event::<PLAIN>(clock, inbox, outbox).min(end) };
            self.stand_still(clock, next);
            clock = next;
        }
        self.next_clock = clock;
        self.slice.send(clock, outbox);
        // Memory goes on by itself when the slice has nothing to do.
        self.memory.bring_to(self.cycle::<PLAIN>(clock.saturating_sub(1)));
    }

    /// [`SliceClock::first`].
    #[inline(always)]
    fn first<const PLAIN: bool>(&self, cycle: u64) -> u64 {
        if PLAIN { cycle } else { self.clock.first(cycle) }
    }

    /// [`SliceClock::cycle`].
    #[inline(always)]
    fn cycle<const PLAIN: bool>(&self, clock: u64) -> u64 {
        if PLAIN { clock } else { self.clock.cycle(clock) }
    }

    /// One L2 clock, but for answers that leave. If the next request waits in it for the data array alone, and nothing can happen before that is
    /// free, goes on to that clock, as far as it is before `until`. Gives the last clock.
    #[inline(always)]
    fn step<const PLAIN: bool>(
        &mut self,
        mut clock: u64,
        until: u64,
        memory: &DeviceMemory,
        inbox: &mut Inbox,
        outbox: &mut Outbox,
    ) -> u64 {
        let mut now = self.cycle::<PLAIN>(clock);
        self.memory.advance(now);
        if self.memory.returned_at() <= now {
            self.slice.fill::<PLAIN>(clock, &mut self.memory, outbox);
            if !PLAIN {
                // Lines that a technique gave up are written back with a fill, too.
                self.memory.dispatch(now, memory);
            }
        }
        if let Some(cause) = self.blocked
            && self.slice.still_blocks(cause, clock, outbox)
        {
            return clock;
        }
        let Some(packet) = inbox.peek(now) else { return clock };
        if !PLAIN && self.blocked.is_none() {
            self.slice.lose(clock, &mut self.memory);
        }
        // A line can be lost while a request for it waits.
        let head = match self.head {
            Some(head) if PLAIN || !self.slice.data.has_sites() => head,
            _ => self.slice.look_up(self.interleave.local(packet.address) / LINE_BYTES),
        };
        loop {
            let accepted = self.slice.accept::<PLAIN>(clock, head, packet, &mut self.memory, outbox);
            let Err(cause) = accepted else {
                (self.blocked, self.head, self.hits) = (None, None, PLAIN && head.is_there());
                inbox.drop_next(now);
                break;
            };
            (self.blocked, self.head) = (Some(cause), Some(head));
            if cause != Cause::Array {
                break;
            }
            let free = self.slice.free_from(Cause::Array);
            let is_alone = (PLAIN || !self.slice.data.has_sites())
                && self.memory.next_return() > self.cycle::<PLAIN>(free);
            if free >= until || !is_alone {
                break;
            }
            self.stand_still(clock, free);
            clock = free;
            now = self.cycle::<PLAIN>(clock);
            self.memory.advance(now);
        }
        if !PLAIN {
            self.memory.dispatch(now, memory);
        }
        clock
    }

    /// The next clock in which something may happen, as seen after `clock`.
    #[inline(always)]
    fn next_event<const PLAIN: bool>(&mut self, clock: u64, inbox: &Inbox, outbox: &mut Outbox) -> u64 {
        let now = self.cycle::<PLAIN>(clock);
        let mut next = match self.blocked {
            None => self.first::<PLAIN>(inbox.next()),
            Some(cause) => self.next_unblocked(cause, clock, outbox),
        };
        // Lines that memory may have to give before that are found out now.
        if self.first::<PLAIN>(self.memory.next_unknown()) < next {
            self.memory.bring_nearer();
        }
        next = next.min(match self.memory.returned_at() {
            line if line > now => self.first::<PLAIN>(line),
            _ => match self.slice.free_from(Cause::Array) {
                free if free > clock => free,
                // With the array free, it is answers that are in the way.
                _ => self.next_reply(clock, outbox),
            },
        });
        next.min(self.first::<PLAIN>(self.memory.next_unknown())).max(clock + 1)
    }

    /// The next clock in which what the next request waits for may be there.
    #[inline(never)]
    fn next_unblocked(&mut self, cause: Cause, clock: u64, outbox: &mut Outbox) -> u64 {
        match cause {
            Cause::Memory => self.next_command(),
            Cause::Reply => self.next_reply(clock, outbox),
            _ => self.slice.free_from(cause),
        }
    }

    /// The next clock in which memory may have room.
    #[inline(never)]
    fn next_command(&mut self) -> u64 {
        self.memory.bring_up();
        self.clock.first(self.memory.next_command())
    }

    /// The next clock in which an answer leaves, as far as that is known.
    #[inline(never)]
    fn next_reply(&mut self, clock: u64, outbox: &mut Outbox) -> u64 {
        let slice = &mut self.slice;
        slice.replies.send_leaving(clock, outbox, &mut slice.counters);
        slice.replies.next_leaving(clock, outbox)
    }

    /// Counts clocks from `from` to before `to` in which the next request went on standing still.
    #[inline(always)]
    fn stand_still(&mut self, from: u64, to: u64) {
        if let Some(cause) = self.blocked
            && from < to
        {
            *self.slice.counters.blocked(cause) += to - from;
        }
    }

    /// A cycle before which nothing happens without new packets; `u64::MAX` if nothing is under way.
    pub fn next(&self) -> u64 {
        let next = self.clock.cycle(self.next_clock);
        if self.blocked.is_some() || self.slice.replies.waits() {
            return next;
        }
        let reply = match self.slice.replies.next_ready() {
            u64::MAX => u64::MAX,
            ready => self.clock.cycle(ready),
        };
        let fill = self.memory.returned_at();
        reply.min(fill).min(self.memory.next_command()).max(next)
    }

    /// Nothing is under way.
    pub fn is_idle(&self) -> bool {
        self.slice.is_idle() && self.memory.is_idle()
    }

    /// Brings counters of time up to date, and what memory does without being asked. Since the last time a kernel was under way, or none was.
    pub fn settle(&mut self, now: u64, busy: bool) {
        self.memory.settle(now);
        self.slice.data.settle(self.clock.first(now), busy);
    }

    /// What is waiting, in words.
    pub fn waiting(&self) -> Vec<String> {
        let mut out = Vec::new();
        let name = format!("memory partition {}", self.index);
        if let Some(cause) = self.blocked {
            out.push(format!("{name}: the next request waits for {}", cause.in_words()));
        }
        self.slice.waiting(&name, &mut out);
        self.memory.waiting(&name, &mut out);
        out
    }
}
