// SPDX-License-Identifier: MIT OR Apache-2.0
//! Divergence: the lanes of a warp as a set of splits that diverge at branches and reconverge at joins.
//!
//! A split runs until it reconverges, waits or spins, and then the newest one that is ready runs: the list of splits is the classic
//! reconvergence stack as long as nothing waits or spins. `turns` has those cases. A join lies at the immediate
//! post-dominator of the branch that made it, in the activation (call depth) of that branch.

use warpwatt_isa::NO_PC;

/// No join: these lanes reconverge with no others before they exit.
pub(crate) const NO_JOIN: u32 = u32::MAX;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wait {
    Ready,
    /// At a barrier of the block; `pc` is already past it.
    Barrier(u8),
    /// At a collective operation, which is still to be executed, for the lanes of the mask.
    Collective(u32),
    /// At WARPSYNC, with `pc` past it, for the lanes of the mask.
    WarpSync(u32),
    /// At the barrier of the whole grid.
    Grid,
}

/// Lanes that run together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Split {
    pub pc: u32,
    pub mask: u32,
    pub join: u32,
    pub wait: Wait,
    /// It was found spinning, and nothing has ended that since.
    pub spins: bool,
    /// Return addresses, outermost first.
    pub frames: Vec<u32>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Join {
    pub pc: u32,
    pub parent: u32,
    /// Lanes that will arrive, without those that exited.
    pub expected: u32,
    pub arrived: u32,
    /// Return addresses of the activation it belongs to.
    pub frames: Vec<u32>,
}

impl Join {
    /// Releases the lanes that arrived: the join no longer expects them.
    pub fn release(&mut self) -> u32 {
        self.expected &= !self.arrived;
        std::mem::take(&mut self.arrived)
    }
}

/// What a path out of a fork does to the call stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    Jump,
    /// Pushes this return address.
    Call(u32),
    Return,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Path {
    pub pc: u32,
    pub mask: u32,
    pub step: Step,
}

pub(crate) struct Splits {
    /// The split that runs; an empty mask when none can.
    pub cur: Split,
    /// Where `cur` reconverges: the pc of its join if that belongs to the current activation.
    pub stop: u32,
    pub others: Vec<Split>,
    pub(super) joins: Vec<Join>,
    pub(super) unused: Vec<u32>,
    /// Lanes that have not exited.
    pub live: u32,
    /// Barriers and collective operations are for threads. If not, a barrier is for the warp, whatever its lanes do.
    pub per_thread: bool,
    /// Lanes were released from their join before the others arrived, and not all have reconverged.
    pub broken: bool,
}

impl Splits {
    pub(crate) fn new(mask: u32, per_thread: bool) -> Splits {
        Splits {
            cur: Split { pc: 0, mask, join: NO_JOIN, wait: Wait::Ready, spins: false, frames: Vec::new() },
            stop: NO_PC,
            others: Vec::new(),
            joins: Vec::new(),
            unused: Vec::new(),
            live: mask,
            per_thread,
            broken: false,
        }
    }

    /// As new, but keeps its allocations.
    pub(crate) fn restart(&mut self, mask: u32) {
        self.cur.frames.clear();
        let frames = std::mem::take(&mut self.cur.frames);
        self.cur = Split { pc: 0, mask, join: NO_JOIN, wait: Wait::Ready, spins: false, frames };
        self.stop = NO_PC;
        self.others.clear();
        self.joins.clear();
        self.unused.clear();
        self.live = mask;
        self.broken = false;
    }

    /// Continues at `pc` with all lanes of the current split.
    #[inline(always)]
    pub(crate) fn go(&mut self, pc: u32) {
        self.cur.pc = pc;
        if pc == self.stop {
            self.arrive();
        }
    }

    /// [`Splits::go`]; tells whether the current split goes on there as it is, without having reconverged.
    #[inline(always)]
    pub(crate) fn go_on(&mut self, pc: u32) -> bool {
        self.cur.pc = pc;
        let stops = pc == self.stop;
        if stops {
            self.arrive();
        }
        !stops
    }

    pub(super) fn refresh(&mut self) {
        self.stop = match self.joins.get(self.cur.join as usize) {
            Some(join) if join.frames.len() == self.cur.frames.len() => join.pc,
            _ => NO_PC,
        };
    }

    pub(crate) fn call(&mut self, target: u32, return_pc: u32) {
        self.cur.frames.push(return_pc);
        self.refresh();
        self.go(target);
    }

    /// Returns to the caller; false when there is none.
    pub(crate) fn ret(&mut self) -> bool {
        let Some(pc) = self.cur.frames.pop() else { return false };
        self.refresh();
        self.go(pc);
        true
    }

    /// Divides the current split into paths that reconverge at `reconv`; without one, where the activation returns to.
    /// The paths must cover the lanes of the split. The last of them that is not at `reconv` runs first.
    #[cold]
    pub(crate) fn fork(&mut self, paths: &[Path], reconv: u32) {
        let depth = self.cur.frames.len();
        let meet = match (reconv, depth) {
            (NO_PC, 0) => None,
            (NO_PC, _) => Some((self.cur.frames[depth - 1], depth - 1)),
            _ => Some((reconv, depth)),
        };
        let join = match meet {
            None => self.cur.join,
            Some((pc, depth)) => self.join_at(pc, depth),
        };
        let frames = std::mem::take(&mut self.cur.frames);
        self.cur.mask = 0;
        for path in paths {
            let mut frames = frames.clone();
            match path.step {
                Step::Jump => {}
                Step::Call(return_pc) => frames.push(return_pc),
                Step::Return => {
                    frames.pop();
                }
            }
            if meet == Some((path.pc, frames.len())) {
                self.joins[join as usize].arrived |= path.mask;
            } else {
                self.others.push(Split {
                    pc: path.pc,
                    mask: path.mask,
                    join,
                    wait: Wait::Ready,
                    spins: false,
                    frames,
                });
            }
        }
        if meet.is_some() {
            self.settle(join);
        }
        self.pick();
        self.arrive();
    }

    /// [`Splits::fork`] of a branch: places and lanes of those that take it and of those that pass.
    #[inline(always)]
    pub(crate) fn fork_in_two(&mut self, [taken, passed]: [(u32, u32); 2], reconv: u32) {
        let both_meet = taken.0 == reconv && passed.0 == reconv;
        if reconv == NO_PC || both_meet || !self.cur.frames.is_empty() {
            let paths = [taken, passed].map(|(pc, mask)| Path { pc, mask, step: Step::Jump });
            return self.fork(&paths, reconv);
        }
        let join = self.join_at(reconv, 0);
        let ((pc, mask), other) = if passed.0 == reconv { (taken, passed) } else { (passed, taken) };
        if other.0 == reconv {
            self.joins[join as usize].arrived |= other.1;
        } else {
            let (wait, spins, frames) = (Wait::Ready, false, Vec::new());
            self.others.push(Split { pc: other.0, mask: other.1, join, wait, spins, frames });
        }
        (self.cur.pc, self.cur.mask, self.cur.join) = (pc, mask, join);
        self.cur.spins = false;
        self.stop = reconv;
    }

    /// The join of the current split, if it is at that place, or else a new one inside of it. A loop that lanes leave one by one
    /// reuses the join of the first one, so that joins nest only as deep as the program does.
    fn join_at(&mut self, pc: u32, depth: usize) -> u32 {
        match self.joins.get(self.cur.join as usize) {
            Some(join) if join.pc == pc && join.frames.len() == depth => return self.cur.join,
            _ => {}
        }
        let frames = self.cur.frames[..depth].to_vec();
        let join = Join { pc, parent: self.cur.join, expected: self.cur.mask, arrived: 0, frames };
        match self.unused.pop() {
            Some(slot) => {
                self.joins[slot as usize] = join;
                slot
            }
            None => {
                self.joins.push(join);
                self.joins.len() as u32 - 1
            }
        }
    }

    /// Resumes the lanes of a join when no more are expected.
    fn settle(&mut self, index: u32) {
        let join = &mut self.joins[index as usize];
        if join.expected != join.arrived {
            return;
        }
        if join.arrived != 0 {
            let frames = std::mem::take(&mut join.frames);
            let (pc, mask, parent) = (join.pc, join.arrived, join.parent);
            self.others.push(Split { pc, mask, join: parent, wait: Wait::Ready, spins: false, frames });
        }
        self.unused.push(index);
    }

    /// If the current split is at its join, it goes on when all lanes have arrived; otherwise another split runs.
    #[cold]
    pub(crate) fn arrive(&mut self) {
        while self.cur.mask != 0 && self.cur.pc == self.stop {
            let join = &mut self.joins[self.cur.join as usize];
            join.arrived |= self.cur.mask;
            if join.arrived == join.expected {
                self.cur.mask = join.arrived;
                self.cur.spins = false;
                self.unused.push(self.cur.join);
                self.cur.join = join.parent;
                self.refresh();
            } else {
                self.cur.mask = 0;
                self.pick();
            }
        }
    }

    /// Selects a split if none runs and one can.
    pub(crate) fn resume(&mut self) {
        if self.cur.mask == 0 {
            self.pick();
            self.arrive();
        }
    }

    /// The current split waits, at `pc`; another one may run.
    pub(crate) fn block(&mut self, pc: u32, wait: Wait) {
        let mut split = Split { mask: 0, frames: Vec::new(), ..self.cur };
        std::mem::swap(&mut split, &mut self.cur);
        split.pc = pc;
        split.wait = wait;
        self.others.push(split);
        self.pick();
        self.arrive();
    }

    /// [`Splits::block`] where all lanes that have not exited run together: no other can run.
    #[inline(always)]
    pub(crate) fn block_all(&mut self, pc: u32, wait: Wait) {
        debug_assert!(self.others.is_empty() && self.cur.mask == self.live);
        let frames = std::mem::take(&mut self.cur.frames);
        self.others.push(Split { pc, wait, frames, ..self.cur });
        self.cur.mask = 0;
        self.stop = NO_PC;
    }

    /// The only split, which waited, becomes ready and runs.
    #[inline(always)]
    pub(crate) fn resume_all(&mut self) {
        debug_assert!(self.cur.mask == 0 && self.others.len() == 1);
        if let Some(split) = self.others.pop() {
            self.cur = Split { wait: Wait::Ready, ..split };
            self.refresh();
            self.go(self.cur.pc);
        }
    }

    /// Separates `mask` from the current split without a new join: it stays at `pc`, ready to run later.
    pub(crate) fn set_aside(&mut self, mask: u32, pc: u32) {
        self.cur.mask &= !mask;
        let split = Split { pc, mask, spins: false, frames: self.cur.frames.clone(), ..self.cur };
        self.others.push(split);
    }

    /// Ends the lanes of `mask`, all of them in the current split; the rest of it goes on at `pc`.
    #[cold]
    pub(crate) fn exit(&mut self, mask: u32, pc: u32) {
        self.live &= !mask;
        self.cur.mask &= !mask;
        self.cur.pc = pc;
        if self.live == 0 && self.cur.join == NO_JOIN && self.others.is_empty() {
            self.stop = NO_PC;
            return;
        }
        let mut index = self.cur.join;
        while index != NO_JOIN {
            let join = &mut self.joins[index as usize];
            join.expected &= !mask;
            let parent = join.parent;
            self.settle(index);
            index = parent;
        }
        if self.cur.mask == 0 {
            self.pick();
        }
        self.arrive();
    }

    /// Splits that wait for `wait` become ready; gives their lanes.
    pub(crate) fn wake(&mut self, wait: Wait) -> u32 {
        let mut woken = 0;
        for split in self.others.iter_mut().filter(|split| split.wait == wait) {
            split.wait = Wait::Ready;
            woken |= split.mask;
        }
        woken
    }

    pub(crate) fn is_waiting(&self) -> bool {
        self.others.iter().any(|split| split.wait != Wait::Ready)
    }
}

#[cfg(test)]
mod tests {
    use warpwatt_base::SplitMix64;

    use super::*;

    type State = (Split, u32, Vec<Split>, Vec<Join>, Vec<u32>);

    fn state(splits: &Splits) -> State {
        let Splits { cur, stop, others, joins, unused, .. } = splits;
        (cur.clone(), *stop, others.clone(), joins.clone(), unused.clone())
    }

    #[test]
    fn branches_fork_as_any_paths_do() {
        let mut random = SplitMix64::new(3);
        for round in 0..2000 {
            let per_thread = random.below(2) == 0;
            let mut both = [Splits::new(!0, per_thread), Splits::new(!0, per_thread)];
            for _ in 0..12 {
                let cur = both[0].cur.clone();
                let mask = cur.mask & random.next_u64() as u32;
                if mask == 0 || mask == cur.mask {
                    both.iter_mut().for_each(|splits| splits.go(cur.pc + 1));
                    continue;
                }
                let target = cur.pc + 1 + random.below(4);
                let reconv = if random.below(5) == 0 { NO_PC } else { target + random.below(3) };
                let paths = [(target, mask), (cur.pc + 1, cur.mask & !mask)];
                both[0].fork_in_two(paths, reconv);
                both[1].fork(&paths.map(|(pc, mask)| Path { pc, mask, step: Step::Jump }), reconv);
                assert_eq!(state(&both[0]), state(&both[1]), "round {round}");
                if both[0].cur.mask == 0 {
                    break;
                }
            }
        }
    }

    #[test]
    fn a_warp_that_waits_as_a_whole_goes_on_as_any_split_does() {
        for per_thread in [false, true] {
            let mut both = [Splits::new(0xffff, per_thread), Splits::new(0xffff, per_thread)];
            let wait = Wait::Barrier(2);
            both[0].block_all(7, wait);
            both[1].block(7, wait);
            assert_eq!(state(&both[0]), state(&both[1]));
            both[0].resume_all();
            both[1].wake(wait);
            both[1].resume();
            assert_eq!(state(&both[0]), state(&both[1]));
            assert_eq!((both[0].cur.pc, both[0].cur.mask), (7, 0xffff));
        }
    }
}
