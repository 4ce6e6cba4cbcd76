// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of the PTX front end as a whole, in one binary.

mod common;
mod corpus;
mod diagnostics;
mod fuzz;
mod syntax;
