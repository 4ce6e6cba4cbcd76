// SPDX-License-Identifier: MIT OR Apache-2.0
//! Telling warps that get nowhere from warps that compute.
//!
//! A warp spins when, going on alone, it comes back to exactly the state it was in: the same instruction, lanes, predicates and registers. If all warps that can run do so, and
//! memory did not change meanwhile, nothing will ever happen. A loop that changes a register is taken to compute.

use crate::cta::{Block, Cta, Warp};
use crate::fault::{Fault, FaultKind, Waiter};
use crate::grid::Grid;
use crate::lanes::Row;
use crate::machine::{Event, Machine};
use crate::port::GlobalPort;
use crate::split::{Split, Wait};

/// Longest loop that is recognised as spinning.
pub(crate) const SPIN_PERIOD: u32 = 1024;
/// Waiting warps that a report names.
const REPORTED: usize = 8;

/// What a look at a warp showed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Look {
    /// It came back to the state it was in.
    Spins,
    /// It went somewhere else.
    Moves,
    /// It cannot run.
    Waits,
    /// Something happened that the engine must deal with.
    Event(Event),
}

/// All that decides where a warp goes from here, but for memory.
pub(crate) struct Snapshot {
    pub split: Split,
    preds: [u32; 9],
    rows: Vec<Row>,
}

impl Snapshot {
    pub(crate) fn of(grid: &Grid, warp: &Warp) -> Snapshot {
        Snapshot { split: warp.splits.cur.clone(), preds: warp.preds, rows: warp.registers(grid).to_vec() }
    }

    pub(crate) fn equals(&self, grid: &Grid, warp: &Warp) -> bool {
        let registers = grid.image.program().registers as usize;
        self.split == warp.splits.cur
            && self.preds[..7] == warp.preds[..7]
            && self.rows[..registers] == warp.registers(grid)[..registers]
    }
}

impl<P: GlobalPort> Machine<'_, P> {
    /// Runs the current split of a warp for a short while, to see whether it spins.
    pub(crate) fn look_at(&mut self, warp: &mut Warp, block: &mut Block) -> Look {
        if !warp.can_run() {
            return Look::Waits;
        }
        let before = Snapshot::of(self.grid, warp);
        for _ in 0..SPIN_PERIOD {
            self.tally.elapsed += 1;
            match self.run_warp(warp, block, 1) {
                Event::Go | Event::Yield => {}
                Event::Blocked => return Look::Waits,
                event => return Look::Event(event),
            }
            if warp.splits.cur.pc == before.split.pc && before.equals(self.grid, warp) {
                return Look::Spins;
            }
        }
        Look::Moves
    }
}

/// The fault for blocks that will never go on, with what the first few warps wait for.
pub(crate) fn stuck<'c>(
    grid: &Grid,
    kind: FaultKind,
    ctas: impl Iterator<Item = &'c Cta>,
    detail: String,
) -> Fault {
    let mut fault = Fault::bare(kind, 0, detail);
    for cta in ctas {
        for warp in cta.warps.iter().filter(|warp| !warp.is_done()) {
            let splits =
                warp.splits.others.iter().chain(Some(&warp.splits.cur)).filter(|split| split.mask != 0);
            for split in splits {
                if fault.waiters.len() == REPORTED {
                    return fault;
                }
                let waiter = describe(grid, cta, warp, split);
                if fault.waiters.is_empty() {
                    (fault.pc, fault.cta) = (waiter.pc, waiter.cta);
                    fault.thread = grid.thread(warp.index, split.mask.trailing_zeros() as usize);
                }
                fault.waiters.push(waiter);
            }
        }
    }
    fault
}

fn describe(grid: &Grid, cta: &Cta, warp: &Warp, split: &Split) -> Waiter {
    let behind = split.pc.saturating_sub(1);
    let (pc, reason) = match split.wait {
        Wait::Barrier(number) => {
            let barrier = &cta.block.barriers[usize::from(number)];
            let expected = match barrier.expected {
                0 if grid.per_thread => cta.block.live_threads,
                0 => 32 * cta.block.live_warps,
                threads => threads,
            };
            (
                behind,
                format!("waits at barrier {number}, where {} of {expected} threads are", barrier.arrived),
            )
        }
        Wait::Collective(members) => {
            let name = grid.image.uops[split.pc as usize].op.name();
            (split.pc, format!("waits in {name} for the lanes of 0x{members:08x}"))
        }
        Wait::WarpSync(members) => (behind, format!("waits in WARPSYNC for the lanes of 0x{members:08x}")),
        Wait::Grid => (behind, "waits at the barrier of the grid".to_string()),
        Wait::Ready => (split.pc, "runs in a loop without changing memory".to_string()),
    };
    Waiter { cta: cta.block.id, warp: warp.index, pc, lanes: split.mask, reason }
}
