// SPDX-License-Identifier: MIT OR Apache-2.0
//! Operands: looked up in the table, and read together where they can be.
//!
//! At most two operands come with one access: a collector has two unpackers, a bank two addresses. The two words of a 64-bit operand are one source,
//! and do not coalesce with each other.

use warpwatt_codecs::packing::Mapping;

use super::engine::{Coalescing, Engine};
use crate::register_file::{NONE, ReadPlan};
use crate::sm::SOURCES;
use crate::techniques::packing::SubBanks;

/// The sources of an instruction: where each lies, and which operand it belongs to.
struct Sources {
    place: [Option<Mapping>; SOURCES],
    operand: [u8; SOURCES],
    upper: u16,
    count: usize,
}

impl Sources {
    /// Whether two sources of different operands are such that `fits`.
    fn any_two(&self, upper: bool, fits: impl Fn(&Mapping, &Mapping) -> bool) -> bool {
        let counts = |source: usize| upper || self.upper >> source & 1 == 0;
        (0..self.count).any(|one| {
            (one + 1..self.count).any(|other| {
                counts(one)
                    && counts(other)
                    && self.operand[one] != self.operand[other]
                    && matches!((&self.place[one], &self.place[other]), (Some(a), Some(b)) if fits(a, b))
            })
        })
    }
}

impl Engine {
    /// Arrays that an access to some slices activates.
    #[inline]
    pub(super) fn arrays(&self, mask: u8) -> u32 {
        match &self.packing {
            Some(packing) if packing.sub_bank_energy == SubBanks::Selective => {
                mask.count_ones() * self.arrays_of_slice
            }
            _ => 4 * self.arrays_of_slice,
        }
    }

    pub(super) fn plan_reads(&mut self, now: u64, slot: usize, plan: &mut ReadPlan) {
        let words = self.warps[slot].words;
        let count = plan.accesses().len();
        let mut sources =
            Sources { place: [None; SOURCES], operand: [0; SOURCES], upper: words.upper, count };
        let mut operands = 0;
        for (i, access) in plan.accesses_mut().iter_mut().enumerate() {
            operands += u8::from(words.second >> i & 1 == 0);
            sources.operand[i] = operands;
            let home = self.allocator.home(slot, access.register);
            let place = self.allocator.get(slot, access.register);
            let looked_up = self.look_up(now, home, now);
            access.delay = (looked_up - now) as u16;
            self.counters.lookups += 1;
            self.counters.port_waits += looked_up - now;
            match place {
                Some(place) => {
                    access.bank = place.bank;
                    access.arrays = self.arrays(place.mask) as u8;
                }
                None => {
                    access.bank = home;
                    self.counters.undefined_reads += 1;
                }
            }
            sources.place[i] = place;
        }
        if self.packing.is_some() {
            self.count(&sources, operands);
            if self.coalescing != Coalescing::None && operands > 1 {
                self.coalesce(slot, &sources, plan);
            }
        }
    }

    /// Widths of what is read, and what could come together.
    fn count(&mut self, sources: &Sources, operands: u8) {
        let packed = &mut self.packed;
        for (i, place) in sources.place[..sources.count].iter().enumerate() {
            let Some(place) = place else { continue };
            let upper = sources.upper >> i & 1 != 0;
            let widths = if upper { &mut packed.read_widths_upper } else { &mut packed.read_widths };
            widths[usize::from(place.width()) - 1] += 1;
            packed.unpacked += 1;
        }
        if operands > 1 {
            packed.multi_source += 1;
            packed.multi_source_reads += sources.count as u64;
            let fits = |one: &Mapping, other: &Mapping| one.width() + other.width() <= 4;
            packed.potential += u64::from(sources.any_two(false, fits));
            packed.potential_both += u64::from(sources.any_two(true, fits));
        }
    }

    /// Finds operands that come with one access, each with the first that it can.
    fn coalesce(&mut self, slot: usize, sources: &Sources, plan: &mut ReadPlan) {
        let registers: [u8; SOURCES] =
            std::array::from_fn(|i| plan.accesses().get(i).map_or(NONE, |access| access.register));
        let together = |one: usize, other: usize| {
            let (Some(a), Some(b)) = (&sources.place[one], &sources.place[other]) else { return false };
            sources.operand[one] != sources.operand[other]
                && match self.coalescing {
                    Coalescing::None => false,
                    Coalescing::Partners => {
                        a.same_entry(b) && self.allocator.partner(slot, registers[one]) == registers[other]
                    }
                    Coalescing::Entry => a.same_entry(b),
                    Coalescing::Slices => a.bank == b.bank && a.mask & b.mask == 0,
                }
        };
        // By source: the one that it comes with.
        let mut with = [usize::MAX; SOURCES];
        for one in 0..sources.count {
            if with[one] == usize::MAX
                && let Some(other) =
                    (one + 1..sources.count).find(|&other| with[other] == usize::MAX && together(one, other))
            {
                (with[one], with[other]) = (other, one);
            }
        }
        let mut merged = 0;
        // From the last on, so that those before it stay where they are.
        for other in (0..sources.count).rev() {
            let one = with[other];
            if one < other {
                let (delay, arrays) = (plan.accesses()[other].delay, plan.accesses()[other].arrays);
                plan.merge(one, other);
                let access = &mut plan.accesses_mut()[one];
                access.delay = access.delay.max(delay);
                access.arrays = (access.arrays + arrays).min(4 * self.arrays_of_slice as u8);
                merged += 1;
            }
        }
        self.packed.coalesced += merged;
        self.packed.coalesced_instructions += u64::from(merged != 0);
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
