// SPDX-License-Identifier: MIT OR Apache-2.0
//! The device's memory: one reserved region at a fixed guest address, and the allocations that live in it.
//!
//! Every byte a kernel may touch in global memory belongs to exactly one live [`Allocation`]; checks are exact to the byte that was asked for.
//! The order of allocations alone decides their addresses, so that a program sees the same pointers in every run.

mod allocator;
mod device;
mod region;
pub mod texture;

pub use allocator::{Allocation, Nearest, Relation};
pub use device::{DeviceMemory, MemoryError};

/// Guest address of the first byte of device memory. The same in every process, whatever the host's layout.
pub const BASE: u64 = 0x100_0000_0000;
/// Allocations start at multiples of this, as the CUDA driver's do.
pub const ALIGNMENT: u64 = 256;
/// Capacity of [`DeviceMemory::default`].
pub const DEFAULT_CAPACITY: u64 = 4 << 30;
/// What kernels may take with `malloc` unless the limit is changed, as in CUDA.
pub const DEFAULT_HEAP: u64 = 8 << 20;
