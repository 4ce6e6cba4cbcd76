// SPDX-License-Identifier: MIT OR Apache-2.0
//! An SM takes no more than some blocks of a kernel.

use warpwatt_base::counters::{Charge, CounterSet};
use warpwatt_config::technique_parameters;

use crate::register_file::{RegisterFileSite, Started};
use crate::techniques::{Sites, Technique};

technique_parameters! {
    /// Parameters of the probe.
    Parameters = "probe-limit" {
        blocks: u32 = 1, 1..=64, "", "Blocks of a kernel that an SM takes; 64 changes nothing.";
    }
}

warpwatt_base::counters! {
    /// Counters of the probe.
    pub struct Counters {
        warps: u64 = "probe_limit.warps.count", "Warps that were started.", Charge::Issues;
    }
}

pub static TECHNIQUE: Technique = Technique {
    name: "probe-limit",
    doc: "An SM takes no more than some blocks of a kernel.",
    paper: "a probe of the admission of blocks",
    parameters: Parameters::parameters,
    settings: || Box::<Parameters>::default(),
    counters: Counters::INFO,
    zero: || Box::<Counters>::default(),
    excludes: &[],
    needs: &[],
    check: |_, _, _| (),
    stores: &[],
    sites: Sites {
        register_file: Some(|_| Box::<Limit>::default()),
        blocks: Some(|settings, _, _| settings.of::<Parameters>().blocks),
        ..Sites::NONE
    },
    balance: |_, _| (),
    laws: &[],
};

#[derive(Default)]
struct Limit {
    counters: Counters,
}

impl RegisterFileSite for Limit {
    fn start(&mut self, _now: u64, _warp: &Started) {
        self.counters.warps += 1;
    }

    fn counters(&self) -> Box<dyn CounterSet> {
        self.counters.boxed()
    }
}
