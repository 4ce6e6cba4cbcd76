// SPDX-License-Identifier: MIT OR Apache-2.0
//! The built-in workloads: our own CUDA programs after well-known benchmarks, with the PTX made from them,
//! seeded inputs and CPU references.
//!
//! One file a workload: its sizes, its inputs, its host program and its reference. The CUDA source is in
//! `cuda/`, the PTX that `tools/build-ptx.py` makes of it in `ptx/`; both are embedded. A run uploads the
//! inputs, launches the kernels as the original's host program does, and compares what comes back with the
//! reference; most programs are checked to the bit.

mod backprop;
mod bfs;
mod check;
mod fused;
mod gaussian;
mod histo;
mod hotspot;
mod job;
mod kmeans;
mod lib_swaptions;
mod nw;
mod pathfinder;
mod reduction;
mod rng;
mod scan;
mod sgemm;
mod size;
mod transpose;
mod vecadd;

pub use check::{Check, Mismatch};
pub use size::{Dim, Size, UnknownSize};
use warpwatt_runtime::{Device, Error};

/// Version of the input generators: to be raised when the same size and seed give other inputs, so that results kept from before are
/// not taken for new ones.
pub const GENERATOR: u32 = 1;

/// What there is to know about a workload without running it.
#[derive(Debug)]
pub struct Info {
    pub name: &'static str,
    /// One line: what it computes.
    pub about: &'static str,
    pub domain: &'static str,
    /// The benchmark suite whose program of this kind it mirrors.
    pub suite: &'static str,
    /// Its kernels, in order of first launch.
    pub kernels: &'static [&'static str],
    /// Whether its outputs depend on the order in which atomics take effect.
    pub order_dependent: bool,
    /// The problem's dimensions at each size.
    pub dims: &'static [Dim],
    /// CUDA source text.
    pub source: &'static str,
    /// The PTX made from the source, with its line table.
    pub ptx: &'static str,
}

/// A program with inputs and a known answer.
pub trait Workload: Sync {
    fn info(&self) -> &'static Info;

    /// Runs the workload on `dev` with the kernels of `ptx` (normally [`Workload::ptx`]) and checks its outputs.
    fn run(&self, dev: &mut Device, ptx: &str, size: Size, seed: u64) -> Result<Check, Error>;

    fn ptx(&self) -> &'static str {
        self.info().ptx
    }

    fn source(&self) -> &'static str {
        self.info().source
    }
}

static ALL: [&dyn Workload; 14] = [
    &vecadd::Vecadd,
    &sgemm::Sgemm,
    &reduction::Reduction,
    &scan::Scan,
    &transpose::Transpose,
    &pathfinder::Pathfinder,
    &bfs::Bfs,
    &hotspot::Hotspot,
    &backprop::Backprop,
    &nw::Nw,
    &kmeans::Kmeans,
    &histo::Histo,
    &gaussian::Gaussian,
    &lib_swaptions::Lib,
];

/// All workloads, in the order in which lists show them.
pub fn all() -> &'static [&'static dyn Workload] {
    &ALL
}

/// The workload of that name.
pub fn find(name: &str) -> Option<&'static dyn Workload> {
    ALL.iter().copied().find(|workload| workload.info().name == name)
}
