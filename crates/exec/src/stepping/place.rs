// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the state of one warp lies, found once when its block starts: instructions that compute on registers, and branches, are executed
//! without looking up kernel, block and warp for each of them.

use super::{Computed, Prepared, Resident, Stepper};
use crate::cta::Warp;
use crate::image::{Code, UopKind};
use crate::lanes::Row;
use crate::machine::compute;
use crate::stats::PcCount;
use warpwatt_isa::Uop;

/// The parts of a warp of a resident block that instructions without memory touch.
///
/// It is valid as long as the block is in its slot, and the launch and the stepper exist that it was made with. They may move, since all that it
/// points at is on the heap.
#[derive(Clone, Copy)]
pub struct WarpPlace {
    warp: *mut Warp,
    code: *const Code,
    uops: *const Uop,
    counts: *mut PcCount,
    pool: *mut Row,
}

// SAFETY: what it points at belongs to the SM, or is only read, and goes from thread to thread with it.
unsafe impl Send for WarpPlace {}
// SAFETY: nothing can be done with a shared one.
unsafe impl Sync for WarpPlace {}

impl Default for WarpPlace {
    /// The place of no warp.
    fn default() -> WarpPlace {
        WarpPlace {
            warp: std::ptr::null_mut(),
            code: std::ptr::null(),
            uops: std::ptr::null(),
            counts: std::ptr::null_mut(),
            pool: std::ptr::null_mut(),
        }
    }
}

impl Stepper {
    /// The place of a warp of a block that has started.
    pub fn place(&mut self, prepared: &Prepared, cta: &mut Resident, warp: usize) -> WarpPlace {
        self.check(prepared, cta);
        let grid = &prepared.grid;
        WarpPlace {
            warp: &raw mut cta.cta.warps[warp],
            code: grid.image.code.as_ptr(),
            uops: grid.image.uops.as_ptr(),
            counts: self.state.counts.as_mut_ptr(),
            pool: grid.pool(),
        }
    }
}

impl WarpPlace {
    /// Executes the instruction at `pc`, which is the warp's next one and has active lanes, if it computes on registers alone, as most do. Otherwise nothing
    /// happens, and [`Stepper::step_with_memory`] is to be called.
    ///
    /// # Safety
    /// The place must be valid, and nothing of the warp and the stepper borrowed. `pc` must be an instruction of the program.
    #[inline(always)]
    pub unsafe fn compute(&self, pc: u32) -> Option<Computed> {
        // SAFETY: as the caller promises.
        unsafe {
            let code = &*self.code.add(pc as usize);
            let warp = &mut *self.warp;
            debug_assert_eq!(pc, warp.splits.cur.pc);
            let active = warp.splits.cur.mask;
            debug_assert_ne!(active, 0);
            if code.kind != UopKind::Alu {
                return None;
            }
            let mask = active & (warp.preds.get_unchecked(usize::from(code.guard)) ^ code.guard_flip);
            let lanes = mask.count_ones();
            self.count(pc, lanes);
            warp.issued += 1;
            if mask != 0 {
                compute(self.pool, warp, code, &*self.uops.add(pc as usize), mask);
            }
            let next = match warp.splits.go_on(pc + 1) {
                true => Some(pc + 1),
                false => self.next_pc(),
            };
            Some(Computed { pc, active, mask, lanes, next })
        }
    }

    /// Executes the instruction at `pc` if it is a branch that all active lanes take or none of them, and the lanes do not spin. If not,
    /// nothing happens, and [`Stepper::step_with_memory`] is to be called.
    ///
    /// # Safety
    /// As for [`WarpPlace::compute`].
    #[inline(always)]
    pub unsafe fn branch(&self, pc: u32) -> Option<Computed> {
        // SAFETY: as the caller promises.
        unsafe {
            let code = &*self.code.add(pc as usize);
            let warp = &mut *self.warp;
            debug_assert_eq!(pc, warp.splits.cur.pc);
            let active = warp.splits.cur.mask;
            if code.kind != UopKind::Bra || active == 0 {
                return None;
            }
            let mask = active & (warp.preds.get_unchecked(usize::from(code.guard)) ^ code.guard_flip);
            let parts = mask != 0 && mask != active;
            // A part of a warp that goes back may spin.
            if parts || mask != 0 && code.target <= pc && active != warp.splits.live {
                return None;
            }
            let lanes = if active == u32::MAX { 32 } else { active.count_ones() };
            self.count(pc, lanes);
            warp.issued += 1;
            if mask == 0 {
                warp.splits.cur.spins &= code.target > pc;
            }
            warp.splits.go(if mask != 0 { code.target } else { pc + 1 });
            let cur = &warp.splits.cur;
            let lanes = if mask != 0 { lanes } else { 0 };
            Some(Computed { pc, active, mask, lanes, next: (cur.mask != 0).then_some(cur.pc) })
        }
    }

    /// The lanes that will execute the instruction at `pc`, which is the warp's next one.
    ///
    /// # Safety
    /// As for [`WarpPlace::compute`].
    #[inline(always)]
    pub unsafe fn next_mask(&self, pc: u32) -> u32 {
        // SAFETY: as the caller promises.
        unsafe {
            let (code, warp) = (&*self.code.add(pc as usize), &*self.warp);
            warp.splits.cur.mask & (warp.preds.get_unchecked(usize::from(code.guard)) ^ code.guard_flip)
        }
    }

    /// The next instruction of the warp; `None` when all its lanes wait or have exited.
    ///
    /// # Safety
    /// The place must be valid, and the warp not borrowed.
    #[inline(always)]
    pub unsafe fn next_pc(&self) -> Option<u32> {
        // SAFETY: as the caller promises.
        let cur = unsafe { &(*self.warp).splits.cur };
        (cur.mask != 0).then_some(cur.pc)
    }

    /// # Safety
    /// As for [`WarpPlace::compute`].
    #[inline(always)]
    unsafe fn count(&self, pc: u32, lanes: u32) {
        // SAFETY: there is a count for every instruction of the program.
        let count = unsafe { &mut *self.counts.add(pc as usize) };
        count.issues += 1;
        count.lanes += u64::from(lanes);
    }
}
