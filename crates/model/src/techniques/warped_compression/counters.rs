// SPDX-License-Identifier: MIT OR Apache-2.0
//! What Warped-Compression counts.
//!
//! Histograms by phase have four places, for how a register is written: by all 32 lanes; by all lanes of a warp that has fewer; by those
//! of an undiverged warp whose guard holds; by a part of a diverged warp, or of one that has lost threads.

use warpwatt_base::counters::Charge;

warpwatt_base::counters! {
    /// Warped-Compression's counters.
    pub struct Counters {
        compressions: u64 = "wc.compressions.count", "Registers that a compressor worked on, compressible or not.", Charge::Writes;
        decompressions: u64 = "wc.decompressions.count", "Registers that a decompressor worked on.", Charge::Reads;
        compressor_waits: u64 = "wc.compressor_waits.cycles", "Cycles that results waited for a compressor.";
        decompressor_waits: u64 = "wc.decompressor_waits.cycles", "Cycles that operands waited for a decompressor.";
        stored: [u64; 5] = "wc.stored.histogram", "Registers written, by encoding: uncompressed, <4,0>, <4,1>, <4,2>, thread by thread.";
        stored_arrays: u64 = "wc.stored_arrays.count", "Arrays that they take, of 8 each.", Charge::Writes;
        moves: u64 = "wc.moves.count", "MOVs injected to uncompress a register ahead of a write that leaves lanes out.", Charge::Writes;
        moves_by_phase: [u64; 4] = "wc.moves.histogram", "The same by the phase of that write.";
        merges: u64 = "wc.merges.count", "Registers read to be merged with a write that leaves lanes out.", Charge::Writes;
        undefined_reads: u64 = "wc.undefined_reads.count", "Operands read that no instruction has written.", Charge::Reads;
        wakeups: u64 = "wc.wakeups.count", "Times that an array was switched on.", Charge::Writes;
        wakeup_waits: u64 = "wc.wakeup_waits.cycles", "Cycles that writes waited for an array to wake up.";
        gated: u64 = "rf.gated.cycles", "Cycles that arrays of the register file were off, added up.";
        gated_by_bank: [u64; 32] = "rf.gated.histogram", "The same by array: eight for each bank, those of every fourth bank together.";
        instructions: [u64; 3] = "wc.instructions.histogram", "Instructions issued by warps that are not diverged, by diverged ones, and by those that are whole but for threads that have ended.";
        allocated: [u64; 2] = "wc.allocated.histogram", "Registers that the warps of these instructions have: undiverged, and all others.";
        compressed: [u64; 2] = "wc.compressed.histogram", "How many of them are compressed.";
        writes: [u64; 4] = "wc.writes.histogram", "Registers written, by phase.";
        observed: [u64; 4] = "wc.observed.histogram", "Registers whose values were measured, by phase; lower halves and 32-bit values only.";
        observed_arrays: [u64; 4] = "wc.observed_arrays.histogram", "Arrays that they would take if writes that leave lanes out were merged and compressed.";
        observed_bytes: [u64; 4] = "wc.observed_bytes.histogram", "The same in bytes.";
        upper: [u64; 4] = "wc.upper.histogram", "Upper halves of 64-bit values written, by phase.";
        upper_arrays: [u64; 4] = "wc.upper_arrays.histogram", "Arrays that they would take.";
        similar: [u64; 4] = "wc.similar.histogram", "Registers written by undiverged warps, by the largest distance of successive lanes: 0, 128, 32K, more; no upper halves.";
        similar_diverged: [u64; 4] = "wc.similar_diverged.histogram", "The same of diverged warps.";
        similar_upper: [u64; 4] = "wc.similar_upper.histogram", "Upper halves of 64-bit values written by undiverged warps, in the same way.";
        similar_upper_diverged: [u64; 4] = "wc.similar_upper_diverged.histogram", "The same of diverged warps.";
        written_diverged: [u64; 4] = "wc.written_diverged.histogram", "Registers written by diverged warps, by the largest distance of successive lanes among those written.";
        distances: [u64; 4] = "wc.distances.histogram", "Distances of successive lanes in registers written by undiverged warps: 0, 128, 32K, more.";
        distances_diverged: [u64; 4] = "wc.distances_diverged.histogram", "The same of diverged warps.";
        best: [u64; 8] = "wc.best.histogram", "Registers by the best of all encodings: <4,0>, <8,0>, <8,1>, <4,1>, <8,2>, <4,2>, <8,4>, none; no upper halves.";
        best_upper: [u64; 8] = "wc.best_upper.histogram", "The same of upper halves.";
    }
}
