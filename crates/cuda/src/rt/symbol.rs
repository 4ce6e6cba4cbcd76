// SPDX-License-Identifier: MIT OR Apache-2.0
//! Variables of device code, which host code names by the address of its own variable of the same name.

use crate::abi::runtime::StreamHandle;
use crate::core::copy::{Copy, Direction};
use crate::core::{Code, Core, Result};
use crate::rt::api::{put, runtime};
use crate::rt::copy::direction;
use crate::rt::{registry, with};

/// The address of a part of a variable.
pub(super) fn part(core: &mut Core, symbol: u64, offset: usize, bytes: usize) -> Result<u64> {
    let (at, size) = registry::variable(core, symbol)?;
    let end = (offset as u64).checked_add(bytes as u64).ok_or(Code::INVALID_VALUE)?;
    if end <= size { Ok(at + offset as u64) } else { Err(Code::INVALID_VALUE) }
}

/// A copy whose `symbol_is` end is a variable, and whose kind must say so.
fn copy_on(
    stream: StreamHandle,
    per_thread: bool,
    (symbol, offset, bytes): (u64, usize, usize),
    other: u64,
    kind: i32,
    (to_symbol, wait): (bool, bool),
) -> Result<()> {
    let direction = direction(kind)?;
    let fits = match direction {
        Direction::HostToDevice => to_symbol,
        Direction::DeviceToHost => !to_symbol,
        Direction::DeviceToDevice | Direction::Any => true,
        Direction::HostToHost => false,
    };
    if !fits {
        return Err(Code::INVALID_COPY_DIRECTION);
    }
    with(|core| {
        let at = part(core, symbol, offset, bytes)?;
        let (to, from) = if to_symbol { (at, other) } else { (other, at) };
        let stream = core.stream(stream, per_thread)?;
        core.copy(stream, Copy::flat(to, from, bytes as u64), direction, wait)
    })
}

runtime! {
    all fn cudaGetSymbolAddress(place: *mut u64, symbol: u64) unsafe {
        let (at, _) = with(|core| registry::variable(core, symbol))?;
        put(place, at)
    }

    all fn cudaGetSymbolSize(place: *mut usize, symbol: u64) unsafe {
        let (_, bytes) = with(|core| registry::variable(core, symbol))?;
        put(place, bytes as usize)
    }

    all fn cudaMemcpyToSymbol | cudaMemcpyToSymbol_ptds [per_thread] (
        symbol: u64, from: u64, bytes: usize, offset: usize, kind: i32,
    ) {
        copy_on(0, per_thread, (symbol, offset, bytes), from, kind, (true, true))
    }

    all fn cudaMemcpyToSymbolAsync | cudaMemcpyToSymbolAsync_ptsz [per_thread] (
        symbol: u64, from: u64, bytes: usize, offset: usize, kind: i32, stream: StreamHandle,
    ) {
        copy_on(stream, per_thread, (symbol, offset, bytes), from, kind, (true, false))
    }

    all fn cudaMemcpyFromSymbol | cudaMemcpyFromSymbol_ptds [per_thread] (
        to: u64, symbol: u64, bytes: usize, offset: usize, kind: i32,
    ) {
        copy_on(0, per_thread, (symbol, offset, bytes), to, kind, (false, true))
    }

    all fn cudaMemcpyFromSymbolAsync | cudaMemcpyFromSymbolAsync_ptsz [per_thread] (
        to: u64, symbol: u64, bytes: usize, offset: usize, kind: i32, stream: StreamHandle,
    ) {
        copy_on(stream, per_thread, (symbol, offset, bytes), to, kind, (false, false))
    }
}
