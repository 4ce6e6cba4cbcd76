// SPDX-License-Identifier: MIT OR Apache-2.0
//! The network between SMs and memory partitions.

mod counters;
mod lane;
mod mesh;
mod packet;
mod port;
#[cfg(test)]
mod tests;
mod timing;

pub use counters::{ReplyCounters, RequestCounters, Traffic};
pub use mesh::{Mesh, Way};
pub use packet::{Client, Kind, LINE_BYTES, Packet};
pub use port::{Inbox, Outbox, exchange};
