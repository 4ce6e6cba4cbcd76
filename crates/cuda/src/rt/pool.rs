// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory in stream order, and the pools that it comes from.

use std::ffi::c_void;

use crate::abi::runtime::{MemAccess, MemLocation, MemPoolProps, StreamHandle};
use crate::core::memory::Pool;
use crate::core::{Code, Core, Result};
use crate::rt::api::{get, list, put, runtime};
use crate::rt::{check_device, with};

unsafe fn alloc(
    place: *mut u64,
    bytes: usize,
    pool: Option<u64>,
    stream: StreamHandle,
    per_thread: bool,
) -> Result<()> {
    if place.is_null() {
        return Err(Code::INVALID_VALUE);
    }
    let at = with(|core| {
        let stream = core.stream(stream, per_thread)?;
        if let Some(pool) = pool {
            core.pools.table.get(pool)?;
        }
        if bytes == 0 { Ok(0) } else { core.take_memory(stream, bytes as u64, pool) }
    })?;
    // SAFETY: not null, and the program's variable.
    unsafe { put(place, at) }
}

/// The pool of a location: of the device's own memory only.
fn of_location(core: &Core, location: MemLocation, kind: i32, chosen: u64) -> Result<u64> {
    // Pinned 1 is ordinary device memory; managed 2 has no pools here.
    match (location.kind, kind) {
        (1, 1) if core.pools.table.contains(chosen) => check_device(location.id).map(|()| chosen),
        (2..=4, 1) | (_, 2) => Err(Code::NOT_SUPPORTED),
        _ => Err(Code::INVALID_VALUE),
    }
}

/// Attributes: reuse 1 to 3, release threshold 4, reserved now 5 and at most 6, used now 7 and at most 8.
unsafe fn put_attribute(pool: &Pool, attribute: i32, place: *mut c_void) -> Result<()> {
    // SAFETY: the program's variable, of the size that the attribute has.
    unsafe {
        match attribute {
            1..=3 => put(place.cast(), pool.reuse[attribute as usize - 1]),
            4 => put(place.cast(), pool.release_threshold),
            5 | 7 => put(place.cast(), pool.used),
            6 | 8 => put(place.cast(), pool.used_high),
            _ => Err(Code::INVALID_VALUE),
        }
    }
}

unsafe fn set_attribute(pool: &mut Pool, attribute: i32, value: *const c_void) -> Result<()> {
    // SAFETY: the program's value, of the size that the attribute has.
    unsafe {
        match attribute {
            1..=3 => pool.reuse[attribute as usize - 1] = get(value.cast())?,
            4 => pool.release_threshold = get(value.cast())?,
            // High marks can only be set back.
            6 | 8 if get::<u64>(value.cast())? == 0 => pool.used_high = pool.used,
            _ => return Err(Code::INVALID_VALUE),
        }
    }
    Ok(())
}

runtime! {
    all fn cudaMallocAsync | cudaMallocAsync_ptsz [per_thread] (place: *mut u64, bytes: usize, stream: StreamHandle) unsafe {
        alloc(place, bytes, None, stream, per_thread)
    }

    all fn cudaMallocFromPoolAsync | cudaMallocFromPoolAsync_ptsz [per_thread] (
        place: *mut u64, bytes: usize, pool: u64, stream: StreamHandle,
    ) unsafe {
        alloc(place, bytes, Some(pool), stream, per_thread)
    }

    all fn cudaFreeAsync | cudaFreeAsync_ptsz [per_thread] (at: u64, stream: StreamHandle) {
        with(|core| {
            let stream = core.stream(stream, per_thread)?;
            if at == 0 { Ok(()) } else { core.give_memory(stream, at) }
        })
    }

    all fn cudaDeviceGetDefaultMemPool(place: *mut u64, device: i32) unsafe {
        check_device(device)?;
        put(place, with(|core| Ok(core.pools.default))?)
    }

    all fn cudaDeviceGetMemPool(place: *mut u64, device: i32) unsafe {
        check_device(device)?;
        put(place, with(|core| Ok(core.pools.current))?)
    }

    all fn cudaDeviceSetMemPool(device: i32, pool: u64) {
        check_device(device)?;
        with(|core| {
            core.pools.table.get(pool)?;
            core.pools.current = pool;
            Ok(())
        })
    }

    only13 fn cudaMemGetDefaultMemPool(place: *mut u64, location: *const MemLocation, kind: i32) unsafe {
        let location = get(location)?;
        put(place, with(|core| of_location(core, location, kind, core.pools.default))?)
    }

    only13 fn cudaMemGetMemPool(place: *mut u64, location: *const MemLocation, kind: i32) unsafe {
        let location = get(location)?;
        put(place, with(|core| of_location(core, location, kind, core.pools.current))?)
    }

    only13 fn cudaMemSetMemPool(location: *const MemLocation, kind: i32, pool: u64) unsafe {
        let location = get(location)?;
        with(|core| {
            core.pools.current = of_location(core, location, kind, pool)?;
            Ok(())
        })
    }

    all fn cudaMemPoolCreate(place: *mut u64, props: *const MemPoolProps) unsafe {
        let props = get(props)?;
        if place.is_null() || props.alloc_type != 1 || props.location.kind != 1 {
            return Err(Code::INVALID_VALUE);
        }
        check_device(props.location.id)?;
        if props.handle_types != 0 {
            // Pools of several processes.
            return Err(Code::NOT_SUPPORTED);
        }
        let pool = Pool { reuse: [1; 3], ..Pool::default() };
        put(place, with(|core| Ok(core.pools.table.insert(pool)))?)
    }

    all fn cudaMemPoolDestroy(pool: u64) {
        with(|core| {
            if pool == core.pools.default {
                return Err(Code::INVALID_VALUE);
            }
            core.pools.table.remove(pool)?;
            if core.pools.current == pool {
                core.pools.current = core.pools.default;
            }
            Ok(())
        })
    }

    all fn cudaMemPoolTrimTo(pool: u64, _keep: usize) {
        with(|core| core.pools.table.get(pool).map(|_| ()))
    }

    all fn cudaMemPoolGetAttribute(pool: u64, attribute: i32, place: *mut c_void) unsafe {
        let pool = with(|core| Ok(core.pools.table.get(pool)?.clone()))?;
        put_attribute(&pool, attribute, place)
    }

    all fn cudaMemPoolSetAttribute(pool: u64, attribute: i32, value: *const c_void) unsafe {
        with(|core| set_attribute(core.pools.table.get_mut(pool)?, attribute, value))
    }

    all fn cudaMemPoolSetAccess(pool: u64, descs: *const MemAccess, count: usize) unsafe {
        let descs = list(descs, count)?;
        with(|core| core.pools.table.get(pool).map(|_| ()))?;
        descs.iter().try_for_each(|desc| match (desc.location.kind, desc.flags) {
            // The device that has the memory reads and writes it.
            (1, 3) => check_device(desc.location.id),
            _ => Err(Code::INVALID_VALUE),
        })
    }

    all fn cudaMemPoolGetAccess(place: *mut i32, pool: u64, location: *const MemLocation) unsafe {
        let location = get(location)?;
        with(|core| core.pools.table.get(pool).map(|_| ()))?;
        match location.kind {
            1 => check_device(location.id)?,
            2..=4 => return put(place, 0),
            _ => return Err(Code::INVALID_VALUE),
        }
        put(place, 3)
    }

    // Graphs take their memory from the pools.
    all fn cudaDeviceGraphMemTrim(device: i32) {
        check_device(device)?;
        with(|_| Ok(()))
    }

    all fn cudaDeviceGetGraphMemAttribute(device: i32, attribute: i32, place: *mut u64) unsafe {
        check_device(device)?;
        if !(0..=3).contains(&attribute) {
            return Err(Code::INVALID_VALUE);
        }
        let (used, high) = with(|core| {
            let pool = core.pools.table.get(core.pools.current)?;
            Ok((pool.used, pool.used_high))
        })?;
        put(place, if attribute % 2 == 0 { used } else { high })
    }

    all fn cudaDeviceSetGraphMemAttribute(device: i32, attribute: i32, value: *const u64) unsafe {
        check_device(device)?;
        let value = get(value)?;
        if !matches!(attribute, 1 | 3) || value != 0 {
            return Err(Code::INVALID_VALUE);
        }
        with(|core| {
            let current = core.pools.current;
            let pool = core.pools.table.get_mut(current)?;
            pool.used_high = pool.used;
            Ok(())
        })
    }
}
