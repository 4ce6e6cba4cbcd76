// SPDX-License-Identifier: MIT OR Apache-2.0
//! The bytes that the banks hold, kept to prove that what is read equals what was written. Only as much is stored as the hardware would
//! store: the encoded register, or the lanes that an uncompressed write has.

use warpwatt_codecs::bdi::Range;
use warpwatt_codecs::narrow::Widths;
use warpwatt_codecs::{Entry, Values};

use crate::register_file::Mismatch;

/// How an entry is to be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// By the range indicator of a warp register.
    Warp(Range),
    /// Thread by thread.
    Threads(Widths),
}

pub struct Shadow {
    entries: Vec<Entry>,
    /// Lanes that were ever written; the others are not defined.
    defined: Vec<u32>,
    /// A bit is to be flipped, in the first register that is read.
    spoil: bool,
}

impl Shadow {
    pub fn new(entries: usize, inject: bool) -> Shadow {
        Shadow { entries: vec![[0; 128]; entries], defined: vec![0; entries], spoil: inject }
    }

    /// Nothing is stored here any more.
    pub fn forget(&mut self, index: usize) {
        self.defined[index] = 0;
    }

    /// Stores what was written by `lanes`: encoded, all of it; uncompressed, these lanes alone. `before` is how the entry was stored.
    pub fn store(&mut self, index: usize, form: Form, values: &Values, lanes: u32, before: Range) {
        let entry = &mut self.entries[index];
        match form {
            Form::Warp(Range::Uncompressed) => {
                if before.is_compressed() {
                    // It is uncompressed in place.
                    let old = before.decode(entry);
                    put(entry, &old, !0);
                }
                put(entry, values, lanes);
            }
            Form::Warp(range) => {
                // A register that does not fit keeps its old bytes, which is detected when it is read.
                let _ = range.encode(values, entry);
            }
            Form::Threads(_) => Widths::default().write(values, lanes, entry),
        }
        self.defined[index] |= lanes;
    }

    /// Reads an entry, and compares the lanes that were ever written with what they should be.
    pub fn check(&mut self, index: usize, form: Form, values: &Values, register: u8) -> Option<Mismatch> {
        let (entry, defined) = (&mut self.entries[index], self.defined[index]);
        if self.spoil && defined != 0 {
            self.spoil = !spoil(entry, form, defined);
        }
        let read = match form {
            Form::Warp(range) => range.decode(entry),
            Form::Threads(widths) => widths.read(entry),
        };
        let wrong = |&lane: &usize| defined >> lane & 1 != 0 && read[lane] != values[lane];
        let lane = (0..32).find(wrong)?;
        Some(Mismatch { register, lane: lane as u8, given: values[lane], stored: read[lane] })
    }

    pub fn fault_is_pending(&self) -> bool {
        self.spoil
    }
}

fn put(entry: &mut Entry, values: &Values, lanes: u32) {
    let (words, _) = entry.as_chunks_mut::<4>();
    for (lane, (word, value)) in words.iter_mut().zip(values).enumerate() {
        if lanes >> lane & 1 != 0 {
            *word = value.to_le_bytes();
        }
    }
}

/// Flips a bit that is read. False if the entry has none.
fn spoil(entry: &mut Entry, form: Form, lanes: u32) -> bool {
    let lane = lanes.trailing_zeros() as usize % 32;
    let byte = match form {
        Form::Warp(Range::Uncompressed) => 4 * lane,
        Form::Warp(range) => range.bytes() - 1,
        // The lowest byte of a thread, if it keeps one.
        Form::Threads(widths) => {
            match (0..32).find(|&lane| lanes >> lane & 1 != 0 && widths.bytes_of(lane) > 0) {
                Some(lane) => lane,
                None => return false,
            }
        }
    };
    entry[byte] ^= 1;
    true
}
