// SPDX-License-Identifier: MIT OR Apache-2.0
//! Managed memory. It is always accessible from both sides, so advice and prefetches are checked and have no effect.

use std::ffi::c_void;

use crate::abi::runtime::{MemLocation, StreamHandle};
use crate::core::memory::{MemoryKind, Pointed};
use crate::core::{Code, Core, Result};
use crate::rt::api::{list, put, runtime};
use crate::rt::with;

const HOST: i32 = -1;
const INVALID: i32 = -2;

/// Whether a range is managed memory.
fn check_range(core: &Core, at: u64, bytes: usize) -> Result<()> {
    let end = |base: u64, size: u64| (bytes as u64) <= size - (at - base);
    let inside = match core.pointed(at) {
        Pointed::Block(block) if block.kind == MemoryKind::Managed => end(block.base, block.bytes),
        Pointed::Variable { base, bytes } => end(base, bytes),
        _ => false,
    };
    if inside && bytes > 0 { Ok(()) } else { Err(Code::INVALID_VALUE) }
}

/// Locations: none 0, device 1, host 2, host node 3, this thread's node 4.
fn check_location(location: MemLocation) -> Result<()> {
    match (location.kind, location.id) {
        (1, 0) | (2..=4, _) => Ok(()),
        (1, _) => Err(Code::INVALID_DEVICE),
        _ => Err(Code::INVALID_VALUE),
    }
}

/// Devices by number, and the host as -1.
fn location_of(device: i32) -> MemLocation {
    if device == HOST { MemLocation { kind: 2, id: 0 } } else { MemLocation { kind: 1, id: device } }
}

/// Advice 1 to 6; what unsets something, and 1 and 2, do not care for the location.
fn advise(at: u64, bytes: usize, advice: i32, location: MemLocation) -> Result<()> {
    match advice {
        1 | 2 | 4 => (),
        3 | 5 | 6 => check_location(location)?,
        _ => return Err(Code::INVALID_VALUE),
    }
    with(|core| check_range(core, at, bytes))
}

fn prefetch(
    at: u64,
    bytes: usize,
    location: MemLocation,
    flags: u32,
    stream: StreamHandle,
    per_thread: bool,
) -> Result<()> {
    if flags != 0 {
        return Err(Code::INVALID_VALUE);
    }
    check_location(location)?;
    with(|core| {
        core.stream(stream, per_thread)?;
        check_range(core, at, bytes)
    })
}

/// What is said of a range: read-mostly 1, preferred location 2, accessed by 3, last prefetch 4; since 12 also the types and
/// numbers of locations, 5 to 8.
unsafe fn put_attribute(data: *mut c_void, size: usize, attribute: i32) -> Result<()> {
    let value = match attribute {
        1 => 0,
        2 | 4 => INVALID,
        3 => INVALID,
        5 | 7 => 0,
        6 | 8 => INVALID,
        _ => return Err(Code::INVALID_VALUE),
    };
    let numbers = if attribute == 3 { size / 4 } else { 1 };
    if data.is_null() || size < 4 || !size.is_multiple_of(4) || (attribute != 3 && size != 4) {
        return Err(Code::INVALID_VALUE);
    }
    for index in 0..numbers {
        // SAFETY: within the size that the program gave.
        unsafe { put(data.cast::<i32>().wrapping_add(index), value)? };
    }
    Ok(())
}

/// Ranges of a batch, with the index of each one's location.
unsafe fn check_batch(
    at: *const u64,
    bytes: *const usize,
    count: usize,
    locations: Option<(*const MemLocation, usize)>,
    flags: u64,
    stream: StreamHandle,
) -> Result<()> {
    if flags != 0 || count == 0 {
        return Err(Code::INVALID_VALUE);
    }
    // SAFETY: lists as long as the program says.
    let (at, bytes) = unsafe { (list(at, count)?, list(bytes, count)?) };
    if let Some((locations, count)) = locations {
        if count == 0 {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: as above.
        unsafe { list(locations, count) }?.into_iter().try_for_each(check_location)?;
    }
    with(|core| {
        core.stream(stream, false)?;
        at.iter().zip(&bytes).try_for_each(|(&at, &bytes)| check_range(core, at, bytes))
    })
}

runtime! {
    all fn cudaMallocManaged(place: *mut u64, bytes: usize, flags: u32) unsafe {
        // Attached to all streams 1, or to the host 2.
        if place.is_null() || bytes == 0 || !matches!(flags, 1 | 2) {
            return Err(Code::INVALID_VALUE);
        }
        put(place, with(|core| core.alloc(bytes as u64, MemoryKind::Managed))?)
    }

    before13 fn cudaMemAdvise_11 as cudaMemAdvise(at: u64, bytes: usize, advice: i32, device: i32) {
        advise(at, bytes, advice, location_of(device))
    }

    only12 fn cudaMemAdvise_v2(at: u64, bytes: usize, advice: i32, location: MemLocation) {
        advise(at, bytes, advice, location)
    }

    only13 fn cudaMemAdvise_13 as cudaMemAdvise(at: u64, bytes: usize, advice: i32, location: MemLocation) {
        advise(at, bytes, advice, location)
    }

    before13 fn cudaMemPrefetchAsync_11 as cudaMemPrefetchAsync
        | cudaMemPrefetchAsync_11_ptsz as cudaMemPrefetchAsync_ptsz [per_thread] (
        at: u64, bytes: usize, device: i32, stream: StreamHandle,
    ) {
        prefetch(at, bytes, location_of(device), 0, stream, per_thread)
    }

    only12 fn cudaMemPrefetchAsync_v2 | cudaMemPrefetchAsync_v2_ptsz [per_thread] (
        at: u64, bytes: usize, location: MemLocation, flags: u32, stream: StreamHandle,
    ) {
        prefetch(at, bytes, location, flags, stream, per_thread)
    }

    only13 fn cudaMemPrefetchAsync_13 as cudaMemPrefetchAsync
        | cudaMemPrefetchAsync_13_ptsz as cudaMemPrefetchAsync_ptsz [per_thread] (
        at: u64, bytes: usize, location: MemLocation, flags: u32, stream: StreamHandle,
    ) {
        prefetch(at, bytes, location, flags, stream, per_thread)
    }

    only13 fn cudaMemPrefetchBatchAsync | cudaMemPrefetchBatchAsync_ptsz [_per_thread] (
        at: *const u64, bytes: *const usize, count: usize, locations: *const MemLocation, _indices: *const usize,
        location_count: usize, flags: u64, stream: StreamHandle,
    ) unsafe {
        check_batch(at, bytes, count, Some((locations, location_count)), flags, stream)
    }

    // What is discarded may hold anything, so it may as well stay.
    only13 fn cudaMemDiscardBatchAsync | cudaMemDiscardBatchAsync_ptsz [_per_thread] (
        at: *const u64, bytes: *const usize, count: usize, flags: u64, stream: StreamHandle,
    ) unsafe {
        check_batch(at, bytes, count, None, flags, stream)
    }

    only13 fn cudaMemDiscardAndPrefetchBatchAsync | cudaMemDiscardAndPrefetchBatchAsync_ptsz [_per_thread] (
        at: *const u64, bytes: *const usize, count: usize, locations: *const MemLocation, _indices: *const usize,
        location_count: usize, flags: u64, stream: StreamHandle,
    ) unsafe {
        check_batch(at, bytes, count, Some((locations, location_count)), flags, stream)
    }

    all fn cudaMemRangeGetAttribute(data: *mut c_void, size: usize, attribute: i32, at: u64, bytes: usize) unsafe {
        with(|core| check_range(core, at, bytes))?;
        put_attribute(data, size, attribute)
    }

    all fn cudaMemRangeGetAttributes(
        data: *const *mut c_void, sizes: *const usize, attributes: *const i32, count: usize, at: u64, bytes: usize,
    ) unsafe {
        with(|core| check_range(core, at, bytes))?;
        if count == 0 {
            return Err(Code::INVALID_VALUE);
        }
        let (data, sizes, attributes) = (list(data, count)?, list(sizes, count)?, list(attributes, count)?);
        (0..count).try_for_each(|index| put_attribute(data[index], sizes[index], attributes[index]))
    }
}
