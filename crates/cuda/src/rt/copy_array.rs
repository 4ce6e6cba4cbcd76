// SPDX-License-Identifier: MIT OR Apache-2.0
//! Copies to, from and between arrays. Offsets and widths are in bytes; the functions for runs of bytes go from row to row.

use crate::abi::runtime::{ArrayHandle, StreamHandle};
use crate::core::copy::{Copy, Plane};
use crate::core::{Code, Result};
use crate::rt::api::runtime;
use crate::rt::copy::{copy_on, direction, rows};
use crate::rt::with;

fn at(array: ArrayHandle, x: usize, y: usize) -> Plane {
    Plane::array(array, x as u64, y as u64, 0)
}

/// One end of a run of bytes.
#[derive(Clone, Copy)]
enum Run {
    Linear(u64),
    /// An array, and the place of the first byte in it.
    Array(ArrayHandle, u64, u64),
}

/// Copies a run of bytes that fills an array's rows one after the other, from a place in the middle of one if need be.
fn copy_run(
    to: Run,
    from: Run,
    bytes: usize,
    kind: i32,
    stream: (StreamHandle, bool),
    wait: bool,
) -> Result<()> {
    let direction = direction(kind)?;
    with(|core| {
        let row_bytes = |run| match run {
            Run::Linear(_) => Ok(u64::MAX),
            Run::Array(array, ..) => {
                let storage = &core.arrays.get(array)?.storage;
                Ok(u64::from(storage.levels[0].width) * u64::from(storage.format.texel_bytes()))
            }
        };
        let (to_row, from_row) = (row_bytes(to)?, row_bytes(from)?);
        let stream = core.stream(stream.0, stream.1)?;
        let (mut to, mut from, mut left) = (to, from, bytes as u64);
        while left > 0 {
            let width = left.min(room(to, to_row)?).min(room(from, from_row)?);
            // Whole rows go at once.
            let whole = |run, row| match run {
                Run::Linear(_) => true,
                Run::Array(_, x, _) => x == 0 && width == row,
            };
            let height = if whole(to, to_row) && whole(from, from_row) { left / width } else { 1 };
            let copy = Copy { to: plane(to, width), from: plane(from, width), extent: [width, height, 1] };
            core.copy(stream, copy, direction, wait)?;
            to = advance(to, to_row, width * height);
            from = advance(from, from_row, width * height);
            left -= width * height;
        }
        Ok(())
    })
}

/// Bytes up to the end of the row.
fn room(run: Run, row: u64) -> Result<u64> {
    match run {
        Run::Linear(_) => Ok(u64::MAX),
        Run::Array(_, x, _) => row.checked_sub(x).filter(|&room| room > 0).ok_or(Code::INVALID_VALUE),
    }
}

fn plane(run: Run, width: u64) -> Plane {
    match run {
        Run::Linear(at) => Plane::pitched(at, width),
        Run::Array(array, x, y) => Plane::array(array, x, y, 0),
    }
}

fn advance(run: Run, row: u64, bytes: u64) -> Run {
    match run {
        Run::Linear(at) => Run::Linear(at.wrapping_add(bytes)),
        Run::Array(array, x, y) => Run::Array(array, (x + bytes) % row, y + (x + bytes) / row),
    }
}

runtime! {
    all fn cudaMemcpy2DToArray | cudaMemcpy2DToArray_ptds [per_thread] (
        to: ArrayHandle, x: usize, y: usize, from: u64, pitch: usize, width: usize, height: usize, kind: i32,
    ) {
        copy_on(0, per_thread, rows(at(to, x, y), pitched(from, pitch, width)?, width, height), kind, true)
    }

    all fn cudaMemcpy2DToArrayAsync | cudaMemcpy2DToArrayAsync_ptsz [per_thread] (
        to: ArrayHandle, x: usize, y: usize, from: u64, pitch: usize, width: usize, height: usize, kind: i32,
        stream: StreamHandle,
    ) {
        copy_on(stream, per_thread, rows(at(to, x, y), pitched(from, pitch, width)?, width, height), kind, false)
    }

    all fn cudaMemcpy2DFromArray | cudaMemcpy2DFromArray_ptds [per_thread] (
        to: u64, pitch: usize, from: ArrayHandle, x: usize, y: usize, width: usize, height: usize, kind: i32,
    ) {
        copy_on(0, per_thread, rows(pitched(to, pitch, width)?, at(from, x, y), width, height), kind, true)
    }

    all fn cudaMemcpy2DFromArrayAsync | cudaMemcpy2DFromArrayAsync_ptsz [per_thread] (
        to: u64, pitch: usize, from: ArrayHandle, x: usize, y: usize, width: usize, height: usize, kind: i32,
        stream: StreamHandle,
    ) {
        copy_on(stream, per_thread, rows(pitched(to, pitch, width)?, at(from, x, y), width, height), kind, false)
    }

    all fn cudaMemcpy2DArrayToArray | cudaMemcpy2DArrayToArray_ptds [per_thread] (
        to: ArrayHandle, to_x: usize, to_y: usize, from: ArrayHandle, from_x: usize, from_y: usize, width: usize,
        height: usize, kind: i32,
    ) {
        copy_on(0, per_thread, rows(at(to, to_x, to_y), at(from, from_x, from_y), width, height), kind, true)
    }

    all fn cudaMemcpyToArray | cudaMemcpyToArray_ptds [per_thread] (
        to: ArrayHandle, x: usize, y: usize, from: u64, bytes: usize, kind: i32,
    ) {
        copy_run(Run::Array(to, x as u64, y as u64), Run::Linear(from), bytes, kind, (0, per_thread), true)
    }

    all fn cudaMemcpyToArrayAsync | cudaMemcpyToArrayAsync_ptsz [per_thread] (
        to: ArrayHandle, x: usize, y: usize, from: u64, bytes: usize, kind: i32, stream: StreamHandle,
    ) {
        copy_run(Run::Array(to, x as u64, y as u64), Run::Linear(from), bytes, kind, (stream, per_thread), false)
    }

    all fn cudaMemcpyFromArray | cudaMemcpyFromArray_ptds [per_thread] (
        to: u64, from: ArrayHandle, x: usize, y: usize, bytes: usize, kind: i32,
    ) {
        copy_run(Run::Linear(to), Run::Array(from, x as u64, y as u64), bytes, kind, (0, per_thread), true)
    }

    all fn cudaMemcpyFromArrayAsync | cudaMemcpyFromArrayAsync_ptsz [per_thread] (
        to: u64, from: ArrayHandle, x: usize, y: usize, bytes: usize, kind: i32, stream: StreamHandle,
    ) {
        copy_run(Run::Linear(to), Run::Array(from, x as u64, y as u64), bytes, kind, (stream, per_thread), false)
    }

    all fn cudaMemcpyArrayToArray | cudaMemcpyArrayToArray_ptds [per_thread] (
        to: ArrayHandle, to_x: usize, to_y: usize, from: ArrayHandle, from_x: usize, from_y: usize, bytes: usize,
        kind: i32,
    ) {
        let to = Run::Array(to, to_x as u64, to_y as u64);
        copy_run(to, Run::Array(from, from_x as u64, from_y as u64), bytes, kind, (0, per_thread), true)
    }
}

fn pitched(at: u64, pitch: usize, width: usize) -> Result<Plane> {
    if pitch < width { Err(Code::INVALID_PITCH) } else { Ok(Plane::pitched(at, pitch as u64)) }
}
