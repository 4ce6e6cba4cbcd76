// SPDX-License-Identifier: MIT OR Apache-2.0
//! The built-in workloads: our own CUDA programs after well-known benchmarks, with the PTX made from them,
//! seeded inputs and CPU references.
//!
//! One file a workload: its entry in the table, its sizes, its inputs, its host program and its reference. `table` says what an entry
//! holds. The CUDA source is in `cuda/`, the PTX that `tools/build-ptx.py` makes of it in `ptx/`; both are embedded. A run uploads the
//! inputs, launches the kernels as the original's host program does, and compares what comes back with the
//! reference; most programs are checked to the bit.

mod aes;
mod backprop;
mod bfs;
mod bfs_ispass;
mod check;
mod cp;
mod fused;
mod gaussian;
mod histo;
mod hotspot;
mod job;
mod kmeans;
mod lib_swaptions;
mod lps;
mod lud;
mod mri_q;
mod neural;
mod nqu;
mod nw;
mod pathfinder;
mod reduction;
mod rng;
mod scan;
mod sgemm;
mod size;
mod spmv_jds;
mod srad_v1;
mod stencil;
mod sto;
mod table;
mod transpose;
mod vecadd;

pub use check::{Check, Mismatch};
pub use size::{Dim, Size, UnknownSize};
pub use table::{Data, Fill, Info, Kernel, Original};
use warpwatt_runtime::{Device, Error};

/// Version of the input generators: to be raised when the same size and seed give other inputs, so that results kept from before are
/// not taken for new ones.
pub const GENERATOR: u32 = 1;

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

static ALL: &[&dyn Workload] = &[
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
    &stencil::Stencil,
    &spmv_jds::SpmvJds,
    &mri_q::MriQ,
    &cp::Cp,
    &lps::Lps,
    &lud::Lud,
    &aes::Aes,
    &bfs_ispass::BfsIspass,
    &nqu::Nqu,
    &neural::Neural,
    &sto::Sto,
    &srad_v1::SradV1,
];

/// All workloads, in the order in which lists show them.
pub fn all() -> &'static [&'static dyn Workload] {
    ALL
}

/// The workload of that name.
pub fn find(name: &str) -> Option<&'static dyn Workload> {
    ALL.iter().copied().find(|workload| workload.info().name == name)
}
