// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an L2 slice and the memory behind it count.

use warpwatt_base::counters;
use warpwatt_base::counters::{Charge, Log2};

use super::slice::Cause;

counters! {
    /// Of an L2 slice. Requests = hits + misses + merges + allocations without fetch.
    pub struct L2Counters(Charge::AllLines) {
        reads: u64 = "l2.reads.count", "Read requests.";
        read_hits: u64 = "l2.read_hits.count", "Read requests that hit.";
        writes: u64 = "l2.writes.count", "Write requests.";
        write_hits: u64 = "l2.write_hits.count", "Write requests that hit.";
        atomics: u64 = "l2.atomics.count", "Atomic operations and reductions.";
        atomic_hits: u64 = "l2.atomic_hits.count", "Atomic operations and reductions that hit.";
        written: u64 = "l2.written.bytes", "Bytes written by write requests, in whole words.";
        hit_written: u64 = "l2.hit_written.bytes", "Bytes written by write requests that hit, in whole words.";
        atomic_written: u64 = "l2.atomic_written.bytes", "Bytes written by atomic operations and reductions, in whole words.";
        atomic_hit_written: u64 = "l2.atomic_hit_written.bytes", "Bytes written by atomic operations and reductions that hit, in whole words.";
        misses: u64 = "l2.misses.count", "Requests that missed and fetched a line from memory.";
        merges: u64 = "l2.merges.count", "Requests merged with an outstanding miss on the same line.";
        allocations: u64 = "l2.allocations.count", "Full-line writes that missed: a line is allocated and nothing is fetched.";
        partial_fetches: u64 = "l2.partial_fetches.count", "Lines fetched because of a write: partial writes, or all writes where `l2.write_fetch` is on.";
        fills: u64 = "l2.fills.count", "Lines filled from memory.";
        evictions: u64 = "l2.evictions.count", "Lines evicted.";
        write_backs: u64 = "l2.write_backs.count", "Dirty lines evicted and written back to memory.";
        replies: u64 = "l2.replies.count", "Replies sent.";
        lanes: u64 = "l2.lanes.count", "Active lanes of all requests.";
        array_reads: u64 = "l2.array_reads.count", "Reads of the data array, each as wide as the port.";
        array_writes: u64 = "l2.array_writes.count", "Writes of the data array, each as wide as the port.";
        array_busy: u64 = "l2.array_busy.clocks", "L2 clocks in which the data array was busy.";
        atomic_busy: u64 = "l2.atomic_busy.clocks", "L2 clocks in which the atomic unit was busy.";
        blocked_mshr: u64 = "l2.blocked_mshr.clocks", "The next request waited because all miss status registers (MSHRs) were in use.";
        blocked_merge: u64 = "l2.blocked_merge.clocks", "The next request waited because too many requests wait for its line.";
        blocked_ways: u64 = "l2.blocked_ways.clocks", "The next request waited because all ways of its set were being filled.";
        blocked_memory: u64 = "l2.blocked_memory.clocks", "The next request waited for space in the queue to the memory controller.";
        blocked_array: u64 = "l2.blocked_array.clocks", "The next request waited for the data array.";
        blocked_atomic: u64 = "l2.blocked_atomic.clocks", "The next request waited for the atomic unit.";
        blocked_reply: u64 = "l2.blocked_reply.clocks", "The next request waited because replies could not leave.";
        reply_waits: u64 = "l2.reply_waits.clocks", "A reply was ready and the network did not accept it.";
        intervals: Log2 = "l2.intervals.histogram", "L2 clocks between two requests.";
        line_intervals: Log2 = "l2.line_interval.histogram", "L2 clocks between two uses of the same line of the data array.";
        latencies: Log2 = "l2.latencies.histogram", "Requests by the cycles from their arrival to the departure of the reply.";
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
        row_hits: u64 = "dram.row_hits.count", "Accesses to a row that was accessed since it was opened.";
        row_misses: u64 = "dram.row_misses.count", "Accesses that had to open their row.";
        activates: u64 = "dram.activates.count", "Rows opened.";
        precharges: u64 = "dram.precharges.count", "Rows closed.";
        refreshes: u64 = "dram.refreshes.count", "Refreshes of all banks.", Charge::Time;
        turnarounds: u64 = "dram.turnarounds.count", "Switches of the data bus between reads and writes.";
        data_busy: u64 = "dram.data_busy.clocks", "Clocks in which the data bus moved data.";
        active: u64 = "dram.active.clocks", "Clocks in which at least one bank had a row open.";
        idle: u64 = "dram.idle.clocks", "Clocks in which no bank had a row open.";
        refreshing: u64 = "dram.refreshing.clocks", "Clocks taken by refreshes.";
        queues: Log2 = "dram.queues.histogram", "Accesses waiting in the queue of the same direction when a line arrives.";
        latencies: Log2 = "dram.latencies.histogram", "Lines read by the command clocks from their request to the end of their data.";
    }
}
