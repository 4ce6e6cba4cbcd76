// SPDX-License-Identifier: MIT OR Apache-2.0
//! The CUDA runtime API (`libcudart.so.11.0`, `.12`, `.13`): what C and C++ programs call, under the symbol versions that they ask
//! for.
//!
//! A function here checks what it was given, translates it, calls [`crate::core`], and translates the answer back. `api` is how
//! functions are declared; `registry` knows what compilers' start-up code registers; `absent` has the names that are not implemented.
//! NVIDIA describes the functions in the CUDA Runtime API reference manual.

// Functions are called what C calls them; what their callers must vouch for is in NVIDIA's manual.
#![allow(non_snake_case, clippy::missing_safety_doc, clippy::too_many_arguments)]

pub mod absent;
pub mod api;
pub mod array;
pub mod copy;
pub mod copy_array;
pub mod copy_batch;
pub mod device;
pub mod error;
pub mod event;
pub mod fill;
pub mod function;
pub mod graph;
pub mod graph_exec;
pub mod graph_nodes;
pub mod launch;
pub mod library;
pub mod managed;
pub mod memory;
pub mod peer;
pub mod pool;
pub mod register;
pub mod registry;
pub mod stream;
pub mod symbol;
pub mod texture;
pub mod texture_reference;

use crate::core::{Code, Core, Result};

/// Does something with the device. As with NVIDIA's runtime, a thread without a context gets the primary one.
pub(crate) fn with<R>(call: impl FnOnce(&mut Core) -> Result<R>) -> Result<R> {
    crate::driver::context::enter_primary()?;
    crate::core::with(call)
}

/// The outcome of a function of the driver API, where it does what the runtime's does.
pub(crate) fn pass(code: i32) -> Result<()> {
    if code == 0 { Ok(()) } else { Err(Code(code)) }
}

/// There is one device, number 0.
pub(crate) fn check_device(device: i32) -> Result<()> {
    if device == 0 { Ok(()) } else { Err(Code::INVALID_DEVICE) }
}
