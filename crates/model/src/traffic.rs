// SPDX-License-Identifier: MIT OR Apache-2.0
//! Traffic between L2 and DRAM without time: accesses of a functional run go through tags of the L2 slices of a GPU, and what misses or is written back is
//! noted with its bytes. Beside it, frequencies of symbols: in the data of loads and stores, and in the lines that move.
//!
//! The order of accesses is that of the functional run, and there are no L1 caches before the tags, so that the lines are about, not exactly, those of a
//! timed run.

use rustc_hash::FxHashMap;
use warpwatt_codecs::huffman::{Frequencies, SymbolBits};
use warpwatt_codecs::profile::{Collected, Profile};
use warpwatt_config::Config;
use warpwatt_memory::DeviceMemory;
use warpwatt_memory::monitor::{Observed, Origin, Touched};

use crate::address::Interleave;
use crate::cache::{State, Tags};
use crate::net::LINE_BYTES;
use crate::partition::LineBytes;

/// What the bytes of traffic begin with.
const MAGIC: &[u8] = b"warpwatt.traffic/1\n";

/// The accesses of a warp instruction to one line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Request {
    warp: (u64, u32, u32, u32),
    line: u64,
    write: bool,
    words: u32,
}

/// Tags of all L2 slices, and what moves behind them.
pub struct Traffic {
    interleave: Interleave,
    slices: Vec<Tags>,
    /// A line that is written as a whole is fetched all the same.
    write_fetch: bool,
    pending: Option<Request>,
    /// What DRAM holds of lines that were written back or copied by the host.
    dram: FxHashMap<u64, LineBytes>,
    /// Contents of lines that moved, with the number of times that they were read and written.
    moved: FxHashMap<LineBytes, [u64; 2]>,
    /// Lines read that were never written.
    pub untouched: u64,
    /// Frequencies in the data of loads and stores.
    pub loads_stores: Profile,
}

impl Traffic {
    /// Behind the L2 of a GPU; `of` says in words what runs.
    pub fn new(config: &Config, of: &str) -> Traffic {
        Traffic {
            interleave: Interleave::new(config),
            slices: (0..config.gpu.partitions).map(|_| Tags::new(config.l2.sets, config.l2.ways)).collect(),
            write_fetch: config.l2.write_fetch,
            pending: None,
            dram: FxHashMap::default(),
            moved: FxHashMap::default(),
            untouched: 0,
            loads_stores: Profile::new(Collected::LoadsStores, of),
        }
    }

    /// A thread is about to access global memory.
    pub fn access(&mut self, memory: &DeviceMemory, seen: &Observed) {
        self.count(memory, seen);
        let Origin { block, thread, pc } = seen.origin;
        let warp = (seen.grid, block, thread / 32, pc);
        let line = seen.address / LINE_BYTES;
        let bytes = seen.current.len() as u64;
        let (first, last) = (seen.address % LINE_BYTES / 4, (seen.address + bytes - 1) % LINE_BYTES / 4);
        let words = (first..=last.max(first)).fold(0, |words, word| words | 1u32 << word);
        // An access that leaves a part of a word as it is does not write it whole.
        let write = seen.how != Touched::Read;
        let words = if write && bytes < 4 { 0 } else { words };
        match &mut self.pending {
            Some(pending) if pending.warp == warp && pending.line == line => {
                pending.words |= words;
                pending.write |= write;
            }
            _ => {
                self.flush(memory);
                self.pending = Some(Request { warp, line, write, words });
            }
        }
    }

    /// The request that is being put together goes to L2.
    pub fn flush(&mut self, memory: &DeviceMemory) {
        let Some(Request { line, write, words, .. }) = self.pending.take() else { return };
        let address = line * LINE_BYTES;
        let partition = self.interleave.partition(address);
        let local = self.interleave.local(address) / LINE_BYTES;
        let tags = &mut self.slices[partition];
        if let Some(place) = tags.find(local) {
            tags.touch(place);
            if write {
                tags.set_state(place, State::Dirty);
            }
            return;
        }
        let Some((place, evicted)) = tags.reserve(local) else { return };
        tags.set_state(place, if write { State::Dirty } else { State::Clean });
        if let Some(victim) = evicted.filter(|victim| victim.dirty) {
            let address = self.interleave.global(partition, victim.line * LINE_BYTES);
            if let Some(bytes) = memory.line(address) {
                self.dram.insert(address, bytes);
                self.moved.entry(bytes).or_default()[1] += 1;
            }
        }
        if self.write_fetch || !(write && words == u32::MAX) {
            match self.dram.get(&address) {
                Some(bytes) => self.moved.entry(*bytes).or_default()[0] += 1,
                None => self.untouched += 1,
            }
        }
    }

    /// The host has written bytes of device memory.
    pub fn written(&mut self, memory: &DeviceMemory, address: u64, bytes: u64) {
        let first = address - address % LINE_BYTES;
        for line in (first..address + bytes).step_by(LINE_BYTES as usize) {
            if let Some(bytes) = memory.line(line) {
                self.dram.insert(line, bytes);
            }
        }
    }

    /// Counts the words that a thread loads or stores.
    fn count(&mut self, memory: &DeviceMemory, seen: &Observed) {
        let data = if seen.stored.is_empty() { seen.current } else { seen.stored };
        memory.words_of(seen.address, data, |word| self.loads_stores.add_word(word));
    }

    /// Contents of the lines that moved, each with how often it was read and written, in a fixed order.
    pub fn lines(&self) -> Vec<(&LineBytes, [u64; 2])> {
        let mut lines: Vec<_> = self.moved.iter().map(|(bytes, count)| (bytes, *count)).collect();
        lines.sort_unstable();
        lines
    }

    /// As bytes, for another process to [`Traffic::absorb`].
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(self.untouched.to_le_bytes());
        bytes.extend((self.moved.len() as u64).to_le_bytes());
        for (line, [read, written]) in self.lines() {
            bytes.extend(line);
            bytes.extend(read.to_le_bytes());
            bytes.extend(written.to_le_bytes());
        }
        bytes.extend(self.loads_stores.to_text().into_bytes());
        bytes
    }

    /// Adds what moved in another process. `None` if these are not the bytes of traffic, in whole.
    pub fn absorb(&mut self, bytes: &[u8]) -> Option<()> {
        let mut rest = bytes.strip_prefix(MAGIC)?;
        let number = |rest: &mut &[u8]| {
            let (first, others) = rest.split_first_chunk::<8>()?;
            *rest = others;
            Some(u64::from_le_bytes(*first))
        };
        self.untouched += number(&mut rest)?;
        for _ in 0..number(&mut rest)? {
            let (line, others) = rest.split_first_chunk::<{ LINE_BYTES as usize }>()?;
            rest = others;
            let (read, written) = (number(&mut rest)?, number(&mut rest)?);
            let counts = self.moved.entry(*line).or_default();
            (counts[0], counts[1]) = (counts[0] + read, counts[1] + written);
        }
        let profile = Profile::from_text(std::str::from_utf8(rest).ok()?).ok()?;
        self.loads_stores.merge(&profile);
        Some(())
    }

    /// Frequencies in the lines that moved.
    pub fn dram(&self) -> Profile {
        let mut profile = Profile::new(Collected::Dram, self.loads_stores.of.clone());
        for (bytes, [read, written]) in &self.moved {
            profile.add_times(bytes, read + written);
        }
        profile
    }

    /// The best ratio of any code for symbols of a length in the lines that moved, by the source coding theorem; none if nothing moved, or if it all
    /// had one value.
    pub fn bound(&self, width: SymbolBits) -> Option<f64> {
        let mut frequencies = Frequencies::new(width);
        self.moved.iter().for_each(|(bytes, [read, written])| frequencies.add_times(bytes, read + written));
        let bits = frequencies.entropy_of_a_word()?;
        (bits > 0.0).then(|| 32.0 / bits)
    }

    /// Frequencies of what was collected in this way.
    pub fn profile(&self, collected: Collected) -> Profile {
        match collected {
            Collected::LoadsStores => self.loads_stores.clone(),
            Collected::Dram => self.dram(),
        }
    }
}
