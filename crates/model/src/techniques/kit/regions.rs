// SPDX-License-Identifier: MIT OR Apache-2.0
//! Regions of a data array: runs of contiguous blocks that are on or asleep together, and the time that they spend in each state. What sleep
//! is, a low voltage or none, is up to the technique.
//!
//! The time that blocks are on is what those that are on now would have been on since the start, less what each of them was not: so it is exact whether or
//! not cycles without events are skipped, and costs something only when a region is switched on or falls asleep.

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

    /// Modulo 2^64, as sums are that are not yet complete.
    fn wrapping_plus(self, other: Blocks) -> Blocks {
        Blocks { own: self.own.wrapping_add(other.own), borrowed: self.borrowed.wrapping_add(other.borrowed) }
    }

    fn wrapping_less(self, other: Blocks) -> Blocks {
        Blocks { own: self.own.wrapping_sub(other.own), borrowed: self.borrowed.wrapping_sub(other.borrowed) }
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
    /// Blocks of the array.
    all: Blocks,
    /// Regions that are on.
    on: Vec<u32>,
    /// Regions that are on and are to sleep so many cycles after their last access, each once, by that time or an earlier one: accesses postpone it
    /// without a change here. Those that are to sleep when they are left are few, and found among those that are on.
    due: BinaryHeap<Reverse<(u64, u32)>>,
    /// No region falls asleep before.
    first_due: u64,
    /// Scratch list: regions that fall asleep in the same cycle.
    tied: Vec<u32>,
    on_frames: Blocks,
    /// Blocks that the array had when it was made; the others are borrowed.
    own: u32,
    accesses: u64,
    /// The present.
    time: u64,
    /// The frames of each region that was switched on times the cycle of that, less the same for each that fell asleep, modulo 2^64.
    moment: Blocks,
    /// Time on that look-ahead added, to be taken from time asleep; what was taken, and up to which cycle.
    ahead: Blocks,
    taken: Blocks,
    taken_to: u64,
    /// Time before the array had the blocks that it has, and since when it has them.
    before: Time,
    since: u64,
    /// Regions that fell asleep since the last query.
    fell: Vec<u32>,
    keeps_fallen: bool,
    pub wakeups: u64,
}

impl Regions {
    pub fn new(layout: Layout) -> Regions {
        let mut regions = Regions {
            layout,
            region: layout.region,
            regions: Vec::new(),
            all: Blocks::default(),
            on: Vec::new(),
            due: BinaryHeap::new(),
            first_due: OPEN,
            tied: Vec::new(),
            on_frames: Blocks::default(),
            own: layout.frames.max(1),
            accesses: 0,
            time: 0,
            moment: Blocks::default(),
            ahead: Blocks::default(),
            taken: Blocks::default(),
            taken_to: 0,
            before: Time::default(),
            since: 0,
            fell: Vec::new(),
            keeps_fallen: false,
            wakeups: 0,
        };
        regions.lay_out(layout.frames, layout.region, layout.numbering);
        regions
    }

    /// From now on the array has another number of blocks, all of which sleep.
    pub fn resize(&mut self, now: u64, frames: u32, ways: u32) {
        self.advance(now);
        (self.before, self.since) = (self.spent(), self.time);
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
        self.all = Blocks::between(0, frames, own);
        (self.on_frames, self.moment) = (Blocks::default(), Blocks::default());
        (self.ahead, self.taken, self.taken_to) = (Blocks::default(), Blocks::default(), time);
        self.on.clear();
        self.due.clear();
        self.first_due = OPEN;
        self.fell.clear();
        // An array of one region is never left.
        if self.regions.len() == 1 && self.layout.sleep == Sleep::WhenLeft {
            self.switch_on(0, OPEN);
        }
    }

    /// The region of a block.
    #[inline(always)]
    fn region_of(&self, frame: u32) -> u32 {
        let number = match self.layout.numbering {
            Numbering::SetMajor { .. } => frame,
            Numbering::WayMajor { ways } => frame % ways * (self.layout.frames / ways) + frame / ways,
        };
        number / self.layout.region
    }

    #[inline(always)]
    fn switch_on(&mut self, region: u32, until: u64) {
        self.take_ahead(self.time);
        let place = &mut self.regions[region as usize];
        (place.on, place.until, place.place) = (true, until, self.on.len() as u32);
        self.on_frames = self.on_frames.plus(place.frames);
        self.moment = self.moment.wrapping_plus(place.frames.times(self.time));
        self.on.push(region);
    }

    /// Accesses blocks. Gives the cycles until all of them are awake.
    #[inline(always)]
    pub fn access(&mut self, now: u64, frames: impl Iterator<Item = u32>) -> u64 {
        self.advance(now);
        // Some accesses are reported before others of earlier cycles: the latter find the array as it is.
        let now = self.time;
        self.accesses += 1;
        let (mut awake, mut touched) = (now, 0);
        for frame in frames {
            let region = self.region_of(frame);
            if !self.regions[region as usize].on {
                self.wake(region, now);
            }
            let place = &mut self.regions[region as usize];
            touched += usize::from(place.access != self.accesses);
            place.access = self.accesses;
            place.accessed = place.awake.max(now) + 1;
            awake = awake.max(place.awake);
            match self.layout.sleep {
                Sleep::WhenLeft => place.until = OPEN,
                Sleep::After(cycles) => {
                    place.until = place.accessed + cycles;
                    if !place.queued {
                        self.queue(region);
                    }
                }
            }
        }
        if self.layout.sleep == Sleep::WhenLeft && touched != self.on.len() {
            self.leave(now);
        }
        awake - now
    }

    /// Regions that the latest access did not touch are left.
    fn leave(&mut self, now: u64) {
        for &region in &self.on {
            let place = &mut self.regions[region as usize];
            if place.until == OPEN && place.access != self.accesses {
                place.until = now.max(place.accessed);
                self.first_due = self.first_due.min(place.until);
            }
        }
    }

    /// A region is to sleep at some time, and is not in the heap.
    fn queue(&mut self, region: u32) {
        let place = &mut self.regions[region as usize];
        place.queued = true;
        self.first_due = self.first_due.min(place.until);
        self.due.push(Reverse((place.until, region)));
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

    /// The first cycle by which blocks may have fallen asleep that were not asked for; `u64::MAX` if that is not before another access.
    #[inline(always)]
    pub fn falls_at(&self) -> u64 {
        if self.fell.is_empty() { self.first_due } else { 0 }
    }

    /// Advances time to `now`.
    #[inline(always)]
    pub fn advance(&mut self, now: u64) {
        if now < self.time {
            return;
        }
        if now >= self.first_due {
            match self.layout.sleep {
                Sleep::WhenLeft => self.put_to_sleep(now),
                Sleep::After(_) => self.put_due_to_sleep(now),
            }
        }
        self.time = now;
    }

    /// Regions that were left fall asleep, up to `now`.
    #[inline(never)]
    fn put_to_sleep(&mut self, now: u64) {
        while self.first_due <= now {
            let until = self.first_due;
            self.take_ahead(until);
            let (mut at, mut next) = (0, OPEN);
            while let Some(&region) = self.on.get(at) {
                let other = self.regions[region as usize].until;
                if other == until {
                    self.fall_asleep(region, until);
                } else {
                    next = next.min(other);
                    at += 1;
                }
            }
            self.first_due = next;
        }
    }

    /// Regions that were not accessed for some time fall asleep, up to `now`.
    #[inline(never)]
    fn put_due_to_sleep(&mut self, now: u64) {
        while let Some(until) = self.next_to_sleep(now) {
            self.take_ahead(until);
            while let Some(region) = self.first_tied() {
                self.fall_asleep(region, until);
            }
        }
        self.first_due = self.due.peek().map_or(OPEN, |Reverse((at, _))| *at);
    }

    #[inline(always)]
    fn fall_asleep(&mut self, region: u32, at: u64) {
        let place = &mut self.regions[region as usize];
        (place.on, place.asleep_since) = (false, at);
        self.on_frames = self.on_frames.less(place.frames);
        self.moment = self.moment.wrapping_less(place.frames.times(at));
        let at = place.place;
        self.on.swap_remove(at as usize);
        if let Some(&moved) = self.on.get(at as usize) {
            self.regions[moved as usize].place = at;
        }
        if self.keeps_fallen {
            self.fell.push(region);
        }
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
            } else {
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

    /// Time in each state, up to the present.
    pub fn spent(&self) -> Time {
        let cycles = self.time - self.since;
        let taken = self.taken.plus(self.taken_since(self.time));
        let on = self.on_frames.times(self.time).wrapping_less(self.moment).wrapping_plus(taken);
        let asleep = self.all.times(cycles).wrapping_less(on);
        let before = self.before;
        Time {
            on: before.on + on.own,
            asleep: before.asleep + asleep.own,
            borrowed_on: before.borrowed_on + on.borrowed,
            borrowed_asleep: before.borrowed_asleep + asleep.borrowed,
            lent: before.lent + (u64::from(self.own) - self.all.own) * cycles,
        }
    }

    /// The time that look-ahead added is taken from time asleep up to a cycle, before which nothing changed since the last time.
    #[inline(always)]
    fn take_ahead(&mut self, to: u64) {
        if self.layout.ahead != 0 {
            let taken = self.taken_since(to);
            (self.ahead, self.taken) = (self.ahead.less(taken), self.taken.plus(taken));
            self.taken_to = self.taken_to.max(to);
        }
    }

    /// What is taken of that up to a cycle.
    fn taken_since(&self, to: u64) -> Blocks {
        let cycles = to.saturating_sub(self.taken_to);
        self.ahead.at_most(self.all.less(self.on_frames).times(cycles))
    }
}

#[cfg(test)]
mod tests;
