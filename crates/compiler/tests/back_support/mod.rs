// SPDX-License-Identifier: MIT OR Apache-2.0
//! Shared by the back end's tests: random SSA functions and two plain one-thread interpreters, of SSA and of micro-ops, to compare.

pub mod generator;
pub mod scalar;
