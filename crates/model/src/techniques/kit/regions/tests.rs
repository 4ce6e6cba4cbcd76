// SPDX-License-Identifier: MIT OR Apache-2.0
//! Regions access by access, and against a twin that steps every cycle.

use super::*;
use proptest::prelude::*;

const LAYOUT: Layout = Layout {
    frames: 8,
    region: 2,
    numbering: Numbering::SetMajor { ways: 2 },
    sleep: Sleep::WhenLeft,
    wake: 2,
    ahead: 0,
};

fn one(regions: &mut Regions, now: u64, frame: u32) -> u64 {
    regions.access(now, [frame].into_iter())
}

#[test]
fn a_region_sleeps_until_it_is_used_and_stays_on_until_another_one_is() {
    let mut regions = Regions::new(LAYOUT);
    assert_eq!(one(&mut regions, 10, 0), 2, "it wakes up");
    assert_eq!(one(&mut regions, 11, 1), 1, "it is about to be awake, for the other block too");
    assert_eq!(one(&mut regions, 40, 0), 0, "it has stayed on");
    assert_eq!(one(&mut regions, 50, 2), 2, "another region");
    assert_eq!(one(&mut regions, 51, 0), 2, "it went to sleep at 50");
    regions.advance(60);
    // The first region is on from 10 to 50 and from 51, the second from 50 to 53: its access was at 52.
    assert_eq!(regions.spent().on, 2 * (40 + 9 + 3));
    assert_eq!(regions.spent().on + regions.spent().asleep, 8 * 60);
    assert_eq!(regions.wakeups, 3);
}

#[test]
fn a_region_that_is_put_to_sleep_while_it_wakes_up_serves_its_access_first() {
    let mut regions = Regions::new(LAYOUT);
    assert_eq!(one(&mut regions, 10, 0), 2);
    assert_eq!(one(&mut regions, 11, 2), 2);
    assert_eq!(one(&mut regions, 12, 0), 0, "its access is in this cycle");
    assert_eq!(regions.wakeups, 2);
}

#[test]
fn after_some_cycles_a_region_falls_asleep_and_is_told() {
    let mut regions = Regions::new(Layout { sleep: Sleep::After(10), wake: 0, ..LAYOUT });
    regions.keep_fallen();
    one(&mut regions, 5, 3);
    assert_eq!(regions.fallen(15).collect::<Vec<_>>(), [] as [u32; 0]);
    assert_eq!(regions.fallen(16).collect::<Vec<_>>(), [2, 3]);
    assert_eq!(regions.fallen(99).collect::<Vec<_>>(), [] as [u32; 0], "it is told once");
    assert_eq!(regions.spent().on, 2 * 11);
}

#[test]
fn at_once_every_access_wakes_its_region() {
    let mut regions = Regions::new(Layout { sleep: Sleep::After(0), ..LAYOUT });
    assert_eq!([one(&mut regions, 10, 0), one(&mut regions, 13, 0)], [2, 2]);
    regions.advance(30);
    assert_eq!(regions.spent().on, 2 * 6, "two cycles to wake up and one of access, twice");
}

#[test]
fn an_array_of_one_region_is_always_on() {
    let mut regions = Regions::new(Layout { region: 64, ..LAYOUT });
    assert_eq!(one(&mut regions, 10, 7), 0);
    regions.advance(30);
    assert_eq!((regions.spent().on, regions.spent().asleep, regions.wakeups), (240, 0, 0));
}

#[test]
fn rows_of_one_access_wake_up_together_and_stay_on_together() {
    let mut regions = Regions::new(LAYOUT);
    assert_eq!(regions.access(10, [0, 3, 7].into_iter()), 2);
    assert_eq!(regions.access(20, [3, 7].into_iter()), 0);
    assert_eq!(regions.wakeups, 3);
    regions.advance(30);
    assert_eq!(regions.spent().on, 2 * (10 + 20 + 20));
}

#[test]
fn look_ahead_hides_the_wake_up_and_pays_for_it() {
    let mut regions = Regions::new(Layout { ahead: 2, ..LAYOUT });
    assert_eq!(one(&mut regions, 10, 0), 0);
    assert_eq!(one(&mut regions, 20, 2), 0);
    regions.advance(30);
    assert_eq!(regions.spent().on, 2 * (2 + 10) + 2 * (2 + 10));
    assert_eq!(regions.spent().on + regions.spent().asleep, 8 * 30);
}

#[test]
fn regions_follow_the_numbering_and_the_last_one_has_what_is_left() {
    let way = Regions::new(Layout { numbering: Numbering::WayMajor { ways: 2 }, ..LAYOUT });
    assert_eq!([0, 2, 4, 6, 1, 3].map(|frame| way.region_of(frame)), [0, 0, 1, 1, 2, 2]);
    let mut odd = Regions::new(Layout { frames: 9, region: 4, ..LAYOUT });
    one(&mut odd, 10, 8);
    odd.advance(20);
    assert_eq!(odd.spent().on, 10, "a region of one block");
}

/// The plain twin: steps every cycle of every region.
struct Twin {
    layout: Layout,
    /// By region: cycles until it can be accessed, and cycles that it is still needed, if it is on.
    on: Vec<Option<(u64, u64)>>,
    last: Vec<u32>,
    on_time: u64,
    asleep_time: u64,
}

impl Twin {
    fn new(layout: Layout) -> Twin {
        let regions = layout.frames.div_ceil(layout.region) as usize;
        let alone = regions == 1 && layout.sleep == Sleep::WhenLeft;
        let on = vec![alone.then_some((0, 0)); regions];
        Twin { layout, on, last: if alone { vec![0] } else { Vec::new() }, on_time: 0, asleep_time: 0 }
    }

    fn access(&mut self, frames: &[u32]) -> u64 {
        let mut wait = 0;
        let touched: Vec<_> = frames.iter().map(|frame| frame / self.layout.region).collect();
        for &region in &touched {
            let state = &mut self.on[region as usize];
            let (left, _) = state.unwrap_or((self.layout.wake, 0));
            let kept = if let Sleep::After(cycles) = self.layout.sleep { cycles } else { 0 };
            *state = Some((left, left + 1 + kept));
            wait = wait.max(left);
        }
        self.last = if self.layout.sleep == Sleep::WhenLeft { touched } else { Vec::new() };
        self.drop_unneeded();
        wait
    }

    /// Regions that are not in use go to sleep.
    fn drop_unneeded(&mut self) {
        for (region, state) in self.on.iter_mut().enumerate() {
            if matches!(state, Some((_, 0))) && !self.last.contains(&(region as u32)) {
                *state = None;
            }
        }
    }

    /// One cycle passes.
    fn tick(&mut self) {
        for (region, state) in self.on.iter_mut().enumerate() {
            let first = region as u32 * self.layout.region;
            let frames = u64::from(self.layout.region.min(self.layout.frames - first));
            match state {
                Some((left, needed)) => {
                    self.on_time += frames;
                    (*left, *needed) = (left.saturating_sub(1), needed.saturating_sub(1));
                }
                None => self.asleep_time += frames,
            }
        }
        self.drop_unneeded();
    }
}

proptest! {
    #[test]
    fn time_in_each_state_is_that_of_a_twin_which_steps_every_cycle(
        accesses in prop::collection::vec((0_u64..6, prop::collection::vec(0_u32..13, 1..4)), 1..60),
        region in 1_u32..20,
        wake in 0_u64..4,
        after in prop::option::of(0_u64..5),
    ) {
        let sleep = after.map_or(Sleep::WhenLeft, Sleep::After);
        let layout = Layout { frames: 13, region: region.min(13), sleep, wake, ..LAYOUT };
        let (mut regions, mut twin) = (Regions::new(layout), Twin::new(layout));
        let mut now = 0;
        for (gap, frames) in accesses {
            (0..gap).for_each(|_| twin.tick());
            now += gap;
            let wait = regions.access(now, frames.iter().copied());
            prop_assert_eq!(wait, twin.access(&frames), "at {}", now);
        }
        (0..9).for_each(|_| twin.tick());
        regions.advance(now + 9);
        prop_assert_eq!((regions.spent().on, regions.spent().asleep), (twin.on_time, twin.asleep_time));
        prop_assert_eq!(regions.spent().on + regions.spent().asleep, 13 * (now + 9));
    }
}

proptest! {
    #[test]
    fn every_region_is_on_or_asleep_in_each_cycle_as_in_the_twin(
        accesses in prop::collection::vec((0_u64..6, prop::collection::vec(0_u32..13, 1..4)), 1..40),
        region in 1_u32..20,
        wake in 0_u64..4,
        after in prop::option::of(0_u64..5),
    ) {
        let sleep = after.map_or(Sleep::WhenLeft, Sleep::After);
        let layout = Layout { frames: 13, region: region.min(13), sleep, wake, ..LAYOUT };
        let (mut regions, mut twin) = (Regions::new(layout), Twin::new(layout));
        // Blocks x cycles of each region: on and asleep.
        let mut time = vec![[0_u64; 2]; twin.on.len()];
        let mut now = 0;
        for (gap, frames) in accesses.into_iter().chain([(9, vec![0])]) {
            for _ in 0..gap {
                for (region, place) in regions.regions.iter().enumerate() {
                    prop_assert_eq!(place.on, twin.on[region].is_some(), "region {} in cycle {}", region, now);
                    time[region][usize::from(!place.on)] += place.frames.own;
                }
                twin.tick();
                now += 1;
                regions.advance(now);
            }
            regions.access(now, frames.iter().copied());
            twin.access(&frames);
            regions.advance(now);
        }
        for (place, [on, asleep]) in regions.regions.iter().zip(&time) {
            prop_assert_eq!(on + asleep, place.frames.own * now);
        }
        let sum = |state: usize| time.iter().map(|time| time[state]).sum::<u64>();
        prop_assert_eq!((regions.spent().on, regions.spent().asleep), (sum(0), sum(1)));
    }
}

#[test]
fn blocks_that_an_array_borrows_are_told_from_its_own() {
    let mut regions = Regions::new(Layout { frames: 4, ..LAYOUT });
    assert_eq!(one(&mut regions, 10, 0), 2);
    regions.resize(20, 10, 5);
    assert_eq!(one(&mut regions, 30, 0), 2, "all sleep after the array was divided anew");
    assert_eq!(one(&mut regions, 40, 9), 2);
    regions.resize(50, 4, 2);
    regions.advance(60);
    let time = regions.spent();
    assert_eq!(time.on, 2 * 10 + 2 * 10, "from 10 to 20 and from 30 to 40");
    assert_eq!((time.borrowed_on, time.borrowed_asleep), (2 * 10, 6 * 30 - 2 * 10));
    assert_eq!((time.on + time.asleep, time.lent), (4 * 60, 0));
}

#[test]
fn blocks_that_an_array_lends_are_neither_on_nor_asleep() {
    let mut regions = Regions::new(LAYOUT);
    regions.resize(10, 3, 1);
    assert_eq!(one(&mut regions, 15, 2), 2);
    regions.resize(30, 8, 1);
    regions.advance(40);
    let time = regions.spent();
    assert_eq!((time.on, time.lent, time.borrowed_on), (15, 5 * 20, 0), "the last region has one block");
    assert_eq!(time.on + time.asleep + time.lent, 8 * 40);
}

#[test]
fn a_region_across_own_and_borrowed_blocks_is_both() {
    let mut regions = Regions::new(Layout { frames: 4, region: 64, ..LAYOUT });
    regions.resize(10, 12, 3);
    assert_eq!(one(&mut regions, 15, 11), 0, "an array of one region is always on");
    regions.advance(20);
    let time = regions.spent();
    assert_eq!((time.on, time.borrowed_on, time.asleep + time.borrowed_asleep), (4 * 20, 8 * 10, 0));
}
