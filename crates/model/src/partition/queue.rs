// SPDX-License-Identifier: MIT OR Apache-2.0
//! The lines that wait for a memory channel: for each bank a list of reads and one of writes in order of arrival, and the oldest of
//! each that wants the row which is open.
//!
//! A line has its place here from when it is asked for. It gets onto its list when it comes into the channel's queue.

use super::banks::{BANKS, Direction};
use super::channel::{Transfer, bits};

/// Number of a waiting line.
pub type Handle = u32;
pub const NONE: Handle = u32::MAX;

#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    pub line: u64,
    pub row: u64,
    pub direction: Direction,
    /// Order of arrival above the number of the bank.
    pub order: u64,
    /// Clock in which the L2 slice asked.
    pub asked: u64,
    /// The slice's own note.
    pub tag: u32,
    /// Accesses still to be made, and whether some have been: of the oldest that wants the open row, its list knows.
    pub left: u32,
    pub started: bool,
    pub bank: u8,
    before: Handle,
    /// The next one on its list, or the next place that is free.
    after: Handle,
}

/// A line all of whose accesses have been made.
#[derive(Clone, Copy, Debug)]
pub struct Accessed {
    pub tag: u32,
    /// Clock in which the L2 slice asked.
    pub asked: u64,
}

#[derive(Clone, Copy, Debug)]
struct List {
    first: Handle,
    last: Handle,
    /// The oldest that wants the open row, the accesses still to be made of it, and whether some have been.
    hit: Handle,
    left: u32,
    started: bool,
    /// Order of arrival of the first.
    first_order: u64,
}

#[derive(Clone, Debug)]
pub struct Queue {
    slab: Vec<Waiting>,
    /// The first place that is free; these are a list.
    free: Handle,
    /// Of reads and of writes, by bank.
    lists: [[List; BANKS]; 2],
    /// Order of arrival of the line that wants the open row, above the number of the bank: the least of some banks tells the bank, too.
    hit_orders: [[u64; BANKS]; 2],
    /// A bit for each bank with waiting lines, and with ones that want the open row.
    waiting: [u64; 2],
    hits: [u64; 2],
    /// Accesses that wait.
    accesses: [u32; 2],
    last_order: u64,
}

impl Queue {
    /// For at most so many lines.
    pub fn new(lines: usize) -> Queue {
        let empty = List { first: NONE, last: NONE, hit: NONE, left: 0, started: false, first_order: 0 };
        Queue {
            slab: Vec::with_capacity(lines),
            free: NONE,
            lists: [[empty; BANKS]; 2],
            hit_orders: [[0; BANKS]; 2],
            waiting: [0; 2],
            hits: [0; 2],
            accesses: [0; 2],
            last_order: 0,
        }
    }

    #[inline(always)]
    pub fn get(&self, handle: Handle) -> &Waiting {
        &self.slab[handle as usize]
    }

    /// A bit for each bank that lines wait for.
    #[inline(always)]
    pub fn waiting(&self, direction: Direction) -> u64 {
        self.waiting[direction as usize]
    }

    /// A bit for each bank whose open row a line waits for.
    #[inline(always)]
    pub fn hits(&self, direction: Direction) -> u64 {
        self.hits[direction as usize]
    }

    /// Those of them of whose oldest such line accesses have been made.
    #[cold]
    #[inline(never)]
    pub fn begun(&self, direction: Direction) -> u64 {
        let begun = bits(self.hits(direction)).filter(|&bank| self.hit_started(bank, direction));
        begun.fold(0, |banks, bank| banks | 1 << bank)
    }

    #[inline(always)]
    pub fn accesses(&self, direction: Direction) -> u32 {
        self.accesses[direction as usize]
    }

    /// The direction of the oldest access to an open row, or of the oldest line if there is none; reads if nothing waits.
    pub fn first_direction(&self) -> Direction {
        let oldest_hit = |d: usize| bits(self.hits[d]).map(|bank| self.hit_orders[d][bank % BANKS]).min();
        let oldest =
            |d: usize| bits(self.waiting[d]).map(|bank| self.lists[d][bank % BANKS].first_order).min();
        let of = |order: &dyn Fn(usize) -> Option<u64>| match (order(0), order(1)) {
            (None, None) => None,
            (Some(read), Some(write)) if write < read => Some(Direction::Write),
            (None, Some(_)) => Some(Direction::Write),
            _ => Some(Direction::Read),
        };
        of(&oldest_hit).or_else(|| of(&oldest)).unwrap_or(Direction::Read)
    }

    /// The oldest line for a bank, if its bit is set in `waiting`.
    #[inline(always)]
    pub fn oldest(&self, bank: usize, direction: Direction) -> Handle {
        self.lists[direction as usize][bank % BANKS].first
    }

    /// The row that is to be opened for a bank's lines: that of one that a refresh interrupted, which holds a place in the return queue
    /// that others may be waiting for, or else that of the oldest.
    pub fn wanted_row(&self, bank: usize, direction: Direction) -> u64 {
        let oldest = self.oldest(bank, direction);
        let mut at = oldest;
        while at != NONE && !self.get(at).started {
            at = self.get(at).after;
        }
        self.get(if at == NONE { oldest } else { at }).row
    }

    /// The bank with the oldest line for an open row, of some whose bits are set in `hits`.
    #[inline(always)]
    pub fn oldest_hit(&self, mut banks: u64, direction: Direction) -> usize {
        let orders = &self.hit_orders[direction as usize];
        let mut oldest = u64::MAX;
        while banks != 0 {
            oldest = oldest.min(orders[banks.trailing_zeros() as usize % BANKS]);
            banks &= banks - 1;
        }
        oldest as usize % BANKS
    }

    /// Order of arrival of the oldest line for a bank.
    #[inline(always)]
    pub fn oldest_order(&self, bank: usize, direction: Direction) -> u64 {
        self.lists[direction as usize][bank % BANKS].first_order
    }

    /// Comparable order of arrival of the oldest line for the open row of a bank.
    #[inline(always)]
    pub fn hit_order(&self, bank: usize, direction: Direction) -> u64 {
        self.hit_orders[direction as usize][bank % BANKS]
    }

    /// The line is on the list of a bank, and none of its accesses has been made.
    pub fn holds(&self, bank: usize, direction: Direction, line: u64) -> bool {
        let hit = self.lists[direction as usize][bank % BANKS].hit;
        let mut at = self.oldest(bank, direction);
        while at != NONE {
            let waiting = self.get(at);
            let started = if at == hit { self.hit_started(bank, direction) } else { waiting.started };
            if waiting.line == line && !started {
                return true;
            }
            at = waiting.after;
        }
        false
    }

    /// Gives a line a place that has been asked for.
    #[inline(always)]
    pub fn keep(&mut self, transfer: &Transfer) -> Handle {
        let &Transfer { line, bank, row, direction, accesses, asked, tag } = transfer;
        let handle = self.free;
        let Some(place) = self.slab.get_mut(handle as usize) else { return self.keep_behind(transfer) };
        self.free = place.after;
        (place.line, place.row, place.direction, place.asked) = (line, row, direction, asked);
        (place.tag, place.left, place.started, place.bank) = (tag, accesses, false, bank as u8);
        handle
    }

    /// The same in a new place.
    #[cold]
    #[inline(never)]
    fn keep_behind(&mut self, transfer: &Transfer) -> Handle {
        let &Transfer { line, bank, row, direction, accesses, asked, tag } = transfer;
        let (order, bank, before, after) = (0, bank as u8, NONE, NONE);
        let waiting = Waiting {
            line,
            row,
            direction,
            order,
            asked,
            tag,
            left: accesses,
            started: false,
            bank,
            before,
            after,
        };
        self.slab.push(waiting);
        (self.slab.len() - 1) as Handle
    }

    /// Frees the place of a line that is on no list.
    #[inline(always)]
    pub fn free(&mut self, handle: Handle) {
        self.slab[handle as usize].after = self.free;
        self.free = handle;
    }

    /// Puts a line at the end of its bank's list. `open` tells whether its row is. Gives whether it is the first of the list, or the first that wants the open
    /// row: otherwise the bank wants the same command as before.
    #[inline(always)]
    pub fn push(&mut self, handle: Handle, open: bool) -> bool {
        self.last_order += BANKS as u64;
        let waiting = &mut self.slab[handle as usize];
        let (bank, d, accesses) = (usize::from(waiting.bank), waiting.direction as usize, waiting.left);
        let order = self.last_order + bank as u64;
        let list = &mut self.lists[d][bank % BANKS];
        let before = list.last;
        (waiting.order, waiting.before, waiting.after) = (order, before, NONE);
        let mut is_news = false;
        match before {
            NONE => {
                list.first = handle;
                list.first_order = order;
                self.waiting[d] |= 1 << bank;
                is_news = true;
            }
            last => self.slab[last as usize].after = handle,
        }
        list.last = handle;
        self.accesses[d] += accesses;
        if open && list.hit == NONE {
            (list.hit, list.left, list.started) = (handle, accesses, false);
            self.hit_orders[d][bank % BANKS] = order;
            self.hits[d] |= 1 << bank;
            is_news = true;
        }
        is_news
    }

    /// Accesses still to be made of the oldest line for the open row of a bank, whose bit is set in `hits`.
    #[inline(always)]
    pub fn hit_left(&self, bank: usize, direction: Direction) -> u32 {
        self.lists[direction as usize][bank % BANKS].left
    }

    /// Whether some have been.
    #[inline(always)]
    pub fn hit_started(&self, bank: usize, direction: Direction) -> bool {
        self.lists[direction as usize][bank % BANKS].started
    }

    /// So many accesses of that line are made, as many as are left at most. If they are its first: its tag, and how many it takes in all.
    #[inline(always)]
    pub fn access(&mut self, bank: usize, direction: Direction, count: u32) -> Option<(u32, u32)> {
        let d = direction as usize;
        let list = &mut self.lists[d][bank % BANKS];
        let left = list.left;
        list.left = left - count;
        self.accesses[d] -= count;
        if std::mem::replace(&mut list.started, true) {
            return None;
        }
        Some((self.slab[list.hit as usize].tag, left))
    }

    /// The oldest line for the open row, if all its accesses have been made: it leaves the list.
    #[inline(always)]
    pub fn remove_accessed(&mut self, bank: usize, direction: Direction) -> Option<Accessed> {
        let d = direction as usize;
        let list = &mut self.lists[d][bank % BANKS];
        if list.left != 0 {
            return None;
        }
        let handle = list.hit;
        let place = &mut self.slab[handle as usize];
        let &mut Waiting { row, before, after, tag, asked, .. } = place;
        let accessed = Some(Accessed { tag, asked });
        place.after = self.free;
        self.free = handle;
        if before != NONE {
            self.slab[before as usize].after = after;
        } else {
            list.first = after;
        }
        if after == NONE {
            // None is behind it: no line is left that wants the row.
            list.last = before;
            list.hit = NONE;
            self.hits[d] &= !(1 << bank);
            if before == NONE {
                self.waiting[d] &= !(1 << bank);
            }
            return accessed;
        }
        let next = &mut self.slab[after as usize];
        next.before = before;
        if before == NONE {
            list.first_order = next.order;
        }
        self.find_hit(bank, d, after, row);
        accessed
    }

    /// Looks for the oldest line, from `from` on, that wants a row.
    fn find_hit(&mut self, bank: usize, d: usize, from: Handle, row: u64) {
        let mut at = from;
        while at != NONE && self.slab[at as usize].row != row {
            at = self.slab[at as usize].after;
        }
        let list = &mut self.lists[d][bank % BANKS];
        list.hit = at;
        if at == NONE {
            self.hits[d] &= !(1 << bank);
        } else {
            let waiting = &self.slab[at as usize];
            (list.left, list.started) = (waiting.left, waiting.started);
            self.hit_orders[d][bank % BANKS] = waiting.order;
            self.hits[d] |= 1 << bank;
        }
    }

    /// A row of a bank was opened.
    pub fn opened(&mut self, bank: usize, row: u64) {
        for d in 0..2 {
            let first = self.lists[d][bank % BANKS].first;
            self.find_hit(bank, d, first, row);
        }
    }

    /// The row of a bank was closed.
    pub fn closed(&mut self, bank: usize) {
        for d in 0..2 {
            let List { hit, left, started, .. } = self.lists[d][bank % BANKS];
            if hit != NONE {
                let waiting = &mut self.slab[hit as usize];
                (waiting.left, waiting.started) = (left, started);
            }
            self.lists[d][bank % BANKS].hit = NONE;
            self.hits[d] &= !(1 << bank);
        }
    }

    /// All lines for a bank, in order of arrival.
    #[cfg(test)]
    pub fn lines(&self, bank: usize, direction: Direction) -> Vec<Waiting> {
        let mut lines = Vec::new();
        let mut at = self.oldest(bank, direction);
        while at != NONE {
            let mut line = *self.get(at);
            let list = &self.lists[direction as usize][bank % BANKS];
            line.started = if at == list.hit { list.started } else { line.started };
            lines.push(line);
            at = self.get(at).after;
        }
        lines
    }

    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.waiting[0] | self.waiting[1] == 0
    }
}
