// SPDX-License-Identifier: MIT OR Apache-2.0
//! Register file virtualization: a register gives its entry back when it is no longer live (Jeon, Ravi, Kim, Annavaram, MICRO 2015; CORF, section 4.3).
//!
//! A register is released by its last read, if no lane of the warp is elsewhere: all lanes that have not exited execute that instruction, so none of
//! them needs it any more. Registers that die on the way to where control comes together, and those that were last read while the warp was split,
//! are released by the first instruction after a branch that all lanes execute. The compiler gives what is live there, and its checker proves it.
//! No more blocks are admitted than without it.

use warpwatt_base::counters::Charge;
use warpwatt_config::technique_parameters;

use super::{Law, Sites, Technique};

technique_parameters! {
    /// Parameters of register file virtualization.
    Parameters = "virtualization" {
        joins: bool = true, 0..=0, "", "Registers that are dead at a reconvergence point are released there; off: only after last reads.";
    }
}

warpwatt_base::counters! {
    /// Counters of register file virtualization.
    pub struct Counters {
        released: u64 = "virtualization.released.count", "Registers released by their last read.", Charge::Reads;
        released_at_joins: u64 = "virtualization.released_at_joins.count", "Registers released where control came together.", Charge::Issues;
    }
}

pub const NAME: &str = "virtualization";

pub static TECHNIQUE: Technique = Technique {
    name: NAME,
    doc: "The entry of a register is released after the last read of its live range.",
    paper: "Jeon et al., GPU Register File Virtualization, MICRO 2015, as in Asghari Esfeden et al., CORF, ASPLOS 2019",
    parameters: Parameters::parameters,
    settings: || Box::<Parameters>::default(),
    counters: Counters::INFO,
    zero: || Box::<Counters>::default(),
    excludes: &[],
    needs: &["renaming"],
    check: |_, _, _| (),
    stores: &[],
    sites: Sites::NONE,
    balance: |_, _| (),
    laws: &[Law {
        text: "no more registers are released than are written",
        holds: |run| {
            let writes = run.machine.sm.registers.writes;
            run.own.of::<Counters>().is_some_and(|own| own.released + own.released_at_joins <= writes)
        },
    }],
};
