// SPDX-License-Identifier: MIT OR Apache-2.0
//! The device, its properties and limits, and the versions of what programs see.

use std::ffi::{c_char, c_void};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::abi::properties::{Identity, Layout, properties};
use crate::abi::runtime::ChannelDesc;
use crate::core::info::Limits;
use crate::core::{Code, Result, with_faulted};
use crate::driver::attributes::{attribute, linear_texture_width};
use crate::driver::context::{
    cuCtxGetCacheConfig, cuCtxGetLimit, cuCtxSetCacheConfig, cuCtxSetLimit, cuDevicePrimaryCtxReset_v2,
};
use crate::driver::device::{cuDeviceGetByPCIBusId, cuDeviceGetPCIBusId};
use crate::driver::entry::{VERSION, cuGetProcAddress_v2};
use crate::driver::{Out, Text};
use crate::rt::api::{get, put, runtime};
use crate::rt::texture::format_of;
use crate::rt::{check_device, pass, with};

/// `cudaDeviceSchedule…`, `cudaDeviceMapHost` and `cudaDeviceLmemResizeToMax`, which change nothing here.
static FLAGS: AtomicU32 = AtomicU32::new(0);
const ALL_FLAGS: u32 = 0xff;
const MAP_HOST: u32 = 8;

/// What the device is, whatever happened to it.
fn limits() -> Result<Limits> {
    with_faulted(|core| Ok(core.limits()))
}

fn put_properties(place: *mut u8, device: i32, layout: Layout) -> Result<()> {
    if place.is_null() {
        return Err(Code::INVALID_VALUE);
    }
    check_device(device)?;
    let limits = limits()?;
    let identity = Identity { name: &limits.name, uuid: limits.uuid, memory_bytes: limits.total_memory };
    let bytes = properties(layout, &identity, |number| attribute(&limits, number).ok());
    // SAFETY: not null, and of this version's layout.
    unsafe { place.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    Ok(())
}

/// `cuGetProcAddress_v2` with the runtime's answers: found 0, not found 1, version not sufficient 2.
unsafe fn entry_point(
    symbol: *const c_char,
    place: *mut u64,
    version: i32,
    flags: u64,
    status: *mut i32,
) -> Result<()> {
    if symbol.is_null() || place.is_null() {
        return Err(Code::INVALID_VALUE);
    }
    let mut found = 0u32;
    let answer = cuGetProcAddress_v2(
        Text::at(symbol as u64),
        Out::at(place as u64),
        version,
        flags,
        Out::from(&mut found),
    );
    if !status.is_null() {
        // SAFETY: not null, and the program's variable.
        unsafe { put(status, found as i32)? };
    }
    pass(answer)?;
    // A missing name is reported by the status, if the caller passes one.
    if found != 0 && status.is_null() { Err(Code::NOT_FOUND) } else { Ok(()) }
}

/// With per-thread default streams, unless the caller chooses.
fn entry_flags(flags: u64, per_thread: bool) -> u64 {
    if per_thread && flags == 0 { 2 } else { flags }
}

fn reset() -> Result<()> {
    with_faulted(|_| Ok(()))?;
    crate::driver::context::enter_primary()?;
    pass(cuDevicePrimaryCtxReset_v2(0))
}

/// Limits whose numbers both APIs share.
unsafe fn put_limit(place: *mut usize, limit: u32) -> Result<()> {
    with(|_| Ok(()))?;
    pass(cuCtxGetLimit(Out::at(place as u64), limit)).map_err(unsupported_limit)
}

fn set_limit(limit: u32, value: usize) -> Result<()> {
    with(|_| Ok(()))?;
    pass(cuCtxSetLimit(limit, value)).map_err(unsupported_limit)
}

fn unsupported_limit(code: Code) -> Code {
    if code == Code::NOT_SUPPORTED { Code(215) } else { code }
}

fn put_cache_config(place: *mut u32) -> Result<()> {
    with(|_| Ok(()))?;
    pass(cuCtxGetCacheConfig(Out::at(place as u64)))
}

fn set_cache_config(config: u32) -> Result<()> {
    with(|_| Ok(()))?;
    pass(cuCtxSetCacheConfig(config))
}

runtime! {
    all fn cudaGetDeviceCount(place: *mut i32) unsafe {
        // Whoever counts devices uses CUDA, and cannot fork afterwards: with NVIDIA's library this initialises the driver.
        crate::core::with_faulted(|_| Ok(()))?;
        put(place, 1)
    }

    all fn cudaGetDevice(place: *mut i32) unsafe {
        put(place, 0)
    }

    all fn cudaSetDevice(device: i32) {
        check_device(device)?;
        // Since CUDA 12 it also makes the primary context, which the driver API sees.
        crate::driver::context::enter_primary()
    }

    since12 fn cudaInitDevice(device: i32, device_flags: u32, flags: u32) {
        check_device(device)?;
        // 1: the device's flags are meant.
        if flags > 1 || device_flags & !ALL_FLAGS != 0 {
            return Err(Code::INVALID_VALUE);
        }
        if flags == 1 {
            FLAGS.store(device_flags, Ordering::Relaxed);
        }
        with(|_| Ok(()))
    }

    all fn cudaSetValidDevices(list: *const i32, count: i32) unsafe {
        let count = usize::try_from(count).map_err(|_| Code::INVALID_VALUE)?;
        crate::rt::api::list(list, count)?.into_iter().try_for_each(check_device)
    }

    all fn cudaSetDeviceFlags(flags: u32) {
        // Schedules are none, spin 1, yield 2 or block 4.
        if flags & !ALL_FLAGS != 0 || !matches!(flags & 7, 0 | 1 | 2 | 4) {
            return Err(Code::INVALID_VALUE);
        }
        FLAGS.store(flags, Ordering::Relaxed);
        Ok(())
    }

    all fn cudaGetDeviceFlags(place: *mut u32) unsafe {
        put(place, FLAGS.load(Ordering::Relaxed) | MAP_HOST)
    }

    all fn cudaDeviceGetAttribute(place: *mut i32, number: i32, device: i32) unsafe {
        check_device(device)?;
        let value = attribute(&limits()?, number)?;
        put(place, value)
    }

    in11 fn cudaGetDeviceProperties_11 as cudaGetDeviceProperties(place: *mut u8, device: i32) {
        put_properties(place, device, Layout::V11)
    }

    // Programs that were built for 11; those for 12 call the one below.
    in12 fn cudaGetDeviceProperties_12 as cudaGetDeviceProperties(place: *mut u8, device: i32) {
        put_properties(place, device, Layout::V11)
    }

    only12 fn cudaGetDeviceProperties_v2(place: *mut u8, device: i32) {
        put_properties(place, device, Layout::V12)
    }

    only13 fn cudaGetDeviceProperties_13 as cudaGetDeviceProperties(place: *mut u8, device: i32) {
        put_properties(place, device, Layout::V13)
    }

    // There is one device, so it is the one that fits best.
    all fn cudaChooseDevice(place: *mut i32, wanted: *const c_void) unsafe {
        if wanted.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        put(place, 0)
    }

    all fn cudaDeviceGetPCIBusId(place: *mut c_char, room: i32, device: i32) {
        with(|_| Ok(()))?;
        pass(cuDeviceGetPCIBusId(Out::at(place as u64), room, device))
    }

    all fn cudaDeviceGetByPCIBusId(place: *mut i32, id: *const c_char) {
        with(|_| Ok(()))?;
        pass(cuDeviceGetByPCIBusId(Out::at(place as u64), Text::at(id as u64)))
    }

    all fn cudaDeviceGetTexture1DLinearMaxWidth(place: *mut usize, desc: *const ChannelDesc, device: i32) unsafe {
        check_device(device)?;
        let format = format_of(get(desc)?)?;
        put(place, linear_texture_width(u64::from(format.texel_bytes())) as usize)
    }

    all fn cudaDeviceReset() {
        reset()
    }

    until12 fn cudaThreadExit() {
        reset()
    }

    all fn cudaDeviceGetLimit(place: *mut usize, limit: u32) unsafe {
        put_limit(place, limit)
    }

    until12 fn cudaThreadGetLimit(place: *mut usize, limit: u32) unsafe {
        put_limit(place, limit)
    }

    all fn cudaDeviceSetLimit(limit: u32, value: usize) {
        set_limit(limit, value)
    }

    until12 fn cudaThreadSetLimit(limit: u32, value: usize) {
        set_limit(limit, value)
    }

    all fn cudaDeviceGetCacheConfig(place: *mut u32) {
        put_cache_config(place)
    }

    until12 fn cudaThreadGetCacheConfig(place: *mut u32) {
        put_cache_config(place)
    }

    all fn cudaDeviceSetCacheConfig(config: u32) {
        set_cache_config(config)
    }

    until12 fn cudaThreadSetCacheConfig(config: u32) {
        set_cache_config(config)
    }

    // Shared memory has banks of four bytes, regardless of the request.
    all fn cudaDeviceGetSharedMemConfig(place: *mut u32) unsafe {
        put(place, 1)
    }

    all fn cudaDeviceSetSharedMemConfig(config: u32) {
        if config > 2 { Err(Code::INVALID_VALUE) } else { with(|_| Ok(())) }
    }

    all fn cudaCtxResetPersistingL2Cache() {
        with(|_| Ok(()))
    }

    all fn cudaDeviceFlushGPUDirectRDMAWrites(target: i32, scope: i32) {
        if target == 0 && matches!(scope, 100 | 200) { with(|_| Ok(())) } else { Err(Code::INVALID_VALUE) }
    }

    all fn cudaDriverGetVersion(place: *mut i32) unsafe {
        put(place, VERSION)
    }

    in11 fn cudaRuntimeGetVersion_11 as cudaRuntimeGetVersion(place: *mut i32) unsafe {
        put(place, 11080)
    }

    in12 fn cudaRuntimeGetVersion_12 as cudaRuntimeGetVersion(place: *mut i32) unsafe {
        put(place, 12090)
    }

    only13 fn cudaRuntimeGetVersion_13 as cudaRuntimeGetVersion(place: *mut i32) unsafe {
        put(place, 13040)
    }

    in11 fn cudaGetDriverEntryPoint_11 as cudaGetDriverEntryPoint
        | cudaGetDriverEntryPoint_11_ptsz as cudaGetDriverEntryPoint_ptsz [per_thread] (
        symbol: *const c_char, place: *mut u64, flags: u64,
    ) unsafe {
        with(|_| Ok(()))?;
        entry_point(symbol, place, 11080, entry_flags(flags, per_thread), std::ptr::null_mut())
    }

    in12 fn cudaGetDriverEntryPoint_12 as cudaGetDriverEntryPoint
        | cudaGetDriverEntryPoint_12_ptsz as cudaGetDriverEntryPoint_ptsz [per_thread] (
        symbol: *const c_char, place: *mut u64, flags: u64, status: *mut i32,
    ) unsafe {
        with(|_| Ok(()))?;
        entry_point(symbol, place, 12090, entry_flags(flags, per_thread), status)
    }

    only13 fn cudaGetDriverEntryPoint_13 as cudaGetDriverEntryPoint
        | cudaGetDriverEntryPoint_13_ptsz as cudaGetDriverEntryPoint_ptsz [per_thread] (
        symbol: *const c_char, place: *mut u64, flags: u64, status: *mut i32,
    ) unsafe {
        with(|_| Ok(()))?;
        entry_point(symbol, place, VERSION, entry_flags(flags, per_thread), status)
    }

    since12 fn cudaGetDriverEntryPointByVersion | cudaGetDriverEntryPointByVersion_ptsz [per_thread] (
        symbol: *const c_char, place: *mut u64, version: u32, flags: u64, status: *mut i32,
    ) unsafe {
        with(|_| Ok(()))?;
        let version = i32::try_from(version).map_err(|_| Code::INVALID_VALUE)?;
        entry_point(symbol, place, version, entry_flags(flags, per_thread), status)
    }

    all fn cudaProfilerStart() {
        Ok(())
    }

    all fn cudaProfilerStop() {
        Ok(())
    }

    only11 fn cudaProfilerInitialize(_config: *const c_char, _output: *const c_char, _mode: i32) {
        Ok(())
    }

    // Doubles are doubles on every device since compute capability 1.3.
    until12 fn cudaSetDoubleForDevice(value: *mut f64) {
        if value.is_null() { Err(Code::INVALID_VALUE) } else { Ok(()) }
    }

    until12 fn cudaSetDoubleForHost(value: *mut f64) {
        if value.is_null() { Err(Code::INVALID_VALUE) } else { Ok(()) }
    }

    // NVIDIA's private tables are not ours to give.
    all fn cudaGetExportTable(table: *mut *const c_void, _id: *const c_void) unsafe {
        put(table, std::ptr::null())?;
        Err(Code::NOT_FOUND)
    }

    since12 fn __cudaRegisterUnifiedTable(_handle: *mut c_void, _table: *mut c_void) {
        Ok(())
    }
}
