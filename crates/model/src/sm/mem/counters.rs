// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the memory side of an SM counts. Accesses of caches are transactions: a warp instruction makes one for each line it touches.

use warpwatt_base::counters;
use warpwatt_base::counters::Log2;

use super::Cause;

counters! {
    /// Of one memory unit.
    pub struct MemCounters {
        instructions: u64 = "lsu.instructions.count", "Warp instructions that started.";
        busy: u64 = "lsu.busy.cycles", "Cycles in which instructions made transactions or occupied shared memory, added up over instructions.";
        blocked: u64 = "lsu.blocked.cycles", "Cycles in which the next transaction of a started instruction had to wait, added up over instructions.";
        blocked_unit: u64 = "lsu.blocked_unit.cycles", "Of these, those in which an older instruction had the same cache.";
        transactions: [u64; 32] = "lsu.transactions_per_instruction.histogram", "Instructions on global or local memory by the lines they touch: 1 to 31, then all that touch more.";
        latency: Log2 = "lsu.latency.histogram", "Loads and atomics by the cycles from issue to data.";

        l1d_reads: u64 = "l1d.reads.count", "Lines looked for by loads. Reads = hits + misses + merges.";
        l1d_read_hits: u64 = "l1d.read_hits.count", "Of these, those that were there.";
        l1d_misses: u64 = "l1d.misses.count", "Loads that had a line fetched.";
        l1d_merges: u64 = "l1d.merges.count", "Loads of a line that was being fetched already.";
        l1d_bypasses: u64 = "l1d.bypasses.count", "Loads that went past the cache.";
        l1d_writes: u64 = "l1d.writes.count", "Lines written by stores.";
        l1d_write_hits: u64 = "l1d.write_hits.count", "Of these, those of local memory that were there.";
        l1d_write_fetches: u64 = "l1d.write_fetches.count", "Lines of local memory that were fetched because only a part of them was written.";
        l1d_write_evictions: u64 = "l1d.write_evictions.count", "Lines dropped because global memory was written or operated on.";
        l1d_atomics: u64 = "l1d.atomics.count", "Atomic operations and reductions sent to L2, a line each.";
        l1d_array_reads: u64 = "l1d.array_reads.count", "Reads of the data array: hits, and changed lines written back.";
        l1d_array_writes: u64 = "l1d.array_writes.count", "Writes of the data array by stores to local memory.";
        l1d_fills: u64 = "l1d.fills.count", "Lines that came from L2.";
        l1d_evictions: u64 = "l1d.evictions.count", "Lines that made room for others.";
        l1d_write_backs: u64 = "l1d.write_backs.count", "Changed lines of local memory written to L2.";
        l1d_lanes: u64 = "l1d.lanes.count", "Active lanes behind the uses of the data array; 32 for fills and lines written back.";
        l1d_fail_merges: u64 = "l1d.fail_merges.cycles", "The next transaction waited: as many as can do already wait for its line.";
        l1d_fail_mshrs: u64 = "l1d.fail_mshrs.cycles", "The next transaction waited: all miss status registers were in use.";
        l1d_fail_ways: u64 = "l1d.fail_ways.cycles", "The next transaction waited: all ways of its set were being fetched.";
        l1d_fail_queue: u64 = "l1d.fail_queue.cycles", "The next transaction waited for room in the miss queue.";
        l1d_network: u64 = "l1d.network.cycles", "The network did not take the next request.";
        l1d_intervals: Log2 = "l1d.interval.histogram", "Cycles between two uses of the data array.";

        shared_reads: u64 = "shared.reads.count", "Warp instructions that read shared memory.";
        shared_writes: u64 = "shared.writes.count", "Warp instructions that write shared memory.";
        shared_atomics: u64 = "shared.atomics.count", "Warp instructions that do atomic operations on shared memory.";
        shared_lanes: u64 = "shared.lanes.count", "Lanes of these instructions.";
        shared_broadcasts: u64 = "shared.broadcasts.count", "Reads in which several lanes got the same word at once.";
        shared_conflicts: u64 = "shared.conflict_cycles.cycles", "Cycles beyond those that the accesses take without bank conflicts.";
        shared_cycles: [u64; 32] = "shared.cycles_per_access.histogram", "Accesses by the cycles they occupy the banks: 1 to 31, then all that take longer.";
        shared_intervals: Log2 = "shared.interval.histogram", "Cycles between two accesses.";

        constant_operands: u64 = "constant.operands.count", "Constant operands that were there when an instruction wanted to issue.";
        constant_reads: u64 = "constant.reads.count", "Places read by indexed loads.";
        constant_hits: u64 = "constant.hits.count", "Operands and places that were there when first looked for.";
        constant_misses: u64 = "constant.misses.count", "Lines that had to be fetched.";
        constant_merges: u64 = "constant.merges.count", "Operands and places on a line that was being fetched already.";
        constant_array_reads: u64 = "constant.array_reads.count", "Reads of the data array.";
        constant_fills: u64 = "constant.fills.count", "Lines that came from L2.";
        constant_lanes: u64 = "constant.lanes.count", "Active lanes behind the uses of the data array.";
        constant_fails: u64 = "constant.fails.cycles", "The next place of an indexed load waited for a miss status register or for a way.";
        constant_network: u64 = "constant.network.cycles", "The network did not take the next request.";
        constant_intervals: Log2 = "constant.interval.histogram", "Cycles between two uses of the data array.";

        texture_instructions: u64 = "texture.instructions.count", "Texture instructions.";
        texture_texels: u64 = "texture.texels.count", "Texels they read.";
        texture_reads: u64 = "texture.reads.count", "Lines looked for.";
        texture_hits: u64 = "texture.hits.count", "Of these, those that were there or on their way.";
        texture_misses: u64 = "texture.misses.count", "Of these, those that had to be fetched.";
        texture_array_reads: u64 = "texture.array_reads.count", "Reads of the data array.";
        texture_fills: u64 = "texture.fills.count", "Lines that came from L2.";
        texture_lanes: u64 = "texture.lanes.count", "Active lanes behind the uses of the data array.";
        texture_fail_fragments: u64 = "texture.fail_fragments.cycles", "The next line waited: the fragment queue was full.";
        texture_fail_mshrs: u64 = "texture.fail_mshrs.cycles", "The next line waited: as many as can be were being fetched.";
        texture_network: u64 = "texture.network.cycles", "The network did not take the next request.";
        texture_intervals: Log2 = "texture.interval.histogram", "Cycles between two uses of the data array.";
    }
}

impl MemCounters {
    /// Cycles that a started instruction could not go on.
    #[inline(never)]
    pub(super) fn note_blocked(&mut self, cause: Cause, cycles: u64) {
        self.blocked += cycles;
        *match cause {
            Cause::Unit => &mut self.blocked_unit,
            Cause::Merges => &mut self.l1d_fail_merges,
            Cause::Mshrs => &mut self.l1d_fail_mshrs,
            Cause::Ways => &mut self.l1d_fail_ways,
            Cause::Queue => &mut self.l1d_fail_queue,
            Cause::Constant => &mut self.constant_fails,
            Cause::Fragments => &mut self.texture_fail_fragments,
            Cause::TextureMshrs => &mut self.texture_fail_mshrs,
        } += cycles;
    }
}
