// SPDX-License-Identifier: MIT OR Apache-2.0
//! What compression at the memory controllers counts. All of these techniques have the same counters, since no two of them are on at a time.

use warpwatt_base::counters::Charge;

warpwatt_base::counters! {
    /// Counters of compression at the memory controllers. Lines of local memory, constants and code have no bytes and move as they are.
    pub struct Counters(Charge::AllLines) {
        filled: u64 = "mc.filled.count", "Lines read from memory, without those that have no bytes.";
        filled_bytes: u64 = "mc.filled.bytes", "Bytes that these are stored as.";
        filled_bursts: u64 = "mc.filled_bursts.count", "Accesses that they take.";
        written: u64 = "mc.written.count", "Lines written back, without those that have no bytes.";
        written_bytes: u64 = "mc.written.bytes", "Bytes that these are stored as.";
        written_bursts: u64 = "mc.written_bursts.count", "Accesses that they take.";
        filled_without_bytes: u64 = "mc.filled_without_bytes.count", "Lines of local memory, constants and code read from memory.";
        written_without_bytes: u64 = "mc.written_without_bytes.count", "Lines of local memory written back.";
        forwarded_bursts: u64 = "mc.forwarded_bursts.count", "Accesses that lines did not take because they were still in the write queue.";
        copied: u64 = "mc.copied.count", "Lines that the host copied or filled.", Charge::Time;
        copied_bytes: u64 = "mc.copied.bytes", "Bytes that these are stored as.", Charge::Time;
        encoded_bytes: u64 = "mc.encoded.bytes", "Bytes that lines read and written back are encoded as, whether they are stored so or not; at most those of a line.";
        raw: u64 = "mc.raw.count", "Lines read or written back that are stored as they are.";
        compressed: u64 = "mc.compressed.bytes", "Uncompressed bytes that compressors worked on: lines written back or copied by the host.";
        decompressed: u64 = "mc.decompressed.bytes", "Uncompressed bytes that decompressors worked on: lines read that are stored encoded.";
        compressor_waits: u64 = "mc.compressor_waits.cycles", "Cycles that lines waited for a compressor.";
        decompressor_waits: u64 = "mc.decompressor_waits.cycles", "Cycles that lines waited for a decompressor.";
        sizes: [u64; 16] = "mc.sizes.histogram", "Lines read and written back by the bytes they are stored as, in steps of 8.";
        metadata_reads: u64 = "metadata.reads.count", "Metadata looked up for a line that is read.";
        metadata_writes: u64 = "metadata.writes.count", "Metadata changed for a line that is written back, and lines of metadata filled in.";
        metadata_misses: u64 = "metadata.misses.count", "Lines of metadata read from memory, an access each.";
        metadata_write_backs: u64 = "metadata.write_backs.count", "Changed lines of metadata written to memory, an access each.";
        metadata_forwards: u64 = "metadata.forwards.count", "Lines of metadata read that were still in the write queue.";
        sampled: u64 = "mc.sampled.count", "Lines whose symbols were counted to make codes.";
        codes: u64 = "mc.codes.count", "Codes made from what was sampled, by controller.", Charge::Time;
        encoded_anew: u64 = "mc.encoded_anew.count", "Lines in memory that were encoded when codes came into being, free of charge.", Charge::Time;
    }
}
