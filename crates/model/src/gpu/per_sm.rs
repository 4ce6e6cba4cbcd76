// SPDX-License-Identifier: MIT OR Apache-2.0
//! What each SM counted during a launch, worked out when somebody asks: of most launches nobody does.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use crate::sm::{Sm, SmCounters, SmTime};

/// What an SM had counted at a moment: as it was read when it had last counted anything but time, and time since.
#[derive(Clone, Default)]
pub struct SmRead {
    counters: Arc<SmCounters>,
    time: SmTime,
}

impl SmRead {
    /// Reads all that an SM has counted.
    pub fn read(&mut self, sm: &Sm) {
        let counters = sm.counters();
        self.time = counters.time();
        match Arc::get_mut(&mut self.counters) {
            Some(place) => *place = counters,
            None => self.counters = Arc::new(counters),
        }
    }

    /// The same, and adds what is new to a sum.
    pub fn read_and_add(&mut self, sm: &Sm, sum: &mut SmCounters) {
        let earlier =
            std::mem::replace(self, SmRead { counters: Arc::new(sm.counters()), time: sm.counted_time() });
        sum.add(&self.counters.since(&earlier.counters));
    }

    /// Reads the time of an SM that has counted nothing else since the last time.
    pub fn read_time(&mut self, sm: &Sm) {
        self.time = sm.counted_time();
        debug_assert_eq!(self.all(), sm.counters(), "counters of an SM that had no block");
    }

    pub fn time(&self) -> &SmTime {
        &self.time
    }

    /// Adds all but time to a sum.
    pub fn add_to(&self, sum: &mut SmCounters) {
        sum.add(&self.counters);
    }

    /// All that was counted up to the moment.
    fn all(&self) -> SmCounters {
        let mut all = (*self.counters).clone();
        all.set_time(&self.time);
        all
    }

    /// What was counted since an earlier moment.
    fn since(&self, earlier: &SmRead) -> SmCounters {
        let mut since = match Arc::ptr_eq(&self.counters, &earlier.counters) {
            true => SmCounters::default(),
            false => self.counters.since(&earlier.counters),
        };
        since.set_time(&self.time.since(&earlier.time));
        since
    }
}

/// The counters of each SM over a while.
#[derive(Clone, Default)]
pub struct PerSm {
    start: Vec<SmRead>,
    end: Vec<SmRead>,
    since: OnceLock<Vec<SmCounters>>,
}

impl PerSm {
    pub(super) fn new(start: Vec<SmRead>, end: Vec<SmRead>) -> PerSm {
        PerSm { start, end, since: OnceLock::new() }
    }
}

impl Deref for PerSm {
    type Target = [SmCounters];

    fn deref(&self) -> &[SmCounters] {
        let since = || self.end.iter().zip(&self.start).map(|(end, start)| end.since(start)).collect();
        self.since.get_or_init(since)
    }
}

impl PartialEq for PerSm {
    fn eq(&self, other: &PerSm) -> bool {
        **self == **other
    }
}

impl std::fmt::Debug for PerSm {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        (**self).fmt(f)
    }
}
