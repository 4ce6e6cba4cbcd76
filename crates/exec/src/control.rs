// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calls, returns, indirect jumps, exits of threads, barriers of the block and waits of the warp.

use smallvec::SmallVec;
use warpwatt_isa::{BarKind, NO_PC, Sub};

use crate::barrier::BARRIERS;
use crate::cta::{Block, Warp};
use crate::fault::FaultKind;
use crate::image::UopKind;
use crate::machine::{Event, Machine};
use crate::port::GlobalPort;
use crate::rows::lanes_of;
use crate::split::{Path, Split, Step, Wait};

impl<P: GlobalPort> Machine<'_, P> {
    /// Executes a control operation for the lanes of `mask`, which is not empty.
    pub(crate) unsafe fn control(&mut self, warp: &mut Warp, block: &mut Block, pc: u32, mask: u32) -> Event {
        let code = &self.grid.image.code[pc as usize];
        let active = warp.splits.cur.mask;
        let rest = Path { pc: pc + 1, mask: active & !mask, step: Step::Jump };
        match code.kind {
            UopKind::Call if mask == active => {
                warp.splits.call(code.target, pc + 1);
            }
            UopKind::Call => {
                let call = Path { pc: code.target, mask, step: Step::Call(pc + 1) };
                warp.splits.fork(&[rest, call], pc + 1);
            }
            UopKind::Ret if mask == active => {
                if !warp.splits.ret() {
                    return self.end_lanes(warp, block, pc, mask);
                }
            }
            UopKind::Ret => match warp.splits.cur.frames.last() {
                Some(&to) => {
                    self.tally.divergent_branches += 1;
                    warp.splits.fork(&[Path { pc: to, mask, step: Step::Return }, rest], NO_PC);
                }
                None => return self.end_lanes(warp, block, pc, mask),
            },
            UopKind::Exit => return self.end_lanes(warp, block, pc, mask),
            // SAFETY: as the caller promises (see `Machine`).
            UopKind::Brx | UopKind::CallInd => return unsafe { self.indirect(warp, block, pc, mask) },
            // SAFETY: as the caller promises (see `Machine`).
            UopKind::Bar => return unsafe { self.barrier(warp, block, pc, mask) },
            // SAFETY: as the caller promises (see `Machine`).
            UopKind::WarpSync => return unsafe { self.warp_sync(warp, block, pc, mask) },
            UopKind::Nanosleep => {
                warp.splits.go(pc + 1);
                if warp.splits.cur.mask != 0 && warp.splits.cur.mask != warp.splits.live {
                    warp.splits.give_way();
                }
                return Event::Yield;
            }
            _ => warp.splits.go(pc + 1),
        }
        if warp.splits.cur.mask == 0 { Event::Blocked } else { Event::Go }
    }

    fn end_lanes(&mut self, warp: &mut Warp, block: &mut Block, pc: u32, mask: u32) -> Event {
        let last = block.live_threads == mask.count_ones();
        if let Some(event) = self.due_finding(warp, block, last) {
            return event;
        }
        warp.splits.exit(mask, pc + 1);
        block.live_threads -= mask.count_ones();
        block.live_warps -= u32::from(warp.is_done());
        self.grant_collectives(warp, block).unwrap_or(Event::Exited)
    }

    /// Jumps and calls whose target is in a register: the lanes take one path for each target.
    unsafe fn indirect(&mut self, warp: &mut Warp, block: &mut Block, pc: u32, mask: u32) -> Event {
        let image = self.grid.image;
        let code = &image.code[pc as usize];
        let call = code.kind == UopKind::CallInd;
        let mut paths: SmallVec<[Path; 8]> = SmallVec::new();
        let rest = warp.splits.cur.mask & !mask;
        if rest != 0 {
            paths.push(Path { pc: pc + 1, mask: rest, step: Step::Jump });
        }
        for lane in lanes_of(mask) {
            // SAFETY: operands were checked when the program was decoded.
            let (low, high) = unsafe {
                let row = self.source(warp, code, 0);
                ((*row).0[lane], if call { (*row.add(1)).0[lane] } else { 0 })
            };
            let value = u64::from(low) | u64::from(high) << 32;
            let target = match call {
                true => image.function_at(value),
                false => image.program().tables[code.target as usize].get(low as usize).copied(),
            };
            let Some(target) = target else {
                let detail = match call {
                    true => format!("0x{value:x} is not the address of a function that this kernel can call"),
                    false => format!("the jump table has no entry {value}"),
                };
                return self.raise(warp, block, pc, FaultKind::InvalidPc, 1 << lane, detail);
            };
            let step = if call { Step::Call(pc + 1) } else { Step::Jump };
            match paths.iter_mut().find(|path| path.pc == target && path.step == step) {
                Some(path) => path.mask |= 1 << lane,
                None => paths.push(Path { pc: target, mask: 1 << lane, step }),
            }
        }
        match (paths.as_slice(), call) {
            ([path], true) => warp.splits.call(path.pc, pc + 1),
            ([path], false) => warp.splits.go(path.pc),
            _ => {
                self.tally.divergent_branches += 1;
                warp.splits.fork(&paths, if call { pc + 1 } else { code.reconv });
            }
        }
        if warp.splits.cur.mask == 0 { Event::Blocked } else { Event::Go }
    }

    unsafe fn barrier(&mut self, warp: &mut Warp, block: &mut Block, pc: u32, mask: u32) -> Event {
        if let Some(event) = self.due_finding(warp, block, false) {
            return event;
        }
        let image = self.grid.image;
        let (code, uop) = (&image.code[pc as usize], &image.uops[pc as usize]);
        let lane = mask.trailing_zeros() as usize;
        // SAFETY: operands were checked when the program was decoded.
        let (number, threads) =
            unsafe { ((*self.source(warp, code, 0)).0[lane], (*self.source(warp, code, 1)).0[lane]) };
        if number as usize >= BARRIERS {
            let detail = format!("barrier {number}; a block has {BARRIERS}");
            return self.raise(warp, block, pc, FaultKind::InvalidBarrier, mask, detail);
        }
        if threads % 32 != 0 {
            let detail =
                format!("barrier {number} for {threads} threads, which is not a multiple of the warp size");
            return self.raise(warp, block, pc, FaultKind::InvalidBarrier, mask, detail);
        }
        let Sub::Bar(kind) = uop.sub else {
            let detail = format!("this machine does not have `{uop}`");
            return self.raise(warp, block, pc, FaultKind::Unsupported, mask, detail);
        };
        if !warp.splits.per_thread && warp.splits.broken {
            if warp.splits.cur.mask != warp.splits.live {
                return self.gather(warp, pc, mask);
            }
            warp.splits.unite();
        }
        let values = match kind {
            BarKind::Sync | BarKind::Arrive => None,
            _ => {
                let flip = u32::from(code.psrc_neg & 1).wrapping_neg();
                let holding = (warp.preds[usize::from(code.psrc[0])] ^ flip) & mask;
                Some((holding.count_ones(), (mask & !holding).count_ones()))
            }
        };
        let arriving = if warp.splits.per_thread { mask.count_ones() } else { 32 };
        block.barriers[number as usize].arrive(arriving, threads, values);
        block.reached |= 1 << number;
        if kind == BarKind::Arrive {
            warp.splits.go(pc + 1);
            return Event::Barrier;
        }
        let skipping = warp.splits.cur.mask & !mask;
        if warp.splits.per_thread && skipping != 0 {
            warp.splits.set_aside(skipping, pc + 1);
        }
        warp.splits.block(pc + 1, Wait::Barrier(number as u8));
        Event::Barrier
    }

    /// At a barrier for whole warps, after lanes were released early from a join: the current split waits here for all others.
    fn gather(&mut self, warp: &mut Warp, pc: u32, mask: u32) -> Event {
        let all = warp.splits.live;
        let here = |split: &Split| split.wait == Wait::WarpSync(all);
        let present = warp.splits.others.iter().filter(|split| here(split));
        if present.fold(warp.splits.cur.mask, |lanes, split| lanes | split.mask) == all {
            warp.splits.wake(Wait::WarpSync(all));
            warp.splits.unite();
        } else {
            warp.splits.block(pc, Wait::WarpSync(all));
        }
        // It is executed, and counted, when the warp is complete.
        let count = &mut self.counts[pc as usize];
        count.issues -= 1;
        count.lanes -= u64::from(mask.count_ones());
        warp.issued -= 1;
        if warp.splits.cur.mask == 0 { Event::Blocked } else { Event::Go }
    }
}
