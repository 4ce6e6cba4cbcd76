// SPDX-License-Identifier: MIT OR Apache-2.0
//! The data array of a cache, or of shared memory: every access comes here with its lines or rows, its lanes and its words, is passed to
//! the techniques that act in the array, and gets the cycle of its data.
//!
//! Intervals follow from the cycles of accesses alone, so that they are exact whether or not cycles without events are skipped.

use warpwatt_base::counters::{Log2, Magnitudes};
use warpwatt_config::Config;

use super::LineId;
use super::site::{Array, ArrayAccess, ArrayShape, DataArraySite, RowAccess, Use};
use crate::techniques::{Hung, TechniqueCounters, Techniques};

/// A frame that has not been used.
const NEVER: u64 = u64::MAX;

pub struct DataArray {
    /// The techniques that act here.
    sites: Vec<Hung<dyn DataArraySite>>,
    /// When the array was used last, and each of its frames.
    last_use: u64,
    last_uses: Vec<u64>,
    intervals: Magnitudes,
    frame_intervals: Magnitudes,
    /// By frame: when the latest fill is in the array. Kept only where a technique can delay one.
    filled: Vec<u64>,
    /// The first cycle in which a frame may have lost what it held.
    loses_from: u64,
}

/// The first cycle in which a frame may have lost what it held to a technique.
#[inline(always)]
fn first_loss(sites: &[Hung<dyn DataArraySite>]) -> u64 {
    sites.iter().map(|hung| hung.site.loses_from()).min().unwrap_or(u64::MAX)
}

impl DataArray {
    pub fn new(
        config: &Config,
        techniques: &Techniques,
        instance: u32,
        array: Array,
        shape: ArrayShape,
    ) -> DataArray {
        let sites = techniques
            .hang(config, instance, |sites, build| sites.data_array.and_then(|at| at(build, array, shape)));
        DataArray::with(sites, shape)
    }

    fn with(sites: Vec<Hung<dyn DataArraySite>>, shape: ArrayShape) -> DataArray {
        let frames = shape.frames.max(1) as usize;
        DataArray {
            filled: vec![0; if sites.is_empty() { 0 } else { frames }],
            loses_from: first_loss(&sites),
            sites,
            last_use: 0,
            last_uses: vec![NEVER; frames],
            intervals: Magnitudes::default(),
            frame_intervals: Magnitudes::default(),
        }
    }

    /// Whether a technique acts here.
    #[inline(always)]
    pub fn has_sites(&self) -> bool {
        !self.sites.is_empty()
    }

    /// Lines of a cache, or rows of shared memory.
    #[inline(always)]
    pub fn frames(&self) -> u32 {
        self.last_uses.len() as u32
    }

    /// Changes the shape; all frames are empty and unused.
    pub fn resize(&mut self, now: u64, shape: ArrayShape) {
        let frames = shape.frames.max(1) as usize;
        self.last_uses.clear();
        self.last_uses.resize(frames, NEVER);
        self.filled.clear();
        self.filled.resize(if self.sites.is_empty() { 0 } else { frames }, 0);
        self.sites.iter_mut().for_each(|hung| hung.site.resize(now, shape));
        self.loses_from = first_loss(&self.sites);
    }

    /// Notes a use of the array as a whole, for its intervals. What counts as one is up to its owner.
    #[inline(always)]
    pub fn note_use(&mut self, now: u64) {
        self.intervals.note(now - self.last_use);
        self.last_use = now;
    }

    /// Notes a use of a frame, for its intervals.
    #[inline(always)]
    pub fn note_frame(&mut self, now: u64, frame: LineId) {
        let last = &mut self.last_uses[frame.0 as usize];
        if *last != NEVER {
            self.frame_intervals.note(now - *last);
        }
        *last = now;
    }

    /// [`DataArray::note_frame`] for a frame that need not be checked.
    ///
    /// # Safety
    /// The array must have this frame.
    #[inline(always)]
    pub unsafe fn note_known_frame(&mut self, now: u64, frame: LineId) {
        debug_assert!((frame.0 as usize) < self.last_uses.len());
        // SAFETY: as the caller promises.
        let last = unsafe { self.last_uses.get_unchecked_mut(frame.0 as usize) };
        if *last != NEVER {
            self.frame_intervals.note(now - *last);
        }
        *last = now;
    }

    /// An access to one line. Gives the cycle (L2: the clock) in which the array serves it: `now`, unless a technique delays it.
    #[inline(always)]
    pub fn access(&mut self, now: u64, usage: Use, lanes: u8, row: RowAccess) -> u64 {
        self.note_frame(now, row.frame);
        if self.sites.is_empty() {
            return now;
        }
        self.ask(&ArrayAccess { now, usage, lanes, rows: &[row] })
    }

    /// Passes an access, whose frames have been noted, to the techniques. Their delays overlap. No data are there before the line has
    /// been filled.
    #[cold]
    #[inline(never)]
    pub fn ask(&mut self, access: &ArrayAccess) -> u64 {
        let waits = self.sites.iter_mut().map(|hung| hung.site.access(access));
        let mut ready = access.now + waits.max().unwrap_or(0);
        self.loses_from = first_loss(&self.sites);
        for row in access.rows {
            let filled = &mut self.filled[row.frame.0 as usize];
            ready = ready.max(*filled);
            if access.usage == Use::Fill {
                *filled = ready;
            }
        }
        ready
    }

    /// Reports a load of a line that is being fetched to techniques.
    #[inline(always)]
    pub fn merged(&mut self, now: u64, lanes: u8, words: u32, frame: Option<LineId>) {
        for hung in &mut self.sites {
            hung.site.merged(now, lanes, words, frame);
        }
    }

    /// Frames that lost what they held before `now`.
    #[inline(always)]
    pub fn lost(&mut self, now: u64) -> Vec<LineId> {
        if self.may_have_lost(now) { self.gather_lost(now) } else { Vec::new() }
    }

    /// Whether a frame may have lost what it held before `now`.
    #[inline(always)]
    pub fn may_have_lost(&self, now: u64) -> bool {
        now >= self.loses_from
    }

    #[cold]
    #[inline(never)]
    fn gather_lost(&mut self, now: u64) -> Vec<LineId> {
        let mut lost = Vec::new();
        self.sites.iter_mut().for_each(|hung| hung.site.lost(now, &mut lost));
        self.loses_from = first_loss(&self.sites);
        lost
    }

    /// Cycles (L2: clocks) between two uses of the array.
    pub fn intervals(&self) -> Log2 {
        self.intervals.log2()
    }

    /// Cycles (L2: clocks) between two uses of the same frame.
    pub fn frame_intervals(&self) -> Log2 {
        self.frame_intervals.log2()
    }

    /// Techniques bring counters of time up to date, to before `now`; the array was busy or not since the last time.
    pub fn settle(&mut self, now: u64, busy: bool) {
        for hung in &mut self.sites {
            hung.site.settle(now, busy);
        }
        self.loses_from = first_loss(&self.sites);
    }

    /// Adds what techniques counted here.
    pub fn count_techniques(&self, counters: &mut TechniqueCounters) {
        for Hung { technique, site } in &self.sites {
            counters.note(*technique, site.counters().as_ref());
        }
    }

    /// What is wrong with what the array returned, if anything is.
    pub fn corrupted(&self) -> Option<String> {
        self.sites.iter().find_map(|hung| hung.site.corrupted())
    }

    /// A stored bit was to be flipped, and nothing has been read that has one.
    pub fn fault_is_pending(&self) -> bool {
        self.sites.iter().any(|hung| hung.site.fault_is_pending())
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use warpwatt_base::counters::{Charge, Counter, CounterSet};

    warpwatt_base::counters! {
        /// Counters of the technique of these tests.
        pub struct Seen(Charge::Issues) {
            accesses: u64 = "seen.accesses.count", "Accesses.";
            lanes: u64 = "seen.lanes.count", "Lanes behind them.";
            rows: u64 = "seen.rows.count", "Lines or rows.";
            words: u64 = "seen.words.count", "Words.";
            settled: u64 = "seen.settled.cycles", "Cycles.";
        }
    }

    /// Delays accesses of one kind for a fixed time.
    pub struct Slow {
        pub usage: Use,
        pub wait: u64,
        pub seen: Seen,
        pub stored_wrong: bool,
    }

    impl DataArraySite for Slow {
        fn access(&mut self, access: &ArrayAccess) -> u64 {
            self.seen.accesses += 1;
            self.seen.lanes += u64::from(access.lanes);
            self.seen.rows += access.rows.len() as u64;
            self.seen.words += access.rows.iter().map(|row| u64::from(row.words.count_ones())).sum::<u64>();
            if access.usage == self.usage { self.wait } else { 0 }
        }

        fn settle(&mut self, now: u64, _busy: bool) {
            self.seen.settled = now;
        }

        fn counters(&self) -> Box<dyn CounterSet> {
            Box::new(self.seen.clone())
        }

        fn corrupted(&self) -> Option<String> {
            self.stored_wrong.then(|| "a bit".to_owned())
        }

        fn fault_is_pending(&self) -> bool {
            self.stored_wrong
        }
    }

    /// A technique that delays accesses of one kind.
    pub fn slow(usage: Use, wait: u64) -> Hung<dyn DataArraySite> {
        let site = Box::new(Slow { usage, wait, seen: Seen::default(), stored_wrong: false });
        Hung { technique: 0, site }
    }

    impl DataArray {
        /// Puts a technique into the array.
        pub fn add_site(&mut self, hung: Hung<dyn DataArraySite>) {
            self.filled.resize(self.last_uses.len(), 0);
            self.sites.push(hung);
            self.loses_from = first_loss(&self.sites);
        }

        /// What the [`Slow`] technique saw.
        pub fn seen(&self) -> Seen {
            self.sites[0].site.counters().of::<Seen>().cloned().expect("the technique of these tests")
        }
    }

    const SHAPE: ArrayShape = ArrayShape { frames: 4, ways: 2, line_bytes: 128 };

    fn row(frame: u32) -> RowAccess {
        RowAccess { frame: LineId(frame), line: 77, words: 0xf }
    }

    #[test]
    fn intervals_are_those_between_uses_of_the_same_line() {
        let mut array = DataArray::with(Vec::new(), SHAPE);
        for (now, frame) in [(10, 0), (12, 1), (13, 0), (13, 0), (20, 1), (21, 3)] {
            assert_eq!(array.access(now, Use::Read, 32, row(frame)), now);
            array.note_use(now);
        }
        let mut lines = Log2::default();
        [3, 0, 8].into_iter().for_each(|interval| lines.note(interval));
        assert_eq!(array.frame_intervals(), lines);
        let mut all = Log2::default();
        [10, 2, 1, 0, 7, 1].into_iter().for_each(|interval| all.note(interval));
        assert_eq!(array.intervals().value(), all.value());
    }

    #[test]
    fn an_access_waits_as_long_as_the_slowest_technique_wants() {
        let sites = vec![slow(Use::Read, 3), slow(Use::Read, 7), slow(Use::Write, 9)];
        let mut array = DataArray::with(sites, SHAPE);
        assert!(array.has_sites());
        assert_eq!(array.access(100, Use::Read, 5, row(0)), 107);
        assert_eq!(array.access(100, Use::Write, 32, row(0)), 109);
        assert_eq!(array.access(100, Use::WriteBack, 32, row(1)), 100);
        assert_eq!(array.seen(), Seen { accesses: 3, lanes: 69, rows: 3, words: 12, settled: 0 });
    }

    #[test]
    fn a_line_is_not_read_before_it_is_filled() {
        let mut array = DataArray::with(vec![slow(Use::Fill, 6)], SHAPE);
        assert_eq!(array.access(50, Use::Fill, 32, row(2)), 56);
        assert_eq!(array.access(51, Use::Read, 32, row(2)), 56);
        assert_eq!(array.access(51, Use::Read, 32, row(1)), 51);
        assert_eq!(array.access(57, Use::Read, 32, row(2)), 57);
    }

    #[test]
    fn techniques_are_settled_counted_and_asked_for_faults() {
        let site = Box::new(Slow { usage: Use::Read, wait: 0, seen: Seen::default(), stored_wrong: true });
        let mut array = DataArray::with(vec![Hung { technique: 0, site }], SHAPE);
        array.settle(30, true);
        let mut counters = TechniqueCounters::default();
        array.count_techniques(&mut counters);
        assert_eq!(counters.find::<Seen>().map(|seen| seen.settled), Some(30));
        assert_eq!((array.corrupted(), array.fault_is_pending()), (Some("a bit".to_owned()), true));
    }
}
