// SPDX-License-Identifier: MIT OR Apache-2.0
//! Shared memory: banks of 4 bytes, each of which serves one word a cycle to any number of lanes (CUDA C Programming Guide, compute
//! capability 2.x, shared memory).
//!
//! An access takes as many cycles as the busiest bank has different words to serve. Lanes of 8 bytes are served by half-warps, lanes of
//! 16 bytes by quarter-warps, one pass after the other. An atomic occupies a bank for each of its lanes, since it reads, computes and
//! writes before the next may begin.

use warpwatt_base::counters;
use warpwatt_base::counters::{Charge, Log2};
use warpwatt_config::Config;
use warpwatt_exec::AccessKind;
use warpwatt_exec::stepping::Spread;

use super::coalesce::{BITS, Offsets, Shape, differences};
use super::rows::{ROW_BYTES, Row};
use crate::cache::{Array, ArrayAccess, ArrayShape, DataArray, LineId, RowAccess, Use};
use crate::host::{has_bit_instructions, in_two_copies};
use crate::techniques::Techniques;

counters! {
    /// What shared memory did.
    pub struct SharedCounters(Charge::Shared) {
        reads: u64 = "shared.reads.count", "Warp instructions that read shared memory.";
        writes: u64 = "shared.writes.count", "Warp instructions that write shared memory.";
        atomics: u64 = "shared.atomics.count", "Warp instructions that do atomic operations on shared memory.";
        lanes: u64 = "shared.lanes.count", "Active lanes of shared-memory instructions.";
        broadcasts: u64 = "shared.broadcasts.count", "Reads in which several lanes got the same word at once.";
        conflicts: u64 = "shared.conflict_cycles.cycles", "Cycles beyond those that the accesses take without bank conflicts.";
        cycles: [u64; 32] = "shared.cycles_per_access.histogram", "Accesses by the cycles they occupy the banks: 1 to 31, then all that take longer.";
        intervals: Log2 = "shared.interval.histogram", "Cycles between two accesses.";
    }
}

/// How an access occupies the banks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Passes {
    pub cycles: u32,
    /// Of these, those that conflicts cost.
    pub conflicts: u32,
    /// 1 if several lanes share a word, otherwise 0: a number, since it is copied with the others and added up.
    pub broadcast: u32,
}

impl Passes {
    #[inline(always)]
    fn new(cycles: u32, conflicts: u32, broadcast: bool) -> Passes {
        Passes { cycles, conflicts, broadcast: broadcast.into() }
    }
}

/// What two rows of 16 words cost, the second so many bytes behind the first, with 32 banks.
#[inline(always)]
fn two_rows(behind: u32) -> Passes {
    let apart = (behind.cast_signed() >> 2).unsigned_abs();
    // Rows that overlap are less than 32 words altogether, and others want the same banks unless they fit together.
    let meet = apart >= 16 && apart % 32 != 16;
    Passes::new(1 + u32::from(meet), meet.into(), apart < 16)
}

/// What two words cost that 16 lanes want each, the second so many bytes behind the first, with 32 banks.
#[inline(always)]
fn two_places(behind: u32) -> Passes {
    let meet = (behind / 4).is_multiple_of(32);
    Passes::new(1 + u32::from(meet), meet.into(), true)
}

/// The most banks that there can be.
const BANKS: usize = 64;

/// End of a list of lanes.
const END: u8 = u8::MAX;

/// How many different words the busiest bank has to serve, and whether lanes share a word. Words are lane by lane, `each` per lane.
fn busiest(offsets: &Offsets, lanes: u32, each: u32, banks: u32) -> (u32, bool) {
    let bank = |word: u32| if banks.is_power_of_two() { word & (banks - 1) } else { word % banks } as usize;
    let mut counts = [0u8; BANKS];
    // Lanes whose first words differ but lie in one bank, as lists through the lanes.
    let (mut heads, mut next) = ([END; BANKS], [END; 32]);
    let mut broadcast = false;
    let mut most = 1;
    let mut rest = lanes;
    'lanes: while rest != 0 {
        let lane = rest.trailing_zeros() as usize;
        rest &= rest - 1;
        // Lanes are aligned to what they move, so that all their words are shared with another lane or none is. Following the first
        // word is enough: the other ones lie in the banks beside it, in the same order.
        let word = offsets[lane] / 4;
        let first = bank(word);
        let mut other = heads[first];
        while other != END {
            if offsets[usize::from(other)] / 4 == word {
                broadcast = true;
                continue 'lanes;
            }
            other = next[usize::from(other)];
        }
        next[lane] = heads[first];
        heads[first] = lane as u8;
        for bank in (word..word + each).map(bank) {
            counts[bank] += 1;
            most = most.max(u32::from(counts[bank]));
        }
    }
    (most, broadcast)
}

/// [`busiest`] for lanes of one word each, where the banks are a power of two.
#[inline(always)]
fn busiest_word(offsets: &Offsets, lanes: u32, banks: u32) -> (u32, bool) {
    let mask = (banks - 1) as usize % BANKS;
    // By bank: the lane that found it unused, and how many different words it serves.
    let (mut firsts, mut counts) = ([0u8; BANKS], [0u8; BANKS]);
    // Lanes that found another word in their bank.
    let (mut others, mut broadcast, mut most) = (0u32, 0, 1);
    let mut rest = lanes;
    while rest != 0 {
        let lane = rest.trailing_zeros() as usize % 32;
        let word = offsets[lane] / 4;
        let bank = word as usize & mask;
        if counts[bank] == 0 {
            (firsts[bank], counts[bank]) = (lane as u8, 1);
        } else if offsets[usize::from(firsts[bank]) % 32] / 4 == word {
            broadcast = 1;
        } else {
            others |= rest & rest.wrapping_neg();
        }
        rest &= rest - 1;
    }
    while others != 0 {
        let lane = others.trailing_zeros() as usize % 32;
        others &= others - 1;
        let word = offsets[lane] / 4;
        // Each word is counted with the last of its lanes.
        let mut later = others;
        while later != 0 && offsets[later.trailing_zeros() as usize % 32] / 4 != word {
            later &= later - 1;
        }
        if later != 0 {
            broadcast = 1;
            continue;
        }
        let count = &mut counts[word as usize & mask];
        *count += 1;
        most = most.max(u32::from(*count));
    }
    (most, broadcast != 0)
}

/// How loads and stores occupy the banks, if that is soon said.
#[inline(always)]
fn simple(offsets: &Offsets, mask: u32, bytes: u32, banks: u32) -> Option<Passes> {
    if bytes > 4 || mask == 0 {
        return None;
    }
    match Shape::of(offsets, mask, bytes) {
        Shape::Uniform => {
            return Some(Passes::new(1, 0, !mask.is_power_of_two()));
        }
        Shape::Consecutive if bytes == 4 && banks >= 32 => {
            return Some(Passes::new(1, 0, false));
        }
        Shape::Consecutive | Shape::Other => {}
    }
    let (first, last) = extent(offsets, mask);
    if (last / 4).wrapping_sub(first / 4) < banks {
        // Words so close together are in different banks.
        return Some(Passes::new(1, 0, is_broadcast(offsets, mask, first / 4)));
    }
    if mask == u32::MAX
        && let Some(cycles) = strided(offsets, banks)
    {
        return Some(Passes::new(cycles, cycles - 32u32.div_ceil(banks), false));
    }
    None
}

/// How loads and stores occupy the banks.
#[inline(always)]
fn passes(offsets: &Offsets, mask: u32, bytes: u32, banks: u32) -> Passes {
    simple(offsets, mask, bytes, banks).unwrap_or_else(|| one_by_one(offsets, mask, bytes, banks))
}

/// [`passes`] in a function of its own, with the host's instructions for vectors if it has them.
#[inline(always)]
fn passes_anew(bit_instructions: bool, offsets: &Offsets, mask: u32, bytes: u32, banks: u32) -> Passes {
    in_two_copies!(bit_instructions, |offsets: &Offsets, mask: u32, bytes: u32, banks: u32| -> Passes {
        passes(offsets, mask, bytes, banks)
    })
}

/// The lowest and the highest offset of active lanes. Offsets in shared memory are far from the sign bit, and comparing signed numbers
/// is a vector operation on every host.
#[inline(always)]
fn extent(offsets: &Offsets, mask: u32) -> (u32, u32) {
    let origin = offsets[(mask.trailing_zeros() & 31) as usize] as i32;
    let (mut first, mut last) = (origin, origin);
    for (&offset, &bit) in offsets.iter().zip(&BITS) {
        let offset = if mask & bit != 0 { offset as i32 } else { origin };
        first = first.min(offset);
        last = last.max(offset);
    }
    (first as u32, last as u32)
}

/// Whether lanes share a word, where all words are less than 64 behind the first.
#[inline(always)]
fn is_broadcast(offsets: &Offsets, mask: u32, first: u32) -> bool {
    let mut words = 0u64;
    if mask == u32::MAX {
        for offset in offsets {
            words |= 1 << ((offset / 4 - first) & 63);
        }
    } else {
        let mut rest = mask;
        while rest != 0 {
            words |= 1 << ((offsets[rest.trailing_zeros() as usize] / 4 - first) & 63);
            rest &= rest - 1;
        }
    }
    words.count_ones() < mask.count_ones()
}

/// Closed form for 32 lanes whose words are evenly apart: as many lanes meet in a bank as the stride shares factors with the banks.
#[inline(always)]
fn strided(offsets: &Offsets, banks: u32) -> Option<u32> {
    let stride = offsets[1].wrapping_sub(offsets[0]);
    let mut uneven = (stride | offsets[0]) % 4;
    for lane in 1..32 {
        uneven |= offsets[lane].wrapping_sub(offsets[lane - 1]) ^ stride;
    }
    if uneven != 0 || stride == 0 {
        return None;
    }
    let words = (stride as i32 / 4).unsigned_abs();
    let (mut a, mut b) = (words, banks);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    Some(32u32.div_ceil(banks / a))
}

#[inline(always)]
fn one_by_one(offsets: &Offsets, mask: u32, bytes: u32, banks: u32) -> Passes {
    let each = bytes.div_ceil(4).clamp(1, 32);
    // Lanes of a pass want 32 words altogether.
    let lanes = 32 / each;
    let group = if lanes == 32 { u32::MAX } else { (1 << lanes) - 1 };
    let mut all = Passes::new(0, 0, false);
    for first in (0..32).step_by(lanes as usize) {
        let active = mask & group << first;
        if active != 0 {
            let (most, broadcast) = match each {
                // If words were close together, that was found out before.
                1 if banks.is_power_of_two() => busiest_word(offsets, active, banks),
                _ => match close_together(offsets, active, each, banks) {
                    Some(broadcast) => (1, broadcast),
                    None => busiest(offsets, active, each, banks),
                },
            };
            all.cycles += most;
            all.conflicts += most - (active.count_ones() * each).div_ceil(banks).min(most);
            all.broadcast |= u32::from(broadcast);
        }
    }
    all.cycles = all.cycles.max(1);
    all
}

/// Whether lanes share words, if all their words are so close together that they are in different banks. Accesses are aligned to their
/// size, so that two lanes have all words in common or none.
#[inline(always)]
fn close_together(offsets: &Offsets, active: u32, each: u32, banks: u32) -> Option<bool> {
    let (mut first, mut last, mut places) = (u32::MAX, 0, 0u64);
    let mut rest = active;
    while rest != 0 {
        let word = offsets[rest.trailing_zeros() as usize & 31] / 4;
        rest &= rest - 1;
        first = first.min(word);
        last = last.max(word);
        places |= 1 << (word & 63);
    }
    let near = last - first + each <= banks.min(64);
    near.then(|| places.count_ones() < active.count_ones())
}

/// How atomics occupy the banks: the most lanes that meet in one, a round each.
pub fn rounds(offsets: &Offsets, mask: u32, banks: u32) -> u32 {
    let mut counts = [0u8; BANKS];
    let mut rest = mask;
    while rest != 0 {
        counts[(offsets[rest.trailing_zeros() as usize] / 4 % banks) as usize] += 1;
        rest &= rest - 1;
    }
    counts.iter().copied().max().map_or(1, u32::from).max(1)
}

/// Patterns of offsets that are remembered, a power of two.
const PATTERNS: usize = 128;

/// A pattern of offsets and what it costs. Moving all of them by the same number of words moves their banks along, and changes nothing.
#[derive(Clone, Copy)]
struct Pattern {
    /// Lanes that take part, and what each of them moves; no lanes if there is no pattern.
    mask: u32,
    bytes: u32,
    /// Offsets from that of the first of these lanes, and its place in a word.
    steps: Offsets,
    odd: u32,
    passes: Passes,
}

impl Pattern {
    #[inline(always)]
    fn is_that_of(&self, offsets: &Offsets, mask: u32, bytes: u32) -> bool {
        let first = offsets[(mask.trailing_zeros() & 31) as usize];
        self.mask == mask
            && self.bytes == bytes
            && self.odd == first % 4
            && differences(offsets, mask, |lane| self.steps[lane].wrapping_add(first)) == 0
    }
}

pub struct Shared {
    /// The latest patterns, each in the place that its steps lead to.
    patterns: Box<[Pattern; PATTERNS]>,
    pub banks: u32,
    cycles: u32,
    atomic_cycles: u32,
    pub data: DataArray,
    /// Bytes as usual, and where L1 is large; which of them it is.
    bytes: [u32; 2],
    is_small: bool,
    counters: SharedCounters,
    /// Whether the host has instructions for bits and vectors.
    pub bit_instructions: bool,
}

/// The array of so many bytes.
fn shape(bytes: u32) -> ArrayShape {
    ArrayShape { frames: bytes.div_ceil(ROW_BYTES), ways: 1, line_bytes: ROW_BYTES }
}

impl Shared {
    pub fn new(config: &Config, techniques: &Techniques, sm: u32) -> Shared {
        let none = Pattern { mask: 0, bytes: 0, steps: [0; 32], odd: 0, passes: Passes::new(1, 0, false) };
        let bytes = [false, true].map(|large_l1| config.shared_bytes(large_l1));
        Shared {
            // Written where they stay: an array would be made on the stack and copied.
            patterns: vec![none; PATTERNS].try_into().unwrap_or_else(|_| unreachable!("it has that many")),
            banks: config.shared.banks.clamp(1, BANKS as u32),
            cycles: config.shared.cycles,
            atomic_cycles: config.shared.atomic_cycles,
            data: DataArray::new(config, techniques, sm, Array::Shared, shape(bytes[0])),
            bytes,
            is_small: false,
            counters: SharedCounters::default(),
            bit_instructions: has_bit_instructions(),
        }
    }

    /// Takes the size for the kernel that starts. Only between kernels.
    pub fn resize(&mut self, now: u64, large_l1: bool) {
        if large_l1 != self.is_small {
            self.is_small = large_l1;
            self.data.resize(now, shape(self.bytes[usize::from(large_l1)]));
        }
    }

    /// How an access will occupy the banks. `spread` says how lanes lie, if that is known.
    #[inline(always)]
    pub fn passes(
        &mut self,
        kind: AccessKind,
        offsets: &Offsets,
        mask: u32,
        bytes: u32,
        spread: Spread,
    ) -> Passes {
        match kind {
            AccessKind::Load | AccessKind::Store => self
                .passes_at_once(offsets, mask, bytes, spread)
                .unwrap_or_else(|| self.remember(offsets, mask, bytes)),
            AccessKind::Atomic => {
                let rounds = rounds(offsets, mask, self.banks);
                let cycles = rounds * self.atomic_cycles;
                Passes::new(cycles, cycles - self.atomic_cycles, false)
            }
        }
    }

    /// [`Shared::passes`] of a load or store, if that takes no more than a look. Programs come back with the same patterns over and over.
    #[inline(always)]
    pub fn passes_at_once(&self, offsets: &Offsets, mask: u32, bytes: u32, spread: Spread) -> Option<Passes> {
        match self.passes_of_words(offsets, spread) {
            Some(passes) => Some(passes),
            None => {
                let pattern = &self.patterns[Shared::place(offsets, mask, bytes)];
                pattern.is_that_of(offsets, mask, bytes).then_some(pattern.passes)
            }
        }
    }

    /// [`Shared::passes_at_once`] where that follows from how lanes lie.
    #[inline(always)]
    pub fn passes_of_words(&self, offsets: &Offsets, spread: Spread) -> Option<Passes> {
        let behind = || offsets[16].wrapping_sub(offsets[0]);
        match spread {
            Spread::Uniform => Some(Passes::new(1, 0, true)),
            Spread::Consecutive if self.banks >= 32 => Some(Passes::new(1, 0, false)),
            Spread::Rows if self.banks == 32 => Some(two_rows(behind())),
            Spread::Places if self.banks == 32 => Some(two_places(behind())),
            _ => None,
        }
    }

    /// Where a pattern is, if it is remembered.
    #[inline(always)]
    fn place(offsets: &Offsets, mask: u32, bytes: u32) -> usize {
        let rest = mask & mask.wrapping_sub(1);
        let [first, second, last] =
            [mask, if rest == 0 { mask } else { rest }, 1 << (31 - (mask | 1).leading_zeros())]
                .map(|lanes| offsets[(lanes.trailing_zeros() & 31) as usize]);
        let key = second.wrapping_sub(first).rotate_left(7) ^ last.wrapping_sub(first).rotate_left(17);
        let key = (mask ^ key ^ bytes << 27).wrapping_mul(0x9e37_79b1) >> (32 - PATTERNS.trailing_zeros());
        key as usize % PATTERNS
    }

    /// Works out what a pattern costs, and remembers it.
    #[cold]
    #[inline(never)]
    fn remember(&mut self, offsets: &Offsets, mask: u32, bytes: u32) -> Passes {
        let first = offsets[(mask.trailing_zeros() & 31) as usize];
        let passes = passes_anew(self.bit_instructions, offsets, mask, bytes, self.banks);
        self.patterns[Shared::place(offsets, mask, bytes)] = Pattern {
            mask,
            bytes,
            steps: offsets.map(|offset| offset.wrapping_sub(first)),
            odd: first % 4,
            passes,
        };
        passes
    }

    /// What was counted.
    #[inline(always)]
    pub fn counters(&self) -> SharedCounters {
        SharedCounters { intervals: self.data.intervals(), ..self.counters.clone() }
    }

    /// An access begins; every use of the array goes through here. Gives the cycle in which its result is there. Rows are listed if a technique
    /// acts here, and counted from the first of the block, which is the row `base` of the array.
    #[inline(always)]
    pub fn access(
        &mut self,
        now: u64,
        kind: AccessKind,
        lanes: u8,
        passes: Passes,
        base: u32,
        (rows, (from, to)): (&[Row], (u32, u32)),
    ) -> u64 {
        let counters = &mut self.counters;
        match kind {
            AccessKind::Load => {
                counters.reads += 1;
                counters.broadcasts += u64::from(passes.broadcast);
            }
            AccessKind::Store => counters.writes += 1,
            AccessKind::Atomic => counters.atomics += 1,
        }
        let at = self.use_banks(now, lanes, passes);
        match self.data.has_sites() {
            true => at - now + self.ask(now, kind, lanes, base, &rows[from as usize..to as usize]),
            false => at,
        }
    }

    /// [`Shared::access`] for a load or store while no technique acts here.
    #[inline(always)]
    pub fn access_plainly(&mut self, now: u64, is_load: bool, lanes: u8, passes: Passes) -> u64 {
        if is_load {
            self.counters.reads += 1;
            self.counters.broadcasts += u64::from(passes.broadcast);
        } else {
            self.counters.writes += 1;
        }
        self.use_banks(now, lanes, passes)
    }

    /// The part of an access that is the same for all. Gives the cycle in which its result is there if nothing delays it.
    #[inline(always)]
    fn use_banks(&mut self, now: u64, lanes: u8, passes: Passes) -> u64 {
        let counters = &mut self.counters;
        counters.lanes += u64::from(lanes);
        counters.conflicts += u64::from(passes.conflicts);
        counters.cycles[(passes.cycles as usize - 1).min(31)] += 1;
        self.data.note_use(now);
        now + u64::from(passes.cycles - 1 + self.cycles)
    }

    /// Shows an access to the techniques: an atomic as a read, for which it waits, and then as a write.
    #[cold]
    #[inline(never)]
    fn ask(&mut self, now: u64, kind: AccessKind, lanes: u8, base: u32, rows: &[Row]) -> u64 {
        let frames = self.data.frames();
        let none = RowAccess { frame: LineId(0), line: 0, words: 0 };
        let (mut accesses, mut count) = ([none; 32], 0);
        for row in rows {
            let frame = frame(frames, base + row.number);
            self.data.note_frame(now, frame);
            accesses[count] = RowAccess { frame, line: u64::from(frame.0), words: row.words };
            count += 1;
        }
        let mut show = |usage| self.data.ask(&ArrayAccess { now, usage, lanes, rows: &accesses[..count] });
        match kind {
            AccessKind::Load => show(Use::Read),
            AccessKind::Store => {
                show(Use::Write);
                now
            }
            AccessKind::Atomic => {
                let ready = show(Use::Modify);
                show(Use::Write);
                ready
            }
        }
    }
}

/// A row of the array. There are more than it has only if blocks of different kernels left gaps that are too small for one that came later.
fn frame(frames: u32, row: u32) -> LineId {
    LineId(row % frames)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};
    use warpwatt_base::SplitMix64;

    #[test]
    fn rows_and_places_cost_what_they_would_lane_by_lane() {
        for words in -80..80i32 {
            let behind = (4 * words).cast_unsigned();
            let halves = |step: u32| -> Offsets {
                std::array::from_fn(|lane| {
                    let lane = lane as u32;
                    4096u32.wrapping_add(lane / 16 * behind).wrapping_add(lane % 16 * step)
                })
            };
            if words != 16 {
                assert_eq!(two_rows(behind), passes(&halves(4), u32::MAX, 4, 32), "rows {words} words apart");
            }
            if words != 0 {
                assert_eq!(two_places(behind), passes(&halves(0), u32::MAX, 4, 32), "{words} words apart");
            }
        }
    }

    #[test]
    fn remembered_patterns_cost_what_they_would_anew() {
        let mut random = SplitMix64::new(9);
        let mut shared = Shared::new(&Config::default(), &Techniques::default(), 0);
        // Few shapes, so that they come again, at other places and for other lanes.
        for _ in 0..20_000 {
            let bytes = [1, 2, 4, 8, 16][random.below(5) as usize];
            let stride = [0, 1, 2, 17, 33][random.below(5) as usize] * bytes;
            let start = random.below(64) * bytes;
            let mut offsets: Offsets = std::array::from_fn(|lane| start + lane as u32 * stride);
            let mask = [u32::MAX, 0xffff, 0x8000_0001, 1 << random.below(32)][random.below(4) as usize];
            // What the others have is of no interest.
            (0..32)
                .filter(|lane| mask >> lane & 1 == 0)
                .for_each(|lane| offsets[lane] = random.below(1 << 16));
            let expected = passes(&offsets, mask, bytes, shared.banks);
            let spread = Spread::of(&offsets, mask, bytes);
            assert_eq!(shared.passes(AccessKind::Load, &offsets, mask, bytes, spread), expected);
        }
    }

    /// Sets of words by bank, pass by pass.
    fn plain(offsets: &Offsets, mask: u32, bytes: u32, banks: u32) -> u32 {
        let lanes = if bytes <= 4 { 32 } else { 128 / bytes as usize };
        let mut cycles = 0;
        for first in (0..32).step_by(lanes) {
            let mut words = BTreeMap::<u32, BTreeSet<u32>>::new();
            for lane in (first..first + lanes).filter(|lane| mask >> lane & 1 != 0) {
                for byte in offsets[lane]..offsets[lane] + bytes {
                    words.entry(byte / 4 % banks).or_default().insert(byte / 4);
                }
            }
            cycles += words.values().map(BTreeSet::len).max().unwrap_or(0) as u32;
        }
        cycles
    }

    #[test]
    fn a_pattern_costs_the_same_wherever_it_lies() {
        for banks in [32, 16, 24, 64] {
            let mut config = Config::default();
            config.shared.banks = banks;
            let mut shared = Shared::new(&config, &Techniques::default(), 0);
            let mut random = warpwatt_base::SplitMix64::new(u64::from(banks));
            for bytes in [8, 16] {
                for _ in 0..200 {
                    let stride = (random.next_u64() % 40) as u32 * bytes;
                    let spread = random.next_u64() % 3;
                    let offsets: Offsets = std::array::from_fn(|lane| {
                        let stray = if spread == 0 { random.next_u64() % 8 * u64::from(bytes) } else { 0 };
                        lane as u32 / (1 + spread as u32) * stride + stray as u32
                    });
                    for start in [0, bytes, 5 * bytes, 64 * bytes] {
                        let offsets = offsets.map(|offset| offset + start);
                        let spread = Spread::of(&offsets, u32::MAX, bytes);
                        let seen = shared.passes(AccessKind::Load, &offsets, u32::MAX, bytes, spread);
                        assert_eq!(seen, passes(&offsets, u32::MAX, bytes, banks));
                    }
                }
            }
        }
    }

    proptest! {
        #[test]
        fn passes_equal_those_of_the_plain_twin(
            pattern in 0..6u32, start in 0..512u32, stride in 0..70u32, random in proptest::array::uniform32(0..512u32),
            mask in prop_oneof![Just(u32::MAX), any::<u32>().prop_filter("lanes", |mask| *mask != 0)],
            log in 0..5u32, banks in prop_oneof![Just(32u32), Just(16), Just(64), 1..65u32],
        ) {
            let bytes = 1 << log;
            let offsets: Offsets = std::array::from_fn(|lane| {
                let i = lane as u32;
                bytes * match pattern {
                    0 => start,
                    1 => start + i,
                    2 => start + i * stride,
                    3 => start + i % 16 + i / 16 * stride,
                    4 => start + (31 - i) * stride,
                    _ => random[lane],
                }
            });
            prop_assert_eq!(passes(&offsets, mask, bytes, banks).cycles, plain(&offsets, mask, bytes, banks));
        }
    }

    fn strides(words: u32) -> Offsets {
        std::array::from_fn(|lane| 4 * words * lane as u32)
    }

    #[test]
    fn a_stride_of_n_words_is_an_n_way_conflict_when_n_divides_the_banks() {
        for (words, cycles) in [(1, 1), (2, 2), (3, 1), (8, 8), (32, 32), (33, 1), (48, 16)] {
            let passes = passes(&strides(words), u32::MAX, 4, 32);
            assert_eq!((passes.cycles, passes.conflicts), (cycles, cycles - 1), "stride of {words}");
        }
    }

    #[test]
    fn lanes_that_read_the_same_word_do_not_conflict() {
        let passes = passes(&std::array::from_fn(|lane| lane as u32 / 16 * 4), u32::MAX, 4, 32);
        assert_eq!(passes, Passes::new(1, 0, true));
    }

    #[test]
    fn wide_lanes_are_served_by_parts_of_the_warp() {
        assert_eq!(passes(&strides(2), u32::MAX, 8, 32), Passes::new(2, 0, false));
        assert_eq!(passes(&strides(4), u32::MAX, 16, 32), Passes::new(4, 0, false));
        assert_eq!(passes(&strides(4), 0xff, 16, 32).cycles, 1);
    }

    #[test]
    fn atomics_take_a_round_for_each_lane_of_a_bank() {
        assert_eq!(rounds(&[0; 32], u32::MAX, 32), 32);
        assert_eq!(rounds(&strides(1), u32::MAX, 32), 1);
        assert_eq!(rounds(&strides(32), 0xff, 32), 8);
    }
}
