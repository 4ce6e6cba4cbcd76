// SPDX-License-Identifier: MIT OR Apache-2.0
//! Miss status registers: the lines that are being fetched, each with those who wait for it, in order of arrival.

/// Number of a register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MshrId(pub u32);

const FREE: u64 = u64::MAX;

/// `W` is what is remembered of a waiter.
#[derive(Clone, Debug)]
pub struct Mshr<W> {
    /// Line number by register.
    lines: Vec<u64>,
    waiters: Vec<Vec<W>>,
    merges: usize,
    /// Registers not in use; the last one is taken next.
    free: Vec<u32>,
}

impl<W> Mshr<W> {
    /// `registers` lines of `merges` waiters each.
    pub fn new(registers: u32, merges: u32) -> Mshr<W> {
        let waiters = (0..registers).map(|_| Vec::with_capacity(merges as usize)).collect();
        Mshr {
            lines: vec![FREE; registers as usize],
            waiters,
            merges: merges as usize,
            free: (0..registers).rev().collect(),
        }
    }

    #[inline(always)]
    pub fn find(&self, line: u64) -> Option<MshrId> {
        if self.in_use() == 0 {
            return None;
        }
        self.lines.iter().position(|&other| other == line).map(|i| MshrId(i as u32))
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
    pub fn allocate(&mut self, line: u64, waiter: W) -> MshrId {
        let id = self.free.pop().expect("a free register");
        self.lines[id as usize] = line;
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
    pub fn release(&mut self, id: MshrId, mut f: impl FnMut(W)) {
        let i = id.0 as usize;
        self.lines[i] = FREE;
        self.free.push(id.0);
        self.waiters[i].drain(..).for_each(&mut f);
    }

    /// Lines being fetched, for reports.
    pub fn lines(&self) -> impl Iterator<Item = u64> {
        self.lines.iter().copied().filter(|&line| line != FREE)
    }
}

#[cfg(test)]
mod tests {
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
}
