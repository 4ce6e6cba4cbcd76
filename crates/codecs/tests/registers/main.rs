// SPDX-License-Identifier: MIT OR Apache-2.0
//! Warp registers and their codecs: what the paper prints, every boundary, and round trips of anything.

mod boundaries;
mod inputs;
mod narrow;
mod plain;
mod round_trip;
mod similarity;
mod table;
