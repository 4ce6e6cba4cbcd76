// SPDX-License-Identifier: MIT OR Apache-2.0
//! The device's memory: one reserved region at a fixed guest address, and the allocations that live in it.
//!
//! Every byte a kernel may touch in global memory belongs to exactly one live [`Allocation`]; checks are exact to the requested byte,
//! but for loads from the rest of the last page of a large one ([`Bounds`]).
//! The order of allocations alone decides their addresses, so that a program sees the same pointers in every run.

mod allocator;
mod bounds;
mod device;
mod live;
pub mod monitor;
mod region;
pub mod texture;

pub use allocator::{Allocation, Nearest, Relation};
pub use bounds::{Bounds, Stray};
pub use device::{DeviceMemory, HeapOrigin, MemoryError};

/// Guest address of the first byte of device memory. The same in every process, whatever the host's layout.
pub const BASE: u64 = 0x100_0000_0000;
/// Allocations start at multiples of this, as the CUDA driver's do.
pub const ALIGNMENT: u64 = 256;
/// Allocations of at least [`LARGE`] bytes start at multiples of this and take whole ones of it, as the CUDA driver's do.
pub const PAGE: u64 = 4096;
pub const LARGE: u64 = 1 << 20;
/// Capacity of [`DeviceMemory::default`].
pub const DEFAULT_CAPACITY: u64 = 4 << 30;
/// What kernels may take with `malloc` unless the limit is changed, as in CUDA.
pub const DEFAULT_HEAP: u64 = 8 << 20;
