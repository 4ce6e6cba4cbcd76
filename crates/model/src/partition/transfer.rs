// SPDX-License-Identifier: MIT OR Apache-2.0
//! What goes to a memory channel and comes back.

use super::banks::Direction;
use super::queue::Handle;

/// A line that the L2 slice wants to have moved.
#[derive(Clone, Copy, Debug)]
pub struct Transfer {
    pub line: u64,
    pub bank: usize,
    pub row: u64,
    pub direction: Direction,
    /// Accesses it takes.
    pub accesses: u32,
    /// Clock in which it was asked for.
    pub asked: u64,
    pub tag: u32,
}

/// A transfer by its place in the channel's queue, and the clock in which it reaches the channel.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    pub at: u64,
    pub place: Handle,
}

/// A line that was read.
#[derive(Clone, Copy, Debug)]
pub struct Returned {
    /// Cycle in which the L2 slice has it.
    pub at: u64,
    /// Command clock in which its data end.
    pub done: u64,
    pub tag: u32,
    pub channel: usize,
    /// It comes from the write queue.
    pub forwarded: bool,
}

/// Tags from this one on are of lines that stay in the controller. They take no place in the queue to the L2 slice.
pub const INTERNAL: u32 = 1 << 31;
