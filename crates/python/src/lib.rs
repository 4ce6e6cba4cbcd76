// SPDX-License-Identifier: MIT OR Apache-2.0
//! The Python package `warpwatt`, thin over the library of the command line: what is run, how, and what is said about it are the same. Python files, stubs and
//! exceptions are in python/warpwatt; docs/python.md describes the package.

mod arguments;
mod arrow;
mod catalogue;
mod compare;
mod convert;
mod errors;
mod gpu;
mod kernel;
mod memory;
mod options;
mod record;
mod results;
mod run;
mod session;
mod slurm;
mod sweep;
mod table;
mod technology;

#[pyo3::pymodule]
mod _warpwatt {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::catalogue::{gpus, techniques, technologies, workloads};
    #[pymodule_export]
    use crate::compare::{Comparison, compare, report};
    #[pymodule_export]
    use crate::gpu::Gpu;
    #[pymodule_export]
    use crate::kernel::{Kernel, Launch, kernel};
    #[pymodule_export]
    use crate::record::{Record, load};
    #[pymodule_export]
    use crate::results::{Results, main, paper, results};
    #[pymodule_export]
    use crate::run::run;
    #[pymodule_export]
    use crate::sweep::Sweep;
    #[pymodule_export]
    use crate::table::Table;
    #[pymodule_export]
    use crate::technology::Technology;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        warpwatt_cli::front::quiet_panics();
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
