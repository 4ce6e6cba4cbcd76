// SPDX-License-Identifier: MIT OR Apache-2.0
//! A block that is being executed: its warps, their registers, its shared memory and barriers.

use warpwatt_isa::{BarKind, Reg, Sub, Uop};

use crate::access::SharedSpan;
use crate::barrier::{BARRIERS, Barrier};
use crate::engine::FIRST_LOOK;
use crate::grid::Grid;
use crate::image::{TRASH_PRED, TRASH_ROWS, UopKind};
use crate::lanes::{Args, Level, Row};
use crate::local::LocalMemory;
use crate::options::CheckOptions;
use crate::rows::{RowBuf, lanes_of};
use crate::shadow::Shadow;
use crate::spin::Loop;
use crate::split::{Split, Splits, Wait};

pub(crate) struct Warp {
    pub splits: Splits,
    /// P0 to P6, PT, and a slot for writes to PT.
    pub preds: [u32; 9],
    /// The warp's registers inside of its block's.
    pub rows: *mut Row,
    /// What lane kernels are given: only destination, sources and lanes change from one to the next, and predicates for those that have any.
    pub args: Args,
    pub index: u32,
    /// Instructions issued.
    pub issued: u64,
    pub local: LocalMemory,
    /// The loop that the current split is in.
    pub around: Loop,
    /// Quanta used up in a row without an event, and after how many the warp is examined.
    pub quanta: u32,
    pub look_after: u32,
    /// It spins: the other blocks run first.
    pub resting: bool,
    /// Registers, as a set, written after their instruction issued: when a barrier or a collective operation completed.
    pub late: [u64; 4],
    /// Barriers of the grid that it reached.
    pub grid_syncs: u32,
}

impl Warp {
    pub(crate) fn is_done(&self) -> bool {
        self.splits.live == 0
    }

    pub(crate) fn can_run(&self) -> bool {
        self.splits.cur.mask != 0
    }

    /// Notes a late write to the destination of an instruction.
    pub(crate) fn note_late(&mut self, uop: &Uop) {
        for register in
            (0..uop.dst_words() as u8).map(|word| uop.dst.0 + word).filter(|_| uop.dst != Reg::ZERO)
        {
            self.late[usize::from(register / 64)] |= 1 << (register % 64);
        }
    }

    pub(crate) fn registers(&self, grid: &Grid) -> &[Row] {
        // SAFETY: `rows` points at `grid.rows` rows of the block this warp belongs to.
        unsafe { std::slice::from_raw_parts(self.rows, grid.rows) }
    }
}

/// What the warps of a block share.
pub(crate) struct Block {
    pub id: [u32; 3],
    pub slot: u32,
    /// The SM's number for the block's first warp.
    pub first_warp: u32,
    shared: RowBuf,
    pub shared_bytes: u32,
    pub barriers: [Barrier; BARRIERS],
    /// Barriers where threads have arrived, a bit each.
    pub reached: u16,
    pub live_threads: u32,
    pub live_warps: u32,
    pub shadow: Option<Box<Shadow>>,
    pub checks: CheckOptions,
}

impl Block {
    /// Whether accesses to shared memory are checked one by one.
    #[inline(always)]
    pub(crate) fn is_checked(&self) -> bool {
        self.shadow.is_some() || self.checks.arrays
    }

    /// Shared memory for accesses that need no check of their own.
    #[inline(always)]
    pub(crate) fn span(&self) -> SharedSpan {
        SharedSpan { host: self.shared(), bytes: if self.is_checked() { 0 } else { self.shared_bytes } }
    }

    #[inline(always)]
    pub(crate) fn shared(&self) -> *mut u8 {
        self.shared.pointer().cast()
    }

    /// Threads, or warps times 32, whose arrival opens a barrier without a count.
    fn live(&self, per_thread: bool) -> u32 {
        if per_thread { self.live_threads } else { 32 * self.live_warps }
    }
}

pub(crate) struct Cta {
    pub block: Block,
    pub warps: Vec<Warp>,
    /// Registers of a warp that the program names.
    pub named: usize,
    pub registers: RowBuf,
}

impl Cta {
    pub(crate) fn new(grid: &Grid, slot: u32, checks: CheckOptions) -> Cta {
        let registers = RowBuf::zeroed(grid.rows * grid.warps as usize);
        let shared = RowBuf::zeroed((grid.shared_bytes as usize).div_ceil(size_of::<Row>()));
        let wanted = checks.races || checks.uninit;
        let shadow = wanted
            .then(|| Box::new(Shadow::new(checks, grid.shared_bytes as usize, grid.warps, grid.per_thread)));
        let warps = (0..grid.warps)
            .map(|index| {
                // SAFETY: inside of the block's registers, which live as long as the warp and never move.
                let rows = unsafe { registers.pointer().add(grid.rows * index as usize) };
                (index, rows)
            })
            .map(|(index, rows)| Warp {
                splits: Splits::new(0, grid.per_thread),
                preds: [0; 9],
                rows,
                args: Args::new(rows, grid.pool()),
                index,
                issued: 0,
                local: LocalMemory::new(grid.local_bytes),
                around: Loop::default(),
                quanta: 0,
                look_after: FIRST_LOOK,
                resting: false,
                late: [0; 4],
                grid_syncs: 0,
            })
            .collect();
        let block = Block {
            id: [0; 3],
            slot,
            first_warp: 0,
            shared,
            shared_bytes: grid.shared_bytes,
            barriers: [Barrier::default(); BARRIERS],
            reached: 0,
            live_threads: 0,
            live_warps: 0,
            shadow,
            checks,
        };
        Cta { block, warps, named: 0, registers }
    }

    /// Whether blocks of a grid have the warps, registers and memory of this slot.
    pub(crate) fn fits(&self, grid: &Grid) -> bool {
        let is_alike = |warp: &Warp| {
            warp.local.bytes() == grid.local_bytes.next_multiple_of(4)
                && warp.splits.per_thread == grid.per_thread
        };
        self.warps.len() == grid.warps as usize
            && self.registers.len() == grid.rows * grid.warps as usize
            && self.block.shared_bytes == grid.shared_bytes
            && self.warps.first().is_none_or(is_alike)
    }

    /// Starts the block with the given number in this slot.
    pub(crate) fn start(&mut self, grid: &Grid, linear: u64) {
        match grid.image.level() {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the image was made for a level this host has.
            Level::Avx2 | Level::Avx512 => unsafe { self.start_avx2(grid, linear) },
            _ => self.start_plain(grid, linear),
        }
    }

    /// With the host's vector instructions: registers are cleared and special registers are filled in whole rows.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    unsafe fn start_avx2(&mut self, grid: &Grid, linear: u64) {
        self.start_plain(grid, linear);
    }

    #[inline(always)]
    fn start_plain(&mut self, grid: &Grid, linear: u64) {
        self.registers.fill(Row([0; 32]));
        self.block.shared.fill(Row([0; 32]));
        self.block.id = grid.cta_id(linear);
        let specials = &grid.image.specials;
        self.named = grid.rows - TRASH_ROWS - specials.len();
        self.block.barriers = [Barrier::default(); BARRIERS];
        self.block.reached = 0;
        self.block.live_threads = grid.threads;
        self.block.live_warps = grid.warps;
        if let Some(shadow) = &mut self.block.shadow {
            shadow.clear();
        }
        for warp in &mut self.warps {
            let threads = (grid.threads - 32 * warp.index).min(32);
            warp.splits.restart(u32::MAX >> (32 - threads));
            warp.preds = [0; 9];
            warp.preds[7] = !0;
            warp.args = Args::new(warp.rows, grid.pool());
            warp.issued = 0;
            warp.around.restart();
            (warp.quanta, warp.look_after, warp.resting) = (0, FIRST_LOOK, false);
            warp.late = [0; 4];
            warp.grid_syncs = 0;
            warp.local.clear();
            for (place, &sreg) in specials.iter().enumerate() {
                let value = grid.special(sreg, warp.index, self.block.id);
                self.registers[grid.rows * warp.index as usize + self.named + TRASH_ROWS + place] = value;
            }
        }
    }

    pub(crate) fn is_done(&self) -> bool {
        self.block.live_warps == 0
    }

    /// Opens the barriers that are complete; gives how many.
    pub(crate) fn open_barriers(&mut self, grid: &Grid) -> u64 {
        let live = self.block.live(grid.per_thread);
        let mut opened = 0;
        for number in lanes_of(self.block.reached.into()) {
            let barrier = self.block.barriers[number];
            if !barrier.is_complete(live) {
                continue;
            }
            opened += 1;
            self.block.barriers[number] = Barrier::default();
            self.block.reached &= !(1 << number);
            if let Some(shadow) = &mut self.block.shadow {
                shadow.barrier_opened();
            }
            for warp in &mut self.warps {
                release(grid, warp, number as u8, &barrier);
            }
        }
        opened
    }

    /// A warp comes to the barrier at `pc`, if that only lets threads wait for each other, and all lanes of the warp come to it together. Tells
    /// whether it opens with that: then all that waited there go on. Otherwise nothing happens, and the barrier is a step like any other.
    #[inline(always)]
    pub(crate) fn comes_to_barrier(&mut self, grid: &Grid, warp: usize, pc: u32) -> Option<bool> {
        let code = &grid.image.code[pc as usize];
        if code.kind != UopKind::Bar {
            return None;
        }
        let live = self.block.live(grid.per_thread);
        let Cta { block, warps, .. } = self;
        let this = &mut warps[warp];
        let mask = this.splits.cur.mask & (this.preds[usize::from(code.guard)] ^ code.guard_flip);
        let together = mask == this.splits.live && mask != 0 && this.splits.others.is_empty();
        if !together || this.splits.broken || block.shadow.is_some() || !only_waits(grid, pc) {
            return None;
        }
        let lane = mask.trailing_zeros() as usize % 32;
        // SAFETY: operands were checked when the program was decoded.
        let [number, threads] =
            [0, 1].map(|source| unsafe { (*code.source(source, this.rows, grid.pool())).0[lane] });
        if number as usize >= BARRIERS || threads % 32 != 0 {
            return None;
        }
        let arriving = if grid.per_thread { mask.count_ones() } else { 32 };
        let barrier = &mut block.barriers[number as usize];
        barrier.arrive(arriving, threads, None);
        if !barrier.is_complete(live) {
            block.reached |= 1 << number;
            this.splits.block_all(pc + 1, Wait::Barrier(number as u8));
            return Some(false);
        }
        let opened = std::mem::take(barrier);
        block.reached &= !(1 << number);
        this.splits.go(pc + 1);
        for (index, other) in warps.iter_mut().enumerate() {
            if index != warp {
                release(grid, other, number as u8, &opened);
            }
        }
        Some(true)
    }
}

/// Whether the barrier at `pc` only lets threads wait for each other.
#[inline(always)]
fn only_waits(grid: &Grid, pc: u32) -> bool {
    let (uop, code) = (&grid.image.uops[pc as usize], &grid.image.code[pc as usize]);
    uop.sub == Sub::Bar(BarKind::Sync) && code.pdst[0] == TRASH_PRED
}

/// Gives the lanes that wait at a barrier its result and releases them.
fn release(grid: &Grid, warp: &mut Warp, number: u8, barrier: &Barrier) {
    let wait = Wait::Barrier(number);
    if let [only] = warp.splits.others.as_slice()
        && only.wait == wait
        && warp.splits.cur.mask == 0
        && only_waits(grid, only.pc - 1)
    {
        return warp.splits.resume_all();
    }
    for index in 0..warp.splits.others.len() {
        let Split { pc, mask, wait: waits_for, .. } = warp.splits.others[index];
        if waits_for != wait {
            continue;
        }
        let pc = pc as usize - 1;
        let (uop, code) = (&grid.image.uops[pc], &grid.image.code[pc]);
        let Sub::Bar(kind) = uop.sub else { continue };
        let result = barrier.result(kind);
        if kind == BarKind::RedPopc {
            // SAFETY: the destination was checked when the program was decoded.
            let dst = unsafe { &mut (*warp.rows.add(code.dst as usize)).0 };
            lanes_of(mask).for_each(|lane| dst[lane] = result);
            warp.note_late(uop);
        }
        if code.pdst[0] != TRASH_PRED {
            let pred = &mut warp.preds[usize::from(code.pdst[0])];
            *pred = if result != 0 { *pred | mask } else { *pred & !mask };
        }
    }
    warp.splits.wake(wait);
    warp.splits.resume();
}
