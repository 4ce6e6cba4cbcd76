// SPDX-License-Identifier: MIT OR Apache-2.0
//! The site of techniques at memory controllers: every line that moves between L2 and DRAM, and every line that the host copies or fills.
//!
//! A line comes with its bytes as device memory has them in the current epoch. Stores of the epoch are merged between epochs, so the bytes
//! are the same for any number of threads. Device memory runs ahead of DRAM: a store is in it since its instruction issued, a write-back
//! comes later. So what DRAM holds of a line is what it was written back or copied with, never what a later read finds in device memory.
//! A technique that needs it keeps it.
//!
//! Lines of local memory, of constant banks and of code have no bytes here: local memory belongs to warps while they run, and code has no
//! binary form. Such lines move as they are. (Constant bank 3 is a view of device memory, but its cache lines are addressed by bank.)

use warpwatt_base::counters::CounterSet;

use crate::net::LINE_BYTES;

/// The bytes of a line.
pub type LineBytes = [u8; LINE_BYTES as usize];

/// Why a line moves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// From DRAM to L2.
    Fill,
    /// From L2 to DRAM.
    WriteBack,
    /// The host writes it: a copy to the device, a fill, a copy on the device.
    HostWrite,
    /// The host reads it.
    HostRead,
}

/// A line that moves.
#[derive(Clone, Copy, Debug)]
pub struct Transfer<'a> {
    /// Core cycle.
    pub now: u64,
    pub way: Way,
    /// Address of its first byte.
    pub address: u64,
    /// Its number among the lines of this controller.
    pub line: u64,
    /// What device memory holds there; `None` for lines that are not in a live allocation.
    pub bytes: Option<&'a LineBytes>,
}

/// How it moves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TransferPlan {
    /// Bytes on the memory bus, rounded up to whole accesses.
    pub bytes: u32,
    /// Core cycles between the last data of a fill and the L2 slice, on top of the usual ones.
    pub cycles: u32,
    /// Core cycles between L2 and the queue of the memory for a write-back.
    pub wait: u32,
    /// What is to be known about the line before it is read, and is kept in memory too.
    pub metadata: Option<Metadata>,
}

impl TransferPlan {
    /// A whole line, without further ado.
    pub const WHOLE: TransferPlan =
        TransferPlan { bytes: LINE_BYTES as u32, cycles: 0, wait: 0, metadata: None };
}

/// Metadata of a line, behind a cache at the controller. A line of metadata is one access to memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Metadata {
    /// Number of the line of metadata among those of this controller.
    pub line: u64,
    /// Place of that line, as the number of a line of memory.
    pub place: u64,
    /// The cache has it not: it is read. A fill waits for it, and for one that is being read already.
    pub missing: bool,
    /// A dirty metadata line that is evicted, with its address.
    pub write_back: Option<(u64, u64)>,
}

/// What controllers tell each other, by technique.
pub type ControllerMessage = Box<dyn std::any::Any + Send>;

/// What a technique does at one memory controller. All methods have defaults that do nothing.
pub trait TransferSite: Send {
    /// A line is about to move; copies of the host take neither bursts nor cycles here, and their plan is not looked at.
    fn transfer(&mut self, _transfer: &Transfer, _plan: &mut TransferPlan) {}

    /// The data of a fill are at the controller. The L2 slice would have them in cycle `at`; the result is when it has. `forwarded`: they come from the
    /// queue of writes, not from memory.
    fn arrived(&mut self, at: u64, plan: &TransferPlan, _forwarded: bool) -> u64 {
        at + u64::from(plan.cycles)
    }

    /// A line of metadata came from the queue of writes, not from memory.
    fn metadata_forwarded(&mut self) {}

    /// How many thread instructions the GPU is to have executed when this controller tells something to all of them; `u64::MAX` for never.
    fn tells_at(&self) -> u64 {
        u64::MAX
    }

    /// What it has to tell.
    fn tell(&mut self) -> Option<ControllerMessage> {
        None
    }

    /// What all controllers tell, between two epochs.
    fn hear(&mut self, _now: u64, _told: &[ControllerMessage]) {}

    /// Brings counters of time up to date, to before `now`.
    fn settle(&mut self, _now: u64) {}

    /// What it counted here.
    fn counters(&self) -> Box<dyn CounterSet>;

    /// What is wrong with what came back, if anything was.
    fn corrupted(&self) -> Option<String> {
        None
    }

    /// A stored bit was to be flipped, and nothing was read in which it could have been.
    fn fault_is_pending(&self) -> bool {
        false
    }
}
