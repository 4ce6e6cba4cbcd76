// SPDX-License-Identifier: MIT OR Apache-2.0
//! Operations between the lanes that a member mask names: from sm_70 on they wait until all of these arrive (PTX ISA, "shfl.sync",
//! "vote.sync", "match.sync", "redux.sync", "bar.warp.sync").

use warpwatt_isa::Op;

use crate::cta::{Block, Warp};
use crate::image::UopKind;
use crate::machine::{Event, Machine};
use crate::port::GlobalPort;
use crate::rows::lanes_of;
use crate::split::{Split, Wait};
use crate::turns::merge_alike;

impl<P: GlobalPort> Machine<'_, P> {
    /// The member mask of a lane, which always includes itself.
    unsafe fn member(&self, warp: &Warp, pc: u32, lane: usize) -> u32 {
        let code = &self.grid.image.code[pc as usize];
        // SAFETY: the warp and `pc` belong to this grid (see `Machine`), so the member mask's row is the warp's.
        unsafe { (*self.source(warp, code, usize::from(code.member))).0[lane] | 1 << lane }
    }

    /// The lanes of `mask` with the same members as its lowest one, and these members.
    unsafe fn group(&self, warp: &Warp, pc: u32, mask: u32) -> (u32, u32) {
        // SAFETY: the warp and `pc` belong to this grid (see `Machine`), so the member mask's row is the warp's.
        unsafe {
            let members = self.member(warp, pc, mask.trailing_zeros() as usize);
            let same = lanes_of(mask).filter(|&lane| self.member(warp, pc, lane) == members);
            (same.fold(0, |group, lane| group | 1 << lane), members)
        }
    }

    /// Executes a collective for each group of lanes that name the same members. Shuffles need no groups: they wait for the members,
    /// and can read every lane that is present.
    unsafe fn compute_groups(&mut self, warp: &mut Warp, pc: u32, mask: u32) {
        let image = self.grid.image;
        if image.uops[pc as usize].op == Op::Shfl {
            // SAFETY: the warp and `pc` belong to this grid (see `Machine`), so the member mask's row is the warp's.
            unsafe { self.compute(warp, &image.code[pc as usize], &image.uops[pc as usize], mask) };
            return;
        }
        let mut rest = mask;
        while rest != 0 {
            // SAFETY: the warp and `pc` belong to this grid (see `Machine`), so the member mask's row is the warp's.
            unsafe {
                let (group, _) = self.group(warp, pc, rest);
                self.compute(warp, &image.code[pc as usize], &image.uops[pc as usize], group);
                rest &= !group;
            }
        }
    }

    /// Whether the mask has all lanes that its lanes name.
    unsafe fn is_complete(&self, warp: &Warp, pc: u32, mask: u32) -> bool {
        let live = warp.splits.live;
        // SAFETY: the warp and `pc` belong to this grid (see `Machine`), so the member mask's row is the warp's.
        lanes_of(mask).all(|lane| unsafe { self.member(warp, pc, lane) & live & !mask == 0 })
    }

    pub(crate) unsafe fn collective(
        &mut self,
        warp: &mut Warp,
        block: &mut Block,
        pc: u32,
        mask: u32,
    ) -> Event {
        // SAFETY: the warp and `pc` belong to this grid (see `Machine`), so the member mask's row is the warp's.
        unsafe {
            let code = &self.grid.image.code[pc as usize];
            let members = &(*self.source(warp, code, usize::from(code.member))).0;
            if mask == !0 && members.iter().all(|&members| members == !0) {
                lanes_met(warp, block, !0);
                self.compute(warp, code, &self.grid.image.uops[pc as usize], mask);
                return self.advance(warp, pc);
            }
            if !warp.splits.per_thread || self.is_complete(warp, pc, mask) {
                if let Some(event) = self.check_shuffle(warp, block, pc, mask) {
                    return event;
                }
                self.groups_met(warp, block, pc, mask);
                self.compute_groups(warp, pc, mask);
                return self.advance(warp, pc);
            }
            self.wait_for_members(warp, block, pc, mask)
        }
    }

    pub(crate) unsafe fn warp_sync(
        &mut self,
        warp: &mut Warp,
        block: &mut Block,
        pc: u32,
        mask: u32,
    ) -> Event {
        // SAFETY: the warp and `pc` belong to this grid (see `Machine`), so the member mask's row is the warp's.
        unsafe {
            if !warp.splits.per_thread || self.is_complete(warp, pc, mask) {
                self.groups_met(warp, block, pc, mask);
                return self.advance(warp, pc);
            }
            self.wait_for_members(warp, block, pc, mask)
        }
    }

    /// For checks: the lanes of each group of the mask have synchronised.
    unsafe fn groups_met(&self, warp: &Warp, block: &mut Block, pc: u32, mask: u32) {
        let mut left = if block.shadow.is_some() { mask } else { 0 };
        while left != 0 {
            let lane = left.trailing_zeros();
            // SAFETY: the warp and `pc` belong to this grid (see `Machine`), so the member mask's row is the warp's.
            let group = mask & unsafe { self.member(warp, pc, lane as usize) } | 1 << lane;
            lanes_met(warp, block, group);
            left &= !group;
        }
    }

    /// Lets one group of the current split wait for its members. Lanes whose guard fails, and other groups, become splits of their own.
    unsafe fn wait_for_members(&mut self, warp: &mut Warp, block: &mut Block, pc: u32, mask: u32) -> Event {
        // SAFETY: the warp and `pc` belong to this grid (see `Machine`), so the member mask's row is the warp's.
        let (group, members) = unsafe { self.group(warp, pc, mask) };
        let others = mask & !group;
        // An operation that waits is counted when it is executed.
        let postponed = match self.grid.image.code[pc as usize].kind {
            UopKind::WarpSync => others,
            _ => mask,
        };
        let count = &mut self.counts[pc as usize];
        count.lanes -= u64::from(postponed.count_ones());
        if postponed == mask {
            count.issues -= 1;
            warp.issued -= 1;
        }
        let skipping = warp.splits.cur.mask & !mask;
        if skipping != 0 {
            warp.splits.set_aside(skipping, pc + 1);
        }
        if others != 0 {
            warp.splits.set_aside(others, pc);
        }
        match self.grid.image.code[pc as usize].kind {
            UopKind::WarpSync => warp.splits.block(pc + 1, Wait::WarpSync(members)),
            _ => warp.splits.block(pc, Wait::Collective(members)),
        }
        if let Some(event) = self.grant_collectives(warp, block) {
            return event;
        }
        if warp.splits.cur.mask == 0 { Event::Blocked } else { Event::Go }
    }

    /// Releases all groups of waiting lanes that are complete: by an arrival, or because lanes they named have exited.
    /// Returns the event of a fault that this causes.
    pub(crate) fn grant_collectives(&mut self, warp: &mut Warp, block: &mut Block) -> Option<Event> {
        if !warp.splits.is_waiting() {
            return None;
        }
        let mut index = 0;
        while index < warp.splits.others.len() {
            let Split { pc, wait, .. } = warp.splits.others[index];
            index += 1;
            // Lanes synchronise at any WARPSYNC of the program; other operations must be the same instruction.
            let (members, anywhere) = match wait {
                Wait::Collective(members) => (members, false),
                Wait::WarpSync(members) => (members, true),
                _ => continue,
            };
            let belongs = |split: &Split| split.wait == wait && (anywhere || split.pc == pc);
            let present = warp
                .splits
                .others
                .iter()
                .filter(|split| belongs(split))
                .fold(0, |all, split| all | split.mask);
            if members & warp.splits.live & !present != 0 {
                continue;
            }
            lanes_met(warp, block, members & present);
            if let Some(event) = self.check_shuffle(warp, block, pc, present) {
                return Some(event);
            }
            if !anywhere {
                let image = self.grid.image;
                // SAFETY: operands were checked when the program was decoded.
                unsafe { self.compute(warp, &image.code[pc as usize], &image.uops[pc as usize], present) };
                let count = &mut self.counts[pc as usize];
                count.issues += 1;
                count.lanes += u64::from(present.count_ones());
                warp.issued += 1;
                warp.note_late(&image.uops[pc as usize]);
            }
            for split in warp.splits.others.iter_mut().filter(|split| belongs(split)) {
                split.wait = Wait::Ready;
                split.pc += u32::from(!anywhere);
            }
            merge_alike(&mut warp.splits.others);
            index = 0;
        }
        warp.splits.resume();
        None
    }
}

/// For checks: lanes of a warp have synchronised.
fn lanes_met(warp: &Warp, block: &mut Block, lanes: u32) {
    if let Some(shadow) = &mut block.shadow {
        shadow.lanes_met(warp.index, lanes);
    }
}
