// SPDX-License-Identifier: MIT OR Apache-2.0
//! The machine by its behaviour, on programs built by hand.

mod common;
mod divergence;
mod graphs;
mod memory;
mod progress;
mod stepping;
mod system;
mod timed;
mod turns;
