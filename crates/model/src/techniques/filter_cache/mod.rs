// SPDX-License-Identifier: MIT OR Apache-2.0
//! A filter cache before the L1 data cache: a few lines that serve loads, so that L1 is accessed less often and its regions can
//! sleep longer. The drowsy-cache thesis names it as future work (section 5.2).
//!
//! It holds copies of lines that came through L1, and need not be a part of what L1 holds. Stores and atomics of the SM drop the line; a new kernel
//! drops all of them. So it is as coherent as L1 itself.

use warpwatt_base::counters::{Charge, CounterSet};
use warpwatt_config::{Config, Settings, choice, technique_parameters};

use crate::cache::FilterSite;
use crate::techniques::{Build, Law, Sites, Technique, TechniqueError};

choice! {
    /// Which line is evicted.
    Replace {
        /// The least recently used line.
        Lru = "lru",
        /// The line that was filled longest ago.
        Fifo = "fifo",
    }
}

/// Bytes of a line, as in L1.
const LINE_BYTES: u32 = 128;

technique_parameters! {
    /// Parameters of the filter cache.
    Parameters = "filter-cache" {
        bytes: u32 = 1024, 128..=65536, "bytes", "Size: a power of two of lines of 128 bytes.";
        ways: u32 = 8, 1..=512, "", "Ways; fully associative if there are as many ways as lines.";
        policy: Replace = Replace::Lru, 0..=0, "", "Replacement policy.";
        hit_cycles: u32 = 2, 0..=64, "cycles", "Latency of a hit.";
        serial: bool = true, 0..=0, "", "A load accesses L1 only after a miss, hit_cycles later; off: both are accessed at once.";
    }
}

warpwatt_base::counters! {
    /// Counters of the filter cache.
    pub struct Counters(Charge::Lines) {
        hits: u64 = "filter.hits.count", "Loads of lines that hit in the filter cache.";
        fills: u64 = "filter.fills.count", "Lines filled into the filter cache.";
        misses: u64 = "filter.misses.count", "Loads of lines that went on to L1 and returned the line.";
        drops: u64 = "filter.drops.count", "Lines invalidated because the SM stored to them.";
    }
}

pub static TECHNIQUE: Technique = Technique {
    name: "filter-cache",
    doc: "Filter cache: a small cache in front of the L1 data cache serves loads.",
    paper: "Drowsy and divided-word-line caches (thesis), future work of section 5.2",
    parameters: Parameters::parameters,
    settings: || Box::<Parameters>::default(),
    counters: Counters::INFO,
    zero: || Box::<Counters>::default(),
    excludes: &[],
    needs: &[],
    check,
    stores: &[],
    sites: Sites { filter: Some(|build| Box::new(Filter::new(build))), ..Sites::NONE },
    balance: |_, _| (),
    laws: &[Law {
        text: "a line comes to the filter cache for a load that it could not answer",
        holds: |observed| {
            let counters: &Counters = observed.own.of().expect("its own counters");
            counters.fills <= counters.misses
        },
    }],
};

fn check(settings: &dyn Settings, _: &Config, found: &mut Vec<TechniqueError>) {
    let Parameters { bytes, ways, .. } = *settings.of();
    let lines = bytes / LINE_BYTES;
    if bytes % LINE_BYTES != 0 || !lines.is_power_of_two() {
        found.push(TechniqueError::new(
            format!("a filter cache cannot have {bytes} bytes"),
            "its size is a power of two of lines of 128 bytes, such as 1024",
        ));
    } else if !ways.is_power_of_two() || ways > lines {
        found.push(TechniqueError::new(
            format!("a filter cache of {lines} lines cannot have {ways} ways"),
            format!("ways are a power of two of up to {lines}"),
        ));
    }
}

/// One line: its number, and when it was used or filled, by the count of uses.
#[derive(Clone, Copy, Default)]
struct Held {
    line: Option<u64>,
    stamp: u64,
}

struct Filter {
    /// Set by set.
    lines: Vec<Held>,
    ways: usize,
    policy: Replace,
    hit_cycles: u64,
    delay: u64,
    uses: u64,
    counters: Counters,
}

impl Filter {
    fn new(build: &Build) -> Filter {
        Filter::of(build.settings.of())
    }

    fn of(parameters: &Parameters) -> Filter {
        let lines = (parameters.bytes / LINE_BYTES).max(1) as usize;
        let hit_cycles = u64::from(parameters.hit_cycles);
        Filter {
            lines: vec![Held::default(); lines],
            ways: (parameters.ways as usize).min(lines),
            policy: parameters.policy,
            hit_cycles,
            delay: if parameters.serial { hit_cycles } else { 0 },
            uses: 0,
            counters: Counters::default(),
        }
    }

    fn set(&mut self, line: u64) -> &mut [Held] {
        let sets = self.lines.len() / self.ways;
        let first = line as usize % sets * self.ways;
        &mut self.lines[first..first + self.ways]
    }

    fn find(&mut self, line: u64) -> Option<&mut Held> {
        self.set(line).iter_mut().find(|held| held.line == Some(line))
    }
}

impl FilterSite for Filter {
    fn load(&mut self, now: u64, line: u64, _lanes: u8) -> Option<u64> {
        let (uses, lru) = (self.uses + 1, self.policy == Replace::Lru);
        let held = self.find(line)?;
        if lru {
            held.stamp = uses;
        }
        self.uses = uses;
        self.counters.hits += 1;
        Some(now + self.hit_cycles)
    }

    fn delay(&self) -> u64 {
        self.delay
    }

    fn fill(&mut self, _now: u64, line: u64) {
        self.counters.misses += 1;
        if self.find(line).is_some() {
            return;
        }
        self.uses += 1;
        let stamp = self.uses;
        let oldest = self.set(line).iter_mut().min_by_key(|held| (held.line.is_some(), held.stamp));
        *oldest.expect("a set has ways") = Held { line: Some(line), stamp };
        self.counters.fills += 1;
    }

    fn store(&mut self, _now: u64, line: u64) {
        if let Some(held) = self.find(line) {
            *held = Held::default();
            self.counters.drops += 1;
        }
    }

    fn flush(&mut self) {
        self.lines.fill(Held::default());
    }

    fn counters(&self) -> Box<dyn CounterSet> {
        self.counters.boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(bytes: u32, ways: u32, policy: Replace) -> Filter {
        Filter::of(&Parameters { bytes, ways, policy, ..Parameters::default() })
    }

    #[test]
    fn a_line_that_came_answers_loads_until_it_is_stored_to() {
        let mut filter = filter(1024, 8, Replace::Lru);
        assert_eq!(filter.load(10, 5, 32), None);
        filter.fill(20, 5);
        assert_eq!(filter.load(30, 5, 32), Some(32));
        filter.store(40, 5);
        assert_eq!(filter.load(50, 5, 32), None);
        filter.fill(60, 5);
        filter.flush();
        assert_eq!(filter.load(70, 5, 32), None);
        let Counters { hits, fills, misses, drops } = filter.counters;
        assert_eq!((hits, fills, misses, drops), (1, 2, 2, 1));
    }

    #[test]
    fn the_line_that_makes_room_is_the_oldest_by_use_or_by_arrival() {
        for (policy, left) in [(Replace::Lru, [true, false]), (Replace::Fifo, [false, true])] {
            let mut filter = filter(256, 2, policy);
            filter.fill(0, 1);
            filter.fill(0, 2);
            filter.load(0, 1, 32);
            filter.fill(0, 3);
            assert_eq!([1, 2].map(|line| filter.load(0, line, 32).is_some()), left, "{policy:?}");
        }
    }

    #[test]
    fn lines_go_to_their_set() {
        let mut filter = filter(512, 1, Replace::Lru);
        (0..4).for_each(|line| filter.fill(0, line));
        filter.fill(0, 4);
        let there = [0, 1, 2, 3, 4].map(|line| filter.load(0, line, 32).is_some());
        assert_eq!(there, [false, true, true, true, true]);
    }
}
