// SPDX-License-Identifier: MIT OR Apache-2.0
//! From a PTX syntax tree to a [`warpwatt_isa::Program`].
//!
//! `front` lowers PTX to SSA, `opt` cleans it up, `back` legalises, schedules, allocates registers (with an independent checker) and emits micro-ops.

pub mod cfg;
pub mod ir;
pub mod opt;
pub mod print;
