// SPDX-License-Identifier: MIT OR Apache-2.0
//! Device memory as the runtime and the executor use it.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use thiserror::Error;

use crate::allocator::{Allocator, unit};
use crate::bounds::{Bounds, Stray, Strays};
use crate::monitor::{Finding, Monitor, Observed, Origin, Witness, WordCounter};
use crate::region::Region;
use crate::texture::Images;
use crate::{ALIGNMENT, Allocation, BASE, DEFAULT_CAPACITY, DEFAULT_HEAP, Nearest};

#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum MemoryError {
    #[error("cannot reserve {capacity} bytes of address space for device memory: {reason}")]
    Reserve { capacity: u64, reason: String },
    #[error("out of device memory: {size} bytes requested, {in_use} of {capacity} bytes in use")]
    Full { size: u64, in_use: u64, capacity: u64 },
    #[error("{size} bytes at 0x{address:x} cannot be taken: the range is in use or outside of device memory")]
    Taken { address: u64, size: u64 },
    #[error("0x{address:x} is not the start of a live allocation")]
    NotAllocated { address: u64 },
    #[error("double free: `{name}` ({size} bytes at 0x{address:x}) was freed before")]
    Freed { address: u64, size: u64, name: String },
    #[error("{size} bytes at 0x{address:x} cannot be shared with the device: {reason}")]
    Foreign { address: u64, size: u64, reason: &'static str },
    #[error("{len} bytes at 0x{address:x} do not lie inside of one live allocation")]
    OutOfBounds { address: u64, len: u64 },
}

/// All memory of one device. Fresh memory reads as zero.
pub struct DeviceMemory {
    region: Region,
    allocator: Allocator,
    /// Highest address ever handed out: above it pages are still zero.
    touched: u64,
    heap_limit: u64,
    heap_used: u64,
    /// Changes whenever a range becomes valid or invalid.
    generation: u64,
    bounds: Bounds,
    strays: Strays,
    /// Checks of kernels' accesses, if any are on.
    monitor: Option<Mutex<Monitor>>,
    /// Sees all accesses, if there is one.
    witness: Option<Box<dyn Witness>>,
    /// Counts the words of all accesses, if there is one.
    counter: Option<Box<dyn WordCounter>>,
    /// What kernels took with `malloc`, and where: launch, place in the program, thread.
    heap: BTreeMap<u64, HeapOrigin>,
    /// Texture and surface objects.
    pub images: Images,
}

impl DeviceMemory {
    pub fn new(capacity: u64) -> Result<DeviceMemory, MemoryError> {
        let region = Region::reserve(capacity)
            .map_err(|error| MemoryError::Reserve { capacity, reason: error.to_string() })?;
        let allocator = Allocator::new(region.capacity());
        Ok(DeviceMemory {
            region,
            allocator,
            touched: BASE,
            heap_limit: DEFAULT_HEAP,
            heap_used: 0,
            generation: 0,
            bounds: Bounds::default(),
            strays: Strays::default(),
            monitor: None,
            witness: None,
            counter: None,
            heap: BTreeMap::new(),
            images: Images::default(),
        })
    }

    /// A device with the usual capacity.
    pub fn with_default_capacity() -> Result<DeviceMemory, MemoryError> {
        DeviceMemory::new(DEFAULT_CAPACITY)
    }

    pub fn capacity(&self) -> u64 {
        self.region.capacity()
    }

    /// Sum of the sizes of live allocations.
    pub fn in_use(&self) -> u64 {
        self.allocator.in_use()
    }

    /// Takes `size` zeroed bytes; `name` is what reports call them.
    pub fn alloc(&mut self, size: u64, name: &str) -> Result<u64, MemoryError> {
        let full = MemoryError::Full { size, in_use: self.in_use(), capacity: self.capacity() };
        let base = self.allocator.alloc(size, name).ok_or(full.clone())?;
        if self.ready(base, size).is_err() {
            self.allocator.free(base);
            return Err(full);
        }
        Ok(base)
    }

    /// Takes `size` zeroed bytes at an address that another run had them at.
    pub fn alloc_at(&mut self, base: u64, size: u64, name: &str) -> Result<(), MemoryError> {
        let taken = MemoryError::Taken { address: base, size };
        if !base.is_multiple_of(ALIGNMENT) {
            return Err(taken);
        }
        self.allocator.alloc_at(base, size, name).ok_or(taken.clone())?;
        if self.ready(base, size).is_err() {
            self.allocator.free(base);
            return Err(taken);
        }
        Ok(())
    }

    /// Makes a range that was just taken usable, and zero.
    fn ready(&mut self, base: u64, size: u64) -> std::io::Result<()> {
        // The rest of the last page can be read, and is as uninitialised as the requested bytes.
        let end = (base + size).next_multiple_of(unit(size)).min(BASE + self.capacity());
        self.region.commit(end - BASE)?;
        if base < self.touched {
            let stale = (end.min(self.touched) - base) as usize;
            // SAFETY: `[base, end)` is committed and was just taken.
            unsafe { self.region.host(base).write_bytes(0, stale) };
        }
        self.touched = self.touched.max(end);
        self.generation += 1;
        if let Some(monitor) = self.monitor_mut() {
            monitor.mark(base, end - base, false);
        }
        Ok(())
    }

    fn monitor_mut(&mut self) -> Option<&mut Monitor> {
        Some(self.monitor.as_mut()?.get_mut().unwrap_or_else(PoisonError::into_inner))
    }

    /// Switches checks of kernels' accesses on, before anything is allocated.
    pub fn set_monitor(&mut self, races: bool, uninit: bool) {
        self.monitor = (races || uninit).then(|| Mutex::new(Monitor::new(races, uninit)));
        self.generation += 1;
    }

    /// Has all accesses seen from now on.
    pub fn set_witness(&mut self, witness: Box<dyn Witness>) {
        self.witness = Some(witness);
        self.generation += 1;
    }

    /// Has the words of all accesses counted from now on.
    pub fn set_counter(&mut self, counter: Box<dyn WordCounter>) {
        self.counter = Some(counter);
    }

    /// What counts the words of accesses; functional engines report them to it.
    #[inline]
    pub fn counter(&self) -> Option<&dyn WordCounter> {
        self.counter.as_deref()
    }

    /// The words that loading or storing some bytes at an address counts as. Of an access to a part of a word it is the word that memory holds, with that
    /// part in it, as lines consist of words.
    pub fn words_of(&self, address: u64, data: &[u8], mut each: impl FnMut(u32)) {
        let (words, rest) = data.as_chunks::<4>();
        words.iter().for_each(|&word| each(u32::from_le_bytes(word)));
        if words.is_empty() && !rest.is_empty() {
            let first = (address % 4) as usize;
            let mut word: [u8; 4] = self.line(address - first as u64).unwrap_or_default();
            // An access is aligned to its size, so that it lies in one word.
            if let Some(part) = word.get_mut(first..first + rest.len()) {
                part.copy_from_slice(rest);
            }
            each(u32::from_le_bytes(word));
        }
    }

    /// The host has written bytes.
    pub fn notify_written(&self, address: u64, bytes: u64) {
        if let Some(witness) = &self.witness {
            witness.written(self, address, bytes);
        }
    }

    /// Whether accesses of kernels have to be reported to [`DeviceMemory::observe`].
    pub fn is_monitored(&self) -> bool {
        self.monitor.is_some() || self.witness.is_some()
    }

    pub fn observe(&self, seen: &Observed) {
        if let Some(witness) = &self.witness {
            witness.access(self, seen);
        }
        if let Some(monitor) = &self.monitor {
            monitor.lock().unwrap_or_else(PoisonError::into_inner).observe(seen);
        }
    }

    /// Takes bytes for written whose writer does not show: the host writes them in place, or they have an initial value.
    pub fn mark_written(&mut self, address: u64, len: u64) {
        if let Some(monitor) = self.monitor_mut() {
            monitor.mark(address, len, true);
        }
    }

    /// What the checks found in a launch that has ended.
    pub fn end_launch(&mut self, grid: u64) -> Vec<Finding> {
        self.monitor_mut().map(|monitor| monitor.end(grid)).unwrap_or_default()
    }

    pub fn free(&mut self, address: u64) -> Result<(), MemoryError> {
        if self.allocator.free(address).is_none() {
            return Err(self.not_allocated(address));
        }
        self.generation += 1;
        Ok(())
    }

    /// Why an address cannot be freed.
    fn not_allocated(&self, address: u64) -> MemoryError {
        match self.allocator.find_freed(address).filter(|old| old.base == address) {
            Some(old) => MemoryError::Freed { address, size: old.size, name: old.name.clone() },
            None => MemoryError::NotAllocated { address },
        }
    }

    /// Whether guest addresses are host addresses: so it is for the first device of a process.
    pub fn identity(&self) -> bool {
        self.region.host(BASE).addr() as u64 == BASE
    }

    /// Lets the device access host memory outside of its own region, at its host address. Whoever owns that memory keeps it until
    /// [`DeviceMemory::abandon`].
    pub fn adopt(&mut self, address: u64, size: u64, name: &str) -> Result<(), MemoryError> {
        let refused = |reason| Err(MemoryError::Foreign { address, size, reason });
        if !self.identity() {
            return refused("this device's addresses are not those of the host");
        }
        if address < BASE {
            return refused("addresses below 2^40 stand for other kinds of memory on the device");
        }
        if self.allocator.adopt(address, size, name).is_none() {
            return refused("the range is empty, or shared already, or in device memory");
        }
        self.mark_written(address, size);
        self.generation += 1;
        Ok(())
    }

    pub fn abandon(&mut self, address: u64) -> Result<(), MemoryError> {
        self.allocator.abandon(address).ok_or(MemoryError::NotAllocated { address })?;
        self.generation += 1;
        Ok(())
    }

    /// Limit of what kernels may take with `malloc`.
    pub fn set_heap_limit(&mut self, bytes: u64) {
        self.heap_limit = bytes;
    }

    pub fn heap_limit(&self) -> u64 {
        self.heap_limit
    }

    /// `malloc` in a kernel: 0 when the heap is exhausted.
    pub fn heap_alloc(&mut self, size: u64, origin: HeapOrigin) -> u64 {
        if size == 0 || size > self.heap_limit - self.heap_used.min(self.heap_limit) {
            return 0;
        }
        match self.alloc(size, HEAP_NAME) {
            Ok(base) => {
                self.heap_used += size;
                self.heap.insert(base, origin);
                base
            }
            Err(_) => 0,
        }
    }

    /// `free` in a kernel. A null pointer is fine; anything else must come from [`DeviceMemory::heap_alloc`].
    pub fn heap_free(&mut self, address: u64) -> Result<(), MemoryError> {
        if address == 0 {
            return Ok(());
        }
        match self.allocator.at(address) {
            Some(found) if found.name == HEAP_NAME => {
                self.heap_used -= found.size;
                self.heap.remove(&address);
                self.free(address)
            }
            Some(_) => Err(MemoryError::NotAllocated { address }),
            None => Err(self.not_allocated(address)),
        }
    }

    /// What kernels took with `malloc` and have not freed, with its size, in address order.
    pub fn heap_blocks(&self) -> impl Iterator<Item = (HeapOrigin, u64)> {
        self.heap.iter().map(|(&base, &origin)| (origin, self.find(base).map_or(0, |found| found.size)))
    }

    pub fn find(&self, address: u64) -> Option<&Allocation> {
        self.allocator.find(address)
    }

    /// How strictly loads of kernels are checked.
    pub fn set_bounds(&mut self, bounds: Bounds) {
        self.bounds = bounds;
        self.generation += 1;
    }

    pub fn bounds(&self) -> Bounds {
        self.bounds
    }

    /// The allocation that a load of a kernel from `address` is from, and how many bytes from its start on loads may touch.
    pub fn find_readable(&self, address: u64) -> Option<(&Allocation, u64)> {
        let found = self.allocator.find_readable(address, self.bounds)?;
        Some((found, self.bounds.readable_end(found) - found.base))
    }

    /// Where the host finds bytes that no allocation holds, if there is memory at all.
    pub fn behind(&self, address: u64, len: u64) -> Option<*mut u8> {
        let committed = BASE..=self.region.committed_end();
        let end = address.checked_add(len)?;
        (committed.contains(&address) && committed.contains(&end)).then(|| self.region.host(address))
    }

    /// Records a load beyond the bounds that [`Bounds::Warn`] permitted.
    pub fn note_stray(&self, stray: Stray) {
        self.strays.note(stray);
    }

    /// The loads that were noted since the last time, by launch and instruction.
    pub fn take_strays(&mut self) -> Vec<Stray> {
        self.strays.take()
    }

    /// The freed allocation that once held `address`, if it is still remembered.
    pub fn find_freed(&self, address: u64) -> Option<&Allocation> {
        self.allocator.find_freed(address)
    }

    pub fn nearest(&self, address: u64) -> Option<Nearest> {
        self.allocator.nearest(address)
    }

    /// Live allocations in address order.
    pub fn allocations(&self) -> impl Iterator<Item = &Allocation> {
        self.allocator.iter()
    }

    /// Changes whenever an allocation is made or freed: cached ranges of an older generation are void.
    #[inline(always)]
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Host address of a guest address. It may be dereferenced only inside of a live allocation.
    #[inline(always)]
    pub fn host(&self, address: u64) -> *mut u8 {
        self.region.host(address)
    }

    /// Where the host finds `len` bytes from `address` on, when they lie inside of one live allocation.
    #[inline]
    pub fn span(&self, address: u64, len: u64) -> Result<*mut u8, MemoryError> {
        match self.allocator.find(address) {
            Some(found) if len <= found.end() - address => Ok(self.region.host(address)),
            _ if len == 0 => Ok(self.region.host(BASE)),
            _ => Err(MemoryError::OutOfBounds { address, len }),
        }
    }

    /// The `N` bytes from a multiple of `N` on, as far as they lie in a live allocation; the others are zero. `None` if none does.
    pub fn line<const N: usize>(&self, address: u64) -> Option<[u8; N]> {
        let end = address + N as u64;
        // Allocations start at multiples of more than a line, but for memory of the host that the device shares.
        let found = self.allocator.find(address).or_else(|| self.allocator.find(end - 1))?;
        let (from, to) = (address.max(found.base), end.min(found.end()));
        let mut line = [0; N];
        line[(from - address) as usize..(to - address) as usize]
            .copy_from_slice(self.bytes(from, to - from).ok()?);
        Some(line)
    }

    #[inline]
    pub fn bytes(&self, address: u64, len: u64) -> Result<&[u8], MemoryError> {
        let host = self.span(address, len)?;
        // SAFETY: `span` proved the range live, and the borrow of `self` keeps it so.
        Ok(unsafe { std::slice::from_raw_parts(host, len as usize) })
    }

    pub fn bytes_mut(&mut self, address: u64, len: u64) -> Result<&mut [u8], MemoryError> {
        let host = self.span(address, len)?;
        self.mark_written(address, len);
        // SAFETY: as in `bytes`; the exclusive borrow makes it the only view.
        Ok(unsafe { std::slice::from_raw_parts_mut(host, len as usize) })
    }

    pub fn read(&self, address: u64, out: &mut [u8]) -> Result<(), MemoryError> {
        out.copy_from_slice(self.bytes(address, out.len() as u64)?);
        Ok(())
    }

    pub fn write(&mut self, address: u64, data: &[u8]) -> Result<(), MemoryError> {
        self.bytes_mut(address, data.len() as u64)?.copy_from_slice(data);
        Ok(())
    }

    pub fn fill(&mut self, address: u64, value: u8, len: u64) -> Result<(), MemoryError> {
        self.bytes_mut(address, len)?.fill(value);
        Ok(())
    }

    /// Copies between two places in device memory, which may overlap.
    pub fn copy(&mut self, to: u64, from: u64, len: u64) -> Result<(), MemoryError> {
        let source = self.span(from, len)?;
        let target = self.span(to, len)?;
        self.mark_written(to, len);
        // SAFETY: both ranges are live; `copy` allows overlap.
        unsafe { std::ptr::copy(source, target, len as usize) };
        Ok(())
    }
}

const HEAP_NAME: &str = "device malloc";

/// Who took a block of the heap.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HeapOrigin {
    /// Number of the launch.
    pub grid: u64,
    pub origin: Origin,
}
