// SPDX-License-Identifier: MIT OR Apache-2.0
//! The renaming table, and how a register gets its place (sections 4.3, 5.3 and 6).
//!
//! A register is placed when it is first written, in its home bank: in the first entry with room for it. One that has a partner takes a free entry
//! as a whole, whose other slices are kept for the partner, or follows its partner there. One that has a side takes the first entry with room on
//! that side. A register that outgrows its place is placed anew, in the same way; one that shrinks keeps its slices and uses fewer of them. Without
//! room in the home bank the others are tried in turn.

use super::free::{FreeMap, SLICES, Side, WHOLE, fit};

/// Registers of a warp that there may be.
pub const REGISTERS: usize = 256;

/// Which bank a register belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Home {
    /// Register + warp slot, modulo banks.
    Spread,
    /// Warp slot modulo banks: all registers of a warp in one bank.
    Warp,
}

/// Where a register is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mapping {
    pub bank: u8,
    pub entry: u16,
    /// Slices that hold it: the allocation mask.
    pub mask: u8,
    /// Slices that are kept for it.
    pub owned: u8,
    side: Side,
}

impl Mapping {
    pub(super) fn new(bank: u8, entry: u16, mask: u8, side: Side) -> Mapping {
        Mapping { bank, entry, mask, owned: mask, side }
    }

    #[cfg(test)]
    pub(super) fn side_is_left(&self) -> bool {
        self.side == Side::Left
    }

    /// Bytes of each lane.
    #[inline]
    pub fn width(&self) -> u8 {
        SLICES[usize::from(self.mask & WHOLE)]
    }

    #[inline]
    pub fn same_entry(&self, other: &Mapping) -> bool {
        (self.bank, self.entry) == (other.bank, other.entry)
    }

    /// The mask of a register of another width in the slices that it owns.
    fn resized(&self, width: u8) -> Mapping {
        let lowest = self.owned.trailing_zeros() as u8;
        let place = match self.side {
            Side::Left => lowest + SLICES[usize::from(self.owned & WHOLE)] - width,
            _ => lowest,
        };
        Mapping { mask: (WHOLE >> (4 - width)) << place, ..*self }
    }
}

/// What a write did to a register's place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// The place is as it was.
    None,
    /// It has got its first place.
    Placed,
    /// It has fewer bytes, or more again, in the slices that it has.
    Resized(Mapping),
    /// It has outgrown its place, and has another one.
    Moved(Mapping),
}

/// What was counted about places.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Places {
    /// Registers placed while their partner had a place, and how many of them came to the partner's entry.
    pub partners: u64,
    pub together: u64,
    /// Registers that found no room in their home bank.
    pub elsewhere: u64,
    /// Registers with a side that found no room on it.
    pub wrong_side: u64,
}

/// No register keeps slices of the entry.
const NOBODY: u16 = u16::MAX;

#[derive(Clone, Debug)]
pub struct Allocator {
    banks: usize,
    entries: usize,
    /// The bank of each sum of warp slot and register, and which bits of a register's number count in it.
    homes: Vec<u8>,
    spread: u8,
    /// Registers take as many slices as they need, not whole entries.
    packs: bool,
    free: FreeMap,
    /// By slot and register.
    table: Vec<Option<Mapping>>,
    /// By slot and register: the partner, if another register.
    partner: Vec<u8>,
    side: Vec<Side>,
    /// By bank and entry: who keeps its free slices for its partner, by slot and register.
    keeper: Vec<u16>,
    pub places: Places,
}

impl Allocator {
    pub fn new(slots: usize, banks: usize, entries: usize, home: Home, packs: bool) -> Allocator {
        Allocator {
            banks,
            entries,
            homes: (0..slots + REGISTERS).map(|place| (place % banks) as u8).collect(),
            spread: if home == Home::Spread { u8::MAX } else { 0 },
            packs,
            free: FreeMap::new(banks, entries),
            table: vec![None; slots * REGISTERS],
            partner: (0..slots * REGISTERS).map(|at| at as u8).collect(),
            side: vec![Side::Any; slots * REGISTERS],
            keeper: vec![NOBODY; banks * entries],
            places: Places::default(),
        }
    }

    /// A warp comes to a slot, with partners and sides of its registers. Nothing of it has a place.
    pub fn start(&mut self, slot: usize, pairs: &[[u8; 2]], sides: &[(u8, Side)]) {
        self.end(slot);
        let registers = slot * REGISTERS..(slot + 1) * REGISTERS;
        self.partner[registers.clone()].iter_mut().zip(0..=u8::MAX).for_each(|(partner, own)| *partner = own);
        self.side[registers].fill(Side::Any);
        for &[one, other] in pairs {
            self.partner[slot * REGISTERS + usize::from(one)] = other;
            self.partner[slot * REGISTERS + usize::from(other)] = one;
        }
        for &(register, side) in sides {
            self.side[slot * REGISTERS + usize::from(register)] = side;
        }
    }

    /// All registers of a warp lose their places.
    pub fn end(&mut self, slot: usize) {
        for register in 0..REGISTERS {
            self.release(slot, register as u8);
        }
    }

    #[inline]
    pub fn get(&self, slot: usize, register: u8) -> Option<Mapping> {
        self.table[slot * REGISTERS + usize::from(register)]
    }

    /// The register that a register is paired with; itself if none.
    pub fn partner(&self, slot: usize, register: u8) -> u8 {
        self.partner[slot * REGISTERS + usize::from(register)]
    }

    /// The bank that a register belongs to.
    #[inline]
    pub fn home(&self, slot: usize, register: u8) -> u8 {
        self.homes[slot + usize::from(register & self.spread)]
    }

    /// Entries of which a slice is taken, and slices that are.
    #[inline]
    pub fn used(&self) -> (u32, u32) {
        self.free.used()
    }

    /// Free slices of an entry.
    #[inline]
    pub fn free(&self, bank: u8, entry: u16) -> u8 {
        self.free.free(usize::from(bank), usize::from(entry))
    }

    /// A register is written, and is so many bytes wide from now on. Gives where it is, and what that changed; `None` if there is no room for it.
    #[inline]
    pub fn write(&mut self, slot: usize, register: u8, width: u8) -> Option<(Mapping, Change)> {
        let width = if self.packs { width.clamp(1, 4) } else { 4 };
        let at = slot * REGISTERS + usize::from(register);
        let Some(old) = self.table[at] else {
            let new = self.place(slot, register, width);
            self.table[at] = new;
            return Some((new?, Change::Placed));
        };
        if width == old.width() {
            return Some((old, Change::None));
        }
        if width <= SLICES[usize::from(old.owned & WHOLE)] {
            let new = old.resized(width);
            self.table[at] = Some(new);
            return Some((new, Change::Resized(old)));
        }
        let mut new = self.place(slot, register, width);
        self.clear(at, old);
        if new.is_none() {
            new = self.place(slot, register, width);
        }
        self.table[at] = new;
        Some((new?, Change::Moved(old)))
    }

    /// A register is no longer needed. Tells whether it had a place.
    #[inline]
    pub fn release(&mut self, slot: usize, register: u8) -> bool {
        let at = slot * REGISTERS + usize::from(register);
        let old = self.table[at].take();
        if let Some(old) = old {
            self.clear(at, old);
        }
        old.is_some()
    }

    #[inline]
    fn clear(&mut self, at: usize, old: Mapping) {
        let (bank, entry) = (usize::from(old.bank), usize::from(old.entry));
        self.free.give_back(bank, entry, old.owned);
        if usize::from(self.keeper[bank * self.entries + entry]) == at {
            self.keep(bank, entry, NOBODY);
        }
    }

    fn keep(&mut self, bank: usize, entry: usize, keeper: u16) {
        self.keeper[bank * self.entries + entry] = keeper;
        self.free.hold(bank, entry, keeper != NOBODY);
    }

    /// Finds a place, and takes it.
    #[inline]
    fn place(&mut self, slot: usize, register: u8, width: u8) -> Option<Mapping> {
        let at = slot * REGISTERS + usize::from(register);
        let home = usize::from(self.home(slot, register));
        let partner = self.partner[at];
        if partner != register
            && let Some(mapping) = self.place_with_partner(at, home, partner, width)
        {
            return Some(mapping);
        }
        let side = self.side[at];
        match self.free.first(home, width, side) {
            Some((entry, mask)) => Some(self.take(home, entry, mask, side)),
            None => self.place_elsewhere(home, width, side),
        }
    }

    /// Next to its partner; if that has no place yet, where there will be room for it.
    fn place_with_partner(&mut self, at: usize, home: usize, partner: u8, width: u8) -> Option<Mapping> {
        let other = at / REGISTERS * REGISTERS + usize::from(partner);
        if let Some(there) = self.table[other] {
            let (bank, entry) = (usize::from(there.bank), usize::from(there.entry));
            self.places.partners += 1;
            // What was kept is taken, or no longer waited for.
            if usize::from(self.keeper[bank * self.entries + entry]) == other {
                self.keep(bank, entry, NOBODY);
            }
            let mask = fit(self.free.free(bank, entry), width, Side::Any)?;
            self.places.together += 1;
            return Some(self.take(bank, entry, mask, Side::Any));
        }
        let entry = self.free.first_whole(home)?;
        let mapping = self.take(home, entry, WHOLE >> (4 - width), Side::Any);
        if width < 4 {
            self.keep(home, entry, at as u16);
        }
        Some(mapping)
    }

    /// On any side, and in another bank if need be.
    #[cold]
    fn place_elsewhere(&mut self, home: usize, width: u8, side: Side) -> Option<Mapping> {
        self.places.wrong_side += u64::from(side != Side::Any);
        for distance in 0..self.banks {
            let bank = (home + distance) % self.banks;
            if let Some((entry, mask)) = self.free.first(bank, width, Side::Any) {
                self.places.elsewhere += u64::from(distance != 0);
                return Some(self.take(bank, entry, mask, Side::Any));
            }
        }
        None
    }

    #[inline]
    fn take(&mut self, bank: usize, entry: usize, mask: u8, side: Side) -> Mapping {
        self.free.take(bank, entry, mask);
        Mapping::new(bank as u8, entry as u16, mask, side)
    }

    /// Whether slices are free exactly if no register owns them, and every kept entry has its keeper: for tests, and slow.
    pub fn is_consistent(&self) -> bool {
        let mut taken = vec![0u8; self.banks * self.entries];
        for mapping in self.table.iter().flatten() {
            let place = usize::from(mapping.bank) * self.entries + usize::from(mapping.entry);
            if taken[place] & mapping.owned != 0 || mapping.mask & !mapping.owned != 0 || mapping.mask == 0 {
                return false;
            }
            taken[place] |= mapping.owned;
        }
        let agree = |(place, taken): (usize, &u8)| {
            let (bank, entry) = (place / self.entries, place % self.entries);
            let keeper = self.keeper[place];
            let is_there = keeper == NOBODY
                || self.table[usize::from(keeper)]
                    .is_some_and(|kept| (usize::from(kept.bank), usize::from(kept.entry)) == (bank, entry));
            self.free.free(bank, entry) == WHOLE & !taken && is_there
        };
        taken.iter().enumerate().all(agree)
    }
}
