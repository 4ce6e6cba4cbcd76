// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fills of linear memory with elements of one, two or four bytes, and values written in stream order.

use warpwatt_runtime::Until;

use crate::core::copy::Fill;
use crate::core::memory::Pointed;
use crate::core::{Code, Result};
use crate::driver::{api, with};

/// Rows of elements.
struct Rows {
    pitch: usize,
    width: usize,
    height: usize,
}

fn line(width: usize) -> Rows {
    Rows { pitch: 0, width, height: 1 }
}

/// `wait`: as the functions without `Async` do, where the host could access the memory without synchronising.
fn fill(stream: u64, at: u64, value: u32, element: u8, rows: Rows, wait: bool) -> Result<()> {
    let bytes = rows.width.checked_mul(element.into()).ok_or(Code::INVALID_VALUE)?;
    let pitch = if rows.height == 1 { bytes } else { rows.pitch };
    if pitch < bytes || !pitch.is_multiple_of(element.into()) {
        return Err(Code::INVALID_VALUE);
    }
    let (pitch, width, height) = (pitch as u64, rows.width as u64, rows.height as u64);
    with(|core| {
        let stream = core.stream(stream, false)?;
        core.fill(stream, Fill { at, pitch, value, element, width, height })?;
        let seen = matches!(core.pointed(at), Pointed::Block(block) if block.kind.host_sees());
        if wait && seen && !core.graphs.captures(stream) {
            core.finish(Until::Stream(stream))
        } else {
            Ok(())
        }
    })
}

api! {
    fn cuMemsetD8_v2 [cuMemsetD8_v2_ptds on s] (at: u64, value: u8, count: usize) {
        fill(s, at, value.into(), 1, line(count), true)
    }

    fn cuMemsetD16_v2 [cuMemsetD16_v2_ptds on s] (at: u64, value: u16, count: usize) {
        fill(s, at, value.into(), 2, line(count), true)
    }

    fn cuMemsetD32_v2 [cuMemsetD32_v2_ptds on s] (at: u64, value: u32, count: usize) {
        fill(s, at, value, 4, line(count), true)
    }

    fn cuMemsetD2D8_v2 [cuMemsetD2D8_v2_ptds on s] (at: u64, pitch: usize, value: u8, width: usize, height: usize) {
        fill(s, at, value.into(), 1, Rows { pitch, width, height }, true)
    }

    fn cuMemsetD2D16_v2 [cuMemsetD2D16_v2_ptds on s] (
        at: u64,
        pitch: usize,
        value: u16,
        width: usize,
        height: usize,
    ) {
        fill(s, at, value.into(), 2, Rows { pitch, width, height }, true)
    }

    fn cuMemsetD2D32_v2 [cuMemsetD2D32_v2_ptds on s] (
        at: u64,
        pitch: usize,
        value: u32,
        width: usize,
        height: usize,
    ) {
        fill(s, at, value, 4, Rows { pitch, width, height }, true)
    }

    fn cuMemsetD8Async [cuMemsetD8Async_ptsz: stream] (at: u64, value: u8, count: usize, stream: u64) {
        fill(stream, at, value.into(), 1, line(count), false)
    }

    fn cuMemsetD16Async [cuMemsetD16Async_ptsz: stream] (at: u64, value: u16, count: usize, stream: u64) {
        fill(stream, at, value.into(), 2, line(count), false)
    }

    fn cuMemsetD32Async [cuMemsetD32Async_ptsz: stream] (at: u64, value: u32, count: usize, stream: u64) {
        fill(stream, at, value, 4, line(count), false)
    }

    fn cuMemsetD2D8Async [cuMemsetD2D8Async_ptsz: stream] (
        at: u64,
        pitch: usize,
        value: u8,
        width: usize,
        height: usize,
        stream: u64,
    ) {
        fill(stream, at, value.into(), 1, Rows { pitch, width, height }, false)
    }

    fn cuMemsetD2D16Async [cuMemsetD2D16Async_ptsz: stream] (
        at: u64,
        pitch: usize,
        value: u16,
        width: usize,
        height: usize,
        stream: u64,
    ) {
        fill(stream, at, value.into(), 2, Rows { pitch, width, height }, false)
    }

    fn cuMemsetD2D32Async [cuMemsetD2D32Async_ptsz: stream] (
        at: u64,
        pitch: usize,
        value: u32,
        width: usize,
        height: usize,
        stream: u64,
    ) {
        fill(stream, at, value, 4, Rows { pitch, width, height }, false)
    }

    fn cuStreamWriteValue32 [cuStreamWriteValue32_ptsz: stream] (stream: u64, at: u64, value: u32, _flags: u32) {
        write(stream, at, &[value])
    }

    fn cuStreamWriteValue32_v2 [cuStreamWriteValue32_v2_ptsz: stream] (
        stream: u64,
        at: u64,
        value: u32,
        _flags: u32,
    ) {
        write(stream, at, &[value])
    }

    fn cuStreamWriteValue64 [cuStreamWriteValue64_ptsz: stream] (stream: u64, at: u64, value: u64, _flags: u32) {
        write(stream, at, &[value as u32, (value >> 32) as u32])
    }

    fn cuStreamWriteValue64_v2 [cuStreamWriteValue64_v2_ptsz: stream] (
        stream: u64,
        at: u64,
        value: u64,
        _flags: u32,
    ) {
        write(stream, at, &[value as u32, (value >> 32) as u32])
    }
}

/// Words that appear in stream order.
pub(crate) fn write(stream: u64, at: u64, words: &[u32]) -> Result<()> {
    if !at.is_multiple_of(4 * words.len() as u64) {
        return Err(Code::INVALID_VALUE);
    }
    (words.iter().zip((at..).step_by(4)))
        .try_for_each(|(&word, at)| fill(stream, at, word, 4, line(1), false))
}
