// SPDX-License-Identifier: MIT OR Apache-2.0
//! A memory instruction as it is handed over at issue, and the transactions it is made of.
//!
//! Lanes' addresses are known at issue and nowhere later, so transactions are worked out then, before the instruction has its turn.

use warpwatt_exec::AccessKind;
use warpwatt_exec::stepping::Lanes;
use warpwatt_isa::{CacheOp, Space};

use crate::address;
use crate::net::LINE_BYTES;

use super::coalesce::{self, Line, Offsets};
use super::flight::FlightId;
use super::l1d::Op;
use super::rows::{Row, list_rows};
use super::shared::{Passes, Shared};

/// What an instruction does to memory. One that is none of those that access memory loads.
pub use super::super::decode::Effect as JobKind;

/// An instruction for the memory unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Job {
    /// The issuer's own handle, which comes back when the instruction is done.
    pub token: u32,
    /// Slot of its warp.
    pub warp: u8,
    /// Active lanes.
    pub lanes: u8,
    pub kind: JobKind,
    pub cache: CacheOp,
    /// Cycle in which its operands are there.
    pub ready: u64,
    pub issued: u64,
}

/// What only some instructions need to know of their warp.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Origin {
    /// Where the warp's local memory starts.
    pub local_base: u64,
    /// The first row of shared memory that its block has.
    pub shared_row: u32,
    /// Number of its kernel, for constants.
    pub kernel: u32,
}

impl Default for Job {
    fn default() -> Job {
        let (kind, cache) = (JobKind::Load, CacheOp::Default);
        Job { token: 0, warp: 0, lanes: 0, kind, cache, ready: 0, issued: 0 }
    }
}

impl Job {
    /// Whether an instruction waits for the value.
    #[inline(always)]
    pub fn is_load(&self) -> bool {
        !matches!(self.kind, JobKind::Store | JobKind::Reduction)
    }

    #[inline(always)]
    pub fn access_kind(&self) -> AccessKind {
        match self.kind {
            JobKind::Store => AccessKind::Store,
            JobKind::Atomic | JobKind::Reduction => AccessKind::Atomic,
            _ => AccessKind::Load,
        }
    }

    /// What its transactions do to global memory; `cached` if loads may be.
    #[inline(always)]
    pub fn global_op(&self, cached: bool) -> Op {
        match self.kind {
            JobKind::Store => Op::Store,
            JobKind::Atomic => Op::Atomic,
            JobKind::Reduction => Op::Reduction,
            _ => match self.cache {
                CacheOp::Cg | CacheOp::Cv => Op::Bypass,
                _ if cached => Op::Load,
                _ => Op::Bypass,
            },
        }
    }
}

/// What serves transactions, one a cycle each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    Shared,
    L1d,
    Constant,
    Texture,
}

/// A run of transactions of one kind.
#[derive(Clone, Copy, Debug, Default)]
pub enum Part {
    /// No lane accesses anything.
    #[default]
    Nothing,
    Shared {
        kind: AccessKind,
        passes: Passes,
        /// From which to before which of the instruction's rows; none without techniques.
        rows: (u32, u32),
    },
    /// Lines up to before an index into those of the entry.
    Global {
        op: Op,
        end: u32,
    },
    /// A load of all words of a line, which is the only transaction. Where no technique acts; otherwise the entry is [unpacked](Entry::unpack).
    Line {
        address: u64,
    },
    Constant {
        end: u32,
    },
    Texture {
        end: u32,
    },
}

impl Part {
    #[inline(always)]
    pub fn unit(&self) -> Unit {
        match self {
            Part::Shared { .. } => Unit::Shared,
            Part::Nothing | Part::Global { .. } | Part::Line { .. } => Unit::L1d,
            Part::Constant { .. } => Unit::Constant,
            Part::Texture { .. } => Unit::Texture,
        }
    }
}

/// An instruction with its transactions. Entries are used again and keep their vectors, which are empty again when its last transaction is made.
#[derive(Default)]
pub struct Entry {
    pub job: Job,
    /// Filled in where it may be needed.
    pub origin: Origin,
    /// [`FlightId::NONE`] as long as it has none: one that makes a single transaction gets one if that has to wait, and not for a line of L1.
    pub flight: FlightId,
    /// Almost all instructions have one part.
    pub first: Part,
    pub others: Vec<Part>,
    pub lines: Vec<Line>,
    /// Rows of shared memory, where they have to be listed.
    pub rows: Vec<Row>,
    /// How many transactions there are: a line each, or an access to shared memory.
    pub transactions: u32,
    /// Lines of global and local memory among them, and those that L2 will acknowledge.
    pub touched: u32,
    pub acknowledged: u32,
}

impl Entry {
    /// Starts anew, for another instruction.
    #[inline(always)]
    pub fn reset(&mut self) {
        debug_assert!(self.others.is_empty() && self.lines.is_empty() && self.rows.is_empty());
        self.first = Part::Nothing;
        (self.transactions, self.touched, self.acknowledged) = (0, 0, 0);
        if self.lines.capacity() == 0 {
            self.make_lines();
        }
    }

    /// As many as lanes that each move one word: almost always enough.
    #[cold]
    #[inline(never)]
    fn make_lines(&mut self) {
        self.lines.reserve_exact(32);
    }

    /// Has its transactions in the lists of the entry, where it is worked on like any other.
    #[inline(always)]
    pub fn unpack(&mut self) {
        if let Part::Line { address } = self.first {
            self.lines.push(Line::whole(address));
            self.first = Part::Global { op: Op::Load, end: 1 };
        }
    }

    /// All transactions have been made.
    #[inline(always)]
    pub fn clear(&mut self) {
        self.others.clear();
        self.lines.clear();
        self.rows.clear();
    }

    #[inline(always)]
    fn push_part(&mut self, part: impl Fn() -> Part) {
        // Made where it goes, so that the first one is not copied.
        if matches!(self.first, Part::Nothing) {
            self.first = part();
        } else {
            self.push_other(part());
        }
    }

    #[cold]
    #[inline(never)]
    fn push_other(&mut self, part: Part) {
        self.others.push(part);
    }

    /// Adds lines that were found after the first `before` as transactions with the L1 data cache.
    #[inline(always)]
    fn push_global(&mut self, op: Op, before: usize) {
        let found = (self.lines.len() - before) as u32;
        self.transactions += found;
        self.touched += found;
        if matches!(op, Op::Store | Op::Reduction) {
            self.acknowledged += found;
        }
        let end = self.lines.len() as u32;
        self.push_part(|| Part::Global { op, end });
    }

    /// Adds the transactions of lanes in one place.
    #[inline(always)]
    pub fn add_lanes(&mut self, lanes: &Lanes, offsets: &Offsets, shared: &mut Shared, cached: bool) {
        let &Lanes { space, bank, base, mask, bytes, spread, .. } = lanes;
        if mask == 0 {
            return;
        }
        let (job, lines) = (&self.job, &mut self.lines);
        let before = lines.len();
        match space {
            Space::Shared => {
                let kind = job.access_kind();
                let passes = shared.passes(kind, offsets, mask, bytes, spread);
                let seen = shared.data.has_sites();
                let rows = if seen { list_rows(offsets, mask, bytes, &mut self.rows) } else { (0, 0) };
                self.push_part(|| Part::Shared { kind, passes, rows });
                self.transactions += 1;
            }
            Space::Global | Space::Generic => {
                let op = job.global_op(cached);
                if matches!(op, Op::Atomic | Op::Reduction) {
                    coalesce::global_atomic(base, offsets, mask, bytes, shared.bit_instructions, lines);
                } else {
                    coalesce::global(base, offsets, mask, bytes, spread, shared.bit_instructions, lines);
                }
                self.push_global(op, before);
            }
            Space::Local => {
                coalesce::local(self.origin.local_base, offsets, mask, bytes, lines);
                // Nobody else can reach local memory, so that an atomic is no more than a load or a store.
                self.push_global(if self.job.is_load() { Op::Load } else { Op::LocalStore }, before);
            }
            Space::Const => {
                coalesce::constant(
                    address::constant(self.origin.kernel, bank, 0),
                    offsets,
                    mask,
                    bytes,
                    lines,
                );
                let end = lines.len() as u32;
                self.transactions += end - before as u32;
                self.push_part(|| Part::Constant { end });
            }
        }
    }

    /// Adds the lines of 128 bytes that a texture access touches, as lines of the texture cache.
    pub fn add_texture(&mut self, lines: &[u64], line_bytes: u64) {
        if lines.is_empty() {
            return;
        }
        for &line in lines {
            let parts = (line..line + LINE_BYTES).step_by(line_bytes as usize);
            self.lines.extend(parts.map(Line::whole));
        }
        self.transactions += self.lines.len() as u32;
        let end = self.lines.len() as u32;
        self.push_part(|| Part::Texture { end });
    }

    /// Adds the lines that a surface access touches. Texels are spread evenly over them, a word each.
    pub fn add_surface(&mut self, lines: &[u64], texels: u32, cached: bool) {
        if lines.is_empty() {
            return;
        }
        let each = texels.div_ceil(lines.len() as u32).clamp(1, 32);
        let words = u32::MAX >> (32 - each);
        self.lines.extend(lines.iter().map(|&address| Line { address, words, rounds: 1 }));
        self.push_global(self.job.global_op(cached), 0);
    }
}
