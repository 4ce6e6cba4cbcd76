// SPDX-License-Identifier: MIT OR Apache-2.0
//! Issue of barriers and of ends: mostly whole warps come to them, which needs little of the executor.

use warpwatt_exec::stepping::StepEvent;

use super::cycle::Epoch;
use super::stall::Stall;
use super::{Slot, Sm};

impl Sm {
    /// Issues a barrier, an end or another of the instructions that the executor tells the outcome of, where no technique acts.
    #[inline(always)]
    pub(super) fn issue_control(&mut self, epoch: &mut Epoch, slot: Slot, pc: u32) -> bool {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the loop without techniques runs only on hosts with these instructions.
        return unsafe { self.issue_control_here(epoch, slot, pc) };
        #[cfg(not(target_arch = "x86_64"))]
        return self.issue_control_here(epoch, slot, pc);
    }

    #[cold]
    #[inline(never)]
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt"))]
    fn issue_control_here(&mut self, epoch: &mut Epoch, slot: Slot, pc: u32) -> bool {
        let turn = &mut epoch.turn;
        let (warp, state) = (&self.warps[slot], &self.homes[slot].state);
        let (timing, block, prepared) = (turn.timing(warp, pc), warp.block, &turn.kernel(warp).prepared);
        let resident = &mut turn.work.shares[warp.kernel as usize].residents[warp.resident as usize];
        // SAFETY: the warp is in its slot, nothing of it is borrowed, and this is an instruction of its program.
        if let Some((lanes, opens)) = unsafe { state.barrier(prepared, resident, warp.index as usize, pc) } {
            self.note_issue(slot, pc, lanes, timing);
            self.start_control(timing, slot, pc, turn.now);
            self.lose_path(slot, turn.now);
            self.wait(slot, Stall::Barrier);
            if opens {
                self.pass_barriers(turn, block as usize, 1);
            }
            return true;
        }
        // SAFETY: as above.
        if let Some(lanes) = unsafe { state.exit(resident, warp.index as usize, pc) } {
            self.note_issue(slot, pc, lanes, timing);
            self.start_control(timing, slot, pc, turn.now);
            match lanes {
                0 => self.go_on(turn, slot, pc),
                _ => self.after_event(turn, slot, StepEvent::Exited),
            }
            return true;
        }
        self.issue_with_memory::<false>(epoch, slot, pc, None)
    }
}
