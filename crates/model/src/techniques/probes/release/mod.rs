// SPDX-License-Identifier: MIT OR Apache-2.0
//! Registers are free after the last read of their live range, until they are written again or their warp exits.
//!
//! A register is free when no path reads it and all lanes of the warp that have not exited are past its last read: so it is released only by an
//! instruction that all of them execute, whatever its guard. Lanes that went another way may still need it.

use warpwatt_base::counters::{Charge, CounterSet};
use warpwatt_config::technique_parameters;

use crate::register_file::{Before, Mismatch, Next, RegisterFileSite, Started, Values};
use crate::techniques::{Build, Law, Sites, Technique};

technique_parameters! {
    /// Parameters of the probe.
    Parameters = "probe-release" {
        release: bool = true, 0..=0, "", "Registers are released; off counts nothing.";
    }
}

warpwatt_base::counters! {
    /// Counters of the probe.
    pub struct Counters {
        released: u64 = "probe_release.released.count", "Registers released at the last read of a live range.", Charge::Reads;
        free: u64 = "probe_release.free.cycles", "Cycles that released registers were free, summed.";
    }
}

pub static TECHNIQUE: Technique = Technique {
    name: "probe-release",
    doc: "Registers are free after the last read of their live range.",
    paper: "a probe of last uses and live ranges",
    parameters: Parameters::parameters,
    settings: || Box::<Parameters>::default(),
    counters: Counters::INFO,
    zero: || Box::<Counters>::default(),
    excludes: &[],
    needs: &[],
    check: |_, _, _| (),
    stores: &[],
    sites: Sites { register_file: Some(|build| Box::new(Release::new(build))), ..Sites::NONE },
    balance: |_, _| (),
    laws: &[Law {
        text: "no more registers are released than are read",
        holds: |run| {
            let reads = run.machine.sm.registers.reads;
            run.own.of::<Counters>().is_some_and(|own| own.released <= reads)
        },
    }],
};

const SLOTS: usize = crate::sm::Slot::COUNT;
const REGISTERS: usize = 256;
/// Not free.
const HELD: u64 = u64::MAX;

struct Release {
    release: bool,
    verify: bool,
    /// By slot and register: since when it is free, or [`HELD`].
    free_since: Vec<u64>,
    counters: Counters,
}

impl Release {
    fn new(build: &Build) -> Release {
        Release {
            release: build.settings.of::<Parameters>().release,
            verify: build.verify,
            free_since: vec![HELD; SLOTS * REGISTERS],
            counters: Counters::default(),
        }
    }

    fn warp(&mut self, slot: usize) -> &mut [u64] {
        &mut self.free_since[slot % SLOTS * REGISTERS..][..REGISTERS]
    }
}

impl RegisterFileSite for Release {
    fn start(&mut self, _now: u64, warp: &Started) {
        // Every last read ends a live range of the program.
        debug_assert!(!warp.program.live_ranges.is_empty() || warp.registers <= 1);
        self.warp(warp.slot).fill(HELD);
    }

    fn end(&mut self, now: u64, slot: usize) {
        let free = self.warp(slot).iter().filter(|&&since| since != HELD);
        let cycles: u64 = free.map(|&since| now - since).sum();
        self.counters.free += cycles;
        self.warp(slot).fill(HELD);
    }

    /// A register that is read was not released.
    fn before(&mut self, next: &Next, values: Values) -> Before {
        if !self.verify {
            return Before::Go;
        }
        let sources = &next.timing.source[..usize::from(next.timing.sources)];
        let free = &self.free_since[next.slot % SLOTS * REGISTERS..][..REGISTERS];
        match sources.iter().find(|&&register| free[usize::from(register)] != HELD) {
            Some(&register) => {
                let given = values.of(register).0[0];
                Before::Corrupted(Mismatch { register, lane: 0, given, stored: !given })
            }
            None => Before::Go,
        }
    }

    fn issued(&mut self, now: u64, next: &Next) {
        let timing = next.timing;
        if self.release && next.lanes.active == next.lanes.live {
            for (place, &register) in timing.source[..usize::from(timing.sources)].iter().enumerate() {
                if timing.last_reads >> place & 1 != 0 {
                    self.counters.released += 1;
                    self.warp(next.slot)[usize::from(register)] = now;
                }
            }
        }
        // What is written is held again from now on.
        for register in timing.dst..timing.dst + timing.dst_words {
            let since = std::mem::replace(&mut self.warp(next.slot)[usize::from(register)], HELD);
            if since != HELD {
                self.counters.free += now - since;
            }
        }
    }

    fn counters(&self) -> Box<dyn CounterSet> {
        self.counters.boxed()
    }
}
