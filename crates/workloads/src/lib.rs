// SPDX-License-Identifier: MIT OR Apache-2.0
//! The built-in workloads: our own CUDA programs after well-known benchmarks, with the PTX made from them,
//! seeded inputs and CPU references.
//!
//! One file a workload: its entry in the table, its sizes, its inputs, its host program and its reference. `table` says what an entry
//! holds. The CUDA source is in `cuda/`, the PTX that `tools/build-ptx.py` makes of it in `ptx/`; both are embedded. A run uploads the
//! inputs, launches the kernels as the original's host program does, and compares what comes back with the
//! reference; most programs are checked to the bit.

mod aes;
mod alexnet;
mod backprop;
mod bfs;
mod bfs_ispass;
mod blackscholes;
mod btree;
mod cfd;
mod check;
mod cifarnet;
mod compact;
mod convsep;
mod cp;
mod cutcp;
mod dct8x8;
mod dwt2d;
mod exponential;
mod fastwalsh;
mod fused;
mod gaussian;
mod heartwall;
mod histo;
mod hotspot;
mod hotspot3d;
mod images;
mod job;
mod kmeans;
mod kmeans_texture;
mod lavamd;
mod layers;
mod lbm;
mod leukocyte;
mod lib_swaptions;
mod lonestar;
mod lps;
mod lud;
mod mars;
mod matrixmul;
mod md;
mod montecarlo;
mod mri_gridding;
mod mri_q;
mod mummergpu;
mod neural;
mod nn;
mod nqu;
mod nw;
mod particlefilter;
mod pathfinder;
mod ray;
mod recurrent;
mod reduction;
mod rng;
mod sad;
mod scan;
mod sgemm;
mod simpletexture;
mod size;
mod sort;
mod sortnetworks;
mod spmv_csr;
mod spmv_jds;
mod srad_v1;
mod srad_v2;
mod stencil;
mod sto;
mod streamcluster;
mod table;
mod tpacf;
mod transpose;
mod triad;
mod vecadd;
mod wide;

pub use check::{Check, Mismatch};
pub use size::{Dim, Size, UnknownSize};
pub use table::{Data, Fill, Info, Kernel, Known, Original};
use warpwatt_runtime::{Device, Error};

/// What NVIDIA's assembler makes of each kernel, as TOML: registers, spills, instructions.
pub const PTXAS: &str = include_str!("../reference/ptxas.toml");

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
    &dwt2d::Dwt2d,
    &sad::Sad,
    &ray::Ray,
    &btree::Btree,
    &blackscholes::Blackscholes,
    &fastwalsh::Fastwalsh,
    &alexnet::Alexnet,
    &cifarnet::Cifarnet,
    &recurrent::Gru,
    &recurrent::Lstm,
    &cutcp::Cutcp,
    &lbm::Lbm,
    &mri_gridding::MriGridding,
    &tpacf::Tpacf,
    &cfd::Cfd,
    &kmeans_texture::KmeansTexture,
    &lavamd::Lavamd,
    &leukocyte::Leukocyte,
    &particlefilter::Particlefilter,
    &srad_v2::SradV2,
    &streamcluster::Streamcluster,
    &simpletexture::Simpletexture,
    &convsep::Convsep,
    &compact::Compact,
    &mars::PageViewCount,
    &mars::PageViewRank,
    &heartwall::Heartwall,
    &mummergpu::Mummergpu,
    &lonestar::BfsLonestar,
    &lonestar::Sssp,
    &spmv_csr::SpmvCsr,
    &nn::Nn,
    &hotspot3d::Hotspot3d,
    &matrixmul::Matrixmul,
    &dct8x8::Dct8x8,
    &sortnetworks::Sortnetworks,
    &montecarlo::Montecarlo,
    &triad::Triad,
    &sort::Sort,
    &md::Md,
];

/// All workloads, in the order in which lists show them.
pub fn all() -> &'static [&'static dyn Workload] {
    ALL
}

/// The workload of that name.
pub fn find(name: &str) -> Option<&'static dyn Workload> {
    ALL.iter().copied().find(|workload| workload.info().name == name)
}
