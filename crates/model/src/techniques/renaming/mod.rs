// SPDX-License-Identifier: MIT OR Apache-2.0
//! The renaming table on which register packing, virtualization, CORF and CORF++ build (CORF, ASPLOS 2019, section 6).
//!
//! ```text
//!     sources ─► table: bank, entry, slices ─► coalesce ─► banks ─► unpackers ─► collector
//!     result ─► width ─► allocator (free map, pairs, sides) ─► packers ─► banks
//!     last reads, joins ─► release ─► entries without a register are gated
//! ```
//!
//! A register gets an entry when it is first written, and keeps it until its warp exits: that is all that the table does alone. What else happens
//! depends on the techniques that are on. Their parameters and counters are in folders of their own; the work is done here, because they
//! share the table.

mod deaths;
mod engine;
mod occupancy;
mod reads;
mod shadow;
#[cfg(test)]
mod tests;

use warpwatt_base::counters::Charge;
use warpwatt_config::{Config, choice, technique_parameters};

use super::{Fault, Law, Sites, Technique, TechniqueError};
use engine::Engine;

choice! {
    /// What is power-gated while it holds no register.
    Gating {
        /// Entries (CORF, section 9).
        Entries = "entries",
        /// Slices of a byte.
        Slices = "slices",
        Off = "off",
    }
}

technique_parameters! {
    /// Parameters of the renaming table.
    Parameters = "renaming" {
        ports: u32 = 2, 0..=8, "", "Ports of each bank of the renaming table, which has one bank for each bank of the register file. 0: lookups take no time.";
        write_ports: bool = false, 0..=0, "", "Lookups for results also take ports.";
        gating: Gating = Gating::Entries, 0..=0, "", "What is power-gated while it holds no register.";
        wake_cycles: u32 = 0, 0..=1000, "cycles", "Wake-up latency of a gated part, from the first write to it.";
        gated_leakage: u32 = 0, 0..=100, "%", "Leakage of a gated part, in percent of its full leakage.";
    }
}

warpwatt_base::counters! {
    /// Counters of the renaming table.
    pub struct Counters {
        lookups: u64 = "renaming.lookups.count", "Lookups of operands.", Charge::Reads;
        updates: u64 = "renaming.updates.count", "Accesses to the table for results and releases: a lookup for each result, and whatever changes.", Charge::Writes;
        port_waits: u64 = "renaming.port_waits.cycles", "Cycles that operands waited for a port of the table.";
        undefined_reads: u64 = "renaming.undefined_reads.count", "Operands read that have no entry: nothing was written to them, or they are dead.", Charge::Reads;
        placed: u64 = "renaming.placed.count", "Registers that got an entry, growth not counted.", Charge::Writes;
        elsewhere: u64 = "renaming.elsewhere.count", "Registers that found no room in their home bank.", Charge::Writes;
        wakeups: u64 = "renaming.wakeups.count", "Times that an entry, or slices of one, were switched on.", Charge::Writes;
        wakeup_waits: u64 = "renaming.wakeup_waits.cycles", "Cycles that writes waited for an entry, or slices of one, to be switched on.";
        registers: u64 = "renaming.registers.cycles", "Registers of resident warps, summed over cycles.";
        entries: u64 = "renaming.entries.cycles", "Entries that hold a register, summed over cycles.";
        slices: u64 = "renaming.slices.cycles", "Slices that hold a register, summed over cycles; an entry has four.";
        gated: u64 = "renaming.gated.cycles", "Slices that are power-gated, summed over cycles; an entry has four.";
    }
}

pub const NAME: &str = "renaming";

pub static TECHNIQUE: Technique = Technique {
    name: NAME,
    doc: "Register renaming, which packing, virtualization, corf and corf++ use; alone, a register is allocated at its first write.",
    paper: "Asghari Esfeden et al., CORF, ASPLOS 2019, section 6",
    parameters: Parameters::parameters,
    settings: || Box::<Parameters>::default(),
    counters: Counters::INFO,
    zero: || Box::<Counters>::default(),
    excludes: &[],
    needs: &[],
    check: |_, config, found| check(config, found),
    stores: &[Fault::Rf],
    sites: Sites { register_file: Some(|build| Box::new(Engine::new(build))), ..Sites::NONE },
    balance: |_, _| (),
    laws: LAWS,
};

const LAWS: &[Law] = &[
    Law {
        text: "what is off and what is taken is no more than there is",
        holds: |run| {
            // Banks have as many entries each, so that there may be a few more than registers.
            let (banks, registers) = (run.config.rf.banks, run.config.sm.registers.div_ceil(32));
            let entries = u64::from(banks * registers.div_ceil(banks));
            let all = run.machine.sm.issue.cycles * entries * 4;
            run.own.of::<Counters>().is_some_and(|own| {
                own.gated + own.slices <= all && own.slices <= 4 * own.entries && own.entries <= own.registers
            })
        },
    },
    Law {
        text: "no more operands are undefined than are looked up",
        holds: |run| run.own.of::<Counters>().is_some_and(|own| own.undefined_reads <= own.lookups),
    },
];

/// Checks the GPU's parameters.
fn check(config: &Config, found: &mut Vec<TechniqueError>) {
    if !config.rf.sub_banks.is_multiple_of(4) {
        found.push(TechniqueError::new(
            format!(
                "`renaming` splits an entry into four slices, and `sm.rf.sub_banks` is {}",
                config.rf.sub_banks
            ),
            "choose a GPU such as gtx480-corf, or `--set sm.rf.sub_banks=8`",
        ));
    }
}
