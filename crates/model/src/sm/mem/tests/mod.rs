// SPDX-License-Identifier: MIT OR Apache-2.0
//! The memory unit between an issuer and a memory that answers every request after a while.

mod arrays;
mod l1d;
mod random;
mod spaces;
mod stores;

use std::collections::{BTreeMap, VecDeque};

use warpwatt_base::SplitMix64;
use warpwatt_config::{Allocation, Config};
use warpwatt_exec::AccessKind;
use warpwatt_exec::stepping::{AccessGroup, Lanes, Spread};
use warpwatt_isa::{CacheOp, Space};

use super::{Done, Job, JobKind, MemCounters, MemoryUnit, Origin};
use crate::net::{Inbox, Outbox, Packet, PacketKind, exchange_all};
use crate::techniques::Techniques;

const GLOBAL: u64 = 1 << 40;

/// What an instruction is handed over with.
#[derive(Clone, Debug)]
enum Handed {
    Groups(Vec<AccessGroup>),
    Lines(Vec<u64>, u32),
}

/// The unit, its way to memory, and a memory with a fixed latency beyond the network's.
struct Bench {
    config: Config,
    unit: MemoryUnit,
    outbox: Outbox,
    partitions: Vec<Inbox>,
    answers: BTreeMap<u64, VecDeque<Packet>>,
    latency: u64,
    now: u64,
    /// Call `step` in every cycle, not only when the unit says so.
    every_cycle: bool,
    done: BTreeMap<u32, u64>,
    asked: Vec<Packet>,
    steps: u64,
}

impl Bench {
    fn new(config: &Config) -> Bench {
        let partitions = config.gpu.partitions as usize;
        Bench {
            config: config.clone(),
            unit: MemoryUnit::new(config, &Techniques::default(), 0),
            outbox: Outbox::new(config, partitions),
            partitions: (0..partitions).map(|_| Inbox::new(config, 1)).collect(),
            answers: BTreeMap::new(),
            latency: 100,
            now: 0,
            every_cycle: false,
            done: BTreeMap::new(),
            asked: Vec::new(),
            steps: 0,
        }
    }

    fn take(&mut self, done: &mut Vec<Done>) {
        for Done { at, token } in done.drain(..) {
            assert!(at >= self.now, "token {token} is done in the past");
            assert_eq!(self.done.insert(token, at), None, "token {token} is done twice");
        }
    }

    /// One cycle; `issue` hands over instructions at its end.
    fn cycle(&mut self, issue: impl FnOnce(&mut MemoryUnit, u64)) {
        let epoch = u64::from(self.config.noc.cycles);
        if self.now.is_multiple_of(epoch) {
            exchange_all(std::slice::from_mut(&mut self.outbox), &mut self.partitions, None);
            for inbox in &mut self.partitions {
                // Requests of the coming epoch are known when it starts.
                for now in self.now..self.now + epoch {
                    while let Some(packet) = inbox.take(now) {
                        self.answers.entry(now + self.latency).or_default().push_back(packet.answer());
                        self.asked.push(packet);
                    }
                }
            }
        }
        let mut done = Vec::new();
        for packet in self.answers.remove(&self.now).unwrap_or_default() {
            self.unit.fill(self.now, &packet, &mut done);
        }
        if self.every_cycle || self.unit.next(self.now, &self.outbox) <= self.now {
            // Tests add techniques to a unit that was made without them.
            self.unit.is_plain &= self.unit.l1d.is_plain() && !self.unit.shared.data.has_sites();
            self.unit.step(self.now, &mut self.outbox, &mut done);
            self.steps += 1;
        }
        self.take(&mut done);
        issue(&mut self.unit, self.now);
        self.now += 1;
    }

    /// Lets time pass until nothing is under way.
    fn finish(&mut self) {
        let limit = self.now + 100_000;
        while !self.unit.is_idle() || self.now < self.done.values().copied().max().unwrap_or(0) {
            self.cycle(|_, _| ());
            assert!(self.now < limit, "waits for ever: {:?}", self.unit.waiting());
        }
        self.unit.settle(self.now);
    }

    /// Issues instructions one after the other, each as soon as there is room, and waits for all. Gives the cycle of the first issue.
    fn run(&mut self, jobs: &[(Job, Handed)]) -> u64 {
        let start = self.now;
        for (job, handed) in jobs {
            while !self.unit.has_room() {
                self.cycle(|_, _| ());
            }
            self.cycle(|unit, now| hand(unit, Job { issued: now, ready: now + 1, ..*job }, handed));
        }
        self.finish();
        start
    }

    fn latency_of(&self, token: u32, issued: u64) -> u64 {
        self.done[&token] - issued
    }
}

fn hand(unit: &mut MemoryUnit, job: Job, handed: &Handed) {
    let entry = unit.instructions.upcoming();
    // Each warp is a block, which has four rows of shared memory.
    let (local_base, shared_row) = (crate::address::local_base(0, 0, 64), 4 * u32::from(job.warp));
    (entry.job, entry.origin) = (job, Origin { local_base, shared_row, kernel: 1 });
    let transactions = match handed {
        Handed::Groups(groups) => match groups.as_slice() {
            // Half of the loads of words side by side go the way that is for them.
            [group] if is_run(&job, group) && job.token % 2 == 1 => {
                unit.accept_run(job, group.lanes.base + u64::from(group.offsets[0]))
            }
            [group] => unit.accept_lanes(&group.lanes, &group.offsets),
            groups => unit.accept_groups(groups),
        },
        Handed::Lines(lines, texels) => unit.accept_texture(lines, *texels),
    };
    let nothing = match handed {
        Handed::Groups(groups) => groups.is_empty(),
        Handed::Lines(lines, _) => lines.is_empty(),
    };
    assert_eq!(transactions == 0, nothing);
}

fn is_run(job: &Job, group: &AccessGroup) -> bool {
    let Lanes { space, spread, .. } = group.lanes;
    space == Space::Global && spread == Spread::Consecutive && job.kind == JobKind::Load
}

fn job(token: u32, kind: JobKind) -> Job {
    Job { token, warp: 0, lanes: 32, kind, cache: CacheOp::Default, ready: 0, issued: 0 }
}

fn group(space: Space, bytes: u32, offset: impl Fn(u32) -> u32) -> AccessGroup {
    let base = if space == Space::Global { GLOBAL } else { 0 };
    let offsets = std::array::from_fn(|lane| offset(lane as u32));
    let (mask, spread) = (u32::MAX, Spread::of(&offsets, u32::MAX, bytes));
    AccessGroup {
        lanes: Lanes { space, bank: 3, base, mask, bytes, kind: AccessKind::Load, spread },
        offsets,
    }
}

fn words(space: Space, start: u32) -> Handed {
    Handed::Groups(vec![group(space, 4, |lane| start + 4 * lane)])
}

/// One access of each lane to a line of its own.
fn spread(space: Space, start: u32) -> Handed {
    Handed::Groups(vec![group(space, 4, |lane| start + 128 * lane)])
}

fn packets(bench: &Bench, kind: PacketKind) -> usize {
    bench.asked.iter().filter(|packet| packet.kind == kind).count()
}
