// SPDX-License-Identifier: MIT OR Apache-2.0
//! Loads of a word of global memory in each of 32 lanes, one right behind the other: the most frequent access to global memory. What such a load brings and
//! what it touches follows from the address of its first lane, so that neither offsets of the lanes nor a record of the access are needed.

use warpwatt_memory::DeviceMemory;

use super::{EpochLog, LoadedRun, Stepper, WarpPlace};

#[cfg(target_arch = "x86_64")]
use crate::image::UopKind;
#[cfg(target_arch = "x86_64")]
use crate::port::Shape;

/// Bytes of the words of 32 lanes.
pub(super) const RUN_BYTES: u64 = 128;

impl WarpPlace {
    /// Executes the instruction at `pc` if it is such a load, from the allocation that it accessed last, on a host with vector instructions, and nothing that
    /// the log holds may be near. If not, nothing happens, and [`WarpPlace::access`] is to be called. The stepper must be that of the place, and the log that of
    /// its SM.
    ///
    /// # Safety
    /// As for [`WarpPlace::compute`].
    #[inline(always)]
    pub unsafe fn load_run(
        &self,
        stepper: &Stepper,
        memory: &DeviceMemory,
        log: &EpochLog,
        pc: u32,
    ) -> Option<LoadedRun> {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as the caller promises; the stepper knows what the host has.
        unsafe {
            let code = &*self.code.add(pc as usize);
            if stepper.wide && code.kind == UopKind::LdGlobal && code.shape == Shape::Words(1) {
                return self.load_words(stepper, memory, log, pc);
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = (stepper, memory, log, pc);
        None
    }

    /// [`WarpPlace::load_run`] of an instruction that loads a word in each lane. The host must have AVX2.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn load_words(
        &self,
        stepper: &Stepper,
        memory: &DeviceMemory,
        log: &EpochLog,
        pc: u32,
    ) -> Option<LoadedRun> {
        // SAFETY: as the caller promises; words are read after their addresses were checked against the window.
        unsafe {
            let (code, warp) = (&*self.code.add(pc as usize), &*self.warp);
            let is_known = stepper.generation == memory.generation() && !log.has_atomics();
            if self.next_mask(pc) != !0 || !is_known {
                return None;
            }
            let window = stepper.state.windows.get_unchecked(pc as usize);
            let address = code.source(0, warp.rows, self.pool);
            let (low, high) = (&(*address).0, &(*address.add(1)).0);
            let start = window.guest.wrapping_sub(i64::from(code.off) as u64);
            let first = low[0].wrapping_sub(start as u32);
            // Almost no allocation has addresses with different high words.
            let is_inside = u64::from(start as u32) + window.len <= 1 << 32
                && u64::from(first) + RUN_BYTES <= window.len
                && first.is_multiple_of(4);
            if !is_inside || !crate::wide::are_side_by_side((low, high), (start >> 32) as u32) {
                return None;
            }
            let from = window.host.add(first as usize);
            if log.has_stores() && log.may_hold_run(from.addr()) {
                return None;
            }
            let to = warp.rows.add(code.dst as usize).cast::<[u32; 32]>();
            from.cast::<[u32; 32]>().copy_to_nonoverlapping(to, 1);
            self.count(pc, 32);
            let warp = &mut *self.warp;
            warp.issued += 1;
            let goes_straight_on = warp.splits.go_on(pc + 1) || self.next_pc() == Some(pc + 1);
            Some(LoadedRun { address: window.guest + u64::from(first), goes_straight_on })
        }
    }
}
