// SPDX-License-Identifier: MIT OR Apache-2.0
//! A block on an SM: the state of its warps, and what a scheduler needs of it.

use crate::cta::Cta;
use crate::deciding;
use crate::fault::{Fault, FaultKind};
use crate::lanes::Row;
use crate::options::CheckOptions;
use crate::split::Wait;
use crate::stepping::Prepared;
use crate::watchdog;

static ZERO: Row = Row([0; 32]);

/// Why a warp cannot be stepped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WaitReason {
    /// It can be stepped.
    None,
    /// It waits at this barrier of the block.
    Barrier(u8),
    /// It waits in an operation between lanes, for lanes that are elsewhere.
    Collective,
    /// It waits in `bar.warp.sync`, for the lanes it names.
    WarpSync,
    /// It waits at the barrier of the grid.
    Grid,
    /// All its lanes have exited.
    Ended,
}

/// The lanes that an instruction is for, before it is executed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NextLanes {
    /// Lanes that the warp was started with: fewer than 32 if it is the last of a block whose threads are no multiple of that.
    pub all: u32,
    /// Lanes that have not exited.
    pub live: u32,
    /// Lanes of the split that executes it: fewer while the warp is diverged, or after some of its threads have exited.
    pub active: u32,
    /// Active lanes whose guard holds.
    pub mask: u32,
}

/// A block that is being executed, in a slot that later blocks reuse.
pub struct Resident {
    pub(crate) cta: Cta,
    /// Identity of the image it was made for.
    pub(super) image: usize,
}

// SAFETY: the pointers in it lead to registers that it owns.
unsafe impl Send for Resident {}

impl Resident {
    /// A slot for blocks of the launch. It holds no block until it is started.
    pub fn new(prepared: &Prepared, checks: CheckOptions) -> Resident {
        Resident { cta: Cta::new(&prepared.grid, 0, checks), image: prepared.identity() }
    }

    /// Starts a block of the grid on an SM that numbers its warps from `first_warp`. The slot must have been made for the launch or fit it.
    pub fn start(&mut self, prepared: &Prepared, linear: u64, sm: u32, first_warp: u32) {
        assert!(self.cta.fits(&prepared.grid), "a slot for other blocks");
        self.image = prepared.identity();
        (self.cta.block.slot, self.cta.block.first_warp) = (sm, first_warp);
        self.cta.start(&prepared.grid, linear);
    }

    /// Whether the slot can be used for blocks of this launch, whatever it was made for.
    pub fn fits(&self, prepared: &Prepared, checks: CheckOptions) -> bool {
        self.cta.block.checks == checks && self.cta.fits(&prepared.grid)
    }

    /// Whether all warps have exited, or none was started.
    pub fn is_done(&self) -> bool {
        self.cta.is_done()
    }

    /// Coordinates of the block in its grid.
    pub fn cta_id(&self) -> [u32; 3] {
        self.cta.block.id
    }

    pub fn warps(&self) -> usize {
        self.cta.warps.len()
    }

    pub fn live_warps(&self) -> u32 {
        self.cta.block.live_warps
    }

    pub fn live_threads(&self) -> u32 {
        self.cta.block.live_threads
    }

    /// The next instruction of a warp; `None` when all its lanes wait or have exited.
    #[inline(always)]
    pub fn warp_pc(&self, warp: usize) -> Option<u32> {
        let cur = &self.cta.warps[warp].splits.cur;
        (cur.mask != 0).then_some(cur.pc)
    }

    /// The active lanes of the next instruction.
    #[inline(always)]
    pub fn warp_active(&self, warp: usize) -> u32 {
        self.cta.warps[warp].splits.cur.mask
    }

    /// Instructions that a warp has issued.
    pub fn warp_issued(&self, warp: usize) -> u64 {
        self.cta.warps[warp].issued
    }

    pub fn warp_done(&self, warp: usize) -> bool {
        self.cta.warps[warp].is_done()
    }

    /// Why a warp cannot be stepped; with several splits, the wait that began last.
    pub fn wait_reason(&self, warp: usize) -> WaitReason {
        let splits = &self.cta.warps[warp].splits;
        if splits.cur.mask != 0 {
            return WaitReason::None;
        }
        let waits = splits.others.iter().rev().map(|split| split.wait);
        match waits.into_iter().find(|&wait| wait != Wait::Ready) {
            Some(Wait::Barrier(number)) => WaitReason::Barrier(number),
            Some(Wait::Collective(_)) => WaitReason::Collective,
            Some(Wait::WarpSync(_)) => WaitReason::WarpSync,
            Some(Wait::Grid) => WaitReason::Grid,
            Some(Wait::Ready) | None => WaitReason::Ended,
        }
    }

    /// One register of a warp. Those that the program does not have, RZ among them, read as zero.
    pub fn row(&self, warp: usize, register: u8) -> &Row {
        let Cta { warps, registers, named, .. } = &self.cta;
        let rows = registers.len() / warps.len();
        registers[rows * warp..][..*named].get(usize::from(register)).unwrap_or(&ZERO)
    }

    /// Registers, as a set, that were written since the last call and after their instruction was stepped: those of lanes that
    /// waited at a barrier with a result, or in an operation between lanes. `None` if there are none.
    #[inline(always)]
    pub fn take_late(&mut self, warp: usize) -> Option<[u64; 4]> {
        let late = &mut self.cta.warps[warp].late;
        (*late != [0; 4]).then(|| std::mem::take(late))
    }

    /// The lanes in which a predicate holds; predicate 7 always does.
    pub fn predicate(&self, warp: usize, predicate: u8) -> u32 {
        self.cta.warps[warp].preds[usize::from(predicate & 7)]
    }

    /// Opens the barriers that are complete, to be called after [`StepEvent::Barrier`](super::StepEvent::Barrier) and
    /// [`StepEvent::Exited`](super::StepEvent::Exited). Gives how many.
    pub fn open_barriers(&mut self, prepared: &Prepared) -> u64 {
        self.cta.open_barriers(&prepared.grid)
    }

    /// Threads that wait at the barrier of the grid.
    pub fn waiting_at_grid(&self) -> u32 {
        let splits = self.cta.warps.iter().flat_map(|warp| &warp.splits.others);
        splits.filter(|split| split.wait == Wait::Grid).map(|split| split.mask.count_ones()).sum()
    }

    /// Releases the threads that wait there.
    pub fn wake_grid_barrier(&mut self) {
        for warp in &mut self.cta.warps {
            warp.splits.wake(Wait::Grid);
            warp.splits.resume();
        }
    }
}

/// The registers that decide where warps go, if they execute a certain set of instructions.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Deciding(deciding::Deciding);

impl Deciding {
    /// For warps that execute these instructions only.
    pub fn of(prepared: &Prepared, executed: impl Fn(usize) -> bool) -> Deciding {
        Deciding(deciding::Deciding::of(prepared.image(), executed))
    }
}

/// State of the lanes of a warp: instructions, predicates and registers. If all of them return to it while memory does not change, they do so
/// for ever.
pub struct Snapshot(watchdog::Snapshot);

impl Snapshot {
    pub fn of(prepared: &Prepared, cta: &Resident, warp: usize) -> Snapshot {
        Snapshot(watchdog::Snapshot::of(&prepared.grid, &cta.cta.warps[warp]))
    }

    /// Number of the place in the snapshot at which the lanes that run are, whatever their registers hold.
    pub fn place(&self, cta: &Resident, warp: usize) -> Option<usize> {
        self.0.place(&cta.cta.warps[warp])
    }

    /// Notes that the lanes that run returned to a place, if their registers have their old values. True if all lanes have returned.
    pub fn note(
        &mut self,
        prepared: &Prepared,
        cta: &Resident,
        warp: usize,
        place: usize,
        deciding: &Deciding,
    ) -> bool {
        let warp = &cta.cta.warps[warp];
        self.0.note(&prepared.grid, warp, place, &deciding.0) && self.0.all_back(warp)
    }
}

/// The fault for blocks that will never go on, with what the first few of their warps wait for.
pub fn stuck<'c>(
    prepared: &Prepared,
    kind: FaultKind,
    ctas: impl Iterator<Item = &'c Resident>,
    detail: String,
) -> Fault {
    watchdog::stuck(&prepared.grid, kind, ctas.map(|resident| &resident.cta), detail)
}
