// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which lines a log has written to: a small Bloom filter that answers "none of these" within a few instructions.

use crate::port::Span;
use crate::rows::lanes_of;

/// log2 of the bytes of a line of the filter.
pub(super) const LINE_BITS: u32 = 7;

/// The line that a lane's bytes lie on: accesses are aligned to their size, which is less than a line.
#[inline(always)]
pub(super) fn line_of(span: &Span, lane: usize) -> usize {
    (span.host.addr() + span.offsets[lane] as usize) >> LINE_BITS
}

/// A set of lines, with false positives: one bit for each of 4096 classes of lines, and the range all of them lie in.
pub(super) struct Filter {
    low: usize,
    high: usize,
    bits: [u64; 64],
}

impl Default for Filter {
    fn default() -> Filter {
        Filter { low: usize::MAX, high: 0, bits: [0; 64] }
    }
}

impl Filter {
    /// Lines up to which a range is tested as a whole rather than lane by lane.
    const FEW: usize = 8;

    #[inline(always)]
    fn place(line: usize) -> (usize, u64) {
        // Multiplying spreads strides that are powers of two.
        let class = (line as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 52;
        ((class >> 6) as usize, 1 << (class & 63))
    }

    #[inline(always)]
    pub(super) fn mark(&mut self, line: usize) {
        let (word, bit) = Filter::place(line);
        self.bits[word] |= bit;
    }

    #[inline(always)]
    fn has(&self, line: usize) -> bool {
        let (word, bit) = Filter::place(line);
        self.bits[word] & bit != 0
    }

    /// Bytes from `first` to `last` are about to be marked.
    #[inline(always)]
    pub(super) fn widen(&mut self, first: usize, last: usize) {
        self.low = self.low.min(first);
        self.high = self.high.max(last);
    }

    /// Whether bytes from `first` to `last` may be in the set; true when a test would take long.
    #[inline(always)]
    pub(super) fn may_hold(&self, first: usize, last: usize) -> bool {
        let (lines, end) = (first >> LINE_BITS, last >> LINE_BITS);
        first <= self.high
            && self.low <= last
            && (end - lines >= Filter::FEW || (lines..=end).any(|line| self.has(line)))
    }

    pub(super) fn may_hold_lanes(&self, span: &Span) -> bool {
        lanes_of(span.mask).any(|lane| self.has(line_of(span, lane)))
    }

    pub(super) fn clear(&mut self) {
        *self = Filter::default();
    }
}
