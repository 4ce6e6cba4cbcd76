// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compression at one memory controller.

use warpwatt_base::counters::CounterSet;
use warpwatt_codecs::block::BlockCodec;
use warpwatt_codecs::huffman::{Frequencies, Huffman, SymbolBits};

use super::metadata::MetadataCache;
use super::stored::{Form, MOST_TABLES, Stored};
use super::unit::Unit;
use super::{BLOCK, Counters, granularity};
use crate::partition::{ControllerMessage, LineBytes, Transfer, TransferPlan, TransferSite, Way};
use crate::techniques::{Build, Fault};

/// Latency and throughput of the units, in DRAM clocks and megabytes a second (0: unlimited).
pub struct Costs {
    pub compress_clocks: u32,
    pub decompress_clocks: u32,
    pub compress_rate: u32,
    pub decompress_rate: u32,
    pub metadata_bytes: u32,
}

/// Codes that are made while the program runs (E2MC, section III-B2b).
pub struct Sampling {
    pub width: SymbolBits,
    pub values: usize,
    pub ways: usize,
    /// Thread instructions until the first codes are made.
    pub until: u64,
    /// Thread instructions from then on until the next ones are; 0 for never.
    pub again: u64,
    /// Core cycles that making them takes.
    pub cycles: u64,
    /// Whether all lines in memory count as encoded from then on.
    pub trace: bool,
    pub frequencies: Frequencies,
}

pub struct Engine {
    /// Codecs that lines were stored with; the last one is in use. Empty until there are codes.
    tables: Vec<Box<dyn BlockCodec>>,
    sampling: Option<Sampling>,
    /// Codes that are being made, and the cycle in which they are ready.
    coming: Option<(u64, Huffman)>,
    stored: Stored,
    metadata: MetadataCache,
    compressor: Unit,
    decompressor: Unit,
    access_bytes: u32,
    corrupted: Option<String>,
    counters: Counters,
}

impl Engine {
    pub fn new(
        build: &Build,
        codec: Option<Box<dyn BlockCodec>>,
        costs: &Costs,
        sampling: Option<Sampling>,
    ) -> Engine {
        let access_bytes = granularity(build.config);
        Engine {
            tables: codec.into_iter().collect(),
            sampling,
            coming: None,
            stored: Stored::new(
                BLOCK.saturating_sub(access_bytes as usize),
                build.verify,
                build.inject == Some(Fault::Dram),
            ),
            metadata: MetadataCache::new(costs.metadata_bytes),
            compressor: Unit::new(build.config, costs.compress_clocks, costs.compress_rate),
            decompressor: Unit::new(build.config, costs.decompress_clocks, costs.decompress_rate),
            access_bytes,
            corrupted: None,
            counters: Counters::default(),
        }
    }

    /// Puts codes into use that are ready.
    fn adopt(&mut self, now: u64) {
        let Some((_, codes)) = self.coming.take_if(|(at, _)| *at <= now) else { return };
        let first = self.tables.is_empty();
        self.tables.push(Box::new(codes));
        self.counters.codes += 1;
        if first && self.sampling.as_ref().is_some_and(|sampling| sampling.trace) {
            self.counters.encoded_anew += self.stored.encode_all(&self.tables);
        }
        if self.sampling.as_ref().is_some_and(|sampling| sampling.again == 0) {
            self.sampling = None;
        }
    }

    /// Counts the symbols of a line that moves.
    fn sample(&mut self, bytes: Option<&LineBytes>) {
        if let (Some(sampling), Some(bytes)) = (&mut self.sampling, bytes) {
            sampling.frequencies.add(bytes);
            self.counters.sampled += 1;
        }
    }

    fn note_size(&mut self, form: Form) {
        self.counters.sizes[(form.bytes as usize).div_ceil(8).clamp(1, 16) - 1] += 1;
        self.counters.raw += u64::from(!form.encoded);
        self.counters.encoded_bytes += u64::from(form.size);
    }

    /// How a line is stored; a wrong value is remembered.
    fn load(&mut self, transfer: &Transfer) -> Form {
        self.stored.load(transfer.line, &self.tables).unwrap_or_else(|()| {
            let message =
                format!("the line at {:#x} read from memory differs from the one written", transfer.address);
            self.corrupted.get_or_insert(message);
            Form::RAW
        })
    }

    fn fill(&mut self, transfer: &Transfer, plan: &mut TransferPlan) {
        if self.sampling.is_some() {
            let bytes = self.stored.bytes(transfer.line, &self.tables);
            self.sample(bytes.as_ref());
        }
        let form = self.load(transfer);
        self.note_size(form);
        plan.bytes = form.bytes;
        if !self.tables.is_empty() {
            plan.metadata = self.metadata.access(transfer.line, false, &mut self.counters);
        }
        self.counters.filled += 1;
        self.counters.filled_bytes += u64::from(form.bytes);
        self.counters.filled_bursts += u64::from(form.bytes.div_ceil(self.access_bytes));
        if form.encoded {
            self.counters.decompressed += BLOCK as u64;
        }
    }

    fn write_back(&mut self, transfer: &Transfer, bytes: &LineBytes, plan: &mut TransferPlan) {
        self.sample(Some(bytes));
        let form = self.stored.store(transfer.line, bytes, &self.tables);
        self.note_size(form);
        plan.bytes = form.bytes;
        self.counters.written += 1;
        self.counters.written_bytes += u64::from(form.bytes);
        self.counters.written_bursts += u64::from(form.bytes.div_ceil(self.access_bytes));
        if !self.tables.is_empty() {
            plan.metadata = self.metadata.access(transfer.line, true, &mut self.counters);
            let (done, waited) = self.compressor.pass(transfer.now);
            plan.wait += (done - transfer.now) as u32;
            self.counters.compressor_waits += waited;
            self.counters.compressed += BLOCK as u64;
        }
    }
}

impl TransferSite for Engine {
    fn transfer(&mut self, transfer: &Transfer, plan: &mut TransferPlan) {
        self.adopt(transfer.now);
        let Some(bytes) = transfer.bytes else {
            self.counters.filled_without_bytes += u64::from(transfer.way == Way::Fill);
            self.counters.written_without_bytes += u64::from(transfer.way == Way::WriteBack);
            return;
        };
        match transfer.way {
            Way::Fill => self.fill(transfer, plan),
            Way::WriteBack => self.write_back(transfer, bytes, plan),
            Way::HostWrite => {
                let form = self.stored.store(transfer.line, bytes, &self.tables);
                self.counters.copied += 1;
                self.counters.copied_bytes += u64::from(form.bytes);
                self.counters.compressed += if self.tables.is_empty() { 0 } else { BLOCK as u64 };
            }
            Way::HostRead => {
                let form = self.load(transfer);
                self.counters.decompressed += if form.encoded { BLOCK as u64 } else { 0 };
            }
        }
    }

    fn arrived(&mut self, at: u64, plan: &TransferPlan, forwarded: bool) -> u64 {
        let at = at + u64::from(plan.cycles);
        let encoded = plan.bytes < BLOCK as u32;
        if forwarded {
            self.counters.forwarded_bursts += u64::from(plan.bytes.div_ceil(self.access_bytes));
        }
        if !encoded {
            return at;
        }
        let (done, waited) = self.decompressor.pass(at);
        self.counters.decompressor_waits += waited;
        done
    }

    fn metadata_forwarded(&mut self) {
        self.counters.metadata_forwards += 1;
    }

    fn tells_at(&self) -> u64 {
        self.sampling.as_ref().map_or(u64::MAX, |sampling| sampling.until)
    }

    fn tell(&mut self) -> Option<ControllerMessage> {
        let sampling = self.sampling.as_mut()?;
        let fresh = Frequencies::new(sampling.width);
        Some(Box::new(std::mem::replace(&mut sampling.frequencies, fresh)))
    }

    fn hear(&mut self, now: u64, told: &[ControllerMessage]) {
        let Some(sampling) = &mut self.sampling else { return };
        let mut all = Frequencies::new(sampling.width);
        told.iter().filter_map(|one| one.downcast_ref()).for_each(|one| all.merge(one));
        if all.total() == 0 {
            // Nothing has moved yet.
            sampling.until += sampling.until.max(1);
            return;
        }
        sampling.until = if sampling.again == 0 { u64::MAX } else { sampling.until + sampling.again };
        if self.tables.len() >= MOST_TABLES {
            return;
        }
        self.coming = Some((now + sampling.cycles, Huffman::new(&all, sampling.values, sampling.ways)));
    }

    fn counters(&self) -> Box<dyn CounterSet> {
        self.counters.boxed()
    }

    fn corrupted(&self) -> Option<String> {
        self.corrupted.clone()
    }

    fn fault_is_pending(&self) -> bool {
        self.stored.fault_is_pending()
    }
}
