// SPDX-License-Identifier: MIT OR Apache-2.0
//! All counters of the GPU.

use warpwatt_base::counters::{Count, CounterInfo};

use crate::net::{ReplyCounters, RequestCounters};
use crate::ops::OpCounters;
use crate::partition::{DramCounters, L2Counters};
use crate::sm::SmCounters;
use crate::techniques::TechniqueCounters;

/// Everything that is counted, added up over SMs and partitions.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    pub sm: SmCounters,
    pub ops: OpCounters,
    pub request: RequestCounters,
    pub reply: ReplyCounters,
    pub l2: L2Counters,
    pub dram: DramCounters,
    /// What techniques counted in memory partitions; those of SMs are in `sm`.
    pub techniques: TechniqueCounters,
}

impl Counters {
    /// Names and meanings, in the order in which they are visited.
    pub fn infos() -> Vec<CounterInfo> {
        let mut infos = SmCounters::infos();
        infos.extend(OpCounters::infos());
        for part in [RequestCounters::INFO, ReplyCounters::INFO, L2Counters::INFO, DramCounters::INFO] {
            infos.extend_from_slice(part);
        }
        infos.extend(TechniqueCounters::infos());
        infos
    }

    /// Everything that techniques counted, in SMs and partitions together.
    pub fn all_techniques(&self) -> TechniqueCounters {
        let mut all = self.sm.techniques.clone();
        all.add(&self.techniques);
        all
    }

    pub fn visit(&self, f: &mut dyn FnMut(&'static str, Count)) {
        self.sm.visit_machine(f);
        self.ops.visit(f);
        self.request.visit(f);
        self.reply.visit(f);
        self.l2.visit(f);
        self.dram.visit(f);
        self.all_techniques().visit(f);
    }

    pub fn add(&mut self, other: &Counters) {
        self.sm.add(&other.sm);
        self.ops.add(&other.ops);
        self.request.add(&other.request);
        self.reply.add(&other.reply);
        self.l2.add(&other.l2);
        self.dram.add(&other.dram);
        self.techniques.add(&other.techniques);
    }

    /// What was counted since `earlier`, a former state of these counters.
    pub fn since(&self, earlier: &Counters) -> Counters {
        Counters {
            sm: self.sm.since(&earlier.sm),
            ops: self.ops.since(&earlier.ops),
            request: self.request.since(&earlier.request),
            reply: self.reply.since(&earlier.reply),
            l2: self.l2.since(&earlier.l2),
            dram: self.dram.since(&earlier.dram),
            techniques: self.techniques.since(&earlier.techniques),
        }
    }
}
