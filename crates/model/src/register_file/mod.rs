// SPDX-License-Identifier: MIT OR Apache-2.0
//! The register file of an SM and its operand collectors.
//!
//! ```text
//!     instruction ─► plan: accesses ─► techniques regroup, rename, delay ─► ports of the banks ─► collector
//!     result ─► techniques rename, delay ─► result bus ─► ports of the banks
//! ```
//!
//! Registers are spread over banks (`map`), each of which gives or takes one operand of a warp in a cycle: 32 lanes of 4 bytes, out of as many
//! sub-banks as make it up. 32 banks of 128 bits in 4 clusters, and 4 banks of 8 sub-banks, as papers describe register files, are both
//! 4 banks of 8 here. A collector gathers the operands of one instruction. Banks are booked in the order of issue.

mod booking;
mod collectors;
mod columns;
mod counters;
mod map;
mod operands;
mod plan;
mod results;
mod site;
#[cfg(test)]
mod tests;

use warpwatt_base::calendar::{Boards, HORIZON};
use warpwatt_config::Config;

use crate::sm::{CollectorPool, SOURCES, Timing, Unit};
use crate::techniques::{Hung, TechniqueCounters, Techniques};

use booking::{Booking, COUNTED};
use collectors::Collectors;
pub use columns::Columns;
pub use counters::RegisterCounters;
pub use map::{BankEntry, Map};
pub use operands::{OperandPort, Reads};
pub use plan::{NONE, ReadAccess, ReadPlan};
pub use results::ResultPort;
use results::ResultPorts;
pub use site::{
    Before, Coming, Looks, Mismatch, Next, ReadPort, RegisterFileSite, Started, Values, WriteAccess, Written,
};

/// The calendars of an SM: ports of the banks that read, result buses and execution units on one board, and ports that write if they are not the same.
pub type Calendars = Boards<3>;
/// The numbers of their boards.
const READS: usize = 0;
const BUSES: usize = 1;
pub const UNITS: usize = BUSES;
const WRITES: usize = 2;
/// Execution units have bits from this one on; buses those below, of which there are as many at most.
pub const FIRST_UNIT: u32 = 16;

/// The ports that results go through: those that operands come from, or their own. As numbers, their calendars.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WritePorts {
    OfReads = READS as isize,
    Own = WRITES as isize,
}

pub struct RegisterFile {
    map: Map,
    pub calendars: Calendars,
    /// The calendar of the ports that results go through.
    write_ports: WritePorts,
    /// Result buses.
    unit_buses: u64,
    memory_buses: u64,
    collectors: Collectors,
    /// The ports of the banks as techniques use them.
    ports: ResultPorts,
    plan: ReadPlan,
    /// The techniques that act here.
    pub sites: Vec<Hung<dyn RegisterFileSite>>,
    looks_before: Looks,
    /// There is one, which reads operands without a plan.
    reads_alone: bool,
    counters: RegisterCounters,
}

impl RegisterFile {
    pub fn new(config: &Config, techniques: &Techniques, sm: u32) -> RegisterFile {
        let rf = &config.rf;
        let map = Map::new(config);
        let unit_buses = (1 << rf.write_back) - 1;
        let memory_buses = ((1 << rf.write_back_memory) - 1) << rf.write_back;
        let sites: Vec<Hung<dyn RegisterFileSite>> =
            techniques.hang(config, sm, |sites, build| sites.register_file.map(|at| at(build)));
        RegisterFile {
            map: map.clone(),
            calendars: Calendars::of(if rf.shared_port { WRITES } else { WRITES + 1 }),
            write_ports: if rf.shared_port { WritePorts::OfReads } else { WritePorts::Own },
            unit_buses,
            memory_buses,
            collectors: Collectors::new(config),
            ports: ResultPorts {
                banks: OperandPort {
                    columns: Columns::default(),
                    counters: RegisterCounters::default(),
                    spared: [0; 2],
                    ports: u64::from(rf.collector_ports),
                    sub_banks: u64::from(rf.sub_banks),
                },
                map,
                are_own: !rf.shared_port,
                buses: [unit_buses, memory_buses],
            },
            plan: ReadPlan::default(),
            looks_before: sites.iter().map(|hung| hung.site.looks_before()).max().unwrap_or_default(),
            reads_alone: matches!(&sites[..], [only] if only.site.reads_alone()),
            sites,
            counters: RegisterCounters::default(),
        }
    }

    /// What was counted. An access of a warp activates all sub-banks of its bank, unless a technique knows better.
    pub fn counters(&self) -> RegisterCounters {
        let OperandPort { counters: asked, spared, sub_banks, .. } = &self.ports.banks;
        let (reads, writes) = (self.counters.reads + asked.reads, self.counters.writes + asked.writes);
        RegisterCounters {
            reads,
            writes,
            sub_bank_reads: reads * sub_banks - spared[0],
            sub_bank_writes: writes * sub_banks - spared[1],
            read_conflicts: self.counters.read_conflicts + asked.read_conflicts,
            write_conflicts: self.counters.write_conflicts + asked.write_conflicts,
            collecting: self.counters.collecting,
        }
    }

    /// Adds what techniques counted here.
    pub fn count_techniques(&self, counters: &mut TechniqueCounters) {
        for Hung { technique, site } in &self.sites {
            counters.note(*technique, site.counters().as_ref());
            for (name, others) in site.counters_of_others() {
                if let Some(place) = Techniques::ALL.iter().position(|technique| technique.name == name) {
                    counters.note(place, others.as_ref());
                }
            }
        }
    }

    /// Whether a technique acts here.
    #[inline(always)]
    pub fn has_sites(&self) -> bool {
        !self.sites.is_empty()
    }

    /// When a technique has anything to do before an instruction issues.
    #[inline(always)]
    pub fn looks_before(&self) -> Looks {
        self.looks_before
    }

    /// Whether a kind has no free collector.
    #[inline(always)]
    pub fn any_full(&self) -> bool {
        self.collectors.any_full()
    }

    /// Kinds without a free collector, a bit for each.
    #[inline(always)]
    pub fn full(&self) -> u32 {
        self.collectors.full()
    }

    /// Whether a kind has no free collector.
    #[inline(always)]
    pub fn is_full(&self, pool: CollectorPool) -> bool {
        self.full() >> pool as u32 & 1 != 0
    }

    /// First cycle from `now` on, the present one, in which a collector of a kind is free, if no instruction issues.
    pub fn free_at(&self, pool: CollectorPool, now: u64) -> u64 {
        self.collectors.free_at(pool, now)
    }

    /// A cycle begins. To be called before anything is booked in it.
    #[inline(always)]
    pub fn advance(&mut self, now: u64) {
        self.collectors.advance(self.calendars.now(), now);
        self.calendars.advance(now);
    }

    /// Books the reads of an instruction that issues now; gives the cycle in which all operands are there.
    #[inline(always)]
    pub fn collect(&mut self, now: u64, slot: usize, timing: &Timing) -> u64 {
        if !self.sites.is_empty() {
            return self.collect_with_techniques(now, slot, timing);
        }
        self.collect_unchanged(now, slot, timing)
    }

    /// [`RegisterFile::collect`] where no technique acts.
    #[inline(always)]
    pub fn collect_unchanged(&mut self, now: u64, slot: usize, timing: &Timing) -> u64 {
        match self.reads_at_once(now, slot, timing) {
            Some(ready) => ready,
            None => self.collect_later(now, slot, timing),
        }
    }

    /// A shortcut for operands of different banks that no technique changes, if these are free: what the plan comes to is known since the kernel was decoded.
    /// All operands are there within three cycles.
    #[inline(always)]
    pub fn reads_at_once(&mut self, now: u64, slot: usize, timing: &Timing) -> Option<u64> {
        // Copies of a bank's bit that stand for no bank change nothing.
        let banks = |cycle: usize| self.map.turned_all_over(timing.read_banks[cycle], slot);
        let calendars = &mut self.calendars;
        let ready = match timing.reads_later {
            0 => {
                let first = banks(0);
                if calendars.taken_on(READS, now + 1) & first != 0 {
                    return None;
                }
                calendars.mark_on(READS, now + 1, first);
                now + 1 + u64::from(first != 0)
            }
            later if timing.reads_plainly() => {
                let (first, second) = (banks(0), banks(1));
                if calendars.taken_on(READS, now + 1) & first | calendars.taken_on(READS, now + 2) & second
                    != 0
                {
                    return None;
                }
                calendars.mark_on(READS, now + 1, first);
                calendars.mark_on(READS, now + 2, second);
                self.counters.read_conflicts += u64::from(later);
                now + 3
            }
            _ => return None,
        };
        self.counters.reads += u64::from(timing.sources);
        Some(ready)
    }

    /// Books reads that the shortcut has no answer for.
    #[cold]
    #[inline(never)]
    fn collect_later(&mut self, now: u64, slot: usize, timing: &Timing) -> u64 {
        self.collect_later_here(now, slot, timing)
    }

    /// [`RegisterFile::collect_later`] for functions that are not called often.
    #[inline(always)]
    pub fn collect_later_here(&mut self, now: u64, slot: usize, timing: &Timing) -> u64 {
        if timing.reads_later > 1 {
            // As many, or scattered.
            return self.collect_one_by_one(now, slot, timing);
        }
        let [first, second] = timing.read_banks.map(|banks| self.map.turned(banks, slot));
        self.counters.reads += u64::from(timing.sources);
        if second == 0
            && let Some(ready) = self.collect_in_two(now, first)
        {
            return ready;
        }
        self.collect_cycle_by_cycle(now, first, second)
    }

    /// The shortcut for operands of different banks that would come at once, if it were not for some of them, which mostly are free in the next cycle.
    #[inline(always)]
    fn collect_in_two(&mut self, now: u64, banks: u64) -> Option<u64> {
        let free = banks & !self.calendars.taken_on(READS, now + 1);
        let left = banks ^ free;
        if left & left.wrapping_sub(1) != 0 || self.calendars.taken_on(READS, now + 2) & left != 0 {
            return None;
        }
        self.calendars.mark_on(READS, now + 1, free);
        self.calendars.mark_on(READS, now + 2, left);
        self.counters.read_conflicts += 1;
        Some(now + 3)
    }

    /// The shortcut for operands of different banks, one more than ports at most: in each cycle all come whose banks are free, and if that is
    /// everything, the last has to wait.
    #[inline(always)]
    fn collect_cycle_by_cycle(&mut self, now: u64, first: u64, second: u64) -> u64 {
        let calendars = &mut self.calendars;
        let mut left = first | second;
        let (mut at, mut waited) = (now + 1, 0);
        loop {
            let free = left & !calendars.taken_on(READS, at);
            let all = free == first | second && second != 0 && at - now <= COUNTED;
            let come = if all { first } else { free };
            calendars.mark_on(READS, at, come);
            left ^= come;
            at += 1;
            if left == 0 {
                break;
            }
            let rest = left & (left - 1);
            waited += if rest == 0 { 1 } else { u64::from(1 + rest.count_ones()) };
            if at - now == HORIZON {
                while left != 0 {
                    let bank = left & left.wrapping_neg();
                    left ^= bank;
                    let came = calendars.book_on(READS, bank, now + HORIZON);
                    waited += came - (now + HORIZON);
                    at = at.max(came + 1);
                }
                break;
            }
        }
        self.counters.read_conflicts += waited;
        at
    }

    /// Any operands without techniques: an access for each source, booked one by one.
    #[inline(always)]
    fn collect_one_by_one(&mut self, now: u64, slot: usize, timing: &Timing) -> u64 {
        let mut booking = Booking::new(now, self.ports.banks.ports);
        let mut ready = now + 1;
        let sources = &timing.source[..usize::from(timing.sources).min(SOURCES)];
        for &register in sources {
            let at = booking.book(&mut self.calendars, self.map.bit(slot, register));
            ready = ready.max(at + 1);
        }
        self.counters.reads += sources.len() as u64;
        self.counters.read_conflicts += booking.waited;
        ready
    }

    /// Operands that techniques may change.
    #[inline(never)]
    fn collect_with_techniques(&mut self, now: u64, slot: usize, timing: &Timing) -> u64 {
        let port = &mut self.ports.banks;
        match &mut self.sites[..] {
            [only] if self.reads_alone => only.site.read(now, slot, timing, port),
            sites => {
                self.plan.make(&self.map, slot, timing, port.sub_banks as u8);
                port.read_planned(sites, &mut self.plan, now, slot, timing)
            }
        }
    }

    /// Tells techniques that an instruction has issued, and books its reads; gives the cycle in which all operands are there.
    #[inline(always)]
    pub fn issue(&mut self, now: u64, next: &Next) -> u64 {
        match &mut self.sites[..] {
            [only] if self.reads_alone => only.site.issue(now, next, &mut self.ports.banks),
            _ => self.issue_one_by_one(now, next),
        }
    }

    /// [`RegisterFile::issue`] where no technique reads operands without a plan.
    #[cold]
    #[inline(never)]
    fn issue_one_by_one(&mut self, now: u64, next: &Next) -> u64 {
        self.tell_issued(now, next);
        self.collect(now, next.slot, next.timing)
    }

    /// Tells techniques that an instruction has issued.
    pub fn tell_issued(&mut self, now: u64, next: &Next) {
        self.sites.iter_mut().for_each(|hung| hung.site.issued(now, next));
    }

    /// A collector is in use until its instruction is dispatched.
    #[inline(always)]
    pub fn hold(&mut self, now: u64, pool: CollectorPool, until: u64) {
        self.collectors.hold(pool, now, until);
        self.counters.collecting += until - now;
    }

    /// [`RegisterFile::hold`] until one of the next few cycles.
    #[inline(always)]
    pub fn hold_briefly(&mut self, now: u64, pool: CollectorPool, until: u64) {
        self.collectors.hold_briefly(pool, now, until);
        self.counters.collecting += until - now;
    }

    /// A memory instruction has its operands from a cycle on. Its collector is a place in the memory unit's queue, and one of the pool that
    /// all units share, if they do.
    #[inline(always)]
    pub fn hold_for_memory(&mut self, now: u64, until: u64) {
        if self.collectors.are_shared() {
            self.hold(now, CollectorPool::Memory, until);
        }
    }

    /// The result buses that memory may use, or those of the units.
    #[inline(always)]
    fn buses(&self, memory: bool) -> u64 {
        if memory { self.memory_buses } else { self.unit_buses }
    }

    /// Books the way of a result that no technique changes into the register file; gives the cycle in which all of it is written. `memory` tells
    /// whether it comes from memory, or from a unit.
    #[inline(always)]
    pub fn write_plainly(&mut self, now: u64, slot: usize, timing: &Timing, memory: bool) -> u64 {
        debug_assert_eq!(memory, timing.unit == Unit::Memory);
        if timing.dst_words != 1 {
            return if timing.dst_words == 0 { now } else { self.write_one_by_one(now, slot, timing) };
        }
        self.counters.writes += 1;
        let buses = self.buses(memory);
        let (bank, port) = (self.map.bit(slot, timing.dst), self.write_ports as usize);
        let free = buses & !self.calendars.taken_on(BUSES, now);
        if free != 0 && self.calendars.taken_on(port, now) & bank == 0 {
            self.calendars.mark_on(BUSES, now, free & free.wrapping_neg());
            self.calendars.mark_on(port, now, bank);
            return now;
        }
        self.write_later(now, buses, bank)
    }

    /// A result of one register that has to wait for a bus or for its bank.
    #[cold]
    #[inline(never)]
    fn write_later(&mut self, now: u64, buses: u64, bank: u64) -> u64 {
        let port = self.write_ports as usize;
        let start = match self.calendars.takes(BUSES, buses, now) {
            // Then its bank is taken, mostly for this cycle alone.
            true if self.calendars.taken_on(port, now + 1) & bank == 0 => {
                self.calendars.mark_on(port, now + 1, bank);
                self.counters.write_conflicts += 1;
                return now + 1;
            }
            true => now,
            false => self.calendars.book_any_on(BUSES, buses, now),
        };
        let at = self.calendars.book_on(port, bank, start);
        self.counters.write_conflicts += at - now;
        at
    }

    /// A result of several registers.
    #[cold]
    #[inline(never)]
    fn write_one_by_one(&mut self, now: u64, slot: usize, timing: &Timing) -> u64 {
        let (buses, port) = (self.buses(timing.unit == Unit::Memory), self.write_ports as usize);
        if timing.dst_words == 2
            && let Some(done) = self.write_two(now, slot, timing.dst, buses, port)
        {
            return done;
        }
        let (mut done, mut waited, mut earliest) = (now, 0, now);
        for word in 0..timing.dst_words {
            let start = self.calendars.book_any_on(BUSES, buses, earliest);
            // Before that, none is free for the next one, and if there is but one, it is taken then, too.
            earliest = start + u64::from(buses & (buses - 1) == 0);
            let at = self.calendars.book_on(port, self.map.bit(slot, timing.dst + word), start);
            waited += at - now;
            done = done.max(at);
        }
        self.counters.write_conflicts += waited;
        self.counters.writes += u64::from(timing.dst_words);
        done
    }

    /// A result of two registers, both of which are written now, or one now and one in the next cycle if it has a single bus. If something else is in the
    /// way, nothing is booked.
    #[inline(always)]
    fn write_two(&mut self, now: u64, slot: usize, register: u8, buses: u64, port: usize) -> Option<u64> {
        let [first, second] = [register, register + 1].map(|register| self.map.bit(slot, register));
        let calendars = &mut self.calendars;
        let free = buses & !calendars.taken_on(BUSES, now);
        let rest = free & free.wrapping_sub(1);
        if rest != 0 && first != second && calendars.taken_on(port, now) & (first | second) == 0 {
            calendars.mark_on(BUSES, now, free & free.wrapping_neg() | rest & rest.wrapping_neg());
            calendars.mark_on(port, now, first | second);
            self.counters.writes += 2;
            return Some(now);
        }
        let later = buses & !self.calendars.taken_on(BUSES, now + 1);
        let conflicts =
            self.calendars.taken_on(port, now) & first | self.calendars.taken_on(port, now + 1) & second;
        if free == 0 || rest != 0 || later == 0 || conflicts != 0 {
            return None;
        }
        for (at, bus, bank) in [(now, free, first), (now + 1, later & later.wrapping_neg(), second)] {
            self.calendars.mark_on(BUSES, at, bus);
            self.calendars.mark_on(port, at, bank);
        }
        self.counters.writes += 2;
        self.counters.write_conflicts += 1;
        Some(now + 1)
    }

    /// Books the way of a result of a register or more into the register file as techniques have it, which are shown the values; gives the cycle in
    /// which all of it is written.
    #[inline(always)]
    pub fn write_back(&mut self, result: &Coming) -> u64 {
        let mut port = ResultPort { calendars: &mut self.calendars, ports: &mut self.ports };
        match &mut self.sites[..] {
            [only] => only.site.write_all(result, port),
            several => port.write_for(several, result),
        }
    }

    /// Techniques bring counters of time up to date.
    pub fn settle(&mut self, now: u64) {
        for hung in &mut self.sites {
            hung.site.settle(now);
        }
    }

    /// A stored bit was to be flipped, and no technique has noticed one.
    pub fn fault_is_pending(&self) -> bool {
        self.sites.iter().any(|hung| hung.site.fault_is_pending())
    }
}
