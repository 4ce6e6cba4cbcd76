// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an L2 slice and the memory behind it count.

use warpwatt_base::counters;
use warpwatt_base::counters::{Charge, Log2};

use super::slice::Cause;

counters! {
    /// Of an L2 slice. Requests = hits + misses + merges + allocations without fetch.
    pub struct L2Counters(Charge::AllLines) {
        reads: u64 = "l2.reads.count", "Read requests taken.";
        read_hits: u64 = "l2.read_hits.count", "Of these, those whose line was there.";
        writes: u64 = "l2.writes.count", "Write requests taken.";
        write_hits: u64 = "l2.write_hits.count", "Of these, those whose line was there.";
        atomics: u64 = "l2.atomics.count", "Atomic operations and reductions taken.";
        atomic_hits: u64 = "l2.atomic_hits.count", "Of these, those whose line was there.";
        written: u64 = "l2.written.bytes", "Bytes that writes brought, by whole words.";
        hit_written: u64 = "l2.hit_written.bytes", "Of these, those of writes whose line was there.";
        atomic_written: u64 = "l2.atomic_written.bytes", "Bytes that atomic operations and reductions changed, by whole words.";
        atomic_hit_written: u64 = "l2.atomic_hit_written.bytes", "Of these, those whose line was there.";
        misses: u64 = "l2.misses.count", "Requests that had a line fetched from memory.";
        merges: u64 = "l2.merges.count", "Requests for a line that was being fetched already.";
        allocations: u64 = "l2.allocations.count", "Writes of whole lines that were not there: nothing is fetched.";
        partial_fetches: u64 = "l2.partial_fetches.count", "Lines fetched because they were written: in part, or as a whole where `l2.write_fetch` is on.";
        fills: u64 = "l2.fills.count", "Lines that came from memory.";
        evictions: u64 = "l2.evictions.count", "Lines that made room for others.";
        write_backs: u64 = "l2.write_backs.count", "Of these, changed lines, which were written to memory.";
        replies: u64 = "l2.replies.count", "Answers sent.";
        lanes: u64 = "l2.lanes.count", "Active lanes behind the requests taken.";
        array_reads: u64 = "l2.array_reads.count", "Reads of the data array, a port's width each.";
        array_writes: u64 = "l2.array_writes.count", "Writes of the data array, a port's width each.";
        array_busy: u64 = "l2.array_busy.clocks", "L2 clocks in which the data array worked.";
        atomic_busy: u64 = "l2.atomic_busy.clocks", "L2 clocks in which the atomic unit worked.";
        blocked_mshr: u64 = "l2.blocked_mshr.clocks", "The next request waited: all miss status registers were in use.";
        blocked_merge: u64 = "l2.blocked_merge.clocks", "The next request waited: too many wait for its line.";
        blocked_ways: u64 = "l2.blocked_ways.clocks", "The next request waited: all ways of its set are being fetched.";
        blocked_memory: u64 = "l2.blocked_memory.clocks", "The next request waited for room in the queue to the memory controller.";
        blocked_array: u64 = "l2.blocked_array.clocks", "The next request waited for the data array.";
        blocked_atomic: u64 = "l2.blocked_atomic.clocks", "The next request waited for the atomic unit.";
        blocked_reply: u64 = "l2.blocked_reply.clocks", "The next request waited because answers could not leave.";
        reply_waits: u64 = "l2.reply_waits.clocks", "An answer was ready and the network did not take it.";
        intervals: Log2 = "l2.intervals.histogram", "L2 clocks between two requests taken.";
        line_intervals: Log2 = "l2.line_interval.histogram", "L2 clocks between two uses of the same line of the data array.";
        latencies: Log2 = "l2.latencies.histogram", "Cycles from the arrival of a request to the departure of its answer.";
        mshrs: Log2 = "l2.mshrs.histogram", "Miss status registers in use when one more is taken.";
    }
}

impl L2Counters {
    /// Clocks in which the next request waited, by cause.
    pub(super) fn blocked(&mut self, cause: Cause) -> &mut u64 {
        match cause {
            Cause::Mshr => &mut self.blocked_mshr,
            Cause::Merge => &mut self.blocked_merge,
            Cause::Ways => &mut self.blocked_ways,
            Cause::Memory => &mut self.blocked_memory,
            Cause::Array => &mut self.blocked_array,
            Cause::Atomic => &mut self.blocked_atomic,
            Cause::Reply => &mut self.blocked_reply,
        }
    }
}

counters! {
    /// Of a memory controller and its memory; clocks are command clocks, summed over channels.
    pub struct DramCounters(Charge::AllLines) {
        reads: u64 = "dram.reads.count", "Read accesses: bursts.";
        writes: u64 = "dram.writes.count", "Write accesses: bursts.";
        line_reads: u64 = "dram.line_reads.count", "Lines read, from memory or from the write queue.";
        line_writes: u64 = "dram.line_writes.count", "Lines written.";
        forwards: u64 = "dram.forwards.count", "Lines read that were still in the write queue.";
        row_hits: u64 = "dram.row_hits.count", "Accesses to a row that had been accessed since it was opened.";
        row_misses: u64 = "dram.row_misses.count", "Accesses that their row was opened for.";
        activates: u64 = "dram.activates.count", "Rows opened.";
        precharges: u64 = "dram.precharges.count", "Rows closed.";
        refreshes: u64 = "dram.refreshes.count", "Refreshes of all banks.", Charge::Time;
        turnarounds: u64 = "dram.turnarounds.count", "Changes of the data bus between reading and writing.";
        data_busy: u64 = "dram.data_busy.clocks", "The data bus moved data.";
        active: u64 = "dram.active.clocks", "At least one bank had a row open.";
        idle: u64 = "dram.idle.clocks", "No bank had a row open.";
        refreshing: u64 = "dram.refreshing.clocks", "Taken by refreshes.";
        queues: Log2 = "dram.queues.histogram", "Accesses that wait in their direction's queue when a line comes to it.";
        latencies: Log2 = "dram.latencies.histogram", "Command clocks from the request of a line to the end of its data.";
    }
}
