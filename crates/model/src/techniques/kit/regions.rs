// SPDX-License-Identifier: MIT OR Apache-2.0
//! Regions of a data array: runs of contiguous blocks that are on or asleep together, and the time that they spend in each state. What sleep
//! is, a low voltage or none, is up to the technique.
//!
//! Time is integrated when something changes, so that it is exact whether or not cycles without events are skipped.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// When a region goes to sleep.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sleep {
    /// When another region is accessed: the region that was accessed last stays on.
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

/// Blocks by owner: the array's own, and those that it borrows from another array.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Blocks {
    own: u64,
    borrowed: u64,
}

impl Blocks {
    /// The blocks from one to before another, of an array with `own` blocks of its own.
    fn between(from: u32, to: u32, own: u32) -> Blocks {
        let (first, last) = (from.min(own), to.min(own));
        Blocks { own: u64::from(last - first), borrowed: u64::from(to - from - (last - first)) }
    }

    fn plus(self, other: Blocks) -> Blocks {
        Blocks { own: self.own + other.own, borrowed: self.borrowed + other.borrowed }
    }

    fn less(self, other: Blocks) -> Blocks {
        Blocks { own: self.own - other.own, borrowed: self.borrowed - other.borrowed }
    }

    fn times(self, cycles: u64) -> Blocks {
        Blocks { own: self.own * cycles, borrowed: self.borrowed * cycles }
    }

    fn at_most(self, other: Blocks) -> Blocks {
        Blocks { own: self.own.min(other.own), borrowed: self.borrowed.min(other.borrowed) }
    }
}

/// Time in each state, in blocks x cycles.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Time {
    /// Own blocks of the array.
    pub on: u64,
    pub asleep: u64,
    /// Blocks that it borrows.
    pub borrowed_on: u64,
    pub borrowed_asleep: u64,
    /// Own blocks that another array borrows.
    pub lent: u64,
}

#[derive(Clone, Copy, Debug)]
struct Region {
    frames: Blocks,
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
    /// Its place among those that are on, and whether the heap has it.
    place: u32,
    queued: bool,
}

/// Stays on until something else happens.
const OPEN: u64 = u64::MAX;

pub struct Regions {
    /// The region is not larger than the array.
    layout: Layout,
    /// Blocks of a region by the parameter.
    region: u32,
    regions: Vec<Region>,
    /// Regions that are on.
    on: Vec<u32>,
    /// Regions that are on and are to sleep at some time, each once, by that time or an earlier one: accesses postpone it without a change here.
    due: BinaryHeap<Reverse<(u64, u32)>>,
    /// Scratch list: regions that fall asleep in the same cycle.
    tied: Vec<u32>,
    on_frames: Blocks,
    /// Blocks that the array had when it was made; the others are borrowed.
    own: u32,
    accesses: u64,
    /// Time is integrated up to here.
    time: u64,
    /// Time on that look-ahead added, to be taken from time asleep.
    ahead: Blocks,
    /// Regions that fell asleep since the last query.
    fell: Vec<u32>,
    keeps_fallen: bool,
    pub spent: Time,
    pub wakeups: u64,
}

impl Regions {
    pub fn new(layout: Layout) -> Regions {
        let mut regions = Regions {
            layout,
            region: layout.region,
            regions: Vec::new(),
            on: Vec::new(),
            due: BinaryHeap::new(),
            tied: Vec::new(),
            on_frames: Blocks::default(),
            own: layout.frames.max(1),
            accesses: 0,
            time: 0,
            ahead: Blocks::default(),
            fell: Vec::new(),
            keeps_fallen: false,
            spent: Time::default(),
            wakeups: 0,
        };
        regions.lay_out(layout.frames, layout.region, layout.numbering);
        regions
    }

    /// From now on the array has another number of blocks, all of which sleep.
    pub fn resize(&mut self, now: u64, frames: u32, ways: u32) {
        self.advance(now);
        let numbering = match self.layout.numbering {
            Numbering::SetMajor { .. } => Numbering::SetMajor { ways },
            Numbering::WayMajor { .. } => Numbering::WayMajor { ways },
        };
        self.lay_out(frames, self.region, numbering);
    }

    fn lay_out(&mut self, frames: u32, region: u32, numbering: Numbering) {
        let frames = frames.max(1);
        let region = region.clamp(1, frames);
        self.layout = Layout { frames, region, numbering, ..self.layout };
        let (own, time) = (self.own, self.time);
        let asleep = |first: u32| Region {
            frames: Blocks::between(first, frames.min(first + region), own),
            on: false,
            awake: 0,
            accessed: 0,
            until: 0,
            asleep_since: time,
            access: 0,
            place: 0,
            queued: false,
        };
        self.regions = (0..frames).step_by(region as usize).map(asleep).collect();
        (self.on_frames, self.ahead) = (Blocks::default(), Blocks::default());
        self.on.clear();
        self.due.clear();
        self.fell.clear();
        // An array of one region is never left.
        if self.regions.len() == 1 && self.layout.sleep == Sleep::WhenLeft {
            self.switch_on(0, OPEN);
        }
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
        (place.on, place.until, place.place) = (true, until, self.on.len() as u32);
        self.on_frames = self.on_frames.plus(place.frames);
        self.on.push(region);
    }

    /// Accesses blocks. Gives the cycles until all of them are awake.
    pub fn access(&mut self, now: u64, frames: impl Iterator<Item = u32>) -> u64 {
        self.advance(now);
        // Some accesses are reported before others of earlier cycles: the latter find the array as it is.
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
            awake = awake.max(place.awake);
            match self.layout.sleep {
                Sleep::WhenLeft => place.until = OPEN,
                Sleep::After(cycles) => {
                    place.until = place.accessed + cycles;
                    self.queue(region);
                }
            }
        }
        if self.layout.sleep == Sleep::WhenLeft {
            self.leave(now);
        }
        awake - now
    }

    /// Regions that the latest access did not touch are left.
    fn leave(&mut self, now: u64) {
        for at in 0..self.on.len() {
            let region = self.on[at];
            let place = &mut self.regions[region as usize];
            if place.until == OPEN && place.access != self.accesses {
                place.until = now.max(place.accessed);
                self.queue(region);
            }
        }
    }

    /// A region is to sleep at some time.
    fn queue(&mut self, region: u32) {
        let place = &mut self.regions[region as usize];
        if !place.queued {
            place.queued = true;
            self.due.push(Reverse((place.until, region)));
        }
    }

    fn wake(&mut self, region: u32, now: u64) {
        let ahead = self.layout.ahead.min(self.layout.wake);
        self.switch_on(region, OPEN);
        let place = &mut self.regions[region as usize];
        place.awake = now + self.layout.wake - ahead;
        self.ahead = self.ahead.plus(place.frames.times(ahead.min(now - place.asleep_since)));
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

    /// Advances time to `now`.
    pub fn advance(&mut self, now: u64) {
        if now < self.time {
            return;
        }
        while let Some(until) = self.next_to_sleep(now) {
            self.integrate(until);
            while let Some(region) = self.first_tied() {
                let place = &mut self.regions[region as usize];
                (place.on, place.asleep_since) = (false, self.time);
                let at = place.place;
                self.on_frames = self.on_frames.less(place.frames);
                self.on.swap_remove(at as usize);
                if let Some(&moved) = self.on.get(at as usize) {
                    self.regions[moved as usize].place = at;
                }
                if self.keeps_fallen {
                    self.fell.push(region);
                }
            }
        }
        self.integrate(now);
    }

    /// The first time up to `now` in which regions fall asleep; they are gathered.
    #[inline]
    fn next_to_sleep(&mut self, now: u64) -> Option<u64> {
        let mut found = None;
        while let Some(&Reverse((at, region))) = self.due.peek()
            && at <= found.unwrap_or(now)
        {
            self.due.pop();
            let place = &mut self.regions[region as usize];
            place.queued = false;
            if place.until == at {
                found = Some(at);
                self.tied.push(region);
            } else if place.until != OPEN {
                self.queue(region);
            }
        }
        found
    }

    /// Takes out the region that comes first among those that are on, of those that fall asleep in the same cycle.
    fn first_tied(&mut self) -> Option<u32> {
        let first = |at: &usize| self.regions[self.tied[*at] as usize].place;
        let at = (0..self.tied.len()).min_by_key(first)?;
        Some(self.tied.swap_remove(at))
    }

    fn integrate(&mut self, to: u64) {
        let cycles = to.saturating_sub(self.time);
        if cycles == 0 {
            return;
        }
        self.time = to;
        let all = Blocks::between(0, self.layout.frames, self.own);
        let asleep = all.less(self.on_frames).times(cycles);
        let ahead = self.ahead.at_most(asleep);
        self.ahead = self.ahead.less(ahead);
        let (on, asleep) = (self.on_frames.times(cycles).plus(ahead), asleep.less(ahead));
        let spent = &mut self.spent;
        spent.on += on.own;
        spent.asleep += asleep.own;
        spent.borrowed_on += on.borrowed;
        spent.borrowed_asleep += asleep.borrowed;
        spent.lent += (u64::from(self.own) - all.own) * cycles;
    }
}

#[cfg(test)]
mod tests;
