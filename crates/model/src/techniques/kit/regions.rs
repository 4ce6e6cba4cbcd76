// SPDX-License-Identifier: MIT OR Apache-2.0
//! Regions of a data array: runs of contiguous blocks that are on or asleep together, and the time that they spend in each state. What sleep
//! is, a low voltage or none, is up to the technique.
//!
//! Time is integrated when something changes, so that it is exact whether or not cycles without events are skipped.

/// When a region goes to sleep.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sleep {
    /// When an access goes elsewhere: the region that was accessed last stays on.
    WhenLeft,
    /// So many cycles after its last access.
    After(u64),
}

/// How the blocks of an array are numbered, for regions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Numbering {
    /// Set by set: set x ways + way.
    SetMajor { ways: u32 },
    /// Way by way: way x sets + set.
    WayMajor { ways: u32 },
}

/// What regions an array has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    /// Blocks of the array, and of a region; the last region has what is left.
    pub frames: u32,
    pub region: u32,
    pub numbering: Numbering,
    pub sleep: Sleep,
    /// Cycles from the start of a wake-up until the region can be accessed, and how many of them are over when the access comes.
    pub wake: u64,
    pub ahead: u64,
}

#[derive(Clone, Copy, Debug)]
struct Region {
    frames: u64,
    /// It is on, or wakes up.
    on: bool,
    /// When it can be accessed; the first cycle after its latest access; when it goes to sleep. Meaningful while it is on.
    awake: u64,
    accessed: u64,
    until: u64,
    /// When it went to sleep.
    asleep_since: u64,
    /// The latest access that touched it.
    access: u64,
}

/// Stays on until something else happens.
const OPEN: u64 = u64::MAX;

pub struct Regions {
    layout: Layout,
    regions: Vec<Region>,
    /// Regions that are on.
    on: Vec<u32>,
    on_frames: u64,
    accesses: u64,
    /// Time is integrated up to here.
    time: u64,
    /// Time on that look-ahead added, to be taken from time asleep.
    ahead: u64,
    /// Regions that fell asleep since somebody asked.
    fell: Vec<u32>,
    keeps_fallen: bool,
    /// Blocks x cycles.
    pub on_time: u64,
    pub asleep_time: u64,
    pub wakeups: u64,
}

impl Regions {
    pub fn new(layout: Layout) -> Regions {
        let (frames, size) = (layout.frames.max(1), layout.region.clamp(1, layout.frames.max(1)));
        let asleep = |first: u32| Region {
            frames: u64::from(size.min(frames - first)),
            on: false,
            awake: 0,
            accessed: 0,
            until: 0,
            asleep_since: 0,
            access: 0,
        };
        let regions: Vec<_> = (0..frames).step_by(size as usize).map(asleep).collect();
        let mut regions = Regions {
            layout: Layout { frames, region: size, ..layout },
            regions,
            on: Vec::new(),
            on_frames: 0,
            accesses: 0,
            time: 0,
            ahead: 0,
            fell: Vec::new(),
            keeps_fallen: false,
            on_time: 0,
            asleep_time: 0,
            wakeups: 0,
        };
        // An array of one region is never left.
        if regions.regions.len() == 1 && layout.sleep == Sleep::WhenLeft {
            regions.switch_on(0, OPEN);
        }
        regions
    }

    /// The region of a block.
    fn region_of(&self, frame: u32) -> u32 {
        let number = match self.layout.numbering {
            Numbering::SetMajor { .. } => frame,
            Numbering::WayMajor { ways } => frame % ways * (self.layout.frames / ways) + frame / ways,
        };
        number / self.layout.region
    }

    fn switch_on(&mut self, region: u32, until: u64) {
        let place = &mut self.regions[region as usize];
        (place.on, place.until) = (true, until);
        self.on_frames += place.frames;
        self.on.push(region);
    }

    /// Blocks are accessed. Gives the cycles until all of them can be.
    pub fn access(&mut self, now: u64, frames: impl Iterator<Item = u32>) -> u64 {
        self.advance(now);
        // Some accesses are shown ahead of others that come earlier: these find the array as it is.
        let now = now.max(self.time);
        self.accesses += 1;
        let mut awake = now;
        for frame in frames {
            let region = self.region_of(frame);
            if !self.regions[region as usize].on {
                self.wake(region, now);
            }
            let place = &mut self.regions[region as usize];
            place.access = self.accesses;
            place.accessed = place.awake.max(now) + 1;
            place.until = match self.layout.sleep {
                Sleep::WhenLeft => OPEN,
                Sleep::After(cycles) => place.accessed + cycles,
            };
            awake = awake.max(place.awake);
        }
        for &region in &self.on {
            let place = &mut self.regions[region as usize];
            if place.until == OPEN && place.access != self.accesses {
                place.until = now.max(place.accessed);
            }
        }
        awake - now
    }

    fn wake(&mut self, region: u32, now: u64) {
        let ahead = self.layout.ahead.min(self.layout.wake);
        self.switch_on(region, OPEN);
        let place = &mut self.regions[region as usize];
        place.awake = now + self.layout.wake - ahead;
        self.ahead += place.frames * ahead.min(now - place.asleep_since);
        self.wakeups += 1;
    }

    /// From now on, keeps note of regions that fall asleep.
    pub fn keep_fallen(&mut self) {
        self.keeps_fallen = true;
    }

    /// Blocks of regions that fell asleep before `now`, since the last time. Blocks are numbered set by set.
    pub fn fallen(&mut self, now: u64) -> impl Iterator<Item = u32> {
        self.advance(now);
        let Layout { region, frames, .. } = self.layout;
        std::mem::take(&mut self.fell).into_iter().flat_map(move |number| {
            let first = number * region;
            first..(first + region).min(frames)
        })
    }

    /// Lets the time before `now` pass.
    pub fn advance(&mut self, now: u64) {
        if now < self.time {
            return;
        }
        loop {
            let next =
                self.on.iter().enumerate().min_by_key(|&(_, &region)| self.regions[region as usize].until);
            let Some((at, &region)) = next else { break };
            let until = self.regions[region as usize].until;
            if until > now {
                break;
            }
            self.integrate(until);
            let place = &mut self.regions[region as usize];
            (place.on, place.asleep_since) = (false, self.time);
            self.on_frames -= place.frames;
            self.on.swap_remove(at);
            if self.keeps_fallen {
                self.fell.push(region);
            }
        }
        self.integrate(now);
    }

    fn integrate(&mut self, to: u64) {
        let cycles = to.saturating_sub(self.time);
        self.time = self.time.max(to);
        let asleep = (u64::from(self.layout.frames) - self.on_frames) * cycles;
        let ahead = self.ahead.min(asleep);
        self.ahead -= ahead;
        self.on_time += self.on_frames * cycles + ahead;
        self.asleep_time += asleep - ahead;
    }
}

#[cfg(test)]
mod tests {
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
        assert_eq!(regions.on_time, 2 * (40 + 9 + 3));
        assert_eq!(regions.on_time + regions.asleep_time, 8 * 60);
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
        assert_eq!(regions.on_time, 2 * 11);
    }

    #[test]
    fn at_once_every_access_wakes_its_region() {
        let mut regions = Regions::new(Layout { sleep: Sleep::After(0), ..LAYOUT });
        assert_eq!([one(&mut regions, 10, 0), one(&mut regions, 13, 0)], [2, 2]);
        regions.advance(30);
        assert_eq!(regions.on_time, 2 * 6, "two cycles to wake up and one of access, twice");
    }

    #[test]
    fn an_array_of_one_region_is_always_on() {
        let mut regions = Regions::new(Layout { region: 64, ..LAYOUT });
        assert_eq!(one(&mut regions, 10, 7), 0);
        regions.advance(30);
        assert_eq!((regions.on_time, regions.asleep_time, regions.wakeups), (240, 0, 0));
    }

    #[test]
    fn rows_of_one_access_wake_up_together_and_stay_on_together() {
        let mut regions = Regions::new(LAYOUT);
        assert_eq!(regions.access(10, [0, 3, 7].into_iter()), 2);
        assert_eq!(regions.access(20, [3, 7].into_iter()), 0);
        assert_eq!(regions.wakeups, 3);
        regions.advance(30);
        assert_eq!(regions.on_time, 2 * (10 + 20 + 20));
    }

    #[test]
    fn look_ahead_hides_the_wake_up_and_pays_for_it() {
        let mut regions = Regions::new(Layout { ahead: 2, ..LAYOUT });
        assert_eq!(one(&mut regions, 10, 0), 0);
        assert_eq!(one(&mut regions, 20, 2), 0);
        regions.advance(30);
        assert_eq!(regions.on_time, 2 * (2 + 10) + 2 * (2 + 10));
        assert_eq!(regions.on_time + regions.asleep_time, 8 * 30);
    }

    #[test]
    fn regions_follow_the_numbering_and_the_last_one_has_what_is_left() {
        let way = Regions::new(Layout { numbering: Numbering::WayMajor { ways: 2 }, ..LAYOUT });
        assert_eq!([0, 2, 4, 6, 1, 3].map(|frame| way.region_of(frame)), [0, 0, 1, 1, 2, 2]);
        let mut odd = Regions::new(Layout { frames: 9, region: 4, ..LAYOUT });
        one(&mut odd, 10, 8);
        odd.advance(20);
        assert_eq!(odd.on_time, 10, "a region of one block");
    }

    /// The same, cycle by cycle and region by region.
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

        /// Regions that nobody needs go to sleep.
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
            prop_assert_eq!((regions.on_time, regions.asleep_time), (twin.on_time, twin.asleep_time));
            prop_assert_eq!(regions.on_time + regions.asleep_time, 13 * (now + 9));
        }
    }
}
