// SPDX-License-Identifier: MIT OR Apache-2.0
//! One step of one warp: fetch, guard, execute, advance. The frequent operations are here; the others in the modules this one calls.
//!
//! The stepping loop is compiled once per level of the host, so that what is inlined into it uses the level's instructions.

use warpwatt_isa::{Op, Order, Uop};

use crate::cta::{Block, Warp};
use crate::fault::{AccessKind, Fault, FaultAccess, FaultKind};
use crate::grid::Grid;
use crate::image::{Code, UopKind};
use crate::lanes::{Level, Row};
use crate::options::Services;
use crate::port::GlobalPort;
use crate::record::Record;
use crate::spin::Loop;
use crate::stats::PcCount;

/// Outcome of a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    Go,
    /// No split of the warp can run.
    Blocked,
    /// Lanes exited: the warp may be done, barriers may open.
    Exited,
    /// Lanes arrived at a barrier of the block, which may open.
    Barrier,
    /// Lanes arrived at the barrier of the grid.
    Grid,
    /// The warp lets others run.
    Yield,
    /// The kernel is stopped; the fault says why.
    Fault,
    /// Nothing happened: the load must wait until the atomics before it have taken effect.
    Retry,
    /// The instruction is issued, but needs writable memory: it is executed later, and the warp stalls until then.
    Deferred,
}

/// The allocation that a micro-op accessed last.
#[derive(Clone, Copy)]
pub(crate) struct Window {
    pub guest: u64,
    pub host: *mut u8,
    /// Bytes, at most 2^32.
    pub len: u64,
}

pub(crate) const NO_WINDOW: Window = Window { guest: 0, host: std::ptr::null_mut(), len: 0 };

/// Whether memory changes; noted only while the watchdog watches.
#[derive(Clone, Copy, Default)]
pub(crate) struct Watch {
    pub on: bool,
    pub changed: bool,
}

/// Byte offsets of the lanes of the latest memory access, relative to its space or allocation.
#[repr(C, align(64))]
pub(crate) struct Offsets(pub [u32; 32]);

/// When an instruction issues, in a timed machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Now {
    /// What `%clock` reads.
    pub cycle: u64,
    /// What `%globaltimer` reads.
    pub nanoseconds: u64,
}

#[derive(Default)]
pub(crate) struct Tally {
    pub watch: Watch,
    pub fault: Option<Box<Fault>>,
    pub divergent_branches: u64,
    /// Warp instructions of the grid before the current quantum: what `%globaltimer` reads in a functional run.
    pub elapsed: u64,
    pub now: Option<Now>,
    pub record: Record,
}

/// State of a machine from one step to the next.
pub(crate) struct State {
    pub counts: Vec<PcCount>,
    pub windows: Vec<Window>,
    pub offsets: Offsets,
    pub tally: Tally,
}

impl State {
    pub(crate) fn new(grid: &Grid) -> State {
        let len = grid.image.code.len();
        State {
            counts: vec![PcCount::default(); len],
            windows: vec![NO_WINDOW; len],
            offsets: Offsets([0; 32]),
            tally: Tally::default(),
        }
    }
}

/// Everything a step needs, borrowed together: cheap enough to be built for a single one.
///
/// # Safety of its unsafe functions
/// The warp and the block were made for this grid: the warp's registers have as many rows as the image's highest register needs, so every operand
/// of the image's code is a row of the warp or of the pool; `pc` is an index of the image's code, and `mask` names live lanes. [`Machine::new`] takes
/// a state of the same image, so that `counts` and `windows` have an element for each `pc`.
pub(crate) struct Machine<'a, P> {
    pub grid: &'a Grid<'a>,
    /// Rows of immediates and constants.
    pub pool: *mut Row,
    pub port: P,
    pub services: &'a mut dyn Services,
    pub counts: &'a mut [PcCount],
    pub windows: &'a mut [Window],
    pub offsets: &'a mut Offsets,
    pub tally: &'a mut Tally,
    /// Thread instructions since it was made.
    pub lanes: u64,
}

impl<'a, P: GlobalPort> Machine<'a, P> {
    /// The state must have been made for the grid's image.
    #[inline(always)]
    pub(crate) fn new(
        grid: &'a Grid<'a>,
        port: P,
        services: &'a mut dyn Services,
        state: &'a mut State,
    ) -> Machine<'a, P> {
        let State { counts, windows, offsets, tally } = state;
        Machine { grid, pool: grid.pool(), port, services, counts, windows, offsets, tally, lanes: 0 }
    }

    /// Steps a warp until something happens or `budget` instructions are issued.
    #[inline(always)]
    pub(crate) fn run_warp(&mut self, warp: &mut Warp, block: &mut Block, budget: u32) -> Event {
        if warp.splits.cur.mask == 0 {
            return Event::Blocked;
        }
        match self.grid.image.level() {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the image was made for a level this host has.
            Level::Avx2 | Level::Avx512 => unsafe { self.run_avx2(warp, block, budget) },
            // SAFETY: no host features needed.
            _ => unsafe { self.run::<false>(warp, block, budget) },
        }
    }

    /// Executes one instruction of a warp. `WIDE`: inside of a function that has the host's vector instructions.
    #[inline(always)]
    pub(crate) unsafe fn step_once<const WIDE: bool>(&mut self, warp: &mut Warp, block: &mut Block) -> Event {
        if warp.splits.cur.mask == 0 {
            return Event::Blocked;
        }
        // SAFETY: as the caller promises (see `Machine`).
        unsafe { self.step::<WIDE>(warp, block) }
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
    unsafe fn run_avx2(&mut self, warp: &mut Warp, block: &mut Block, budget: u32) -> Event {
        // SAFETY: as the caller promises (see `Machine`); the AVX2 copies run where the host has it.
        unsafe { self.run::<true>(warp, block, budget) }
    }

    /// `WIDE`: inside of a function that has the host's vector instructions.
    #[inline(always)]
    unsafe fn run<const WIDE: bool>(&mut self, warp: &mut Warp, block: &mut Block, budget: u32) -> Event {
        for _ in 0..budget {
            // SAFETY: as the caller promises (see `Machine`); the AVX2 copies run where the host has it.
            let event = unsafe { self.step::<WIDE>(warp, block) };
            if event != Event::Go {
                return event;
            }
        }
        Event::Go
    }

    /// Executes the next instruction of a warp that can run.
    #[inline(always)]
    unsafe fn step<const WIDE: bool>(&mut self, warp: &mut Warp, block: &mut Block) -> Event {
        // The image's constructor checked every register, target and table, and put an end marker after the last
        // micro-op, so that neither the pc nor an operand can leave its array.
        // SAFETY: as the caller promises (see `Machine`); the AVX2 copies run where the host has it.
        unsafe {
            let pc = warp.splits.cur.pc;
            let image = self.grid.image;
            let code = image.code.get_unchecked(pc as usize);
            let active = warp.splits.cur.mask;
            let mask = active & (warp.preds.get_unchecked(usize::from(code.guard)) ^ code.guard_flip);
            let count = self.counts.get_unchecked_mut(pc as usize);
            count.issues += 1;
            let lanes = u64::from(mask.count_ones());
            count.lanes += lanes;
            self.lanes += lanes;
            warp.issued += 1;
            match code.kind {
                UopKind::Alu => {
                    if mask != 0 {
                        self.compute(warp, code, image.uops.get_unchecked(pc as usize), mask);
                    }
                }
                UopKind::Bra => {
                    count.lanes += u64::from((active & !mask).count_ones());
                    if mask == active {
                        warp.splits.go(code.target);
                        if code.target <= pc && active != warp.splits.live {
                            look_around(self.grid, warp, pc, active);
                        }
                    } else if mask == 0 {
                        warp.splits.cur.spins &= code.target > pc;
                        warp.splits.go(pc + 1);
                    } else {
                        self.tally.divergent_branches += 1;
                        let paths = [(code.target, mask), (pc + 1, active & !mask)];
                        warp.splits.fork_in_two(paths, code.reconv);
                    }
                    return if warp.splits.cur.mask == 0 { Event::Blocked } else { Event::Go };
                }
                UopKind::LdGlobal => {
                    if mask != 0 && !self.load_global(warp, code, pc, mask) {
                        return self.access_slowly(warp, block, pc, mask, AccessKind::Load);
                    }
                }
                UopKind::StGlobal => {
                    if mask != 0 && !self.store_global(warp, code, pc, mask) {
                        let event = self.access_slowly(warp, block, pc, mask, AccessKind::Store);
                        return self.wrote(warp, event);
                    }
                    let event = self.advance(warp, pc);
                    return self.wrote(warp, event);
                }
                UopKind::LdShared => {
                    if mask != 0 && !self.reach().load_shared(warp, block.span(), code, mask) {
                        return self.access_slowly(warp, block, pc, mask, AccessKind::Load);
                    }
                }
                UopKind::StShared => {
                    if mask != 0 && !self.reach().store_shared(warp, block.span(), code, mask) {
                        let event = self.access_slowly(warp, block, pc, mask, AccessKind::Store);
                        return self.wrote(warp, event);
                    }
                    let event = self.advance(warp, pc);
                    return self.wrote(warp, event);
                }
                UopKind::S2r => {
                    if mask != 0 {
                        self.special_register(warp, block, code, image.uops.get_unchecked(pc as usize), mask);
                    }
                }
                UopKind::Nop => {}
                UopKind::LdOther | UopKind::StOther | UopKind::Atomic if mask != 0 => {
                    let event = match WIDE {
                        #[cfg(target_arch = "x86_64")]
                        true => self.other_access_avx2(warp, block, pc, mask),
                        _ => self.other_access(warp, block, pc, mask),
                    };
                    return match code.kind {
                        UopKind::LdOther => event,
                        // A spinning split that tries to get a lock has not changed anything.
                        UopKind::Atomic if image.uops.get_unchecked(pc as usize).op == Op::Atom => {
                            match warp.splits.cur.spins {
                                true => event,
                                false => self.tell_spinning(warp, event),
                            }
                        }
                        _ => self.wrote(warp, event),
                    };
                }
                _ => return self.step_other(warp, block, pc, mask),
            }
            warp.splits.go(pc + 1);
            if warp.splits.cur.mask == 0 { Event::Blocked } else { Event::Go }
        }
    }

    /// The warp has stored something, and goes on.
    #[inline(always)]
    fn wrote(&mut self, warp: &mut Warp, event: Event) -> Event {
        warp.around.stored = true;
        warp.splits.cur.spins = false;
        self.tell_spinning(warp, event)
    }

    /// Lets spinning splits run again after a write.
    #[inline(always)]
    fn tell_spinning(&mut self, warp: &mut Warp, event: Event) -> Event {
        if event == Event::Go && !warp.splits.others.is_empty() {
            warp.splits.notify();
        }
        event
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
    unsafe fn other_access_avx2(&mut self, warp: &mut Warp, block: &mut Block, pc: u32, mask: u32) -> Event {
        // SAFETY: as the caller promises (see `Machine`); the AVX2 copies run where the host has it.
        unsafe { self.other_access(warp, block, pc, mask) }
    }

    /// Operations that are rarer or longer.
    #[inline(never)]
    pub(crate) unsafe fn step_other(
        &mut self,
        warp: &mut Warp,
        block: &mut Block,
        pc: u32,
        mask: u32,
    ) -> Event {
        let image = self.grid.image;
        let (code, uop) = (&image.code[pc as usize], &image.uops[pc as usize]);
        if code.kind == UopKind::End {
            let detail = "execution ran past the last instruction";
            return self.raise(warp, block, pc, FaultKind::InvalidPc, warp.splits.cur.mask, detail.into());
        }
        if mask == 0 {
            return self.advance(warp, pc);
        }
        // SAFETY: as the caller promises (see `Machine`); the AVX2 copies run where the host has it.
        unsafe {
            match code.kind {
                UopKind::Sync => self.collective(warp, block, pc, mask),
                UopKind::IsSpace => {
                    self.is_space(warp, code, uop, mask);
                    self.advance(warp, pc)
                }
                UopKind::Texture => self.texture(warp, block, pc, mask),
                UopKind::Sys => self.system(warp, block, pc, mask),
                UopKind::Trap => self.raise(warp, block, pc, FaultKind::Trap, mask, String::new()),
                UopKind::Brkpt => self.raise(warp, block, pc, FaultKind::Breakpoint, mask, String::new()),
                UopKind::Unsupported => {
                    let detail = format!("this machine does not have `{uop}`");
                    self.raise(warp, block, pc, FaultKind::Unsupported, mask, detail)
                }
                _ => self.control(warp, block, pc, mask),
            }
        }
    }

    #[inline(always)]
    pub(crate) fn advance(&mut self, warp: &mut Warp, pc: u32) -> Event {
        warp.splits.go(pc + 1);
        if warp.splits.cur.mask == 0 { Event::Blocked } else { Event::Go }
    }

    /// The rows of a source operand.
    #[inline(always)]
    pub(crate) fn source(&self, warp: &Warp, code: &Code, i: usize) -> *const Row {
        code.source(i, warp.rows, self.pool)
    }

    /// Executes a lane kernel and merges its predicate results.
    #[inline(always)]
    pub(crate) unsafe fn compute(&mut self, warp: &mut Warp, code: &Code, uop: &Uop, mask: u32) {
        // SAFETY: as the caller promises (see `Machine`); the AVX2 copies run where the host has it.
        unsafe { compute(warp, code, uop, mask) }
    }

    /// Stops the run for the lowest lane of `mask`.
    #[cold]
    pub(crate) fn raise(
        &mut self,
        warp: &Warp,
        block: &Block,
        pc: u32,
        kind: FaultKind,
        mask: u32,
        detail: String,
    ) -> Event {
        self.raise_access(warp, block, pc, kind, mask, None, detail)
    }

    #[cold]
    #[expect(clippy::too_many_arguments, reason = "each is a field of the fault")]
    pub(crate) fn raise_access(
        &mut self,
        warp: &Warp,
        block: &Block,
        pc: u32,
        kind: FaultKind,
        lanes: u32,
        access: Option<FaultAccess>,
        detail: String,
    ) -> Event {
        let fault = Fault { access, lanes, ..self.fault_of(warp, block, pc, kind, lanes, detail) };
        self.tally.fault = Some(Box::new(fault));
        Event::Fault
    }

    /// A fault of the lowest lane of `lanes`.
    #[cold]
    pub(crate) fn fault_of(
        &self,
        warp: &Warp,
        block: &Block,
        pc: u32,
        kind: FaultKind,
        lanes: u32,
        detail: String,
    ) -> Fault {
        let thread = self.grid.thread(warp.index, (lanes.trailing_zeros() & 31) as usize);
        let calls = warp.splits.cur.frames.iter().rev().map(|&back| back.saturating_sub(1)).collect();
        Fault { cta: block.id, thread, calls, ..Fault::bare(kind, pc, detail) }
    }
}

/// Whether an instruction can poll memory.
fn polls(uop: &Uop) -> bool {
    uop.op == Op::Atom || uop.op == Op::Ld && uop.mem.order != Order::Weak
}

/// All lanes of a split, `active`, took the backward branch at `pc`: if it spins, other splits run.
#[cold]
pub(crate) fn look_around(grid: &Grid, warp: &mut Warp, pc: u32, active: u32) {
    if warp.splits.cur.mask != active {
        return;
    }
    let image = grid.image;
    // SAFETY: `rows` points at this many rows of the block the warp belongs to.
    let registers = unsafe { std::slice::from_raw_parts(warp.rows, image.program().registers as usize) };
    let target = image.code[pc as usize].target;
    let polls = || image.uops[target as usize..pc as usize].iter().any(polls);
    if Loop::goes_around(warp, pc, registers, grid.spins, polls) {
        warp.splits.give_way();
    }
}

/// Executes a lane kernel and merges its predicate results.
///
/// # Safety
/// The micro-op must be of the image that the warp runs.
#[inline(always)]
pub(crate) unsafe fn compute(warp: &mut Warp, code: &Code, uop: &Uop, mask: u32) {
    // SAFETY: as the caller promises (see `Machine`); the AVX2 copies run where the host has it.
    unsafe {
        let args = &mut warp.args;
        args.dst = warp.rows.add(code.dst as usize);
        args.src = &raw const code.src;
        args.mask = mask;
        if code.uses_psrc {
            for (i, psrc) in args.psrc.iter_mut().enumerate() {
                let flip = u32::from(code.psrc_neg >> i & 1).wrapping_neg();
                *psrc = warp.preds.get_unchecked(usize::from(code.psrc[i])) ^ flip;
            }
        }
        (code.kernel)(args, uop);
        if code.uses_psrc {
            args.psrc = [!0; 3];
        }
        if code.writes_pred {
            for (result, index) in args.pdst.into_iter().zip(code.pdst) {
                let pred = warp.preds.get_unchecked_mut(usize::from(index));
                *pred = *pred & !mask | result & mask;
            }
        }
    }
}
