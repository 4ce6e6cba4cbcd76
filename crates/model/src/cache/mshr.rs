// SPDX-License-Identifier: MIT OR Apache-2.0
//! Miss status registers: the lines that are being fetched, each with those who wait for it, in order of arrival.

/// Number of a register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MshrId(pub u32);

const FREE: u64 = u64::MAX;

/// Lists of registers, by the low bits of their lines.
const LISTS: usize = 256;
/// The end of a list.
const END: u32 = u32::MAX;

/// `W` is what is remembered of a waiter.
#[derive(Clone, Debug)]
pub struct Mshr<W> {
    /// Line number by register.
    lines: Vec<u64>,
    /// The first register of each list, and by register the next one.
    heads: Box<[u32; LISTS]>,
    next: Vec<u32>,
    waiters: Vec<Vec<W>>,
    merges: usize,
    /// Registers not in use; the last one is taken next.
    free: Vec<u32>,
}

impl<W: Copy> Mshr<W> {
    /// `registers` lines of `merges` waiters each.
    pub fn new(registers: u32, merges: u32) -> Mshr<W> {
        let waiters = (0..registers).map(|_| Vec::with_capacity(merges as usize)).collect();
        Mshr {
            lines: vec![FREE; registers as usize],
            heads: Box::new([END; LISTS]),
            next: vec![END; registers as usize],
            waiters,
            merges: merges as usize,
            free: (0..registers).rev().collect(),
        }
    }

    #[inline(always)]
    pub fn find(&self, line: u64) -> Option<MshrId> {
        let mut id = self.heads[line as usize % LISTS];
        while id != END && self.lines[id as usize] != line {
            id = self.next[id as usize];
        }
        (id != END).then_some(MshrId(id))
    }

    /// Whether another one may wait.
    #[inline(always)]
    pub fn has_room(&self, id: MshrId) -> bool {
        self.waiters[id.0 as usize].len() < self.merges
    }

    #[inline(always)]
    pub fn is_full(&self) -> bool {
        self.free.is_empty()
    }

    /// One register at most is free.
    #[inline(always)]
    pub fn has_one(&self) -> bool {
        self.free.len() <= 1
    }

    #[inline(always)]
    pub fn in_use(&self) -> u32 {
        (self.lines.len() - self.free.len()) as u32
    }

    /// Takes a register for a line; the caller made sure that one is free.
    #[inline(always)]
    pub fn allocate(&mut self, line: u64, waiter: W) -> MshrId {
        let id = self.free.pop().expect("a free register");
        self.lines[id as usize] = line;
        self.next[id as usize] = std::mem::replace(&mut self.heads[line as usize % LISTS], id);
        self.waiters[id as usize].push(waiter);
        MshrId(id)
    }

    /// Waits for a line that is being fetched; the caller made sure that there is room.
    #[inline(always)]
    pub fn merge(&mut self, id: MshrId, waiter: W) {
        self.waiters[id.0 as usize].push(waiter);
    }

    pub fn line(&self, id: MshrId) -> u64 {
        self.lines[id.0 as usize]
    }

    /// The line is there: frees the register and hands over who waited.
    #[inline(always)]
    pub fn release(&mut self, id: MshrId, mut f: impl FnMut(W)) {
        let i = id.0 as usize;
        let line = std::mem::replace(&mut self.lines[i], FREE);
        self.unlink(line, id.0);
        self.free.push(id.0);
        let waiters = &mut self.waiters[i];
        waiters.iter().for_each(|&waiter| f(waiter));
        waiters.clear();
    }

    /// Takes a register out of the list of its line.
    #[inline(always)]
    fn unlink(&mut self, line: u64, id: u32) {
        let after = self.next[id as usize];
        let mut before = self.heads[line as usize % LISTS];
        if before == id {
            self.heads[line as usize % LISTS] = after;
            return;
        }
        while self.next[before as usize] != id {
            before = self.next[before as usize];
        }
        self.next[before as usize] = after;
    }

    /// Lines being fetched, for reports.
    pub fn lines(&self) -> impl Iterator<Item = u64> {
        self.lines.iter().copied().filter(|&line| line != FREE)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use warpwatt_base::SplitMix64;

    use super::*;

    #[test]
    fn waiters_of_a_line_come_out_in_order() {
        let mut mshr = Mshr::new(2, 2);
        let id = mshr.allocate(5, 'a');
        assert!(mshr.has_room(id));
        mshr.merge(id, 'b');
        assert!(!mshr.has_room(id));
        mshr.allocate(6, 'c');
        assert!(mshr.is_full());
        let mut out = Vec::new();
        mshr.release(mshr.find(5).expect("there"), |waiter| out.push(waiter));
        assert_eq!(out, ['a', 'b']);
        assert_eq!((mshr.find(5), mshr.in_use()), (None, 1));
    }

    #[test]
    fn lines_are_found_as_in_a_plain_map() {
        let mut random = SplitMix64::new(5);
        let (mut mshr, mut plain) = (Mshr::new(24, 1), BTreeMap::new());
        for _ in 0..20_000 {
            // Few lists, so that many lines share one.
            let line = random.next_u64() % 12 * (LISTS as u64 / 2) + random.next_u64() % 4;
            match plain.get(&line).copied() {
                Some(id) if random.next_u64().is_multiple_of(2) => {
                    mshr.release(id, |()| {});
                    plain.remove(&line);
                }
                None if !mshr.is_full() => {
                    plain.insert(line, mshr.allocate(line, ()));
                }
                _ => {}
            }
            assert_eq!(mshr.find(line), plain.get(&line).copied());
        }
    }
}
