// SPDX-License-Identifier: MIT OR Apache-2.0
//! A warp scheduler: which of its warps issues next.
//!
//! Its warps are numbered by age, so that sets of them are bit masks and the oldest is the lowest bit. Policies: greedy then oldest,
//! loose round robin, and two levels (Narasiman et al., MICRO 2011), where few active warps take turns and one that waits for memory or
//! at a barrier is replaced by a pending one.

use std::ops::{Index, IndexMut, Range};

use warpwatt_config::{Policy, Sm as SmParameters};

use super::decode::CollectorPool;
use super::slot::Slot;
use super::stall::Stall;

/// Warps of one scheduler at most.
const RANKS: usize = Slot::COUNT;

pub struct Scheduler {
    policy: Policy,
    /// Most warps that are active at once with two levels.
    active_limit: u32,
    /// Warp slots by age, oldest first.
    slots: [Slot; RANKS],
    pub count: usize,
    /// The collectors that the next instruction of each rank wants, if it can issue, and by pool the ranks that want one of it.
    pool: [u8; RANKS],
    of_pool: [u64; CollectorPool::COUNT],
    /// Ranks that wait for something long: they leave the active set.
    /// Only with two levels.
    away: u64,
    /// With one level, all are active.
    active: u64,
    /// The warp that issued last, as a set of ranks; empty if it has gone.
    last: u64,
    /// Those that go first if they are ready: that warp, or those behind it. And what they are for the first rank, to be shifted for others.
    preferred: u64,
    preferred_first: u64,
    charge: SlotCharge,
    /// Ranks whose changes matter to others: see [`Scheduler::watch`].
    watched: u64,
}

/// What issue slots without an instruction are charged to: the instruction that the first warp of a scheduler waits with, and why.
#[derive(Clone, Copy)]
pub struct SlotCharge {
    /// Slots that have not been noted, and the cycle of the first slot that is not among them.
    pub slots: u64,
    pub since: u64,
    /// [`NO_KERNEL`] if the scheduler has no warp.
    pub kernel: u32,
    pub pc: u32,
    pub stall: Stall,
    /// The rank that it depends on.
    pub rank: u8,
}

/// No kernel: a scheduler has no warp.
pub const NO_KERNEL: u32 = u32::MAX;

impl SlotCharge {
    /// For a scheduler without warps.
    pub const EMPTY: SlotCharge =
        SlotCharge { slots: 0, since: 0, kernel: NO_KERNEL, pc: 0, stall: Stall::Empty, rank: u8::MAX };
}

impl Scheduler {
    pub fn new(policy: Policy, active_limit: u32) -> Scheduler {
        let mut scheduler = Scheduler {
            policy,
            active_limit,
            slots: [Slot::default(); RANKS],
            count: 0,
            pool: [0; RANKS],
            of_pool: [0; CollectorPool::COUNT],
            away: 0,
            active: if policy == Policy::TwoLevel { 0 } else { u64::MAX },
            last: 0,
            preferred: 0,
            preferred_first: if policy == Policy::Gto { 1 } else { !1 },
            charge: SlotCharge::EMPTY,
            watched: 0,
        };
        scheduler.watch();
        scheduler
    }

    /// Takes over a new warp, younger than all others, which waits at first. Gives its rank.
    fn add(&mut self, slot: Slot) -> u8 {
        let rank = self.count % RANKS;
        self.slots[rank] = slot;
        self.set_pool(rank as u8, CollectorPool::Sp);
        self.count += 1;
        self.fill_active();
        rank as u8
    }

    /// A warp is gone; those younger than it move up by one rank.
    fn remove(&mut self, rank: u8) {
        let close = |set| without(set, rank);
        self.of_pool = self.of_pool.map(close);
        self.away = close(self.away);
        if self.policy == Policy::TwoLevel {
            self.active = close(self.active);
        }
        self.set_last(close(self.last & !(1 << rank)));
        self.slots.copy_within(usize::from(rank) + 1..self.count, usize::from(rank));
        self.pool.copy_within(usize::from(rank) + 1..self.count, usize::from(rank));
        self.count -= 1;
        self.fill_active();
    }

    /// Slots of the warps from a rank on, in order of age.
    pub fn slots_from(&self, rank: u8) -> &[Slot] {
        &self.slots[usize::from(rank)..self.count]
    }

    #[inline(always)]
    pub fn slot(&self, rank: u8) -> Slot {
        self.slots[usize::from(rank) % RANKS]
    }

    /// The next instruction of a warp wants a collector of this pool.
    #[inline(always)]
    fn set_pool(&mut self, rank: u8, pool: CollectorPool) {
        let last = std::mem::replace(&mut self.pool[usize::from(rank) % RANKS], pool as u8);
        self.of_pool[usize::from(last) % CollectorPool::COUNT] &= !(1 << rank);
        self.of_pool[pool as usize] |= 1 << rank;
    }

    /// A warp waits for something long, or no longer. With two levels, others may become active.
    #[cold]
    #[inline(never)]
    fn set_away(&mut self, rank: u8, away: bool) {
        self.away = self.away & !(1 << rank) | u64::from(away) << rank;
        self.fill_active();
    }

    /// The ranks whose changes matter beyond themselves: that which slots are charged to, or with two levels all, since any may change which
    /// warp is the first.
    fn watch(&mut self) {
        // A scheduler without warps has none, and what it is charged to changes with the first that comes.
        self.watched =
            if self.policy == Policy::TwoLevel { !0 } else { 1 << (self.charge.rank % RANKS as u8) };
    }

    /// With two levels, active warps with long stalls are replaced by pending ones that are ready.
    fn fill_active(&mut self) {
        if self.policy != Policy::TwoLevel {
            return;
        }
        let all = if self.count == RANKS { !0 } else { (1u64 << self.count) - 1 };
        let mut pending = all & !self.active & !self.away;
        while pending != 0 {
            let full = self.active.count_ones() >= self.active_limit;
            let gone = self.active & self.away;
            if full && gone == 0 {
                break;
            }
            if full {
                self.active &= !(1 << gone.trailing_zeros());
            }
            let next = pending.trailing_zeros();
            self.active |= 1 << next;
            pending &= pending - 1;
        }
    }

    /// Which of the ready warps may issue, given the pools without a free collector, a bit for each.
    #[inline(always)]
    fn candidates(&self, ready: u64, full: u32) -> u64 {
        let mut set = ready & self.active;
        if full != 0 {
            // No loop: the compiler would take it for the part that matters.
            let without = |pool: usize| self.of_pool[pool] & u64::from(full >> pool & 1).wrapping_neg();
            set &= !(without(0) | without(1) | without(2) | without(3));
        }
        set
    }

    /// The pools of which ready warps want a collector, a bit for each.
    #[inline(always)]
    fn wanted(&self, ready: u64) -> u32 {
        let ready = ready & self.active;
        let bit = |pool: CollectorPool| u32::from(self.of_pool[pool as usize] & ready != 0) << pool as u32;
        CollectorPool::ALL.into_iter().fold(0, |wanted, pool| wanted | bit(pool))
    }

    /// A warp was the last to issue, or none that is still there.
    #[cold]
    fn set_last(&mut self, last: u64) {
        self.last = last;
        self.preferred = if last == 0 { 0 } else { self.preferred_first << last.trailing_zeros() };
    }

    /// The first of a set in the order of the policy.
    #[inline(always)]
    fn first_of(&self, set: u64) -> Option<u8> {
        let preferred = set & self.preferred;
        let from = if preferred != 0 { preferred } else { set };
        (set != 0).then_some(from.trailing_zeros() as u8)
    }

    /// The warp to issue from, of those that may.
    #[inline(always)]
    pub fn pick(&self, candidates: u64) -> Option<u8> {
        self.first_of(candidates)
    }

    /// The first warp in the scheduler's order, whether it can issue or not: it is the one that a cycle without issue is charged to.
    #[inline(always)]
    pub fn first(&self) -> Option<u8> {
        let all = || if self.count == RANKS { !0 } else { (1u64 << self.count) - 1 };
        match (self.policy, self.last) {
            (Policy::Gto, last) if last != 0 => Some(last.trailing_zeros() as u8),
            (Policy::TwoLevel, _) if self.active != 0 => self.first_of(self.active),
            _ => self.first_of(all()),
        }
    }
}

/// A set of ranks without one of them: those behind it move up.
fn without(set: u64, rank: u8) -> u64 {
    let below = (1u64 << rank) - 1;
    set & below | set >> 1 & !below
}

/// The most schedulers of an SM.
const SCHEDULERS: usize = 4;

/// The schedulers of an SM, by number.
pub struct Schedulers {
    all: [Scheduler; SCHEDULERS],
    count: u8,
    /// By scheduler and rank: warps that can issue as soon as a collector is free.
    ready: [u64; SCHEDULERS],
    /// The present cycle, and those before which issue slots are decided.
    now: u64,
    decided: [u64; SCHEDULERS],
    /// Those for which the cause of slots without an instruction has to be found again, a bit for each.
    stale: u32,
}

impl Schedulers {
    pub fn new(sm: &SmParameters) -> Schedulers {
        assert!(sm.schedulers as usize <= SCHEDULERS, "the range of the parameter");
        Schedulers {
            all: std::array::from_fn(|_| Scheduler::new(sm.scheduler, sm.active_warps)),
            count: sm.schedulers as u8,
            ready: [0; SCHEDULERS],
            now: 0,
            decided: [0; SCHEDULERS],
            stale: u32::MAX >> (u32::BITS - sm.schedulers),
        }
    }

    /// A cycle begins, with no issue slot decided. To be called before anything changes in it, and stale causes are to be found right after.
    #[inline(always)]
    pub fn begin(&mut self, now: u64) {
        self.now = now;
    }

    /// Those whose causes are stale, a bit for each.
    #[inline(always)]
    pub fn stale(&self) -> u32 {
        self.stale
    }

    #[inline(always)]
    pub fn is_stale(&self, number: u8) -> bool {
        self.stale >> number & 1 != 0
    }

    /// The cause of slots without an instruction no longer holds, from the first slot on that is not decided.
    #[inline(always)]
    pub fn forget_cause(&mut self, number: u8) {
        if !self.is_stale(number) {
            let clock = self.now.max(self.decided[usize::from(number) % SCHEDULERS]);
            let charge = &mut self[number].charge;
            charge.slots += clock - charge.since;
            charge.since = clock;
            self.stale |= 1 << number;
        }
    }

    /// What slots of a scheduler have been charged to.
    #[inline(always)]
    pub fn charge(&self, number: u8) -> &SlotCharge {
        &self[number].charge
    }

    /// Slots of a scheduler are charged to this from now on.
    #[inline(always)]
    pub fn charge_to(&mut self, number: u8, charge: SlotCharge) {
        let since = self[number].charge.since;
        self[number].charge = SlotCharge { slots: 0, since, ..charge };
        self[number].watch();
        self.stale &= !(1 << number);
    }

    /// The cycle before which all issue slots are decided, or have passed with the cause that holds.
    pub fn accounted(&self) -> u64 {
        self.now.max(self.decided[0])
    }

    /// The issue slot of a scheduler has no instruction.
    #[inline(always)]
    pub fn pass(&mut self, number: u8, now: u64) {
        self.decided[usize::from(number) % SCHEDULERS] = now + 1;
    }

    /// A warp issues: the greedy order stays with it, and round robin goes on from it. Gives what `take_back` wants if it cannot after all.
    #[inline(always)]
    pub fn issued(&mut self, number: u8, rank: u8, now: u64) -> u64 {
        debug_assert!(!self.is_stale(number) || self[number].charge.since == now, "no slot without a cause");
        self.stale |= 1 << number;
        self.decided[usize::from(number) % SCHEDULERS] = now + 1;
        let scheduler = &mut self[number];
        scheduler.charge.slots += now - scheduler.charge.since;
        scheduler.charge.since = now + 1;
        scheduler.preferred = scheduler.preferred_first << rank;
        std::mem::replace(&mut scheduler.last, 1 << rank)
    }

    #[inline(always)]
    pub fn take_back(&mut self, number: u8, before: u64, now: u64) {
        self.decided[usize::from(number) % SCHEDULERS] = now;
        let scheduler = &mut self[number];
        scheduler.charge.since = now;
        scheduler.set_last(before);
    }

    /// Something about a warp changes.
    #[inline(always)]
    pub fn changes(&mut self, number: u8, rank: u8) {
        if self[number].watched >> rank & 1 != 0 {
            self.forget_cause(number);
        }
    }

    /// Gives a scheduler a new warp, younger than all others, which waits at first. Gives its rank.
    pub fn add(&mut self, number: u8, slot: Slot) -> u8 {
        self.forget_cause(number);
        self[number].add(slot)
    }

    #[inline(always)]
    pub fn count(&self) -> u8 {
        self.count
    }

    /// Their numbers, of which the compiler is to know how large they can be.
    #[inline(always)]
    pub fn numbers(&self) -> Range<u8> {
        // SAFETY: the constructor checks it, and it does not change.
        unsafe { std::hint::assert_unchecked(self.count <= SCHEDULERS as u8) };
        0..self.count
    }

    /// The pools of which warps want nothing but a collector, a bit for each.
    #[inline(always)]
    pub fn wanted(&self) -> u32 {
        let ready = self.numbers().filter(|&number| self.has_ready(number));
        let wanted = |number: u8| self[number].wanted(self.ready[usize::from(number) % SCHEDULERS]);
        ready.fold(0, |all, number| all | wanted(number))
    }

    /// Warps of a scheduler that may issue, given the pools without a free collector, a bit for each.
    #[inline(always)]
    pub fn candidates(&self, number: u8, full: u32) -> u64 {
        self[number].candidates(self.ready[usize::from(number) % SCHEDULERS], full)
    }

    /// Whether a warp can issue as soon as it is its turn and a collector is free.
    #[inline(always)]
    pub fn any_ready(&self) -> bool {
        self.ready != [0; SCHEDULERS]
    }

    /// Whether a warp of one scheduler can.
    #[inline(always)]
    pub fn has_ready(&self, number: u8) -> bool {
        self.ready[usize::from(number) % SCHEDULERS] != 0
    }

    /// A warp can issue, given a collector of the pool.
    #[inline(always)]
    pub fn set_ready(&mut self, number: u8, rank: u8, pool: CollectorPool) {
        self.ready[usize::from(number) % SCHEDULERS] |= 1 << rank;
        if self[number].pool[usize::from(rank) % RANKS] != pool as u8 {
            self[number].set_pool(rank, pool);
        }
        self.watched_changes(number, rank, false);
    }

    /// A warp cannot issue; `away` if it will take long.
    #[inline(always)]
    pub fn set_waiting(&mut self, number: u8, rank: u8, away: bool) {
        self.ready[usize::from(number) % SCHEDULERS] &= !(1 << rank);
        self.watched_changes(number, rank, away);
    }

    #[inline(always)]
    fn watched_changes(&mut self, number: u8, rank: u8, away: bool) {
        if self[number].watched >> rank & 1 != 0 {
            self.forget_cause(number);
            if self[number].policy == Policy::TwoLevel {
                self[number].set_away(rank, away);
            }
        }
    }

    /// A warp is gone; those younger than it move up by one rank.
    pub fn remove(&mut self, number: u8, rank: u8) {
        self.forget_cause(number);
        self[number].remove(rank);
        let ready = &mut self.ready[usize::from(number) % SCHEDULERS];
        *ready = without(*ready, rank);
    }
}

impl Index<u8> for Schedulers {
    type Output = Scheduler;

    #[inline(always)]
    fn index(&self, number: u8) -> &Scheduler {
        &self.all[usize::from(number) % SCHEDULERS]
    }
}

impl IndexMut<u8> for Schedulers {
    #[inline(always)]
    fn index_mut(&mut self, number: u8) -> &mut Scheduler {
        &mut self.all[usize::from(number) % SCHEDULERS]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpwatt_config::Config;

    /// One scheduler whose warps are all ready.
    fn scheduler(scheduler: Policy, warps: u8) -> Schedulers {
        let sm = SmParameters { scheduler, schedulers: 1, active_warps: 2, ..Config::default().sm };
        let mut schedulers = Schedulers::new(&sm);
        for rank in 0..warps {
            assert_eq!(schedulers.add(0, Slot::new(10 + usize::from(rank))), rank);
        }
        for rank in 0..warps {
            schedulers.set_ready(0, rank, CollectorPool::Sp);
        }
        schedulers
    }

    fn issue(schedulers: &mut Schedulers) -> Option<u8> {
        let rank = schedulers[0].pick(schedulers.candidates(0, 0))?;
        schedulers[0].set_last(1 << rank);
        Some(schedulers[0].slot(rank).number())
    }

    #[test]
    fn greedy_stays_with_a_warp_and_then_takes_the_oldest() {
        let mut gto = scheduler(Policy::Gto, 3);
        assert_eq!([issue(&mut gto), issue(&mut gto)], [Some(10), Some(10)]);
        gto.set_waiting(0, 0, false);
        assert_eq!([issue(&mut gto), issue(&mut gto)], [Some(11), Some(11)]);
        gto.set_ready(0, 0, CollectorPool::Sp);
        assert_eq!(issue(&mut gto), Some(11), "as long as it is ready");
        gto.set_waiting(0, 1, false);
        assert_eq!(issue(&mut gto), Some(10));
    }

    #[test]
    fn round_robin_takes_turns() {
        let mut lrr = scheduler(Policy::Lrr, 3);
        let order: Vec<_> = (0..5).filter_map(|_| issue(&mut lrr)).collect();
        assert_eq!(order, [10, 11, 12, 10, 11]);
    }

    #[test]
    fn two_levels_keep_few_warps_active_until_one_waits_for_memory() {
        let mut two = scheduler(Policy::TwoLevel, 4);
        let order: Vec<_> = (0..4).filter_map(|_| issue(&mut two)).collect();
        assert_eq!(order, [10, 11, 10, 11]);
        two.set_waiting(0, 0, true);
        let order: Vec<_> = (0..3).filter_map(|_| issue(&mut two)).collect();
        assert_eq!(order, [12, 11, 12]);
        two.set_ready(0, 0, CollectorPool::Sp);
        assert!(!(0..4).filter_map(|_| issue(&mut two)).any(|slot| slot == 10), "it is pending now");
    }

    #[test]
    fn a_warp_whose_unit_is_busy_lets_others_go_first() {
        let mut gto = scheduler(Policy::Gto, 2);
        gto.set_ready(0, 0, CollectorPool::Sfu);
        assert_eq!(gto[0].pick(gto.candidates(0, 1 << CollectorPool::Sfu as u32)), Some(1));
        assert_eq!(gto.wanted(), 1 << CollectorPool::Sfu as u32 | 1 << CollectorPool::Sp as u32);
        assert_eq!(gto[0].first(), Some(0), "the stall is the first one's");
    }

    #[test]
    fn the_greedy_warp_keeps_its_place_when_others_come_and_go() {
        let mut gto = scheduler(Policy::Gto, 3);
        gto.set_waiting(0, 0, false);
        issue(&mut gto);
        gto.remove(0, 0);
        let youngest = gto.add(0, Slot::new(13));
        gto.set_ready(0, youngest, CollectorPool::Sp);
        assert_eq!(gto[0].slots_from(0), [11, 12, 13].map(Slot::new));
        assert_eq!(issue(&mut gto), Some(11));
        gto.set_waiting(0, 0, false);
        assert_eq!(issue(&mut gto), Some(12));
    }
}
