// SPDX-License-Identifier: MIT OR Apache-2.0
//! Counters of all SMs as they were read last. They are read at the start and at the end of each launch: of an SM that had no block in between, only
//! time has passed.

use crate::sm::{Sm, SmCounters};
use crate::techniques::Techniques;

pub struct SmCounts {
    /// Of each SM, and of all together.
    pub sms: Vec<SmCounters>,
    pub sum: SmCounters,
    /// How often they were read, and by SM the last time at which it had counted more than time.
    pub times: u64,
    changed: Vec<u64>,
    /// By SM: it may have counted more than time since.
    stale: Vec<bool>,
    /// Techniques count whether or not there are blocks.
    techniques: bool,
}

impl SmCounts {
    pub fn new(sms: usize, techniques: &Techniques) -> SmCounts {
        SmCounts {
            sms: vec![SmCounters::default(); sms],
            sum: SmCounters::default(),
            times: 0,
            changed: vec![0; sms],
            stale: vec![true; sms],
            techniques: techniques.on().next().is_some(),
        }
    }

    /// An SM got a block, or writes lines back: it may count anything from now on.
    pub fn changes(&mut self, sm: usize) {
        self.stale[sm] = true;
    }

    /// Whether an SM has counted nothing but time since counters had been read so many times.
    pub fn only_time_passed(&self, sm: usize, times: u64) -> bool {
        self.changed[sm] <= times
    }

    /// Reads what SMs have counted. [`Sm::settle`] brings their counters up to date first.
    pub fn read(&mut self, sms: &[Sm]) {
        self.times += 1;
        let mut any = false;
        for (index, (sm, counters)) in sms.iter().zip(&mut self.sms).enumerate() {
            if std::mem::take(&mut self.stale[index]) || self.techniques {
                *counters = sm.counters();
                self.changed[index] = self.times;
                any = true;
            } else {
                sm.count_time(counters);
            }
            debug_assert_eq!(*counters, sm.counters(), "counters of SM {index}, which had no block");
        }
        if any {
            self.sum = SmCounters::default();
            self.sms.iter().for_each(|sm| self.sum.add(sm));
        } else {
            self.sum.sum_time(&self.sms);
        }
    }
}
