// SPDX-License-Identifier: MIT OR Apache-2.0
//! The free register map (section 4.3): a bit for each slice of each entry, and beside it which entries have room for what, so that the first that
//! fits is found at once.

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

/// An entry that is free as a whole has room of every kind.
const EVERYTHING: u16 = (1 << KINDS) - 1;

/// What an entry with these free slices has room for, a bit for each kind.
const ROOM: [u16; 16] = {
    let mut room = [0; 16];
    let mut free = 0;
    while free < 16 {
        let mut width = 1;
        while width <= 4 {
            let run = WHOLE >> (4 - width);
            let mut place = 0;
            while place <= 4 - width {
                if (run << place) & !(free as u8) == 0 {
                    room[free] |= 1 << kind(width, Side::Any);
                    if place == 0 {
                        room[free] |= 1 << kind(width, Side::Right);
                    }
                    if place == 4 - width {
                        room[free] |= 1 << kind(width, Side::Left);
                    }
                }
                place += 1;
            }
            width += 1;
        }
        free += 1;
    }
    room
};

/// Free slices of all entries of a register file.
#[derive(Clone, Debug)]
pub struct FreeMap {
    entries: usize,
    /// By bank and entry.
    free: Vec<u8>,
    /// Entries whose free slices are not found by the search for space.
    held: Vec<bool>,
    /// By bank, 64 entries and kind of room: which of the entries have it, a bit each.
    room: Vec<u64>,
    words: usize,
    used_entries: u32,
    used_slices: u32,
}

impl FreeMap {
    /// All is free.
    pub fn new(banks: usize, entries: usize) -> FreeMap {
        let words = entries.div_ceil(64);
        let mut map = FreeMap {
            entries,
            free: vec![WHOLE; banks * entries],
            held: vec![false; banks * entries],
            room: vec![0; banks * KINDS * words],
            words,
            used_entries: 0,
            used_slices: 0,
        };
        for bank in 0..banks {
            (0..entries).for_each(|entry| map.note(bank, entry));
        }
        map
    }

    fn note(&mut self, bank: usize, entry: usize) {
        let at = bank * self.entries + entry;
        let room = if self.held[at] { 0 } else { ROOM[usize::from(self.free[at] & WHOLE)] };
        let bit = 1 << (entry % 64);
        let words = &mut self.room[(bank * self.words + entry / 64) * KINDS..][..KINDS];
        match room {
            // Most entries are taken, or given back, as a whole.
            0 => words.iter_mut().for_each(|word| *word &= !bit),
            EVERYTHING => words.iter_mut().for_each(|word| *word |= bit),
            _ => {
                for (kind, word) in words.iter_mut().enumerate() {
                    *word = if room >> kind & 1 != 0 { *word | bit } else { *word & !bit };
                }
            }
        }
    }

    pub fn free(&self, bank: usize, entry: usize) -> u8 {
        self.free[bank * self.entries + entry]
    }

    /// The first entry of a bank with room for a register, and the slices that it takes there.
    pub fn first(&self, bank: usize, width: u8, side: Side) -> Option<(usize, u8)> {
        let words = &self.room[bank * self.words * KINDS..][..self.words * KINDS];
        let kind = kind(width.clamp(1, 4), side);
        let (place, word) =
            words.chunks_exact(KINDS).map(|kinds| kinds[kind]).enumerate().find(|(_, word)| *word != 0)?;
        let entry = place * 64 + word.trailing_zeros() as usize;
        Some((entry, fit(self.free(bank, entry), width, side)?))
    }

    /// The first entry of a bank that is free as a whole.
    pub fn first_whole(&self, bank: usize) -> Option<usize> {
        self.first(bank, 4, Side::Any).map(|(entry, _)| entry)
    }

    pub fn take(&mut self, bank: usize, entry: usize, mask: u8) {
        let free = &mut self.free[bank * self.entries + entry];
        debug_assert_eq!(*free & mask, mask, "slices are taken twice");
        self.used_entries += u32::from(*free == WHOLE);
        self.used_slices += mask.count_ones();
        *free &= !mask;
        self.note(bank, entry);
    }

    pub fn give_back(&mut self, bank: usize, entry: usize, mask: u8) {
        let free = &mut self.free[bank * self.entries + entry];
        debug_assert_eq!(*free & mask, 0, "slices are freed twice");
        *free |= mask;
        self.used_entries -= u32::from(*free == WHOLE);
        self.used_slices -= mask.count_ones();
        self.note(bank, entry);
    }

    /// Whether an entry's free slices are kept from those who look for room.
    pub fn hold(&mut self, bank: usize, entry: usize, hold: bool) {
        self.held[bank * self.entries + entry] = hold;
        self.note(bank, entry);
    }

    /// Entries of which a slice is taken, and slices that are.
    pub fn used(&self) -> (u32, u32) {
        (self.used_entries, self.used_slices)
    }
}
