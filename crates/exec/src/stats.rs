// SPDX-License-Identifier: MIT OR Apache-2.0
//! Counts of a grid's execution.

/// How a run ended that did not fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Ending {
    #[default]
    Finished,
    /// One of the instruction limits of the options was reached.
    LimitReached,
    /// No warp ended for as long as the watchdog allows.
    Endless,
    Interrupted,
}

/// Issues of one micro-op.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PcCount {
    /// Times a warp issued it.
    pub issues: u64,
    /// Lanes that executed it, over all issues: those whose guard held; for branches all active ones.
    pub lanes: u64,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct GridStats {
    pub ending: Ending,
    pub warp_instructions: u64,
    pub thread_instructions: u64,
    /// Per micro-op of the program.
    pub per_pc: Vec<PcCount>,
    /// Times a barrier of a block opened.
    pub barriers: u64,
    /// Branches, indirect jumps and indirect calls that made a warp diverge.
    pub divergent_branches: u64,
    pub ctas_finished: u64,
    pub ctas: u64,
    pub warps: u64,
    /// Blocks alive at once.
    pub resident_ctas: u64,
}
