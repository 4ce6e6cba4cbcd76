// SPDX-License-Identifier: MIT OR Apache-2.0
//! The network between SMs and memory partitions.

mod counters;
mod mesh;
mod order;
mod packet;
mod port;
#[cfg(test)]
mod tests;
mod timing;

pub use counters::{ReplyCounters, RequestCounters, Traffic};
pub use mesh::{Mesh, Way};
pub use packet::{Client, LINE_BYTES, Packet, PacketKind};
#[cfg(test)]
pub use port::exchange_all;
pub use port::{AWAKE, Inbox, MOST_ACTORS, Outbox, exchange};
