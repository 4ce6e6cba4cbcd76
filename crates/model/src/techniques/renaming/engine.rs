// SPDX-License-Identifier: MIT OR Apache-2.0
//! Allocation and release of the places of registers; `reads.rs` has the operands.

use warpwatt_base::calendar::Board;
use warpwatt_base::counters::CounterSet;
use warpwatt_codecs::packing::{
    Allocator, Change, Freed, Home, Mapping, REGISTERS, Seen, Set, WHOLE, for_each, slices, width,
};
use warpwatt_exec::lanes::Row;

use super::deaths::{Death, Deaths};
use super::occupancy::Occupancy;
use super::shadow::Shadow;
use super::{Counters, Gating, Parameters};
use crate::host::{has_bit_instructions, in_two_copies};
use crate::register_file::{
    Before, Coming, Looks, Next, OperandPort, ReadPlan, ReadPort, RegisterFileSite, ResultPort, Started,
    Values, WriteAccess, Written,
};
use crate::sm::{Effect, SOURCES, Timing};
use crate::techniques::kit::queue::Queue;
use crate::techniques::packing::SubBanks;
use crate::techniques::{Build, Fault, corf, corf_plus, packing, virtualization};

/// Warp slots that there may be.
const SLOTS: usize = crate::sm::Slot::COUNT;

/// Which operands come with one access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Coalescing {
    None,
    /// Partners in one entry.
    Partners,
    /// Any two in one entry.
    Entry,
    /// Any two of one bank in different slices.
    Slices,
}

/// A warp's registers.
#[derive(Clone, Copy, Default)]
pub(super) struct Warp {
    /// Registers that it has.
    registers: u32,
    /// It may have reached a join where registers are dead that no read released.
    joins: bool,
    /// Last reads of the instruction that issued last release registers: no lane is elsewhere, where it might need them.
    pub releases: bool,
}

/// There is always a place, if need be in another bank.
const ROOM: &str = "a warp has no more registers than entries";

/// The most queues for the ports of the table.
const QUEUES: usize = 64;

/// A write under way: lanes that it is for, and lanes that the warp was started with and that it leaves out.
type Expected = (u32, u32);

pub struct Engine {
    pub(super) parameters: Parameters,
    pub(super) packing: Option<packing::Parameters>,
    packs: bool,
    /// A register that grows in a partial write is read first.
    growth_reads: bool,
    virtualization: Option<virtualization::Parameters>,
    pub(super) coalescing: Coalescing,
    pub(super) allocator: Allocator,
    pub(super) warps: Box<[Warp; SLOTS]>,
    expected: Box<[Expected; SLOTS * REGISTERS]>,
    /// Registers that are released in a cycle, unless they are written before.
    deaths: Deaths,
    /// Those who wait for ports of the table, by bank their queue, and those who wait for packers.
    queues: [Queue; QUEUES],
    queue_of: [u8; 256],
    packers: Queue,
    /// How many packers there are, none if they take no time, and cycles that one takes.
    packer_count: u32,
    pack_cycles: u64,
    /// Packers if results wait for ports before: those who waited less overtake others.
    packers_behind_ports: Board,
    /// By place of an entry: when it can be written.
    awake: Vec<u64>,
    pub(super) arrays_of_slice: u32,
    /// An access activates the arrays of the slices that it is for, not all.
    pub(super) selective: bool,
    /// An operand of the instruction that was planned last is narrow, and to unpack one takes time.
    pub(super) reads_narrow: bool,
    pub(super) unpacks: bool,
    /// Accesses activate whole entries, and lookups take ports.
    pub(super) reads_plainly: bool,
    occupancy: Occupancy,
    shadow: Option<Box<Shadow>>,
    /// Registers that were written by other means than a result, and those that kept their places until their warp ended.
    late: u64,
    ended: u64,
    pub(super) counters: Counters,
    pub(super) packed: packing::Counters,
    /// Instructions by sources, if these have no 64-bit operands or upper halves among them and were read without a plan.
    pub(super) instructions: [u64; SOURCES + 1],
    /// Operands read, those without an entry among them, and results written, by their slices; those that are the upper half of a 64-bit value apart.
    pub(super) reads_by_mask: [[u64; 16]; 2],
    writes_by_mask: [[u64; 16]; 2],
    released: virtualization::Counters,
    corf: Option<corf::Counters>,
    corf_plus: Option<corf_plus::Counters>,
    /// The host has the instructions for bits and vectors for which some methods have a second copy.
    bit_instructions: bool,
}

#[inline(always)]
pub(super) fn index(slot: usize, register: u8) -> usize {
    slot % SLOTS * REGISTERS + usize::from(register)
}

/// Banks of the table whose ports are apart, given the ports of each. Banks beyond that share them.
fn queues(ports: u32) -> usize {
    QUEUES / ports.max(1) as usize
}

/// Counts instructions that read so many registers for so many operands, with or without the upper half of a 64-bit value.
#[inline(always)]
pub(super) fn count_operands(
    packed: &mut packing::Counters,
    instructions: u64,
    registers: u64,
    operands: u64,
    upper: bool,
) {
    packed.operands += instructions * operands;
    if operands > 1 {
        packed.multi_source += instructions;
        packed.multi_source_reads += instructions * registers;
        packed.multi_source_operands += instructions * operands;
        packed.multi_source_wide += if upper { instructions } else { 0 };
    }
}

/// Registers that lost their places in the same cycle, with the slices that they had, and the entries that are empty by that.
#[derive(Default)]
struct AllFreed {
    registers: u64,
    slices: u64,
    entries: u64,
}

impl AllFreed {
    #[inline(always)]
    fn add(&mut self, freed: Option<Freed>) {
        if let Some(Freed { slices, last }) = freed {
            self.registers += 1;
            self.slices += u64::from(slices);
            self.entries += u64::from(last);
        }
    }
}

/// Registers by the bytes that they take of a lane, from those by their slices.
fn by_width(by_mask: [u64; 16]) -> [u64; 4] {
    let mut widths = [0; 4];
    for (mask, count) in by_mask.into_iter().enumerate().skip(1) {
        widths[mask.count_ones() as usize - 1] += count;
    }
    widths
}

impl Engine {
    pub fn new(build: &Build) -> Engine {
        let on = build.techniques;
        let parameters: &Parameters = build.settings.of();
        let packing: Option<&packing::Parameters> = on.parameters_of(packing::NAME);
        let pairs: Option<&corf::Parameters> = on.parameters_of(corf::NAME);
        let sides: Option<&corf_plus::Parameters> = on.parameters_of(corf_plus::NAME);
        let banks = build.config.rf.banks as usize;
        let entries = (build.config.sm.registers as usize).div_ceil(32).div_ceil(banks);
        let home = if sides.is_some() { Home::Warp } else { Home::Spread };
        let coalescing = match (pairs, packing) {
            (_, None) => Coalescing::None,
            _ if sides.is_some() => Coalescing::Slices,
            (Some(pairs), _) if !pairs.first_fit => Coalescing::Partners,
            (Some(_), _) => Coalescing::Entry,
            (None, Some(packing)) if packing.coalesce => Coalescing::Entry,
            (None, Some(_)) => Coalescing::None,
        };
        let shadow = || {
            let flip = build.inject == Some(Fault::Rf);
            Box::new(Shadow::new(banks, entries, SLOTS * REGISTERS, flip))
        };
        let allocator = Allocator::new(SLOTS, banks, entries, home, packing.is_some());
        Engine {
            packing: packing.cloned(),
            packs: packing.is_some(),
            growth_reads: packing.is_some_and(|packing| packing.growth_reads),
            virtualization: on.parameters_of(virtualization::NAME).cloned(),
            coalescing,
            awake: vec![0; allocator.places_of_entries()],
            allocator,
            warps: Box::new([Warp::default(); SLOTS]),
            expected: vec![Expected::default(); SLOTS * REGISTERS]
                .try_into()
                .unwrap_or_else(|_| unreachable!()),
            deaths: Deaths::default(),
            queues: [Queue::default(); QUEUES],
            queue_of: std::array::from_fn(|bank| (bank % queues(parameters.ports)) as u8),
            packers: Queue::default(),
            packer_count: packing.map_or(0, |packing| packing.packers),
            pack_cycles: packing.map_or(0, |packing| u64::from(packing.pack_cycles)),
            packers_behind_ports: Board::default(),
            arrays_of_slice: build.config.rf.sub_banks / 4,
            selective: packing.is_some_and(|packing| packing.sub_bank_energy == SubBanks::Selective),
            reads_narrow: false,
            unpacks: packing.is_some_and(|packing| packing.unpack_cycles != 0),
            reads_plainly: packing.is_none_or(|packing| packing.sub_bank_energy == SubBanks::Whole)
                && parameters.ports != 0,
            occupancy: Occupancy::new(parameters.gating, banks * entries),
            shadow: build.verify.then(shadow),
            late: 0,
            ended: 0,
            counters: Counters::default(),
            packed: packing::Counters::default(),
            instructions: [0; SOURCES + 1],
            reads_by_mask: [[0; 16]; 2],
            writes_by_mask: [[0; 16]; 2],
            released: virtualization::Counters::default(),
            corf: pairs.map(|_| corf::Counters::default()),
            corf_plus: sides.map(|_| corf_plus::Counters::default()),
            bit_instructions: has_bit_instructions(),
            parameters: parameters.clone(),
        }
    }

    /// Compares what is stored of a register with what it should be.
    #[cfg(test)]
    pub(super) fn check(
        &mut self,
        index: usize,
        place: Mapping,
        values: &warpwatt_codecs::Values,
        register: u8,
    ) -> Option<crate::register_file::Mismatch> {
        self.shadow.as_mut()?.check(index, place, values, register)
    }

    /// Brings time up to a cycle: registers whose last read is over by then are released.
    #[inline(always)]
    pub(super) fn advance(&mut self, now: u64) {
        if self.deaths.pass(now) {
            self.bury();
        }
    }

    /// The present is a cycle from now on; registers that are dead by then may be released later.
    #[inline(always)]
    pub(super) fn come_to(&mut self, now: u64) {
        self.deaths.pass(now);
    }

    /// The last read of a register is booked.
    #[inline(always)]
    pub(super) fn dies(&mut self, slot: usize, register: u8, Seen { life, .. }: Seen, at: u64) {
        self.deaths.push(at, Death { index: index(slot, register) as u16, life });
    }

    /// Releases what is dead by now.
    #[inline(always)]
    fn bury(&mut self) {
        let engine = self;
        in_two_copies!(engine.bit_instructions, |engine: &mut Engine| -> () { engine.bury_all() });
    }

    #[inline(always)]
    fn bury_all(&mut self) {
        if self.shadow.is_some() {
            return self.bury_with_shadow();
        }
        self.bury_each(|_, _| ());
    }

    #[cold]
    #[inline(never)]
    fn bury_with_shadow(&mut self) {
        self.bury_each(Engine::forget);
    }

    /// Releases what is dead by now. Most die alone in their cycle, so that each is counted for itself. What is done then for a register is given.
    #[inline(always)]
    fn bury_each(&mut self, and_then: impl Fn(&mut Engine, usize)) {
        while let Some((at, count)) = self.deaths.next() {
            for number in 0..count {
                let Death { index, life } = self.deaths.of(at, number);
                let index = usize::from(index);
                if let Some(Freed { slices, last }) = self.allocator.give_back_once(index, life) {
                    self.released.released += 1;
                    self.occupancy.free(at, slices.into(), last.into());
                }
                and_then(self, index);
            }
        }
    }

    /// Registers of a warp lose their places, as far as they have one. Gives how many had.
    fn release_all(&mut self, now: u64, slot: usize, registers: Set) -> u64 {
        let engine = self;
        in_two_copies!(engine.bit_instructions, |engine: &mut Engine,
                                                 now: u64,
                                                 slot: usize,
                                                 registers: Set|
         -> u64 {
            let mut freed = AllFreed::default();
            for_each(registers, |register| {
                freed.add(engine.allocator.give_back(slot, register));
                if engine.shadow.is_some() {
                    engine.forget(index(slot, register));
                }
            });
            engine.occupancy.free(now, freed.slices, freed.entries);
            freed.registers
        })
    }

    /// What is stored of a register counts no more, unless it still has a place.
    #[inline(never)]
    fn forget(&mut self, index: usize) {
        let (slot, register) = (index / REGISTERS, (index % REGISTERS) as u8);
        if let Some(shadow) = &mut self.shadow
            && self.allocator.get(slot, register).is_none()
        {
            shadow.forget(index);
        }
    }

    /// Notes that an instruction has issued. Tells whether its last reads release registers: no lane is elsewhere, where it might need them.
    #[inline(always)]
    fn note(&mut self, now: u64, next: &Next) -> bool {
        let (slot, timing, lanes) = (next.slot % SLOTS, next.timing, next.lanes);
        let together = lanes.active == lanes.live;
        let joins = &mut self.warps[slot].joins;
        let joins = std::mem::replace(joins, !together || timing.effect == Effect::Branch);
        if timing.dst_words != 0 {
            self.expected[index(slot, timing.dst)] = (lanes.mask, lanes.all & !lanes.mask);
        }
        if timing.dst_words > 1 || together && joins {
            self.note_more(now, next, together && joins);
        }
        together && self.virtualization.is_some()
    }

    /// What few instructions need that have issued: further results are under way, and registers are released that are dead at a join.
    #[inline(never)]
    fn note_more(&mut self, now: u64, next: &Next, joins: bool) {
        let (slot, timing, lanes) = (next.slot % SLOTS, next.timing, next.lanes);
        for word in 1..timing.dst_words {
            self.expected[index(slot, timing.dst + word)] = (lanes.mask, lanes.all & !lanes.mask);
        }
        if joins && let Some(virtualization::Parameters { joins: true }) = &self.virtualization {
            self.advance(now);
            let placed = self.allocator.placed(slot);
            let dead = std::array::from_fn(|word| placed[word] & !timing.live[word]);
            self.released.released_at_joins += self.release_all(now, slot, dead);
        }
    }

    /// A register that has no place gets one. Tells whether something is switched on for it.
    #[inline(always)]
    fn place_first(&mut self, now: u64, slot: usize, register: u8, width: u8) -> bool {
        let alone = self.allocator.write_first(slot, register, width).expect(ROOM);
        self.counters.placed += 1;
        self.occupancy.take(now, u32::from(width), alone);
        match self.parameters.gating {
            Gating::Entries => alone,
            Gating::Slices => true,
            Gating::Off => false,
        }
    }

    /// A register that has a place needs another number of slices. Gives the place that it had, and tells whether something is switched on for it.
    #[inline(never)]
    fn place_anew(&mut self, now: u64, slot: usize, register: u8, width: u8) -> (Mapping, bool) {
        let (old, moved) = match self.allocator.write_resized(slot, register, width) {
            Some(Change::Moved(old)) => (old, true),
            Some(Change::Resized(old)) => (old, false),
            _ => panic!("{ROOM}"),
        };
        let count = match (moved, old.width() < width) {
            (true, _) => &mut self.packed.grown,
            (false, true) => &mut self.packed.widened,
            (false, false) => &mut self.packed.shrunk,
        };
        *count += 1;
        if !moved {
            return (old, false);
        }
        let elsewhere = self.allocator.get(slot, register).is_some_and(|new| !old.same_entry(&new));
        let alone = elsewhere && self.allocator.is_alone(slot, register);
        self.occupancy.take(now, u32::from(width), alone);
        let empty = self.allocator.is_empty(old.bank, old.entry);
        self.occupancy.free(now, slices(old.owned).into(), empty.into());
        let fresh = match self.parameters.gating {
            Gating::Entries => alone,
            Gating::Slices => true,
            Gating::Off => false,
        };
        (old, fresh)
    }

    /// When the place of a register can be written that is ready for it in a cycle. What was off is switched on.
    #[inline(always)]
    fn wake(&mut self, place: usize, fresh: bool, ready: u64) -> u64 {
        let awake = &mut self.awake[place];
        if fresh {
            self.counters.wakeups += 1;
            *awake = ready + u64::from(self.parameters.wake_cycles);
        }
        let awake = (*awake).max(ready);
        self.counters.wakeup_waits += awake - ready;
        awake
    }

    /// When a result that comes in a cycle has passed the table, if it takes a port there, and a packer.
    #[inline(always)]
    fn pass(&mut self, now: u64, home: u8) -> u64 {
        if self.parameters.write_ports {
            return self.pass_both(now, home);
        }
        let mut start = now;
        if self.packer_count != 0 {
            let wait = self.packers.wait(self.packer_count, now);
            self.packed.packer_waits += wait;
            start += wait;
        }
        start + self.pack_cycles
    }

    /// [`Engine::pass`] where results take ports of the table.
    #[inline(never)]
    fn pass_both(&mut self, now: u64, home: u8) -> u64 {
        let mut ready = now + self.look_up(home, now);
        if self.packer_count != 0 {
            self.packers_behind_ports.advance(now);
            let start = self.packers_behind_ports.book_any((1 << self.packer_count) - 1, ready);
            self.packed.packer_waits += start - ready;
            ready = start;
        }
        ready + self.pack_cycles
    }

    /// Books a port of the table for a register of a bank in the present cycle or later; gives the cycles that it waits.
    #[inline(always)]
    pub(super) fn look_up(&mut self, home: u8, now: u64) -> u64 {
        match self.parameters.ports {
            0 => 0,
            ports => self.queue(home).wait(ports, now),
        }
    }

    /// Those who wait for a port of a bank's part of the table.
    #[inline(always)]
    pub(super) fn queue(&mut self, home: u8) -> &mut Queue {
        &mut self.queues[usize::from(self.queue_of[usize::from(home)]) % QUEUES]
    }
}

/// What is done for results.
impl Engine {
    /// Writes a register, and stores the values in the shadow.
    #[inline(never)]
    fn write_and_store(&mut self, written: &Written, access: &mut WriteAccess, port: &mut ReadPort) {
        let &Written { now, slot, register, values, .. } = written;
        self.advance(now);
        let (slot, before) = (slot % SLOTS, self.allocator.get(slot, register));
        let (lanes, _) = self.expected[index(slot, register)];
        self.write_to_place(written, access, port);
        if lanes != 0 {
            self.store(slot, register, before, values, lanes);
        }
    }

    /// Writes all registers of a result, and stores the values in the shadow.
    #[cold]
    #[inline(never)]
    fn write_and_store_all(&mut self, result: &Coming, mut port: ResultPort) -> u64 {
        port.write_from(result, 0, |written, access, port| self.write_and_store(written, access, port))
    }

    /// Writes all registers of a result but the first.
    #[inline(never)]
    fn write_rest(&mut self, result: &Coming, port: ResultPort) -> u64 {
        let site = self;
        in_two_copies!(site.bit_instructions, |site: &mut Engine, result: &Coming, port: ResultPort| -> u64 {
            let mut port = port;
            port.write_from(result, 1, |written, access, port| site.write_to_place(written, access, port))
        })
    }

    #[inline(always)]
    fn write_to_place(&mut self, written: &Written, access: &mut WriteAccess, port: &mut ReadPort) {
        let &Written { now, slot, register, upper, values } = written;
        self.advance(now);
        let slot = slot % SLOTS;
        let (lanes, left_out) = std::mem::take(&mut self.expected[index(slot, register)]);
        let Seen { mask: old, bank, home, .. } = self.allocator.seen(slot, register);
        if lanes == 0 {
            // The guard held for no lane, and nothing changes.
            access.bank = bank;
            return;
        }
        let mut wide = 4;
        if self.packs {
            wide = width(&values.0, lanes);
            if left_out != 0 {
                // What a lane that is left out holds may be as wide as the register was.
                wide = wide.max(slices(old) as u8);
            }
        }
        let (mut fresh, mut grown_at) = (false, now);
        if old == 0 {
            fresh = self.place_first(now, slot, register, wide);
        } else if slices(old) == u32::from(wide) {
            self.allocator.write_again(slot, register);
        } else {
            let (old, is_fresh) = self.place_anew(now, slot, register, wide);
            fresh = is_fresh;
            let grows = left_out != 0 && old.width() < wide;
            if grows && self.growth_reads {
                grown_at = port.read(old.bank, now, self.arrays(old.mask));
                self.packed.growth_reads += 1;
            }
        }
        let ready = self.pass(now, home).max(grown_at);
        let Seen { mask, bank, .. } = self.allocator.seen(slot, register);
        self.writes_by_mask[usize::from(upper)][usize::from(mask & WHOLE)] += 1;
        access.bank = bank;
        if self.selective {
            access.arrays = self.arrays(mask);
        }
        access.ready = ready;
        access.awake = self.wake(self.allocator.place(slot, register), fresh, ready);
    }

    /// Lanes of a register that was at some place, if any, are stored where it is now.
    #[inline(never)]
    fn store(&mut self, slot: usize, register: u8, old: Option<Mapping>, values: &Row, lanes: u32) {
        if let (Some(shadow), Some(place)) = (&mut self.shadow, self.allocator.get(slot, register)) {
            let change = match old {
                None => Change::Placed,
                Some(old) if old == place => Change::None,
                Some(old) => Change::Moved(old),
            };
            shadow.store(index(slot, register), place, change, &values.0, lanes);
        }
    }
}

impl RegisterFileSite for Engine {
    fn start(&mut self, now: u64, warp: &Started) {
        self.advance(now);
        let slot = warp.slot % SLOTS;
        self.warps[slot] = Warp { registers: warp.registers, ..Warp::default() };
        let registers = REGISTERS.min(warp.registers as usize);
        self.expected[index(slot, 0)..][..registers].fill(Expected::default());
        let registers = self.occupancy.registers.amount() + u64::from(warp.registers);
        self.occupancy.registers.set(now, registers);
        let pairs = self.corf.as_mut().map_or_else(Vec::new, |counters| corf::pairs(warp.program, counters));
        let sides =
            self.corf_plus.as_mut().map_or_else(Vec::new, |counters| corf_plus::sides(warp, counters));
        self.allocator.start(slot, &pairs, &sides);
    }

    fn end(&mut self, now: u64, slot: usize) {
        self.advance(now);
        self.ended += self.release_all(now, slot, self.allocator.placed(slot));
        let warp = &self.warps[slot % SLOTS];
        let registers = self.occupancy.registers.amount() - u64::from(warp.registers);
        self.occupancy.registers.set(now, registers);
        self.warps[slot % SLOTS] = Warp::default();
    }

    fn looks_before(&self) -> Looks {
        if self.shadow.is_some() { Looks::Always } else { Looks::Never }
    }

    fn before(&mut self, next: &Next, values: Values) -> Before {
        let Some(shadow) = &mut self.shadow else { return Before::Go };
        let sources = &next.timing.source[..usize::from(next.timing.sources)];
        let mismatch = sources.iter().find_map(|&register| {
            let place = self.allocator.get(next.slot % SLOTS, register)?;
            shadow.check(index(next.slot, register), place, &values.of(register).0, register)
        });
        mismatch.map_or(Before::Go, Before::Corrupted)
    }

    fn issued(&mut self, now: u64, next: &Next) {
        self.warps[next.slot % SLOTS].releases = self.note(now, next);
    }

    fn reads_alone(&self) -> bool {
        !self.unpacks
    }

    fn read(&mut self, now: u64, slot: usize, timing: &Timing, port: &mut OperandPort) -> u64 {
        let slot = slot % SLOTS;
        let dying = if self.warps[slot].releases { timing.last_reads } else { 0 };
        self.read_operands(now, slot, timing, dying, port)
    }

    fn issue(&mut self, now: u64, next: &Next, port: &mut OperandPort) -> u64 {
        let site = self;
        in_two_copies!(site.bit_instructions, |site: &mut Engine,
                                               now: u64,
                                               next: &Next,
                                               port: &mut OperandPort|
         -> u64 {
            let timing = next.timing;
            let dying = if site.note(now, next) { timing.last_reads } else { 0 };
            site.read_operands(now, next.slot % SLOTS, timing, dying, port)
        })
    }

    fn plan(&mut self, now: u64, slot: usize, timing: &Timing, plan: &mut ReadPlan) {
        self.advance(now);
        self.plan_reads(now, slot % SLOTS, timing.words, plan);
    }

    fn arrive(&mut self, _now: u64, slot: usize, plan: &ReadPlan) -> u64 {
        let slot = slot % SLOTS;
        if self.warps[slot].releases {
            for access in plan.accesses() {
                for (register, last) in [access.register, access.second].into_iter().zip(access.last) {
                    if last {
                        self.dies(slot, register, self.allocator.seen(slot, register), access.at + 1);
                    }
                }
            }
        }
        if self.reads_narrow && self.unpacks { self.unpacked_at(slot, plan) } else { 0 }
    }

    fn write(&mut self, written: &Written, access: &mut WriteAccess, port: &mut ReadPort) {
        if self.shadow.is_some() {
            return self.write_and_store(written, access, port);
        }
        self.write_to_place(written, access, port);
    }

    fn write_all(&mut self, result: &Coming, port: ResultPort) -> u64 {
        if self.shadow.is_some() {
            return self.write_and_store_all(result, port);
        }
        let site = self;
        in_two_copies!(site.bit_instructions, |site: &mut Engine, result: &Coming, port: ResultPort| -> u64 {
            let mut port = port;
            // Few results have more than a register: the first without a loop, so that nothing is kept for further ones.
            let done = port
                .write_word(result, 0, |written, access, port| site.write_to_place(written, access, port));
            if result.timing.dst_words == 1 { done } else { done.max(site.write_rest(result, port)) }
        })
    }

    fn late(&mut self, now: u64, slot: usize, register: u8, values: &Row) {
        self.advance(now);
        let slot = slot % SLOTS;
        let index = index(slot, register);
        let old = self.allocator.get(slot, register);
        if old.is_none() && self.expected[index].0 == 0 {
            return;
        }
        let wide = width(&values.0, u32::MAX).max(old.map_or(1, |old| old.width()));
        let wide = self.allocator.slices_for(wide);
        self.late += 1;
        match old {
            None => drop(self.place_first(now, slot, register, wide)),
            Some(old) if old.width() == wide => self.allocator.write_again(slot, register),
            Some(_) => drop(self.place_anew(now, slot, register, wide)),
        }
        self.store(slot, register, old, values, u32::MAX);
    }

    fn settle(&mut self, now: u64) {
        // Counted cycles may lie before what was done last.
        if now > self.deaths.now() {
            self.advance(now);
        }
    }

    fn counters(&self) -> Box<dyn CounterSet> {
        let packing::Counters { grown, widened, shrunk, .. } = self.packed;
        let virtualization::Counters { released, released_at_joins } = self.released;
        let placed = self.counters.placed;
        let mut counters = Counters {
            lookups: self.reads_by_mask.iter().flatten().sum(),
            undefined_reads: self.reads_by_mask.iter().map(|by_mask| by_mask[0]).sum(),
            updates: self.writes_by_mask.iter().flatten().sum::<u64>()
                + self.late
                + placed
                + widened
                + shrunk
                + 2 * grown
                + released
                + released_at_joins
                + self.ended,
            elsewhere: self.allocator.places.elsewhere,
            ..self.counters.clone()
        };
        debug_assert_eq!(self.occupancy.taken(), self.allocator.used());
        self.occupancy.count(self.deaths.now(), &mut counters);
        Box::new(counters)
    }

    fn counters_of_others(&self) -> Vec<(&'static str, Box<dyn CounterSet>)> {
        let places = self.allocator.places;
        let mut packed = self.packed.clone();
        for (sources, &instructions) in (0..).zip(&self.instructions) {
            count_operands(&mut packed, instructions, sources, sources, false);
        }
        let mut all: Vec<(&'static str, Box<dyn CounterSet>)> = Vec::new();
        if self.packing.is_some() {
            let [read_widths, read_widths_upper] = self.reads_by_mask.map(by_width);
            let [write_widths, write_widths_upper] = self.writes_by_mask.map(by_width);
            all.push((
                packing::NAME,
                Box::new(packing::Counters {
                    // Every result that is stored passes a packer, every operand that has a place an unpacker.
                    packed: self.writes_by_mask.iter().flatten().sum(),
                    unpacked: self.reads_by_mask.iter().flat_map(|by_mask| &by_mask[1..]).sum(),
                    read_widths,
                    read_widths_upper,
                    write_widths,
                    write_widths_upper,
                    ..packed
                }),
            ));
        }
        if self.virtualization.is_some() {
            all.push((virtualization::NAME, self.released.boxed()));
        }
        if let Some(counters) = &self.corf {
            let (partners, together) = (places.partners, places.together);
            all.push((corf::NAME, Box::new(corf::Counters { partners, together, ..counters.clone() })));
        }
        if let Some(counters) = &self.corf_plus {
            let wrong_side = places.wrong_side;
            all.push((corf_plus::NAME, Box::new(corf_plus::Counters { wrong_side, ..counters.clone() })));
        }
        all
    }

    fn fault_is_pending(&self) -> bool {
        self.shadow.as_ref().is_some_and(|shadow| shadow.fault_is_pending())
    }
}
