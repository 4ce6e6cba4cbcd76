// SPDX-License-Identifier: MIT OR Apache-2.0
//! Detection of warps that make no progress.
//!
//! Lanes of a warp that run together spin when they return to an earlier state: the same instruction, the same calls, the same values of
//! the registers that decide where they go. If all that can run spin, and memory did not change meanwhile, they do so for ever.

use crate::cta::{Block, Cta, Warp};
use crate::deciding::Deciding;
use crate::fault::{Fault, FaultKind, Waiter};
use crate::grid::Grid;
use crate::lanes::Row;
use crate::machine::{Event, Machine};
use crate::port::GlobalPort;
use crate::rows::lanes_of;
use crate::split::{Split, Wait};

/// Longest loop that is first recognised as spinning, in instructions.
pub(crate) const SPIN_PERIOD: u32 = 1024;
/// Waiting warps that a report names.
const REPORTED: usize = 8;

/// Result of the examination of a warp.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Look {
    /// It returned to an earlier state.
    Spins,
    /// It reached another state.
    Moves,
    /// It cannot run.
    Waits,
    /// An event that the engine must handle.
    Event(Event),
}

/// The state that decides what a warp does next, without memory.
pub(crate) struct Snapshot {
    /// Splits that can run, the current one first, and whether each returned to this state.
    splits: Vec<(Split, bool)>,
    preds: [u32; 9],
    rows: Vec<Row>,
}

impl Snapshot {
    pub(crate) fn of(grid: &Grid, warp: &Warp) -> Snapshot {
        let ready = warp.splits.others.iter().filter(|split| split.wait == Wait::Ready);
        let splits =
            [&warp.splits.cur].into_iter().chain(ready).map(|split| (split.clone(), false)).collect();
        Snapshot { splits, preds: warp.preds, rows: warp.registers(grid).to_vec() }
    }

    /// The split of the snapshot that was where the warp's current split is, whatever the registers hold.
    pub(crate) fn place(&self, warp: &Warp) -> Option<usize> {
        let cur = &warp.splits.cur;
        self.splits
            .iter()
            .position(|(split, _)| (split.pc, split.mask) == (cur.pc, cur.mask) && split.frames == cur.frames)
    }

    /// The current split is at this place: notes its return if the registers that decide have their old values. True if they do.
    pub(crate) fn note(&mut self, grid: &Grid, warp: &Warp, place: usize, deciding: &Deciding) -> bool {
        let Some((split, back)) = self.splits.get_mut(place) else { return false };
        let mask = split.mask;
        let predicates = (0..7).filter(|&pred| deciding.has_predicate(pred));
        let same_predicates =
            || predicates.into_iter().all(|pred| (self.preds[pred] ^ warp.preds[pred]) & mask == 0);
        let registers = grid.image.program().registers as usize;
        let now = warp.registers(grid);
        let same_registers = || {
            (0..registers.min(now.len()).min(self.rows.len())).filter(|&register| deciding.has(register)).all(
                |register| lanes_of(mask).all(|lane| self.rows[register].0[lane] == now[register].0[lane]),
            )
        };
        let same = !deciding.time && same_predicates() && same_registers();
        *back |= same;
        same
    }

    /// Whether every split returned, and no lane waits at a join from which it would be released.
    pub(crate) fn all_back(&self, warp: &Warp) -> bool {
        let others = warp.splits.others.iter();
        let lanes = others.fold(warp.splits.cur.mask, |lanes, split| lanes | split.mask);
        lanes == warp.splits.live && self.splits.iter().all(|(_, back)| *back)
    }

    /// Whether the current split, the only one that was examined, is in exactly its old state.
    fn equals(&self, grid: &Grid, warp: &Warp) -> bool {
        let registers = grid.image.program().registers as usize;
        self.place(warp) == Some(0)
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
        let pc = warp.splits.cur.pc;
        for _ in 0..SPIN_PERIOD {
            self.tally.elapsed += 1;
            match self.run_warp(warp, block, 1) {
                Event::Go | Event::Yield => {}
                Event::Blocked => return Look::Waits,
                event => return Look::Event(event),
            }
            if warp.splits.cur.pc == pc && before.equals(self.grid, warp) {
                return Look::Spins;
            }
        }
        Look::Moves
    }

    /// Runs all splits of a warp in turns, `length` instructions at most, to see whether every one of them spins for ever.
    pub(crate) fn look_closely(&mut self, warp: &mut Warp, block: &mut Block, length: u32) -> Look {
        if !warp.can_run() {
            return Look::Waits;
        }
        let mut before = Snapshot::of(self.grid, warp);
        let image = self.grid.image;
        let mut executed = vec![false; image.code.len()];
        // Instructions executed for the first time extend the set of registers that decide.
        let mut deciding: Option<Deciding> = None;
        for _ in 0..length {
            let seen = &mut executed[warp.splits.cur.pc as usize];
            if !std::mem::replace(seen, true) {
                deciding = None;
            }
            self.tally.elapsed += 1;
            match self.run_warp(warp, block, 1) {
                Event::Go | Event::Yield => {}
                Event::Blocked => return Look::Moves,
                event => return Look::Event(event),
            }
            let Some(place) = before.place(warp) else { continue };
            let deciding = deciding.get_or_insert_with(|| Deciding::of(image, |pc| executed[pc]));
            if before.note(self.grid, warp, place, deciding) {
                if before.all_back(warp) {
                    return Look::Spins;
                }
                warp.splits.rotate();
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
