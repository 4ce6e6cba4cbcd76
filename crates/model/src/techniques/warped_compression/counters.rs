// SPDX-License-Identifier: MIT OR Apache-2.0
//! Counters of Warped-Compression.
//!
//! Histograms by phase have five places, for the lanes that an instruction is executed by (`Phase`): all 32; those of a full warp whose
//! guard holds; all of a warp that was started with fewer; all that are left after others have exited; some, because the warp has split.
//! So every reading of "divergent" is a place from which on the places count as diverged. Histograms by phase and distance have four places
//! for each phase, for distances of 0, up to 128, up to 32K, and more.

use warpwatt_base::counters::Charge;

warpwatt_base::counters! {
    /// Warped-Compression's counters.
    pub struct Counters {
        compressions: u64 = "wc.compressions.count", "Registers that a compressor worked on, compressible or not.", Charge::Writes;
        decompressions: u64 = "wc.decompressions.count", "Registers that a decompressor worked on.", Charge::Reads;
        compressor_waits: u64 = "wc.compressor_waits.cycles", "Cycles that results waited for a compressor.";
        decompressor_waits: u64 = "wc.decompressor_waits.cycles", "Cycles that operands waited for a decompressor.";
        stored: [u64; 5] = "wc.stored.histogram", "Registers written, by encoding: uncompressed, <4,0>, <4,1>, <4,2>, thread by thread.";
        stored_arrays: u64 = "wc.stored_arrays.count", "Arrays taken by the registers written, of 8 each.", Charge::Writes;
        moves: u64 = "wc.moves.count", "MOVs injected to decompress a register before a partial write.", Charge::Writes;
        moves_by_phase: [u64; 5] = "wc.moves.histogram", "MOVs injected, by the phase of the partial write.";
        merges: u64 = "wc.merges.count", "Registers read to be merged with a partial write.", Charge::Writes;
        undefined_reads: u64 = "wc.undefined_reads.count", "Operands read that no instruction has written.", Charge::Reads;
        wakeups: u64 = "wc.wakeups.count", "Wake-ups of arrays.", Charge::Writes;
        wakeup_waits: u64 = "wc.wakeup_waits.cycles", "Cycles that writes waited for an array to wake up.";
        gated: u64 = "rf.gated.cycles", "Cycles in which arrays of the register file were gated, summed over arrays.";
        gated_by_bank: [u64; 32] = "rf.gated.histogram", "Cycles in which arrays of the register file were gated, by array: eight for each bank, with every fourth bank combined.";
        instructions: [u64; 5] = "wc.instructions.histogram", "Instructions issued, by phase.";
        allocated: [u64; 5] = "wc.allocated.histogram", "Registers allocated to the warps of the instructions issued, by phase.";
        compressed: [u64; 5] = "wc.compressed.histogram", "Compressed registers of the warps of the instructions issued, by phase.";
        writes: [u64; 5] = "wc.writes.histogram", "Registers written, by phase.";
        observed: [u64; 5] = "wc.observed.histogram", "Registers whose values were measured, by phase; lower halves and 32-bit values only.";
        observed_arrays: [u64; 5] = "wc.observed_arrays.histogram", "Arrays that the observed registers would take if partial writes were merged and compressed.";
        observed_bytes: [u64; 5] = "wc.observed_bytes.histogram", "Bytes that the observed registers would take if partial writes were merged and compressed.";
        upper: [u64; 5] = "wc.upper.histogram", "Upper halves of 64-bit values written, by phase.";
        upper_arrays: [u64; 5] = "wc.upper_arrays.histogram", "Arrays that the upper halves of 64-bit values would take.";
        similar: [u64; 20] = "wc.similar.histogram", "Registers written, by phase and by the largest distance of successive lanes of the whole register after the write; no upper halves.";
        similar_upper: [u64; 20] = "wc.similar_upper.histogram", "Upper halves of 64-bit values written, by phase and by the largest distance of successive lanes.";
        written: [u64; 20] = "wc.written.histogram", "Registers written, by phase and by the largest distance of successive lanes among those written; no upper halves.";
        distances: [u64; 20] = "wc.distances.histogram", "Distances of successive lanes in registers written, by phase, each distance counted; upper halves too.";
        sources: [u64; 4] = "wc.sources.histogram", "Registers written in undiverged warps (all 32 lanes active before the guard), by what wrote them: loads and atomics, 64-bit arithmetic (both halves), special functions and double precision, all other arithmetic.";
        sources_arrays: [u64; 4] = "wc.sources_arrays.histogram", "Arrays that registers written in undiverged warps would take, by what wrote them.";
        best: [u64; 8] = "wc.best.histogram", "Registers by the best of all encodings: <4,0>, <8,0>, <8,1>, <4,1>, <8,2>, <4,2>, <8,4>, none; no upper halves.";
        best_upper: [u64; 8] = "wc.best_upper.histogram", "Upper halves of 64-bit values by the best of all encodings.";
    }
}
