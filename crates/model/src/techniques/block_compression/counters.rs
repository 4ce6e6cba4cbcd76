// SPDX-License-Identifier: MIT OR Apache-2.0
//! Counters of compression at the memory controllers. All of these techniques have the same ones, since no two of them are on at a time.

use warpwatt_base::counters::Charge;

warpwatt_base::counters! {
    /// Counters of compression at the memory controllers. Lines of local memory, constants and code have no bytes and move as they are.
    pub struct Counters(Charge::AllLines) {
        filled: u64 = "mc.filled.count", "Lines read from memory, without those that have no bytes.";
        filled_bytes: u64 = "mc.filled.bytes", "Stored size of the lines read from memory.";
        filled_bursts: u64 = "mc.filled_bursts.count", "Bursts of the lines read from memory.";
        written: u64 = "mc.written.count", "Lines written back, without those that have no bytes.";
        written_bytes: u64 = "mc.written.bytes", "Stored size of the lines written back.";
        written_bursts: u64 = "mc.written_bursts.count", "Bursts of the lines written back.";
        filled_without_bytes: u64 = "mc.filled_without_bytes.count", "Lines of local memory, constants and code read from memory.";
        written_without_bytes: u64 = "mc.written_without_bytes.count", "Lines of local memory written back.";
        forwarded_bursts: u64 = "mc.forwarded_bursts.count", "Bursts saved because the line was still in the write queue.";
        copied: u64 = "mc.copied.count", "Lines that the host copied or filled.", Charge::Time;
        copied_bytes: u64 = "mc.copied.bytes", "Stored size of the lines that the host copied or filled.", Charge::Time;
        encoded_bytes: u64 = "mc.encoded.bytes", "Encoded size of the lines read and written back, whether or not they are stored encoded; at most the size of a line.";
        raw: u64 = "mc.raw.count", "Lines read or written back that are stored uncompressed.";
        compressed: u64 = "mc.compressed.bytes", "Uncompressed bytes that compressors worked on: lines written back or copied by the host.";
        decompressed: u64 = "mc.decompressed.bytes", "Uncompressed bytes that decompressors worked on: lines read that are stored encoded.";
        compressor_waits: u64 = "mc.compressor_waits.cycles", "Cycles that lines waited for a compressor.";
        decompressor_waits: u64 = "mc.decompressor_waits.cycles", "Cycles that lines waited for a decompressor.";
        sizes: [u64; 16] = "mc.sizes.histogram", "Lines read and written back by the bytes they are stored as, in steps of 8.";
        metadata_reads: u64 = "metadata.reads.count", "Metadata lookups for lines that are read.";
        metadata_writes: u64 = "metadata.writes.count", "Metadata updates for lines written back, and metadata lines filled.";
        metadata_misses: u64 = "metadata.misses.count", "Metadata lines read from memory, one access each.";
        metadata_write_backs: u64 = "metadata.write_backs.count", "Dirty metadata lines written back to memory, one access each.";
        metadata_forwards: u64 = "metadata.forwards.count", "Metadata lines read that were still in the write queue.";
        sampled: u64 = "mc.sampled.count", "Lines whose symbols were counted to make codes.";
        codes: u64 = "mc.codes.count", "Code tables made from samples, by controller.", Charge::Time;
        encoded_anew: u64 = "mc.encoded_anew.count", "Lines in memory that were encoded when new codes became available, at no cost.", Charge::Time;
    }
}
