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
    #[inline(always)]
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

/// What the table has of a register.
#[derive(Clone, Copy, Debug)]
struct Register {
    mapping: Option<Mapping>,
    /// The partner, if another register.
    partner: u8,
    side: Side,
    /// Counts writes and releases, so that a release can be for the value that was read.
    life: u32,
}

#[derive(Clone, Debug)]
pub struct Allocator {
    banks: usize,
    /// The bank of each sum of warp slot and register, and which bits of a register's number count in it.
    homes: Vec<u8>,
    spread: u8,
    /// Registers take as many slices as they need, not whole entries.
    packs: bool,
    free: FreeMap,
    /// By slot and register.
    table: Vec<Register>,
    /// By place: who keeps its free slices for its partner, by slot and register.
    keeper: Vec<u16>,
    pub places: Places,
}

impl Allocator {
    pub fn new(slots: usize, banks: usize, entries: usize, home: Home, packs: bool) -> Allocator {
        let free = FreeMap::new(banks, entries);
        let register = |at: usize| Register { mapping: None, partner: at as u8, side: Side::Any, life: 0 };
        Allocator {
            banks,
            homes: (0..slots + REGISTERS).map(|place| (place % banks) as u8).collect(),
            spread: if home == Home::Spread { u8::MAX } else { 0 },
            packs,
            table: (0..slots * REGISTERS).map(register).collect(),
            keeper: vec![NOBODY; free.places()],
            free,
            places: Places::default(),
        }
    }

    /// A warp comes to a slot, with partners and sides of its registers. Nothing of it has a place.
    pub fn start(&mut self, slot: usize, pairs: &[[u8; 2]], sides: &[(u8, Side)]) {
        self.end(slot);
        let registers = &mut self.table[slot * REGISTERS..][..REGISTERS];
        for (own, register) in registers.iter_mut().enumerate() {
            (register.partner, register.side) = (own as u8, Side::Any);
        }
        for &[one, other] in pairs {
            registers[usize::from(one)].partner = other;
            registers[usize::from(other)].partner = one;
        }
        for &(register, side) in sides {
            registers[usize::from(register)].side = side;
        }
    }

    /// All registers of a warp lose their places.
    pub fn end(&mut self, slot: usize) {
        for register in 0..REGISTERS {
            if self.table[slot * REGISTERS + register].mapping.is_some() {
                self.release(slot, register as u8);
            }
        }
    }

    #[inline(always)]
    pub fn get(&self, slot: usize, register: u8) -> Option<Mapping> {
        self.table[slot * REGISTERS + usize::from(register)].mapping
    }

    /// How often a register was written or released.
    #[inline(always)]
    pub fn life(&self, slot: usize, register: u8) -> u32 {
        self.table[slot * REGISTERS + usize::from(register)].life
    }

    /// The register that a register is paired with; itself if none.
    pub fn partner(&self, slot: usize, register: u8) -> u8 {
        self.table[slot * REGISTERS + usize::from(register)].partner
    }

    /// A number less than slots + registers: registers of the same number have the same home.
    #[inline(always)]
    pub fn home_class(&self, slot: usize, register: u8) -> usize {
        slot + usize::from(register & self.spread)
    }

    /// The bank that a register belongs to.
    #[inline(always)]
    pub fn home(&self, slot: usize, register: u8) -> u8 {
        self.homes[self.home_class(slot, register)]
    }

    /// Entries of which a slice is taken, and slices that are.
    #[inline(always)]
    pub fn used(&self) -> (u32, u32) {
        self.free.used()
    }

    /// Places that entries may have, and the place of one.
    pub fn places_of_entries(&self) -> usize {
        self.free.places()
    }

    #[inline(always)]
    pub fn place_of(&self, mapping: &Mapping) -> usize {
        self.free.place(mapping.bank, mapping.entry)
    }

    /// Free slices of the entry of a place.
    #[inline(always)]
    pub fn free(&self, place: usize) -> u8 {
        self.free.free(place)
    }

    /// A register is written, and is so many bytes wide from now on. Gives where it is, and what that changed; `None` if there is no room for it.
    #[inline(always)]
    pub fn write(&mut self, slot: usize, register: u8, width: u8) -> Option<(Mapping, Change)> {
        let width = if self.packs { width.clamp(1, 4) } else { 4 };
        let at = slot * REGISTERS + usize::from(register);
        let place = &mut self.table[at];
        place.life = place.life.wrapping_add(1);
        let Some(old) = place.mapping else {
            let Register { partner, side, .. } = *place;
            let home = self.home(slot, register);
            let new = if partner == register {
                self.place(home, width, side)
            } else {
                self.place_with_partner(at, home, width)
            };
            self.table[at].mapping = new;
            return Some((new?, Change::Placed));
        };
        if width == old.width() {
            return Some((old, Change::None));
        }
        if width <= SLICES[usize::from(old.owned & WHOLE)] {
            let new = old.resized(width);
            place.mapping = Some(new);
            return Some((new, Change::Resized(old)));
        }
        Some((self.grow(at, old, width)?, Change::Moved(old)))
    }

    /// A register outgrows its place.
    #[inline(never)]
    fn grow(&mut self, at: usize, old: Mapping, width: u8) -> Option<Mapping> {
        let home = self.home(at / REGISTERS, (at % REGISTERS) as u8);
        let mut new = self.place_with_partner(at, home, width);
        self.clear(at, old);
        if new.is_none() {
            new = self.place_with_partner(at, home, width);
        }
        self.table[at].mapping = new;
        new
    }

    /// A register is no longer needed. Tells whether it had a place.
    #[inline(always)]
    pub fn release(&mut self, slot: usize, register: u8) -> bool {
        let at = slot * REGISTERS + usize::from(register);
        let place = &mut self.table[at];
        let Some(old) = place.mapping.take() else { return false };
        place.life = place.life.wrapping_add(1);
        self.clear(at, old);
        true
    }

    #[inline(always)]
    fn clear(&mut self, at: usize, old: Mapping) {
        let place = self.place_of(&old);
        if self.free.give_back(place, old.owned) && usize::from(self.keeper[place]) == at {
            self.keep(place, NOBODY);
        }
    }

    fn keep(&mut self, place: usize, keeper: u16) {
        self.keeper[place] = keeper;
        self.free.hold(place, keeper != NOBODY);
    }

    /// Finds a place in the home bank on the side that is wanted, or elsewhere, and takes it.
    #[inline(always)]
    fn place(&mut self, home: u8, width: u8, side: Side) -> Option<Mapping> {
        match self.free.first(home, width, side) {
            Some((place, mask)) => Some(self.take(home, place, mask, side)),
            None => self.place_elsewhere(home, width, side),
        }
    }

    /// Next to its partner; if that has no place yet, where there will be room for it; wherever there is room otherwise.
    #[inline(never)]
    fn place_with_partner(&mut self, at: usize, home: u8, width: u8) -> Option<Mapping> {
        let Register { partner, side, .. } = self.table[at];
        let other = at / REGISTERS * REGISTERS + usize::from(partner);
        if other == at {
            return self.place(home, width, side);
        }
        if let Some(there) = self.table[other].mapping {
            let place = self.place_of(&there);
            self.places.partners += 1;
            // What was kept is taken, or no longer waited for.
            if usize::from(self.keeper[place]) == other {
                self.keep(place, NOBODY);
            }
            if let Some(mask) = fit(self.free.free(place), width, Side::Any) {
                self.places.together += 1;
                return Some(self.take(there.bank, place, mask, Side::Any));
            }
        } else if let Some((place, _)) = self.free.first(home, 4, Side::Any) {
            let mapping = self.take(home, place, WHOLE >> (4 - width), Side::Any);
            if width < 4 {
                self.keep(place, at as u16);
            }
            return Some(mapping);
        }
        self.place(home, width, side)
    }

    /// On any side, and in another bank if need be.
    #[cold]
    fn place_elsewhere(&mut self, home: u8, width: u8, side: Side) -> Option<Mapping> {
        self.places.wrong_side += u64::from(side != Side::Any);
        for distance in 0..self.banks {
            let bank = ((usize::from(home) + distance) % self.banks) as u8;
            if let Some((place, mask)) = self.free.first(bank, width, Side::Any) {
                self.places.elsewhere += u64::from(distance != 0);
                return Some(self.take(bank, place, mask, Side::Any));
            }
        }
        None
    }

    #[inline(always)]
    fn take(&mut self, bank: u8, place: usize, mask: u8, side: Side) -> Mapping {
        self.free.take(place, mask);
        Mapping::new(bank, self.free.entry(bank, place), mask, side)
    }

    /// Whether slices are free exactly if no register owns them, and every kept entry has its keeper: for tests, and slow.
    pub fn is_consistent(&self) -> bool {
        let mut taken = vec![0u8; self.free.places()];
        for mapping in self.table.iter().filter_map(|register| register.mapping) {
            let taken = &mut taken[self.place_of(&mapping)];
            if *taken & mapping.owned != 0 || mapping.mask & !mapping.owned != 0 || mapping.mask == 0 {
                return false;
            }
            *taken |= mapping.owned;
        }
        let agree = |(place, taken): (usize, &u8)| {
            let keeper = self.keeper[place];
            let kept = || self.table[usize::from(keeper)].mapping;
            let is_there = keeper == NOBODY || kept().is_some_and(|kept| self.place_of(&kept) == place);
            self.free.free(place) == WHOLE & !taken && is_there
        };
        taken.iter().enumerate().all(agree)
    }
}
