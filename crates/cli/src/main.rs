// SPDX-License-Identifier: MIT OR Apache-2.0
//! The `warpwatt` command. All of it is in the library beside it.

use std::process::ExitCode;

/// Compiling kernels, reading descriptions and building records take many small allocations, which cost a fraction of what the C library's do.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    warpwatt_cli::main()
}
