// SPDX-License-Identifier: MIT OR Apache-2.0
//! Optional checks of global memory: bytes that two blocks of a launch access without an order between them when one of them writes, and
//! bytes that are read before host or kernel wrote them.
//!
//! Accesses of blocks are ordered by the end of a launch, by barriers of the grid, and by atomics and volatile accesses: a block that
//! writes such a place tells what it did before and what it has learnt, one that reads it learns that (vector clocks, one entry per
//! block, kept for blocks that take part). Fences are not considered. A store that changes nothing is not a conflict. What is found
//! is kept until the launch has ended, and the first by address is reported, so that the order in which blocks ran does not show.

use std::collections::BTreeMap;
use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;

use crate::DeviceMemory;

/// How a thread accesses memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Touched {
    Read,
    Written,
    Atomically,
}

/// Origin of an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Origin {
    /// Block and thread, counted from 0.
    pub block: u32,
    pub thread: u32,
    pub pc: u32,
}

/// A thread's access to global memory.
pub struct Observed<'a> {
    /// Number of the launch.
    pub grid: u64,
    pub origin: Origin,
    /// Barriers of the grid that the thread has passed.
    pub phase: u32,
    pub how: Touched,
    /// Volatile, or with a memory order.
    pub strong: bool,
    /// An atomic whose result is not used releases, but does not acquire.
    pub learns: bool,
    pub address: u64,
    /// Bytes there are now; what is stored is in `stored`, which is empty for reads.
    pub current: &'a [u8],
    pub stored: &'a [u8],
}

/// Sees every access of kernels to global memory, and what the host writes there.
pub trait Witness: Send + Sync {
    /// A thread is about to access memory.
    fn access(&self, memory: &DeviceMemory, seen: &Observed);

    /// The host has written bytes.
    fn written(&self, memory: &DeviceMemory, address: u64, bytes: u64);
}

/// Counts the words that kernels load and store in global memory, in no particular order.
pub trait WordCounter: Send + Sync {
    fn count(&self, words: &[u32]);
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Problem {
    /// With the earlier access.
    Race(Touched, Origin),
    Uninitialized,
}

/// Something that was found wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Finding {
    pub grid: u64,
    pub problem: Problem,
    pub origin: Origin,
    pub how: Touched,
    pub address: u64,
    pub bytes: u32,
}

#[derive(Clone, Copy, Default)]
struct Mark {
    /// Plus one; 0 for none.
    block: u32,
    clock: u32,
    phase: u32,
    thread: u32,
    pc: u32,
    strong: bool,
}

/// A word or a byte.
#[derive(Clone, Copy, Default)]
struct Cell {
    /// The last store, if no atomic followed.
    value: Option<u32>,
    writer: Mark,
    reader: Mark,
    /// A reader of another block than `reader`.
    other: Mark,
    atomic: Mark,
}

/// Bytes of a word are tracked separately once one of them is accessed alone.
enum Slot {
    Word(Cell),
    Bytes(Box<[Cell; 4]>),
}

#[derive(Default)]
struct Knowledge {
    clock: u32,
    seen: FxHashMap<u32, u32>,
}

/// What is known of a launch.
#[derive(Default)]
struct Launch {
    slots: FxHashMap<u64, Slot>,
    blocks: FxHashMap<u32, Knowledge>,
    released: FxHashMap<u64, FxHashMap<u32, u32>>,
}

const PAGE: u64 = 4096;
/// Findings that are kept.
const MOST_FINDINGS: usize = 4096;

#[derive(Default)]
pub(crate) struct Monitor {
    races: bool,
    uninit: bool,
    /// A bit for each byte that was written, by pages.
    written: FxHashMap<u64, Box<[u64; 64]>>,
    launches: FxHashMap<u64, Launch>,
    /// By launch and place in the program: the first by address. Races come before other findings.
    findings: BTreeMap<(u64, bool, u64, u32), Finding>,
}

impl Monitor {
    pub(crate) fn new(races: bool, uninit: bool) -> Monitor {
        Monitor { races, uninit, ..Monitor::default() }
    }

    pub(crate) fn mark(&mut self, address: u64, len: u64, written: bool) {
        let mut at = address;
        while self.uninit && at < address + len {
            let (page, inside) = (at / PAGE, at % PAGE);
            let count = (PAGE - inside).min(address + len - at);
            if written {
                let bits = self.written.entry(page).or_insert_with(|| Box::new([0; 64]));
                for bit in inside..inside + count {
                    bits[bit as usize / 64] |= 1 << (bit % 64);
                }
            } else if count == PAGE {
                self.written.remove(&page);
            } else if let Some(bits) = self.written.get_mut(&page) {
                for bit in inside..inside + count {
                    bits[bit as usize / 64] &= !(1 << (bit % 64));
                }
            }
            at += count;
        }
    }

    fn is_written(&self, address: u64) -> bool {
        let bit = address % PAGE;
        self.written.get(&(address / PAGE)).is_some_and(|bits| bits[bit as usize / 64] >> (bit % 64) & 1 == 1)
    }

    pub(crate) fn observe(&mut self, seen: &Observed) {
        let len = seen.current.len() as u64;
        if self.uninit {
            let unset = seen.how != Touched::Written && (0..len).any(|k| !self.is_written(seen.address + k));
            if unset {
                self.find(seen, seen.address, Problem::Uninitialized);
            }
            if seen.how != Touched::Read {
                self.mark(seen.address, len, true);
            }
        }
        if self.races {
            let launch = self.launches.entry(seen.grid).or_default();
            if seen.strong || seen.how == Touched::Atomically {
                launch.synchronize(seen);
            }
            if let Some((at, how, origin)) = launch.access(seen) {
                self.find(seen, at, Problem::Race(how, origin));
            }
        }
    }

    fn find(&mut self, seen: &Observed, address: u64, problem: Problem) {
        let &Observed { grid, origin, how, .. } = seen;
        let key = (grid, problem == Problem::Uninitialized, address, origin.pc);
        let bytes = seen.current.len() as u32;
        self.findings.entry(key).or_insert(Finding { grid, problem, origin, how, address, bytes });
        if self.findings.len() > MOST_FINDINGS {
            self.findings.pop_last();
        }
    }

    /// What was found in a launch that has ended, in order of importance.
    pub(crate) fn end(&mut self, grid: u64) -> Vec<Finding> {
        self.launches.remove(&grid);
        let rest = self.findings.split_off(&(grid, false, 0, 0));
        let mut of_grid = rest;
        let later = of_grid.split_off(&(grid + 1, false, 0, 0));
        self.findings.extend(later);
        of_grid.into_values().collect()
    }
}

impl Launch {
    fn synchronize(&mut self, seen: &Observed) {
        let block = seen.origin.block;
        let own = self.blocks.entry(block).or_insert_with(|| Knowledge { clock: 1, ..Knowledge::default() });
        if seen.how == Touched::Read || (seen.how == Touched::Atomically && seen.learns) {
            for (&other, &clock) in self.released.get(&seen.address).into_iter().flatten() {
                let known = own.seen.entry(other).or_insert(0);
                *known = (*known).max(clock);
            }
        }
        if seen.how != Touched::Read {
            let released = self.released.entry(seen.address).or_default();
            for (&other, &clock) in &own.seen {
                let known = released.entry(other).or_insert(0);
                *known = (*known).max(clock);
            }
            released.insert(block, own.clock);
            own.clock += 1;
        }
    }

    /// Notes an access; gives where it conflicts with an earlier one, and with which.
    fn access(&mut self, seen: &Observed) -> Option<(u64, Touched, Origin)> {
        let Origin { block, thread, pc } = seen.origin;
        let clock = self.blocks.get(&block).map_or(1, |known| known.clock);
        let me = Mark { block: block + 1, clock, phase: seen.phase, thread, pc, strong: seen.strong };
        let len = seen.current.len() as u64;
        let mut found = None;
        let whole = seen.address.is_multiple_of(4) && len.is_multiple_of(4);
        let mut at = 0;
        while at < len {
            let address = seen.address + at;
            let known = self.blocks.get(&block);
            let read = |bytes: &[u8], from: u64, count: usize| {
                let mut raw = [0; 4];
                let part = bytes.get(from as usize..from as usize + count).unwrap_or_default();
                raw[..part.len()].copy_from_slice(part);
                u32::from_le_bytes(raw)
            };
            let slot = match self.slots.entry(address / 4) {
                Entry::Occupied(slot) => slot.into_mut(),
                Entry::Vacant(slot) => slot.insert(Slot::Word(Cell::default())),
            };
            if !whole && let Slot::Word(cell) = slot {
                let byte = |k: u32| Cell { value: cell.value.map(|value| value >> (8 * k) & 0xff), ..*cell };
                *slot = Slot::Bytes(Box::new([0, 1, 2, 3].map(byte)));
            }
            let mut step = |cell: &mut Cell, from: u64, count: usize| {
                let (current, stored) = (read(seen.current, from, count), read(seen.stored, from, count));
                if let Some((how, rival)) = cell.access(me, known, seen.how, current, stored) {
                    found.get_or_insert((seen.address + from, how, rival));
                }
            };
            match slot {
                Slot::Word(cell) => {
                    step(cell, at, 4);
                    at += 4;
                }
                Slot::Bytes(cells) => {
                    let first = (address % 4) as usize;
                    let count = (4 - first as u64).min(len - at);
                    for k in 0..count {
                        step(&mut cells[first + k as usize], at + k, 1);
                    }
                    at += count;
                }
            }
        }
        found.map(|(at, how, mark)| {
            (at, how, Origin { block: mark.block - 1, thread: mark.thread, pc: mark.pc })
        })
    }
}

impl Cell {
    fn access(
        &mut self,
        me: Mark,
        known: Option<&Knowledge>,
        how: Touched,
        current: u32,
        stored: u32,
    ) -> Option<(Touched, Mark)> {
        let clash = |before: Mark| {
            let seen = known.and_then(|known| known.seen.get(&(before.block.wrapping_sub(1)))).copied();
            before.block != 0
                && before.block != me.block
                && before.phase == me.phase
                && seen.unwrap_or(0) < before.clock
                && !(before.strong && me.strong)
        };
        // What a store of another SM will change is not in memory yet, but here.
        let current = self.value.unwrap_or(current);
        if how == Touched::Written && current == stored {
            return None;
        }
        let mut rival = clash(self.writer).then_some((Touched::Written, self.writer));
        if how != Touched::Atomically && !me.strong {
            rival = rival.or(clash(self.atomic).then_some((Touched::Atomically, self.atomic)));
        }
        if how != Touched::Read {
            let reader = [self.reader, self.other].into_iter().find(|&mark| clash(mark));
            rival = rival.or(reader.map(|mark| (Touched::Read, mark)));
        }
        match how {
            Touched::Written => (self.writer, self.value) = (me, Some(stored)),
            Touched::Atomically => (self.atomic, self.value) = (me, None),
            Touched::Read => {
                if self.reader.block != me.block {
                    self.other = self.reader;
                }
                self.reader = me;
            }
        }
        rival
    }
}
