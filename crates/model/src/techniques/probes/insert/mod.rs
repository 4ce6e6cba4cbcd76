// SPDX-License-Identifier: MIT OR Apache-2.0
//! The compiler's half puts instructions without effect at the start of a kernel, and passes their number to the other half by a hint.

use warpwatt_base::counters::{Charge, CounterSet};
use warpwatt_config::technique_parameters;
use warpwatt_isa::{Hints, Op, Program, Ty, Uop};

use crate::register_file::{RegisterFileSite, Started};
use crate::techniques::kit::rewrite::insert;
use crate::techniques::{Law, Pass, Sites, Technique};

technique_parameters! {
    /// Parameters of the probe.
    Parameters = "probe-insert" {
        nops: u32 = 1, 0..=16, "", "Instructions at the start of a kernel; 0 changes nothing.";
    }
}

warpwatt_base::counters! {
    /// Counters of the probe.
    pub struct Counters {
        inserted: u64 = "probe_insert.inserted.count", "Instructions that warps had to execute on top of their own.", Charge::Issues;
    }
}

pub static TECHNIQUE: Technique = Technique {
    name: NAME,
    doc: "Instructions without effect at the start of a kernel.",
    paper: "a probe of the compiler's half",
    parameters: Parameters::parameters,
    settings: || Box::<Parameters>::default(),
    counters: Counters::INFO,
    zero: || Box::<Counters>::default(),
    excludes: &[],
    needs: &[],
    check: |_, _, _| (),
    stores: &[],
    sites: Sites { register_file: Some(|_| Box::<Insert>::default()), program: Some(pass), ..Sites::NONE },
    balance: |_, _| (),
    laws: &[Law {
        text: "instructions inserted are issued",
        holds: |run| {
            let issued = run.machine.sm.issue.issued;
            run.own.of::<Counters>().is_some_and(|own| own.inserted <= issued)
        },
    }],
};

const NAME: &str = "probe-insert";

fn pass(pass: &Pass) -> Program {
    let nops = pass.settings.of::<Parameters>().nops;
    let new = (0..nops).map(|_| (0, Uop::new(Op::Nop, Ty::U32))).collect();
    let mut program = insert(pass.program, new);
    program.hints.push(Hints { technique: NAME, words: vec![u64::from(nops)] });
    program
}

#[derive(Default)]
struct Insert {
    counters: Counters,
}

impl RegisterFileSite for Insert {
    fn start(&mut self, _now: u64, warp: &Started) {
        self.counters.inserted += warp.program.hints(NAME).map_or(0, |words| words[0]);
    }

    fn counters(&self) -> Box<dyn CounterSet> {
        self.counters.boxed()
    }
}
