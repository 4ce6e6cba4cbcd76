// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the state of one warp lies, found once when its block starts: instructions that compute on registers, and branches, are executed
//! without looking up kernel, block and warp for each of them.

use warpwatt_base::opaque;
use warpwatt_memory::DeviceMemory;

use super::port::EpochPort;
use super::{Access, Accessed, Computed, EpochLog, Executed, NextLanes, Prepared, Resident, Spread, Stepper};
use crate::access::{Reach, SharedSpan};
use crate::cta::{Cta, Warp};
use crate::fault::AccessKind;
use crate::image::{Code, UopKind};
use crate::lanes::Row;
use crate::machine::{State, compute, look_around};
use crate::port::{Shape, gather_word, scatter_word, would_change};
use crate::stats::PcCount;
use warpwatt_isa::{Space, Uop, window};

/// The parts of a warp of a resident block that most instructions touch.
///
/// It is valid as long as the block is in its slot, and the launch and the stepper exist that it was made with. They may move, since all that it
/// points at is on the heap.
#[derive(Clone, Copy)]
pub struct WarpPlace {
    pub(super) warp: *mut Warp,
    pub(super) code: *const Code,
    uops: *const Uop,
    counts: *mut PcCount,
    pub(super) pool: *mut Row,
    shared: SharedSpan,
    /// Lanes that the warp was started with, and registers of it that the program names.
    lanes: u32,
    named: u32,
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
            shared: SharedSpan { host: std::ptr::null_mut(), bytes: 0 },
            lanes: 0,
            named: 0,
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
            shared: cta.cta.block.span(),
            lanes: prepared.lanes_of(warp),
            named: cta.cta.named as u32,
        }
    }
}

impl WarpPlace {
    /// Executes the instruction at `pc`, which is the warp's next one and has active lanes, if it computes on registers alone, as most do. Otherwise nothing
    /// happens, and [`Stepper::step_with_memory`] is to be called.
    ///
    /// # Safety
    /// The place must be valid, and nothing of the warp and the stepper borrowed. `pc` must be an instruction of the program.
    pub unsafe fn compute(&self, pc: u32) -> Option<Computed> {
        // SAFETY: as the caller promises.
        unsafe {
            let Executed { active, mask, lanes } = self.execute(pc)?;
            let next = if self.goes_straight_on(pc) { Some(pc + 1) } else { self.next_pc() };
            Some(Computed { pc, active, mask, lanes, next })
        }
    }

    /// [`WarpPlace::compute`] but for its end: [`WarpPlace::goes_straight_on`] is to be called next, unless nothing happened.
    ///
    /// # Safety
    /// As for [`WarpPlace::compute`].
    #[inline(always)]
    pub unsafe fn execute(&self, pc: u32) -> Option<Executed> {
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
                compute(warp, code, &*self.uops.add(pc as usize), mask);
            }
            Some(Executed { active, mask, lanes })
        }
    }

    /// The warp has executed the instruction at `pc` and comes to the one behind it. False if lanes reconverge there: then [`WarpPlace::next_pc`] tells
    /// which one is next.
    ///
    /// # Safety
    /// As for [`WarpPlace::compute`].
    #[inline(always)]
    pub unsafe fn goes_straight_on(&self, pc: u32) -> bool {
        // SAFETY: as the caller promises.
        unsafe { (*self.warp).splits.go_on(pc + 1) }
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

    /// Executes the instruction at `pc` if it is a branch that some of the active lanes take. If not, nothing happens. The stepper must be that of the
    /// place.
    ///
    /// # Safety
    /// As for [`WarpPlace::compute`].
    #[inline(always)]
    pub unsafe fn branch_apart(&self, stepper: &mut Stepper, pc: u32) -> Option<Computed> {
        debug_assert_eq!(self.counts.cast_const(), stepper.state.counts.as_ptr());
        // SAFETY: as the caller promises.
        unsafe {
            let code = &*self.code.add(pc as usize);
            let warp = &mut *self.warp;
            let (active, mask) = (warp.splits.cur.mask, self.next_mask(pc));
            if code.kind != UopKind::Bra || mask == 0 || mask == active {
                return None;
            }
            self.count(pc, active.count_ones());
            warp.issued += 1;
            stepper.state.tally.divergent_branches += 1;
            warp.splits.fork_in_two([(code.target, mask), (pc + 1, active & !mask)], code.reconv);
            Some(Computed { pc, active, mask, lanes: mask.count_ones(), next: self.next_pc() })
        }
    }

    /// Executes the instruction at `pc` if it is a backward branch that all active lanes take, and others of the warp are elsewhere: they may spin. If
    /// not, nothing happens. `prepared` must be the launch of the place.
    ///
    /// # Safety
    /// As for [`WarpPlace::compute`].
    #[inline(never)]
    pub unsafe fn branch_back(&self, prepared: &Prepared, pc: u32) -> Option<Computed> {
        debug_assert_eq!(self.code, prepared.grid.image.code.as_ptr());
        // SAFETY: as the caller promises.
        unsafe {
            let code = &*self.code.add(pc as usize);
            let warp = &mut *self.warp;
            let (active, mask) = (warp.splits.cur.mask, self.next_mask(pc));
            if code.kind != UopKind::Bra || mask == 0 || mask != active || code.target > pc {
                return None;
            }
            let lanes = active.count_ones();
            self.count(pc, lanes);
            warp.issued += 1;
            warp.splits.go(code.target);
            if active != warp.splits.live {
                look_around(&prepared.grid, warp, pc, active);
            }
            Some(Computed { pc, active, mask, lanes, next: self.next_pc() })
        }
    }

    /// Executes the instruction at `pc` if it is a barrier that only lets threads wait for each other, and that all lanes of the warp come to together.
    /// Tells how many these are, and whether the barrier opens with them: then all that waited there may go on. Otherwise nothing happens, and
    /// [`Stepper::step_with_memory`] is to be called. Launch, block and the warp's number in it must be those of the place.
    ///
    /// # Safety
    /// As for [`WarpPlace::compute`].
    #[inline(always)]
    pub unsafe fn barrier(
        &self,
        prepared: &Prepared,
        cta: &mut Resident,
        warp: usize,
        pc: u32,
    ) -> Option<(u32, bool)> {
        debug_assert_eq!(self.warp.cast_const(), &raw const cta.cta.warps[warp]);
        let lanes = cta.cta.warps[warp].splits.live.count_ones();
        let opens = cta.cta.comes_to_barrier(&prepared.grid, warp, pc)?;
        cta.cta.warps[warp].issued += 1;
        // SAFETY: as the caller promises.
        unsafe { self.count(pc, lanes) };
        Some((lanes, opens))
    }

    /// Executes the instruction at `pc` if lanes end with it, and nothing of the warp waits elsewhere. Tells how many these are. Otherwise nothing
    /// happens, and [`Stepper::step_with_memory`] is to be called. Block and the warp's number in it must be those of the place.
    ///
    /// # Safety
    /// As for [`WarpPlace::compute`].
    #[inline(always)]
    pub unsafe fn exit(&self, cta: &mut Resident, warp: usize, pc: u32) -> Option<u32> {
        debug_assert_eq!(self.warp.cast_const(), &raw const cta.cta.warps[warp]);
        // SAFETY: as the caller promises.
        let (code, mask) = unsafe { (&*self.code.add(pc as usize), self.next_mask(pc)) };
        let Cta { block, warps, .. } = &mut cta.cta;
        let warp = &mut warps[warp];
        if code.kind != UopKind::Exit || block.shadow.is_some() || !warp.splits.others.is_empty() {
            return None;
        }
        let lanes = mask.count_ones();
        // SAFETY: as above.
        unsafe { self.count(pc, lanes) };
        warp.issued += 1;
        if mask == 0 {
            warp.splits.go(pc + 1);
        } else {
            warp.splits.exit(mask, pc + 1);
            block.live_threads -= lanes;
            block.live_warps -= u32::from(warp.is_done());
        }
        Some(lanes)
    }

    /// Executes the instruction at `pc` if it is a load or store of shared or global memory whose lanes are all in one place that is known, as most are, or
    /// that has no lanes.
    /// If not, nothing happens, and [`Stepper::step_with_memory`] is to be called. The stepper must be that of the place, and the log that
    /// of its SM.
    ///
    /// # Safety
    /// As for [`WarpPlace::compute`].
    #[inline(always)]
    pub unsafe fn access(
        &self,
        stepper: &mut Stepper,
        memory: &DeviceMemory,
        log: &mut EpochLog,
        pc: u32,
        cycle: u64,
    ) -> Option<Accessed> {
        debug_assert_eq!(self.counts.cast_const(), stepper.state.counts.as_ptr());
        // SAFETY: as the caller promises; the stepper knows what the host has.
        unsafe {
            let code = &*self.code.add(pc as usize);
            match (stepper.wide, code.shape, code.kind) {
                #[cfg(target_arch = "x86_64")]
                (true, Shape::Words(1), UopKind::LdShared) => self.word_in_shared::<false>(stepper, pc),
                #[cfg(target_arch = "x86_64")]
                (true, Shape::Words(1), UopKind::StShared) => self.word_in_shared::<true>(stepper, pc),
                #[cfg(target_arch = "x86_64")]
                (true, ..) => self.access_avx2(stepper, memory, log, pc, cycle),
                _ => self.access_plain(stepper, memory, log, pc, cycle),
            }
        }
    }

    /// [`WarpPlace::access`] of a word of shared memory in each lane, in a function of its own: it is the most frequent one, and needs the least.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
    unsafe fn word_in_shared<const STORES: bool>(&self, stepper: &mut Stepper, pc: u32) -> Option<Accessed> {
        type Here<'p> = Reach<'p, EpochPort<'p>, true>;
        // SAFETY: as the caller promises; offsets are used after they were checked against shared memory.
        unsafe {
            let code = &*self.code.add(pc as usize);
            let warp = &mut *self.warp;
            let mask = self.next_mask(pc);
            let State { offsets, tally, .. } = &mut stepper.state;
            if mask == 0 {
                tally.record.access = Access::None;
                return Some(self.pass(pc, mask, STORES));
            }
            let address = code.source(0, warp.rows, self.pool);
            if !Here::offsets_in_shared(address, self.shared, code, mask, offsets) {
                return None;
            }
            let span = Here::span(self.shared.host, window::SHARED, offsets, mask, 4);
            if STORES {
                let src = code.source(1, warp.rows, self.pool);
                if tally.watch.on {
                    tally.watch.changed |= would_change(&{ span }, code.shape, src);
                }
                scatter_word(&span, src);
            } else {
                gather_word(&span, warp.rows.add(code.dst as usize));
            }
            let kind = if STORES { AccessKind::Store } else { AccessKind::Load };
            match span.spread {
                Spread::Unknown | Spread::Scattered => Here::note(tally, Space::Shared, 0, &span, kind),
                spread => tally.record.access = Access::Words(spread),
            }
            Some(self.pass(pc, mask, STORES))
        }
    }

    /// The warp has executed the load or store at `pc` with some lanes.
    #[inline(always)]
    unsafe fn pass(&self, pc: u32, mask: u32, stores: bool) -> Accessed {
        // SAFETY: as the caller promises.
        unsafe {
            let warp = &mut *self.warp;
            self.count(pc, mask.count_ones());
            warp.issued += 1;
            if stores {
                warp.around.stored = true;
                warp.splits.cur.spins = false;
            }
            warp.splits.go(pc + 1);
            if stores && warp.splits.cur.mask != 0 && !warp.splits.others.is_empty() {
                warp.splits.notify();
            }
            Accessed { mask, goes_straight_on: self.next_pc() == Some(pc + 1) }
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
    unsafe fn access_avx2(
        &self,
        stepper: &mut Stepper,
        memory: &DeviceMemory,
        log: &mut EpochLog,
        pc: u32,
        cycle: u64,
    ) -> Option<Accessed> {
        // SAFETY: as the caller promises.
        unsafe { self.access_here::<true>(stepper, memory, log, pc, cycle) }
    }

    #[inline(never)]
    unsafe fn access_plain(
        &self,
        stepper: &mut Stepper,
        memory: &DeviceMemory,
        log: &mut EpochLog,
        pc: u32,
        cycle: u64,
    ) -> Option<Accessed> {
        // SAFETY: as the caller promises.
        unsafe { self.access_here::<false>(stepper, memory, log, pc, cycle) }
    }

    /// `WIDE`: inside of a function that has the host's vector instructions.
    #[inline(always)]
    unsafe fn access_here<const WIDE: bool>(
        &self,
        stepper: &mut Stepper,
        memory: &DeviceMemory,
        log: &mut EpochLog,
        pc: u32,
        cycle: u64,
    ) -> Option<Accessed> {
        // SAFETY: as the caller promises.
        unsafe {
            let code = &*self.code.add(pc as usize);
            let warp = &mut *self.warp;
            let mask = self.next_mask(pc);
            let stores = matches!(code.kind, UopKind::StShared | UopKind::StGlobal);
            if mask == 0 {
                if !stores && !matches!(code.kind, UopKind::LdShared | UopKind::LdGlobal) {
                    return None;
                }
                stepper.state.tally.record.access = Access::None;
            } else {
                if matches!(code.kind, UopKind::LdGlobal | UopKind::StGlobal) {
                    stepper.renew_windows(memory);
                    log.begin(cycle);
                }
                let State { windows, offsets, tally, .. } = &mut stepper.state;
                let mut port = EpochPort { memory, log };
                let mut reach: Reach<_, WIDE> =
                    Reach { pool: self.pool, port: &mut port, windows, offsets, tally };
                let done = match code.kind {
                    UopKind::LdShared => reach.load_shared(warp, self.shared, code, mask),
                    UopKind::LdGlobal => reach.load_global(warp, code, pc, mask),
                    UopKind::StShared => reach.store_shared(warp, self.shared, code, mask),
                    UopKind::StGlobal => reach.store_global(warp, code, pc, mask),
                    _ => false,
                };
                if !done {
                    return None;
                }
            }
            Some(self.pass(pc, mask, stores))
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

    /// The lanes of the instruction at `pc`, which is the warp's next one.
    ///
    /// # Safety
    /// As for [`WarpPlace::compute`].
    #[inline(always)]
    pub unsafe fn next_lanes(&self, pc: u32) -> NextLanes {
        // SAFETY: as the caller promises.
        unsafe {
            let splits = &(*self.warp).splits;
            NextLanes {
                all: self.lanes,
                live: splits.live,
                active: splits.cur.mask,
                mask: self.next_mask(pc),
            }
        }
    }

    /// Whether registers of the warp were written after their instruction was stepped, as [`Resident::take_late`] tells.
    ///
    /// # Safety
    /// The place must be valid, and the warp not borrowed.
    #[inline(always)]
    pub unsafe fn has_late(&self) -> bool {
        // SAFETY: as the caller promises.
        unsafe { (*self.warp).late != [0; 4] }
    }

    /// The registers of the warp that the program names.
    ///
    /// # Safety
    /// The place must be valid, and nothing of the warp written while they are borrowed.
    #[inline(always)]
    pub unsafe fn rows<'r>(&self) -> &'r [Row] {
        // SAFETY: as the caller promises; the warp's registers begin with those that are named.
        unsafe { std::slice::from_raw_parts((*self.warp).rows, self.named as usize) }
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
    pub(super) unsafe fn count(&self, pc: u32, lanes: u32) {
        // SAFETY: there is a count for every instruction of the program.
        let count = unsafe { &mut *self.counts.add(pc as usize) };
        count.issues += 1;
        // One by one: a vector of both would have to be made first.
        opaque(count).lanes += u64::from(lanes);
    }
}
