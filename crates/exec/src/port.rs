// SPDX-License-Identifier: MIT OR Apache-2.0
//! The interface from a warp to memory: checked accesses of up to 32 lanes within one range of bytes.
//!
//! Global memory is reached through a [`GlobalPort`]. In functional mode that is [`Direct`], where everything takes effect at once; a timed
//! machine has its own, which delays stores and atomics.

use warpwatt_memory::DeviceMemory;

use crate::atomics::AtomicOp;
use crate::lanes::Row;
use crate::rows::lanes_of;

/// How the bytes of a lane's access map to registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// This many whole words, one row each.
    Words(u8),
    /// `count` elements of 1 or 2 bytes, one row each, extended.
    Narrow { bytes: u8, count: u8, signed: bool },
}

/// How 32 lanes lie that move a word each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Spread {
    /// Not looked at, or not such lanes.
    Unknown,
    /// Each right behind the lane before it.
    Consecutive,
    /// All in one place.
    Uniform,
    /// Each half of them consecutive, as rows of a block that is 16 threads wide.
    Rows,
    /// Each half of them in one place.
    Places,
    /// None of these.
    Scattered,
}

impl Spread {
    /// Of lanes that move so many bytes each.
    #[inline(always)]
    pub fn of(offsets: &[u32; 32], mask: u32, bytes: u32) -> Spread {
        if mask != !0 || bytes != 4 {
            return Spread::Unknown;
        }
        let (low, high) = (offsets[0], offsets[16]);
        // The first two lanes leave few of them.
        match offsets[1].wrapping_sub(low) {
            4 if in_halves(offsets, 4) => Spread::of_rows(high.wrapping_sub(low)),
            0 if in_halves(offsets, 0) => Spread::of_places(high.wrapping_sub(low)),
            _ => Spread::Scattered,
        }
    }

    /// Of halves that are consecutive each, the second so many bytes behind the first.
    #[inline(always)]
    pub(crate) fn of_rows(behind: u32) -> Spread {
        if behind == 64 { Spread::Consecutive } else { Spread::Rows }
    }

    /// Of halves that are in one place each.
    #[inline(always)]
    pub(crate) fn of_places(behind: u32) -> Spread {
        if behind == 0 { Spread::Uniform } else { Spread::Places }
    }
}

/// Whether the lanes of each half are so many bytes apart.
#[inline(always)]
fn in_halves(offsets: &[u32; 32], step: u32) -> bool {
    let mut strays = 0;
    for (lane, offset) in offsets.iter().enumerate() {
        strays |= offset ^ offsets[lane & 16].wrapping_add((lane as u32 & 15) * step);
    }
    strays == 0
}

/// Addresses of the lanes of one access: all inside of one allocation, in bounds and aligned. Functions that are not inlined get a copy, so that it stays
/// in the host's registers where they are not called.
#[derive(Clone, Copy)]
pub struct Span<'a> {
    /// Host address of the start of the allocation.
    pub host: *mut u8,
    /// Guest address of the allocation.
    pub guest: u64,
    /// Byte offset of each lane in it; meaningless outside of `mask`.
    pub offsets: &'a [u32; 32],
    pub mask: u32,
    /// Bytes each lane moves.
    pub bytes: u32,
    /// Found once, since loads, the log of stores and the timed machine all want to know.
    pub spread: Spread,
}

impl<'a> Span<'a> {
    /// With a look at how the lanes lie.
    #[inline(always)]
    pub fn new(host: *mut u8, guest: u64, offsets: &'a [u32; 32], mask: u32, bytes: u32) -> Span<'a> {
        Span { host, guest, offsets, mask, bytes, spread: Spread::of(offsets, mask, bytes) }
    }
}

/// Global memory as a warp sees it.
///
/// # Safety of the methods
/// Spans come checked: every lane's bytes lie inside of a live allocation. Rows must be valid for the words of the shape.
pub trait GlobalPort {
    /// Whether each instruction's access is to be recorded.
    const RECORDS: bool = false;

    fn memory(&self) -> &DeviceMemory;

    /// `None` while memory is read-only: instructions that need more are deferred.
    fn memory_mut(&mut self) -> Option<&mut DeviceMemory>;

    /// Whether a load must wait for something that has not taken effect yet.
    #[inline(always)]
    fn must_wait(&self, _span: &Span) -> bool {
        false
    }

    /// # Safety
    /// See the trait.
    unsafe fn load(&mut self, span: &Span, shape: Shape, dst: *mut Row);

    /// # Safety
    /// See the trait.
    unsafe fn store(&mut self, span: &Span, shape: Shape, src: *const Row);

    /// Lanes in ascending order; `dst` gets the old values. True if memory changed.
    ///
    /// # Safety
    /// See the trait.
    unsafe fn atomic(
        &mut self,
        span: &Span,
        op: &AtomicOp,
        b: *const Row,
        c: *const Row,
        dst: Option<*mut Row>,
    ) -> bool;
}

/// Every access takes effect at once.
pub struct Direct<'a>(pub &'a mut DeviceMemory);

impl GlobalPort for Direct<'_> {
    fn memory(&self) -> &DeviceMemory {
        self.0
    }

    fn memory_mut(&mut self) -> Option<&mut DeviceMemory> {
        Some(self.0)
    }

    #[inline(always)]
    unsafe fn load(&mut self, span: &Span, shape: Shape, dst: *mut Row) {
        // SAFETY: lanes of a span lie in one allocation, aligned; the caller's rows span the shape's words.
        unsafe { gather(span, shape, dst) }
    }

    #[inline(always)]
    unsafe fn store(&mut self, span: &Span, shape: Shape, src: *const Row) {
        // SAFETY: lanes of a span lie in one allocation, aligned; the caller's rows span the shape's words.
        unsafe { scatter(span, shape, src) }
    }

    unsafe fn atomic(
        &mut self,
        span: &Span,
        op: &AtomicOp,
        b: *const Row,
        c: *const Row,
        dst: Option<*mut Row>,
    ) -> bool {
        // SAFETY: lanes of a span lie in one allocation, aligned; the caller's rows span the shape's words.
        unsafe { op.apply(span, b, c, dst) }
    }
}

/// Reads the lanes' bytes into registers.
#[inline(always)]
pub(crate) unsafe fn gather(span: &Span, shape: Shape, dst: *mut Row) {
    // SAFETY: lanes of a span lie in one allocation, aligned; the caller's rows span the shape's words.
    unsafe {
        match shape {
            Shape::Words(1) => gather_word(span, dst),
            Shape::Words(2) => gather_words::<2>(span, dst),
            Shape::Words(4) => gather_words::<4>(span, dst),
            Shape::Words(_) => gather_words::<8>(span, dst),
            Shape::Narrow { bytes, count, signed } => gather_narrow(&{ *span }, bytes, count, signed, dst),
        }
    }
}

#[inline(always)]
pub(crate) unsafe fn gather_word(span: &Span, dst: *mut Row) {
    let at = span.offsets;
    // SAFETY: lanes of a span lie in one allocation, aligned; the caller's rows span the shape's words.
    unsafe {
        let out = &mut (*dst).0;
        let first = at[0] as usize;
        match span.spread {
            Spread::Consecutive => {
                span.host.add(first).cast::<[u32; 32]>().copy_to_nonoverlapping(out, 1);
            }
            Spread::Uniform => *out = [span.host.add(first).cast::<u32>().read(); 32],
            Spread::Rows => {
                for half in [0, 16] {
                    let from = span.host.add(at[half] as usize).cast::<[u32; 16]>();
                    from.copy_to_nonoverlapping(out.as_mut_ptr().add(half).cast(), 1);
                }
            }
            Spread::Places => {
                for half in [0, 16] {
                    let word = span.host.add(at[half] as usize).cast::<u32>().read();
                    out.as_mut_ptr().add(half).cast::<[u32; 16]>().write([word; 16]);
                }
            }
            Spread::Scattered => {
                for (out, at) in out.iter_mut().zip(at) {
                    *out = span.host.add(*at as usize).cast::<u32>().read();
                }
            }
            Spread::Unknown => {
                for lane in lanes_of(span.mask) {
                    out[lane] = span.host.add(at[lane] as usize).cast::<u32>().read();
                }
            }
        }
    }
}

#[inline(always)]
unsafe fn gather_words<const W: usize>(span: &Span, dst: *mut Row) {
    // SAFETY: lanes of a span lie in one allocation, aligned; the caller's rows span the shape's words.
    let read = |lane: usize| unsafe {
        span.host.add(span.offsets[lane] as usize).cast::<[u32; W]>().read_unaligned()
    };
    // SAFETY: lanes of a span lie in one allocation, aligned; the caller's rows span the shape's words.
    unsafe {
        if span.mask == !0 {
            // Four lanes at a time, transposed in vector registers.
            for lane in (0..32).step_by(4) {
                #[cfg(target_arch = "x86_64")]
                if W == 4 {
                    turn_round(span, lane, dst);
                    continue;
                }
                let from = [read(lane), read(lane + 1), read(lane + 2), read(lane + 3)];
                for word in 0..W {
                    let out = (*dst.add(word)).0.as_mut_ptr().add(lane).cast::<[u32; 4]>();
                    out.write(from.map(|values| values[word]));
                }
            }
        } else {
            for lane in lanes_of(span.mask) {
                for (word, value) in read(lane).into_iter().enumerate() {
                    (*dst.add(word)).0[lane] = value;
                }
            }
        }
    }
}

/// Four words of each of four lanes, transposed.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn turn_round(span: &Span, lane: usize, dst: *mut Row) {
    use std::arch::x86_64::*;
    // SAFETY: SSE2 is part of the architecture; the caller guarantees the addresses.
    unsafe {
        let read = |i: usize| _mm_loadu_si128(span.host.add(span.offsets[lane + i] as usize).cast());
        let write =
            |word: usize, value| _mm_store_si128((*dst.add(word)).0.as_mut_ptr().add(lane).cast(), value);
        let (a, b, c, d) = (read(0), read(1), read(2), read(3));
        let (ab_low, ab_high) = (_mm_unpacklo_epi32(a, b), _mm_unpackhi_epi32(a, b));
        let (cd_low, cd_high) = (_mm_unpacklo_epi32(c, d), _mm_unpackhi_epi32(c, d));
        write(0, _mm_unpacklo_epi64(ab_low, cd_low));
        write(1, _mm_unpackhi_epi64(ab_low, cd_low));
        write(2, _mm_unpacklo_epi64(ab_high, cd_high));
        write(3, _mm_unpackhi_epi64(ab_high, cd_high));
    }
}

#[inline(never)]
unsafe fn gather_narrow(span: &Span, bytes: u8, count: u8, signed: bool, dst: *mut Row) {
    macro_rules! elements {
        ($ty:ty, $wide:ty) => {
            for element in 0..usize::from(count) {
                // SAFETY: lanes of a span lie in one allocation, aligned; the caller's rows span the shape's words.
                unsafe {
                    let from = span.host.add(element * size_of::<$ty>());
                    let out = &mut (*dst.add(element)).0;
                    for lane in lanes_of(span.mask) {
                        let value = from.add(span.offsets[lane] as usize).cast::<$ty>().read();
                        out[lane] = <$wide>::from(value) as u32;
                    }
                }
            }
        };
    }
    match (bytes, signed) {
        (1, false) => elements!(u8, u32),
        (1, true) => elements!(i8, i32),
        (_, false) => elements!(u16, u32),
        (_, true) => elements!(i16, i32),
    }
}

/// Writes registers to the lanes' bytes; of lanes that write the same byte, the highest wins.
#[inline(always)]
pub(crate) unsafe fn scatter(span: &Span, shape: Shape, src: *const Row) {
    // SAFETY: lanes of a span lie in one allocation, aligned; the caller's rows span the shape's words.
    unsafe {
        match shape {
            Shape::Words(1) => scatter_word(span, src),
            Shape::Words(2) => scatter_words::<2>(span, src),
            Shape::Words(4) => scatter_words::<4>(span, src),
            Shape::Words(_) => scatter_words::<8>(span, src),
            Shape::Narrow { bytes, count, .. } => scatter_narrow(&{ *span }, bytes, count, src),
        }
    }
}

#[inline(always)]
pub(crate) unsafe fn scatter_word(span: &Span, src: *const Row) {
    let at = span.offsets;
    // SAFETY: lanes of a span lie in one allocation, aligned; the caller's rows span the shape's words.
    unsafe {
        let data = &(*src).0;
        if span.spread == Spread::Consecutive {
            span.host.add(at[0] as usize).cast::<[u32; 32]>().copy_from_nonoverlapping(data, 1);
            return;
        }
        if span.spread == Spread::Rows {
            for half in [0, 16] {
                let to = span.host.add(at[half] as usize).cast::<[u32; 16]>();
                to.copy_from_nonoverlapping(data.as_ptr().add(half).cast(), 1);
            }
            return;
        }
        for lane in lanes_of(span.mask) {
            span.host.add(at[lane] as usize).cast::<u32>().write(data[lane]);
        }
    }
}

#[inline(always)]
unsafe fn scatter_words<const W: usize>(span: &Span, src: *const Row) {
    for lane in lanes_of(span.mask) {
        // SAFETY: lanes of a span lie in one allocation, aligned; the caller's rows span the shape's words.
        unsafe {
            let mut data = [0u32; W];
            for (word, value) in data.iter_mut().enumerate() {
                *value = (*src.add(word)).0[lane];
            }
            span.host.add(span.offsets[lane] as usize).cast::<[u32; W]>().write_unaligned(data);
        }
    }
}

#[inline(never)]
unsafe fn scatter_narrow(span: &Span, bytes: u8, count: u8, src: *const Row) {
    for lane in lanes_of(span.mask) {
        for element in 0..usize::from(count) {
            // SAFETY: lanes of a span lie in one allocation, aligned; the caller's rows span the shape's words.
            unsafe {
                let to = span.host.add(span.offsets[lane] as usize + element * usize::from(bytes));
                let value = (*src.add(element)).0[lane];
                if bytes == 1 { to.write(value as u8) } else { to.cast::<u16>().write(value as u16) }
            }
        }
    }
}

/// The bytes that one lane stores.
///
/// # Safety
/// There are as many rows as the shape has.
pub(crate) unsafe fn lane_bytes(rows: *const Row, shape: Shape, lane: usize) -> [u8; 32] {
    let mut out = [0; 32];
    let (count, size) = match shape {
        Shape::Words(words) => (words, 4),
        Shape::Narrow { bytes, count, .. } => (count, usize::from(bytes)),
    };
    for (row, out) in (0..usize::from(count)).zip(out.chunks_exact_mut(size)) {
        // SAFETY: the caller guarantees the rows.
        let value = unsafe { (*rows.add(row)).0[lane] };
        out.copy_from_slice(&value.to_le_bytes()[..size]);
    }
    out
}

/// Whether a store would change any byte. Lanes that write the same place count as a change when their values differ.
pub(crate) unsafe fn would_change(span: &Span, shape: Shape, src: *const Row) -> bool {
    let mut scratch = [Row([0; 32]); 8];
    // SAFETY: lanes of a span lie in one allocation, aligned; the caller's rows span the shape's words.
    unsafe {
        gather(span, shape, scratch.as_mut_ptr());
        let (rows, keep) = match shape {
            Shape::Words(words) => (words, !0),
            Shape::Narrow { bytes, count, .. } => (count, if bytes == 1 { 0xff } else { 0xffff }),
        };
        (0..usize::from(rows)).any(|row| {
            lanes_of(span.mask).any(|lane| (scratch[row].0[lane] ^ (*src.add(row)).0[lane]) & keep != 0)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Offsets of all lanes: in a row from some place on, with some of them elsewhere, so that eights of lanes are in a row, apart, or on each other.
    fn offsets(random: &mut u64, words: u32) -> [u32; 32] {
        let mut next = || {
            *random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (*random >> 33) as u32
        };
        let first = next() % (words - 32);
        let mut offsets = std::array::from_fn(|lane| 4 * (first + lane as u32));
        for _ in 0..next() % 3 {
            let (eight, other) = (8 * (next() % 4) as usize, next() % (words - 8));
            (0..8).for_each(|lane| offsets[eight + lane] = 4 * (other + lane as u32));
        }
        for _ in 0..next() % 3 {
            offsets[(next() % 32) as usize] = 4 * (next() % words);
        }
        offsets
    }

    #[test]
    fn lanes_read_and_write_their_words_in_order() {
        const WORDS: usize = 80;
        let mut random = 5;
        for round in 0..20_000u32 {
            let at = offsets(&mut random, WORDS as u32);
            let masks = [!0, 0xffff, 0xff00_00ff, 0xff7f_ffff, random as u32, random as u32 | 0xff00];
            let mask = masks[round as usize % masks.len()];
            let mut memory: [u32; WORDS] = std::array::from_fn(|word| word as u32 * 3 + 1);
            let (mut expected_memory, before) = (memory, Row([7; 32]));
            let (mut row, mut expected) = (before, before);
            let host = memory.as_mut_ptr().cast();
            let span = Span::new(host, 0, &at, mask, 4);
            // SAFETY: all offsets are of words of the memory.
            unsafe { gather(&span, Shape::Words(1), &raw mut row) };
            lanes_of(mask).for_each(|lane| expected.0[lane] = expected_memory[at[lane] as usize / 4]);
            assert_eq!(row, expected, "{mask:#x} {at:?}");
            let values = Row(std::array::from_fn(|lane| 1000 + lane as u32));
            // SAFETY: as above.
            unsafe { scatter(&span, Shape::Words(1), &raw const values) };
            lanes_of(mask).for_each(|lane| expected_memory[at[lane] as usize / 4] = values.0[lane]);
            assert_eq!(memory, expected_memory, "{mask:#x} {at:?}");
        }
    }
}
