// SPDX-License-Identifier: MIT OR Apache-2.0
//! Batches of copies (since 12.8), whose attributes say when sources are read and where memory is; here both follow from the
//! stream's order and from the pointers.

use crate::abi::runtime::{BatchOp, BatchOperand, MemcpyAttributes, StreamHandle};
use crate::core::copy::{Copy, CopyMemory, Direction, Plane};
use crate::core::{Code, Core, Result};
use crate::rt::api::{get, list, put, runtime};
use crate::rt::with;

/// Does copies one after the other. The default streams do not take batches.
fn copy_all(copies: usize, stream: StreamHandle, copy: impl Fn(&Core, usize) -> Result<Copy>) -> Result<()> {
    if stream == 0 || copies == 0 {
        return Err(Code::INVALID_VALUE);
    }
    with(|core| {
        let on = core.stream(stream, false)?;
        (0..copies).try_for_each(|index| {
            let copy = copy(core, index)?;
            core.copy(on, copy, Direction::Any, false)
        })
    })
}

unsafe fn batch(
    to: *const u64,
    from: *const u64,
    bytes: *const usize,
    count: usize,
    stream: StreamHandle,
) -> Result<()> {
    // SAFETY: lists of as many elements as the program says.
    let (to, from, bytes) = unsafe { (list(to, count)?, list(from, count)?, list(bytes, count)?) };
    copy_all(count, stream, |_, index| Ok(Copy::flat(to[index], from[index], bytes[index] as u64)))
}

unsafe fn batch_3d(ops: *const BatchOp, count: usize, stream: StreamHandle) -> Result<()> {
    // SAFETY: a list of as many elements as the program says.
    let ops = unsafe { list(ops, count) }?;
    copy_all(count, stream, |core, index| box_of(core, &ops[index]))
}

/// Extents are in texels where an array takes part, else in bytes.
fn box_of(core: &Core, op: &BatchOp) -> Result<Copy> {
    let texel = |operand: &BatchOperand| match operand.kind {
        1 => Ok(None),
        2 => Ok(Some(u64::from(core.arrays.get(operand.place)?.storage.format.texel_bytes()))),
        _ => Err(Code::INVALID_VALUE),
    };
    let (to, from) = (texel(&op.dst)?, texel(&op.src)?);
    let unit = to.or(from).unwrap_or(1);
    let scaled = |value: usize| (value as u64).checked_mul(unit).ok_or(Code::INVALID_VALUE);
    let plane = |operand: &BatchOperand| {
        Ok(match operand.kind {
            1 => {
                let row = if operand.a == 0 { op.extent.width } else { operand.a };
                let rows = operand.b as u64;
                Plane { at: CopyMemory::Linear(operand.place), pitch: scaled(row)?, rows, offset: [0; 3] }
            }
            _ => Plane::array(operand.place, scaled(operand.a)?, operand.b as u64, operand.c as u64),
        })
    };
    let extent = [scaled(op.extent.width)?, op.extent.height as u64, op.extent.depth as u64];
    Ok(Copy { to: plane(&op.dst)?, from: plane(&op.src)?, extent })
}

/// Up to 12, where the first copy that was rejected is returned.
unsafe fn none_failed(place: *mut usize) -> Result<()> {
    match place.is_null() {
        true => Ok(()),
        // SAFETY: not null, and the program's variable.
        false => unsafe { put(place, usize::MAX) },
    }
}

runtime! {
    in12 fn cudaMemcpyBatchAsync_12 as cudaMemcpyBatchAsync
        | cudaMemcpyBatchAsync_12_ptsz as cudaMemcpyBatchAsync_ptsz [_per_thread] (
        to: *const u64, from: *const u64, bytes: *const usize, count: usize, _attributes: *const MemcpyAttributes,
        _indices: *const usize, _attribute_count: usize, failed: *mut usize, stream: StreamHandle,
    ) unsafe {
        none_failed(failed)?;
        batch(to, from, bytes, count, stream)
    }

    only13 fn cudaMemcpyBatchAsync_13 as cudaMemcpyBatchAsync
        | cudaMemcpyBatchAsync_13_ptsz as cudaMemcpyBatchAsync_ptsz [_per_thread] (
        to: *const u64, from: *const u64, bytes: *const usize, count: usize, _attributes: *const MemcpyAttributes,
        _indices: *const usize, _attribute_count: usize, stream: StreamHandle,
    ) unsafe {
        batch(to, from, bytes, count, stream)
    }

    in12 fn cudaMemcpy3DBatchAsync_12 as cudaMemcpy3DBatchAsync
        | cudaMemcpy3DBatchAsync_12_ptsz as cudaMemcpy3DBatchAsync_ptsz [_per_thread] (
        count: usize, ops: *const BatchOp, failed: *mut usize, flags: u64, stream: StreamHandle,
    ) unsafe {
        if flags != 0 {
            return Err(Code::INVALID_VALUE);
        }
        none_failed(failed)?;
        batch_3d(ops, count, stream)
    }

    only13 fn cudaMemcpy3DBatchAsync_13 as cudaMemcpy3DBatchAsync
        | cudaMemcpy3DBatchAsync_13_ptsz as cudaMemcpy3DBatchAsync_ptsz [_per_thread] (
        count: usize, ops: *const BatchOp, flags: u64, stream: StreamHandle,
    ) unsafe {
        if flags != 0 {
            return Err(Code::INVALID_VALUE);
        }
        batch_3d(ops, count, stream)
    }

    only13 fn cudaMemcpyWithAttributesAsync | cudaMemcpyWithAttributesAsync_ptsz [per_thread] (
        to: u64, from: u64, bytes: usize, attributes: *const MemcpyAttributes, stream: StreamHandle,
    ) unsafe {
        get(attributes)?;
        with(|core| {
            let stream = core.stream(stream, per_thread)?;
            core.copy(stream, Copy::flat(to, from, bytes as u64), Direction::Any, false)
        })
    }

    only13 fn cudaMemcpy3DWithAttributesAsync | cudaMemcpy3DWithAttributesAsync_ptsz [per_thread] (
        op: *const BatchOp, flags: u64, stream: StreamHandle,
    ) unsafe {
        if flags != 0 {
            return Err(Code::INVALID_VALUE);
        }
        let op = get(op)?;
        with(|core| {
            let (stream, copy) = (core.stream(stream, per_thread)?, box_of(core, &op)?);
            core.copy(stream, copy, Direction::Any, false)
        })
    }
}
