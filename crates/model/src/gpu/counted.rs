// SPDX-License-Identifier: MIT OR Apache-2.0
//! What was counted up to a moment, and during a launch. Counters of SMs are read at the start and at the end of each launch: of an SM that had no
//! block in between, only time has passed.

use std::sync::Arc;

use super::per_sm::{PerSm, SmRead};
use crate::counters::Counters;
use crate::ops::OpCounters;
use crate::report::Sample;
use crate::sm::{Sm, SmCounters, SmTime};
use crate::techniques::Techniques;

/// Counters of all SMs as they were read last.
pub struct SmCounts {
    pub sms: Vec<SmRead>,
    /// Those of all SMs together; all others are zero.
    pub sum: Arc<Counters>,
    /// By SM: it may have counted more than time since, and ever.
    stale: Vec<bool>,
    counts: Vec<bool>,
    /// Techniques count whether or not there are blocks.
    techniques: bool,
}

impl SmCounts {
    pub fn new(sms: usize, techniques: &Techniques) -> SmCounts {
        let techniques = techniques.on().next().is_some();
        SmCounts {
            sms: vec![SmRead::default(); sms],
            sum: Arc::default(),
            stale: vec![true; sms],
            counts: vec![techniques; sms],
            techniques,
        }
    }

    /// An SM got a block, or writes lines back: it may count anything from now on.
    pub fn changes(&mut self, sm: usize) {
        (self.stale[sm], self.counts[sm]) = (true, true);
    }

    /// Reads what SMs have counted. [`Sm::settle`] brings their counters up to date first.
    pub fn read(&mut self, sms: &[Sm]) {
        let changed = self.stale.iter().filter(|stale| **stale).count();
        // What few have counted is added to the sum of all.
        let few = 2 * changed < sms.len() && !self.techniques;
        let sum = &mut Arc::make_mut(&mut self.sum).sm;
        for ((sm, read), stale) in sms.iter().zip(&mut self.sms).zip(&mut self.stale) {
            // What is still under way counts on, for instance while the network takes no request.
            if !std::mem::replace(stale, !sm.is_idle()) && !self.techniques {
                read.read_time(sm);
            } else if few {
                read.read_and_add(sm, sum);
            } else {
                read.read(sm);
            }
        }
        if !few {
            *sum = SmCounters::default();
            let all = self.sms.iter().zip(&self.counts).filter(|(_, counts)| **counts);
            all.for_each(|(sm, _)| sm.add_to(sum));
        }
        let mut time = SmTime::default();
        self.sms.iter().for_each(|sm| time.add(sm.time()));
        sum.set_time(&time);
    }
}

/// Everything counted up to a moment: in all, by SM, and the operations of each SM.
#[derive(Clone)]
pub struct Counted {
    pub all: Arc<Counters>,
    pub sms: Vec<SmRead>,
    /// Empty if there were none.
    pub ops: Vec<OpCounters>,
}

/// What was counted during a launch.
#[derive(Default)]
pub struct Report {
    pub all: Arc<Counters>,
    pub per_sm: PerSm,
    pub ops: Vec<OpCounters>,
}

/// What was counted when a kernel started, and since.
pub struct Account {
    start: Counted,
    /// What was counted at the last sample, if there was one.
    sampled: Option<Arc<Counters>>,
    pub series: Vec<Sample>,
    pub report: Option<Report>,
}

impl Account {
    pub fn new(start: Counted) -> Account {
        Account { start, sampled: None, series: Vec::new(), report: None }
    }

    /// Takes a sample of a kernel that runs.
    pub fn sample(&mut self, cycle: u64, all: &Arc<Counters>) {
        let sampled = self.sampled.as_ref().unwrap_or(&self.start.all);
        self.series.push(Sample { cycle, counters: all.since(sampled) });
        self.sampled = Some(Arc::clone(all));
    }

    /// The kernel ended. `busy`: what was counted since a moment.
    pub fn close(&mut self, counted: &Counted, (moment, busy): (&Arc<Counters>, &Arc<Counters>)) {
        let start = &self.start;
        // A kernel that was launched at that moment need not count again.
        let all = match Arc::ptr_eq(&start.all, moment) {
            true => Arc::clone(busy),
            false => Arc::new(counted.all.since(&start.all)),
        };
        self.report = Some(Report {
            all,
            per_sm: PerSm::new(start.sms.clone(), counted.sms.clone()),
            ops: match start.ops.is_empty() {
                true => counted.ops.clone(),
                false => counted.ops.iter().zip(&start.ops).map(|(ops, start)| ops.since(start)).collect(),
            },
        });
    }
}
