// SPDX-License-Identifier: MIT OR Apache-2.0
//! Operands: looked up in the table, and read together where they can be.
//!
//! At most two operands come with one access: a collector has two unpackers, a bank two addresses. The two words of a 64-bit operand are one source,
//! and do not coalesce with each other.

use warpwatt_codecs::packing::{Mapping, WHOLE, slices};

use super::engine::{Coalescing, Engine};
use crate::register_file::{NONE, OperandPort, ReadPlan, Reads};
use crate::sm::{SOURCES, SourceWords, Timing};

/// The sources of an instruction: where each lies, and which operand it belongs to.
struct Sources {
    place: [Option<Mapping>; SOURCES],
    operand: [u8; SOURCES],
    upper: u16,
    count: usize,
}

/// Whether two narrow operands of an instruction fit into one entry.
#[derive(Clone, Copy, Default)]
struct Fits {
    /// Two of which neither is the upper half of a 64-bit value.
    lower: bool,
    any: bool,
}

impl Sources {
    fn fit(&self) -> Fits {
        let mut fits = Fits::default();
        for one in 0..self.count {
            let Some(first) = &self.place[one] else { continue };
            for other in one + 1..self.count {
                let Some(second) = &self.place[other] else { continue };
                if first.width() + second.width() <= 4 && self.operand[one] != self.operand[other] {
                    fits.any = true;
                    fits.lower |= self.upper & (1 << one | 1 << other) == 0;
                }
            }
        }
        fits
    }
}

impl Engine {
    /// Arrays that an access to some slices activates.
    #[inline]
    pub(super) fn arrays(&self, mask: u8) -> u32 {
        if self.selective { slices(mask) * self.arrays_of_slice } else { 4 * self.arrays_of_slice }
    }

    #[inline(always)]
    pub(super) fn plan_reads(&mut self, now: u64, slot: usize, plan: &mut ReadPlan) {
        let upper = self.warps[slot].words.upper;
        let (mut narrow, mut undefined, mut waits) = (0u32, 0, 0);
        for (i, access) in plan.accesses_mut().iter_mut().enumerate() {
            let register = access.register;
            let wait = self.look_up(slot, register, now) - now;
            access.delay = wait as u16;
            waits += wait;
            let mask = self.allocator.mask(slot, register);
            if mask == 0 {
                access.bank = self.allocator.home(slot, register);
                undefined += 1;
                continue;
            }
            access.bank = self.allocator.bank(slot, register);
            if self.selective {
                access.arrays = self.arrays(mask) as u8;
            }
            narrow |= u32::from(mask != WHOLE) << i;
            self.reads_by_mask[usize::from(upper >> i & 1)][usize::from(mask & WHOLE)] += 1;
        }
        self.counters.undefined_reads += undefined;
        self.counters.port_waits += waits;
        self.reads_narrow = narrow != 0;
        // A single narrow operand cannot coalesce.
        if self.has_several_operands(slot, plan.accesses().len()) && narrow & narrow.wrapping_sub(1) != 0 {
            self.plan_narrow_reads(slot, plan);
        }
    }

    /// Counts the operands of an instruction with so many sources, and tells whether there are several, if they may be packed.
    #[inline(always)]
    fn has_several_operands(&mut self, slot: usize, count: usize) -> bool {
        let SourceWords { second, upper } = self.warps[slot].words;
        if self.packing.is_none() {
            return false;
        }
        let mut operands = count as u64;
        if second != 0 {
            operands -= u64::from((u32::from(second) & ((1 << count) - 1)).count_ones());
        }
        self.packed.operands += operands;
        if operands > 1 {
            self.packed.multi_source += 1;
            self.packed.multi_source_reads += count as u64;
            self.packed.multi_source_operands += operands;
            self.packed.multi_source_wide += u64::from(upper != 0);
        }
        operands > 1
    }

    /// Reads operands that nothing is to be planned for, because each comes with an access of its own and as it is. `None` if that is not so; nothing
    /// has happened then.
    #[inline(always)]
    pub(super) fn read_operands(
        &mut self,
        now: u64,
        slot: usize,
        timing: &Timing,
        port: &mut OperandPort,
    ) -> Option<Reads> {
        self.advance(now);
        let sources = &timing.source[..usize::from(timing.sources).min(SOURCES)];
        // Masks other than 0 and the whole entry.
        let is_narrow = |register: u8| self.allocator.mask(slot, register).wrapping_sub(1) < WHOLE - 1;
        let narrow: u32 = sources.iter().map(|&register| u32::from(is_narrow(register))).sum();
        if narrow > 1 && self.packing.is_some() || narrow != 0 && self.unpacks {
            return None;
        }
        let upper = self.warps[slot].words.upper;
        let dying = if self.releases(slot) { timing.last_reads } else { 0 };
        let whole = 4 * self.arrays_of_slice;
        let (mut reads, mut undefined, mut waits) = (Reads::new(now), 0, 0);
        for (i, &register) in sources.iter().enumerate() {
            let wait = self.look_up(slot, register, now) - now;
            waits += wait;
            let mask = self.allocator.mask(slot, register);
            let (mut bank, mut arrays) = (self.allocator.bank(slot, register), whole);
            if mask == 0 {
                bank = self.allocator.home(slot, register);
                undefined += 1;
            } else {
                if self.selective {
                    arrays = self.arrays(mask);
                }
                self.reads_by_mask[usize::from(upper >> i & 1)][usize::from(mask & WHOLE)] += 1;
            }
            let at = port.read(&mut reads, bank, wait, arrays);
            if dying >> i & 1 != 0 {
                self.dies(slot, register, at + 1);
            }
        }
        self.counters.undefined_reads += undefined;
        self.counters.port_waits += waits;
        self.has_several_operands(slot, sources.len());
        Some(reads)
    }

    /// At least two operands are narrow: some may come with one access.
    #[inline(never)]
    fn plan_narrow_reads(&mut self, slot: usize, plan: &mut ReadPlan) {
        let SourceWords { second, upper } = self.warps[slot].words;
        let count = plan.accesses().len();
        let mut sources = Sources { place: [None; SOURCES], operand: [0; SOURCES], upper, count };
        let mut operands = 0;
        for (i, access) in plan.accesses().iter().enumerate() {
            operands += u8::from(second >> i & 1 == 0);
            sources.operand[i] = operands;
            sources.place[i] = self.allocator.get(slot, access.register);
        }
        let fits = sources.fit();
        self.packed.potential += u64::from(fits.lower);
        self.packed.potential_both += u64::from(fits.any);
        // What does not fit into one entry cannot come with one access either.
        if fits.any && self.coalescing != Coalescing::None {
            self.coalesce(slot, &sources, plan);
        }
    }

    /// Finds operands that come with one access, each with the first that it can.
    fn coalesce(&mut self, slot: usize, sources: &Sources, plan: &mut ReadPlan) {
        let accesses = plan.accesses();
        let together = |one: usize, other: usize| {
            let (Some(a), Some(b)) = (&sources.place[one], &sources.place[other]) else { return false };
            sources.operand[one] != sources.operand[other]
                && match self.coalescing {
                    Coalescing::None => false,
                    Coalescing::Partners => {
                        a.same_entry(b)
                            && self.allocator.partner(slot, accesses[one].register)
                                == accesses[other].register
                    }
                    Coalescing::Entry => a.same_entry(b),
                    Coalescing::Slices => a.bank == b.bank && a.mask & b.mask == 0,
                }
        };
        // By source: the one that it comes with.
        let mut with = [NONE; SOURCES];
        for one in 0..sources.count {
            if with[one] == NONE
                && let Some(other) =
                    (one + 1..sources.count).find(|&other| with[other] == NONE && together(one, other))
            {
                (with[one], with[other]) = (other as u8, one as u8);
            }
        }
        let (mut merged, mut lower) = (0, false);
        // From the last on, so that those before it stay where they are.
        for other in (0..sources.count).rev() {
            let one = usize::from(with[other]);
            if one < other {
                let (delay, arrays) = (plan.accesses()[other].delay, plan.accesses()[other].arrays);
                plan.merge(one, other);
                let access = &mut plan.accesses_mut()[one];
                access.delay = access.delay.max(delay);
                access.arrays = (access.arrays + arrays).min(4 * self.arrays_of_slice as u8);
                merged += 1;
                lower |= sources.upper & (1 << one | 1 << other) == 0;
            }
        }
        self.packed.coalesced += merged;
        self.packed.coalesced_instructions += u64::from(merged != 0);
        self.packed.coalesced_lower += u64::from(lower);
    }

    /// When all narrow operands have passed their unpackers.
    pub(super) fn unpacked_at(&self, slot: usize, plan: &ReadPlan) -> u64 {
        let Some(cycles) = self.packing.as_ref().map(|packing| u64::from(packing.unpack_cycles)) else {
            return 0;
        };
        if cycles == 0 {
            return 0;
        }
        let is_narrow = |register: u8| {
            register != NONE && self.allocator.get(slot, register).is_some_and(|place| place.width() < 4)
        };
        let narrow =
            plan.accesses().iter().filter(|access| is_narrow(access.register) || is_narrow(access.second));
        narrow.map(|access| access.at + 1 + cycles).max().unwrap_or(0)
    }
}
