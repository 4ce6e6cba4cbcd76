// SPDX-License-Identifier: MIT OR Apache-2.0
//! Operands: looked up in the table, and read together where they can be.
//!
//! At most two operands come with one access: a collector has two unpackers, a bank two addresses. The two words of a 64-bit operand are one source,
//! and do not coalesce with each other.

use warpwatt_codecs::packing::{WHOLE, slices};

use super::engine::{Coalescing, Engine, count_operands};
use crate::register_file::{NONE, OperandPort, ReadPlan, Reads};
use crate::sm::{SOURCES, SourceWords, Timing};

/// The narrow sources of an instruction, a bit each, and which belong to the same operand.
struct Sources {
    narrow: u32,
    words: SourceWords,
    count: usize,
}

impl Sources {
    /// Pairs of narrow sources of different operands.
    #[inline(always)]
    fn each_pair(&self, mut pair: impl FnMut(usize, usize)) {
        let mut ones = self.narrow;
        while ones != 0 {
            let one = ones.trailing_zeros() as usize;
            ones &= ones - 1;
            let mut others = ones;
            while others != 0 {
                let other = others.trailing_zeros() as usize;
                others &= others - 1;
                if self.are_apart(one, other) {
                    pair(one, other);
                }
            }
        }
    }

    /// Whether two sources, the first of them first, are of different operands: not all after the first are second words.
    #[inline(always)]
    fn are_apart(&self, one: usize, other: usize) -> bool {
        let between = (2 << other) - (2 << one);
        u32::from(self.words.second) & between != between
    }

    /// Whether neither of two is the upper half of a 64-bit value.
    #[inline(always)]
    fn are_lower(&self, one: usize, other: usize) -> bool {
        self.words.upper & (1 << one | 1 << other) == 0
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
            self.plan_narrow_reads(slot, narrow, plan);
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
        count_operands(&mut self.packed, 1, count as u64, operands, upper != 0);
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
        let (mut reads, mut waits) = (Reads::new(now), 0);
        let whole = u64::from(4 * self.arrays_of_slice);
        (reads.count, reads.arrays) = (sources.len() as u64, sources.len() as u64 * whole);
        self.whole_reads += reads.count;
        for (i, &register) in sources.iter().enumerate() {
            let wait = self.look_up(slot, register, now) - now;
            waits += wait;
            let mask = self.allocator.mask(slot, register);
            let mut bank = self.allocator.bank(slot, register);
            // What is usual is what is left over when the rest is counted.
            if mask != WHOLE || upper != 0 {
                self.whole_reads -= 1;
                if mask == 0 {
                    bank = self.allocator.home(slot, register);
                    self.counters.undefined_reads += 1;
                } else {
                    self.reads_by_mask[usize::from(upper >> i & 1)][usize::from(mask & WHOLE)] += 1;
                    reads.arrays -= whole - u64::from(self.arrays(mask));
                }
            }
            let at = port.read(&mut reads, bank, wait);
            if dying >> i & 1 != 0 {
                self.dies(slot, register, at + 1);
            }
        }
        self.counters.port_waits += waits;
        if self.warps[slot].words == SourceWords::default() {
            self.instructions[sources.len()] += 1;
        } else {
            self.has_several_operands(slot, sources.len());
        }
        Some(reads)
    }

    /// At least two operands are narrow: some may come with one access.
    #[inline(never)]
    fn plan_narrow_reads(&mut self, slot: usize, narrow: u32, plan: &mut ReadPlan) {
        let sources = Sources { narrow, words: self.warps[slot].words, count: plan.accesses().len() };
        let accesses = plan.accesses();
        let width = |source: usize| slices(self.allocator.mask(slot, accesses[source].register));
        // Whether two fit into one entry, and two of which neither is the upper half of a 64-bit value.
        let (mut fit, mut lower_fit) = (false, false);
        sources.each_pair(|one, other| {
            if width(one) + width(other) <= 4 {
                fit = true;
                lower_fit |= sources.are_lower(one, other);
            }
        });
        self.packed.potential += u64::from(lower_fit);
        self.packed.potential_both += u64::from(fit);
        // What does not fit into one entry cannot come with one access either.
        if fit && self.coalescing != Coalescing::None {
            self.coalesce(slot, &sources, plan);
        }
    }

    /// Finds operands that come with one access, each with the first that it can.
    fn coalesce(&mut self, slot: usize, sources: &Sources, plan: &mut ReadPlan) {
        let accesses = plan.accesses();
        let place = |source: usize| self.allocator.get(slot, accesses[source].register);
        let together = |one: usize, other: usize| {
            let (Some(a), Some(b)) = (place(one), place(other)) else { return false };
            match self.coalescing {
                Coalescing::None => false,
                Coalescing::Partners => {
                    a.same_entry(&b)
                        && self.allocator.partner(slot, accesses[one].register) == accesses[other].register
                }
                Coalescing::Entry => a.same_entry(&b),
                Coalescing::Slices => a.bank == b.bank && a.mask & b.mask == 0,
            }
        };
        // By source: the one that it comes with.
        let mut with = [NONE; SOURCES];
        sources.each_pair(|one, other| {
            if with[one] == NONE && with[other] == NONE && together(one, other) {
                (with[one], with[other]) = (other as u8, one as u8);
            }
        });
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
                lower |= sources.are_lower(one, other);
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
