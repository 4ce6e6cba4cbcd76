// SPDX-License-Identifier: MIT OR Apache-2.0
//! Detection of splits that spin, at backward branches.
//!
//! A split spins when it returns to a branch in the state it was in there before, without having stored anything meanwhile: only
//! a write of others can end that. A split also spins after many iterations without a store of a loop that polls (reads with an
//! order, or by an atomic operation with a result), even if it counts them.

use crate::cta::Warp;
use crate::lanes::Row;

/// Iterations of a polling loop without a store after which the warp counts as spinning.
const POLLS: u32 = 64;
/// Iterations of a loop without a store or a polling instruction after which the warp counts as spinning: plain loads may be polls, too.
const ROUNDS: u32 = 1 << 20;

/// What a warp remembers of the loop that one of its splits is in. Cycles of any length, with loops inside, are found by Brent's
/// method: states are compared with that of the 1st, 2nd, 4th, 8th … backward branch.
#[derive(Default)]
pub(crate) struct Loop {
    mask: u32,
    /// Backward branches that were taken.
    rounds: u32,
    /// The branch at which the state was taken, how often it was taken, and how often in that state.
    pc: u32,
    times: u32,
    repeats: u32,
    preds: [u32; 9],
    rows: Vec<Row>,
    /// The register that was found changed last: where the next comparison starts.
    changed: usize,
    /// Something was stored since a backward branch was taken.
    pub stored: bool,
}

impl Loop {
    pub(crate) fn restart(&mut self) {
        (self.rounds, self.stored) = (0, false);
    }

    /// All lanes of the current split have taken the backward branch at `pc` of a loop that may poll. True if they spin: they came back
    /// `repeats` times to one state.
    #[cold]
    pub(crate) fn goes_around(
        warp: &mut Warp,
        pc: u32,
        registers: &[Row],
        repeats: u32,
        polls: impl Fn() -> bool,
    ) -> bool {
        let this = &mut warp.around;
        let mask = warp.splits.cur.mask;
        if std::mem::take(&mut this.stored) || this.mask != mask {
            (this.mask, this.rounds) = (mask, 0);
        }
        this.rounds += 1;
        let mut same = false;
        if this.rounds > 1 && pc == this.pc {
            same = this.is_same(&warp.preds, registers);
            this.repeats += u32::from(same);
            this.times += 1;
            let polls_only = this.times >= POLLS && this.times.is_power_of_two() && polls();
            if this.repeats >= repeats || polls_only || this.rounds >= ROUNDS {
                this.rounds = 0;
                return true;
            }
        }
        if !same && this.rounds.is_power_of_two() {
            if this.rounds == 1 || this.pc != pc {
                this.times = 0;
            }
            this.pc = pc;
            this.take(&warp.preds, registers);
        }
        false
    }

    fn take(&mut self, preds: &[u32; 9], registers: &[Row]) {
        self.preds = *preds;
        self.rows.clear();
        self.rows.extend_from_slice(registers);
        self.repeats = 0;
    }

    fn is_same(&mut self, preds: &[u32; 9], registers: &[Row]) -> bool {
        if self.rows.get(self.changed).is_some_and(|row| row != &registers[self.changed]) {
            return false;
        }
        let changed = self.rows.iter().zip(registers).position(|(before, now)| before != now);
        self.changed = changed.unwrap_or(self.changed);
        changed.is_none() && self.preds[..7] == preds[..7]
    }
}
