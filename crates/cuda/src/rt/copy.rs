// SPDX-License-Identifier: MIT OR Apache-2.0
//! Copies between linear memory of either side, in one, two and three dimensions.

use crate::abi::runtime::{Memcpy3d, Memcpy3dPeer, PitchedPtr, Pos, StreamHandle};
use crate::core::copy::{Copy, CopyMemory, Direction, Plane};
use crate::core::{Code, Core, Result};
use crate::rt::api::{get, runtime};
use crate::rt::{check_device, with};

/// `cudaMemcpyKind`.
pub(super) fn direction(kind: i32) -> Result<Direction> {
    match kind {
        0 => Ok(Direction::HostToHost),
        1 => Ok(Direction::HostToDevice),
        2 => Ok(Direction::DeviceToHost),
        3 => Ok(Direction::DeviceToDevice),
        4 => Ok(Direction::Any),
        _ => Err(Code::INVALID_COPY_DIRECTION),
    }
}

/// Copies on the stream of a handle. `wait` as the functions without `Async` do.
pub(super) fn copy_on(
    stream: StreamHandle,
    per_thread: bool,
    copy: Copy,
    kind: i32,
    wait: bool,
) -> Result<()> {
    let direction = direction(kind)?;
    with(|core| {
        let stream = core.stream(stream, per_thread)?;
        core.copy(stream, copy, direction, wait)
    })
}

fn flat(to: u64, from: u64, bytes: usize) -> Copy {
    Copy::flat(to, from, bytes as u64)
}

pub(super) fn rows(to: Plane, from: Plane, width: usize, height: usize) -> Copy {
    Copy { to, from, extent: [width as u64, height as u64, 1] }
}

/// A 2D copy; a pitch that is less than a row is refused even where there is one row only.
fn pitched(
    to: u64,
    to_pitch: usize,
    from: u64,
    from_pitch: usize,
    width: usize,
    height: usize,
) -> Result<Copy> {
    if width > to_pitch || width > from_pitch {
        return Err(Code::INVALID_PITCH);
    }
    Ok(rows(Plane::pitched(to, to_pitch as u64), Plane::pitched(from, from_pitch as u64), width, height))
}

runtime! {
    all fn cudaMemcpy | cudaMemcpy_ptds [per_thread] (to: u64, from: u64, bytes: usize, kind: i32) {
        copy_on(0, per_thread, flat(to, from, bytes), kind, true)
    }

    all fn cudaMemcpyAsync | cudaMemcpyAsync_ptsz [per_thread] (
        to: u64, from: u64, bytes: usize, kind: i32, stream: StreamHandle,
    ) {
        copy_on(stream, per_thread, flat(to, from, bytes), kind, false)
    }

    all fn cudaMemcpyPeer(to: u64, to_device: i32, from: u64, from_device: i32, bytes: usize) {
        check_device(to_device)?;
        check_device(from_device)?;
        copy_on(0, false, flat(to, from, bytes), 3, true)
    }

    all fn cudaMemcpyPeerAsync(
        to: u64, to_device: i32, from: u64, from_device: i32, bytes: usize, stream: StreamHandle,
    ) {
        check_device(to_device)?;
        check_device(from_device)?;
        copy_on(stream, false, flat(to, from, bytes), 3, false)
    }

    all fn cudaMemcpy2D | cudaMemcpy2D_ptds [per_thread] (
        to: u64, to_pitch: usize, from: u64, from_pitch: usize, width: usize, height: usize, kind: i32,
    ) {
        copy_on(0, per_thread, pitched(to, to_pitch, from, from_pitch, width, height)?, kind, true)
    }

    all fn cudaMemcpy2DAsync | cudaMemcpy2DAsync_ptsz [per_thread] (
        to: u64, to_pitch: usize, from: u64, from_pitch: usize, width: usize, height: usize, kind: i32,
        stream: StreamHandle,
    ) {
        copy_on(stream, per_thread, pitched(to, to_pitch, from, from_pitch, width, height)?, kind, false)
    }

    all fn cudaMemcpy3D | cudaMemcpy3D_ptds [per_thread] (params: *const Memcpy3d) unsafe {
        copy_3d(&get(params)?, 0, per_thread, true)
    }

    all fn cudaMemcpy3DAsync | cudaMemcpy3DAsync_ptsz [per_thread] (params: *const Memcpy3d, stream: StreamHandle) unsafe {
        copy_3d(&get(params)?, stream, per_thread, false)
    }

    all fn cudaMemcpy3DPeer | cudaMemcpy3DPeer_ptds [per_thread] (params: *const Memcpy3dPeer) unsafe {
        copy_3d(&on_one_device(get(params)?)?, 0, per_thread, true)
    }

    all fn cudaMemcpy3DPeerAsync | cudaMemcpy3DPeerAsync_ptsz [per_thread] (
        params: *const Memcpy3dPeer, stream: StreamHandle,
    ) unsafe {
        copy_3d(&on_one_device(get(params)?)?, stream, per_thread, false)
    }
}

fn on_one_device(of: Memcpy3dPeer) -> Result<Memcpy3d> {
    check_device(of.src_device)?;
    check_device(of.dst_device)?;
    Ok(Memcpy3d {
        src_array: of.src_array,
        src_pos: of.src_pos,
        src_ptr: of.src_ptr,
        dst_array: of.dst_array,
        dst_pos: of.dst_pos,
        dst_ptr: of.dst_ptr,
        extent: of.extent,
        kind: 3,
    })
}

fn copy_3d(params: &Memcpy3d, stream: StreamHandle, per_thread: bool, wait: bool) -> Result<()> {
    let direction = direction(params.kind)?;
    with(|core| {
        let copy = box_of(core, params)?;
        let stream = core.stream(stream, per_thread)?;
        core.copy(stream, copy, direction, wait)
    })
}

/// The box that `cudaMemcpy3DParms` describe. Where an array takes part, widths are in its texels, else in bytes.
pub(super) fn box_of(core: &Core, params: &Memcpy3d) -> Result<Copy> {
    let texel = |array: u64| match array {
        0 => Ok(None),
        array => Ok(Some(u64::from(core.arrays.get(array)?.storage.format.texel_bytes()))),
    };
    let (to, from) = (texel(params.dst_array)?, texel(params.src_array)?);
    if to.zip(from).is_some_and(|(to, from)| to != from) {
        return Err(Code::INVALID_VALUE);
    }
    let unit = to.or(from).unwrap_or(1);
    let width = (params.extent.width as u64).checked_mul(unit).ok_or(Code::INVALID_VALUE)?;
    Ok(Copy {
        to: plane(params.dst_array, params.dst_ptr, params.dst_pos, to)?,
        from: plane(params.src_array, params.src_ptr, params.src_pos, from)?,
        extent: [width, params.extent.height as u64, params.extent.depth as u64],
    })
}

/// An array or a pointer, but not both.
fn plane(array: u64, pointer: PitchedPtr, pos: Pos, texel: Option<u64>) -> Result<Plane> {
    let x = (pos.x as u64).checked_mul(texel.unwrap_or(1)).ok_or(Code::INVALID_VALUE)?;
    let offset = [x, pos.y as u64, pos.z as u64];
    match (array, pointer.ptr) {
        (0, 0) => Err(Code::INVALID_VALUE),
        (0, at) => Ok(Plane {
            at: CopyMemory::Linear(at),
            pitch: pointer.pitch as u64,
            rows: pointer.ysize as u64,
            offset,
        }),
        (array, 0) => Ok(Plane { at: CopyMemory::Array(array), pitch: 0, rows: 0, offset }),
        _ => Err(Code::INVALID_VALUE),
    }
}
