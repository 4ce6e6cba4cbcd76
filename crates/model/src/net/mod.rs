// SPDX-License-Identifier: MIT OR Apache-2.0
//! The network between SMs and memory partitions.

mod packet;

pub use packet::{Client, Kind, LINE_BYTES, Packet};
