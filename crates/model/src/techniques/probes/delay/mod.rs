// SPDX-License-Identifier: MIT OR Apache-2.0
//! Accesses to data arrays wait for some cycles. Which line of memory each frame holds is kept and compared.

use warpwatt_base::counters::{Charge, CounterSet};
use warpwatt_config::technique_parameters;

use crate::cache::{Array, ArrayAccess, ArrayShape, DataArraySite, Use};
use crate::techniques::kit::lines::LineShadow;
use crate::techniques::{Build, Fault, Sites, Technique};

technique_parameters! {
    /// Parameters of the probe.
    Parameters = "probe-delay" {
        l1d: u32 = 0, 0..=100, "cycles", "Wait at the L1 data cache.";
        constant: u32 = 0, 0..=100, "cycles", "Wait at the constant cache, by operands and indexed loads.";
        texture: u32 = 0, 0..=100, "cycles", "Wait at the texture cache.";
        instruction: u32 = 0, 0..=100, "cycles", "Wait at the instruction cache.";
        shared: u32 = 0, 0..=100, "cycles", "Wait at shared memory.";
        l2: u32 = 0, 0..=100, "clocks", "Wait at the L2 slices.";
    }
}

warpwatt_base::counters! {
    /// Counters of the probe.
    pub struct Counters(Charge::AllLines) {
        accesses: u64 = "probe_delay.accesses.count", "Accesses to data arrays.";
        rows: u64 = "probe_delay.rows.count", "Lines and rows that accesses touched.";
        words: u64 = "probe_delay.words.count", "Words of these.";
        lanes: u64 = "probe_delay.lanes.count", "Active lanes behind the accesses.";
        waits: u64 = "probe_delay.waits.cycles", "Cycles that accesses waited.";
    }
}

pub static TECHNIQUE: Technique = Technique {
    name: "probe-delay",
    doc: "Accesses to data arrays wait for some cycles.",
    paper: "a probe of the data arrays",
    parameters: Parameters::parameters,
    settings: || Box::<Parameters>::default(),
    counters: Counters::INFO,
    zero: || Box::<Counters>::default(),
    excludes: &[],
    needs: &[],
    check: |_, _, _| (),
    stores: &[Fault::Cache],
    sites: Sites {
        data_array: Some(|build, array, shape| Some(Box::new(Delay::new(build, array, shape)))),
        ..Sites::NONE
    },
    balance: |_, _| (),
    laws: &[],
};

struct Delay {
    array: Array,
    cycles: u64,
    shadow: Option<LineShadow>,
    corrupted: Option<String>,
    counters: Counters,
}

impl Delay {
    fn new(build: &Build, array: Array, shape: ArrayShape) -> Delay {
        let parameters: &Parameters = build.settings.of();
        let cycles = match array {
            Array::L1d => parameters.l1d,
            Array::Constant => parameters.constant,
            Array::Texture => parameters.texture,
            Array::Instruction => parameters.instruction,
            Array::Shared => parameters.shared,
            Array::L2 => parameters.l2,
        };
        // Shared memory has no tags that could disagree. A bit is flipped in the L1 instruction cache of SM 0, which every program reads.
        let inject = build.inject == Some(Fault::Cache) && array == Array::Instruction;
        let shadow = build.verify && array != Array::Shared;
        Delay {
            array,
            cycles: u64::from(cycles),
            shadow: shadow.then(|| LineShadow::new(shape.frames, inject)),
            corrupted: None,
            counters: Counters::default(),
        }
    }
}

impl DataArraySite for Delay {
    fn access(&mut self, access: &ArrayAccess) -> u64 {
        self.counters.accesses += 1;
        self.counters.lanes += u64::from(access.lanes);
        self.counters.waits += self.cycles;
        for row in access.rows {
            self.counters.rows += 1;
            self.counters.words += u64::from(row.words.count_ones());
            let Some(shadow) = &mut self.shadow else { continue };
            match access.usage {
                Use::Fill | Use::Write => shadow.store(row.frame, row.line),
                Use::Read | Use::Modify | Use::WriteBack => {
                    if let Some(stored) = shadow.check(row.frame, row.line) {
                        self.corrupted.get_or_insert_with(|| {
                            format!(
                                "frame {} of the {:?} array was filled with line {:#x} and gives back line {stored:#x}",
                                row.frame.0, self.array, row.line
                            )
                        });
                    }
                }
            }
        }
        self.cycles
    }

    fn resize(&mut self, _now: u64, shape: ArrayShape) {
        if let Some(shadow) = &mut self.shadow {
            shadow.resize(shape.frames);
        }
    }

    fn counters(&self) -> Box<dyn CounterSet> {
        self.counters.boxed()
    }

    fn corrupted(&self) -> Option<String> {
        self.corrupted.clone()
    }

    fn fault_is_pending(&self) -> bool {
        self.shadow.as_ref().is_some_and(LineShadow::fault_is_pending)
    }
}
