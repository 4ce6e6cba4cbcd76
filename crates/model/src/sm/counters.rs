// SPDX-License-Identifier: MIT OR Apache-2.0
//! What one SM counts, its parts included.

use warpwatt_base::counters::{Charge, Count, CounterInfo};

use super::fetch::FetchCounters;
use super::mem::MemCounters;
use super::stall::{Stall, Stalls};
use super::units::UnitCounters;
use crate::register_file::RegisterCounters;
use crate::techniques::{TechniqueCounters, Techniques};

warpwatt_base::counters! {
    /// What the schedulers of an SM did.
    pub struct IssueCounters {
        cycles: u64 = "sm.cycles.cycles", "Cycles, over all SMs.";
        active: u64 = "sm.active.cycles", "Cycles with a resident warp, over all SMs.";
        slots: u64 = "sm.issue_slots.count", "Issue slots: cycles times schedulers.", Charge::Time;
        issued: u64 = "sm.issued.count", "Issue slots that issued an instruction.", Charge::Issues;
        injected: u64 = "sm.injected.count", "Issue slots that issued an instruction of a technique's own.", Charge::Nobody;
        thread_instructions: u64 = "sm.thread_instructions.count", "Thread instructions: warp instructions issued, times their active lanes.", Charge::Lanes;
        retired: u64 = "sm.retired.count", "Instructions that are done: their results written, their stores sent.", Charge::Issues;
        resident_warps: u64 = "sm.resident_warps.cycles", "Resident warps, summed over cycles.";
        ctas: u64 = "sm.ctas.count", "Blocks that ended.", Charge::Issues;
        barriers: u64 = "sm.barriers.count", "Barriers that opened.", Charge::Issues;
        branches: u64 = "sm.branches.count", "Branches, calls and returns.", Charge::Op("branch");
        jumps: u64 = "sm.jumps.count", "Changes of a warp's path that emptied its instruction buffer.", Charge::Issues;
        no_lanes: u64 = "sm.no_lanes.count", "Instructions issued whose guard held for no lane.", Charge::Issues;
        lanes: [u64; 32] = "sm.lanes.histogram", "Instructions by the number of lanes that executed them, from 1 to 32.";
        constants: u64 = "sm.constant_operands.count", "Constant operands of issued instructions.", Charge::Constants;
    }
}

/// Everything that an SM counts.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SmCounters {
    pub issue: IssueCounters,
    /// Issue slots without an instruction, by reason.
    pub stalls: Stalls,
    pub fetch: FetchCounters,
    pub registers: RegisterCounters,
    pub units: UnitCounters,
    pub memory: MemCounters,
    pub techniques: TechniqueCounters,
}

/// Counters that grow while time passes without blocks.
#[derive(Clone, Default)]
pub struct SmTime {
    pub cycles: u64,
    pub slots: u64,
    pub stalls: Stalls,
}

impl SmTime {
    pub fn add(&mut self, other: &SmTime) {
        self.cycles += other.cycles;
        self.slots += other.slots;
        self.stalls.iter_mut().zip(&other.stalls).for_each(|(sum, count)| *sum += count);
    }

    pub fn since(&self, earlier: &SmTime) -> SmTime {
        SmTime {
            cycles: self.cycles - earlier.cycles,
            slots: self.slots - earlier.slots,
            stalls: std::array::from_fn(|i| self.stalls[i] - earlier.stalls[i]),
        }
    }
}

/// Names of the stall counters.
const STALLS: [CounterInfo; Stall::COUNT] = {
    const fn stall(name: &'static str, doc: &'static str) -> CounterInfo {
        CounterInfo { name, doc, charge: Some(Charge::Time) }
    }
    [
        stall("sm.stall.empty.count", "Issue slots of schedulers without warps."),
        stall(
            "sm.stall.barrier.count",
            "Issue slots lost at barriers, or to lanes waiting for others of their warp.",
        ),
        stall("sm.stall.fence.count", "Issue slots lost to fences that wait for stores."),
        stall("sm.stall.merge.count", "Issue slots lost until atomics or system calls take effect."),
        stall("sm.stall.fetch.count", "Issue slots lost because the next instruction was not there."),
        stall("sm.stall.constant.count", "Issue slots lost to misses of constant operands."),
        stall("sm.stall.memory.count", "Issue slots lost waiting for values from memory."),
        stall("sm.stall.dependency.count", "Issue slots lost waiting for computed values."),
        stall(
            "sm.stall.unit.count",
            "Issue slots lost because no operand collector or memory queue entry was free.",
        ),
    ]
};

impl SmCounters {
    /// Those of the machine, without techniques'.
    pub fn infos() -> Vec<CounterInfo> {
        let parts =
            [IssueCounters::INFO, &STALLS, FetchCounters::INFO, RegisterCounters::INFO, UnitCounters::INFO];
        [parts.concat(), MemCounters::infos()].concat()
    }

    /// Counters at zero, with those of the techniques that are on.
    pub fn of(techniques: &Techniques) -> SmCounters {
        SmCounters { techniques: TechniqueCounters::of(techniques), ..SmCounters::default() }
    }

    pub fn add(&mut self, other: &SmCounters) {
        self.issue.add(&other.issue);
        self.stalls.iter_mut().zip(&other.stalls).for_each(|(sum, count)| *sum += count);
        self.fetch.add(&other.fetch);
        self.registers.add(&other.registers);
        self.units.add(&other.units);
        self.memory.add(&other.memory);
        self.techniques.add(&other.techniques);
    }

    pub fn since(&self, earlier: &SmCounters) -> SmCounters {
        SmCounters {
            issue: self.issue.since(&earlier.issue),
            stalls: std::array::from_fn(|i| self.stalls[i] - earlier.stalls[i]),
            fetch: self.fetch.since(&earlier.fetch),
            registers: self.registers.since(&earlier.registers),
            units: self.units.since(&earlier.units),
            memory: self.memory.since(&earlier.memory),
            techniques: self.techniques.since(&earlier.techniques),
        }
    }

    /// What grows while time passes without blocks.
    pub fn time(&self) -> SmTime {
        SmTime { cycles: self.issue.cycles, slots: self.issue.slots, stalls: self.stalls }
    }

    pub fn set_time(&mut self, time: &SmTime) {
        (self.issue.cycles, self.issue.slots, self.stalls) = (time.cycles, time.slots, time.stalls);
    }

    pub fn visit(&self, f: &mut dyn FnMut(&'static str, Count)) {
        self.visit_machine(f);
        self.techniques.visit(f);
    }

    /// Visits all but what techniques counted.
    pub fn visit_machine(&self, f: &mut dyn FnMut(&'static str, Count)) {
        self.issue.visit(f);
        for (info, &count) in STALLS.iter().zip(&self.stalls) {
            f(info.name, Count::Sum(count));
        }
        self.fetch.visit(f);
        self.registers.visit(f);
        self.units.visit(f);
        self.memory.visit(f);
    }
}
