// SPDX-License-Identifier: MIT OR Apache-2.0
//! The memory access of an instruction, as a timed machine needs it: which lanes touched which bytes of which space.
//!
//! It is filled in only for ports that record accesses ([`crate::GlobalPort::RECORDS`]); the functional engine compiles to code without it.

use warpwatt_isa::Space;

use crate::fault::AccessKind;
use crate::port::Spread;
use crate::rows::lanes_of;
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
    /// How all lanes lie, where the access had to find that out.
    pub spread: Spread,
}

/// The memory access of one instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Access {
    #[default]
    None,
    /// All lanes in one place; their offsets are `Stepper::offsets`.
    Lanes(Lanes),
    /// A load or store of a word of shared memory in each of 32 lanes, which lie in one of the ways that have a name; their offsets are `Stepper::offsets`.
    Words(Spread),
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
    /// The numbers of the two lines that were touched last, plus one: neighbouring lanes read neighbouring texels, of one row of the image or of two.
    latest: [u64; 2],
}

impl Texels {
    pub(crate) fn clear(&mut self) {
        self.lines.clear();
        (self.count, self.known, self.latest) = (0, 0, [0; 2]);
    }

    /// A line is touched, if not for the first time.
    #[inline(always)]
    fn touch(&mut self, line: u64) {
        if self.latest[0] != line + 1 && self.latest[1] != line + 1 {
            self.touch_another(line);
        }
    }

    #[inline(never)]
    fn touch_another(&mut self, line: u64) {
        self.latest = [line + 1, self.latest[0]];
        let bit = 1 << (line % 64);
        if self.known & bit == 0 || !self.lines.iter().rev().any(|&known| known == line * LINE) {
            self.lines.push(line * LINE);
            self.known |= bit;
        }
    }
}

impl Trace for Texels {
    #[inline(always)]
    fn texel(&mut self, address: u64, bytes: u64) {
        self.count += 1;
        let (first, last) = (address / LINE, (address + bytes - 1) / LINE);
        self.touch(first);
        if last != first {
            (first + 1..=last).for_each(|line| self.touch(line));
        }
    }

    #[inline(always)]
    fn texels(&mut self, base: u64, offsets: &[u32; 32], bytes: u32, mask: u32) {
        self.count += mask.count_ones();
        let (line, within) = (base / LINE, (base % LINE) as u32);
        let lines = |lane: usize| {
            let at = within + offsets[lane];
            (at / LINE as u32, (at + bytes - 1) / LINE as u32)
        };
        let mut latest = u32::MAX;
        for lane in lanes_of(mask) {
            let (first, last) = lines(lane);
            if first != latest || last != latest {
                (first..=last).for_each(|number| self.touch(line + u64::from(number)));
                latest = last;
            }
        }
    }
}
