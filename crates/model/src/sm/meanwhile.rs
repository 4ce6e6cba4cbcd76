// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the memory unit does while nothing else happens in its SM: an instruction that touches many lines makes a transaction in each of as many cycles,
//! and requests leave one after the other. Such cycles are not run as a whole.

use super::cycle::Epoch;
use super::mem::Done;
use super::{CollectorPool, Event, Sm};

impl Sm {
    /// Steps the memory unit from cycle `at` on, in which it has something to do, as long as nothing else does: up to before cycle `until`, and within the
    /// epoch. Instructions must not wait to be sent for, since both would use the port of the network. Gives the next cycle that is to be run; the
    /// memory unit may have been stepped in it.
    #[inline(never)]
    pub(super) fn step_memory(&mut self, epoch: &mut Epoch, mut at: u64, mut until: u64) -> u64 {
        let is_wanted =
            self.schedulers.any_ready() && self.schedulers.wanted() >> CollectorPool::Memory as u32 & 1 != 0;
        self.fetch.alarm = 0;
        while at < until.min(epoch.turn.end) {
            self.mem.step(at, epoch.outbox, &mut self.done);
            match *self.done.as_slice() {
                // Room for an instruction that waits for it is for the rest of the cycle.
                [] if !is_wanted || !self.mem.has_room() => {}
                [Done { at: ready, token }] if ready > at && !is_wanted => {
                    self.events.push(ready, Event::Data { op: token });
                    until = until.min(ready);
                    self.done.clear();
                }
                // So are results that are there at once.
                _ => {
                    self.stepped = at;
                    return at;
                }
            }
            // Constants that it asked the second level for come from there.
            until = until.min(self.mem.second.next());
            at = self.mem.next(at + 1, epoch.outbox);
        }
        at.min(until)
    }
}
