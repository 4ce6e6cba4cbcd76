// SPDX-License-Identifier: MIT OR Apache-2.0
//! Libraries that stand in for NVIDIA's: one shared object with the CUDA driver API (`libcuda.so.1`) and the runtime API
//! (`libcudart.so.11.0`, `.12` and `.13`), so that both share one simulated device.
//!
//! `core` is what the two have in common, in Rust's terms; `driver` and `rt` translate from and to C and do nothing else.

pub mod abi;
pub mod core;
pub mod driver;
pub mod fatbin;
pub mod rt;
pub mod session;
