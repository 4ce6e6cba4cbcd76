// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbers of warp slots, sets of them, and tables with an entry for each.

use std::ops::{Index, IndexMut};

/// The number of a warp slot of an SM.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Slot(u8);

impl Slot {
    /// Warp slots at most: a set of them is a word.
    pub const COUNT: usize = 64;

    /// The slot with a number, which must be below [`Slot::COUNT`].
    #[inline(always)]
    pub fn new(number: usize) -> Slot {
        debug_assert!(number < Slot::COUNT, "warp slot {number}");
        Slot((number % Slot::COUNT) as u8)
    }

    #[inline(always)]
    pub fn number(self) -> u8 {
        // SAFETY: all that make one see to it.
        unsafe { std::hint::assert_unchecked(self.0 < Slot::COUNT as u8) };
        self.0
    }

    #[inline(always)]
    pub fn index(self) -> usize {
        usize::from(self.number())
    }

    /// The set with this slot alone.
    #[inline(always)]
    pub fn bit(self) -> u64 {
        1 << self.number()
    }
}

/// The slots of a set, lowest number first.
#[derive(Clone, Copy)]
pub struct Slots(pub u64);

impl Iterator for Slots {
    type Item = Slot;

    #[inline(always)]
    fn next(&mut self) -> Option<Slot> {
        let set = self.0;
        if set == 0 {
            return None;
        }
        self.0 = set & (set - 1);
        Some(Slot(set.trailing_zeros() as u8))
    }
}

/// A table with an entry for every warp slot.
#[derive(Clone)]
pub struct PerSlot<T>([T; Slot::COUNT]);

impl<T> PerSlot<T> {
    pub fn new(mut entry: impl FnMut() -> T) -> PerSlot<T> {
        PerSlot(std::array::from_fn(|_| entry()))
    }

    pub fn iter(&self) -> impl Iterator<Item = (Slot, &T)> {
        self.0.iter().enumerate().map(|(number, entry)| (Slot::new(number), entry))
    }
}

impl<T> Index<Slot> for PerSlot<T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, slot: Slot) -> &T {
        &self.0[slot.index()]
    }
}

impl<T> IndexMut<Slot> for PerSlot<T> {
    #[inline(always)]
    fn index_mut(&mut self, slot: Slot) -> &mut T {
        &mut self.0[slot.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_gives_its_slots_in_order() {
        let numbers = |set| Slots(set).map(Slot::number).collect::<Vec<_>>();
        assert!(numbers(0).is_empty());
        assert_eq!(numbers(1 << 63 | 0b1010), [1, 3, 63]);
        assert_eq!(Slots(0b1010).fold(0, |set, slot| set | slot.bit()), 0b1010);
    }
}
