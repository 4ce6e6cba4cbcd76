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

/// Warps of one scheduler at most.
const RANKS: usize = Slot::COUNT;

/// No rank.
const NO_RANK: u8 = u8::MAX;

/// A warp's place: its scheduler, and its rank there by age, which is a bit of sets, too.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    pub scheduler: u8,
    rank: u8,
    bit: u64,
}

impl Default for Place {
    fn default() -> Place {
        Place::new(0, 0)
    }
}

impl Place {
    fn new(scheduler: u8, rank: u8) -> Place {
        let (scheduler, rank) = (scheduler % SCHEDULERS as u8, rank % RANKS as u8);
        Place { scheduler, rank, bit: 1 << rank }
    }

    /// The number of the scheduler, of which the compiler is to know how large it can be.
    #[inline(always)]
    fn number(self) -> usize {
        // SAFETY: the constructor sees to it, and it does not change.
        unsafe { std::hint::assert_unchecked(self.scheduler < SCHEDULERS as u8) };
        usize::from(self.scheduler)
    }

    /// An older warp of the scheduler is gone.
    pub fn move_up(&mut self) {
        *self = Place::new(self.scheduler, self.rank - 1);
    }
}

/// A power of two in size, so that one is found by a shift.
#[repr(align(256))]
pub struct Scheduler {
    policy: Policy,
    /// Most warps that are active at once with two levels.
    active_limit: u32,
    /// Warp slots by age, oldest first.
    slots: [Slot; RANKS],
    pub count: usize,
    /// By pool of collectors: the ranks whose next instruction wants one of it, if it can issue.
    of_pool: [u64; CollectorPool::COUNT],
    /// Ranks that wait for something long: they leave the active set.
    /// Only with two levels.
    away: u64,
    /// With one level, all are active.
    active: u64,
    /// The warp that issued last; [`NO_RANK`] if it has gone.
    last: u8,
    /// Those that go first if they are ready, for the first rank: that warp, or those behind it. To be shifted for others.
    preferred_first: u64,
}

impl Scheduler {
    pub fn new(policy: Policy, active_limit: u32) -> Scheduler {
        Scheduler {
            policy,
            active_limit,
            slots: [Slot::default(); RANKS],
            count: 0,
            of_pool: [0; CollectorPool::COUNT],
            away: 0,
            active: if policy == Policy::TwoLevel { 0 } else { u64::MAX },
            last: NO_RANK,
            preferred_first: if policy == Policy::Gto { 1 } else { !1 },
        }
    }

    /// Takes over a new warp, younger than all others, which waits at first. Gives its rank.
    fn add(&mut self, slot: Slot, pool: CollectorPool) -> u8 {
        let rank = self.count % RANKS;
        self.slots[rank] = slot;
        self.of_pool[pool as usize] |= 1 << rank;
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
        self.last = match self.last {
            NO_RANK => NO_RANK,
            last if last == rank => NO_RANK,
            last => last - u8::from(last > rank),
        };
        self.slots.copy_within(usize::from(rank) + 1..self.count, usize::from(rank));
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

    /// A warp waits for something long, or no longer. With two levels, others may become active.
    #[cold]
    #[inline(never)]
    fn set_away(&mut self, rank: u8, away: bool) {
        self.away = self.away & !(1 << rank) | u64::from(away) << rank;
        self.fill_active();
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

    /// Those of some warps that want no collector of the pools without a free one, a bit for each.
    #[inline(always)]
    fn without(&self, warps: u64, full: u32) -> u64 {
        // No loop: the compiler would take it for the part that matters.
        let without = |pool: usize| self.of_pool[pool] & u64::from(full >> pool & 1).wrapping_neg();
        warps & !(without(0) | without(1) | without(2) | without(3))
    }

    /// The pools of which ready warps want a collector, a bit for each.
    #[inline(always)]
    fn wanted(&self, ready: u64) -> u32 {
        let ready = ready & self.active;
        let bit = |pool: CollectorPool| u32::from(self.of_pool[pool as usize] & ready != 0) << pool as u32;
        CollectorPool::ALL.into_iter().fold(0, |wanted, pool| wanted | bit(pool))
    }

    /// The ranks that go first if they are ready, given the warp that issued last. Greedy and without one, it is the oldest.
    fn preferred(&self) -> u64 {
        match self.last {
            NO_RANK => self.preferred_first & 1,
            last => self.preferred_first << last,
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
    has_two_levels: bool,
    /// By scheduler and rank: warps that can issue as soon as a collector is free.
    ready: [u64; SCHEDULERS],
    /// By scheduler: ranks that go first if they are ready.
    preferred: [u64; SCHEDULERS],
    /// Ranks whose changes matter beyond themselves, beside those that are preferred: none where slots are charged to the greedy warp, all where others may change
    /// which warp is the first.
    watched: u64,
    /// The present cycle, and those before which issue slots are decided.
    now: u64,
    decided: [u64; SCHEDULERS],
    /// By scheduler: the first slot that is neither charged nor had an instruction.
    since: [u64; SCHEDULERS],
}

impl Schedulers {
    pub fn new(sm: &SmParameters) -> Schedulers {
        assert!(sm.schedulers as usize <= SCHEDULERS, "the range of the parameter");
        let all: [Scheduler; SCHEDULERS] =
            std::array::from_fn(|_| Scheduler::new(sm.scheduler, sm.active_warps));
        Schedulers {
            count: sm.schedulers as u8,
            has_two_levels: sm.scheduler == Policy::TwoLevel,
            ready: [0; SCHEDULERS],
            preferred: all.each_ref().map(Scheduler::preferred),
            watched: if sm.scheduler == Policy::Gto { 0 } else { !0 },
            all,
            now: 0,
            decided: [0; SCHEDULERS],
            since: [0; SCHEDULERS],
        }
    }

    /// A cycle begins, with no issue slot decided. To be called before anything changes in it.
    #[inline(always)]
    pub fn begin(&mut self, now: u64) {
        self.now = now;
    }

    /// Issue slots of a scheduler before `now` that have not been charged and had no instruction.
    #[inline(always)]
    pub fn passed(&self, number: u8, now: u64) -> u64 {
        now - self.since[usize::from(number) % SCHEDULERS]
    }

    /// Issue slots of a scheduler that have passed without an instruction since the last call: they are to be charged now.
    #[inline(always)]
    pub fn take_passed(&mut self, number: u8) -> u64 {
        let number = usize::from(number) % SCHEDULERS;
        let clock = self.now.max(self.decided[number]);
        let since = self.since[number];
        if clock <= since {
            return 0;
        }
        self.since[number] = clock;
        clock - since
    }

    /// Whether a change of a warp may change what slots of its scheduler are charged to.
    #[inline(always)]
    pub fn is_watched(&self, place: Place) -> bool {
        (self.preferred[place.number()] | self.watched) & place.bit != 0
    }

    /// The cycle before which all issue slots are decided, or have passed with the cause that holds.
    pub fn accounted(&self) -> u64 {
        self.now.max(self.decided[0]).max(self.since[0])
    }

    /// The issue slot of a scheduler has no instruction.
    #[inline(always)]
    pub fn pass(&mut self, number: u8, now: u64) {
        self.decided[usize::from(number) % SCHEDULERS] = now + 1;
    }

    /// A warp issues, and all slots before this one are charged: the greedy order stays with it, and round robin goes on from it. Gives what `take_back` wants if
    /// it cannot after all.
    #[inline(always)]
    pub fn issued(&mut self, number: u8, rank: u8, now: u64) -> u8 {
        // Its slot is decided.
        self.since[usize::from(number) % SCHEDULERS] = now + 1;
        self.preferred[usize::from(number) % SCHEDULERS] = self[number].preferred_first << rank;
        std::mem::replace(&mut self[number].last, rank)
    }

    #[inline(always)]
    pub fn take_back(&mut self, number: u8, before: u8, now: u64) {
        self.since[usize::from(number) % SCHEDULERS] = now;
        self.set_last(number, before);
    }

    /// A warp of a scheduler was the last to issue, or none that is still there.
    #[cold]
    fn set_last(&mut self, number: u8, last: u8) {
        self[number].last = last;
        self.preferred[usize::from(number) % SCHEDULERS] = self[number].preferred();
    }

    /// The first of a set of a scheduler's warps in the order of the policy.
    #[inline(always)]
    fn first_of(&self, number: u8, set: u64) -> Option<u8> {
        let preferred = set & self.preferred[usize::from(number) % SCHEDULERS];
        let from = if preferred != 0 { preferred } else { set };
        (set != 0).then_some(from.trailing_zeros() as u8)
    }

    /// The warp of a scheduler to issue from, of those that may.
    #[inline(always)]
    pub fn pick(&self, number: u8, candidates: u64) -> Option<u8> {
        self.first_of(number, candidates)
    }

    /// The first warp in a scheduler's order, whether it can issue or not: it is the one that a cycle without issue is charged to.
    #[inline(always)]
    pub fn first(&self, number: u8) -> Option<Slot> {
        let scheduler = &self[number];
        let rank = match (scheduler.policy, scheduler.last) {
            (Policy::Gto, last) if last != NO_RANK => last,
            (Policy::TwoLevel, _) if scheduler.active != 0 => self.first_of(number, scheduler.active)?,
            _ if scheduler.count == RANKS => self.first_of(number, !0)?,
            _ => self.first_of(number, (1 << scheduler.count) - 1)?,
        };
        Some(scheduler.slot(rank))
    }

    /// Gives a scheduler, whose slots so far are charged, a new warp, younger than all others, which waits at first. Gives its place.
    pub fn add(&mut self, number: u8, slot: Slot, pool: CollectorPool) -> Place {
        Place::new(number, self[number].add(slot, pool))
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

    /// Warps of a scheduler that may issue if all pools have a free collector.
    #[inline(always)]
    pub fn candidates(&self, number: u8) -> u64 {
        self.ready[usize::from(number) % SCHEDULERS] & self[number].active
    }

    /// Those of them that may given the pools without one, a bit for each.
    #[inline(always)]
    pub fn without(&self, number: u8, candidates: u64, full: u32) -> u64 {
        self[number].without(candidates, full)
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

    /// A warp can issue, given a collector of a pool: of which one it wanted last, and now wants one.
    #[inline(always)]
    pub fn set_ready(&mut self, place: Place, last: &mut CollectorPool, pool: CollectorPool) {
        self.ready[place.number()] |= place.bit;
        if *last != pool {
            let of_pool = &mut self.all[place.number()].of_pool;
            of_pool[*last as usize] &= !place.bit;
            of_pool[pool as usize] |= place.bit;
            *last = pool;
        }
        if self.has_two_levels {
            self[place.scheduler].set_away(place.rank, false);
        }
    }

    /// A warp cannot issue; `away` if it will take long.
    #[inline(always)]
    pub fn set_waiting(&mut self, place: Place, away: bool) {
        self.ready[place.number()] &= !place.bit;
        if self.has_two_levels {
            self[place.scheduler].set_away(place.rank, away);
        }
    }

    /// A warp is gone, and all slots so far are charged; those younger than it, which it gives, move up by one rank.
    pub fn remove(&mut self, place: Place) -> &[Slot] {
        let Place { scheduler, rank, .. } = place;
        self[scheduler].remove(rank);
        self.set_last(scheduler, self[scheduler].last);
        let ready = &mut self.ready[place.number()];
        *ready = without(*ready, rank);
        self[scheduler].slots_from(rank)
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
    use warpwatt_base::SplitMix64;
    use warpwatt_config::Config;

    /// One scheduler whose warps are all ready.
    fn scheduler(scheduler: Policy, warps: u8) -> Schedulers {
        let sm = SmParameters { scheduler, schedulers: 1, active_warps: 2, ..Config::default().sm };
        let mut schedulers = Schedulers::new(&sm);
        for rank in 0..warps {
            let place = schedulers.add(0, Slot::new(10 + usize::from(rank)), CollectorPool::Sp);
            assert_eq!((place.rank, place.bit), (rank, 1 << rank));
        }
        for rank in 0..warps {
            set_ready(&mut schedulers, rank);
        }
        schedulers
    }

    /// A warp of the first scheduler is ready for the pool that it wanted last.
    fn set_ready(schedulers: &mut Schedulers, rank: u8) {
        schedulers.set_ready(Place::new(0, rank), &mut CollectorPool::Sp, CollectorPool::Sp);
    }

    fn set_waiting(schedulers: &mut Schedulers, rank: u8, away: bool) {
        schedulers.set_waiting(Place::new(0, rank), away);
    }

    fn issue(schedulers: &mut Schedulers) -> Option<u8> {
        let rank = schedulers.pick(0, schedulers.candidates(0))?;
        schedulers.set_last(0, rank);
        Some(schedulers[0].slot(rank).number())
    }

    #[test]
    fn greedy_stays_with_a_warp_and_then_takes_the_oldest() {
        let mut gto = scheduler(Policy::Gto, 3);
        assert_eq!([issue(&mut gto), issue(&mut gto)], [Some(10), Some(10)]);
        set_waiting(&mut gto, 0, false);
        assert_eq!([issue(&mut gto), issue(&mut gto)], [Some(11), Some(11)]);
        set_ready(&mut gto, 0);
        assert_eq!(issue(&mut gto), Some(11), "as long as it is ready");
        set_waiting(&mut gto, 1, false);
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
        set_waiting(&mut two, 0, true);
        let order: Vec<_> = (0..3).filter_map(|_| issue(&mut two)).collect();
        assert_eq!(order, [12, 11, 12]);
        set_ready(&mut two, 0);
        assert!(!(0..4).filter_map(|_| issue(&mut two)).any(|slot| slot == 10), "it is pending now");
    }

    #[test]
    fn a_warp_whose_unit_is_busy_lets_others_go_first() {
        let mut gto = scheduler(Policy::Gto, 2);
        gto.set_ready(Place::new(0, 0), &mut CollectorPool::Sp, CollectorPool::Sfu);
        let others = gto.without(0, gto.candidates(0), 1 << CollectorPool::Sfu as u32);
        assert_eq!(gto.pick(0, others), Some(1));
        assert_eq!(gto.wanted(), 1 << CollectorPool::Sfu as u32 | 1 << CollectorPool::Sp as u32);
        assert_eq!(gto.first(0), Some(Slot::new(10)), "the stall is the first one's");
    }

    #[test]
    fn the_greedy_warp_keeps_its_place_when_others_come_and_go() {
        let mut gto = scheduler(Policy::Gto, 3);
        set_waiting(&mut gto, 0, false);
        issue(&mut gto);
        gto.remove(Place::new(0, 0));
        let youngest = gto.add(0, Slot::new(13), CollectorPool::Sp);
        set_ready(&mut gto, youngest.rank);
        assert_eq!(gto[0].slots_from(0), [11, 12, 13].map(Slot::new));
        assert_eq!(issue(&mut gto), Some(11));
        set_waiting(&mut gto, 0, false);
        assert_eq!(issue(&mut gto), Some(12));
    }

    #[test]
    fn every_slot_has_an_instruction_or_is_charged_once() {
        let mut random = SplitMix64::new(7);
        let mut schedulers = scheduler(Policy::Gto, 3);
        // By cycle: how often it was accounted for.
        let mut plain = vec![0; 40_000];
        let mut accounted = 0;
        let mut charge = |accounted: &mut usize, slots: u64| {
            let end = *accounted + slots as usize;
            plain[*accounted..end].iter_mut().for_each(|times| *times += 1);
            *accounted = end;
        };
        for now in (0..30_000).filter(|_| random.next_u64().is_multiple_of(2)) {
            schedulers.begin(now);
            if now.is_multiple_of(3) {
                let slots = schedulers.take_passed(0);
                charge(&mut accounted, slots);
                assert_eq!(accounted as u64, now, "all before the present one");
            }
            if now.is_multiple_of(5) {
                let slots = schedulers.passed(0, now);
                charge(&mut accounted, slots + 1);
                schedulers.issued(0, (now % 3) as u8, now);
                assert!(schedulers.is_watched(Place::new(0, (now % 3) as u8)));
                assert!(!schedulers.is_watched(Place::new(0, ((now + 1) % 3) as u8)));
            } else {
                schedulers.pass(0, now);
            }
            if now.is_multiple_of(7) {
                let slots = schedulers.take_passed(0);
                charge(&mut accounted, slots);
                assert_eq!(accounted as u64, now + 1, "the present one, too");
            }
        }
        assert!(plain[..accounted].iter().all(|&times| times == 1));
    }
}
