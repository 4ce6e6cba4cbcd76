// SPDX-License-Identifier: MIT OR Apache-2.0
//! The usual stretch of a partition: requests that hit follow each other, wait for the data array alone, and no line comes back from memory.
//! Requests are taken here one after the other; all others, and all of a partition with techniques, go through [`Partition::step`].

use super::Partition;
use super::slice::Cause;
use crate::host::in_two_copies;
use crate::net::{Inbox, LINE_BYTES, Outbox};

impl Partition {
    /// Takes requests from a clock on, before `end`, as long as they are such. Gives the last clock in which one was taken, if any was.
    #[inline(always)]
    pub(super) fn take_hits(
        &mut self,
        clock: u64,
        end: u64,
        inbox: &mut Inbox,
        outbox: &mut Outbox,
    ) -> Option<u64> {
        if !self.hits || self.blocked.is_some() || self.head.is_some() {
            return None;
        }
        // In all earlier cycles memory does nothing that the slice has to know of.
        let end = end.min(self.memory.next_return());
        if clock.max(inbox.next()) >= end {
            return None;
        }
        let partition = self;
        in_two_copies!(partition.bit_instructions, |partition: &mut Partition,
                                                    clock: u64,
                                                    end: u64,
                                                    inbox: &mut Inbox,
                                                    outbox: &mut Outbox|
         -> Option<u64> {
            partition.take_hits_before(clock, end, inbox, outbox)
        })
    }

    #[inline(always)]
    fn take_hits_before(
        &mut self,
        mut clock: u64,
        end: u64,
        inbox: &mut Inbox,
        outbox: &mut Outbox,
    ) -> Option<u64> {
        let mut last = None;
        let slice = &mut self.slice;
        while let Some(packet) = inbox.peek(end - 1) {
            let mut tried = clock.max(inbox.next());
            let array = slice.free_from(Cause::Array);
            if tried.max(array) >= end {
                break;
            }
            let head = slice.look_up(self.interleave.local(packet.address) / LINE_BYTES);
            let Some(place) = slice.plain_hit(head, packet) else {
                (self.head, self.hits) = (Some(head), false);
                break;
            };
            // Room is asked for in the clock in which the request is first tried: what it waits for then is counted.
            if !slice.has_room(tried, outbox) {
                let leaves = slice.replies.next_leaving(tried, outbox);
                if leaves.max(array) >= end || !slice.has_room(leaves, outbox) {
                    self.head = Some(head);
                    break;
                }
                slice.counters.blocked_reply += leaves - tried;
                tried = leaves;
            }
            let starts = tried.max(array);
            slice.counters.blocked_array += starts - tried;
            slice.take_hit(starts, place, packet);
            inbox.drop_next(starts);
            last = Some(starts);
            clock = starts + 1;
        }
        if let Some(last) = last {
            self.memory.advance(last);
        }
        last
    }
}
