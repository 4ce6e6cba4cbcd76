// SPDX-License-Identifier: MIT OR Apache-2.0
//! The site of techniques at data arrays: of the L1 data, constant, texture and instruction caches, of the L2 slices, and of shared memory.

use super::LineId;
use warpwatt_base::counters::CounterSet;

/// Which data array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Array {
    L1d,
    Constant,
    Texture,
    Instruction,
    Shared,
    /// Of an L2 slice; its time is counted in L2 clocks, that of all others in core cycles.
    L2,
}

/// How large a data array is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ArrayShape {
    /// Lines, or rows of shared memory.
    pub frames: u32,
    /// Lines of a set, which lie side by side: a frame is its set times these and its way. One for shared memory.
    pub ways: u32,
    pub line_bytes: u32,
}

/// What an access does to the array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Use {
    Read,
    Write,
    /// The read of an atomic operation, whose write follows in the same cycle.
    Modify,
    /// A line comes from the next level.
    Fill,
    /// A dirty line is read to be written back to the next level, because it is evicted or a kernel starts.
    WriteBack,
}

/// A part of an access: one line of a cache, or one row of shared memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RowAccess {
    pub frame: LineId,
    /// The line of memory that the frame holds, as the tags have it; for shared memory the row.
    pub line: u64,
    /// Words of 4 bytes that are read or written, a bit each.
    pub words: u32,
}

/// One access to a data array.
#[derive(Clone, Copy, Debug)]
pub struct ArrayAccess<'a> {
    /// Cycle, or L2 clock.
    pub now: u64,
    pub usage: Use,
    /// Active lanes of its instruction; 32 for fills, write-backs and instruction fetches.
    pub lanes: u8,
    /// One for caches, one or more for shared memory. An access that takes several cycles touches all of them in its first.
    pub rows: &'a [RowAccess],
}

/// What a technique does at one data array. All methods have defaults that do nothing.
///
/// An atomic operation is a [`Use::Modify`] and then a [`Use::Write`], both in the same cycle.
pub trait DataArraySite: Send {
    /// Cycles (L2: clocks) that an access has to wait until the array can serve it. Delays of several techniques overlap. Stores and
    /// write-backs are reported, but nothing waits for them; after a fill that waits, reads of its line wait at least as long.
    fn access(&mut self, _access: &ArrayAccess) -> u64 {
        0
    }

    /// A load of a line that is being fetched into the array. It is served together with the line, without an access of its own; caches of SMs
    /// charge it like one. `frame` is where the line will be, if it has a place already.
    fn merged(&mut self, _now: u64, _lanes: u8, _words: u32, _frame: Option<LineId>) {}

    /// Brings counters of time up to date, to before `now`. Since the last time the array was busy or not: its SM had warps or had none; for L2, a
    /// kernel was under way or none was. Accesses of the texture cache that are later may have been reported: they are
    /// booked for the cycle in which they leave the fragment queue.
    fn settle(&mut self, _now: u64, _busy: bool) {}

    /// The array has another shape from `now` on, and holds nothing: the on-chip memory of the SM was divided anew for a kernel. Numbers of frames
    /// before and after it are unrelated.
    fn resize(&mut self, _now: u64, _shape: ArrayShape) {}

    /// The first cycle by which a frame may have lost what it held, if it is not used before: [`DataArraySite::lost`] is not called earlier. Told
    /// whenever something happened here.
    fn loses_from(&self) -> u64 {
        u64::MAX
    }

    /// Adds the frames that lost what they held before `now`, since the last call: their lines are invalidated, and dirty ones are
    /// written to the next level. Called before every access and fill, unless it is too early for any loss.
    fn lost(&mut self, _now: u64, _lost: &mut Vec<LineId>) {}

    /// What it counted here.
    fn counters(&self) -> Box<dyn CounterSet>;

    /// What is wrong with what the array returned, if anything is.
    fn corrupted(&self) -> Option<String> {
        None
    }

    /// A stored bit was to be flipped, and nothing has been read that has one.
    fn fault_is_pending(&self) -> bool {
        false
    }
}
