// SPDX-License-Identifier: MIT OR Apache-2.0
//! Handles that C programs hold: numbers that look like pointers, point nowhere, and are never given twice, so that a stale one
//! is recognised instead of followed.

use rustc_hash::FxHashMap;

use crate::core::code::{Code, Result};

/// Kind of object that a handle refers to; part of its number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum HandleKind {
    Context = 1,
    Module,
    Function,
    Stream,
    Event,
    Array,
    Mipmap,
    Library,
    Kernel,
    Link,
    TextureReference,
    SurfaceReference,
    Pool,
    Graph,
    GraphNode,
    GraphExec,
    UserObject,
}

/// Above user space's usual mappings and below the end of its addresses.
const FIRST: u64 = 0x5757_0000_0000;
const STEP: u64 = 16;

/// All living things of one kind.
pub struct Table<T> {
    kind: HandleKind,
    next: u64,
    items: FxHashMap<u64, T>,
}

impl<T> Table<T> {
    pub fn new(kind: HandleKind) -> Table<T> {
        Table { kind, next: 0, items: FxHashMap::default() }
    }

    pub fn insert(&mut self, item: T) -> u64 {
        self.next += 1;
        let handle = FIRST + ((self.kind as u64) << 33) + STEP * self.next;
        self.items.insert(handle, item);
        handle
    }

    pub fn get(&self, handle: u64) -> Result<&T> {
        self.items.get(&handle).ok_or(Code::INVALID_HANDLE)
    }

    pub fn get_mut(&mut self, handle: u64) -> Result<&mut T> {
        self.items.get_mut(&handle).ok_or(Code::INVALID_HANDLE)
    }

    pub fn remove(&mut self, handle: u64) -> Result<T> {
        self.items.remove(&handle).ok_or(Code::INVALID_HANDLE)
    }

    pub fn contains(&self, handle: u64) -> bool {
        self.items.contains_key(&handle)
    }

    /// In no particular order.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &T)> {
        self.items.iter().map(|(&handle, item)| (handle, item))
    }

    /// Removes all for which `keep` returns false.
    pub fn retain(&mut self, mut keep: impl FnMut(u64, &mut T) -> bool) {
        self.items.retain(|&handle, item| keep(handle, item));
    }

    pub fn len(&self) -> usize {
        self.items.len()
    }

    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_is_never_given_twice_and_of_its_kind_alone() {
        let mut streams = Table::new(HandleKind::Stream);
        let mut events = Table::new(HandleKind::Event);
        let (first, other) = (streams.insert(1), events.insert(2));
        assert_ne!(first, other);
        assert_eq!(streams.remove(first), Ok(1));
        assert_ne!(streams.insert(3), first);
        assert_eq!(streams.get(first), Err(Code::INVALID_HANDLE));
        assert_eq!(streams.get(other), Err(Code::INVALID_HANDLE));
        assert_eq!(events.get(other), Ok(&2));
    }
}
