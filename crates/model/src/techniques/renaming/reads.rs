// SPDX-License-Identifier: MIT OR Apache-2.0
//! Operands: looked up in the table, and read together where they can be.
//!
//! At most two operands come with one access: a collector has two unpackers, a bank two addresses. The two words of a 64-bit operand are one source,
//! and do not coalesce with each other.

use warpwatt_codecs::packing::{Seen, WHOLE, slices};

use super::engine::{Coalescing, Engine, count_operands};
use crate::register_file::{NONE, OperandPort, ReadPlan, Reads};
use crate::sm::{SOURCES, SourceWords, Timing};

/// The sources of an instruction, which of them are narrow, a bit each, and which belong to the same operand.
struct Sources<'a> {
    registers: &'a [u8],
    narrow: u32,
    words: SourceWords,
}

impl Sources<'_> {
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

/// Whether a register that has these slices is there, and takes less than an entry.
#[inline(always)]
fn is_narrow(mask: u8) -> bool {
    // Masks other than 0 and the whole entry.
    mask.wrapping_sub(1) < WHOLE - 1
}

/// By source, in four bits each: the one that comes with the same access, itself if none does.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Together(u64);

const _: () = assert!(SOURCES <= 16);

impl Together {
    const NONE: Together = Together(0xfedc_ba98_7654_3210);

    #[inline(always)]
    fn of(self, source: usize) -> usize {
        (self.0 >> (4 * source) & 15) as usize
    }

    /// Two that are alone come together.
    #[inline(always)]
    fn join(&mut self, one: usize, other: usize) {
        self.0 ^= ((one ^ other) as u64) << (4 * one) | ((one ^ other) as u64) << (4 * other);
    }
}

/// Operands of an instruction that has few of them, each of which comes with an access of its own.
struct Few<'e> {
    engine: &'e mut Engine,
    port: &'e mut OperandPort,
    reads: Reads,
    /// Cycles that they wait for ports of the table.
    waits: u64,
    slot: usize,
    /// Sources that are released when they are read, a bit each.
    dying: u16,
}

impl Few<'_> {
    #[inline(always)]
    fn read(&mut self, source: usize, register: u8, seen: Seen) {
        let (engine, now) = (&mut *self.engine, self.reads.now);
        let ports = engine.parameters.ports;
        let wait = engine.queue(seen.home).wait(ports, now);
        self.waits += wait;
        let at = self.port.read(&mut self.reads, seen.bank, wait);
        if self.dying >> source & 1 != 0 {
            engine.dies(self.slot, register, seen, at + 1);
        }
    }
}

impl Engine {
    /// Arrays that an access to some slices activates: all of them for a register that has none.
    #[inline(always)]
    pub(super) fn arrays(&self, mask: u8) -> u32 {
        if self.selective && mask != 0 {
            slices(mask) * self.arrays_of_slice
        } else {
            4 * self.arrays_of_slice
        }
    }

    /// Arrays of a bank that an access to some slices does not activate.
    #[inline(always)]
    fn spared(&self, mask: u8) -> u64 {
        u64::from(4 * self.arrays_of_slice - self.arrays(mask))
    }

    /// Looks a source up in the table, and counts it. Gives what is seen of it, and the cycles that it waits for a port.
    #[inline(always)]
    fn look_up_source(&mut self, now: u64, slot: usize, register: u8, upper: bool) -> (Seen, u64) {
        let seen = self.allocator.seen(slot, register);
        let wait = self.look_up(seen.home, now);
        self.counters.port_waits += wait;
        self.reads_by_mask[usize::from(upper)][usize::from(seen.mask & WHOLE)] += 1;
        (seen, wait)
    }

    /// Which of some sources are narrow, a bit each.
    #[inline(always)]
    fn narrow(&self, slot: usize, registers: &[u8]) -> u32 {
        let is_narrow = |register: u8| is_narrow(self.allocator.mask(slot, register));
        registers.iter().rev().fold(0, |narrow, &register| narrow << 1 | u32::from(is_narrow(register)))
    }

    #[inline(always)]
    pub(super) fn plan_reads(&mut self, now: u64, slot: usize, words: SourceWords, plan: &mut ReadPlan) {
        let mut registers = [0; SOURCES];
        let upper = words.upper;
        for (source, access) in plan.accesses_mut().iter_mut().enumerate() {
            let register = access.register;
            registers[source] = register;
            let (seen, wait) = self.look_up_source(now, slot, register, upper >> source & 1 != 0);
            (access.bank, access.delay) = (seen.bank, wait as u16);
            if self.selective {
                access.arrays = self.arrays(seen.mask) as u8;
            }
        }
        let registers = &registers[..plan.accesses().len()];
        let narrow = self.narrow(slot, registers);
        self.reads_narrow = narrow != 0;
        self.count_instruction(words, registers.len());
        let together = self.find_together(slot, registers, words, narrow);
        // From the last on, so that those before it stay where they are.
        for other in (0..registers.len()).rev() {
            let one = together.of(other);
            if one < other {
                let (delay, arrays) = (plan.accesses()[other].delay, plan.accesses()[other].arrays);
                plan.merge(one, other);
                let access = &mut plan.accesses_mut()[one];
                access.delay = access.delay.max(delay);
                access.arrays = (access.arrays + arrays).min(4 * self.arrays_of_slice as u8);
            }
        }
    }

    /// Counts an instruction with so many sources, and its operands, if they may be packed.
    #[inline(always)]
    fn count_instruction(&mut self, SourceWords { second, upper }: SourceWords, sources: usize) {
        if second | upper == 0 {
            self.instructions[sources] += 1;
        } else if self.packing.is_some() {
            let operands = sources as u32 - (u32::from(second) & ((1 << sources) - 1)).count_ones();
            count_operands(&mut self.packed, 1, sources as u64, operands.into(), upper != 0);
        }
    }

    /// Reads operands that need no unpacking, those of some sources for the last time. Gives the cycle in which all are there.
    #[inline(always)]
    pub(super) fn read_operands(
        &mut self,
        now: u64,
        slot: usize,
        timing: &Timing,
        dying: u16,
        port: &mut OperandPort,
    ) -> u64 {
        match timing.sources {
            0 => {
                self.come_to(now);
                now + 1
            }
            1 if self.reads_plainly => self.read_few::<1>(now, slot, timing, dying, port),
            2 if self.reads_plainly => self.read_few::<2>(now, slot, timing, dying, port),
            3 if self.reads_plainly => self.read_few::<3>(now, slot, timing, dying, port),
            _ => self.read_many(now, slot, timing, dying, port),
        }
    }

    /// Reads the operands of an instruction that has few of them, where the table has ports and accesses activate whole entries. Gives the cycle in which
    /// all are there.
    #[inline(always)]
    fn read_few<const N: usize>(
        &mut self,
        now: u64,
        slot: usize,
        timing: &Timing,
        dying: u16,
        port: &mut OperandPort,
    ) -> u64 {
        self.advance(now);
        let sources: [u8; N] = std::array::from_fn(|source| timing.source[source]);
        let mut seen = [Seen::default(); N];
        for (seen, register) in seen.iter_mut().zip(sources) {
            *seen = self.allocator.seen(slot, register);
        }
        let words = timing.words;
        self.count_instruction(words, N);
        // Most instructions read nothing but whole entries.
        let are_whole = seen.iter().fold(WHOLE, |whole, one| whole & one.mask) == WHOLE;
        if N > 1 && !are_whole {
            let narrow = (0..N).fold(0, |narrow, one| narrow | u32::from(is_narrow(seen[one].mask)) << one);
            if narrow & narrow.wrapping_sub(1) != 0 {
                let together = self.find_together(slot, &sources, words, narrow);
                if together != Together::NONE {
                    return self.read_together(now, slot, &sources, together, (dying, words.upper), port);
                }
            }
        }
        if are_whole && words.upper == 0 {
            self.reads_by_mask[0][usize::from(WHOLE)] += N as u64;
        } else {
            for (source, one) in seen.iter().enumerate() {
                let upper = usize::from(words.upper >> source & 1);
                self.reads_by_mask[upper][usize::from(one.mask & WHOLE)] += 1;
            }
        }
        if seen.iter().all(|one| (one.bank, one.home) == (seen[0].bank, seen[0].home)) {
            return self.read_one_bank(now, slot, sources, seen, dying, port);
        }
        let mut few = Few { engine: self, port, reads: Reads::new(now), waits: 0, slot, dying };
        // Without a loop, so that nothing is kept for further ones.
        few.read(0, sources[0], seen[0]);
        if N > 1 {
            few.read(1, sources[1], seen[1]);
        }
        if N > 2 {
            few.read(2, sources[2], seen[2]);
        }
        const { assert!(N >= 1 && N <= 3) };
        few.engine.counters.port_waits += few.waits;
        few.port.finish(few.reads, N as u64)
    }

    /// [`Engine::read_few`] where all operands are in one bank and belong to it, as all of a warp do with CORF++: they wait in one queue, then for one bank.
    #[inline(always)]
    fn read_one_bank<const N: usize>(
        &mut self,
        now: u64,
        slot: usize,
        sources: [u8; N],
        seen: [Seen; N],
        dying: u16,
        port: &mut OperandPort,
    ) -> u64 {
        let ports = self.parameters.ports;
        let queue = self.queue(seen[0].home);
        let mut places = *queue;
        let (mut waits, mut waited) = ([0; N], 0);
        for wait in &mut waits {
            *wait = places.wait(ports, now);
            waited += *wait;
        }
        *queue = places;
        self.counters.port_waits += waited;
        let at = port.read_run(now, seen[0].bank, waits);
        for (source, &register) in sources.iter().enumerate() {
            if dying >> source & 1 != 0 {
                self.dies(slot, register, seen[source], at[source] + 1);
            }
        }
        at[N - 1] + 1
    }

    /// Reads any operands that need no unpacking. Gives the cycle in which all are there.
    #[inline(never)]
    fn read_many(
        &mut self,
        now: u64,
        slot: usize,
        timing: &Timing,
        dying: u16,
        port: &mut OperandPort,
    ) -> u64 {
        self.advance(now);
        let sources = &timing.source[..usize::from(timing.sources).min(SOURCES)];
        let words = timing.words;
        self.count_instruction(words, sources.len());
        let narrow = self.narrow(slot, sources);
        if narrow & narrow.wrapping_sub(1) != 0 {
            let together = self.find_together(slot, sources, words, narrow);
            if together != Together::NONE {
                return self.read_together(now, slot, sources, together, (dying, words.upper), port);
            }
        }
        let mut reads = Reads::new(now);
        for (source, &register) in sources.iter().enumerate() {
            let (seen, wait) = self.look_up_source(now, slot, register, words.upper >> source & 1 != 0);
            port.spare(self.spared(seen.mask));
            let at = port.read(&mut reads, seen.bank, wait);
            if dying >> source & 1 != 0 {
                self.dies(slot, register, seen, at + 1);
            }
        }
        port.finish(reads, sources.len() as u64)
    }

    /// Reads sources of which some come with one access. Given are those that are released when they are read, and upper halves of 64-bit values, a bit each.
    #[inline(never)]
    fn read_together(
        &mut self,
        now: u64,
        slot: usize,
        sources: &[u8],
        together: Together,
        (dying, upper): (u16, u16),
        port: &mut OperandPort,
    ) -> u64 {
        let mut reads = Reads::new(now);
        let mut accesses = 0;
        let mut found = [(Seen::default(), 0); SOURCES];
        for (source, (&register, found)) in sources.iter().zip(&mut found).enumerate() {
            *found = self.look_up_source(now, slot, register, upper >> source & 1 != 0);
        }
        for (one, &register) in sources.iter().enumerate() {
            let other = together.of(one);
            if other < one {
                continue;
            }
            let ((seen, wait), (second, second_wait)) = (found[one % SOURCES], found[other % SOURCES]);
            accesses += 1;
            port.spare(self.spared(seen.mask | second.mask));
            let at = port.read(&mut reads, seen.bank, wait.max(second_wait));
            if dying >> one & 1 != 0 {
                self.dies(slot, register, seen, at + 1);
            }
            if other != one && dying >> other & 1 != 0 {
                self.dies(slot, sources[other], second, at + 1);
            }
        }
        port.finish(reads, accesses)
    }

    /// Finds operands that come with one access, each with the first that it can. Counts those that do, and those that would in one entry.
    #[inline(never)]
    fn find_together(&mut self, slot: usize, registers: &[u8], words: SourceWords, narrow: u32) -> Together {
        let sources = Sources { registers, narrow, words };
        let allocator = &self.allocator;
        // Whether two fit into one entry, and two of which neither is the upper half of a 64-bit value; the same for those that come with one access.
        let (mut fit, mut lower_fit) = (false, false);
        let (mut merged, mut lower_merged) = (0, false);
        let mut together = Together::NONE;
        sources.each_pair(|one, other| {
            let (first, second) = (sources.registers[one], sources.registers[other]);
            let (mask, other_mask) = (allocator.mask(slot, first), allocator.mask(slot, second));
            if slices(mask) + slices(other_mask) > 4 {
                return;
            }
            let lower = sources.are_lower(one, other);
            fit = true;
            lower_fit |= lower;
            let same_entry = || allocator.place(slot, first) == allocator.place(slot, second);
            let come = match self.coalescing {
                Coalescing::None => false,
                Coalescing::Partners => allocator.partner(slot, first) == second && same_entry(),
                Coalescing::Entry => same_entry(),
                Coalescing::Slices => {
                    mask & other_mask == 0 && allocator.bank(slot, first) == allocator.bank(slot, second)
                }
            };
            if come && together.of(one) == one && together.of(other) == other {
                together.join(one, other);
                merged += 1;
                lower_merged |= lower;
            }
        });
        self.packed.potential += u64::from(lower_fit);
        self.packed.potential_both += u64::from(fit);
        self.packed.coalesced += merged;
        self.packed.coalesced_instructions += u64::from(merged != 0);
        self.packed.coalesced_lower += u64::from(lower_merged);
        together
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
