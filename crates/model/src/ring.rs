// SPDX-License-Identifier: MIT OR Apache-2.0
//! A queue in a ring whose size is a power of two: positions wrap around by a mask, which takes the host fewer instructions than
//! comparisons with the size.

#[derive(Clone, Debug)]
pub struct Ring<T> {
    /// Items of the queue, and copies of others in the places that are free. There are no places before the first item comes.
    items: Vec<T>,
    /// The place of the first item, and how many there are.
    first: usize,
    len: usize,
    /// Places to begin with.
    capacity: usize,
}

impl<T: Copy> Ring<T> {
    /// Room for so many items, and for more when they come.
    pub fn new(capacity: usize) -> Ring<T> {
        Ring { items: Vec::new(), first: 0, len: 0, capacity: capacity.next_power_of_two() }
    }

    #[inline(always)]
    pub fn len(&self) -> usize {
        self.len
    }

    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Where the item is that comes after so many others. There are places.
    #[inline(always)]
    fn place(&self, after: usize) -> usize {
        self.first.wrapping_add(after) & self.items.len().wrapping_sub(1)
    }

    #[inline(always)]
    pub fn front(&self) -> Option<&T> {
        if self.len == 0 {
            return None;
        }
        Some(&self.items[self.place(0)])
    }

    #[inline(always)]
    pub fn back(&self) -> Option<&T> {
        if self.len == 0 {
            return None;
        }
        Some(&self.items[self.place(self.len - 1)])
    }

    /// Adds an item; gives it where it is now.
    #[inline(always)]
    pub fn push_back(&mut self, item: T) -> &mut T {
        let slot = self.push_any(|| item);
        *slot = item;
        slot
    }

    /// Adds any item, which is to be overwritten where it is: large ones need not be copied twice. `first` gives one if there is none.
    #[inline(always)]
    pub fn push_any(&mut self, first: impl FnOnce() -> T) -> &mut T {
        if self.len == self.items.len() {
            self.grow(first());
        }
        let place = self.place(self.len);
        self.len += 1;
        &mut self.items[place]
    }

    /// Takes the first item away, if there is one.
    #[inline(always)]
    pub fn drop_front(&mut self) {
        if self.len != 0 {
            self.first = self.place(1);
            self.len -= 1;
        }
    }

    /// Makes places, or twice as many as there are. Those that are free hold any item.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, item: T) {
        self.items.rotate_left(self.first);
        self.first = 0;
        self.items.resize(if self.items.is_empty() { self.capacity } else { 2 * self.items.len() }, item);
    }

    /// All items in order.
    #[cfg(test)]
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        (0..self.len).map(|after| &self.items[self.place(after)])
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;
    use warpwatt_base::SplitMix64;

    #[test]
    fn it_holds_what_a_plain_queue_does() {
        let mut random = SplitMix64::new(7);
        let (mut ring, mut plain) = (Ring::new(3), VecDeque::new());
        for number in 0..2000 {
            // More come than go at first, so that it grows.
            if random.below(5) < if number < 300 { 3 } else { 2 } {
                *ring.push_back(0) += number;
                plain.push_back(number);
            } else if !plain.is_empty() {
                ring.drop_front();
                plain.pop_front();
            }
            assert_eq!((ring.front(), ring.back()), (plain.front(), plain.back()));
            assert_eq!((ring.len(), ring.is_empty()), (plain.len(), plain.is_empty()));
        }
        assert!(ring.items.len() > 4 && ring.iter().eq(&plain));
    }
}
