// SPDX-License-Identifier: MIT OR Apache-2.0
//! A partition between mock SMs: they send what they are told to, and note the answers.

mod behaviour;
mod commands;
mod memory;
mod random;
mod standards;
mod streaks;
mod stream;

use std::collections::VecDeque;

use warpwatt_config::Config;
use warpwatt_memory::DeviceMemory;

use super::Partition;
use crate::address::Interleave;
use crate::net::{Client, Inbox, Outbox, Packet, PacketKind, exchange_all};
use crate::techniques::Techniques;

/// A GTX 480 whose partitions have one channel: what is tested goes to one queue.
pub fn one_channel() -> Config {
    let mut config = Config::default();
    (config.dram.channels, config.dram.bus_bytes, config.dram.row_bytes) = (1, 8, 4096);
    config
}

pub struct Rig {
    pub config: Config,
    pub partition: Partition,
    memory: DeviceMemory,
    requests: Vec<Outbox>,
    inbox: [Inbox; 1],
    outbox: [Outbox; 1],
    replies: Vec<Inbox>,
    /// What each SM will send, in order.
    pub queues: Vec<VecDeque<Packet>>,
    /// SMs that take no answers.
    pub deaf: bool,
    pub step: bool,
    pub now: u64,
    pub answers: Vec<Answer>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Answer {
    pub packet: Packet,
    /// Cycle in which the partition sent it.
    pub sent: u64,
}

impl Rig {
    pub fn new(config: Config, sms: usize) -> Rig {
        Rig {
            partition: Partition::new(&config, &Techniques::default(), 0),
            memory: DeviceMemory::new(1 << 20).expect("there is room"),
            requests: (0..sms).map(|_| Outbox::new(&config, 1)).collect(),
            inbox: [Inbox::new(&config, sms)],
            outbox: [Outbox::new(&config, sms)],
            replies: (0..sms).map(|_| Inbox::new(&config, 1)).collect(),
            queues: vec![VecDeque::new(); sms],
            deaf: false,
            step: false,
            now: 0,
            answers: Vec::new(),
            config,
        }
    }

    /// A request for a line of this partition.
    pub fn packet(&self, kind: PacketKind, line: u64, words: u32) -> Packet {
        Packet {
            address: Interleave::new(&self.config).global(0, line * 128),
            words,
            lanes: 32,
            rounds: 1,
            kind,
            client: Client::L1d,
            sm: 0,
            partition: 0,
            flits: 0,
            tag: 0,
            born: 0,
            arrive: 0,
        }
    }

    /// One epoch.
    pub fn epoch(&mut self) {
        let (from, to) = (self.now, self.now + u64::from(self.config.noc.cycles));
        let [inbox] = &mut self.inbox;
        let [outbox] = &mut self.outbox;
        self.partition.run(from, to, &self.memory, inbox, outbox, self.step);
        for (sm, queue) in self.queues.iter_mut().enumerate() {
            for now in from..to {
                while let Some(packet) = queue.front()
                    && self.requests[sm].can_send(now, 0, packet)
                {
                    self.requests[sm].send(now, 0, Packet { sm: sm as u16, born: now, ..*packet });
                    queue.pop_front();
                }
                while !self.deaf {
                    let before = self.replies[sm].latency();
                    let Some(packet) = self.replies[sm].take(now) else { break };
                    let sent = now - (self.replies[sm].latency() - before);
                    self.answers.push(Answer { packet, sent });
                }
            }
        }
        exchange_all(&mut self.requests, &mut self.inbox, None);
        exchange_all(&mut self.outbox, &mut self.replies, None);
        self.now = to;
    }

    /// Goes on to a cycle, without running epochs in which nothing happens unless every clock is to be stepped.
    pub fn run_to(&mut self, cycle: u64) {
        let epoch = u64::from(self.config.noc.cycles);
        while self.now < cycle {
            if !self.step && self.queues.iter().all(VecDeque::is_empty) {
                let inboxes = self.replies.iter().chain(&self.inbox).map(Inbox::next);
                let next = inboxes.chain([self.partition.next(), cycle]).min().unwrap_or(cycle);
                self.now += next.saturating_sub(self.now) / epoch * epoch;
            }
            if self.now < cycle {
                self.epoch();
            }
        }
    }

    pub fn epochs(&mut self, count: usize) {
        (0..count).for_each(|_| self.epoch());
    }

    /// Sends packets from SM 0 at once and waits for all answers, which must come.
    pub fn ask(&mut self, packets: &[Packet]) -> Vec<Answer> {
        self.answers.clear();
        self.queues[0].extend(packets);
        for _ in 0..10_000 {
            if self.answers.len() == packets.len() {
                return std::mem::take(&mut self.answers);
            }
            self.epoch();
        }
        panic!("not all answered: {:?}", self.partition.waiting());
    }

    /// Sends one packet and gives the cycles that the partition had it.
    pub fn time(&mut self, packet: Packet) -> u64 {
        let before = self.inbox[0].latency();
        let answer = self.ask(&[packet])[0];
        let taken = answer.packet.born + self.inbox[0].latency() - before;
        answer.sent - taken
    }

    /// Waits until nothing is under way.
    pub fn rest(&mut self) {
        for _ in 0..100_000 {
            if self.partition.is_idle() && self.queues.iter().all(VecDeque::is_empty) {
                // What was sent last may still be on its way.
                self.epochs(4);
                if self.partition.is_idle() {
                    return;
                }
            }
            self.epoch();
        }
        panic!("no rest: {:?}", self.partition.waiting());
    }
}
