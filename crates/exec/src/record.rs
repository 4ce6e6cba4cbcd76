// SPDX-License-Identifier: MIT OR Apache-2.0
//! The memory access of an instruction, as a timed machine needs it: which lanes touched which bytes of which space.
//!
//! It is filled in only for ports that record accesses ([`crate::GlobalPort::RECORDS`]); the functional engine compiles to code without it.

use warpwatt_isa::Space;

use crate::fault::AccessKind;
use crate::texture::Trace;

/// Lanes that touch one space or allocation. Each lane's offset in it is given beside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lanes {
    /// Space of the bytes, never `Generic`.
    pub space: Space,
    /// Bank of constant memory.
    pub bank: u8,
    /// Guest address that offsets in global memory count from; 0 in the other spaces.
    pub base: u64,
    pub mask: u32,
    /// Bytes each lane moves.
    pub bytes: u32,
    pub kind: AccessKind,
}

/// The memory access of one instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Access {
    #[default]
    None,
    /// All lanes in one place; their offsets are `Stepper::offsets`.
    Lanes(Lanes),
    /// Lanes in several spaces or allocations: `Stepper::groups`.
    Mixed,
    /// A texture or surface access to `Stepper::lines`.
    Texture { texels: u32, kind: AccessKind },
}

/// Lanes of an instruction in one space or allocation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AccessGroup {
    pub lanes: Lanes,
    /// Meaningless outside of the lanes' mask.
    pub offsets: [u32; 32],
}

/// Bytes of a line, the unit of texture accesses.
pub const LINE: u64 = 128;

#[derive(Default)]
pub(crate) struct Record {
    pub access: Access,
    pub groups: Vec<AccessGroup>,
    pub texels: Texels,
}

impl Record {
    /// Sums up an access lane by lane from its groups.
    pub(crate) fn settle_groups(&mut self) {
        self.access = match self.groups.as_slice() {
            [] => Access::None,
            [group] => Access::Lanes(group.lanes),
            _ => Access::Mixed,
        };
    }
}

/// The texels of one access: how many, and on which lines.
#[derive(Default)]
pub(crate) struct Texels {
    pub lines: Vec<u64>,
    pub count: u32,
    /// The lowest bits of the numbers of all lines, as a set.
    known: u64,
}

impl Texels {
    pub(crate) fn clear(&mut self) {
        self.lines.clear();
        (self.count, self.known) = (0, 0);
    }
}

impl Trace for Texels {
    #[inline(always)]
    fn texel(&mut self, address: u64, bytes: u64) {
        self.count += 1;
        for line in address / LINE..=(address + bytes - 1) / LINE {
            let bit = 1 << (line % 64);
            // Neighbouring lanes read neighbouring texels: the line looked for is most often among the latest.
            if self.known & bit == 0 || !self.lines.iter().rev().any(|&known| known == line * LINE) {
                self.lines.push(line * LINE);
                self.known |= bit;
            }
        }
    }
}
