// SPDX-License-Identifier: MIT OR Apache-2.0
//! The free register map (section 4.3): a bit for each slice of each entry. Beside it, for each slice, the entries of which it is free, 64 in a word, so
//! that the first entry with room is found by a few operations on words.

/// All slices of an entry.
pub const WHOLE: u8 = 0b1111;

/// Where in an entry a register is to lie (section 5).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u8)]
pub enum Side {
    /// Wherever there is room.
    #[default]
    Any,
    /// From the uppermost slice down.
    Left,
    /// From the lowest slice up.
    Right,
}

/// The slices that a register takes of an entry in which some are free: a run of them, the lowest that there is.
#[inline(always)]
pub fn fit(free: u8, width: u8, side: Side) -> Option<u8> {
    match FIT[kind(width.clamp(1, 4), side)][usize::from(free & WHOLE)] {
        0 => None,
        mask => Some(mask),
    }
}

/// By kind of room and free slices: the slices that are taken; 0 if there is no room.
const FIT: [[u8; 16]; KINDS] = {
    let mut fit = [[0; 16]; KINDS];
    let mut at = 0;
    while at < KINDS * 16 {
        let (kind, free) = (at / 16, (at % 16) as u8);
        let width = kind as u8 % 4 + 1;
        let (run, highest) = (WHOLE >> (4 - width), 4 - width);
        let (mut place, last) = match kind / 4 {
            0 => (0, highest),
            1 => (highest, highest),
            _ => (0, 0),
        };
        while place <= last && fit[kind][free as usize] == 0 {
            if (run << place) & !free == 0 {
                fit[kind][free as usize] = run << place;
            }
            place += 1;
        }
        at += 1;
    }
    fit
};

/// Kinds of room: by width for any side, then for the left and for the right.
const KINDS: usize = 12;

const fn kind(width: u8, side: Side) -> usize {
    side as usize * 4 + width as usize - 1
}

/// Slices of a mask.
pub(super) const SLICES: [u8; 16] = [0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4];

/// How many slices a mask has: a table, since not every host counts bits in one step.
#[inline(always)]
pub fn slices(mask: u8) -> u32 {
    u32::from(SLICES[usize::from(mask & WHOLE)])
}

/// By mask: all bits of a word for each slice that is in it.
const WORDS: [[u64; 4]; 16] = {
    let mut words = [[0; 4]; 16];
    let mut at = 0;
    while at < 64 {
        words[at / 4][at % 4] = if (at / 4) >> (at % 4) & 1 != 0 { u64::MAX } else { 0 };
        at += 1;
    }
    words
};

/// A flag beside the free slices of an entry: nobody takes them by looking for room.
const HELD: u8 = 1 << 7;

/// What is true of an entry that gets slices back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GivenBack {
    /// Its free slices are kept from those who look for room.
    pub held: bool,
    /// Nothing is taken of it.
    pub empty: bool,
}

/// 64 entries of a bank.
#[derive(Clone, Debug)]
struct Entries {
    /// For each slice: entries of which it is free and not held, a bit each.
    open: [u64; 4],
    /// By entry: the slices that are free, and [`HELD`].
    free: [u8; 64],
}

impl Entries {
    /// Takes the first entry that is free as a whole; gives its number.
    #[inline(always)]
    fn take_whole(&mut self) -> Option<usize> {
        let [a, b, c, d] = self.open;
        let room = a & b & c & d;
        if room == 0 {
            return None;
        }
        let (entry, bit) = (room.trailing_zeros() as usize % 64, room & room.wrapping_neg());
        self.open.iter_mut().for_each(|word| *word ^= bit);
        // What is open is not held.
        self.free[entry] = 0;
        Some(entry)
    }

    /// Opens closed slices of an entry to those who look for room, or closes open ones.
    #[inline(always)]
    fn turn(&mut self, entry: usize, mask: u8) {
        let bit = 1 << (entry % 64);
        let of_mask = &WORDS[usize::from(mask & WHOLE)];
        for (word, of_mask) in self.open.iter_mut().zip(of_mask) {
            *word ^= bit & of_mask;
        }
    }
}

/// Of eight entries, given the free slices of each in a byte: those of which a slice is taken, and slices that are.
#[inline(always)]
fn used_of(free: u64) -> [u32; 2] {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let taken = !free & (ONES * WHOLE as u64);
    // A byte that is not zero reaches its uppermost bit; bits of a byte are counted in twos, then in fours.
    let entries = (taken + ONES * 0x7f) >> 7 & ONES;
    let twos = taken - (taken >> 1 & (ONES * 0b0101));
    let slices = (twos & (ONES * 0b0011)) + (twos >> 2 & (ONES * 0b0011));
    [entries, slices].map(|bytes| (bytes.wrapping_mul(ONES) >> 56) as u32)
}

/// Free slices of all entries of a register file. An entry's place is its number over all banks, each of which has places for a multiple of 64.
#[derive(Clone, Debug)]
pub struct FreeMap {
    /// By place, 64 each.
    entries: Vec<Entries>,
    /// How many of these a bank has.
    words: usize,
}

impl FreeMap {
    /// All is free.
    pub fn new(banks: usize, entries: usize) -> FreeMap {
        let words = entries.div_ceil(64);
        let word = |word: usize| u64::MAX >> (64 - (entries - 64 * word).min(64));
        let fresh = |at: usize| Entries { open: [word(at % words); 4], free: [WHOLE; 64] };
        FreeMap { entries: (0..banks * words).map(fresh).collect(), words }
    }

    /// The place of an entry.
    #[inline(always)]
    pub fn place(&self, bank: u8, entry: u16) -> usize {
        usize::from(bank) * self.words * 64 + usize::from(entry)
    }

    /// The entry of a place in a bank.
    #[inline(always)]
    pub fn entry(&self, bank: u8, place: usize) -> u16 {
        (place - usize::from(bank) * self.words * 64) as u16
    }

    /// Places that there are.
    pub fn places(&self) -> usize {
        64 * self.entries.len()
    }

    #[inline(always)]
    pub fn free(&self, place: usize) -> u8 {
        self.entries[place / 64].free[place % 64] & WHOLE
    }

    /// The first entry of a bank with room for a register, by its place, and the slices that it takes there.
    #[inline(always)]
    pub fn first(&self, bank: u8, width: u8, side: Side) -> Option<(usize, u8)> {
        // A search of its own for each kind of room, so that none of them asks for the kind again.
        let place = match (width, side) {
            (1, Side::Any) => self.first_with(bank, |[a, b, c, d]| a | b | c | d),
            (2, Side::Any) => self.first_with(bank, |[a, b, c, d]| a & b | b & c | c & d),
            (3, Side::Any) => self.first_with(bank, |[a, b, c, d]| b & c & (a | d)),
            (1, Side::Left) => self.first_with(bank, |[_, _, _, d]| *d),
            (2, Side::Left) => self.first_with(bank, |[_, _, c, d]| c & d),
            (3, Side::Left) => self.first_with(bank, |[_, b, c, d]| b & c & d),
            (1, Side::Right) => self.first_with(bank, |[a, _, _, _]| *a),
            (2, Side::Right) => self.first_with(bank, |[a, b, _, _]| a & b),
            (3, Side::Right) => self.first_with(bank, |[a, b, c, _]| a & b & c),
            _ => self.first_whole(bank),
        }?;
        Some((place, fit(self.free(place), width, side)?))
    }

    /// Takes the first entry of a bank that is free as a whole; gives its place.
    #[inline(always)]
    pub fn take_whole(&mut self, bank: u8) -> Option<usize> {
        let word = usize::from(bank) * self.words;
        match self.entries[word].take_whole() {
            None => self.take_whole_beyond(word),
            Some(entry) => Some(64 * word + entry),
        }
    }

    /// [`FreeMap::take_whole`] from the second 64 entries of a bank on, given its first word.
    #[inline(never)]
    fn take_whole_beyond(&mut self, first: usize) -> Option<usize> {
        let beyond = first + 1..first + self.words;
        beyond.into_iter().find_map(|word| Some(64 * word + self.entries[word].take_whole()?))
    }

    /// Of an entry that is taken as a whole, slices are free again, and held.
    #[inline(always)]
    pub fn hold_rest(&mut self, place: usize, mask: u8) {
        let free = &mut self.entries[place / 64].free[place % 64];
        debug_assert_eq!(*free, 0, "something is free");
        *free = mask | HELD;
    }

    /// The first entry of a bank that is free as a whole, by its place.
    #[inline(always)]
    fn first_whole(&self, bank: u8) -> Option<usize> {
        self.first_with(bank, |[a, b, c, d]| a & b & c & d)
    }

    /// The first entry of a bank that has room, by its place, given which of 64 have room by the slices that are free of each. Mostly it is one of the
    /// first 64.
    #[inline(always)]
    fn first_with(&self, bank: u8, room: impl Fn(&[u64; 4]) -> u64) -> Option<usize> {
        let word = usize::from(bank) * self.words;
        match room(&self.entries[word].open) {
            0 => self.first_beyond(word, room),
            room => Some(64 * word + room.trailing_zeros() as usize),
        }
    }

    /// [`FreeMap::first_with`] from the second 64 entries of a bank on, given its first word.
    #[inline(never)]
    fn first_beyond(&self, first: usize, room: impl Fn(&[u64; 4]) -> u64) -> Option<usize> {
        (first + 1..first + self.words).find_map(|word| {
            let room = room(&self.entries[word].open);
            (room != 0).then(|| 64 * word + room.trailing_zeros() as usize)
        })
    }

    /// Takes slices. Tells whether nothing else is taken of the entry.
    #[inline(always)]
    pub fn take(&mut self, place: usize, mask: u8) -> bool {
        let entries = &mut self.entries[place / 64];
        let free = &mut entries.free[place % 64];
        debug_assert_eq!(*free & mask, mask, "slices are taken twice");
        let before = *free;
        *free = before & !mask;
        if before & HELD == 0 {
            entries.turn(place, mask);
        }
        before & WHOLE == WHOLE
    }

    /// Slices are free again.
    #[inline(always)]
    pub fn give_back(&mut self, place: usize, mask: u8) -> GivenBack {
        let entries = &mut self.entries[place / 64];
        let free = &mut entries.free[place % 64];
        debug_assert_eq!(*free & mask, 0, "slices are freed twice");
        *free |= mask;
        let (held, empty) = (*free & HELD != 0, *free & WHOLE == WHOLE);
        if !held {
            entries.turn(place, mask);
        }
        GivenBack { held, empty }
    }

    /// Whether an entry's free slices are kept from those who look for room.
    pub fn hold(&mut self, place: usize, hold: bool) {
        let entries = &mut self.entries[place / 64];
        let free = &mut entries.free[place % 64];
        let before = *free;
        *free = before & WHOLE | if hold { HELD } else { 0 };
        if before != *free {
            entries.turn(place, before);
        }
    }

    /// Entries of which a slice is taken, and slices that are. They are counted eight entries at a time.
    pub fn used(&self) -> (u32, u32) {
        let (mut entries, mut slices) = (0, 0);
        for eight in self.entries.iter().flat_map(|entries| entries.free.as_chunks::<8>().0) {
            let [of_entries, of_slices] = used_of(u64::from_le_bytes(*eight));
            entries += of_entries;
            slices += of_slices;
        }
        (entries, slices)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_of_eight_entries_is_what_is_used_of_each() {
        let mut random = 5u64;
        for _ in 0..10_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let free = (random ^ random >> 29) & 0x8f8f_8f8f_8f8f_8f8f;
            let taken = free.to_le_bytes().map(|free| slices(!free));
            let entries = taken.iter().filter(|slices| **slices != 0).count() as u32;
            assert_eq!(used_of(free), [entries, taken.iter().sum()]);
        }
    }
}
