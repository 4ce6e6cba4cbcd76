// SPDX-License-Identifier: MIT OR Apache-2.0
//! All registers lie in one bank. What is stored there is kept and compared.

use warpwatt_base::counters::{Charge, CounterSet};
use warpwatt_config::technique_parameters;
use warpwatt_exec::lanes::Row;

use crate::register_file::{
    Before, Next, ReadPlan, ReadPort, RegisterFileSite, Started, Values, WriteAccess, Written,
};
use crate::sm::Timing;
use crate::techniques::kit::rows::RowShadow;
use crate::techniques::{Build, Fault, Law, Sites, Technique};

technique_parameters! {
    /// Parameters of the probe.
    Parameters = "probe-rename" {
        rename: bool = true, 0..=0, "", "Registers are moved to one bank; off changes nothing.";
        to: u32 = 0, 0..=63, "", "The bank, modulo those that there are.";
    }
}

warpwatt_base::counters! {
    /// Counters of the probe.
    pub struct Counters {
        reads: u64 = "probe_rename.reads.count", "Operands read from the bank.", Charge::Reads;
        writes: u64 = "probe_rename.writes.count", "Results written to the bank.", Charge::Writes;
    }
}

pub static TECHNIQUE: Technique = Technique {
    name: "probe-rename",
    doc: "All registers lie in one bank.",
    paper: "a probe of the register file's names",
    parameters: Parameters::parameters,
    settings: || Box::<Parameters>::default(),
    counters: Counters::INFO,
    zero: || Box::<Counters>::default(),
    excludes: &[],
    needs: &[],
    check: |_, _, _| (),
    stores: &[Fault::Rf],
    sites: Sites { register_file: Some(|build| Box::new(Rename::new(build))), ..Sites::NONE },
    balance: |_, _| (),
    laws: &[Law {
        text: "no more results are renamed than are written",
        holds: |run| {
            let writes = run.machine.sm.registers.writes;
            run.own.of::<Counters>().is_some_and(|own| own.writes <= writes)
        },
    }],
};

/// Warp slots, and registers of a warp, that there may be.
const SLOTS: usize = crate::sm::Slot::COUNT;
const REGISTERS: usize = 256;

struct Rename {
    to: Option<u8>,
    shadow: Option<RowShadow>,
    /// By slot and register: lanes that the write under way is for.
    lanes: Vec<u32>,
    counters: Counters,
}

fn entry(slot: usize, register: u8) -> usize {
    slot % SLOTS * REGISTERS + usize::from(register)
}

impl Rename {
    fn new(build: &Build) -> Rename {
        let parameters: &Parameters = build.settings.of();
        let entries = SLOTS * REGISTERS;
        Rename {
            to: parameters.rename.then_some((parameters.to % build.config.rf.banks) as u8),
            shadow: build.verify.then(|| RowShadow::new(entries, build.inject == Some(Fault::Rf))),
            lanes: vec![0; entries],
            counters: Counters::default(),
        }
    }
}

impl RegisterFileSite for Rename {
    fn start(&mut self, _now: u64, warp: &Started) {
        if let Some(shadow) = &mut self.shadow {
            (0..=254).for_each(|register| shadow.forget(entry(warp.slot, register)));
        }
    }

    fn before(&mut self, next: &Next, values: Values) -> Before {
        let Some(shadow) = &mut self.shadow else { return Before::Go };
        let sources = &next.timing.source[..usize::from(next.timing.sources)];
        let mismatch = sources
            .iter()
            .find_map(|&register| shadow.check(entry(next.slot, register), values.of(register), register));
        mismatch.map_or(Before::Go, Before::Corrupted)
    }

    fn issued(&mut self, _now: u64, next: &Next) {
        for register in next.timing.dst..next.timing.dst + next.timing.dst_words {
            self.lanes[entry(next.slot, register)] = next.lanes.mask;
        }
    }

    fn plan(&mut self, _now: u64, _slot: usize, _timing: &Timing, plan: &mut ReadPlan) {
        let Some(to) = self.to else { return };
        for access in plan.accesses_mut() {
            access.bank = to;
            self.counters.reads += 1;
        }
    }

    fn write(&mut self, written: &Written, access: &mut WriteAccess, _port: &mut ReadPort) {
        if let Some(shadow) = &mut self.shadow {
            let entry = entry(written.slot, written.register);
            shadow.store(entry, written.values, self.lanes[entry]);
        }
        if let Some(to) = self.to {
            access.bank = to;
            self.counters.writes += 1;
        }
    }

    fn late(&mut self, _now: u64, slot: usize, register: u8, values: &Row) {
        if let Some(shadow) = &mut self.shadow {
            shadow.store(entry(slot, register), values, u32::MAX);
        }
    }

    fn counters(&self) -> Box<dyn CounterSet> {
        self.counters.boxed()
    }

    fn fault_is_pending(&self) -> bool {
        self.shadow.as_ref().is_some_and(RowShadow::fault_is_pending)
    }
}
