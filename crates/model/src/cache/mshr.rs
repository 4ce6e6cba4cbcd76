// SPDX-License-Identifier: MIT OR Apache-2.0
//! Miss status registers: the lines that are being fetched, each with its waiting requests in order of arrival.

/// Number of a register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MshrId(pub u32);

const FREE: u64 = u64::MAX;

/// Lists of registers, by the low bits of their lines.
const LISTS: usize = 256;
/// The end of a list.
const END: u32 = u32::MAX;

#[derive(Clone, Debug)]
struct Register<W> {
    /// Line number, or [`FREE`].
    line: u64,
    /// The next register of the list.
    next: u32,
    /// The request that it was taken for, and those that came later.
    first: Option<W>,
    others: Vec<W>,
}

/// `W` is a waiting request.
#[derive(Clone, Debug)]
pub struct Mshr<W> {
    registers: Vec<Register<W>>,
    /// The first register of each list.
    heads: Box<[u32; LISTS]>,
    merges: usize,
    /// Registers not in use; the last one is taken next.
    free: Vec<u32>,
}

impl<W: Copy> Mshr<W> {
    /// `registers` lines of `merges` waiters each.
    pub fn new(registers: u32, merges: u32) -> Mshr<W> {
        let others = || Vec::with_capacity(merges.saturating_sub(1) as usize);
        let register = |_| Register { line: FREE, next: END, first: None, others: others() };
        Mshr {
            registers: (0..registers).map(register).collect(),
            heads: Box::new([END; LISTS]),
            merges: merges as usize,
            free: (0..registers).rev().collect(),
        }
    }

    #[inline(always)]
    pub fn find(&self, line: u64) -> Option<MshrId> {
        let mut id = self.heads[line as usize % LISTS];
        while let Some(register) = self.registers.get(id as usize) {
            if register.line == line {
                return Some(MshrId(id));
            }
            id = register.next;
        }
        None
    }

    /// Whether another request may wait.
    #[inline(always)]
    pub fn has_room(&self, id: MshrId) -> bool {
        self.registers[id.0 as usize].others.len() + 1 < self.merges
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
        (self.registers.len() - self.free.len()) as u32
    }

    /// Takes a register for a line; the caller made sure that one is free.
    #[inline(always)]
    pub fn allocate(&mut self, line: u64, waiter: W) -> MshrId {
        let id = self.free.pop().expect("a free register");
        let register = &mut self.registers[id as usize];
        register.line = line;
        register.next = std::mem::replace(&mut self.heads[line as usize % LISTS], id);
        register.first = Some(waiter);
        MshrId(id)
    }

    /// Adds a request to a line that is being fetched; the caller made sure that there is room.
    #[inline(always)]
    pub fn merge(&mut self, id: MshrId, waiter: W) {
        self.registers[id.0 as usize].others.push(waiter);
    }

    pub fn line(&self, id: MshrId) -> u64 {
        self.registers[id.0 as usize].line
    }

    /// The line has arrived: frees the register and gives its requests to `f`.
    #[inline(always)]
    pub fn release(&mut self, id: MshrId, mut f: impl FnMut(W)) {
        let register = &mut self.registers[id.0 as usize];
        register.first.into_iter().chain(register.others.drain(..)).for_each(&mut f);
        self.free_register(id);
    }

    /// The line has arrived: frees the register, and gives its request. `None`, and nothing happens, if there are several.
    #[inline(always)]
    pub fn release_only(&mut self, id: MshrId) -> Option<W> {
        let register = &self.registers[id.0 as usize];
        if !register.others.is_empty() {
            return None;
        }
        let only = register.first;
        self.free_register(id);
        only
    }

    /// Requests that wait, for reports.
    pub fn waiters(&self) -> impl Iterator<Item = &W> {
        let taken = self.registers.iter().filter(|register| register.line != FREE);
        taken.flat_map(|register| register.first.iter().chain(&register.others))
    }

    /// The line has arrived: frees the register and adds its requests to a list.
    #[inline(always)]
    pub fn release_into(&mut self, id: MshrId, waiters: &mut Vec<W>) {
        self.release(id, |waiter| waiters.push(waiter));
    }

    #[inline(always)]
    fn free_register(&mut self, id: MshrId) {
        let register = &mut self.registers[id.0 as usize];
        let (line, next) = (std::mem::replace(&mut register.line, FREE), register.next);
        self.free.push(id.0);
        let head = &mut self.heads[line as usize % LISTS];
        if *head == id.0 {
            *head = next;
        } else {
            self.unlink(line, id.0, next);
        }
    }

    /// Takes a register that is not the first of the list of its line out of it.
    #[inline(never)]
    fn unlink(&mut self, line: u64, id: u32, after: u32) {
        let mut before = self.heads[line as usize % LISTS];
        while self.registers[before as usize].next != id {
            before = self.registers[before as usize].next;
        }
        self.registers[before as usize].next = after;
    }

    /// Lines being fetched, for reports.
    pub fn lines(&self) -> impl Iterator<Item = u64> {
        self.registers.iter().map(|register| register.line).filter(|&line| line != FREE)
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
        out.clear();
        mshr.release_into(mshr.find(6).expect("there"), &mut out);
        assert_eq!((out.as_slice(), mshr.in_use()), (&['c'][..], 0));
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
