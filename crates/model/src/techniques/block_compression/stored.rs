// SPDX-License-Identifier: MIT OR Apache-2.0
//! What memory holds of the lines of a controller: the bits that each was stored as, and a hash of its bytes then, to verify what
//! is read.

use rustc_hash::FxHashMap;
use warpwatt_codecs::block::{BlockCodec, Encoded};

use super::BLOCK;
use crate::partition::LineBytes;

/// The code table of lines that are stored as they are.
const RAW: u8 = u8::MAX;
/// Most code tables.
pub const MOST_TABLES: usize = RAW as usize;

struct Slot {
    bytes: LineBytes,
    length: u8,
    /// Bytes of the encoded form, whether it is stored or not; at most those of a line.
    size: u8,
    table: u8,
    hash: u64,
}

/// How a line is stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Form {
    pub bytes: u32,
    /// Bytes of the encoded form, whether it is stored or not; at most those of a line.
    pub size: u32,
    pub encoded: bool,
}

impl Form {
    /// A line that was never written, or that no code makes smaller.
    pub const RAW: Form = Form { bytes: BLOCK as u32, size: BLOCK as u32, encoded: false };
}

pub struct Stored {
    slots: Vec<Slot>,
    by_line: FxHashMap<u64, u32>,
    /// The largest encoded form that is stored as such, in bytes.
    limit: usize,
    verify: bool,
    /// A bit is to be flipped, in the first line that is read.
    flip: bool,
    scratch: Encoded,
}

/// A hash that every single bit changes.
fn hash(bytes: &LineBytes) -> u64 {
    bytes.as_chunks::<8>().0.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &chunk| {
        (hash ^ u64::from_le_bytes(chunk)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
    })
}

impl Stored {
    pub fn new(limit: usize, verify: bool, inject: bool) -> Stored {
        Stored {
            slots: vec![],
            by_line: FxHashMap::default(),
            limit,
            verify,
            flip: inject,
            scratch: Encoded::default(),
        }
    }

    /// Stores a line with the last of the code tables, or raw without any.
    pub fn store(&mut self, line: u64, bytes: &LineBytes, tables: &[Box<dyn BlockCodec>]) -> Form {
        let place = *self.by_line.entry(line).or_insert_with(|| {
            self.slots.push(Slot { bytes: [0; BLOCK], length: 0, size: 0, table: RAW, hash: 0 });
            self.slots.len() as u32 - 1
        });
        let slot = &mut self.slots[place as usize];
        slot.hash = if self.verify { hash(bytes) } else { 0 };
        slot.encode(bytes, tables, self.limit, &mut self.scratch);
        slot.form()
    }

    /// All lines that are stored as they are get encoded; how many there are.
    pub fn encode_all(&mut self, tables: &[Box<dyn BlockCodec>]) -> u64 {
        let mut count = 0;
        for slot in self.slots.iter_mut().filter(|slot| slot.table == RAW) {
            let bytes = slot.bytes;
            slot.encode(&bytes, tables, self.limit, &mut self.scratch);
            count += 1;
        }
        count
    }

    /// How a line is stored, after its bytes were verified.
    pub fn load(&mut self, line: u64, tables: &[Box<dyn BlockCodec>]) -> Result<Form, ()> {
        let Some(&place) = self.by_line.get(&line) else { return Ok(Form::RAW) };
        let slot = &mut self.slots[place as usize];
        if self.flip {
            self.flip = !slot.flip(tables);
        }
        if self.verify && slot.decode(tables).is_none_or(|bytes| hash(&bytes) != slot.hash) {
            return Err(());
        }
        Ok(slot.form())
    }

    /// The bytes of a line.
    pub fn bytes(&self, line: u64, tables: &[Box<dyn BlockCodec>]) -> Option<LineBytes> {
        self.slots[*self.by_line.get(&line)? as usize].decode(tables)
    }

    pub fn fault_is_pending(&self) -> bool {
        self.flip
    }
}

impl Slot {
    fn encode(
        &mut self,
        bytes: &LineBytes,
        tables: &[Box<dyn BlockCodec>],
        limit: usize,
        scratch: &mut Encoded,
    ) {
        let encoded = tables.last().is_some_and(|codec| codec.encode(bytes, scratch));
        let size = if encoded { scratch.bytes().len() } else { BLOCK };
        self.size = size as u8;
        if size <= limit {
            self.bytes[..size].copy_from_slice(scratch.bytes());
            (self.length, self.table) = (self.size, tables.len() as u8 - 1);
        } else {
            (self.bytes, self.length, self.table) = (*bytes, BLOCK as u8, RAW);
        }
    }

    fn form(&self) -> Form {
        Form { bytes: u32::from(self.length), size: u32::from(self.size), encoded: self.table != RAW }
    }

    fn decode(&self, tables: &[Box<dyn BlockCodec>]) -> Option<LineBytes> {
        if self.table == RAW {
            return Some(self.bytes);
        }
        let mut bytes = [0; BLOCK];
        let codec = tables.get(usize::from(self.table))?;
        codec.decode(&self.bytes[..usize::from(self.length)], &mut bytes).ok()?;
        Some(bytes)
    }

    /// Flips the first bit of the code, which is not a bit of padding.
    fn flip(&mut self, tables: &[Box<dyn BlockCodec>]) -> bool {
        let before = self.decode(tables);
        (0..8 * usize::from(self.length)).any(|bit| {
            self.bytes[bit / 8] ^= 0x80 >> (bit % 8);
            let counts = self.decode(tables) != before;
            if !counts {
                self.bytes[bit / 8] ^= 0x80 >> (bit % 8);
            }
            counts
        })
    }
}
