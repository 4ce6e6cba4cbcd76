// SPDX-License-Identifier: MIT OR Apache-2.0
//! A reserved stretch of host address space that becomes memory piece by piece.
//!
//! The first device of a process gets the host addresses that equal its guest addresses, which makes dumps easy to read;
//! later ones land wherever there is room, and only the offset between the two differs.

use std::io;

use crate::BASE;

/// Committed in steps of this size: few system calls, little memory touched early.
const STEP: u64 = 2 << 20;

pub(crate) struct Region {
    host: *mut u8,
    capacity: u64,
    committed: u64,
}

// SAFETY: the region is plain memory owned by this value; access goes through `&self`/`&mut self` of its owner.
unsafe impl Send for Region {}
// SAFETY: `host` only computes an address; the code that dereferences it guarantees that accesses do not conflict.
unsafe impl Sync for Region {}

impl Region {
    pub(crate) fn reserve(capacity: u64) -> io::Result<Region> {
        let capacity = capacity.next_multiple_of(STEP).max(STEP);
        let length = usize::try_from(capacity).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let map = |at: usize, flags: i32| {
            // SAFETY: an anonymous mapping that replaces nothing (MAP_FIXED_NOREPLACE, or no fixed address at all).
            unsafe { libc::mmap(at as *mut libc::c_void, length, libc::PROT_NONE, flags, -1, 0) }
        };
        let mut host = map(BASE as usize, flags | libc::MAP_FIXED_NOREPLACE);
        if host == libc::MAP_FAILED {
            host = map(0, flags);
        }
        if host == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Region { host: host.cast(), capacity, committed: 0 })
    }

    pub(crate) fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Makes the first `bytes` bytes readable and writable; what was never written reads as zero.
    pub(crate) fn commit(&mut self, bytes: u64) -> io::Result<()> {
        let wanted = bytes.next_multiple_of(STEP).min(self.capacity);
        if wanted <= self.committed {
            return Ok(());
        }
        let length = (wanted - self.committed) as usize;
        // SAFETY: the range lies inside of our own mapping.
        let status = unsafe {
            let first = self.host.add(self.committed as usize).cast();
            // Kernels walk through memory with long strides, so that small pages cost the host a walk of its page tables with most accesses. It is
            // no more than advice: a host without large pages goes on with small ones.
            #[cfg(target_os = "linux")]
            libc::madvise(first, length, libc::MADV_HUGEPAGE);
            libc::mprotect(first, length, libc::PROT_READ | libc::PROT_WRITE)
        };
        if status != 0 {
            return Err(io::Error::last_os_error());
        }
        self.committed = wanted;
        Ok(())
    }

    /// Guest address behind the last byte that may be dereferenced.
    pub(crate) fn committed_end(&self) -> u64 {
        BASE + self.committed
    }

    /// Host address of guest address `address`; only committed parts may be dereferenced.
    #[inline(always)]
    pub(crate) fn host(&self, address: u64) -> *mut u8 {
        self.host.wrapping_add(address.wrapping_sub(BASE) as usize)
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: unmaps exactly what `reserve` mapped.
        unsafe { libc::munmap(self.host.cast(), self.capacity as usize) };
    }
}
