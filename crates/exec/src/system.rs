// SPDX-License-Identifier: MIT OR Apache-2.0
//! Services that programs get from CUDA's device runtime: printf, malloc, assert, the barrier of a cooperative grid.
//!
//! Arguments lie in local memory as C would lay out a structure of them, each at its natural alignment.

use warpwatt_isa::{Sub, SysFn};
use warpwatt_memory::{HeapOrigin, MemoryError};

use crate::cta::{Block, Warp};
use crate::fault::FaultKind;
use crate::machine::{Event, Machine};
use crate::port::GlobalPort;
use crate::printf::{self, Arguments};
use crate::rows::lanes_of;
use crate::split::Wait;

/// Longest text that is read from a kernel.
const MAX_TEXT: usize = 1 << 16;

/// Variable arguments of one lane's `vprintf`.
struct LaneArguments<'m, 'a, P> {
    machine: &'m Machine<'a, P>,
    warp: &'m Warp,
    block: &'m Block,
    lane: usize,
    /// Generic address of the next one.
    at: u64,
}

impl<P: GlobalPort> Arguments for LaneArguments<'_, '_, P> {
    fn next(&mut self, bytes: u64) -> Option<u64> {
        let at = self.at.checked_next_multiple_of(bytes)?;
        self.at = at + bytes;
        (0..bytes).try_fold(0, |value, i| {
            let byte = self.machine.generic_byte(self.warp, self.block, self.lane, at + i)?;
            Some(value | u64::from(byte) << (8 * i))
        })
    }

    fn text(&mut self, address: u64, limit: usize) -> Option<Vec<u8>> {
        self.machine.text(self.warp, self.block, self.lane, address, limit)
    }
}

impl<'a, P: GlobalPort> Machine<'a, P> {
    /// The string at a generic address.
    fn text(&self, warp: &Warp, block: &Block, lane: usize, address: u64, limit: usize) -> Option<Vec<u8>> {
        let mut text = Vec::new();
        while text.len() < limit.min(MAX_TEXT) {
            match self.generic_byte(warp, block, lane, address.wrapping_add(text.len() as u64))? {
                0 => break,
                byte => text.push(byte),
            }
        }
        Some(text)
    }

    /// `bytes` bytes of a lane's argument area.
    fn argument(&self, warp: &Warp, pc: u32, lane: usize, offset: u32, bytes: u32) -> Option<u64> {
        let code = &self.grid.image.code[pc as usize];
        // SAFETY: operands were checked when the program was decoded.
        let base = unsafe { (*self.source(warp, code, 0)).0[lane] };
        let at = base.wrapping_add(code.off as u32).checked_add(offset)?;
        (0..bytes).try_fold(0, |value, i| {
            Some(value | u64::from(warp.local.byte(lane, at.checked_add(i)?)?) << (8 * i))
        })
    }

    fn answer(&mut self, warp: &mut Warp, pc: u32, lane: usize, value: u64) {
        let image = self.grid.image;
        let (code, words) = (&image.code[pc as usize], image.uops[pc as usize].dst_words());
        for word in 0..words as usize {
            // SAFETY: the destination was checked when the program was decoded.
            unsafe { (*warp.rows.add(code.dst as usize + word)).0[lane] = (value >> (32 * word)) as u32 };
        }
    }

    pub(crate) fn system(&mut self, warp: &mut Warp, block: &mut Block, pc: u32, mask: u32) -> Event {
        let Sub::Sys(function) = self.grid.image.uops[pc as usize].sub else { return self.advance(warp, pc) };
        if function == SysFn::GridSync {
            return self.grid_sync(warp, pc, mask);
        }
        // The others access memory after everything issued before them has taken effect.
        if function != SysFn::GridHandle && self.port.memory_mut().is_none() {
            return Event::Deferred;
        }
        for lane in lanes_of(mask) {
            let event = match function {
                SysFn::Vprintf => self.print(warp, block, pc, lane),
                SysFn::Malloc => {
                    let Some(size) = self.argument(warp, pc, lane, 0, 8) else {
                        return self.raise_stack(warp, block, pc, lane);
                    };
                    let origin =
                        HeapOrigin { grid: self.grid.grid_id, origin: self.origin(warp, block, pc, lane) };
                    let address = self.port.memory_mut().map_or(0, |memory| memory.heap_alloc(size, origin));
                    self.tally.watch.changed = true;
                    self.answer(warp, pc, lane, address);
                    Event::Go
                }
                SysFn::Free => {
                    let Some(address) = self.argument(warp, pc, lane, 0, 8) else {
                        return self.raise_stack(warp, block, pc, lane);
                    };
                    self.forget_windows();
                    self.tally.watch.changed = true;
                    match self.port.memory_mut().map(|memory| memory.heap_free(address)) {
                        Some(Ok(())) | None => Event::Go,
                        Some(Err(error)) => {
                            let kind = match error {
                                MemoryError::Freed { .. } => FaultKind::DoubleFree,
                                _ => FaultKind::InvalidFree,
                            };
                            self.raise(warp, block, pc, kind, 1 << lane, error.to_string())
                        }
                    }
                }
                SysFn::AssertFail => self.assert_failed(warp, block, pc, lane),
                SysFn::GridHandle => {
                    self.answer(warp, pc, lane, u64::from(self.grid.cooperative));
                    Event::Go
                }
                SysFn::GridSync => Event::Go,
            };
            if event == Event::Fault {
                return event;
            }
        }
        self.advance(warp, pc)
    }

    fn print(&mut self, warp: &mut Warp, block: &Block, pc: u32, lane: usize) -> Event {
        let format = self.argument(warp, pc, lane, 0, 8);
        let Some((format, at)) = format.zip(self.argument(warp, pc, lane, 8, 8)) else {
            return self.raise_stack(warp, block, pc, lane);
        };
        let mut arguments = LaneArguments { machine: self, warp, block, lane, at };
        let text =
            arguments.text(format, MAX_TEXT).and_then(|format| printf::format(&format, &mut arguments));
        let Some((text, used)) = text else {
            let detail = format!("printf: the format at 0x{format:x} or one of its arguments cannot be read");
            return self.raise(warp, block, pc, FaultKind::OutOfBounds, 1 << lane, detail);
        };
        self.services.print(&text);
        self.tally.watch.changed = true;
        self.answer(warp, pc, lane, used);
        Event::Go
    }

    fn assert_failed(&mut self, warp: &mut Warp, block: &Block, pc: u32, lane: usize) -> Event {
        // (message: u64, file: u64, line: u32, function: u64, char_size: u64)
        let text = |offset| {
            let address = self.argument(warp, pc, lane, offset, 8)?;
            Some(String::from_utf8_lossy(&self.text(warp, block, lane, address, MAX_TEXT)?).into_owned())
        };
        let unknown = || "?".to_string();
        let message = text(0).unwrap_or_else(unknown);
        let file = text(8).unwrap_or_else(unknown);
        let line = self.argument(warp, pc, lane, 16, 4).unwrap_or(0);
        let function = text(24).unwrap_or_else(unknown);
        let detail = format!("{file}:{line}: {function}: assertion `{message}` failed");
        self.raise(warp, block, pc, FaultKind::Assert, 1 << lane, detail)
    }

    /// The barrier of the grid. Only a cooperative launch can have one; elsewhere it returns an error at once.
    fn grid_sync(&mut self, warp: &mut Warp, pc: u32, mask: u32) -> Event {
        let refused = u64::from(!self.grid.cooperative);
        for lane in lanes_of(mask) {
            self.answer(warp, pc, lane, refused);
        }
        if refused != 0 {
            return self.advance(warp, pc);
        }
        let skipping = warp.splits.cur.mask & !mask;
        if skipping != 0 {
            warp.splits.set_aside(skipping, pc + 1);
        }
        warp.grid_syncs += 1;
        warp.splits.block(pc + 1, Wait::Grid);
        Event::Grid
    }
}
