// SPDX-License-Identifier: MIT OR Apache-2.0
//! Gated caches: regions that were not accessed for some time are switched off, and lose what they hold. The drowsy-cache thesis argues against
//! that (section 3.3.1): what is lost has to be fetched again. Here it is as the contrast, in the manner of cache decay.
//!
//! Lines that a region held are gone when it is off; dirty ones are written to the next level, when the cache is next accessed. Shared memory
//! cannot be gated: nothing else holds its data.

use warpwatt_base::counters::{Charge, CounterSet};
use warpwatt_config::technique_parameters;

use crate::cache::{Array, ArrayAccess, ArrayShape, DataArraySite, LineId, Use};
use crate::techniques::kit::regions::{Layout, Numbering, Regions, Sleep};
use crate::techniques::{Build, Law, Sites, Technique};

technique_parameters! {
    /// Parameters of gated caches.
    Parameters = "gated" {
        region: u32 = 1, 1..=1048576, "blocks", "Size of a region: contiguous blocks that are gated together; a larger number than the cache has means the whole cache.";
        idle_cycles: u32 = 8192, 0..=4294967295, "cycles", "Time from the last access to a region until it is gated; in L2 clocks for L2 slices.";
        wake_cycles: u32 = 2, 0..=64, "cycles", "Wake-up latency of a gated region.";
        leakage: u32 = 0, 0..=100, "%", "Leakage of a gated region, in percent of its full leakage.";
        l1d: bool = true, 0..=0, "", "The L1 data caches are gated.";
        l2: bool = true, 0..=0, "", "The L2 slices are gated.";
        constant: bool = true, 0..=0, "", "The constant caches are gated.";
        texture: bool = true, 0..=0, "", "The texture caches are gated.";
        instruction: bool = false, 0..=0, "", "The instruction caches are gated.";
    }
}

warpwatt_base::counters! {
    /// Counters of gated caches. Times are those of lines, added up.
    pub struct Counters {
        l1d_off: u64 = "l1d.gated.cycles", "Cycles in which lines of the L1 data cache were gated off, summed over lines.";
        l1d_off_busy: u64 = "l1d.gated_busy.cycles", "Cycles in which lines of the L1 data cache were gated off while the SM had warps, summed over lines.";
        l1d_on: u64 = "l1d.ungated.cycles", "Cycles in which lines of the L1 data cache were on, summed over lines.";
        l1d_lost: u64 = "l1d.lost.count", "Lines of the L1 data cache that were switched off.", Charge::Lines;
        l1d_waits: u64 = "l1d.gated_waits.cycles", "Cycles that accesses to the L1 data cache waited for a region to be switched on.";
        l1d_borrowed_off: u64 = "l1d.borrowed_gated.cycles", "Cycles in which rows of shared memory that belong to L1 by a kernel's preference were gated, summed over rows.";
        l2_off: u64 = "l2.gated.clocks", "L2 clocks in which lines of the L2 slices were gated off, summed over lines.";
        l2_off_busy: u64 = "l2.gated_busy.clocks", "L2 clocks in which lines of the L2 slices were gated off while a kernel was running, summed over lines.";
        l2_on: u64 = "l2.ungated.clocks", "L2 clocks in which lines of the L2 slices were on, summed over lines.";
        l2_lost: u64 = "l2.lost.count", "Lines of the L2 slices that were switched off.", Charge::AllLines;
        l2_waits: u64 = "l2.gated_waits.clocks", "L2 clocks that accesses to the L2 slices waited for a region to be switched on.";
        constant_off: u64 = "constant.gated.cycles", "Cycles in which lines of the constant cache were gated off, summed over lines.";
        constant_off_busy: u64 = "constant.gated_busy.cycles", "Cycles in which lines of the constant cache were gated off while the SM had warps, summed over lines.";
        constant_on: u64 = "constant.ungated.cycles", "Cycles in which lines of the constant cache were on, summed over lines.";
        constant_lost: u64 = "constant.lost.count", "Lines of the constant cache that were switched off.", Charge::ConstantCache;
        constant_waits: u64 = "constant.gated_waits.cycles", "Cycles that accesses to the constant cache waited for a region to be switched on.";
        texture_off: u64 = "texture.gated.cycles", "Cycles in which lines of the texture cache were gated off, summed over lines.";
        texture_off_busy: u64 = "texture.gated_busy.cycles", "Cycles in which lines of the texture cache were gated off while the SM had warps, summed over lines.";
        texture_on: u64 = "texture.ungated.cycles", "Cycles in which lines of the texture cache were on, summed over lines.";
        texture_lost: u64 = "texture.lost.count", "Lines of the texture cache that were switched off.", Charge::TextureLines;
        texture_waits: u64 = "texture.gated_waits.cycles", "Cycles that accesses to the texture cache waited for a region to be switched on.";
        icache_off: u64 = "icache.gated.cycles", "Cycles in which lines of the instruction cache were gated off, summed over lines.";
        icache_off_busy: u64 = "icache.gated_busy.cycles", "Cycles in which lines of the instruction cache were gated off while the SM had warps, summed over lines.";
        icache_on: u64 = "icache.ungated.cycles", "Cycles in which lines of the instruction cache were on, summed over lines.";
        icache_lost: u64 = "icache.lost.count", "Lines of the instruction cache that were switched off.", Charge::Issues;
        icache_waits: u64 = "icache.gated_waits.cycles", "Cycles that accesses to the instruction cache waited for a region to be switched on.";
    }
}

pub static TECHNIQUE: Technique = Technique {
    name: "gated",
    doc: "Gated caches: regions that are not accessed for some time are power-gated and lose their contents.",
    paper: "Drowsy and divided-word-line caches (thesis), the contrast of section 3.3.1",
    parameters: Parameters::parameters,
    settings: || Box::<Parameters>::default(),
    counters: Counters::INFO,
    zero: || Box::<Counters>::default(),
    excludes: &["drowsy"],
    needs: &[],
    check: |_, _, _| (),
    stores: &[],
    sites: Sites { data_array: Some(Gated::build), ..Sites::NONE },
    balance: |_, _| (),
    laws: &[Law {
        text: "lines of L1 data caches are on or off in every cycle of their SM",
        holds: |observed| {
            let counters: &Counters = observed.own.of().expect("its own counters");
            let config = observed.config;
            let lines = u64::from(config.l1d_sets() * config.l1d.ways);
            let time = counters.l1d_on + counters.l1d_off;
            time == 0 || time == lines * observed.machine.sm.issue.cycles
        },
    }],
};

struct Gated {
    array: Array,
    regions: Regions,
    off: u64,
    off_busy: u64,
    on: u64,
    lost: u64,
    waits: u64,
}

impl Gated {
    fn build(build: &Build, array: Array, shape: ArrayShape) -> Option<Box<dyn DataArraySite>> {
        let parameters: &Parameters = build.settings.of();
        let acts = match array {
            Array::L1d => parameters.l1d,
            Array::L2 => parameters.l2,
            Array::Constant => parameters.constant,
            Array::Texture => parameters.texture,
            Array::Instruction => parameters.instruction,
            Array::Shared => false,
        };
        let mut regions = Regions::new(Layout {
            frames: shape.frames,
            region: parameters.region,
            numbering: Numbering::SetMajor { ways: shape.ways },
            sleep: Sleep::After(parameters.idle_cycles.into()),
            wake: parameters.wake_cycles.into(),
            ahead: 0,
        });
        regions.keep_fallen();
        let site = Gated { array, regions, off: 0, off_busy: 0, on: 0, lost: 0, waits: 0 };
        acts.then(|| Box::new(site) as Box<dyn DataArraySite>)
    }
}

impl DataArraySite for Gated {
    fn access(&mut self, access: &ArrayAccess) -> u64 {
        let wait = self.regions.access(access.now, access.rows.iter().map(|row| row.frame.0));
        if matches!(access.usage, Use::Read | Use::Modify | Use::Fill) {
            self.waits += wait;
        }
        wait
    }

    fn lost(&mut self, now: u64, lost: &mut Vec<LineId>) {
        let before = lost.len();
        lost.extend(self.regions.fallen(now).map(LineId));
        self.lost += (lost.len() - before) as u64;
    }

    fn loses_from(&self) -> u64 {
        self.regions.falls_at()
    }

    fn settle(&mut self, now: u64, busy: bool) {
        self.regions.advance(now);
        let spent = self.regions.spent();
        let off = spent.asleep - self.off;
        self.off += off;
        self.off_busy += if busy { off } else { 0 };
        self.on = spent.on;
    }

    fn resize(&mut self, now: u64, shape: ArrayShape) {
        self.regions.resize(now, shape.frames, shape.ways);
    }

    fn counters(&self) -> Box<dyn CounterSet> {
        let mut counters = Counters::default();
        if self.array == Array::L1d {
            counters.l1d_borrowed_off = self.regions.spent().borrowed_asleep;
        }
        let places = match self.array {
            Array::L1d => Some([
                &mut counters.l1d_off,
                &mut counters.l1d_off_busy,
                &mut counters.l1d_on,
                &mut counters.l1d_lost,
                &mut counters.l1d_waits,
            ]),
            Array::L2 => Some([
                &mut counters.l2_off,
                &mut counters.l2_off_busy,
                &mut counters.l2_on,
                &mut counters.l2_lost,
                &mut counters.l2_waits,
            ]),
            Array::Constant => Some([
                &mut counters.constant_off,
                &mut counters.constant_off_busy,
                &mut counters.constant_on,
                &mut counters.constant_lost,
                &mut counters.constant_waits,
            ]),
            Array::Texture => Some([
                &mut counters.texture_off,
                &mut counters.texture_off_busy,
                &mut counters.texture_on,
                &mut counters.texture_lost,
                &mut counters.texture_waits,
            ]),
            Array::Instruction => Some([
                &mut counters.icache_off,
                &mut counters.icache_off_busy,
                &mut counters.icache_on,
                &mut counters.icache_lost,
                &mut counters.icache_waits,
            ]),
            Array::Shared => None,
        };
        let counts = [self.off, self.off_busy, self.on, self.lost, self.waits];
        places.into_iter().flatten().zip(counts).for_each(|(place, count)| *place = count);
        counters.boxed()
    }
}
