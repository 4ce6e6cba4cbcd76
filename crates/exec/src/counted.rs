// SPDX-License-Identifier: MIT OR Apache-2.0
//! Global memory whose words are counted when warps load and store them (`warpwatt_memory::monitor::WordCounter`).
//!
//! A warp's words are counted together, so that its accesses take the same ways as without a counter. Counted are the words that a load gives, that a store
//! writes and that an atomic finds.

use warpwatt_memory::DeviceMemory;

use crate::atomics::AtomicOp;
use crate::lanes::Row;
use crate::port::{Direct, GlobalPort, Shape, Span, lane_bytes};
use crate::rows::lanes_of;

/// As [`Direct`], and counts.
pub(crate) struct Counted<'a>(pub &'a mut DeviceMemory);

impl Counted<'_> {
    fn count(&self, words: &[u32]) {
        self.0.counter().into_iter().for_each(|counter| counter.count(words));
    }

    /// Counts whole words that lanes have in rows.
    ///
    /// # Safety
    /// There are as many rows.
    unsafe fn count_rows(&self, rows: *const Row, count: u8, mask: u32) {
        for row in 0..usize::from(count) {
            // SAFETY: the caller guarantees the rows.
            let Row(row) = unsafe { &*rows.add(row) };
            if mask == !0 {
                self.count(row);
                continue;
            }
            let mut words = [0; 32];
            let mut active = 0;
            for lane in lanes_of(mask) {
                words[active] = row[lane];
                active += 1;
            }
            self.count(&words[..active]);
        }
    }

    /// Counts the words of each lane's bytes: those in memory, or those that `stored` gives.
    ///
    /// # Safety
    /// As for the span.
    #[inline(never)]
    unsafe fn count_bytes(&self, span: &Span, stored: Option<(*const Row, Shape)>) {
        let len = span.bytes as usize;
        // Bytes of the allocation from whose start on words lie in memory as they do in lines.
        let found = self.0.find(span.guest).filter(|found| found.base == span.guest && found.base % 4 == 0);
        let size = found.map_or(0, |found| found.size);
        let mut words = [0; 32];
        let mut counted = 0;
        for lane in lanes_of(span.mask) {
            let offset = span.offsets[lane];
            // SAFETY: lanes of a span lie in one allocation; the caller guarantees the rows.
            let (current, data) = unsafe {
                let current = std::slice::from_raw_parts(span.host.add(offset as usize), len);
                (current, stored.map(|(rows, shape)| lane_bytes(rows, shape, lane)))
            };
            let data = data.as_ref().map_or(current, |data| &data[..len]);
            let start = offset & !3;
            if len < 4 && u64::from(start) + 4 <= size {
                // SAFETY: the word is inside of the allocation.
                let mut word = unsafe { span.host.add(start as usize).cast::<[u8; 4]>().read() };
                word[(offset - start) as usize..][..len].copy_from_slice(data);
                words[counted] = u32::from_le_bytes(word);
                counted += 1;
            } else {
                self.0.words_of(span.guest + u64::from(offset), data, |word| self.count(&[word]));
            }
        }
        self.count(&words[..counted]);
    }
}

impl GlobalPort for Counted<'_> {
    fn memory(&self) -> &DeviceMemory {
        self.0
    }

    fn memory_mut(&mut self) -> Option<&mut DeviceMemory> {
        Some(self.0)
    }

    #[inline(always)]
    unsafe fn load(&mut self, span: &Span, shape: Shape, dst: *mut Row) {
        // SAFETY: lanes of a span lie in one allocation, aligned; the caller's rows span the shape's words.
        unsafe {
            Direct(self.0).load(span, shape, dst);
            match shape {
                Shape::Words(rows) => self.count_rows(dst, rows, span.mask),
                Shape::Narrow { .. } => self.count_bytes(span, None),
            }
        }
    }

    #[inline(always)]
    unsafe fn store(&mut self, span: &Span, shape: Shape, src: *const Row) {
        // SAFETY: as for loads.
        unsafe {
            match shape {
                Shape::Words(rows) => self.count_rows(src, rows, span.mask),
                // The other bytes of a word are those from before the access.
                Shape::Narrow { .. } => self.count_bytes(span, Some((src, shape))),
            }
            Direct(self.0).store(span, shape, src);
        }
    }

    unsafe fn atomic(
        &mut self,
        span: &Span,
        op: &AtomicOp,
        b: *const Row,
        c: *const Row,
        dst: Option<*mut Row>,
    ) -> bool {
        // SAFETY: as for loads.
        unsafe {
            self.count_bytes(span, None);
            Direct(self.0).atomic(span, op, b, c, dst)
        }
    }
}
