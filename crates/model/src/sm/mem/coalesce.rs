// SPDX-License-Identifier: MIT OR Apache-2.0
//! From the addresses of a warp's lanes to memory transactions: one for each line of 128 bytes that is touched, in the order of the
//! first lane that touches it (CUDA C Programming Guide, compute capability 2.x, global memory).
//!
//! Lanes that all go to one place or to consecutive places are recognised without looking at them one by one.

use warpwatt_exec::stepping::Spread;

use crate::net::LINE_BYTES;

/// Offsets of the 32 lanes.
pub type Offsets = [u32; 32];

const LINE_SHIFT: u32 = LINE_BYTES.trailing_zeros();
/// Words of 4 bytes that a line has.
const WORDS: u32 = LINE_BYTES as u32 / 4;

/// What lanes want of one line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Line {
    /// A multiple of the line size; for constants, of the lanes' common word.
    pub address: u64,
    /// The words that are touched; for constants, counted from the address on.
    pub words: u32,
    /// The most lanes that touch the same word; worked out for atomics only, otherwise 1.
    pub rounds: u8,
}

impl Line {
    /// Of the words that are touched.
    pub fn bytes(&self) -> u64 {
        4 * u64::from(self.words.count_ones())
    }

    /// All words of a line.
    pub fn whole(address: u64) -> Line {
        Line { address, words: u32::MAX, rounds: 1 }
    }
}

/// Whether active lanes are all in one place, or each right after the lane before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Shape {
    Uniform,
    Consecutive,
    Other,
}

/// A power of two for each lane, to find its bit in a mask without shifting by lane.
pub(super) const BITS: Offsets = {
    let mut bits = [0; 32];
    let mut lane = 0;
    while lane < 32 {
        bits[lane] = 1 << lane;
        lane += 1;
    }
    bits
};

const RAMP: Offsets = {
    let mut ramp = [0; 32];
    let mut lane = 0;
    while lane < 32 {
        ramp[lane] = lane as u32;
        lane += 1;
    }
    ramp
};

/// Words side by side, one for each lane.
pub const SIDE_BY_SIDE: Offsets = {
    let mut offsets = RAMP;
    let mut lane = 0;
    while lane < 32 {
        offsets[lane] *= 4;
        lane += 1;
    }
    offsets
};

/// The lanes' differences from a pattern, or-ed over the active ones: 0 where all follow it.
#[inline(always)]
pub(super) fn differences(offsets: &Offsets, mask: u32, pattern: impl Fn(usize) -> u32) -> u32 {
    let mut all = 0;
    if mask == u32::MAX {
        for (lane, offset) in offsets.iter().enumerate() {
            all |= offset ^ pattern(lane);
        }
    } else {
        for (lane, offset) in offsets.iter().enumerate() {
            let live = u32::from(mask & BITS[lane] != 0).wrapping_neg();
            all |= (offset ^ pattern(lane)) & live;
        }
    }
    all
}

/// Whether active lanes are all in one place. `mask` must not be empty.
#[inline(always)]
fn is_uniform(offsets: &Offsets, mask: u32) -> bool {
    let origin = offsets[(mask.trailing_zeros() & 31) as usize];
    differences(offsets, mask, |_| origin) == 0
}

impl Shape {
    /// Of lanes that move `bytes` each, a power of two. `mask` must not be empty.
    #[inline(always)]
    pub(super) fn of(offsets: &Offsets, mask: u32, bytes: u32) -> Shape {
        let first = mask.trailing_zeros() & 31;
        let others = mask & mask.wrapping_sub(1);
        if others == 0 {
            return Shape::Uniform;
        }
        // The first two lanes leave one of the shapes, if any. Shifting by one amount is a vector operation on every host; multiplying is not.
        let (second, shift) = (others.trailing_zeros() & 31, bytes.trailing_zeros() & 31);
        let origin = offsets[first as usize];
        let step = offsets[second as usize].wrapping_sub(origin);
        if step == 0 {
            return if is_uniform(offsets, mask) { Shape::Uniform } else { Shape::Other };
        }
        let start = origin.wrapping_sub(first << shift);
        let is_consecutive = step == (second - first) << shift
            && differences(offsets, mask, |lane| start.wrapping_add(RAMP[lane] << shift)) == 0;
        if is_consecutive { Shape::Consecutive } else { Shape::Other }
    }
}

/// As many low bits as an access has words.
#[inline(always)]
pub fn span(bytes: u32) -> u64 {
    (1 << bytes.div_ceil(4).min(WORDS)) - 1
}

/// Lines of global memory. `base` is the address that offsets count from. `spread` says how lanes lie, if that is known. `wide`: the host has vector
/// instructions.
#[inline(always)]
pub fn global(
    base: u64,
    offsets: &Offsets,
    mask: u32,
    bytes: u32,
    spread: Spread,
    wide: bool,
    lines: &mut Vec<Line>,
) {
    if mask == 0 {
        return;
    }
    // Where some lanes do not take part, to find out how the others lie would take as long as their lines.
    let is_irregular = wide && (spread == Spread::Scattered || mask != u32::MAX);
    #[cfg(not(target_arch = "x86_64"))]
    debug_assert!(!is_irregular);
    #[cfg(target_arch = "x86_64")]
    if is_irregular && !mask.is_power_of_two() && base.is_multiple_of(LINE_BYTES) {
        // SAFETY: the host has the instructions.
        return unsafe { super::lines::by_line(base, offsets, mask, bytes, lines) };
    }
    let first = mask.trailing_zeros();
    let origin = base + u64::from(offsets[first as usize]);
    let shape = match spread {
        Spread::Unknown => Shape::of(offsets, mask, bytes),
        Spread::Consecutive => Shape::Consecutive,
        Spread::Uniform => Shape::Uniform,
        Spread::Rows => return two_runs(base, [offsets[0], offsets[16]], 0xffff, lines),
        Spread::Places => return two_runs(base, [offsets[0], offsets[16]], 1, lines),
        Spread::Scattered => Shape::Other,
    };
    match shape {
        Shape::Uniform => {
            let words = (span(bytes) << (origin / 4 % u64::from(WORDS))) as u32;
            let address = origin & !(LINE_BYTES - 1);
            lines.push(Line { address, words, rounds: 1 });
        }
        Shape::Consecutive if bytes == 4 => {
            // A bit of the mask is a word, moved to where the first lane is and spilling into the line behind.
            let start = origin - 4 * u64::from(first);
            let words = u64::from(mask) << (start / 4 % u64::from(WORDS));
            let address = start & !(LINE_BYTES - 1);
            let (here, behind) = (words as u32, (words >> 32) as u32);
            if here != 0 {
                lines.push(Line { address, words: here, rounds: 1 });
            }
            if behind != 0 {
                lines.push(Line { address: address + LINE_BYTES, words: behind, rounds: 1 });
            }
        }
        Shape::Consecutive if mask == u32::MAX => stretch(origin, bytes, lines),
        Shape::Consecutive | Shape::Other => {
            let begins_a_run = bytes == 4
                && mask >> first & 0b11 == 0b11
                && offsets[first as usize + 1] == offsets[first as usize].wrapping_add(4);
            if begins_a_run {
                in_runs(base, offsets, mask, lines);
            } else {
                scattered(base, offsets, mask, bytes, lines);
            }
        }
    }
}

/// Two halves of the lanes, each with a run of words from an offset on.
#[inline(always)]
fn two_runs(base: u64, [first, second]: [u32; 2], run: u64, lines: &mut Vec<Line>) {
    let place = |offset: u32| {
        let at = base + u64::from(offset);
        let words = run << (at / 4 % u64::from(WORDS));
        (at & !(LINE_BYTES - 1), words as u32, (words >> 32) as u32)
    };
    let before = lines.len();
    let (address, here, behind) = place(first);
    lines.push(Line { address, words: here, rounds: 1 });
    if behind != 0 {
        lines.push(Line { address: address + LINE_BYTES, words: behind, rounds: 1 });
    }
    let (address, here, behind) = place(second);
    for (address, words) in [(address, here), (address + LINE_BYTES, behind)] {
        if words == 0 {
            break;
        }
        match lines[before..].iter_mut().find(|line| line.address == address) {
            Some(line) => line.words |= words,
            None => lines.push(Line { address, words, rounds: 1 }),
        }
    }
}

/// 32 lanes side by side.
fn stretch(start: u64, bytes: u32, lines: &mut Vec<Line>) {
    let end = start + 32 * u64::from(bytes);
    let mut from = start;
    while from < end {
        let address = from & !(LINE_BYTES - 1);
        let to = end.min(address + LINE_BYTES);
        let (low, high) = ((from - address) / 4, (to - 1 - address) / 4);
        let words = (u32::MAX >> (31 - (high - low))) << low;
        lines.push(Line { address, words, rounds: 1 });
        from = to;
    }
}

/// Finds numbers among the few found so far.
struct Table {
    /// One more than an index.
    slots: [u8; 64],
}

impl Table {
    #[inline(always)]
    fn new() -> Table {
        Table { slots: [0; 64] }
    }

    /// The index of a number, or the slot where it belongs. `at` gives the number of an index.
    #[inline(always)]
    fn find(&self, number: u32, at: impl Fn(usize) -> u32) -> Result<usize, usize> {
        let mut slot = (number.wrapping_mul(0x9e37_79b1) >> 26) as usize;
        loop {
            match self.slots[slot % 64] {
                0 => return Err(slot),
                index if at(usize::from(index) - 1) == number => return Ok(usize::from(index) - 1),
                _ => slot = (slot + 1) % 64,
            }
        }
    }
}

/// Lines that lanes touch, in the order in which they are found. Most lanes are in the line of the lane before them.
struct Found {
    table: Table,
    /// Line numbers, counted from `start` on. They fit 32 bits: offsets do, and the base's part of a line adds less than a line.
    numbers: [u32; 32],
    words: [u32; 32],
    known: usize,
    latest: u32,
    index: usize,
}

impl Found {
    #[inline(always)]
    fn new() -> Found {
        let (numbers, words) = ([0; 32], [0; 32]);
        Found { table: Table::new(), numbers, words, known: 0, latest: u32::MAX, index: 0 }
    }

    #[inline(always)]
    fn add(&mut self, number: u32, words: u32) {
        let Found { table, numbers, known, .. } = self;
        if number != self.latest {
            self.latest = number;
            self.index = table.find(number, |index| numbers[index % 32]).unwrap_or_else(|slot| {
                numbers[*known % 32] = number;
                *known += 1;
                table.slots[slot % 64] = *known as u8;
                *known - 1
            });
        }
        self.words[self.index % 32] |= words;
    }

    /// Hands over the lines; `start` is the first address that numbers count from.
    #[inline(always)]
    fn finish(&self, start: u64, lines: &mut Vec<Line>) {
        let found = self.numbers.iter().zip(&self.words).take(self.known);
        lines.extend(found.map(|(&number, &words)| Line {
            address: start + (u64::from(number) << LINE_SHIFT),
            words,
            rounds: 1,
        }));
    }
}

/// Lanes anywhere.
#[inline(always)]
fn scattered(base: u64, offsets: &Offsets, mask: u32, bytes: u32, lines: &mut Vec<Line>) {
    let span = span(bytes);
    let (start, skew) = (base & !(LINE_BYTES - 1), base % LINE_BYTES);
    let mut found = Found::new();
    let mut rest = mask;
    while rest != 0 {
        let lane = rest.trailing_zeros() as usize;
        rest &= rest - 1;
        let at = u64::from(offsets[lane % 32]) + skew;
        found.add((at >> LINE_SHIFT) as u32, (span << (at / 4 % u64::from(WORDS))) as u32);
    }
    found.finish(start, lines);
}

/// Lanes of a word each, of which neighbours lie side by side: rows of a block that is less than a warp wide.
#[inline(always)]
fn in_runs(base: u64, offsets: &Offsets, mask: u32, lines: &mut Vec<Line>) {
    let (start, skew) = (base & !(LINE_BYTES - 1), base % LINE_BYTES);
    let mut found = Found::new();
    // Lanes that the next one lies right behind, both active.
    let mut followed = 0;
    for lane in 0..31 {
        let is_followed = offsets[lane + 1] == offsets[lane].wrapping_add(4);
        followed |= BITS[lane] & u32::from(is_followed).wrapping_neg();
    }
    followed &= mask & mask >> 1;
    let mut firsts = mask & !(followed << 1);
    while firsts != 0 {
        let lane = firsts.trailing_zeros() & 31;
        firsts &= firsts - 1;
        let others = (!(followed >> lane)).trailing_zeros() & 31;
        let at = u64::from(offsets[lane as usize]) + skew;
        let number = (at >> LINE_SHIFT) as u32;
        let words = ((2u64 << others) - 1) << (at / 4 % u64::from(WORDS));
        found.add(number, words as u32);
        if words >> 32 != 0 {
            found.add(number + 1, (words >> 32) as u32);
        }
    }
    found.finish(start, lines);
}

/// Coalesces the lanes of a global atomic, and counts how many lanes access the same word.
pub fn global_atomic(base: u64, offsets: &Offsets, mask: u32, bytes: u32, wide: bool, lines: &mut Vec<Line>) {
    let before = lines.len();
    global(base, offsets, mask, bytes, Spread::Unknown, wide, lines);
    if mask == 0 || (bytes >= 4 && Shape::of(offsets, mask, bytes) == Shape::Consecutive) {
        return;
    }
    let mut table = Table::new();
    let (mut words, mut counts, mut known) = ([0u32; 32], [0u8; 32], 0);
    let skew = (base % 4) as u32;
    let mut rest = mask;
    while rest != 0 {
        let lane = rest.trailing_zeros() as usize;
        rest &= rest - 1;
        let word = offsets[lane].wrapping_add(skew) / 4;
        let index = table.find(word, |index| words[index]).unwrap_or_else(|slot| {
            words[known] = word;
            known += 1;
            table.slots[slot] = known as u8;
            known - 1
        });
        counts[index] += 1;
        if counts[index] > 1 {
            let address = (base + u64::from(offsets[lane])) & !(LINE_BYTES - 1);
            if let Some(line) = lines[before..].iter_mut().find(|line| line.address == address) {
                line.rounds = line.rounds.max(counts[index]);
            }
        }
    }
}

/// Lines of local memory, where words of the lanes lie side by side. `base` is the warp's.
pub fn local(base: u64, offsets: &Offsets, mask: u32, bytes: u32, lines: &mut Vec<Line>) {
    if mask == 0 {
        return;
    }
    let words = bytes.div_ceil(4);
    let line = |word: u32| base + u64::from(word) * LINE_BYTES;
    if is_uniform(offsets, mask) {
        let word = offsets[mask.trailing_zeros() as usize] / 4;
        lines.extend((word..word + words).map(|word| Line { address: line(word), words: mask, rounds: 1 }));
        return;
    }
    let before = lines.len();
    for lane in (0..32).filter(|lane| mask >> lane & 1 != 0) {
        let word = offsets[lane] / 4;
        for address in (word..word + words).map(line) {
            match lines[before..].iter_mut().rev().find(|line| line.address == address) {
                Some(line) => {
                    line.words |= 1 << lane;
                }
                None => lines.push(Line { address, words: 1 << lane, rounds: 1 }),
            }
        }
    }
}

/// The different places of a constant bank that lanes read, which are served one after the other.
pub fn constant(base: u64, offsets: &Offsets, mask: u32, bytes: u32, lines: &mut Vec<Line>) {
    if mask == 0 {
        return;
    }
    let words = span(bytes) as u32;
    let place = |offset: u32| base + u64::from(offset & !3);
    if is_uniform(offsets, mask) {
        let address = place(offsets[mask.trailing_zeros() as usize]);
        lines.push(Line { address, words, rounds: 1 });
        return;
    }
    let before = lines.len();
    for lane in (0..32).filter(|lane| mask >> lane & 1 != 0) {
        let address = place(offsets[lane]);
        if !lines[before..].iter().any(|line| line.address == address) {
            lines.push(Line { address, words, rounds: 1 });
        }
    }
}

/// All words of the 32-byte segments that have a word in the mask: what is asked for when no line is to be filled.
#[inline(always)]
pub fn segments(words: u32) -> u32 {
    let any = words | words >> 4;
    let any = any | any >> 2;
    let any = (any | any >> 1) & 0x0101_0101;
    any * 0xff
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::has_bit_instructions;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    /// Byte by byte, with a map.
    fn plain(base: u64, offsets: &Offsets, mask: u32, bytes: u32) -> Vec<Line> {
        let mut lines: Vec<Line> = Vec::new();
        let mut meetings = BTreeMap::<u64, u8>::new();
        for lane in (0..32).filter(|lane| mask >> lane & 1 != 0) {
            let at = base + u64::from(offsets[lane]);
            let address = at / 128 * 128;
            let words = (at..at + u64::from(bytes)).fold(0, |words, byte| words | 1u32 << (byte % 128 / 4));
            let meeting = meetings.entry(at / 4).or_default();
            *meeting += 1;
            let line = match lines.iter().position(|line| line.address == address) {
                Some(index) => &mut lines[index],
                None => {
                    lines.push(Line { address, words: 0, rounds: 1 });
                    lines.last_mut().expect("just pushed")
                }
            };
            line.words |= words;
            line.rounds = line.rounds.max(*meeting);
        }
        lines
    }

    /// Offsets as kernels have them: one place, consecutive, strided, in two halves, anywhere.
    pub(super) fn patterns() -> impl Strategy<Value = (u64, Offsets, u32, u32)> {
        let offsets = (0..6u32, 0..4096u32, 0..300u32, proptest::array::uniform32(0..8192u32));
        let mask = prop_oneof![Just(u32::MAX), Just(1), any::<u32>().prop_filter("lanes", |mask| *mask != 0)];
        (offsets, mask, 0..5u32, prop_oneof![Just(0u64), (0..64u64).prop_map(|words| words * 16)]).prop_map(
            |((pattern, start, stride, random), mask, log, skew)| {
                let bytes = 1 << log;
                let offsets = std::array::from_fn(|lane| {
                    let i = lane as u32;
                    let place = match pattern {
                        0 => start,
                        1 => start + i,
                        2 => start + i * stride,
                        3 => start + i % 16 + i / 16 * stride,
                        4 => start + i / 4,
                        _ => random[lane],
                    };
                    place * bytes
                });
                ((1 << 40) + skew, offsets, mask, bytes)
            },
        )
    }

    proptest! {
        #[test]
        fn lines_equal_those_of_the_plain_twin((base, offsets, mask, bytes) in patterns()) {
            let expected = plain(base, &offsets, mask, bytes);
            let without: Vec<_> = expected.iter().map(|line| Line { rounds: 1, ..*line }).collect();
            for wide in [false, has_bit_instructions()] {
                let mut lines = Vec::new();
                global_atomic(base, &offsets, mask, bytes, wide, &mut lines);
                prop_assert_eq!(&lines, &expected);
                lines.clear();
                global(base, &offsets, mask, bytes, Spread::of(&offsets, mask, bytes), wide, &mut lines);
                prop_assert_eq!(&lines, &without);
            }
        }

        #[test]
        fn local_words_lie_side_by_side((_, offsets, mask, bytes) in patterns()) {
            let mut lines = Vec::new();
            local(1 << 41, &offsets, mask, bytes, &mut lines);
            let mut touched = BTreeMap::<u64, u32>::new();
            for lane in (0..32).filter(|lane| mask >> lane & 1 != 0) {
                for byte in 0..bytes {
                    let address = crate::address::local(1 << 41, lane as u32, offsets[lane] + byte);
                    *touched.entry(address / 128 * 128).or_default() |= 1 << (address % 128 / 4);
                }
            }
            let found: BTreeMap<_, _> = lines.iter().map(|line| (line.address, line.words)).collect();
            prop_assert_eq!(found.len(), lines.len());
            prop_assert_eq!(found, touched);
        }

        #[test]
        fn constants_are_read_place_by_place((_, offsets, mask, bytes) in patterns()) {
            let mut lines = Vec::new();
            constant(1 << 42, &offsets, mask, bytes, &mut lines);
            let active = (0..32).filter(|lane| mask >> lane & 1 != 0);
            let places: BTreeSet<u64> = active.map(|lane| (1 << 42) + u64::from(offsets[lane] / 4 * 4)).collect();
            prop_assert_eq!(lines.len(), places.len());
            prop_assert!(lines.iter().all(|line| places.contains(&line.address)));
            let words = (1u32 << bytes.div_ceil(4)) - 1;
            prop_assert!(lines.iter().all(|line| line.words == words));
        }
    }

    #[test]
    fn segments_of_32_bytes_are_whole() {
        assert_eq!(segments(0), 0);
        assert_eq!(segments(1), 0xff);
        assert_eq!(segments(0x8000_0100), 0xff00_ff00);
        for bit in 0..32 {
            assert_eq!(segments(1 << bit), 0xff << (bit / 8 * 8));
        }
    }

    #[test]
    fn consecutive_words_that_cross_a_line_are_two_transactions() {
        let offsets = std::array::from_fn(|lane| 64 + 4 * lane as u32);
        let mut lines = Vec::new();
        global(1 << 40, &offsets, u32::MAX, 4, Spread::Unknown, false, &mut lines);
        let halves: Vec<_> = lines.iter().map(|line| (line.address, line.words)).collect();
        assert_eq!(halves, [(1 << 40, 0xffff_0000), ((1 << 40) + 128, 0x0000_ffff)]);
    }
}
