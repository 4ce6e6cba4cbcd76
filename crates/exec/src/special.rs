// SPDX-License-Identifier: MIT OR Apache-2.0
//! Special registers, tests of addresses, and calls of the texture unit.

use warpwatt_isa::{Op, SReg, Space, Sub, Uop, window};

use crate::cta::{Block, Warp};
use crate::fault::{AccessKind, FaultKind};
use crate::image::Code;
use crate::machine::{Event, Machine, Now};
use crate::port::GlobalPort;
use crate::record::Access;
use crate::rows::lanes_of;
use crate::texture::{self, Near, TextureArgs, TextureFault, Trace, Untraced};

/// Writes the lanes of a mask, without a branch for each.
#[inline(always)]
fn put(dst: &mut [u32; 32], mask: u32, value: u32) {
    for (lane, dst) in dst.iter_mut().enumerate() {
        *dst = if mask >> lane & 1 != 0 { value } else { *dst };
    }
}

/// What a special register holds.
enum Value {
    Same(u32),
    Each(fn(u32) -> u32),
}

impl<P: GlobalPort> Machine<'_, P> {
    /// Inlined, so that it is compiled with the host's vector instructions where its caller is.
    #[inline(always)]
    pub(crate) unsafe fn special_register(
        &mut self,
        warp: &mut Warp,
        block: &Block,
        code: &Code,
        uop: &Uop,
        mask: u32,
    ) {
        let Sub::SReg(sreg) = uop.sub else { return };
        // SAFETY: the destination was checked when the program was decoded.
        let dst = unsafe { &mut (*warp.rows.add(code.dst as usize)).0 };
        match self.special_value(warp, block, sreg) {
            Value::Same(value) => put(dst, mask, value),
            Value::Each(f) => lanes_of(mask).for_each(|lane| dst[lane] = f(lane as u32)),
        }
    }

    #[inline(always)]
    fn special_value(&self, warp: &Warp, block: &Block, sreg: SReg) -> Value {
        let grid = self.grid;
        let now = || {
            // One instruction is one nanosecond of device time: monotone, and the same in every run.
            let elapsed = Now { cycle: warp.issued, nanoseconds: self.tally.elapsed + warp.issued };
            self.tally.now.unwrap_or(elapsed)
        };
        match sreg {
            SReg::WarpId => Value::Same(block.first_warp + warp.index),
            SReg::NWarpId => Value::Same(grid.sm.warps),
            SReg::SmId => Value::Same(block.slot % grid.sm.sms.max(1)),
            SReg::NSmId => Value::Same(grid.sm.sms),
            SReg::GridIdLo => Value::Same(grid.grid_id as u32),
            SReg::GridIdHi => Value::Same((grid.grid_id >> 32) as u32),
            SReg::LaneMaskEq => Value::Each(|lane| 1 << lane),
            SReg::LaneMaskLt => Value::Each(|lane| (1 << lane) - 1),
            SReg::LaneMaskLe => Value::Each(|lane| u32::MAX >> (31 - lane)),
            SReg::LaneMaskGt => Value::Each(|lane| !(u32::MAX >> (31 - lane))),
            SReg::LaneMaskGe => Value::Each(|lane| u32::MAX << lane),
            SReg::ClockLo => Value::Same(now().cycle as u32),
            SReg::ClockHi => Value::Same((now().cycle >> 32) as u32),
            SReg::GlobalTimerLo => Value::Same(now().nanoseconds as u32),
            SReg::GlobalTimerHi => Value::Same((now().nanoseconds >> 32) as u32),
            SReg::DynamicSmemSize => Value::Same(grid.dynamic_shared),
            SReg::TotalSmemSize => Value::Same(grid.shared_bytes),
            SReg::Zero => Value::Same(0),
            // These have rows, and reading them is a move.
            SReg::TidX
            | SReg::TidY
            | SReg::TidZ
            | SReg::CtaidX
            | SReg::CtaidY
            | SReg::CtaidZ
            | SReg::LaneId => Value::Same(0),
        }
    }

    /// Which lanes' generic addresses lie in a space (`isspacep`).
    pub(crate) unsafe fn is_space(&mut self, warp: &mut Warp, code: &Code, uop: &Uop, mask: u32) {
        let mut inside = 0;
        for lane in lanes_of(mask) {
            // SAFETY: operands were checked when the program was decoded.
            let high = unsafe { (*self.source(warp, code, 0).add(1)).0[lane] };
            let space = match u64::from(high) << 32 {
                window::SHARED => Space::Shared,
                window::LOCAL => Space::Local,
                window::CONST | window::PARAM => Space::Const,
                base if base >= window::GLOBAL => Space::Global,
                _ => Space::Generic,
            };
            let asks_param = uop.mem.space == Space::Const && uop.mem.bank == 0;
            let is_param = u64::from(high) << 32 == window::PARAM;
            let same = space == uop.mem.space && (space != Space::Const || asks_param == is_param);
            inside |= u32::from(same) << lane;
        }
        let pred = &mut warp.preds[usize::from(code.pdst[0])];
        *pred = *pred & !mask | inside;
    }

    pub(crate) unsafe fn texture(&mut self, warp: &mut Warp, block: &Block, pc: u32, mask: u32) -> Event {
        let image = self.grid.image;
        let (code, uop) = (&image.code[pc as usize], &image.uops[pc as usize]);
        // SAFETY: operands were checked when the program was decoded.
        let args = unsafe {
            TextureArgs {
                dst: warp.rows.add(code.dst as usize),
                src: [0, 1, 2, 3].map(|i| self.source(warp, code, i)),
                mask,
            }
        };
        let result = if P::RECORDS {
            let mut texels = std::mem::take(&mut self.tally.record.texels);
            texels.clear();
            // SAFETY: rows of the micro-op's operands are the warp's (see `Machine`).
            let result = unsafe { self.texels(uop, &args, pc, &mut texels) };
            let kind = match uop.op {
                Op::Sust => AccessKind::Store,
                Op::Sured => AccessKind::Atomic,
                _ => AccessKind::Load,
            };
            if result.is_some() {
                self.tally.record.access = Access::Texture { texels: texels.count, kind };
            }
            self.tally.record.texels = texels;
            result
        } else {
            // SAFETY: rows of the micro-op's operands are the warp's (see `Machine`).
            unsafe { self.texels(uop, &args, pc, &mut Untraced) }
        };
        match result {
            Some(Ok(())) => self.advance(warp, pc),
            Some(Err(fault)) => {
                self.raise_access(warp, block, pc, fault.kind, 1 << fault.lane, None, fault.detail)
            }
            None => Event::Deferred,
        }
    }

    /// Reads or writes the texels of an operation; `None` if it writes and memory may not be changed now.
    unsafe fn texels(
        &mut self,
        uop: &Uop,
        args: &TextureArgs,
        pc: u32,
        trace: &mut impl Trace,
    ) -> Option<Result<(), TextureFault>> {
        let near = &mut Near { window: &mut self.windows[pc as usize], level: self.grid.image.level() };
        // SAFETY: the caller guarantees the rows.
        unsafe {
            if !texture::writes(uop) {
                return Some(texture::read(self.port.memory(), uop, args, near, trace));
            }
            let result = texture::write(self.port.memory_mut()?, uop, args, near, trace);
            self.tally.watch.changed = true;
            Some(result)
        }
    }

    /// Forgets the windows of all micro-ops: an allocation was freed.
    pub(crate) fn forget_windows(&mut self) {
        self.windows.fill(crate::machine::NO_WINDOW);
    }

    /// Stops the run because a lane's arguments cannot be read.
    pub(crate) fn raise_stack(&mut self, warp: &Warp, block: &Block, pc: u32, lane: usize) -> Event {
        let detail = "the arguments of a system call lie outside of local memory".to_string();
        self.raise_access(warp, block, pc, FaultKind::StackOverflow, 1 << lane, None, detail)
    }
}
