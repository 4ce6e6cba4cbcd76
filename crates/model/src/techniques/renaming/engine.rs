// SPDX-License-Identifier: MIT OR Apache-2.0
//! Allocation and release of the places of registers; `reads.rs` has the operands.

use warpwatt_base::calendar::Board;
use warpwatt_base::counters::CounterSet;
use warpwatt_codecs::packing::{Allocator, Change, Home, Mapping, REGISTERS, WHOLE, width};
use warpwatt_exec::lanes::Row;

use super::deaths::{Death, Deaths};
use super::occupancy::Occupancy;
use super::shadow::Shadow;
use super::{Counters, Gating, Parameters};
use crate::register_file::{
    Before, Next, ReadPlan, ReadPort, RegisterFileSite, Started, Values, WriteAccess, Written,
};
use crate::sm::{Effect, SourceWords};
use crate::techniques::packing::SubBanks;
use crate::techniques::{Build, Fault, corf, corf_plus, packing, virtualization};

/// Warp slots that there may be.
const SLOTS: usize = crate::sm::Slot::COUNT;

/// Classes of registers with the same home, and more, so that a table is indexed without a check.
pub(super) const HOMES: usize = 512;

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
    /// Registers that have a place, a bit each.
    placed: [u64; 4],
    /// It may have reached a join where registers are dead that no read released.
    joins: bool,
    /// All lanes that have not exited execute the instruction that issued last.
    pub together: bool,
    pub words: SourceWords,
}

/// A write under way.
#[derive(Clone, Copy, Default)]
struct Expected {
    lanes: u32,
    /// All lanes that the warp was started with.
    all: bool,
}

pub struct Engine {
    pub(super) parameters: Parameters,
    pub(super) packing: Option<packing::Parameters>,
    virtualization: Option<virtualization::Parameters>,
    pub(super) coalescing: Coalescing,
    pub(super) allocator: Allocator,
    pub(super) warps: Box<[Warp; SLOTS]>,
    expected: Vec<Expected>,
    /// Registers that are released in a cycle, unless they are written before.
    deaths: Deaths,
    /// Ports of the table, by class of homes those of their bank, and packers.
    pub(super) table: Board,
    pub(super) ports: Box<[u64; HOMES]>,
    packers: Board,
    /// By place of an entry: when it can be written.
    awake: Vec<u64>,
    pub(super) arrays_of_slice: u32,
    /// An access activates the arrays of the slices that it is for, not all.
    pub(super) selective: bool,
    /// An operand of the instruction that was planned last is narrow.
    pub(super) reads_narrow: bool,
    occupancy: Occupancy,
    shadow: Option<Box<Shadow>>,
    pub(super) counters: Counters,
    pub(super) packed: packing::Counters,
    /// Operands read, and results written, by their slices; those that are the upper half of a 64-bit value apart.
    pub(super) reads_by_mask: [[u64; 16]; 2],
    writes_by_mask: [[u64; 16]; 2],
    released: virtualization::Counters,
    corf: Option<corf::Counters>,
    corf_plus: Option<corf_plus::Counters>,
}

#[inline(always)]
pub(super) fn index(slot: usize, register: u8) -> usize {
    slot % SLOTS * REGISTERS + usize::from(register)
}

/// The ports of a bank of the table. Banks beyond what a board has room for share its ports.
fn ports_of_bank(bank: u32, ports: u32) -> u64 {
    if ports == 0 { 0 } else { ((1 << ports) - 1) << (bank * ports % (64 / ports * ports)) }
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
            virtualization: on.parameters_of(virtualization::NAME).cloned(),
            coalescing,
            awake: vec![0; allocator.places_of_entries()],
            allocator,
            warps: Box::new([Warp::default(); SLOTS]),
            expected: vec![Expected::default(); SLOTS * REGISTERS],
            deaths: Deaths::default(),
            table: Board::default(),
            ports: Box::new(std::array::from_fn(|class| {
                ports_of_bank((class % banks) as u32, parameters.ports)
            })),
            packers: Board::default(),
            arrays_of_slice: build.config.rf.sub_banks / 4,
            selective: packing.is_some_and(|packing| packing.sub_bank_energy == SubBanks::Selective),
            reads_narrow: false,
            occupancy: Occupancy::new(parameters.gating, banks * entries),
            shadow: build.verify.then(shadow),
            counters: Counters::default(),
            packed: packing::Counters::default(),
            reads_by_mask: [[0; 16]; 2],
            writes_by_mask: [[0; 16]; 2],
            released: virtualization::Counters::default(),
            corf: pairs.map(|_| corf::Counters::default()),
            corf_plus: sides.map(|_| corf_plus::Counters::default()),
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
        if now > self.deaths.now() && self.deaths.pass(now) {
            self.bury(now);
        }
    }

    /// The last read of a register is booked.
    #[inline(always)]
    fn dies(&mut self, slot: usize, register: u8, at: u64) {
        let life = self.allocator.life(slot, register);
        self.deaths.push(at, Death { slot: slot as u8, register, life });
    }

    #[inline(never)]
    fn bury(&mut self, now: u64) {
        while let Some((at, dying)) = self.deaths.next(now) {
            for &Death { slot, register, life } in &dying {
                if self.allocator.life(usize::from(slot), register) == life {
                    self.released.released += u64::from(self.release(at, usize::from(slot), register));
                }
            }
            self.deaths.give_back(at, dying);
        }
    }

    /// A register loses its place in a cycle, if it has one.
    #[inline(always)]
    fn release(&mut self, at: u64, slot: usize, register: u8) -> bool {
        let slot = slot % SLOTS;
        if !self.allocator.release(slot, register) {
            return false;
        }
        self.counters.updates += 1;
        self.warps[slot].placed[usize::from(register / 64)] &= !(1 << (register % 64));
        if let Some(shadow) = &mut self.shadow {
            shadow.forget(index(slot, register));
        }
        self.occupancy.set_used(at, self.allocator.used());
        true
    }

    /// Releases what is not live ahead of an instruction that all lanes execute.
    #[inline(never)]
    fn release_dead(&mut self, now: u64, slot: usize, live: &[u64; 4]) {
        let placed = self.warps[slot % SLOTS].placed;
        for (word, (placed, live)) in placed.into_iter().zip(live).enumerate() {
            let mut dead = placed & !live;
            while dead != 0 {
                let register = (64 * word) as u8 + dead.trailing_zeros() as u8;
                dead &= dead - 1;
                self.released.released_at_joins += u64::from(self.release(now, slot, register));
            }
        }
    }

    /// Gives a register a place for its new width. Returns what has changed.
    #[inline(always)]
    fn place(&mut self, now: u64, slot: usize, register: u8, width: u8) -> (Mapping, Change) {
        let (place, change) =
            self.allocator.write(slot, register, width).expect("a warp has no more registers than entries");
        self.counters.updates += 1;
        let (count, updates) = match change {
            Change::None => return (place, change),
            Change::Placed => {
                self.warps[slot % SLOTS].placed[usize::from(register / 64)] |= 1 << (register % 64);
                (&mut self.counters.placed, 1)
            }
            Change::Resized(old) if old.width() < place.width() => (&mut self.packed.widened, 1),
            Change::Resized(_) => (&mut self.packed.shrunk, 1),
            Change::Moved(_) => (&mut self.packed.grown, 2),
        };
        *count += 1;
        self.counters.updates += updates;
        self.occupancy.set_used(now, self.allocator.used());
        (place, change)
    }

    /// When a place can be written that is ready for it in a cycle: what was off is switched on.
    #[inline(always)]
    fn wake(&mut self, place: Mapping, change: Change, ready: u64) -> u64 {
        let at = self.allocator.place_of(&place);
        // Whether the entry holds nothing else.
        let alone = || self.allocator.free(at) | place.owned == WHOLE;
        let fresh = match (self.parameters.gating, change) {
            (Gating::Entries, Change::Placed) => alone(),
            (Gating::Entries, Change::Moved(old)) => alone() && !old.same_entry(&place),
            (Gating::Slices, Change::Placed | Change::Moved(_)) => true,
            _ => false,
        };
        let awake = &mut self.awake[at];
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
    fn pass(&mut self, now: u64, slot: usize, register: u8) -> u64 {
        let mut ready = now;
        if self.parameters.write_ports {
            self.table.advance(now);
            ready = self.look_up(slot, register, ready);
        }
        if let Some(packing) = &self.packing {
            let start = match packing.packers {
                0 => ready,
                packers => {
                    self.packers.advance(now);
                    self.packers.book_any((1 << packers) - 1, ready)
                }
            };
            self.packed.packed += 1;
            self.packed.packer_waits += start - ready;
            ready = start + u64::from(packing.pack_cycles);
        }
        ready
    }

    /// Books a port of the table for a register in a cycle or later. Its board is at the present.
    #[inline(always)]
    pub(super) fn look_up(&mut self, slot: usize, register: u8, at: u64) -> u64 {
        match self.ports[self.allocator.home_class(slot, register) % HOMES] {
            0 => at,
            ports => self.table.book_any(ports, at),
        }
    }
}

impl RegisterFileSite for Engine {
    fn start(&mut self, now: u64, warp: &Started) {
        self.advance(now);
        let slot = warp.slot % SLOTS;
        self.warps[slot] = Warp { registers: warp.registers, ..Warp::default() };
        self.expected[index(slot, 0)..][..REGISTERS].fill(Expected::default());
        let registers = self.occupancy.registers.amount() + u64::from(warp.registers);
        self.occupancy.registers.set(now, registers);
        let pairs = self.corf.as_mut().map_or_else(Vec::new, |counters| corf::pairs(warp.program, counters));
        let sides =
            self.corf_plus.as_mut().map_or_else(Vec::new, |counters| corf_plus::sides(warp, counters));
        self.allocator.start(slot, &pairs, &sides);
    }

    fn end(&mut self, now: u64, slot: usize) {
        self.advance(now);
        let warp = self.warps[slot % SLOTS];
        for (word, mut placed) in warp.placed.into_iter().enumerate() {
            while placed != 0 {
                self.release(now, slot, (64 * word) as u8 + placed.trailing_zeros() as u8);
                placed &= placed - 1;
            }
        }
        let registers = self.occupancy.registers.amount() - u64::from(warp.registers);
        self.occupancy.registers.set(now, registers);
        self.warps[slot % SLOTS] = Warp::default();
    }

    fn looks_before(&self) -> bool {
        self.shadow.is_some()
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
        self.advance(now);
        let (slot, timing, lanes) = (next.slot % SLOTS, next.timing, next.lanes);
        let together = lanes.active == lanes.live;
        if together
            && self.warps[slot].joins
            && let (Some(live), Some(virtualization::Parameters { joins: true })) =
                (next.live, &self.virtualization)
        {
            self.release_dead(now, slot, live);
        }
        let warp = &mut self.warps[slot];
        warp.joins = !together || timing.effect == Effect::Branch;
        (warp.together, warp.words) = (together, next.words);
        for register in timing.dst..timing.dst + timing.dst_words {
            let all = lanes.all & !lanes.mask == 0;
            self.expected[index(slot, register)] = Expected { lanes: lanes.mask, all };
        }
    }

    fn plan(&mut self, now: u64, slot: usize, plan: &mut ReadPlan) {
        self.advance(now);
        self.plan_reads(now, slot % SLOTS, plan);
    }

    fn arrive(&mut self, _now: u64, slot: usize, plan: &ReadPlan) -> u64 {
        let slot = slot % SLOTS;
        if self.warps[slot].together && self.virtualization.is_some() {
            for access in plan.accesses() {
                if access.last[0] {
                    self.dies(slot, access.register, access.at + 1);
                }
                if access.last[1] {
                    self.dies(slot, access.second, access.at + 1);
                }
            }
        }
        if self.reads_narrow { self.unpacked_at(slot, plan) } else { 0 }
    }

    fn write(&mut self, written: &Written, access: &mut WriteAccess, port: &mut ReadPort) {
        let &Written { now, slot, register, upper, values } = written;
        self.advance(now);
        let slot = slot % SLOTS;
        let index = index(slot, register);
        let Expected { lanes, all } = std::mem::take(&mut self.expected[index]);
        let old = self.allocator.get(slot, register);
        if lanes == 0 {
            // The guard held for no lane, and nothing changes.
            access.bank = old.map_or(self.allocator.home(slot, register), |old| old.bank);
            return;
        }
        let active = width(&values.0, lanes);
        // What a lane that is left out holds may be as wide as the register was.
        let wide = if all { active } else { active.max(old.map_or(1, |old| old.width())) };
        let (place, change) = self.place(now, slot, register, wide);
        let mut ready = self.pass(now, slot, register);
        if let Some(packing) = &self.packing {
            self.writes_by_mask[usize::from(upper)][usize::from(place.mask & WHOLE)] += 1;
            if let Change::Moved(old) | Change::Resized(old) = change
                && packing.growth_reads
                && old.width() < place.width()
                && !all
            {
                let arrays = self.arrays(old.mask);
                ready = ready.max(port.read(old.bank, now, arrays));
                self.packed.growth_reads += 1;
            }
        }
        if let Some(shadow) = &mut self.shadow {
            shadow.store(index, place, change, &values.0, lanes);
        }
        access.bank = place.bank;
        access.arrays = self.arrays(place.mask);
        access.ready = ready;
        access.awake = self.wake(place, change, ready);
    }

    fn late(&mut self, now: u64, slot: usize, register: u8, values: &Row) {
        self.advance(now);
        let slot = slot % SLOTS;
        let index = index(slot, register);
        let old = self.allocator.get(slot, register);
        if old.is_none() && self.expected[index].lanes == 0 {
            return;
        }
        let wide = width(&values.0, u32::MAX).max(old.map_or(1, |old| old.width()));
        let (place, change) = self.place(now, slot, register, wide);
        if let Some(shadow) = &mut self.shadow {
            shadow.store(index, place, change, &values.0, u32::MAX);
        }
    }

    fn settle(&mut self, now: u64) {
        self.advance(now);
    }

    fn counters(&self) -> Box<dyn CounterSet> {
        let mut counters = Counters { elsewhere: self.allocator.places.elsewhere, ..self.counters.clone() };
        self.occupancy.count(self.deaths.now(), &mut counters);
        Box::new(counters)
    }

    fn counters_of_others(&self) -> Vec<(&'static str, Box<dyn CounterSet>)> {
        let places = self.allocator.places;
        let mut all: Vec<(&'static str, Box<dyn CounterSet>)> = Vec::new();
        if self.packing.is_some() {
            let [read_widths, read_widths_upper] = self.reads_by_mask.map(by_width);
            let [write_widths, write_widths_upper] = self.writes_by_mask.map(by_width);
            all.push((
                packing::NAME,
                Box::new(packing::Counters {
                    read_widths,
                    read_widths_upper,
                    write_widths,
                    write_widths_upper,
                    ..self.packed.clone()
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
