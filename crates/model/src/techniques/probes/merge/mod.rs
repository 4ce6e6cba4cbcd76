// SPDX-License-Identifier: MIT OR Apache-2.0
//! Two operands come with one access: the first two of every instruction.

use warpwatt_base::counters::{Charge, CounterSet};
use warpwatt_config::technique_parameters;

use crate::register_file::{ReadPlan, RegisterFileSite};
use crate::sm::Timing;
use crate::techniques::{Build, Law, Sites, Technique};

technique_parameters! {
    /// Parameters of the probe.
    Parameters = "probe-merge" {
        merge: bool = true, 0..=0, "", "The first two operands come with one access; off changes nothing.";
    }
}

warpwatt_base::counters! {
    /// Counters of the probe.
    pub struct Counters {
        merged: u64 = "probe_merge.merged.count", "Accesses that gave two operands.", Charge::Reads;
    }
}

pub static TECHNIQUE: Technique = Technique {
    name: "probe-merge",
    doc: "The first two operands of an instruction come with one access.",
    paper: "a probe of the register file's read plans",
    parameters: Parameters::parameters,
    settings: || Box::<Parameters>::default(),
    counters: Counters::INFO,
    zero: || Box::<Counters>::default(),
    excludes: &[],
    needs: &[],
    check: |_, _, _| (),
    stores: &[],
    sites: Sites { register_file: Some(|build| Box::new(Merge::new(build))), ..Sites::NONE },
    balance: |counters, balance| {
        balance.register_reads -= counters.of::<Counters>().map_or(0, |own| own.merged as i64);
    },
    laws: &[Law {
        text: "no more accesses are merged than operands are read",
        holds: |run| {
            let reads = run.machine.sm.registers.reads;
            run.own.of::<Counters>().is_some_and(|own| own.merged <= reads)
        },
    }],
};

struct Merge {
    merge: bool,
    counters: Counters,
}

impl Merge {
    fn new(build: &Build) -> Merge {
        Merge { merge: build.settings.of::<Parameters>().merge, counters: Counters::default() }
    }
}

impl RegisterFileSite for Merge {
    fn plan(&mut self, _now: u64, _slot: usize, _timing: &Timing, plan: &mut ReadPlan) {
        if self.merge && plan.accesses().len() > 1 {
            plan.merge(0, 1);
            self.counters.merged += 1;
        }
    }

    fn counters(&self) -> Box<dyn CounterSet> {
        self.counters.boxed()
    }
}
