// SPDX-License-Identifier: MIT OR Apache-2.0
//! The program's heap. Small blocks are cut from large ones of the system and, once freed, kept by size for the thread that freed them to
//! allocate again. The C library keeps seven of a size and merges others with their neighbours, which took two per cent of the host
//! instructions of a run.
//!
//! What a thread has too many of, and what is left when it ends, is for all threads: memory does not grow where one allocates what another frees.

mod fresh;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr::null_mut;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Sizes are rounded up to this; it is the alignment of all small blocks.
const STEP: usize = 16;
/// Bytes of the largest small block.
const LARGEST: usize = 1024;
const CLASSES: usize = LARGEST / STEP + 1;
/// Blocks of one size that a thread keeps.
const KEPT: usize = 512;
/// Bytes that the system is asked for at once, and that are cut into blocks at once.
const SLAB: usize = 1 << 16;
const CUT: usize = LARGEST;

/// Bytes that the C library takes beyond what is asked for.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const AHEAD: std::ffi::c_int = 8 << 20;

pub struct Heap;

/// Has the C library take the memory of large blocks many pages at a time. What a thread other than the first allocates makes a system call for each page
/// or two otherwise, some 350 in the smallest run. Pages that are not used take no memory.
pub fn prepare() {
    #[cfg(target_os = "linux")]
    fresh::prepare();
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: it sets a parameter of the allocator; where that is not possible, it changes nothing.
    unsafe {
        libc::mallopt(libc::M_TOP_PAD, AHEAD);
    }
}

/// A free block.
struct Block {
    next: *mut Block,
    /// Of the first block of a list: the next list.
    list: *mut Block,
}

/// Free blocks of one size.
struct List {
    first: Cell<*mut Block>,
    length: Cell<usize>,
}

thread_local! {
    static LISTS: [List; CLASSES] = const { [const { List { first: Cell::new(null_mut()), length: Cell::new(0) } }; CLASSES] };
    static END: End = const { End };
}

/// What no thread has.
struct Shared {
    lists: [*mut Block; CLASSES],
    slab: *mut u8,
    left: usize,
}

// SAFETY: blocks in it are used by no thread.
unsafe impl Send for Shared {}

static SHARED: Mutex<Shared> = Mutex::new(Shared { lists: [null_mut(); CLASSES], slab: null_mut(), left: 0 });

fn shared() -> MutexGuard<'static, Shared> {
    SHARED.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    /// A list, or as many blocks as are cut at once; null if the system has no memory left.
    fn take(&mut self, class: usize) -> *mut Block {
        let list = self.lists[class];
        if list.is_null() {
            return self.cut(class, CUT / (class * STEP));
        }
        // SAFETY: it is the first of a list, in which the next list was noted.
        self.lists[class] = unsafe { (*list).list };
        list
    }

    fn cut(&mut self, class: usize, blocks: usize) -> *mut Block {
        let size = class * STEP;
        if self.left < blocks * size {
            // SAFETY: the layout has a size and a legal alignment.
            self.slab = unsafe { System.alloc(Layout::from_size_align_unchecked(SLAB, STEP)) };
            self.left = if self.slab.is_null() { 0 } else { SLAB };
        }
        let mut first = null_mut();
        for _ in 0..blocks.min(self.left / size) {
            self.left -= size;
            // SAFETY: there was room for a block before the end of the slab.
            unsafe {
                let block = self.slab.add(self.left).cast::<Block>();
                (*block).next = first;
                first = block;
            }
        }
        first
    }

    fn put(&mut self, class: usize, list: &List) {
        let first = list.first.replace(null_mut());
        list.length.set(0);
        // SAFETY: the list is not empty, and its blocks are nobody's.
        unsafe { (*first).list = self.lists[class] };
        self.lists[class] = first;
    }
}

/// Gives away what a thread has when it ends.
struct End;

impl Drop for End {
    fn drop(&mut self) {
        let mut shared = shared();
        LISTS.with(|lists| {
            let full = lists.iter().enumerate().filter(|(_, list)| !list.first.get().is_null());
            full.for_each(|(class, list)| shared.put(class, list));
        });
    }
}

/// More blocks for a list without any.
#[cold]
#[inline(never)]
fn refill(class: usize, list: &List) -> *mut Block {
    // A thread that is past its end gives nothing away any more: it gets what it asks for.
    let first = match END.try_with(|_| ()) {
        Ok(()) => shared().take(class),
        Err(_) => shared().cut(class, 1),
    };
    let (mut block, mut length) = (first, 0);
    while !block.is_null() {
        length += 1;
        // SAFETY: blocks of a list are linked up to its end.
        block = unsafe { (*block).next };
    }
    list.length.set(length);
    first
}

/// Gives away all blocks of a list.
#[cold]
#[inline(never)]
fn give(class: usize, list: &List) {
    shared().put(class, list);
}

fn class(layout: Layout) -> Option<usize> {
    (layout.size() <= LARGEST && layout.align() <= STEP).then_some(layout.size().div_ceil(STEP))
}

// SAFETY: a small block has the size of its class, which is that of all layouts that it is handed out for; lists belong to one thread, or to nobody.
unsafe impl GlobalAlloc for Heap {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let Some(class) = class(layout) else {
            // SAFETY: as the caller promises.
            return unsafe { System.alloc(layout) };
        };
        LISTS.with(|lists| {
            let list = &lists[class];
            let mut block = list.first.get();
            if block.is_null() {
                block = refill(class, list);
                if block.is_null() {
                    return null_mut();
                }
            }
            // SAFETY: it is a free block.
            list.first.set(unsafe { (*block).next });
            list.length.update(|length| length - 1);
            block.cast()
        })
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let Some(class) = class(layout) else {
            // SAFETY: as the caller promises; the block is where it was allocated.
            return unsafe {
                if fresh::has(block) { fresh::free(block, layout) } else { System.dealloc(block, layout) }
            };
        };
        LISTS.with(|lists| {
            let list = &lists[class];
            if list.length.get() >= KEPT {
                give(class, list);
            }
            let block = block.cast::<Block>();
            // SAFETY: it is free now, and has room for this.
            unsafe { (*block).next = list.first.replace(block) };
            list.length.update(|length| length + 1);
        });
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if class(layout).is_none() {
            let block = fresh::alloc(layout);
            if !block.is_null() {
                return block;
            }
            // SAFETY: as the caller promises.
            return unsafe { System.alloc_zeroed(layout) };
        }
        // SAFETY: as the caller promises; the block has the size.
        unsafe {
            let block = self.alloc(layout);
            if !block.is_null() {
                block.write_bytes(0, layout.size());
            }
            block
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller promises that the size fits the alignment.
        let wanted = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        match (class(layout), class(wanted)) {
            // SAFETY: as the caller promises; both blocks are the system's.
            (None, None) if !fresh::has(block) => unsafe { System.realloc(block, layout, size) },
            (Some(had), Some(has)) if had == has => block,
            // SAFETY: both blocks have as many bytes as are copied.
            _ => unsafe {
                let grown = self.alloc(wanted);
                if !grown.is_null() {
                    grown.copy_from_nonoverlapping(block, layout.size().min(size));
                    self.dealloc(block, layout);
                }
                grown
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpwatt_base::SplitMix64;

    /// A block that is full of one byte.
    struct Held {
        at: *mut u8,
        layout: Layout,
        pattern: u8,
    }

    impl Held {
        fn bytes(&mut self) -> &mut [u8] {
            // SAFETY: the block is held, and all of it was written.
            unsafe { std::slice::from_raw_parts_mut(self.at, self.layout.size()) }
        }
    }

    #[test]
    fn blocks_keep_what_is_in_them_until_they_are_freed() {
        prepare();
        let mut rng = SplitMix64::new(5);
        let mut held: Vec<Held> = Vec::new();
        for step in 0..20_000u32 {
            let size = match rng.below(4) {
                0 => LARGEST + 1 + rng.below(2000) as usize,
                1 => 1 + rng.below(1000) as usize,
                _ => 1 + rng.below(100) as usize,
            };
            let layout = Layout::from_size_align(size, 1 << rng.below(6)).expect("legal");
            let pattern = step as u8;
            if held.len() < 200 && !rng.chance(3) {
                // SAFETY: the layout has a size.
                let at = unsafe {
                    if rng.chance(2) {
                        let at = Heap.alloc_zeroed(layout);
                        assert!(std::slice::from_raw_parts(at, size).iter().all(|byte| *byte == 0));
                        at
                    } else {
                        Heap.alloc(layout)
                    }
                };
                assert_eq!(at.addr() % layout.align(), 0);
                // SAFETY: it is as long as this.
                unsafe { at.write_bytes(pattern, size) };
                held.push(Held { at, layout, pattern });
            } else if !held.is_empty() {
                let mut old = held.swap_remove(rng.below(held.len() as u32) as usize);
                let pattern = old.pattern;
                assert!(old.bytes().iter().all(|byte| *byte == pattern));
                if rng.chance(2) {
                    // SAFETY: it was allocated with this layout.
                    unsafe { Heap.dealloc(old.at, old.layout) };
                    continue;
                }
                let new = Layout::from_size_align(size, old.layout.align()).expect("legal");
                // SAFETY: it was allocated with this layout, and the size is not 0.
                let at = unsafe { Heap.realloc(old.at, old.layout, size) };
                let same = old.layout.size().min(size);
                let mut grown =
                    Held { at, layout: Layout::from_size_align(same, 1).expect("legal"), pattern };
                assert!(grown.bytes().iter().all(|byte| *byte == pattern));
                // SAFETY: it is as long as this.
                unsafe { at.write_bytes(pattern, size) };
                held.push(Held { layout: new, ..grown });
            }
        }
        // SAFETY: they were allocated with these layouts.
        held.into_iter().for_each(|old| unsafe { Heap.dealloc(old.at, old.layout) });
    }

    #[test]
    fn what_a_thread_frees_is_for_others() {
        // Of a size that the other test does not have.
        let layout = Layout::from_size_align(LARGEST - 1, 8).expect("legal");
        let all = move || {
            // SAFETY: the layout has a size.
            let blocks: Vec<_> =
                (0..3 * KEPT).map(|_| unsafe { Heap.alloc(layout) }.expose_provenance()).collect();
            for block in &blocks {
                // SAFETY: it was allocated with this layout.
                unsafe { Heap.dealloc(std::ptr::with_exposed_provenance_mut(*block), layout) };
            }
            std::collections::BTreeSet::from_iter(blocks)
        };
        let first = std::thread::spawn(all).join().expect("no panic");
        let second = std::thread::spawn(all).join().expect("no panic");
        assert_eq!((first.len(), &first), (3 * KEPT, &second));
    }
}
