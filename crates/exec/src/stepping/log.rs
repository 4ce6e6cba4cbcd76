// SPDX-License-Identifier: MIT OR Apache-2.0
//! The stores and atomics of one SM that have not taken effect yet, in the order they were issued.
//!
//! Stores of a full warp to consecutive bytes are kept as one run of bytes, all others as offsets and registers. A filter over the lines written to
//! finds within a few instructions that a load overlaps none of them; the few others are compared with the entries one by one.

use warpwatt_isa::AtomOp;

use crate::atomics::AtomicOp;
use crate::lanes::Row;
use crate::port::{Shape, Span, Spread, gather, lane_bytes};
use crate::rows::lanes_of;
use crate::stepping::filter::{Filter, LINE_BITS, line_of};
use crate::stepping::run::RUN_BYTES;

/// Stores and atomics of one SM since the last merge.
#[derive(Default)]
pub struct EpochLog {
    entries: Vec<Entry>,
    /// Data of the entries: bytes of runs; offsets and registers of the others.
    rows: Vec<Row>,
    filter: Filter,
    stores: usize,
    atomics: usize,
    cycle: u64,
    /// The next entry to be merged.
    next: usize,
}

// SAFETY: its pointers lead to device memory and to destination registers. They are followed only in `merge`, whose caller guarantees both, and for
// reading in `step`, which is given the memory.
unsafe impl Send for EpochLog {}

#[derive(Clone, Copy)]
pub(super) struct Entry {
    cycle: u64,
    /// Host address that offsets count from.
    host: *mut u8,
    /// Lowest offset of any lane, and the last byte of any lane.
    low: u32,
    last: u32,
    mask: u32,
    /// Index of its first row.
    row: u32,
    /// Bytes each lane moves.
    bytes: u32,
    what: What,
}

#[derive(Clone, Copy)]
pub(super) enum What {
    /// The rows are the bytes from `low` to `last`.
    Run,
    /// A row of offsets, then the registers.
    Store(Shape),
    /// A row of offsets, then the operand, then for `Cas` the second one. Old values go to `dst`.
    Atomic { op: AtomicOp, dst: Option<*mut Row> },
}

impl Entry {
    fn range(&self) -> (usize, usize) {
        (self.host.addr() + self.low as usize, self.host.addr() + self.last as usize + 1)
    }
}

impl AsMut<EpochLog> for EpochLog {
    fn as_mut(&mut self) -> &mut EpochLog {
        self
    }
}

impl EpochLog {
    pub fn new() -> EpochLog {
        EpochLog::default()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Warp stores and atomics in it.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// The cycles at which its entries were issued, in order.
    pub fn cycles(&self) -> impl Iterator<Item = u64> {
        self.entries.iter().map(|entry| entry.cycle)
    }

    /// Forgets everything, for a run that is given up.
    pub fn clear(&mut self) {
        if self.entries.is_empty() {
            return;
        }
        self.entries.clear();
        self.rows.clear();
        self.filter.clear();
        (self.stores, self.atomics, self.next) = (0, 0, 0);
    }

    /// Sets the cycle of the entries that follow. Cycles never decrease within a log.
    #[inline(always)]
    pub(super) fn begin(&mut self, cycle: u64) {
        debug_assert!(self.entries.is_empty() || cycle >= self.cycle, "cycle {cycle} after {}", self.cycle);
        self.cycle = cycle;
    }

    #[inline(always)]
    pub(super) fn has_stores(&self) -> bool {
        self.stores != 0
    }

    #[inline(always)]
    pub(super) fn has_atomics(&self) -> bool {
        self.atomics != 0
    }

    /// False when no entry is near any lane of the span.
    #[inline(always)]
    pub(super) fn may_hold(&self, span: &Span) -> bool {
        let (low, last) = bounds(span);
        let host = span.host.addr();
        self.filter.may_hold(host + low as usize, host + last as usize) && self.filter.may_hold_lanes(span)
    }

    /// False when no entry is near the words of 32 lanes side by side, the first at a host address.
    #[inline(always)]
    pub(super) fn may_hold_run(&self, first: usize) -> bool {
        self.filter.may_hold(first, first + RUN_BYTES as usize - 1)
    }

    /// Adds a warp's store.
    ///
    /// # Safety
    /// As for [`GlobalPort::store`](crate::GlobalPort::store).
    #[inline(always)]
    pub(super) unsafe fn push_store(&mut self, span: &Span, shape: Shape, src: *const Row) {
        self.stores += 1;
        if let Shape::Words(words) = shape
            && span.mask == !0
            && is_consecutive(span)
        {
            // SAFETY: span and rows as the port's caller promises (see `GlobalPort`).
            unsafe { self.push_run(span, usize::from(words), src) };
        } else {
            // SAFETY: span and rows as the port's caller promises (see `GlobalPort`).
            unsafe { self.push_scattered(span, shape, src) };
        }
    }

    #[inline(always)]
    unsafe fn push_run(&mut self, span: &Span, words: usize, src: *const Row) {
        let low = span.offsets[0];
        let entry = Entry {
            cycle: self.cycle,
            host: span.host,
            low,
            last: low + (32 * span.bytes - 1),
            mask: span.mask,
            row: self.rows.len() as u32,
            bytes: span.bytes,
            what: What::Run,
        };
        // SAFETY: span and rows as the port's caller promises (see `GlobalPort`).
        unsafe {
            if words == 1 {
                self.rows.push(*src);
            } else {
                let start = self.rows.len();
                self.rows.resize(start + words, Row([0; 32]));
                let out = self.rows.as_mut_ptr().add(start).cast::<u32>();
                for word in 0..words {
                    for (lane, value) in (*src.add(word)).0.iter().enumerate() {
                        out.add(lane * words + word).write(*value);
                    }
                }
            }
        }
        let (from, to) = entry.range();
        self.filter.widen(from, to - 1);
        for line in from >> LINE_BITS..=(to - 1) >> LINE_BITS {
            self.filter.mark(line);
        }
        self.entries.push(entry);
    }

    /// Inlined, so that it is compiled with the host's vector instructions where its caller is.
    #[inline(always)]
    unsafe fn push_scattered(&mut self, span: &Span, shape: Shape, src: *const Row) {
        let row = self.push_offsets(span);
        let rows = match shape {
            Shape::Words(words) => words,
            Shape::Narrow { count, .. } => count,
        };
        // SAFETY: the caller guarantees as many rows as the shape has.
        unsafe {
            if rows == 1 {
                self.rows.push(*src);
            } else {
                self.rows.extend_from_slice(std::slice::from_raw_parts(src, usize::from(rows)));
            }
        }
        self.push_entry(span, row, What::Store(shape));
    }

    /// Adds a warp's atomic operation; its operands are copied, since the registers may change before it takes effect.
    ///
    /// # Safety
    /// As for [`GlobalPort::atomic`](crate::GlobalPort::atomic).
    pub(super) unsafe fn push_atomic(
        &mut self,
        span: &Span,
        op: &AtomicOp,
        b: *const Row,
        c: *const Row,
        dst: Option<*mut Row>,
    ) {
        self.atomics += 1;
        let row = self.push_offsets(span);
        let words = op.ty.words().max(1) as usize;
        // SAFETY: the caller guarantees the operands' rows.
        unsafe {
            self.rows.extend_from_slice(std::slice::from_raw_parts(b, words));
            if op.op == AtomOp::Cas {
                self.rows.extend_from_slice(std::slice::from_raw_parts(c, words));
            }
        }
        self.push_entry(span, row, What::Atomic { op: *op, dst });
    }

    #[inline(always)]
    fn push_offsets(&mut self, span: &Span) -> u32 {
        let row = self.rows.len() as u32;
        self.rows.push(Row(*span.offsets));
        let mut marked = usize::MAX;
        for lane in lanes_of(span.mask) {
            let line = line_of(span, lane);
            if line != marked {
                self.filter.mark(line);
                marked = line;
            }
        }
        row
    }

    #[inline(always)]
    fn push_entry(&mut self, span: &Span, row: u32, what: What) {
        let (low, last) = bounds(span);
        let Span { host, mask, bytes, .. } = *span;
        self.filter.widen(host.addr() + low as usize, host.addr() + last as usize);
        self.entries.push(Entry { cycle: self.cycle, host, low, last, mask, row, bytes, what });
    }

    /// Whether an atomic that has not taken effect touches any byte of the span.
    #[cold]
    #[inline(never)]
    pub(super) fn holds_atomic(&self, span: &Span) -> bool {
        let atomics = self.entries.iter().filter(|entry| matches!(entry.what, What::Atomic { .. }));
        let mut near = atomics.filter(|entry| near(entry, span));
        near.any(|entry| {
            let theirs = &self.rows[entry.row as usize].0;
            lanes_of(span.mask).any(|lane| {
                let mine = span.host.addr() + span.offsets[lane] as usize;
                lanes_of(entry.mask).any(|other| {
                    let other = entry.host.addr() + theirs[other] as usize;
                    mine < other + entry.bytes as usize && other < mine + span.bytes as usize
                })
            })
        })
    }

    /// Reads the lanes' bytes as the stores of the log leave them.
    ///
    /// # Safety
    /// As for [`GlobalPort::load`](crate::GlobalPort::load).
    #[cold]
    #[inline(never)]
    pub(super) unsafe fn load_through(&self, span: &Span, shape: Shape, dst: *mut Row) {
        /// The bytes of each lane.
        #[repr(align(64))]
        struct Scratch([[u8; LANE]; 32]);
        const LANE: usize = 32;

        if let Some((bytes, from)) = self.newest_run(span) {
            let moved = from.wrapping_sub(span.host.addr()) as u32;
            let offsets = &span.offsets.map(|offset| offset.wrapping_sub(moved));
            let read = Span { host: bytes.as_ptr().cast_mut(), offsets, ..*span };
            // SAFETY: all lanes lie inside of the run's bytes.
            return unsafe { gather(&read, shape, dst) };
        }
        let mut scratch = Scratch([[0; LANE]; 32]);
        let bytes = span.bytes as usize;
        for lane in lanes_of(span.mask) {
            // SAFETY: the caller guarantees the span, whose lanes have at most 32 bytes.
            unsafe {
                let from = span.host.add(span.offsets[lane] as usize);
                from.copy_to_nonoverlapping(scratch.0[lane].as_mut_ptr(), bytes);
            }
        }
        for entry in self.entries.iter().filter(|entry| near(entry, span)) {
            for lane in lanes_of(span.mask) {
                let start = span.host.addr() + span.offsets[lane] as usize;
                self.overlay(entry, start, &mut scratch.0[lane][..bytes]);
            }
        }
        let offsets = std::array::from_fn(|lane| (lane * LANE) as u32);
        let host = scratch.0.as_mut_ptr().cast();
        let read = Span::new(host, span.guest, &offsets, span.mask, span.bytes);
        // SAFETY: span and rows as the port's caller promises (see `GlobalPort`).
        unsafe { gather(&read, shape, dst) };
    }

    /// The frequent case: the latest store near the lanes is a run that holds all they read. Gives its bytes and where they go.
    fn newest_run(&self, span: &Span) -> Option<(&[u8], usize)> {
        let (low, last) = bounds(span);
        let host = span.host.addr();
        let entry = self.entries.iter().rev().find(|entry| near(entry, span))?;
        let (from, to) = entry.range();
        let inside = from <= host + low as usize && host + (last as usize) < to;
        if !inside || !matches!(entry.what, What::Run) {
            return None;
        }
        Some((run_bytes(&self.rows[entry.row as usize..], to - from), from))
    }

    /// Puts what a store writes over the bytes at host address `start`.
    fn overlay(&self, entry: &Entry, start: usize, out: &mut [u8]) {
        let (from, to) = entry.range();
        if to <= start || start + out.len() <= from {
            return;
        }
        let rows = &self.rows[entry.row as usize..];
        match entry.what {
            What::Run => put(out, start, run_bytes(rows, to - from), from),
            What::Store(shape) => {
                for lane in lanes_of(entry.mask) {
                    let at = entry.host.addr() + rows[0].0[lane] as usize;
                    if at < start + out.len() && start < at + entry.bytes as usize {
                        // SAFETY: the entry has as many rows as its shape.
                        let data = unsafe { lane_bytes(rows[1..].as_ptr(), shape, lane) };
                        put(out, start, &data[..entry.bytes as usize], at);
                    }
                }
            }
            // A load that overlaps an atomic waits, and never gets here.
            What::Atomic { .. } => {}
        }
    }

    /// Cycle of the next entry to be merged.
    #[inline(always)]
    pub(super) fn next_cycle(&self) -> u64 {
        self.entries.get(self.next).map_or(u64::MAX, |entry| entry.cycle)
    }

    /// Takes the next entry, with its rows.
    #[inline(always)]
    pub(super) fn take(&mut self) -> Option<(Taken<'_>, What)> {
        let entry = self.entries.get(self.next)?;
        self.next += 1;
        Some((Taken { entry, rows: &self.rows[entry.row as usize..] }, entry.what))
    }
}

/// An entry that is about to take effect.
pub(super) struct Taken<'l> {
    entry: &'l Entry,
    rows: &'l [Row],
}

impl<'l> Taken<'l> {
    /// Where a run goes, and its bytes.
    #[inline(always)]
    pub(super) fn run(&self) -> (*mut u8, &'l [u8]) {
        let len = (self.entry.last - self.entry.low) as usize + 1;
        (self.entry.host.wrapping_add(self.entry.low as usize), run_bytes(self.rows, len))
    }

    /// The lanes' places, for entries that are not runs.
    #[inline(always)]
    pub(super) fn span(&self) -> Span<'l> {
        let Entry { host, mask, bytes, .. } = *self.entry;
        Span::new(host, 0, &self.rows[0].0, mask, bytes)
    }

    /// Rows of the operands.
    #[inline(always)]
    pub(super) fn operands(&self) -> &'l [Row] {
        &self.rows[1..]
    }
}

#[inline(always)]
fn run_bytes(rows: &[Row], len: usize) -> &[u8] {
    assert!(len <= size_of_val(rows));
    // SAFETY: rows are plain words without padding, and there are enough of them.
    unsafe { std::slice::from_raw_parts(rows.as_ptr().cast(), len) }
}

/// Copies the part of `data`, which lies at `from`, that falls on `out`, which lies at `start`.
fn put(out: &mut [u8], start: usize, data: &[u8], from: usize) {
    let (low, high) = (start.max(from), (start + out.len()).min(from + data.len()));
    if low < high {
        out[low - start..high - start].copy_from_slice(&data[low - from..high - from]);
    }
}

/// Whether the ranges of an entry and of a span overlap.
fn near(entry: &Entry, span: &Span) -> bool {
    let (from, to) = entry.range();
    let (low, last) = bounds(span);
    from <= span.host.addr() + last as usize && span.host.addr() + (low as usize) < to
}

/// Lowest offset of the lanes and the offset of the last byte of any.
#[inline(always)]
fn bounds(span: &Span) -> (u32, u32) {
    let (mut low, mut high) = (u32::MAX, 0);
    for (lane, &offset) in span.offsets.iter().enumerate() {
        let live = ((span.mask << (31 - lane)) as i32 >> 31) as u32;
        low = low.min(offset | !live);
        high = high.max(offset & live);
    }
    (low, high + (span.bytes - 1))
}

/// Whether 32 lanes lie side by side.
#[inline(always)]
fn is_consecutive(span: &Span) -> bool {
    if span.spread != Spread::Unknown {
        return span.spread == Spread::Consecutive;
    }
    let (first, mut strays) = (span.offsets[0], 0);
    for (lane, offset) in span.offsets.iter().enumerate() {
        strays |= offset ^ first.wrapping_add(span.bytes * lane as u32);
    }
    strays == 0
}
