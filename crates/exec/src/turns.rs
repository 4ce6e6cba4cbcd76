// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which split of a warp runs next, and when lanes that wait at a join are released before the others arrive.
//!
//! The current split changes only when it waits or spins. Reconvergence is only for speed, so lanes leave a join early if something
//! may wait for them: a barrier, a collective operation or a spinning split. A split that spins runs again when another one of its
//! warp has written to memory. Released lanes reconverge where splits are at the same instruction then, at the latest at the
//! enclosing join. All this depends on the warp's own execution alone, so that it issues the same instructions with any timing.

use crate::split::{NO_JOIN, Split, Splits, Wait};
use warpwatt_isa::NO_PC;

impl Splits {
    /// Selects the newest split that may run.
    pub(super) fn pick(&mut self) {
        match self.newest_ready(|_| true) {
            Some(index) => self.take_up(index),
            None if self.whole_warp_waits() || !self.release_awaited() => self.stop = NO_PC,
            None => self.pick(),
        }
    }

    fn newest_ready(&self, fits: impl Fn(&Split) -> bool) -> Option<usize> {
        let ready = |split: &Split| split.wait == Wait::Ready && fits(split);
        if self.whole_warp_waits() { None } else { self.others.iter().rposition(ready) }
    }

    /// Whether the whole warp waits at a barrier for warps.
    fn whole_warp_waits(&self) -> bool {
        let at_barrier = |split: &Split| matches!(split.wait, Wait::Barrier(_));
        !self.per_thread && self.others.last().is_some_and(at_barrier)
    }

    fn take_up(&mut self, index: usize) {
        self.cur = self.others.remove(index);
        self.refresh();
    }

    /// When nothing can run, releases lanes at a join that a barrier or a collective operation waits for. True if there were any.
    #[cold]
    fn release_awaited(&mut self) -> bool {
        let mut awaited = 0;
        for split in &self.others {
            awaited |= match split.wait {
                Wait::Collective(members) | Wait::WarpSync(members) => members,
                Wait::Barrier(_) | Wait::Grid => !0,
                Wait::Ready => 0,
            };
        }
        // From the newest join outwards.
        let found = (0..self.joins.len() as u32)
            .rev()
            .find(|index| !self.unused.contains(index) && self.joins[*index as usize].arrived & awaited != 0);
        found.is_some_and(|index| self.release(index))
    }

    /// Releases the lanes that wait at a join. False if there are none.
    fn release(&mut self, index: u32) -> bool {
        let Some(join) = self.joins.get_mut(index as usize) else { return false };
        if join.arrived == 0 {
            return false;
        }
        let (pc, mask, parent, frames) = (join.pc, join.release(), join.parent, join.frames.clone());
        self.others.push(Split { pc, mask, join: parent, wait: Wait::Ready, spins: false, frames });
        self.broken = true;
        true
    }

    /// The current split spins. Lanes that wait for it at its join run next, or the newest split that does not spin, or lanes that
    /// wait for it further outside; if there are none of these, the splits that spin take turns.
    #[cold]
    pub(crate) fn give_way(&mut self) {
        self.cur.spins = true;
        let computes = |split: &Split| !split.spins;
        if !self.release(self.cur.join) && self.newest_ready(computes).is_none() {
            let mut index = self.cur.join;
            while index != NO_JOIN && !self.release(index) {
                index = self.joins[index as usize].parent;
            }
        }
        let oldest = || self.others.iter().position(|split| split.wait == Wait::Ready);
        if let Some(index) = self.newest_ready(computes).or_else(oldest) {
            self.swap(index);
        }
    }

    /// The current split has written to memory, for which a spinning split may wait: that one runs next.
    #[cold]
    pub(crate) fn notify(&mut self) {
        merge_alike(&mut self.others);
        let here = |split: &Split, cur: &Split| {
            (split.pc, split.join, split.wait) == (cur.pc, cur.join, Wait::Ready)
                && split.frames == cur.frames
        };
        if let Some(index) = self.others.iter().position(|split| here(split, &self.cur)) {
            self.cur.mask |= self.others.remove(index).mask;
            self.broken &= self.cur.mask != self.live;
        }
        let spinning = self.others.iter().rposition(|split| split.spins && split.wait == Wait::Ready);
        if let Some(index) = spinning.filter(|_| !self.whole_warp_waits()) {
            self.swap(index);
        }
    }

    fn swap(&mut self, index: usize) {
        let next = self.others.remove(index);
        let old = std::mem::replace(&mut self.cur, next);
        if old.mask != 0 {
            self.others.push(old);
        }
        self.refresh();
        self.arrive();
    }

    /// Lets the oldest of the others that is ready run instead of the current split. False if there is none.
    pub(crate) fn rotate(&mut self) -> bool {
        let found = self.others.iter().position(|split| split.wait == Wait::Ready);
        found.inspect(|&index| self.swap(index)).is_some()
    }

    /// Merges all splits if they are ready at the same instruction: no other lanes are left to wait for.
    pub(crate) fn unite(&mut self) {
        let same = |split: &Split| {
            (split.pc, split.wait) == (self.cur.pc, Wait::Ready) && split.frames == self.cur.frames
        };
        let all = self.others.iter().fold(self.cur.mask, |all, split| all | split.mask);
        if all == self.live && self.others.iter().all(same) {
            self.cur.mask = all;
            self.cur.join = NO_JOIN;
            self.others.clear();
            self.joins.clear();
            self.unused.clear();
            self.refresh();
        }
        self.broken = false;
    }
}

/// Lanes that are ready at the same place, on the way to the same join, run together from there.
pub(crate) fn merge_alike(splits: &mut Vec<Split>) {
    let mut index = 0;
    while index < splits.len() {
        let (head, tail) = splits.split_at_mut(index);
        let this = &tail[0];
        let twin = head.iter_mut().find(|other| {
            (other.pc, other.join, other.wait) == (this.pc, this.join, this.wait)
                && other.wait == Wait::Ready
                && other.frames == this.frames
        });
        match twin {
            Some(other) => {
                other.mask |= this.mask;
                other.spins &= this.spins;
                splits.remove(index);
            }
            None => index += 1,
        }
    }
}
