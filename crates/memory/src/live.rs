// SPDX-License-Identifier: MIT OR Apache-2.0
//! Live allocations by address. The one that was found last is looked at first: accesses that are checked one by one, as those of textures are,
//! mostly hit the same one again.

use std::collections::BTreeMap;
use std::ops::RangeBounds;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::Allocation;

#[derive(Default)]
pub(crate) struct Live {
    /// Places in `slots` by base address.
    places: BTreeMap<u64, usize>,
    /// Those that are vacant hold no address.
    slots: Vec<Allocation>,
    vacant: Vec<usize>,
    /// The slot that was found last.
    recent: AtomicUsize,
}

impl Live {
    pub fn insert(&mut self, allocation: Allocation) {
        let place = self.vacant.pop().unwrap_or(self.slots.len());
        self.places.insert(allocation.base, place);
        match self.slots.get_mut(place) {
            Some(slot) => *slot = allocation,
            None => self.slots.push(allocation),
        }
    }

    pub fn remove(&mut self, base: u64) -> Option<Allocation> {
        let place = self.places.remove(&base)?;
        self.vacant.push(place);
        Some(std::mem::take(&mut self.slots[place]))
    }

    pub fn at(&self, base: u64) -> Option<&Allocation> {
        self.places.get(&base).map(|&place| &self.slots[place])
    }

    /// Those with a base address in a range, in address order.
    pub fn range(&self, bases: impl RangeBounds<u64>) -> impl DoubleEndedIterator<Item = &Allocation> {
        self.places.range(bases).map(|(_, &place)| &self.slots[place])
    }

    /// The allocation that holds the byte at `address`.
    #[inline]
    pub fn find(&self, address: u64) -> Option<&Allocation> {
        match self.slots.get(self.recent.load(Ordering::Relaxed)) {
            Some(recent) if recent.holds(address) => Some(recent),
            _ => self.search(address),
        }
    }

    fn search(&self, address: u64) -> Option<&Allocation> {
        let (_, &place) = self.places.range(..=address).next_back()?;
        let candidate = &self.slots[place];
        if !candidate.holds(address) {
            return None;
        }
        self.recent.store(place, Ordering::Relaxed);
        Some(candidate)
    }
}
