// SPDX-License-Identifier: MIT OR Apache-2.0
//! Coarse-grained drowsy caches (the drowsy-cache thesis, section 3.3.1): blocks of a cache sleep at a lower supply voltage, which keeps what
//! they hold; the region of contiguous blocks that was accessed last stays on; an access to a region that sleeps wakes it up first.
//!
//! Tags are always on. A hit, a fill and the eviction of a dirty line are accesses. A region sleeps until it is first used. The voltage
//! changes what a sleeping block leaks, which is up to the technology.

mod counters;
mod parameters;
#[cfg(test)]
mod tests;

use warpwatt_base::counters::CounterSet;

pub use counters::{Counters, Tally};
pub use parameters::Parameters;

use crate::cache::{Array, ArrayAccess, ArrayShape, DataArraySite, Use};
use crate::techniques::kit::lines::LineShadow;
use crate::techniques::kit::regions::{Layout, Regions};
use crate::techniques::{Build, Fault, Law, Observed, Sites, Technique};

pub static TECHNIQUE: Technique = Technique {
    name: "drowsy",
    doc: "Drowsy caches: regions of a cache are kept at a low voltage until they are accessed.",
    paper: "Drowsy and divided-word-line caches (thesis)",
    parameters: Parameters::parameters,
    settings: || Box::<Parameters>::default(),
    counters: Counters::INFO,
    zero: || Box::<Counters>::default(),
    excludes: &[],
    needs: &[],
    check: parameters::check,
    stores: &[Fault::Cache],
    sites: Sites { data_array: Some(Drowsy::build), ..Sites::NONE },
    balance: |_, _| (),
    laws: &[Law { text: "lines are on or asleep in every cycle of their SM", holds: all_time_is_there }],
};

/// Of caches that sleep: lines x cycles = time on + time asleep; of shared memory, rows that the L1 data cache has meanwhile belong to neither.
fn all_time_is_there(observed: &Observed) -> bool {
    let counters: &Counters = observed.own.of().expect("its own counters");
    let cycles = observed.machine.sm.issue.cycles;
    let config = observed.config;
    let lines = [
        (config.l1d_sets() * config.l1d.ways, counters.l1d_asleep + counters.l1d_on),
        (config.constant.sets * config.constant.ways, counters.constant_asleep + counters.constant_on),
        (
            config.shared.bytes.div_ceil(128),
            counters.shared_asleep + counters.shared_on + counters.shared_lent,
        ),
        (config.icache.sets * config.icache.ways, counters.icache_asleep + counters.icache_on),
    ];
    lines.iter().all(|&(lines, time)| time == 0 || time == u64::from(lines) * cycles)
}

/// A data array whose regions sleep.
struct Drowsy {
    array: Array,
    regions: Regions,
    shadow: Option<LineShadow>,
    corrupted: Option<String>,
    tally: Tally,
}

impl Drowsy {
    fn build(build: &Build, array: Array, shape: ArrayShape) -> Option<Box<dyn DataArraySite>> {
        let parameters: &Parameters = build.settings.of();
        if !parameters.acts_on(array) {
            return None;
        }
        // Shared memory has no tags that could disagree. A bit is flipped in the first L2 slice and in the constant cache of SM 0, through which every
        // kernel reads its parameters.
        let inject = build.inject == Some(Fault::Cache) && matches!(array, Array::Constant | Array::L2);
        let shadow = (build.verify && array != Array::Shared).then(|| LineShadow::new(shape.frames, inject));
        let layout: Layout = parameters.layout(array, shape);
        let regions = Regions::new(layout);
        let drowsy = Drowsy { array, regions, shadow, corrupted: None, tally: Tally::default() };
        Some(Box::new(drowsy))
    }

    /// Verifies that an access gets the line that was filled.
    fn verify(&mut self, access: &ArrayAccess) {
        let Some(shadow) = &mut self.shadow else { return };
        for row in access.rows {
            match access.usage {
                Use::Fill | Use::Write => shadow.store(row.frame, row.line),
                Use::Read | Use::Modify | Use::WriteBack => {
                    if let Some(stored) = shadow.check(row.frame, row.line) {
                        let (array, frame, line) = (self.array, row.frame.0, row.line);
                        self.corrupted.get_or_insert_with(|| {
                            format!("block {frame} of the {array:?} array was filled with line {line:#x} and gives back line {stored:#x}")
                        });
                    }
                }
            }
        }
    }
}

impl DataArraySite for Drowsy {
    fn access(&mut self, access: &ArrayAccess) -> u64 {
        self.verify(access);
        let wait = self.regions.access(access.now, access.rows.iter().map(|row| row.frame.0));
        if matches!(access.usage, Use::Read | Use::Modify | Use::Fill) {
            self.tally.waits += wait;
        }
        wait
    }

    fn settle(&mut self, now: u64, busy: bool) {
        self.regions.advance(now);
        let Tally { asleep, on, .. } = self.tally;
        let spent = self.regions.spent();
        (self.tally.asleep, self.tally.on, self.tally.lent) = (spent.asleep, spent.on, spent.lent);
        (self.tally.borrowed_asleep, self.tally.borrowed_on) = (spent.borrowed_asleep, spent.borrowed_on);
        self.tally.wakeups = self.regions.wakeups;
        if busy {
            self.tally.asleep_busy += self.tally.asleep - asleep;
            self.tally.on_busy += self.tally.on - on;
        }
    }

    fn resize(&mut self, now: u64, shape: ArrayShape) {
        self.regions.resize(now, shape.frames, shape.ways);
        if let Some(shadow) = &mut self.shadow {
            shadow.resize(shape.frames);
        }
    }

    fn counters(&self) -> Box<dyn CounterSet> {
        Counters::of(self.array, &self.tally).boxed()
    }

    fn corrupted(&self) -> Option<String> {
        self.corrupted.clone()
    }

    fn fault_is_pending(&self) -> bool {
        self.shadow.as_ref().is_some_and(LineShadow::fault_is_pending)
    }
}
