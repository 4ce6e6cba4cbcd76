// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory of the device and of the host: taking it, giving it back, registering it, and advice about it, which has no effect on a
//! device whose memory is the host's.

use crate::abi::driver::MemLocation;
use crate::core::memory::{MemoryKind, Pointed};
use crate::core::{Code, Core, Result};
use crate::driver::{In, Out, api, with};

/// Portable, mapped, write-combined.
const HOST_ALLOC_FLAGS: u32 = 7;
/// Portable, mapped, memory of a device of the bus (refused), read-only.
const REGISTER_FLAGS: u32 = 0xf;
const REGISTER_IO: u32 = 4;
/// `CU_DEVICE_CPU`.
const HOST: i32 = -1;
/// `CU_DEVICE_INVALID`.
const NOWHERE: i32 = -2;

fn alloc(bytes: usize, kind: MemoryKind) -> Result<u64> {
    if bytes == 0 {
        return Err(Code::INVALID_VALUE);
    }
    with(|core| core.alloc(bytes as u64, kind))
}

/// Memory that the host may advise about.
pub(crate) fn check_managed(core: &Core, at: u64, bytes: usize) -> Result<()> {
    let end = at.checked_add(bytes as u64).ok_or(Code::INVALID_VALUE)?;
    let inside = match core.pointed(at) {
        Pointed::Block(block) => block.kind == MemoryKind::Managed && end <= block.base + block.bytes,
        Pointed::Variable { base, bytes } => end <= base + bytes,
        Pointed::Nothing | Pointed::Host => false,
    };
    if inside && bytes > 0 { Ok(()) } else { Err(Code::INVALID_VALUE) }
}

/// A place in terms of devices: the one there is, or the host.
pub(crate) fn check_location(location: MemLocation) -> Result<()> {
    match (location.kind, location.id) {
        (1, 0) | (2..=4, _) => Ok(()),
        (1, _) => Err(Code::INVALID_DEVICE),
        _ => Err(Code::INVALID_VALUE),
    }
}

fn advise(at: u64, bytes: usize, advice: u32) -> Result<()> {
    if !(1..=6).contains(&advice) {
        return Err(Code::INVALID_VALUE);
    }
    with(|core| check_managed(core, at, bytes))
}

/// One attribute of a range: nothing was ever preferred, prefetched or duplicated.
fn range_attribute(data: u64, size: usize, number: u32) -> Result<()> {
    let value = match number {
        1 | 5 | 7 => 0,
        2 | 4 | 6 | 8 => NOWHERE,
        3 => {
            if size == 0 || !size.is_multiple_of(4) {
                return Err(Code::INVALID_VALUE);
            }
            return Out::<i32>::at(data).put_all(std::iter::repeat_n(NOWHERE, size / 4));
        }
        _ => return Err(Code::INVALID_VALUE),
    };
    if size != 4 {
        return Err(Code::INVALID_VALUE);
    }
    Out::<i32>::at(data).put(value)
}

api! {
    fn cuMemGetInfo_v2(free: Out<usize>, total: Out<usize>) {
        let (left, all) = with(|core| Ok(core.device.memory_info()))?;
        free.put_if(left as usize);
        total.put_if(all as usize);
        Ok(())
    }

    fn cuMemAlloc_v2(at: Out<u64>, bytes: usize) {
        at.check()?;
        at.put(alloc(bytes, MemoryKind::Device)?)
    }

    fn cuMemAllocPitch_v2(at: Out<u64>, pitch: Out<usize>, width: usize, height: usize, element: u32) {
        at.check()?;
        pitch.check()?;
        if width == 0 || height == 0 || !matches!(element, 4 | 8 | 16) {
            return Err(Code::INVALID_VALUE);
        }
        let (base, step) = with(|core| core.alloc_pitched(width as u64, height as u64))?;
        pitch.put(step as usize)?;
        at.put(base)
    }

    fn cuMemAllocManaged(at: Out<u64>, bytes: usize, flags: u32) {
        at.check()?;
        // Of all streams, or of none until it is attached to one.
        if !matches!(flags, 1 | 2) {
            return Err(Code::INVALID_VALUE);
        }
        at.put(alloc(bytes, MemoryKind::Managed)?)
    }

    fn cuMemFree_v2(at: u64) {
        if at == 0 {
            return crate::driver::context::check_current();
        }
        with(|core| core.free(at, |kind| matches!(kind, MemoryKind::Device | MemoryKind::Managed | MemoryKind::Pool { .. })))
    }

    fn cuMemGetAddressRange_v2(base: Out<u64>, bytes: Out<usize>, at: u64) {
        let (start, size) = with(|core| match core.pointed(at) {
            Pointed::Block(block) => Ok((block.base, block.bytes)),
            Pointed::Variable { base, bytes } => Ok((base, bytes)),
            Pointed::Nothing | Pointed::Host => Err(Code::NOT_FOUND),
        })?;
        base.put_if(start);
        bytes.put_if(size as usize);
        Ok(())
    }

    fn cuMemAllocHost_v2(at: Out<u64>, bytes: usize) {
        at.check()?;
        at.put(alloc(bytes, MemoryKind::Pinned { flags: 3 })?)
    }

    fn cuMemHostAlloc(at: Out<u64>, bytes: usize, flags: u32) {
        at.check()?;
        if flags & !HOST_ALLOC_FLAGS != 0 {
            return Err(Code::INVALID_VALUE);
        }
        at.put(alloc(bytes, MemoryKind::Pinned { flags })?)
    }

    fn cuMemFreeHost(at: u64) {
        if at == 0 {
            return crate::driver::context::check_current();
        }
        with(|core| core.free(at, |kind| matches!(kind, MemoryKind::Pinned { .. })))
    }

    fn cuMemHostRegister_v2 [also cuMemHostRegister] (at: u64, bytes: usize, flags: u32) {
        if flags & !REGISTER_FLAGS != 0 {
            return Err(Code::INVALID_VALUE);
        }
        if flags & REGISTER_IO != 0 {
            return Err(Code::NOT_PERMITTED);
        }
        with(|core| core.register(at, bytes as u64, flags))
    }

    fn cuMemHostUnregister(at: u64) {
        with(|core| core.unregister(at))
    }

    fn cuMemHostGetDevicePointer_v2(pointer: Out<u64>, at: u64, flags: u32) {
        pointer.check()?;
        if flags != 0 {
            return Err(Code::INVALID_VALUE);
        }
        with(|core| match core.pointed(at) {
            Pointed::Block(block) if matches!(block.kind, MemoryKind::Pinned { .. } | MemoryKind::Registered { .. }) => Ok(()),
            _ => Err(Code::INVALID_VALUE),
        })?;
        // One address for both sides.
        pointer.put(at)
    }

    fn cuMemHostGetFlags(flags: Out<u32>, at: u64) {
        flags.check()?;
        flags.put(with(|core| match core.pointed(at) {
            Pointed::Block(block) => match block.kind {
                MemoryKind::Pinned { flags } => Ok(flags | 2),
                _ => Err(Code::INVALID_VALUE),
            },
            _ => Err(Code::INVALID_VALUE),
        })?)
    }

    fn cuMemAdvise(at: u64, bytes: usize, advice: u32, device: i32) {
        // Two kinds of advice have no place in them.
        if !matches!(advice, 1 | 2 | 4) && !matches!(device, 0 | HOST) {
            return Err(Code::INVALID_DEVICE);
        }
        advise(at, bytes, advice)
    }

    fn cuMemAdvise_v2(at: u64, bytes: usize, advice: u32, location: MemLocation) {
        if !matches!(advice, 1 | 2 | 4) {
            check_location(location)?;
        }
        advise(at, bytes, advice)
    }

    fn cuMemPrefetchAsync [cuMemPrefetchAsync_ptsz: stream] (at: u64, bytes: usize, device: i32, stream: u64) {
        if !matches!(device, 0 | HOST) {
            return Err(Code::INVALID_DEVICE);
        }
        with(|core| {
            core.stream(stream, false)?;
            check_managed(core, at, bytes)
        })
    }

    fn cuMemPrefetchAsync_v2 [cuMemPrefetchAsync_v2_ptsz: stream] (
        at: u64,
        bytes: usize,
        location: MemLocation,
        flags: u32,
        stream: u64,
    ) {
        check_location(location)?;
        if flags != 0 {
            return Err(Code::INVALID_VALUE);
        }
        with(|core| {
            core.stream(stream, false)?;
            check_managed(core, at, bytes)
        })
    }

    fn cuMemRangeGetAttribute(data: u64, size: usize, number: u32, at: u64, bytes: usize) {
        with(|core| check_managed(core, at, bytes))?;
        range_attribute(data, size, number)
    }

    fn cuMemRangeGetAttributes(
        data: In<u64>,
        sizes: In<usize>,
        numbers: In<u32>,
        count: usize,
        at: u64,
        bytes: usize,
    ) {
        with(|core| check_managed(core, at, bytes))?;
        let (data, sizes, numbers) = (data.list(count)?, sizes.list(count)?, numbers.list(count)?);
        for ((data, size), number) in data.into_iter().zip(sizes).zip(numbers) {
            range_attribute(data, size, number)?;
        }
        Ok(())
    }

    fn cuStreamAttachMemAsync [cuStreamAttachMemAsync_ptsz: stream] (
        stream: u64,
        at: u64,
        bytes: usize,
        flags: u32,
    ) {
        if !matches!(flags, 1 | 2 | 4) {
            return Err(Code::INVALID_VALUE);
        }
        with(|core| {
            core.stream(stream, false)?;
            // 0 is all of it.
            check_managed(core, at, bytes.max(1))
        })
    }
}
