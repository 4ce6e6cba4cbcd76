// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the load/store unit counts, and all counters of the memory side of an SM.

use warpwatt_base::counters;
use warpwatt_base::counters::{Charge, Count, CounterInfo, Log2};

use super::constant::ConstantCounters;
use super::l1d::L1dCounters;
use super::second::SecondCounters;
use super::shared::SharedCounters;
use super::texture::TextureCounters;

counters! {
    /// What the load/store unit did.
    pub struct LsuCounters(Charge::Lines) {
        instructions: u64 = "lsu.instructions.count", "Warp instructions started.";
        busy: u64 = "lsu.busy.cycles", "Cycles in which instructions made transactions or occupied shared memory, summed over instructions.";
        blocked: u64 = "lsu.blocked.cycles", "Cycles in which the next transaction of a started instruction waited, summed over instructions.";
        blocked_unit: u64 = "lsu.blocked_unit.cycles", "Cycles in which the next transaction waited because an older instruction used the same cache, summed over instructions.";
        transactions: [u64; 32] = "lsu.transactions_per_instruction.histogram", "Instructions on global or local memory by the lines they touch: 1 to 31, then all that touch more.";
        latency: Log2 = "lsu.latency.histogram", "Loads and atomics by the cycles from issue to data.";
    }
}

/// Everything that the memory side of an SM counts, by part.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MemCounters {
    pub lsu: LsuCounters,
    pub l1d: L1dCounters,
    pub shared: SharedCounters,
    pub constant: ConstantCounters,
    pub second: SecondCounters,
    pub texture: TextureCounters,
}

impl MemCounters {
    pub fn infos() -> Vec<CounterInfo> {
        let parts = [
            LsuCounters::INFO,
            L1dCounters::INFO,
            SharedCounters::INFO,
            ConstantCounters::INFO,
            SecondCounters::INFO,
            TextureCounters::INFO,
        ];
        parts.concat()
    }

    pub fn add(&mut self, other: &MemCounters) {
        self.lsu.add(&other.lsu);
        self.l1d.add(&other.l1d);
        self.shared.add(&other.shared);
        self.constant.add(&other.constant);
        self.second.add(&other.second);
        self.texture.add(&other.texture);
    }

    /// What was counted since `earlier`, a former state of these counters.
    pub fn since(&self, earlier: &MemCounters) -> MemCounters {
        MemCounters {
            lsu: self.lsu.since(&earlier.lsu),
            l1d: self.l1d.since(&earlier.l1d),
            shared: self.shared.since(&earlier.shared),
            constant: self.constant.since(&earlier.constant),
            second: self.second.since(&earlier.second),
            texture: self.texture.since(&earlier.texture),
        }
    }

    pub fn visit(&self, f: &mut dyn FnMut(&'static str, Count)) {
        self.lsu.visit(f);
        self.l1d.visit(f);
        self.shared.visit(f);
        self.constant.visit(f);
        self.second.visit(f);
        self.texture.visit(f);
    }
}
