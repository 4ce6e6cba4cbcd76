// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory pools, and memory that is taken and given back in stream order.

use crate::abi::driver::{AccessDesc, MemLocation, PoolProps};
use crate::core::memory::Pool;
use crate::core::{Code, Core, Result};
use crate::driver::entry::check_initialized;
use crate::driver::{In, Out, api, device, with_stream};

/// Memory that is pinned, or managed.
const PINNED: u32 = 1;

fn default_pool(pool: Out<u64>, device: i32) -> Result<()> {
    check_initialized()?;
    pool.check()?;
    device::check(device)?;
    pool.put(crate::core::with(|core| Ok(core.pools.default))?)
}

fn current_pool(pool: Out<u64>, device: i32) -> Result<()> {
    check_initialized()?;
    pool.check()?;
    device::check(device)?;
    pool.put(crate::core::with(|core| Ok(core.pools.current))?)
}

fn set_pool(device: i32, pool: u64) -> Result<()> {
    check_initialized()?;
    device::check(device)?;
    crate::core::with(|core| {
        core.pools.table.get(pool)?;
        core.pools.current = pool;
        Ok(())
    })
}

/// The device that a place names; there are no pools of the host's memory.
fn of_location(location: In<MemLocation>, kind: u32) -> Result<i32> {
    let location = location.get()?;
    match (location.kind, kind) {
        (1, PINNED) => Ok(location.id),
        (1..=6, 1 | 2) => Err(Code::NOT_SUPPORTED),
        _ => Err(Code::INVALID_VALUE),
    }
}

/// Memory from a pool; in a captured stream, a node of the graph.
fn take(at: Out<u64>, bytes: usize, pool: Option<u64>, stream: u64) -> Result<()> {
    at.check()?;
    at.put(with_stream(stream, |core| {
        let stream = core.stream(stream, false)?;
        if bytes == 0 {
            // As with `cudaMalloc`, nothing is a null pointer.
            pool.map_or(Ok(()), |pool| core.pools.table.get(pool).map(drop))?;
            return Ok(0);
        }
        core.take_memory(stream, bytes as u64, pool)
    })?)
}

fn get(core: &Core, pool: u64, number: u32, value: u64) -> Result<()> {
    let of = core.pools.table.get(pool)?;
    let (flag, word) = (Out::<i32>::at(value), Out::<u64>::at(value));
    match number {
        1..=3 => flag.put(of.reuse[number as usize - 1]),
        4 => word.put(of.release_threshold),
        5 | 7 => word.put(of.used),
        6 | 8 => word.put(of.used_high),
        9 => flag.put(PINNED as i32),
        10 | 11 | 14 | 15 => flag.put(0),
        12 => flag.put(1),
        13 => word.put(0),
        _ => Err(Code::INVALID_VALUE),
    }
}

fn set(core: &mut Core, pool: u64, number: u32, value: u64) -> Result<()> {
    let of = core.pools.table.get_mut(pool)?;
    match number {
        1..=3 => of.reuse[number as usize - 1] = i32::from(In::<i32>::at(value).get()? != 0),
        4 => of.release_threshold = In::<u64>::at(value).get()?,
        // High-water marks can be set to 0, which starts them anew.
        6 | 8 if In::<u64>::at(value).get()? == 0 => of.used_high = of.used,
        _ => return Err(Code::INVALID_VALUE),
    }
    Ok(())
}

api! {
    fn cuDeviceGetDefaultMemPool(pool: Out<u64>, device: i32) {
        default_pool(pool, device)
    }

    fn cuDeviceGetMemPool(pool: Out<u64>, device: i32) {
        current_pool(pool, device)
    }

    fn cuDeviceSetMemPool(device: i32, pool: u64) {
        set_pool(device, pool)
    }

    fn cuMemGetDefaultMemPool(pool: Out<u64>, location: In<MemLocation>, kind: u32) {
        default_pool(pool, of_location(location, kind)?)
    }

    fn cuMemGetMemPool(pool: Out<u64>, location: In<MemLocation>, kind: u32) {
        current_pool(pool, of_location(location, kind)?)
    }

    fn cuMemSetMemPool(location: In<MemLocation>, kind: u32, pool: u64) {
        set_pool(of_location(location, kind)?, pool)
    }

    fn cuMemPoolCreate(pool: Out<u64>, props: In<PoolProps>) {
        check_initialized()?;
        pool.check()?;
        let props = props.get()?;
        let location = props.location;
        device::check(of_location(In::from(&location), props.alloc_type)?)?;
        if props.handle_types != 0 {
            // Pools cannot be shared with other processes.
            return Err(Code::NOT_SUPPORTED);
        }
        let made = Pool { reuse: [1; 3], ..Pool::default() };
        pool.put(crate::core::with(|core| Ok(core.pools.table.insert(made)))?)
    }

    fn cuMemPoolDestroy(pool: u64) {
        check_initialized()?;
        crate::core::with(|core| {
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

    fn cuMemPoolTrimTo(pool: u64, _keep: usize) {
        check_initialized()?;
        // Memory that is given back is free at once.
        crate::core::with(|core| core.pools.table.get(pool).map(|_| ()))
    }

    fn cuMemPoolGetAttribute(pool: u64, number: u32, value: u64) {
        check_initialized()?;
        crate::core::with(|core| get(core, pool, number, value))
    }

    fn cuMemPoolSetAttribute(pool: u64, number: u32, value: u64) {
        check_initialized()?;
        crate::core::with(|core| set(core, pool, number, value))
    }

    fn cuMemPoolSetAccess(pool: u64, list: In<AccessDesc>, count: usize) {
        check_initialized()?;
        let list = list.list(count)?;
        crate::core::with(|core| core.pools.table.get(pool).map(|_| ()))?;
        // The device's own access cannot be taken away, and there is no other device.
        list.iter().try_for_each(|access| match (access.location.kind, access.location.id, access.flags) {
            (1, 0, 3) => Ok(()),
            (1, 0, _) => Err(Code::INVALID_VALUE),
            _ => Err(Code::INVALID_DEVICE),
        })
    }

    fn cuMemPoolGetAccess(flags: Out<u32>, pool: u64, location: In<MemLocation>) {
        check_initialized()?;
        flags.check()?;
        let location = location.get()?;
        crate::core::with(|core| core.pools.table.get(pool).map(|_| ()))?;
        match (location.kind, location.id) {
            (1, 0) => flags.put(3),
            (1, _) => Err(Code::INVALID_DEVICE),
            _ => flags.put(0),
        }
    }

    fn cuMemAllocAsync [cuMemAllocAsync_ptsz: stream] (at: Out<u64>, bytes: usize, stream: u64) {
        take(at, bytes, None, stream)
    }

    fn cuMemAllocFromPoolAsync [cuMemAllocFromPoolAsync_ptsz: stream] (
        at: Out<u64>,
        bytes: usize,
        pool: u64,
        stream: u64,
    ) {
        take(at, bytes, Some(pool), stream)
    }

    fn cuMemFreeAsync [cuMemFreeAsync_ptsz: stream] (at: u64, stream: u64) {
        with_stream(stream, |core| {
            let stream = core.stream(stream, false)?;
            if at == 0 { Ok(()) } else { core.give_memory(stream, at) }
        })
    }
}
