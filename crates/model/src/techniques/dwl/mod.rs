// SPDX-License-Identifier: MIT OR Apache-2.0
//! Divided word lines: a word line is divided into segments of 4 bytes, and an access enables those that it needs (the drowsy-cache thesis,
//! section 3.3.2). Segments that stay off save the energy of their part of the word line, of their bit lines and sense amplifiers.
//!
//! The thesis gates a segment by the active mask of the warp: segment i belongs to lane i. That is right only for an access in which lane i
//! reads word i of the line. `mask=bytes` enables the words that are read or written, by any lanes.

use warpwatt_base::counters::{Charge, CounterSet};
use warpwatt_config::{choice, technique_parameters};

use crate::cache::{Array, ArrayAccess, ArrayShape, DataArraySite, LineId, RowAccess, Use};
use crate::techniques::{Build, Law, Sites, Technique};

choice! {
    /// What enables the segments of a line.
    Mask {
        /// The active lanes of the warp of the access, lane by lane.
        Lanes = "lanes",
        /// The words that are read or written.
        Bytes = "bytes",
    }
}

technique_parameters! {
    /// Parameters of divided word lines.
    Parameters = "dwl" {
        mask: Mask = Mask::Lanes, 0..=0, "", "What enables the segments of a line: the lanes of the warp, as the thesis wires them, or the words that are accessed.";
        overhead: u32 = 0, 0..=100, "%", "Energy of the gates and local drivers that divide a word line, of what the segments of a whole access take. The thesis gives none.";
        l1d: bool = true, 0..=0, "", "In the L1 data caches.";
        l2: bool = true, 0..=0, "", "In the L2 slices.";
        constant: bool = true, 0..=0, "", "In the constant caches.";
        texture: bool = true, 0..=0, "", "In the texture caches.";
        shared: bool = true, 0..=0, "", "In shared memory.";
    }
}

/// Parts that a word line counts as, however many segments it has.
const PARTS: u64 = 32;

warpwatt_base::counters! {
    /// Counters of divided word lines. A word line counts as 32 parts, also where it has fewer segments.
    pub struct Counters {
        l1d_reads: u64 = "dwl.l1d_reads.count", "Reads of the L1 data cache that enable segments.", Charge::Lines;
        l1d_read_idle: u64 = "dwl.l1d_read_idle.count", "32nds of word lines that reads of the L1 data cache did not enable.", Charge::Lines;
        l1d_writes: u64 = "dwl.l1d_writes.count", "Writes of the L1 data cache that enable segments.", Charge::Lines;
        l1d_write_idle: u64 = "dwl.l1d_write_idle.count", "32nds of word lines that writes of the L1 data cache did not enable.", Charge::Lines;
        l2_reads: u64 = "dwl.l2_reads.count", "Reads of the L2 slices that enable segments.", Charge::AllLines;
        l2_read_idle: u64 = "dwl.l2_read_idle.count", "32nds of word lines that reads of the L2 slices did not enable.", Charge::AllLines;
        l2_writes: u64 = "dwl.l2_writes.count", "Writes of the L2 slices that enable segments.", Charge::AllLines;
        l2_write_idle: u64 = "dwl.l2_write_idle.count", "32nds of word lines that writes of the L2 slices did not enable.", Charge::AllLines;
        constant_reads: u64 = "dwl.constant_reads.count", "Reads of the constant cache that enable segments.", Charge::ConstantCache;
        constant_read_idle: u64 = "dwl.constant_read_idle.count", "32nds of word lines that reads of the constant cache did not enable.", Charge::ConstantCache;
        constant_writes: u64 = "dwl.constant_writes.count", "Writes of the constant cache that enable segments.", Charge::ConstantCache;
        constant_write_idle: u64 = "dwl.constant_write_idle.count", "32nds of word lines that writes of the constant cache did not enable.", Charge::ConstantCache;
        texture_reads: u64 = "dwl.texture_reads.count", "Reads of the texture cache that enable segments.", Charge::TextureLines;
        texture_read_idle: u64 = "dwl.texture_read_idle.count", "32nds of word lines that reads of the texture cache did not enable.", Charge::TextureLines;
        texture_writes: u64 = "dwl.texture_writes.count", "Writes of the texture cache that enable segments.", Charge::TextureLines;
        texture_write_idle: u64 = "dwl.texture_write_idle.count", "32nds of word lines that writes of the texture cache did not enable.", Charge::TextureLines;
        shared_reads: u64 = "dwl.shared_reads.count", "Reads of the shared memory that enable segments.", Charge::Shared;
        shared_read_idle: u64 = "dwl.shared_read_idle.count", "32nds of word lines that reads of the shared memory did not enable.", Charge::Shared;
        shared_writes: u64 = "dwl.shared_writes.count", "Writes of the shared memory that enable segments.", Charge::Shared;
        shared_write_idle: u64 = "dwl.shared_write_idle.count", "32nds of word lines that writes of the shared memory did not enable.", Charge::Shared;
    }
}

pub static TECHNIQUE: Technique = Technique {
    name: "dwl",
    doc: "Divided word lines: an access to a cache enables the segments of its active lanes only.",
    paper: "Drowsy and divided-word-line caches (thesis)",
    parameters: Parameters::parameters,
    settings: || Box::<Parameters>::default(),
    counters: Counters::INFO,
    zero: || Box::<Counters>::default(),
    excludes: &[],
    needs: &[],
    check: |_, _, _| (),
    stores: &[],
    sites: Sites { data_array: Some(Divided::build), ..Sites::NONE },
    balance: |_, _| (),
    laws: &[Law {
        text: "an access leaves off less than all of its word line, or all of it if no lane takes part",
        holds: |observed| {
            let counters: &Counters = observed.own.of().expect("its own counters");
            let pairs = [
                (counters.l1d_reads, counters.l1d_read_idle),
                (counters.l1d_writes, counters.l1d_write_idle),
                (counters.l2_reads, counters.l2_read_idle),
                (counters.l2_writes, counters.l2_write_idle),
                (counters.constant_reads, counters.constant_read_idle),
                (counters.constant_writes, counters.constant_write_idle),
                (counters.texture_reads, counters.texture_read_idle),
                (counters.texture_writes, counters.texture_write_idle),
                (counters.shared_reads, counters.shared_read_idle),
                (counters.shared_writes, counters.shared_write_idle),
            ];
            pairs.iter().all(|(accesses, idle)| *idle <= PARTS * accesses)
        },
    }],
};

struct Divided {
    array: Array,
    mask: Mask,
    segments: u64,
    reads: [u64; 2],
    writes: [u64; 2],
}

impl Divided {
    fn build(build: &Build, array: Array, shape: ArrayShape) -> Option<Box<dyn DataArraySite>> {
        let parameters: &Parameters = build.settings.of();
        let divided = match array {
            Array::L1d => parameters.l1d,
            Array::L2 => parameters.l2,
            Array::Constant => parameters.constant,
            Array::Texture => parameters.texture,
            Array::Shared => parameters.shared,
            // A fetch reads a whole line.
            Array::Instruction => false,
        };
        let segments = u64::from(shape.line_bytes / 4).max(1);
        let site = Divided { array, mask: parameters.mask, segments, reads: [0; 2], writes: [0; 2] };
        divided.then(|| Box::new(site) as Box<dyn DataArraySite>)
    }

    /// 32nds of a word line that an access leaves off.
    fn idle(&self, access: &ArrayAccess) -> u64 {
        let enabled = match self.mask {
            Mask::Lanes => u64::from(access.lanes),
            // Rows of shared memory that an access reads in different banks are one word line to it, as if they were one row.
            Mask::Bytes => {
                let words: u64 = access.rows.iter().map(|row| u64::from(row.words.count_ones())).sum();
                words * PARTS / self.segments
            }
        };
        PARTS - enabled.min(PARTS)
    }
}

impl DataArraySite for Divided {
    fn access(&mut self, access: &ArrayAccess) -> u64 {
        let idle = self.idle(access);
        let tally = match access.usage {
            Use::Read => &mut self.reads,
            // Atomic units read and write the words that they change, whatever the word lines are.
            Use::Modify if self.array == Array::L2 => return 0,
            Use::Modify => &mut self.reads,
            Use::Write => &mut self.writes,
            // Whole lines.
            Use::Fill | Use::WriteBack => return 0,
        };
        tally[0] += 1;
        tally[1] += idle;
        0
    }

    fn merged(&mut self, now: u64, lanes: u8, words: u32, frame: Option<LineId>) {
        // In L2 it costs no more than a tag lookup.
        if self.array != Array::L2 {
            let row = RowAccess { frame: frame.unwrap_or(LineId(0)), line: 0, words };
            self.access(&ArrayAccess { now, usage: Use::Read, lanes, rows: &[row] });
        }
    }

    fn counters(&self) -> Box<dyn CounterSet> {
        let mut counters = Counters::default();
        let places = match self.array {
            Array::L1d => Some([
                &mut counters.l1d_reads,
                &mut counters.l1d_read_idle,
                &mut counters.l1d_writes,
                &mut counters.l1d_write_idle,
            ]),
            Array::L2 => Some([
                &mut counters.l2_reads,
                &mut counters.l2_read_idle,
                &mut counters.l2_writes,
                &mut counters.l2_write_idle,
            ]),
            Array::Constant => Some([
                &mut counters.constant_reads,
                &mut counters.constant_read_idle,
                &mut counters.constant_writes,
                &mut counters.constant_write_idle,
            ]),
            Array::Texture => Some([
                &mut counters.texture_reads,
                &mut counters.texture_read_idle,
                &mut counters.texture_writes,
                &mut counters.texture_write_idle,
            ]),
            Array::Shared => Some([
                &mut counters.shared_reads,
                &mut counters.shared_read_idle,
                &mut counters.shared_writes,
                &mut counters.shared_write_idle,
            ]),
            Array::Instruction => None,
        };
        let counts = [self.reads, self.writes].concat();
        places.into_iter().flatten().zip(counts).for_each(|(place, count)| *place = count);
        counters.boxed()
    }
}

#[cfg(test)]
mod tests;
