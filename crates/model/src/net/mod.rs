// SPDX-License-Identifier: MIT OR Apache-2.0
//! The network between SMs and memory partitions.

mod counters;
mod lane;
mod mesh;
mod packet;
mod port;
mod set;
#[cfg(test)]
mod tests;
mod timing;

pub use counters::{ReplyCounters, RequestCounters, Traffic};
pub use mesh::{Mesh, Way};
pub use packet::{Client, LINE_BYTES, Packet, PacketKind};
#[cfg(test)]
pub use port::exchange_all;
pub use port::{AWAKE, Inbox, Outbox, exchange};
pub use set::MOST_ACTORS;
