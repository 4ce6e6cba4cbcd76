// SPDX-License-Identifier: MIT OR Apache-2.0
//! The renaming table, and how a register gets its place (sections 4.3, 5.3 and 6).
//!
//! A register is placed when it is first written, in its home bank: in the first entry with room for it. One that has a partner takes a free entry
//! as a whole, whose other slices are kept for the partner, or follows its partner there. One that has a side takes the first entry with room on
//! that side. A register that outgrows its place is placed anew, in the same way; one that shrinks keeps its slices and uses fewer of them. Without
//! room in the home bank the others are tried in turn.

use super::free::{FreeMap, GivenBack, SLICES, Side, WHOLE, fit};

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
    #[cfg(test)]
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

/// What a read of a register sees of it: its slices, none if it has no place, the bank in which it is or will be, and how often it was written or
/// released; and the bank that it belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Seen {
    pub mask: u8,
    pub bank: u8,
    pub life: u16,
    pub home: u8,
}

/// No register keeps slices of the entry.
const NOBODY: u16 = u16::MAX;

/// What the table has of a register.
#[derive(Clone, Copy, Debug, Default)]
struct Register {
    /// Slices that hold it; none if it has no place.
    mask: u8,
    /// The bank of its place; without one, the bank that it belongs to.
    bank: u8,
    /// What else there is to its place, without meaning if it has none: slices that are kept for it, and the side on which it lies.
    owned: u8,
    lies: Side,
    place: u32,
    /// Bits in which its number and its partner's differ; 0 if it has none.
    apart: u8,
    /// The side on which it is to lie.
    side: Side,
    /// Counts writes and releases, so that a release can be for the value that was read. It may start again: a register is not written that
    /// often while one of its reads is under way.
    life: u16,
    /// The bank that it belongs to.
    home: u8,
}

/// As a power of two, it is found by a shift.
const _: () = assert!(size_of::<Register>() == 16);

/// Warp slots that the table has room for: a constant, so that it is indexed without a check.
const SLOTS: usize = 64;

/// The place in the table of a register.
#[inline(always)]
fn index(slot: usize, register: u8) -> usize {
    slot % SLOTS * REGISTERS + usize::from(register)
}

/// Registers of a warp, a bit each.
pub type Set = [u64; REGISTERS / 64];

/// The word of a register in a set, and its bit there.
#[inline(always)]
fn member(register: u8) -> (usize, u64) {
    (usize::from(register / 64), 1 << (register % 64))
}

/// Does something for each register of a set.
#[inline(always)]
pub fn for_each(set: Set, mut act: impl FnMut(u8)) {
    for (word, mut left) in set.into_iter().enumerate() {
        while left != 0 {
            act((64 * word) as u8 + left.trailing_zeros() as u8);
            left &= left - 1;
        }
    }
}

/// What a register gives back that loses its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Freed {
    pub slices: u32,
    /// Its entry holds nothing else.
    pub last: bool,
}

#[derive(Clone, Debug)]
pub struct Allocator {
    banks: usize,
    /// The bank of each sum of warp slot and register, and which bits of a register's number count in it.
    homes: Box<[u8; HOMES]>,
    spread: u8,
    /// Registers take as many slices as they need, not whole entries.
    packs: bool,
    free: FreeMap,
    /// By slot and register.
    table: Box<[Register; SLOTS * REGISTERS]>,
    /// By slot and register, a bit each: whether it has a place.
    placed: [u64; SLOTS * REGISTERS / 64],
    /// By slot: registers that have a partner or a side.
    hinted: [Set; SLOTS],
    /// By place: who keeps its free slices for its partner, by slot and register.
    keeper: Vec<u16>,
    pub places: Places,
}

/// Sums of warp slot and register, and more, so that a table of them is indexed without a check.
const HOMES: usize = 512;

impl Allocator {
    pub fn new(slots: usize, banks: usize, entries: usize, home: Home, packs: bool) -> Allocator {
        assert!(slots <= SLOTS, "{slots} warp slots");
        let free = FreeMap::new(banks, entries);
        let table = vec![Register::default(); SLOTS * REGISTERS];
        let mut allocator = Allocator {
            banks,
            homes: Box::new(std::array::from_fn(|place| (place % banks) as u8)),
            spread: if home == Home::Spread { u8::MAX } else { 0 },
            packs,
            table: table.try_into().expect("as many as there are places"),
            placed: [0; SLOTS * REGISTERS / 64],
            hinted: [Set::default(); SLOTS],
            keeper: vec![NOBODY; free.places()],
            free,
            places: Places::default(),
        };
        for slot in 0..slots {
            let row = slot * REGISTERS;
            if slot >= banks {
                // The homes of slots repeat after as many as there are banks.
                let same = row - banks * REGISTERS;
                allocator.table.copy_within(same..same + REGISTERS, row);
                continue;
            }
            for register in 0..=u8::MAX {
                let home = allocator.home(slot, register);
                let entry = &mut allocator.table[index(slot, register)];
                (entry.bank, entry.home) = (home, home);
            }
        }
        allocator
    }

    /// A warp comes to a slot, with partners and sides of its registers. Nothing of it has a place.
    pub fn start(&mut self, slot: usize, pairs: &[[u8; 2]], sides: &[(u8, Side)]) {
        self.end(slot);
        let slot = slot % SLOTS;
        let registers = &mut self.table[slot * REGISTERS..][..REGISTERS];
        for_each(std::mem::take(&mut self.hinted[slot]), |register| {
            let register = &mut registers[usize::from(register)];
            (register.apart, register.side) = (0, Side::Any);
        });
        let mut hint = |register: u8| {
            let (word, bit) = member(register);
            self.hinted[slot][word] |= bit;
            usize::from(register)
        };
        for &[one, other] in pairs {
            registers[hint(one)].apart = one ^ other;
            registers[hint(other)].apart = one ^ other;
        }
        for &(register, side) in sides {
            registers[hint(register)].side = side;
        }
    }

    /// All registers of a warp lose their places.
    pub fn end(&mut self, slot: usize) {
        for_each(self.placed(slot), |register| {
            self.release(slot, register);
        });
    }

    /// Registers of a warp that have a place.
    #[inline(always)]
    pub fn placed(&self, slot: usize) -> Set {
        let first = index(slot, 0) / 64;
        std::array::from_fn(|word| self.placed[first + word])
    }

    #[inline(always)]
    pub fn get(&self, slot: usize, register: u8) -> Option<Mapping> {
        self.mapping(index(slot, register))
    }

    #[inline(always)]
    fn mapping(&self, at: usize) -> Option<Mapping> {
        let Register { mask, owned, bank, lies, place, .. } = self.table[at];
        if mask == 0 {
            return None;
        }
        Some(Mapping { bank, entry: self.free.entry(bank, place as usize), mask, owned, side: lies })
    }

    /// What a read of a register needs.
    #[inline(always)]
    pub fn seen(&self, slot: usize, register: u8) -> Seen {
        let Register { mask, bank, life, home, .. } = self.table[index(slot, register)];
        Seen { mask, bank, life, home }
    }

    /// The slices that hold a register; none if it has no place. The bank in which it is or will be, and the place of its entry, if it has one.
    #[inline(always)]
    pub fn mask(&self, slot: usize, register: u8) -> u8 {
        self.table[index(slot, register)].mask
    }

    #[inline(always)]
    pub fn bank(&self, slot: usize, register: u8) -> u8 {
        self.table[index(slot, register)].bank
    }

    #[inline(always)]
    pub fn place(&self, slot: usize, register: u8) -> usize {
        self.table[index(slot, register)].place as usize
    }

    /// Whether an entry holds nothing.
    pub fn is_empty(&self, bank: u8, entry: u16) -> bool {
        self.free.free(self.free.place(bank, entry)) == WHOLE
    }

    /// Whether the entry of a register holds nothing else.
    #[inline(always)]
    pub fn is_alone(&self, slot: usize, register: u8) -> bool {
        let Register { place, owned, .. } = self.table[index(slot, register)];
        self.free.free(place as usize) | owned == WHOLE
    }

    /// The register that a register is paired with; itself if none.
    pub fn partner(&self, slot: usize, register: u8) -> u8 {
        register ^ self.table[index(slot, register)].apart
    }

    /// A number less than slots + registers: registers of the same number have the same home.
    #[inline(always)]
    pub fn home_class(&self, slot: usize, register: u8) -> usize {
        slot + usize::from(register & self.spread)
    }

    /// The bank that a register belongs to.
    #[inline(always)]
    pub fn home(&self, slot: usize, register: u8) -> u8 {
        self.homes[self.home_class(slot, register) % HOMES]
    }

    /// Entries of which a slice is taken, and slices that are. They are counted one by one.
    pub fn used(&self) -> (u32, u32) {
        self.free.used()
    }

    /// Places that entries may have.
    pub fn places_of_entries(&self) -> usize {
        self.free.places()
    }

    /// The slices that a register gets for its bytes, of which there are 1 to 4.
    #[inline(always)]
    pub fn slices_for(&self, width: u8) -> u8 {
        debug_assert!((1..=4).contains(&width));
        if self.packs { width } else { 4 }
    }

    /// A register is written, and is so many bytes wide from now on. Gives where it is, and what that changed; `None` if there is no room for it.
    pub fn write(&mut self, slot: usize, register: u8, width: u8) -> Option<(Mapping, Change)> {
        let width = self.slices_for(width);
        let change = match self.get(slot, register) {
            None => {
                self.write_first(slot, register, width)?;
                Change::Placed
            }
            Some(old) if old.width() == width => {
                self.write_again(slot, register);
                Change::None
            }
            Some(_) => self.write_resized(slot, register, width)?,
        };
        Some((self.get(slot, register)?, change))
    }

    /// A register that has no place is written, and gets one of so many slices. Tells whether its entry holds nothing else.
    #[inline(always)]
    pub fn write_first(&mut self, slot: usize, register: u8, width: u8) -> Option<bool> {
        let at = index(slot, register);
        let Register { apart, side, home, .. } = self.table[at];
        // Most registers take a whole entry, which has nobody else in it. Who has a partner that has a place is not among them; who has none is not placed
        // itself.
        if width == 4
            && self.table[at ^ usize::from(apart)].mask == 0
            && let Some(place) = self.free.take_whole(home)
        {
            self.set(at, home, place, WHOLE, if apart == 0 { side } else { Side::Any });
            return Some(true);
        }
        self.find_with_partner_here(at, home, width)
    }

    /// A register is written in the place that it has.
    #[inline(always)]
    pub fn write_again(&mut self, slot: usize, register: u8) {
        let register = &mut self.table[index(slot, register)];
        register.life = register.life.wrapping_add(1);
    }

    /// A register that has a place is written, and needs another number of slices.
    #[inline(never)]
    pub fn write_resized(&mut self, slot: usize, register: u8, width: u8) -> Option<Change> {
        let at = index(slot, register);
        let old = self.mapping(at)?;
        if width <= SLICES[usize::from(old.owned & WHOLE)] {
            self.table[at].mask = old.resized(width).mask;
            self.write_again(slot, register);
            return Some(Change::Resized(old));
        }
        let Register { place, home, .. } = self.table[at];
        let place = place as usize;
        // It finds another place before it leaves its own, if there is one.
        let found = self.find_with_partner(at, home, width);
        self.clear(at, place, old.owned);
        if found.is_none() {
            self.find_with_partner(at, home, width)?;
        }
        Some(Change::Moved(old))
    }

    /// A register is no longer needed. Tells whether it had a place.
    #[inline(always)]
    pub fn release(&mut self, slot: usize, register: u8) -> bool {
        self.give_back(slot, register).is_some()
    }

    /// [`Allocator::release`], and what is free by that.
    #[inline(always)]
    pub fn give_back(&mut self, slot: usize, register: u8) -> Option<Freed> {
        self.give_back_at(index(slot, register))
    }

    /// [`Allocator::give_back`] if it was written or released so often, given its index: warp slot times [`REGISTERS`], and its number.
    #[inline(always)]
    pub fn give_back_once(&mut self, index: usize, life: u16) -> Option<Freed> {
        let at = index % (SLOTS * REGISTERS);
        if self.table[at].life != life {
            return None;
        }
        self.give_back_at(at)
    }

    #[inline(always)]
    fn give_back_at(&mut self, at: usize) -> Option<Freed> {
        let entry = &mut self.table[at];
        let Register { mask, owned, place, home, .. } = *entry;
        if mask == 0 {
            return None;
        }
        (entry.mask, entry.bank) = (0, home);
        entry.life = entry.life.wrapping_add(1);
        self.placed[at / 64] &= !(1 << (at % 64));
        let last = self.clear(at, place as usize, owned);
        Some(Freed { slices: SLICES[usize::from(owned & WHOLE)].into(), last })
    }

    /// Slices of a register are free. Tells whether its entry is empty.
    #[inline(always)]
    fn clear(&mut self, at: usize, place: usize, owned: u8) -> bool {
        let GivenBack { held, empty } = self.free.give_back(place, owned);
        if held && usize::from(self.keeper[place]) == at {
            self.keep(place, NOBODY);
        }
        empty
    }

    fn keep(&mut self, place: usize, keeper: u16) {
        self.keeper[place] = keeper;
        self.free.hold(place, keeper != NOBODY);
    }

    /// Finds a place in the home bank on the side that is wanted, or elsewhere, and takes it. Tells whether its entry holds nothing else.
    #[inline(always)]
    fn find(&mut self, at: usize, home: u8, width: u8, side: Side) -> Option<bool> {
        match self.free.first(home, width, side) {
            Some((place, mask)) => Some(self.take(at, home, place, mask, side)),
            None => self.find_elsewhere(at, home, width, side),
        }
    }

    /// [`Allocator::find_with_partner_here`] for those who do it rarely.
    #[inline(never)]
    fn find_with_partner(&mut self, at: usize, home: u8, width: u8) -> Option<bool> {
        self.find_with_partner_here(at, home, width)
    }

    /// Next to its partner; if that has no place yet, where there will be room for it; wherever there is room otherwise.
    #[inline(always)]
    fn find_with_partner_here(&mut self, at: usize, home: u8, width: u8) -> Option<bool> {
        let Register { apart, side, .. } = self.table[at];
        let other = at ^ usize::from(apart);
        if other == at {
            return self.find(at, home, width, side);
        }
        let Register { mask, bank, place: there, .. } = self.table[other];
        if mask != 0 {
            let place = there as usize;
            self.places.partners += 1;
            // What was kept is taken, or no longer waited for.
            if usize::from(self.keeper[place]) == other {
                self.keep(place, NOBODY);
            }
            if let Some(mask) = fit(self.free.free(place), width, Side::Any) {
                self.places.together += 1;
                return Some(self.take(at, bank, place, mask, Side::Any));
            }
        } else if let Some(place) = self.free.take_whole(home) {
            let mask = WHOLE >> (4 - width);
            self.set(at, home, place, mask, Side::Any);
            if width < 4 {
                self.keeper[place] = at as u16;
                self.free.hold_rest(place, WHOLE & !mask);
            }
            return Some(true);
        }
        self.find(at, home, width, side)
    }

    /// On any side, and in another bank if need be.
    #[cold]
    fn find_elsewhere(&mut self, at: usize, home: u8, width: u8, side: Side) -> Option<bool> {
        self.places.wrong_side += u64::from(side != Side::Any);
        for distance in 0..self.banks {
            let bank = ((usize::from(home) + distance) % self.banks) as u8;
            if let Some((place, mask)) = self.free.first(bank, width, Side::Any) {
                self.places.elsewhere += u64::from(distance != 0);
                return Some(self.take(at, bank, place, mask, Side::Any));
            }
        }
        None
    }

    /// A register that is written takes slices of an entry. Tells whether that holds nothing else.
    #[inline(always)]
    fn take(&mut self, at: usize, bank: u8, place: usize, mask: u8, side: Side) -> bool {
        let alone = self.free.take(place, mask);
        self.set(at, bank, place, mask, side);
        alone
    }

    #[inline(always)]
    fn set(&mut self, at: usize, bank: u8, place: usize, mask: u8, side: Side) {
        let register = &mut self.table[at];
        (register.mask, register.owned, register.bank, register.lies) = (mask, mask, bank, side);
        (register.place, register.life) = (place as u32, register.life.wrapping_add(1));
        self.placed[at / 64] |= 1 << (at % 64);
    }

    /// Whether slices are free exactly if no register owns them, and every kept entry has its keeper: for tests, and slow.
    pub fn is_consistent(&self) -> bool {
        let mut taken = vec![0u8; self.free.places()];
        for register in self.table.iter().filter(|register| register.mask != 0) {
            let taken = &mut taken[register.place as usize];
            if *taken & register.owned != 0 || register.mask & !register.owned != 0 {
                return false;
            }
            *taken |= register.owned;
        }
        let agree = |(place, taken): (usize, &u8)| {
            let keeper = self.keeper[place];
            let keeps = |by: &Register| by.mask != 0 && by.place as usize == place;
            let is_there = keeper == NOBODY || keeps(&self.table[usize::from(keeper)]);
            self.free.free(place) == WHOLE & !taken && is_there
        };
        taken.iter().enumerate().all(agree)
    }
}
