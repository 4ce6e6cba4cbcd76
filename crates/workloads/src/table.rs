// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the table of workloads says about a program: what it is after, how its launches look beside the original's, and where the
//! shape of its launches and the values of its inputs come from.

use crate::Dim;

/// What there is to know about a workload without running it.
#[derive(Debug)]
pub struct Info {
    pub name: &'static str,
    /// What it computes, in at most 26 characters.
    pub about: &'static str,
    pub domain: &'static str,
    /// The benchmark suite whose program of this kind it mirrors.
    pub suite: &'static str,
    /// The program of that suite.
    pub program: &'static str,
    /// Its kernels in order of first launch, each beside the original's.
    pub kernels: &'static [Kernel],
    /// Kernels of the original that ours does not have, and why.
    pub missing: &'static [&'static str],
    /// Whether what its threads do depends on the order in which stores and atomics of others take effect. Outputs never do.
    pub order_dependent: bool,
    /// What its arithmetic works on, by dynamic instruction mix at small size.
    pub data: Data,
    /// The problem's dimensions at each size.
    pub dims: &'static [Dim],
    /// Whether SMs hold warps throughout a kernel at medium size.
    pub fill: Fill,
    /// Where what is said about the original's kernels comes from.
    pub known: Known,
    /// Where the shape of the launches comes from.
    pub shape_from: &'static str,
    /// Where the values of the inputs come from.
    pub values_from: &'static str,
    /// Version of the generator of its inputs: to be raised when the same size and seed give other inputs, so that results kept from before
    /// are not taken for new ones. The generators of all programs were frozen at 3; CHANGELOG.md tells what changed since.
    pub generator: u32,
    /// CUDA source text.
    pub source: &'static str,
    /// The PTX made from the source, with its line table.
    pub ptx: &'static str,
}

impl Info {
    pub fn kernel(&self, name: &str) -> Option<&'static Kernel> {
        self.kernels.iter().find(|kernel| kernel.name == name)
    }
}

/// What arithmetic works on: the share of floating-point operations among all arithmetic that is executed, integer additions for
/// addresses included, is less than a tenth (integer), less than a quarter (mixed), or more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Data {
    Integer,
    Mixed,
    Float,
}

impl Data {
    /// Kinds of operation that are arithmetic with integers, by their names in the counters `ops.NAME.count`.
    pub const INTEGER: &[&str] =
        &["int_add", "int_mul", "int_wide", "shift", "logic", "min_max", "compare", "bit_count", "dot"];
    /// Kinds of operation that are arithmetic in floating point, special functions aside.
    pub const FLOAT: &[&str] = &["fp16", "fp32_add", "fp32_mul", "fp64"];
    /// Special functions, which are arithmetic in floating point too.
    pub const SPECIAL: &[&str] = &["reciprocal", "root", "exponential", "logarithm", "sine"];

    pub fn name(self) -> &'static str {
        match self {
            Data::Integer => "int",
            Data::Mixed => "mixed",
            Data::Float => "float",
        }
    }

    /// The class of a program by its counts of floating-point and integer operations.
    pub fn of_mix(float: u64, integer: u64) -> Data {
        match float as f64 / ((float + integer) as f64).max(1.0) {
            share if share < 0.1 => Data::Integer,
            share if share < 0.25 => Data::Mixed,
            _ => Data::Float,
        }
    }
}

/// How the kernels of an original program, their blocks and launches, are known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Known {
    /// Read in a public copy of its source.
    Read,
    /// Recalled from its public source, and not looked up.
    Recalled,
}

impl Known {
    pub fn text(self) -> &'static str {
        match self {
            Known::Read => "read in a public copy of the original's source",
            Known::Recalled => "recalled from the original's public source, not looked up",
        }
    }
}

/// Whether the SMs hold warps in at least nine tenths of the cycles from the first block's start to the last one's end, over all
/// kernels at medium size on a GTX 480.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fill {
    Full,
    /// They do not, and why.
    Partial(&'static str),
}

impl Fill {
    /// The share of cycles with warps from which on a GPU is full.
    pub const LEAST: f64 = 0.9;
}

/// A kernel of a workload, beside the kernel of the original that it mirrors. Registers and shared memory of ours are what the compiler
/// makes of its PTX, so they are not written down here.
#[derive(Debug)]
pub struct Kernel {
    pub name: &'static str,
    /// Threads of a block.
    pub block: [u32; 3],
    /// How often it is launched.
    pub launches: &'static str,
    pub original: Option<Original>,
}

/// A kernel of the original program. What the literature does not say is `None`.
#[derive(Debug)]
pub struct Original {
    pub name: &'static str,
    pub block: Option<[u32; 3]>,
    /// How often it is launched.
    pub launches: &'static str,
    pub registers: Option<u32>,
    pub shared_bytes: Option<u32>,
}

impl Kernel {
    /// A kernel that mirrors `original`, with the original's block and launches until [`Kernel::but`] says otherwise.
    pub(crate) const fn after(
        name: &'static str,
        original: &'static str,
        block: [u32; 3],
        launches: &'static str,
    ) -> Kernel {
        let original =
            Original { name: original, block: Some(block), launches, registers: None, shared_bytes: None };
        Kernel { name, block, launches, original: Some(original) }
    }

    /// Our block and launches, where they differ from the original's.
    pub(crate) const fn but(mut self, block: [u32; 3], launches: &'static str) -> Kernel {
        self.block = block;
        self.launches = launches;
        self
    }

    /// The original's block depends on the device, or the literature does not say what it is.
    pub(crate) const fn block_unknown(mut self) -> Kernel {
        if let Some(original) = &mut self.original {
            original.block = None;
        }
        self
    }

    /// Shared memory of a block of the original, in bytes.
    pub(crate) const fn shared(mut self, bytes: u32) -> Kernel {
        if let Some(original) = &mut self.original {
            original.shared_bytes = Some(bytes);
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_follow_the_mix() {
        assert_eq!(Data::of_mix(0, 0), Data::Integer);
        assert_eq!(Data::of_mix(9, 91), Data::Integer);
        assert_eq!(Data::of_mix(10, 90), Data::Mixed);
        assert_eq!(Data::of_mix(24, 76), Data::Mixed);
        assert_eq!(Data::of_mix(25, 75), Data::Float);
    }
}
