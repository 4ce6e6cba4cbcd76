// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which ranges of device memory are in use: a next-fit allocator, so that a freed range is reused as late as possible and
//! an access through a stale pointer is detected instead of silently reading other data.

use std::collections::VecDeque;

use crate::live::Live;
use crate::{ALIGNMENT, BASE, Bounds, LARGE, PAGE};

/// Freed ranges that are remembered for reports.
const REMEMBERED: usize = 4096;

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Allocation {
    pub base: u64,
    /// Bytes requested.
    pub size: u64,
    /// What it is, in words for a report: a variable's name, "buffer x", "device malloc".
    pub name: String,
}

impl Allocation {
    pub fn end(&self) -> u64 {
        self.base + self.size
    }

    #[inline]
    pub(crate) fn holds(&self, address: u64) -> bool {
        address.wrapping_sub(self.base) < self.size
    }

    /// Bytes it takes from the region: at least one unit, so that no two allocations share an address.
    fn footprint(&self) -> u64 {
        self.size.max(1).next_multiple_of(unit(self.size))
    }
}

/// What an allocation of this size starts at a multiple of, and takes multiples of.
pub(crate) fn unit(size: u64) -> u64 {
    if size >= LARGE { PAGE } else { ALIGNMENT }
}

/// Where an address lies with respect to an allocation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Relation {
    /// This many bytes from its start.
    Inside(u64),
    /// This many bytes past its last byte (0: the very next one).
    After(u64),
    /// This many bytes before its first byte.
    Before(u64),
}

/// The allocation that an address most likely was meant for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Nearest {
    pub allocation: Allocation,
    pub relation: Relation,
    /// It was freed before the access.
    pub freed: bool,
}

#[derive(Default)]
pub(crate) struct Allocator {
    live: Live,
    freed: VecDeque<Allocation>,
    cursor: u64,
    capacity: u64,
    in_use: u64,
}

impl Allocator {
    pub(crate) fn new(capacity: u64) -> Allocator {
        Allocator { cursor: BASE, capacity, ..Allocator::default() }
    }

    pub(crate) fn in_use(&self) -> u64 {
        self.in_use
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Allocation> {
        self.live.range(..)
    }

    /// Takes a range, searching from just behind the previous one and wrapping round once.
    pub(crate) fn alloc(&mut self, size: u64, name: &str) -> Option<u64> {
        let end = BASE + self.capacity;
        let unit = unit(size);
        let footprint = size.max(1).checked_next_multiple_of(unit)?;
        let base = self
            .gap(self.cursor, end, footprint, unit)
            .or_else(|| self.gap(BASE, end.min(self.cursor + unit + footprint), footprint, unit))?;
        self.freed.retain(|old| old.base + old.footprint() <= base || base + footprint <= old.base);
        self.live.insert(Allocation { base, size, name: name.to_string() });
        self.in_use += size;
        self.cursor = base + footprint;
        Some(base)
    }

    /// Takes a given range, if it is free. The search for other ranges continues at its previous position.
    pub(crate) fn alloc_at(&mut self, base: u64, size: u64, name: &str) -> Option<()> {
        let footprint = size.max(1).checked_next_multiple_of(unit(size))?;
        let end = base.checked_add(footprint)?;
        if base < BASE || end > BASE + self.capacity || self.gap(base, end, footprint, 1) != Some(base) {
            return None;
        }
        self.freed.retain(|old| old.base + old.footprint() <= base || end <= old.base);
        self.live.insert(Allocation { base, size, name: name.to_string() });
        self.in_use += size;
        Some(())
    }

    /// Notes a range outside of the region, wherever it starts and however long it is. It is no part of what is in use.
    pub(crate) fn adopt(&mut self, base: u64, size: u64, name: &str) -> Option<()> {
        let end = base.checked_add(size)?;
        let outside = base >= BASE + self.capacity && size > 0;
        let below = self.live.range(..end).next_back();
        if !outside || below.is_some_and(|other| other.end() > base) {
            return None;
        }
        self.freed.retain(|old| old.end() <= base || end <= old.base);
        self.live.insert(Allocation { base, size, name: name.to_string() });
        Some(())
    }

    pub(crate) fn abandon(&mut self, base: u64) -> Option<Allocation> {
        if base < BASE + self.capacity {
            return None;
        }
        self.forget(base)
    }

    /// First gap of `need` bytes inside of `[from, to)` that starts at a multiple of `unit`.
    fn gap(&self, from: u64, to: u64, need: u64, unit: u64) -> Option<u64> {
        let mut at = match self.live.range(..from).next_back() {
            Some(before) => from.max(before.base + before.footprint()),
            None => from,
        };
        at = at.next_multiple_of(unit);
        for next in self.live.range(from..) {
            if at.checked_add(need)? <= next.base.min(to) {
                return Some(at);
            }
            at = at.max(next.base + next.footprint()).next_multiple_of(unit);
            if at >= to {
                return None;
            }
        }
        (at.checked_add(need)? <= to).then_some(at)
    }

    pub(crate) fn free(&mut self, base: u64) -> Option<Allocation> {
        if base >= BASE + self.capacity {
            return None;
        }
        let allocation = self.forget(base)?;
        self.in_use -= allocation.size;
        Some(allocation)
    }

    fn forget(&mut self, base: u64) -> Option<Allocation> {
        let allocation = self.live.remove(base)?;
        if self.freed.len() == REMEMBERED {
            self.freed.pop_front();
        }
        self.freed.push_back(allocation.clone());
        Some(allocation)
    }

    pub(crate) fn at(&self, base: u64) -> Option<&Allocation> {
        self.live.at(base)
    }

    /// The live allocation that holds the byte at `address`.
    #[inline]
    pub(crate) fn find(&self, address: u64) -> Option<&Allocation> {
        self.live.find(address)
    }

    /// The live allocation that a load from `address` may be meant for.
    pub(crate) fn find_readable(&self, address: u64, bounds: Bounds) -> Option<&Allocation> {
        let candidate = self.live.range(..=address).next_back()?;
        (address < bounds.readable_end(candidate)).then_some(candidate)
    }

    pub(crate) fn find_freed(&self, address: u64) -> Option<&Allocation> {
        self.freed.iter().rev().find(|old| old.base <= address && address < old.end())
    }

    /// The allocation that an address was probably meant for, if it is near any.
    pub(crate) fn nearest(&self, address: u64) -> Option<Nearest> {
        if let Some(found) = self.find(address) {
            let relation = Relation::Inside(address - found.base);
            return Some(Nearest { allocation: found.clone(), relation, freed: false });
        }
        if let Some(found) = self.find_freed(address) {
            let relation = Relation::Inside(address - found.base);
            return Some(Nearest { allocation: found.clone(), relation, freed: true });
        }
        let below = self.live.range(..=address).next_back().map(|a| (address - a.end(), a));
        let above = self.live.range(address..).next().map(|a| (a.base - address, a));
        let nearest = |relation, allocation: &Allocation| Nearest {
            allocation: allocation.clone(),
            relation,
            freed: false,
        };
        // What is further away than all of memory is long was not meant for any of it.
        let near = |distance: u64| distance <= self.capacity;
        let below = below.filter(|found| near(found.0));
        let above = above.filter(|found| near(found.0));
        match (below, above) {
            (Some((past, low)), Some((before, _))) if past <= before => {
                Some(nearest(Relation::After(past), low))
            }
            (_, Some((before, high))) => Some(nearest(Relation::Before(before), high)),
            (Some((past, low)), None) => Some(nearest(Relation::After(past), low)),
            (None, None) => None,
        }
    }
}
