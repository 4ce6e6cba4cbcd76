// SPDX-License-Identifier: MIT OR Apache-2.0
//! From a PTX syntax tree to a [`warpwatt_isa::Program`].
//!
//! `front` lowers PTX to SSA, `opt` cleans it up, `back` legalises, schedules, allocates registers (with an independent checker) and emits micro-ops.

/// The generators of the integration tests serve unit tests too, under the crate's own name.
#[cfg(test)]
extern crate self as warpwatt_compiler;

pub mod back;
pub mod cfg;
mod compile;
pub mod front;
pub mod ir;
pub mod opt;
pub mod print;
pub mod verify;

pub use compile::{Compiled, DEFAULT_STACK_LIMIT, Options, Stages, compile};
