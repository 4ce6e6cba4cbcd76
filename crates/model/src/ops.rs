// SPDX-License-Identifier: MIT OR Apache-2.0
//! Operations by kind: what execution units are paid for. Nothing is counted for them while kernels run: they follow from how often
//! each micro-op issued, for how many lanes.

use warpwatt_base::counters::{Charge, Count, CounterInfo};
use warpwatt_exec::PcCount;
use warpwatt_isa::{Class, MufuFn, Op, Program, Sub, Uop};

macro_rules! kinds {
    ($($kind:ident = $name:literal, $what:literal;)*) => {
        /// Kinds of operation, finer than classes of latency where units take different energy.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[repr(u8)]
        pub enum OpKind { $(#[doc = $what] $kind,)* }

        impl OpKind {
            pub const ALL: &'static [OpKind] = &[$(OpKind::$kind,)*];

            /// As in the names of counters.
            pub fn name(self) -> &'static str {
                match self { $(OpKind::$kind => $name,)* }
            }
        }

        const INFO: &[[CounterInfo; 2]] = &[$([
            CounterInfo { name: concat!("ops.", $name, ".count"), doc: concat!($what, ": warp instructions."), charge: Some(Charge::Op($name)) },
            CounterInfo { name: concat!("ops.", $name, ".lanes.count"), doc: concat!($what, ": lanes that took part."), charge: Some(Charge::OpLanes($name)) },
        ],)*];
    };
}

kinds! {
    IntAdd = "int_add", "Integer additions";
    IntMul = "int_mul", "Integer multiplications";
    IntWide = "int_wide", "32 by 32 to 64 bit multiply-adds";
    Logic = "logic", "Logic, permutations and bit fields";
    Shift = "shift", "Shifts";
    MinMax = "min_max", "Integer minima and maxima";
    Compare = "compare", "Integer comparisons";
    Move = "move", "Moves, selections and special registers";
    Fp32Add = "fp32_add", "Single-precision additions, comparisons, minima and maxima";
    Fp32Mul = "fp32_mul", "Single-precision multiplications and fused multiply-adds";
    Fp16 = "fp16", "Half-precision operations";
    Fp64 = "fp64", "Double-precision operations";
    Convert = "convert", "Conversions";
    Reciprocal = "reciprocal", "Reciprocals";
    Root = "root", "Square roots and their reciprocals";
    Logarithm = "logarithm", "Logarithms";
    Exponential = "exponential", "Exponentials and hyperbolic tangents";
    Sine = "sine", "Sines and cosines";
    BitCount = "bit_count", "Counts and searches of bits";
    Dot = "dot", "Dot products of bytes";
    Shuffle = "shuffle", "Shuffles between lanes";
    Vote = "vote", "Votes and other collectives";
    Load = "load", "Loads";
    Store = "store", "Stores";
    Atomic = "atomic", "Atomic operations and reductions";
    Texture = "texture", "Texture instructions";
    Surface = "surface", "Surface instructions";
    Fence = "fence", "Fences and cache control";
    Branch = "branch", "Branches, calls, returns and ends";
    Barrier = "barrier", "Barriers";
    System = "system", "System calls";
}

const COUNT: usize = INFO.len();

impl OpKind {
    pub fn of(uop: &Uop) -> OpKind {
        match uop.class() {
            Class::IntAdd => OpKind::IntAdd,
            Class::IntMul => OpKind::IntMul,
            Class::IntWide => OpKind::IntWide,
            Class::Logic => OpKind::Logic,
            Class::Shift => OpKind::Shift,
            Class::MinMax => OpKind::MinMax,
            Class::Compare => OpKind::Compare,
            Class::Move => OpKind::Move,
            Class::Fp32 if matches!(uop.op, Op::Fmul | Op::Ffma) => OpKind::Fp32Mul,
            Class::Fp32 => OpKind::Fp32Add,
            Class::Fp16 => OpKind::Fp16,
            Class::Fp64 => OpKind::Fp64,
            Class::Convert => OpKind::Convert,
            Class::Special => match uop.sub {
                Sub::Mufu(MufuFn::Sqrt | MufuFn::Rsq | MufuFn::Rsq64h) => OpKind::Root,
                Sub::Mufu(MufuFn::Lg2) => OpKind::Logarithm,
                Sub::Mufu(MufuFn::Ex2 | MufuFn::Tanh) => OpKind::Exponential,
                Sub::Mufu(MufuFn::Sin | MufuFn::Cos) => OpKind::Sine,
                _ => OpKind::Reciprocal,
            },
            Class::BitCount => OpKind::BitCount,
            Class::Dot => OpKind::Dot,
            Class::Shuffle => OpKind::Shuffle,
            Class::Vote => OpKind::Vote,
            Class::Load => OpKind::Load,
            Class::Store => OpKind::Store,
            Class::Atomic => OpKind::Atomic,
            Class::Texture => OpKind::Texture,
            Class::Surface => OpKind::Surface,
            Class::Fence => OpKind::Fence,
            Class::Branch => OpKind::Branch,
            Class::Barrier => OpKind::Barrier,
            Class::System => OpKind::System,
        }
    }
}

/// Instructions and lanes by kind of operation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OpCounters([PcCount; COUNT]);

impl Default for OpCounters {
    fn default() -> OpCounters {
        OpCounters([PcCount::default(); COUNT])
    }
}

impl OpCounters {
    pub fn infos() -> Vec<CounterInfo> {
        INFO.concat()
    }

    /// Adds what the micro-ops of a program did.
    pub fn add_program(&mut self, program: &Program, counts: &[PcCount]) {
        for (uop, count) in program.uops.iter().zip(counts) {
            if count.issues != 0 {
                let sum = &mut self.0[OpKind::of(uop) as usize];
                sum.issues += count.issues;
                sum.lanes += count.lanes;
            }
        }
    }

    pub fn of(&self, kind: OpKind) -> PcCount {
        self.0[kind as usize]
    }

    pub fn add(&mut self, other: &OpCounters) {
        for (sum, count) in self.0.iter_mut().zip(&other.0) {
            sum.issues += count.issues;
            sum.lanes += count.lanes;
        }
    }

    /// What was counted since `earlier`, a former state of these counters.
    pub fn since(&self, earlier: &OpCounters) -> OpCounters {
        OpCounters(std::array::from_fn(|i| PcCount {
            issues: self.0[i].issues - earlier.0[i].issues,
            lanes: self.0[i].lanes - earlier.0[i].lanes,
        }))
    }

    pub fn visit(&self, f: &mut dyn FnMut(&'static str, Count)) {
        for ([issues, lanes], count) in INFO.iter().zip(&self.0) {
            f(issues.name, Count::Sum(count.issues));
            f(lanes.name, Count::Sum(count.lanes));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_in_the_order_of_their_counters() {
        for (index, kind) in OpKind::ALL.iter().enumerate() {
            assert_eq!(*kind as usize, index);
            assert_eq!(INFO[index][0].name, format!("ops.{}.count", kind.name()));
            assert_eq!(INFO[index][1].name, format!("ops.{}.lanes.count", kind.name()));
        }
    }

    #[test]
    fn sums_differences_and_visits_agree() {
        let mut ops = OpCounters::default();
        ops.0[OpKind::Load as usize] = PcCount { issues: 3, lanes: 70 };
        let mut twice = ops.clone();
        twice.add(&ops);
        assert_eq!(twice.since(&ops), ops);
        assert_eq!(twice.of(OpKind::Load), PcCount { issues: 6, lanes: 140 });
        let mut seen = Vec::new();
        twice.visit(&mut |name, count| seen.push((name, count == Count::Sum(0))));
        assert_eq!(seen.iter().filter(|(_, zero)| !zero).count(), 2);
        assert_eq!(seen.len(), OpCounters::infos().len());
    }
}
