// SPDX-License-Identifier: MIT OR Apache-2.0
//! The `warpwatt` command. All of it is in the library beside it.

use std::process::ExitCode;

#[global_allocator]
static HEAP: warpwatt_cli::heap::Heap = warpwatt_cli::heap::Heap;

fn main() -> ExitCode {
    warpwatt_cli::main()
}
