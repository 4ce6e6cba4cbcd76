// SPDX-License-Identifier: MIT OR Apache-2.0
//! A run of registers of a warp, zeroed when made and aligned for vector access.

use std::alloc::{Layout, alloc, alloc_zeroed, dealloc, handle_alloc_error};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use crate::lanes::Row;

/// As `Vec<Row>` of a fixed length, but large ones cost nothing until they are touched.
pub(crate) struct RowBuf {
    rows: NonNull<Row>,
    len: usize,
    /// What they lie in. Rows are aligned here and not by the allocator, which would clear them itself instead of taking pages that are zero.
    allocation: NonNull<u8>,
}

// SAFETY: it owns plain memory.
unsafe impl Send for RowBuf {}
// SAFETY: a shared borrow only reads; a writer through `pointer` guarantees that it is alone.
unsafe impl Sync for RowBuf {}

impl RowBuf {
    pub(crate) fn zeroed(len: usize) -> RowBuf {
        // SAFETY: zeros are valid rows.
        unsafe { RowBuf::allocated(len, alloc_zeroed) }
    }

    /// A copy of some rows.
    pub(crate) fn of(rows: &[Row]) -> RowBuf {
        // SAFETY: all rows are written before anything reads them.
        unsafe {
            let copy = RowBuf::allocated(rows.len(), alloc);
            rows.as_ptr().copy_to_nonoverlapping(copy.pointer(), rows.len());
            copy
        }
    }

    /// Rows in memory that an allocator gives for a layout.
    ///
    /// # Safety
    ///
    /// The memory must hold valid rows before they are read.
    unsafe fn allocated(len: usize, allocate: unsafe fn(Layout) -> *mut u8) -> RowBuf {
        if len == 0 {
            return RowBuf { rows: NonNull::dangling(), len, allocation: NonNull::dangling() };
        }
        let layout = RowBuf::layout(len);
        // SAFETY: the layout is not empty.
        let start = unsafe { allocate(layout) };
        let allocation = NonNull::new(start).unwrap_or_else(|| handle_alloc_error(layout));
        // SAFETY: the allocation is larger than the rows by as much as aligning them can take.
        let rows = unsafe { allocation.byte_add(start.align_offset(align_of::<Row>())) }.cast::<Row>();
        RowBuf { rows, len, allocation }
    }

    fn layout(len: usize) -> Layout {
        let rows =
            Layout::array::<Row>(len + 1).expect("a length that is checked against the machine's limits");
        Layout::array::<u64>(rows.size() / size_of::<u64>()).expect("as above")
    }

    pub(crate) fn pointer(&self) -> *mut Row {
        self.rows.as_ptr()
    }
}

impl Drop for RowBuf {
    fn drop(&mut self) {
        if self.len != 0 {
            // SAFETY: allocated with the same layout.
            unsafe { dealloc(self.allocation.as_ptr(), RowBuf::layout(self.len)) };
        }
    }
}

impl Deref for RowBuf {
    type Target = [Row];
    fn deref(&self) -> &[Row] {
        // SAFETY: `len` initialised rows, owned.
        unsafe { std::slice::from_raw_parts(self.rows.as_ptr(), self.len) }
    }
}

impl DerefMut for RowBuf {
    fn deref_mut(&mut self) -> &mut [Row] {
        // SAFETY: as above, and borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.rows.as_ptr(), self.len) }
    }
}

/// The lanes of a mask, lowest first.
#[inline(always)]
pub(crate) fn lanes_of(mut mask: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        if mask == 0 {
            return None;
        }
        let lane = mask.trailing_zeros() as usize;
        mask &= mask - 1;
        Some(lane)
    })
}
