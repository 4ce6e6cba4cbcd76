// SPDX-License-Identifier: MIT OR Apache-2.0
//! Blocks of memory and their codecs: what the papers print, optimal code lengths, round trips of anything, and what happens to garbled bits.

mod examples;
mod inputs;
mod lengths;
mod plain;
mod profile;
mod round_trip;
