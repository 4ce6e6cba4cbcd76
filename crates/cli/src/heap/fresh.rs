// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory of the system that nobody has used, for zeroed blocks that are not small: the state of SMs and caches, most of which is never written, and arrays of
//! workloads. The C library writes zeros to memory that it took ahead, since it cannot tell it from what was freed.
//!
//! There is a fixed amount of addresses, and none is used again: a process that allocates more, over and over, leaves that to the C library. What is freed
//! goes back to the system.

use std::alloc::Layout;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::Relaxed};

/// Bytes in all.
const BYTES: usize = 64 << 20;
/// Bytes of the smallest block: zeros are written to others faster than the system gives a page.
const SMALLEST: usize = 1 << 14;
/// Size and alignment of blocks are whole pages.
const PAGE: usize = 4096;

static START: AtomicPtr<u8> = AtomicPtr::new(null_mut());
/// Bytes that were handed out; all of them as long as there are none.
static USED: AtomicUsize = AtomicUsize::new(BYTES);

/// Has the system reserve the addresses, once in a process.
#[cfg(target_os = "linux")]
pub fn prepare() {
    if !START.load(Relaxed).is_null() {
        return;
    }
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: an anonymous mapping that replaces nothing.
    let start = unsafe { libc::mmap(null_mut(), BYTES, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
    if start != libc::MAP_FAILED {
        START.store(start.cast(), Relaxed);
        USED.store(0, Relaxed);
    }
}

/// A zeroed block; null if there is none of this size.
pub fn alloc(layout: Layout) -> *mut u8 {
    if !(SMALLEST..=BYTES).contains(&layout.size()) || layout.align() > PAGE {
        return null_mut();
    }
    let size = layout.size().next_multiple_of(PAGE);
    let taken = USED.fetch_update(Relaxed, Relaxed, |used| (used + size <= BYTES).then_some(used + size));
    taken.map_or(null_mut(), |at| START.load(Relaxed).wrapping_add(at))
}

/// Whether a block is one of these.
#[inline]
pub fn has(block: *mut u8) -> bool {
    let start = START.load(Relaxed);
    block.addr().wrapping_sub(start.addr()) < BYTES && !start.is_null()
}

/// Gives the pages of a block back.
///
/// # Safety
/// The block was allocated here with this layout, and nobody uses it any more.
#[cold]
pub unsafe fn free(block: *mut u8, layout: Layout) {
    // SAFETY: the block begins with a page, and no other has a part of its last one.
    #[cfg(target_os = "linux")]
    unsafe {
        libc::madvise(block.cast(), layout.size(), libc::MADV_DONTNEED);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (block, layout);
}
