// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory: linear, pitched, page-locked, registered, and what a pointer points to.

use crate::abi::runtime::{Extent, PitchedPtr, PointerAttributes, PointerAttributes13, StreamHandle};
use crate::core::memory::{MemoryKind, Pointed};
use crate::core::{Code, Core, Result};
use crate::rt::api::{put, runtime};
use crate::rt::with;

/// Takes memory of a kind. Nothing is what a request for nothing gets.
fn alloc(bytes: usize, kind: MemoryKind) -> Result<u64> {
    with(|core| if bytes == 0 { Ok(0) } else { core.alloc(bytes as u64, kind) })
}

/// Flags of `cudaHostAlloc`: portable 1, mapped 2, write-combined 4.
fn host_alloc(place: *mut u64, bytes: usize, flags: u32) -> Result<()> {
    if flags & !7 != 0 || place.is_null() {
        return Err(Code::INVALID_VALUE);
    }
    let at = alloc(bytes, MemoryKind::Pinned { flags })?;
    // SAFETY: the program's variable, and not null.
    unsafe { put(place, at) }
}

runtime! {
    all fn cudaMalloc(place: *mut u64, bytes: usize) unsafe {
        if place.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        put(place, alloc(bytes, MemoryKind::Device)?)
    }

    all fn cudaMallocPitch(place: *mut u64, pitch: *mut usize, width: usize, height: usize) unsafe {
        if place.is_null() || pitch.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        let (at, bytes) = with(|core| match width == 0 || height == 0 {
            true => Ok((0, 0)),
            false => core.alloc_pitched(width as u64, height as u64),
        })?;
        put(place, at)?;
        put(pitch, bytes as usize)
    }

    all fn cudaMalloc3D(place: *mut PitchedPtr, extent: Extent) unsafe {
        if place.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        let Extent { width, height, depth } = extent;
        let (ptr, pitch) = with(|core| match width == 0 || height == 0 || depth == 0 {
            true => Ok((0, 0)),
            false => {
                let rows = (height as u64).checked_mul(depth as u64).ok_or(Code::OUT_OF_MEMORY)?;
                core.alloc_pitched(width as u64, rows)
            }
        })?;
        put(place, PitchedPtr { ptr, pitch: pitch as usize, xsize: width, ysize: height })
    }

    all fn cudaFree(at: u64) {
        with(|core| match at {
            0 => Ok(()),
            at => core.free(at, |kind| matches!(kind, MemoryKind::Device | MemoryKind::Managed | MemoryKind::Pool { .. })),
        })
    }

    all fn cudaMallocHost(place: *mut u64, bytes: usize) {
        host_alloc(place, bytes, 0)
    }

    all fn cudaHostAlloc(place: *mut u64, bytes: usize, flags: u32) {
        host_alloc(place, bytes, flags)
    }

    all fn cudaFreeHost(at: u64) {
        with(|core| match at {
            0 => Ok(()),
            at => core.free(at, |kind| matches!(kind, MemoryKind::Pinned { .. })),
        })
    }

    all fn cudaHostRegister(at: u64, bytes: usize, flags: u32) {
        // Portable 1, mapped 2, I/O memory 4, read-only 8.
        if flags & !15 != 0 {
            return Err(Code::INVALID_VALUE);
        }
        with(|core| core.register(at, bytes as u64, flags))
    }

    all fn cudaHostUnregister(at: u64) {
        with(|core| core.unregister(at))
    }

    all fn cudaHostGetDevicePointer(place: *mut u64, host: u64, flags: u32) unsafe {
        if flags != 0 {
            return Err(Code::INVALID_VALUE);
        }
        with(|core| host_block(core, host))?;
        // Addresses are the same on both sides.
        put(place, host)
    }

    all fn cudaHostGetFlags(place: *mut u32, host: u64) unsafe {
        put(place, with(|core| host_block(core, host))?)
    }

    all fn cudaMemGetInfo(free: *mut usize, total: *mut usize) unsafe {
        let (of_free, of_total) = with(|core| Ok(core.device.memory_info()))?;
        put(free, of_free as usize)?;
        put(total, of_total as usize)
    }

    before13 fn cudaPointerGetAttributes_11 as cudaPointerGetAttributes(place: *mut PointerAttributes, at: u64) unsafe {
        if place.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        put(place, with(|core| Ok(attributes(core, at)))?)
    }

    only13 fn cudaPointerGetAttributes_13 as cudaPointerGetAttributes(place: *mut PointerAttributes13, at: u64) unsafe {
        if place.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        let head = with(|core| Ok(attributes(core, at)))?;
        put(place, PointerAttributes13 { head, reserved: [0; 8] })
    }

    all fn cudaStreamAttachMemAsync | cudaStreamAttachMemAsync_ptsz [per_thread] (
        stream: StreamHandle, at: u64, _bytes: usize, flags: u32,
    ) {
        // Global 1, host 2, single 4: managed memory is always there for both sides.
        if !matches!(flags, 1 | 2 | 4) {
            return Err(Code::INVALID_VALUE);
        }
        with(|core| {
            core.stream(stream, per_thread)?;
            match core.pointed(at) {
                Pointed::Block(block) if block.kind == MemoryKind::Managed => Ok(()),
                Pointed::Variable { .. } => Ok(()),
                _ => Err(Code::INVALID_VALUE),
            }
        })
    }
}

/// The flags of page-locked or registered memory.
fn host_block(core: &Core, host: u64) -> Result<u32> {
    match core.pointed(host) {
        Pointed::Block(block) => match block.kind {
            // Host memory is always mapped, whether requested or not.
            MemoryKind::Pinned { flags } | MemoryKind::Registered { flags } => Ok(flags | 2),
            _ => Err(Code::INVALID_VALUE),
        },
        _ => Err(Code::INVALID_VALUE),
    }
}

/// Kinds are unregistered 0, host 1, device 2, managed 3.
fn attributes(core: &Core, at: u64) -> PointerAttributes {
    let (kind, device, on_device, on_host) = match core.pointed(at) {
        Pointed::Block(block) => match block.kind {
            MemoryKind::Managed => (3, 0, at, at),
            MemoryKind::Pinned { .. } | MemoryKind::Registered { .. } => (1, 0, at, at),
            MemoryKind::Device | MemoryKind::Array | MemoryKind::Pool { .. } => (2, 0, at, 0),
        },
        Pointed::Variable { .. } => (2, 0, at, 0),
        Pointed::Nothing | Pointed::Host => (0, -2, 0, at),
    };
    PointerAttributes { kind, device, device_pointer: on_device, host_pointer: on_host }
}
