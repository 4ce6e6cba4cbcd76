// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fills of linear memory with a byte.

use crate::abi::runtime::{Extent, PitchedPtr, StreamHandle};
use crate::core::copy::Fill;
use crate::core::{Code, Result};
use crate::rt::api::runtime;
use crate::rt::with;

fn fill_on(
    stream: StreamHandle,
    per_thread: bool,
    at: u64,
    pitch: u64,
    value: i32,
    extent: [u64; 2],
) -> Result<()> {
    if extent[1] > 1 && pitch < extent[0] {
        return Err(Code::INVALID_PITCH);
    }
    with(|core| {
        let stream = core.stream(stream, per_thread)?;
        let value = u32::from(value as u8);
        core.fill(stream, Fill { at, pitch, value, element: 1, width: extent[0], height: extent[1] })
    })
}

/// Slice by slice, unless slices follow each other without a gap.
fn fill_3d(stream: StreamHandle, per_thread: bool, to: PitchedPtr, value: i32, extent: Extent) -> Result<()> {
    let Extent { width, height, depth } = extent;
    if width == 0 || height == 0 || depth == 0 {
        return Ok(());
    }
    let (pitch, rows) = (to.pitch as u64, height as u64);
    if height == to.ysize || depth == 1 {
        let all = rows.checked_mul(depth as u64).ok_or(Code::INVALID_VALUE)?;
        return fill_on(stream, per_thread, to.ptr, pitch, value, [width as u64, all]);
    }
    let slice = pitch.checked_mul(to.ysize as u64).ok_or(Code::INVALID_VALUE)?;
    (0..depth as u64).try_for_each(|z| {
        let at =
            z.checked_mul(slice).and_then(|offset| to.ptr.checked_add(offset)).ok_or(Code::INVALID_VALUE)?;
        fill_on(stream, per_thread, at, pitch, value, [width as u64, rows])
    })
}

runtime! {
    all fn cudaMemset | cudaMemset_ptds [per_thread] (at: u64, value: i32, bytes: usize) {
        fill_on(0, per_thread, at, bytes as u64, value, [bytes as u64, 1])
    }

    all fn cudaMemsetAsync | cudaMemsetAsync_ptsz [per_thread] (at: u64, value: i32, bytes: usize, stream: StreamHandle) {
        fill_on(stream, per_thread, at, bytes as u64, value, [bytes as u64, 1])
    }

    all fn cudaMemset2D | cudaMemset2D_ptds [per_thread] (
        at: u64, pitch: usize, value: i32, width: usize, height: usize,
    ) {
        fill_on(0, per_thread, at, pitch as u64, value, [width as u64, height as u64])
    }

    all fn cudaMemset2DAsync | cudaMemset2DAsync_ptsz [per_thread] (
        at: u64, pitch: usize, value: i32, width: usize, height: usize, stream: StreamHandle,
    ) {
        fill_on(stream, per_thread, at, pitch as u64, value, [width as u64, height as u64])
    }

    all fn cudaMemset3D | cudaMemset3D_ptds [per_thread] (to: PitchedPtr, value: i32, extent: Extent) {
        fill_3d(0, per_thread, to, value, extent)
    }

    all fn cudaMemset3DAsync | cudaMemset3DAsync_ptsz [per_thread] (
        to: PitchedPtr, value: i32, extent: Extent, stream: StreamHandle,
    ) {
        fill_3d(stream, per_thread, to, value, extent)
    }
}
