// SPDX-License-Identifier: MIT OR Apache-2.0
//! Copies: each function says where its two ends are, and `core` does the rest.

use crate::abi::driver::{Memcpy2d, Memcpy3d};
use crate::core::copy::{Copy, CopyMemory, Direction, Plane};
use crate::core::{Code, Result};
use crate::driver::{In, api, with};

/// `CUmemorytype`.
const HOST: u32 = 1;
const DEVICE: u32 = 2;
const ARRAY: u32 = 3;
const UNIFIED: u32 = 4;

/// Copies in stream order; `wait` as the functions without `Async` do.
pub(crate) fn copy(stream: u64, copy: Copy, direction: Direction, wait: bool) -> Result<()> {
    with(|core| {
        let stream = core.stream(stream, false)?;
        core.copy(stream, copy, direction, wait)
    })
}

fn flat(stream: u64, to: u64, from: u64, bytes: usize, direction: Direction, wait: bool) -> Result<()> {
    copy(stream, Copy::flat(to, from, bytes as u64), direction, wait)
}

/// A run of bytes where one end or both are arrays.
fn run(stream: u64, to: Plane, from: Plane, bytes: usize, direction: Direction, wait: bool) -> Result<()> {
    copy(stream, Copy { to, from, extent: [bytes as u64, 1, 1] }, direction, wait)
}

/// An array from a byte offset on.
fn array(handle: u64, offset: usize) -> Plane {
    Plane::array(handle, offset as u64, 0, 0)
}

/// A copy as described by a structure.
pub(crate) fn describe(c: &Memcpy3d) -> Result<(Copy, Direction)> {
    if c.src_lod != 0 || c.dst_lod != 0 {
        return Err(Code::INVALID_VALUE);
    }
    let place = |kind, host, device, array| match kind {
        HOST => Ok(CopyMemory::Linear(host)),
        DEVICE | UNIFIED => Ok(CopyMemory::Linear(device)),
        ARRAY => Ok(CopyMemory::Array(array)),
        _ => Err(Code::INVALID_VALUE),
    };
    let from = Plane {
        at: place(c.src_type, c.src_host, c.src_device, c.src_array)?,
        pitch: c.src_pitch,
        rows: c.src_height,
        offset: [c.src_x, c.src_y, c.src_z],
    };
    let to = Plane {
        at: place(c.dst_type, c.dst_host, c.dst_device, c.dst_array)?,
        pitch: c.dst_pitch,
        rows: c.dst_height,
        offset: [c.dst_x, c.dst_y, c.dst_z],
    };
    let direction = match (c.src_type, c.dst_type) {
        (HOST, HOST) => Direction::HostToHost,
        (HOST, DEVICE | ARRAY) => Direction::HostToDevice,
        (DEVICE | ARRAY, HOST) => Direction::DeviceToHost,
        (DEVICE | ARRAY, DEVICE | ARRAY) => Direction::DeviceToDevice,
        _ => Direction::Any,
    };
    Ok((Copy { to, from, extent: [c.width, c.height, c.depth] }, direction))
}

/// The structure that describes a copy, for queries of nodes.
pub(crate) fn structure(copy: &Copy) -> Memcpy3d {
    let ends = |plane: &Plane| match plane.at {
        CopyMemory::Linear(at) => (UNIFIED, at, 0),
        CopyMemory::Array(handle) => (ARRAY, 0, handle),
    };
    let ((src_type, src_device, src_array), (dst_type, dst_device, dst_array)) =
        (ends(&copy.from), ends(&copy.to));
    Memcpy3d {
        src_x: copy.from.offset[0],
        src_y: copy.from.offset[1],
        src_z: copy.from.offset[2],
        src_type,
        src_device,
        src_array,
        src_pitch: copy.from.pitch,
        src_height: copy.from.rows,
        dst_x: copy.to.offset[0],
        dst_y: copy.to.offset[1],
        dst_z: copy.to.offset[2],
        dst_type,
        dst_device,
        dst_array,
        dst_pitch: copy.to.pitch,
        dst_height: copy.to.rows,
        width: copy.extent[0],
        height: copy.extent[1],
        depth: copy.extent[2],
        ..Memcpy3d::default()
    }
}

fn boxed(stream: u64, c: &Memcpy3d, wait: bool) -> Result<()> {
    let (described, direction) = describe(c)?;
    copy(stream, described, direction, wait)
}

api! {
    fn cuMemcpy [cuMemcpy_ptds on s] (to: u64, from: u64, bytes: usize) {
        flat(s, to, from, bytes, Direction::Any, true)
    }

    fn cuMemcpyAsync [cuMemcpyAsync_ptsz: stream] (to: u64, from: u64, bytes: usize, stream: u64) {
        flat(stream, to, from, bytes, Direction::Any, false)
    }

    fn cuMemcpyHtoD_v2 [cuMemcpyHtoD_v2_ptds on s] (to: u64, from: u64, bytes: usize) {
        flat(s, to, from, bytes, Direction::HostToDevice, true)
    }

    fn cuMemcpyDtoH_v2 [cuMemcpyDtoH_v2_ptds on s] (to: u64, from: u64, bytes: usize) {
        flat(s, to, from, bytes, Direction::DeviceToHost, true)
    }

    fn cuMemcpyDtoD_v2 [cuMemcpyDtoD_v2_ptds on s] (to: u64, from: u64, bytes: usize) {
        flat(s, to, from, bytes, Direction::DeviceToDevice, true)
    }

    fn cuMemcpyHtoDAsync_v2 [cuMemcpyHtoDAsync_v2_ptsz: stream] (to: u64, from: u64, bytes: usize, stream: u64) {
        flat(stream, to, from, bytes, Direction::HostToDevice, false)
    }

    fn cuMemcpyDtoHAsync_v2 [cuMemcpyDtoHAsync_v2_ptsz: stream] (to: u64, from: u64, bytes: usize, stream: u64) {
        flat(stream, to, from, bytes, Direction::DeviceToHost, false)
    }

    fn cuMemcpyDtoDAsync_v2 [cuMemcpyDtoDAsync_v2_ptsz: stream] (to: u64, from: u64, bytes: usize, stream: u64) {
        flat(stream, to, from, bytes, Direction::DeviceToDevice, false)
    }

    fn cuMemcpyPeer [cuMemcpyPeer_ptds on s] (to: u64, _to_context: u64, from: u64, _from_context: u64, bytes: usize) {
        flat(s, to, from, bytes, Direction::DeviceToDevice, true)
    }

    fn cuMemcpyPeerAsync [cuMemcpyPeerAsync_ptsz: stream] (
        to: u64,
        _to_context: u64,
        from: u64,
        _from_context: u64,
        bytes: usize,
        stream: u64,
    ) {
        flat(stream, to, from, bytes, Direction::DeviceToDevice, false)
    }

    fn cuMemcpyDtoA_v2 [cuMemcpyDtoA_v2_ptds on s] (to: u64, offset: usize, from: u64, bytes: usize) {
        run(s, array(to, offset), Plane::linear(from), bytes, Direction::DeviceToDevice, true)
    }

    fn cuMemcpyAtoD_v2 [cuMemcpyAtoD_v2_ptds on s] (to: u64, from: u64, offset: usize, bytes: usize) {
        run(s, Plane::linear(to), array(from, offset), bytes, Direction::DeviceToDevice, true)
    }

    fn cuMemcpyHtoA_v2 [cuMemcpyHtoA_v2_ptds on s] (to: u64, offset: usize, from: u64, bytes: usize) {
        run(s, array(to, offset), Plane::linear(from), bytes, Direction::HostToDevice, true)
    }

    fn cuMemcpyAtoH_v2 [cuMemcpyAtoH_v2_ptds on s] (to: u64, from: u64, offset: usize, bytes: usize) {
        run(s, Plane::linear(to), array(from, offset), bytes, Direction::DeviceToHost, true)
    }

    fn cuMemcpyAtoA_v2 [cuMemcpyAtoA_v2_ptds on s] (
        to: u64,
        to_offset: usize,
        from: u64,
        from_offset: usize,
        bytes: usize,
    ) {
        run(s, array(to, to_offset), array(from, from_offset), bytes, Direction::DeviceToDevice, true)
    }

    fn cuMemcpyHtoAAsync_v2 [cuMemcpyHtoAAsync_v2_ptsz: stream] (
        to: u64,
        offset: usize,
        from: u64,
        bytes: usize,
        stream: u64,
    ) {
        run(stream, array(to, offset), Plane::linear(from), bytes, Direction::HostToDevice, false)
    }

    fn cuMemcpyAtoHAsync_v2 [cuMemcpyAtoHAsync_v2_ptsz: stream] (
        to: u64,
        from: u64,
        offset: usize,
        bytes: usize,
        stream: u64,
    ) {
        run(stream, Plane::linear(to), array(from, offset), bytes, Direction::DeviceToHost, false)
    }

    fn cuMemcpy2D_v2 [cuMemcpy2D_v2_ptds on s] (c: In<Memcpy2d>) {
        boxed(s, &c.get()?.into(), true)
    }

    fn cuMemcpy2DUnaligned_v2 [cuMemcpy2DUnaligned_v2_ptds on s] (c: In<Memcpy2d>) {
        boxed(s, &c.get()?.into(), true)
    }

    fn cuMemcpy2DAsync_v2 [cuMemcpy2DAsync_v2_ptsz: stream] (c: In<Memcpy2d>, stream: u64) {
        boxed(stream, &c.get()?.into(), false)
    }

    fn cuMemcpy3D_v2 [cuMemcpy3D_v2_ptds on s] (c: In<Memcpy3d>) {
        boxed(s, &c.get()?, true)
    }

    fn cuMemcpy3DAsync_v2 [cuMemcpy3DAsync_v2_ptsz: stream] (c: In<Memcpy3d>, stream: u64) {
        boxed(stream, &c.get()?, false)
    }

    fn cuMemcpy3DPeer [cuMemcpy3DPeer_ptds on s] (c: In<Memcpy3d>) {
        boxed(s, &c.get()?, true)
    }

    fn cuMemcpy3DPeerAsync [cuMemcpy3DPeerAsync_ptsz: stream] (c: In<Memcpy3d>, stream: u64) {
        boxed(stream, &c.get()?, false)
    }
}
