// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why a scheduler did not issue. The order is the one in which conditions are looked at: the first unmet one is charged.

/// A condition that kept a scheduler's first warp from issuing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Stall {
    /// The scheduler has no warp.
    Empty,
    /// Waits at a barrier, or for other lanes of its warp.
    Barrier,
    /// A fence waits for stores.
    Fence,
    /// Waits for memory to take up atomics or a system call.
    Merge,
    /// The next instruction has not been fetched.
    Fetch,
    /// A constant operand is not in the constant cache.
    Constant,
    /// A value that memory has not sent yet.
    Memory,
    /// A value that is being computed.
    Dependency,
    /// No operand collector is free, or the load/store queue is full.
    Unit,
}

impl Stall {
    pub const COUNT: usize = 9;
    pub const ALL: [Stall; Stall::COUNT] = [
        Stall::Empty,
        Stall::Barrier,
        Stall::Fence,
        Stall::Merge,
        Stall::Fetch,
        Stall::Constant,
        Stall::Memory,
        Stall::Dependency,
        Stall::Unit,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Stall::Empty => "empty",
            Stall::Barrier => "barrier",
            Stall::Fence => "fence",
            Stall::Merge => "merge",
            Stall::Fetch => "fetch",
            Stall::Constant => "constant",
            Stall::Memory => "memory",
            Stall::Dependency => "dependency",
            Stall::Unit => "unit",
        }
    }
}

/// Scheduler cycles by reason.
pub type Stalls = [u64; Stall::COUNT];
