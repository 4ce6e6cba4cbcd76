// SPDX-License-Identifier: MIT OR Apache-2.0
//! Special registers, tests of addresses, and calls of the texture unit.

use warpwatt_isa::{Op, SReg, Space, Sub, Uop, window};

use crate::cta::{Block, Warp};
use crate::fault::{AccessKind, FaultKind};
use crate::image::Code;
use crate::lanes::Row;
use crate::machine::{Event, Machine, Now};
use crate::port::GlobalPort;
use crate::record::Access;
use crate::rows::lanes_of;
use crate::texture::{self, Near, TextureArgs, TextureFault, Trace, Untraced};

impl<P: GlobalPort> Machine<'_, P> {
    pub(crate) unsafe fn special_register(
        &mut self,
        warp: &mut Warp,
        block: &Block,
        code: &Code,
        uop: &Uop,
        mask: u32,
    ) {
        let grid = self.grid;
        let Sub::SReg(sreg) = uop.sub else { return };
        let same = |value: u32| Row([value; 32]);
        let per_lane = |f: fn(u32) -> u32| Row(std::array::from_fn(|lane| f(lane as u32)));
        let Now { cycle, nanoseconds } = self.tally.now.unwrap_or_else(|| {
            // One instruction is one nanosecond of device time: monotone, and the same in every run.
            Now { cycle: warp.issued, nanoseconds: self.tally.elapsed + warp.issued }
        });
        let row = match sreg {
            SReg::TidX => *grid.tid(warp.index, 0),
            SReg::TidY => *grid.tid(warp.index, 1),
            SReg::TidZ => *grid.tid(warp.index, 2),
            SReg::CtaidX => same(block.id[0]),
            SReg::CtaidY => same(block.id[1]),
            SReg::CtaidZ => same(block.id[2]),
            SReg::LaneId => per_lane(|lane| lane),
            SReg::WarpId => same(block.first_warp + warp.index),
            SReg::NWarpId => same(grid.sm.warps),
            SReg::SmId => same(block.slot % grid.sm.sms.max(1)),
            SReg::NSmId => same(grid.sm.sms),
            SReg::GridIdLo => same(grid.grid_id as u32),
            SReg::GridIdHi => same((grid.grid_id >> 32) as u32),
            SReg::LaneMaskEq => per_lane(|lane| 1 << lane),
            SReg::LaneMaskLt => per_lane(|lane| (1 << lane) - 1),
            SReg::LaneMaskLe => per_lane(|lane| u32::MAX >> (31 - lane)),
            SReg::LaneMaskGt => per_lane(|lane| !(u32::MAX >> (31 - lane))),
            SReg::LaneMaskGe => per_lane(|lane| u32::MAX << lane),
            SReg::ClockLo => same(cycle as u32),
            SReg::ClockHi => same((cycle >> 32) as u32),
            SReg::GlobalTimerLo => same(nanoseconds as u32),
            SReg::GlobalTimerHi => same((nanoseconds >> 32) as u32),
            SReg::DynamicSmemSize => same(grid.dynamic_shared),
            SReg::TotalSmemSize => same(grid.shared_bytes),
            SReg::Zero => same(0),
        };
        // SAFETY: the destination was checked when the program was decoded.
        let dst = unsafe { &mut (*warp.rows.add(code.dst as usize)).0 };
        if mask == !0 {
            *dst = row.0;
        } else {
            lanes_of(mask).for_each(|lane| dst[lane] = row.0[lane]);
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
