// SPDX-License-Identifier: MIT OR Apache-2.0
//! The cache of metadata at a controller: how many bursts each line of memory takes, two bits a line (E2MC, section III-D). Four ways, lines of 32
//! bytes, which serve 128 lines of memory; the least recently used one is evicted. Dirty lines are written back.

use crate::partition::Metadata;

use super::Counters;

const WAYS: usize = 4;
const LINE: u32 = 32;
/// Lines of memory that a line of metadata covers.
const COVERS: u64 = 4 * LINE as u64;
/// Address of the metadata: beyond all memory, four of their lines in one of memory's.
const PLACE: u64 = 1 << 48;

#[derive(Clone, Copy, Default)]
struct Entry {
    /// Number of the line plus one; 0 for none.
    line: u64,
    changed: bool,
    used: u64,
}

pub struct MetadataCache {
    /// By set; empty for a cache that never misses.
    sets: Vec<[Entry; WAYS]>,
    uses: u64,
}

impl MetadataCache {
    /// A cache of so many bytes; 0: it never misses.
    pub fn new(bytes: u32) -> MetadataCache {
        let sets = (bytes / LINE) as usize / WAYS;
        MetadataCache { sets: vec![[Entry::default(); WAYS]; sets], uses: 0 }
    }

    /// Looks up or changes the metadata of a line of memory.
    pub fn access(&mut self, line: u64, changes: bool, counters: &mut Counters) -> Option<Metadata> {
        let number = line / COVERS;
        counters.metadata_reads += u64::from(!changes);
        counters.metadata_writes += u64::from(changes);
        self.uses += 1;
        let sets = self.sets.len() as u64;
        let set = self.sets.get_mut((number % sets.max(1)) as usize)?;
        let place = |number: u64| PLACE + number / 4;
        let mut metadata = Metadata { line: number, place: place(number), missing: false, write_back: None };
        let found = set.iter().position(|entry| entry.line == number + 1);
        let way = found.unwrap_or_else(|| {
            let oldest = (0..WAYS).min_by_key(|&way| set[way].used).unwrap_or(0);
            let victim = set[oldest];
            if victim.changed {
                metadata.write_back = Some((victim.line - 1, place(victim.line - 1)));
                counters.metadata_write_backs += 1;
            }
            metadata.missing = true;
            counters.metadata_misses += 1;
            counters.metadata_writes += 1;
            set[oldest] = Entry { line: number + 1, changed: false, used: 0 };
            oldest
        });
        set[way].used = self.uses;
        set[way].changed |= changes;
        Some(metadata)
    }
}
