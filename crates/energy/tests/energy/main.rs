// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the energy model promises: parts add up, every coefficient counts, papers' numbers are the papers'.

mod attribution;
mod coefficients;
mod design;
mod errors;
mod papers;
mod sram;
mod sums;
mod support;
