// SPDX-License-Identifier: MIT OR Apache-2.0
//! The answers of an L2 slice on their way to the network, in order of readiness; those of the atomic unit apart, as they take their own time.
//!
//! When an answer leaves depends on answers before it and on the network's port alone. So answers are sent for many clocks at a time: at the end
//! of an epoch, and when it matters how many are left.

use warpwatt_base::counters::{Log2, Magnitudes};
use warpwatt_config::Config;

use super::counters::L2Counters;
use super::time::SliceClock;
use crate::host::{has_bit_instructions, in_two_copies};
use crate::net::{Outbox, Packet};
use crate::ring::Ring;

/// An answer, ready in an L2 clock.
#[derive(Clone, Copy, Debug)]
struct Reply {
    ready: u64,
    packet: Packet,
}

#[derive(Clone, Debug)]
pub struct Replies {
    clock: SliceClock,
    plain: Ring<Reply>,
    atomic: Ring<Reply>,
    capacity: usize,
    /// What leaves before this L2 clock has left, and the time that an answer waited before it is counted.
    sent_until: u64,
    /// Cycles from the arrival of requests to the departure of their answers.
    latencies: Magnitudes,
    /// Whether the host has instructions for bits.
    bit_instructions: bool,
}

/// Adds an answer to a queue.
#[inline(always)]
fn push(queue: &mut Ring<Reply>, ready: u64, request: &Packet) {
    // Copied as a whole and changed then, which takes the host fewer instructions than field by field.
    let reply = queue.push_any(|| Reply { ready, packet: *request });
    (reply.ready, reply.packet) = (ready, *request);
    reply.packet.kind = request.kind.answer();
}

/// The clock in which an answer can leave that is ready in a clock by itself.
#[cold]
fn behind(queue: &Ring<Reply>, ready: u64) -> u64 {
    queue.back().map_or(ready, |last| ready.max(last.ready))
}

impl Replies {
    /// The queue holds what the pipeline holds, an answer for each of `l2.cycles` clocks, and `l2.queue` more that the network did not take.
    pub fn new(config: &Config) -> Replies {
        let l2 = &config.l2;
        let capacity = (l2.cycles + l2.queue) as usize;
        let queue = || Ring::new(capacity + l2.merges as usize);
        Replies {
            clock: SliceClock::new(config),
            plain: queue(),
            atomic: queue(),
            capacity,
            sent_until: 0,
            latencies: Magnitudes::default(),
            bit_instructions: has_bit_instructions(),
        }
    }

    /// Adds an answer. `in_order`: it is not ready before one that a technique had wait.
    #[inline(always)]
    pub fn push(&mut self, ready: u64, request: &Packet, in_order: bool) {
        let ready = if in_order { behind(&self.plain, ready) } else { ready };
        push(&mut self.plain, ready, request);
    }

    /// Adds an answer of the atomic unit.
    #[inline(always)]
    pub fn push_atomic(&mut self, ready: u64, request: &Packet, in_order: bool) {
        let ready = if in_order { behind(&self.atomic, ready) } else { ready };
        push(&mut self.atomic, ready, request);
    }

    /// Cycles from the arrival of requests to the departure of their answers.
    pub fn latencies(&self) -> Log2 {
        self.latencies.log2()
    }

    /// Those that have not been sent.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.plain.len() + self.atomic.len()
    }

    /// Whether more answers find room in a clock, after those that leave in it. Answers are sent as far as that decides it.
    #[inline(always)]
    pub fn has_room(
        &mut self,
        answers: usize,
        clock: u64,
        outbox: &mut Outbox,
        counters: &mut L2Counters,
    ) -> bool {
        self.len() + answers <= self.capacity || self.finds_room(answers, clock, outbox, counters)
    }

    #[inline(always)]
    fn finds_room(
        &mut self,
        answers: usize,
        clock: u64,
        outbox: &mut Outbox,
        counters: &mut L2Counters,
    ) -> bool {
        let replies = self;
        in_two_copies!(replies.bit_instructions, |replies: &mut Replies,
                                                  answers: usize,
                                                  clock: u64,
                                                  outbox: &mut Outbox,
                                                  counters: &mut L2Counters|
         -> bool {
            replies.send_leaving(clock, outbox, counters);
            let len = replies.len();
            len == 0 || len + answers <= replies.capacity
        })
    }

    /// The answer that leaves next.
    #[inline(always)]
    fn head(&self) -> Option<&Reply> {
        if self.atomic.is_empty() {
            return self.plain.front();
        }
        match (self.plain.front(), self.atomic.front()) {
            (Some(plain), Some(atomic)) => Some(if atomic.ready < plain.ready { atomic } else { plain }),
            (plain, atomic) => plain.or(atomic),
        }
    }

    /// Sends all answers that leave before a clock, and counts how long they wait for the network until then.
    #[inline(always)]
    pub fn send(&mut self, until: u64, outbox: &mut Outbox, counters: &mut L2Counters) {
        if until > self.sent_until {
            if self.len() != 0 {
                self.send_before(until, outbox, counters);
            }
            self.sent_until = until;
        }
    }

    #[inline(always)]
    fn send_before(&mut self, until: u64, outbox: &mut Outbox, counters: &mut L2Counters) {
        let replies = self;
        in_two_copies!(replies.bit_instructions, |replies: &mut Replies,
                                                  until: u64,
                                                  outbox: &mut Outbox,
                                                  counters: &mut L2Counters|
         -> () {
            let (clock, _) = replies.send_plain(until, outbox, counters);
            if clock < until {
                replies.send_rest(clock, until, outbox, counters);
            }
        });
    }

    /// Sends answers that leave from a clock on before another, by whatever they wait for. Not inlined, as [`Replies::send_plain`] needs all
    /// registers of the host.
    #[inline(never)]
    fn send_rest(&mut self, mut clock: u64, until: u64, outbox: &mut Outbox, counters: &mut L2Counters) {
        while clock < until {
            clock = self.send_next(clock, until, outbox, counters);
        }
    }

    /// Sends all answers that leave in a clock or before. How long the next one has been waiting then is counted later.
    #[inline(always)]
    pub fn send_leaving(&mut self, clock: u64, outbox: &mut Outbox, counters: &mut L2Counters) {
        let (sent_until, is_all) = self.send_plain(clock + 1, outbox, counters);
        self.sent_until = sent_until;
        if !is_all {
            self.send_rest_leaving(clock, outbox, counters);
        }
    }

    #[cold]
    #[inline(never)]
    fn send_rest_leaving(&mut self, clock: u64, outbox: &mut Outbox, counters: &mut L2Counters) {
        while self.sent_until <= clock && self.may_leave_from(outbox) <= clock {
            self.sent_until = self.send_next(self.sent_until, clock + 1, outbox, counters);
        }
    }

    /// Sends the next answers that leave before a clock, as far as they wait for their turn and for the port alone, where a clock is a cycle: the usual case of
    /// [`Replies::send_next`]. Gives the clock in which the next one is tried, and whether none is left that leaves before.
    #[inline(always)]
    fn send_plain(&mut self, until: u64, outbox: &mut Outbox, counters: &mut L2Counters) -> (u64, bool) {
        let mut clock = self.sent_until;
        if !self.clock.is_core() || !self.atomic.is_empty() || clock >= until {
            return (clock, false);
        }
        while let Some(Reply { ready, packet }) = self.plain.front() {
            let tried = clock.max(*ready);
            let leaves = tried.max(outbox.port_from());
            if leaves >= until {
                break;
            }
            if !outbox.try_send(leaves, usize::from(packet.sm), packet) {
                return (clock, false);
            }
            let waited = leaves - tried;
            counters.reply_waits += waited;
            outbox.counters.port_stalls += waited;
            self.latencies.note(leaves - packet.arrive);
            self.plain.drop_front();
            clock = leaves;
        }
        (clock, true)
    }

    /// The first clock in which the next answer is ready and the network's port is free; `u64::MAX` without one.
    #[inline(always)]
    fn may_leave_from(&self, outbox: &Outbox) -> u64 {
        self.next_ready().max(self.clock.first(outbox.port_from()))
    }

    /// Sends the next answer in a clock, or in the next one in which it can leave. Gives the clock in which the one after it is tried; if it does not
    /// leave before `until`, that or a later one.
    #[inline(always)]
    fn send_next(
        &mut self,
        mut clock: u64,
        until: u64,
        outbox: &mut Outbox,
        counters: &mut L2Counters,
    ) -> u64 {
        let ready = |queue: &Ring<Reply>| queue.front().map_or(u64::MAX, |reply| reply.ready);
        let queue = match self.atomic.is_empty() || ready(&self.plain) <= ready(&self.atomic) {
            true => &mut self.plain,
            false => &mut self.atomic,
        };
        let Some(Reply { ready, packet }) = queue.front() else { return until };
        clock = clock.max(*ready);
        // Mostly an answer waits for the port alone.
        let port = self.clock.first(outbox.port_from()).min(until);
        if port > clock {
            counters.reply_waits += port - clock;
            outbox.stalled(self.clock.cycle(clock), self.clock.cycle(port));
            clock = port;
        }
        if clock >= until {
            return clock;
        }
        let (now, to) = (self.clock.cycle(clock), usize::from(packet.sm));
        if outbox.try_send(now, to, packet) {
            self.latencies.note(now - packet.arrive);
            queue.drop_front();
            return clock;
        }
        let leaves = self.clock.first(outbox.when(self.clock.cycle(clock + 1), to, packet));
        let tried = leaves.clamp(clock + 1, until);
        counters.reply_waits += tried - clock;
        outbox.stalled(now, self.clock.cycle(tried));
        tried
    }

    /// After all that leave in a clock were sent: the next clock in which one leaves; `u64::MAX` if that is not known.
    #[inline(never)]
    pub fn next_leaving(&self, clock: u64, outbox: &Outbox) -> u64 {
        match self.head() {
            Some(_) if self.may_leave_from(outbox) > clock => self.may_leave_from(outbox),
            Some(Reply { packet, .. }) => {
                let soon = self.clock.cycle(clock + 1);
                self.clock.first(outbox.when(soon, usize::from(packet.sm), packet)).max(clock + 1)
            }
            None => u64::MAX,
        }
    }

    /// When all answers have been sent that leave before a clock: whether one was ready and has to wait, and when the next one is.
    pub fn waits(&self) -> bool {
        self.next_ready() < self.sent_until
    }

    #[inline(always)]
    pub fn next_ready(&self) -> u64 {
        self.head().map_or(u64::MAX, |reply| reply.ready)
    }

    /// What is waiting, in words.
    pub fn waiting(&self, name: &str, out: &mut Vec<String>) {
        if let Some(reply) = self.head() {
            out.push(format!(
                "{name}: {} answers wait for the network, the first for SM {}",
                self.len(),
                reply.packet.sm
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::{Client, PacketKind};
    use warpwatt_base::SplitMix64;

    fn request(random: &mut SplitMix64, sms: u32) -> Packet {
        Packet {
            address: 0,
            words: 1 << random.below(32) | if random.below(2) == 0 { u32::MAX } else { 0 },
            lanes: 32,
            rounds: 1,
            kind: if random.below(2) == 0 { PacketKind::Read } else { PacketKind::Write },
            client: Client::L1d,
            sm: random.below(sms) as u16,
            partition: 0,
            flits: 0,
            tag: 0,
            born: 0,
            arrive: 0,
        }
    }

    /// Answers that wait for the port alone leave as all others do. With few receivers some wait for room, which never comes back here.
    #[test]
    fn plain_answers_leave_in_the_clocks_of_others() {
        let mut random = SplitMix64::new(11);
        let config = Config::default();
        for round in 0..60 {
            let sms = [1, 4, 200][round % 3];
            let make = || (Replies::new(&config), Outbox::new(&config, sms as usize), L2Counters::default());
            let mut plain = make();
            let mut twin = make();
            twin.0.clock = twin.0.clock.converted();
            assert!(plain.0.clock.is_core() && !twin.0.clock.is_core());
            let mut clock = 0;
            for _ in 0..80 {
                clock += u64::from(random.below(6));
                let packet = request(&mut random, sms);
                let is_atomic = random.below(20) == 0;
                let leaves = random.below(3) == 0;
                for (replies, outbox, counters) in [&mut plain, &mut twin] {
                    match is_atomic {
                        true => replies.push_atomic(clock + 30, &packet, false),
                        false => replies.push(clock + 10, &packet, false),
                    }
                    match leaves {
                        true => replies.send_leaving(clock, outbox, counters),
                        false => replies.send(clock, outbox, counters),
                    }
                }
                assert_eq!((plain.0.sent_until, plain.0.len()), (twin.0.sent_until, twin.0.len()));
                assert_eq!(plain.0.next_leaving(clock, &plain.1), twin.0.next_leaving(clock, &twin.1));
                assert_eq!(format!("{:?}{:?}", plain.1, plain.2), format!("{:?}{:?}", twin.1, twin.2));
            }
            assert!(plain.0.latencies().total() > 0 && plain.0.latencies() == twin.0.latencies());
        }
    }
}
