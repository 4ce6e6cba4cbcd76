// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random traffic: all of it is answered, and skipping clocks changes nothing.

use warpwatt_base::SplitMix64;
use warpwatt_config::Config;

use super::{Answer, Rig};
use crate::net::PacketKind;
use crate::partition::{DramCounters, L2Counters};

const SMS: usize = 3;

fn random_config(random: &mut SplitMix64) -> Config {
    let mut config = Config::default();
    let mut pick = |low: u32, high: u32| low + random.below(high - low + 1);
    // Where a clock is a cycle, requests that hit are taken one after the other.
    config.clock.l2_mhz = [700, 350, 1400, 650, 700, 700][pick(0, 5) as usize];
    config.clock.dram_mhz = [924, 700, 500, 1900][pick(0, 3) as usize];
    config.noc.buffer_flits = pick(8, 40);
    let l2 = &mut config.l2;
    (l2.sets, l2.ways) = (pick(1, 40), pick(1, 4));
    (l2.mshrs, l2.merges, l2.queue) = (pick(1, 16), pick(1, 4), pick(1, 8));
    (l2.cycles, l2.atomic_cycles) = (pick(1, 80), pick(1, 4));
    l2.port_bytes = [8, 32, 64, 128][pick(0, 3) as usize];
    let dram = &mut config.dram;
    (dram.channels, dram.queue, dram.return_queue) = (pick(1, 3), pick(1, 64), pick(1, 8));
    dram.cycles = pick(1, 120);
    dram.bus_bytes = [2, 8, 16][pick(0, 2) as usize];
    config
}

fn fill(rig: &mut Rig, random: &mut SplitMix64, count: u32) {
    // Few lines, most of which hit, and no atomics, or all that there is.
    let (kinds, lines) = if random.chance(2) { (3, 12) } else { (5, 300) };
    for tag in 0..count {
        let kind = [
            PacketKind::Read,
            PacketKind::Read,
            PacketKind::Write,
            PacketKind::Atomic,
            PacketKind::Reduction,
        ][random.below(kinds) as usize];
        let words = if random.chance(2) { u32::MAX } else { random.next_u32() | 1 };
        let mut packet = rig.packet(kind, u64::from(random.below(lines)), words);
        packet.tag = tag;
        packet.rounds = 1 + random.below(8) as u8;
        rig.queues[random.below(SMS as u32) as usize].push_back(packet);
    }
}

struct Outcome {
    answers: Vec<Answer>,
    l2: L2Counters,
    dram: DramCounters,
    /// Whether nothing was under way, now and then.
    idle: Vec<bool>,
    stalls: [u64; 2],
}

fn run(seed: u64, step: bool) -> Outcome {
    let mut random = SplitMix64::new(seed);
    let mut rig = Rig::new(random_config(&mut random), SMS);
    let epoch = u64::from(rig.config.noc.cycles);
    let mut idle = Vec::new();
    rig.step = step;
    for _ in 0..4 {
        fill(&mut rig, &mut random, 150);
        rig.deaf = random.chance(2);
        rig.run_to(rig.now + epoch * u64::from(random.below(40)));
        rig.deaf = false;
        for _ in 0..random.below(100) {
            rig.run_to(rig.now + epoch * 2);
            idle.push(rig.partition.is_idle());
        }
        rig.partition.settle(rig.now, true);
    }
    rig.run_to(4000 * epoch);
    assert!(rig.partition.is_idle(), "seed {seed}: {:?}", rig.partition.waiting());
    assert_eq!(rig.partition.next(), u64::MAX);
    rig.partition.settle(rig.now, true);
    let traffic = &rig.outbox[0].counters;
    let stalls = [traffic.port_stalls, traffic.credit_stalls];
    let (l2, dram) = (rig.partition.l2(), rig.partition.dram());
    Outcome { answers: rig.answers, l2, dram, idle, stalls }
}

#[test]
fn skipping_clocks_changes_nothing() {
    for seed in 0..60 {
        let (skipped, stepped) = (run(seed, false), run(seed, true));
        assert_eq!(skipped.l2, stepped.l2, "seed {seed}");
        assert_eq!(skipped.dram, stepped.dram, "seed {seed}");
        assert_eq!((skipped.stalls, skipped.idle), (stepped.stalls, stepped.idle), "seed {seed}");
        assert!(skipped.answers == stepped.answers, "seed {seed}: answers differ");
    }
}

#[test]
fn every_request_is_answered_once_and_accounted_for() {
    for seed in 100..160 {
        let Outcome { answers, l2, dram, .. } = run(seed, false);
        let mut tags: Vec<_> = answers.iter().map(|answer| answer.packet.tag).collect();
        tags.sort_unstable();
        assert_eq!(tags, (0..150).flat_map(|tag| [tag; 4]).collect::<Vec<_>>(), "seed {seed}");
        let requests = l2.reads + l2.writes + l2.atomics;
        assert_eq!(requests, 600);
        let hits = l2.read_hits + l2.write_hits + l2.atomic_hits;
        assert_eq!(requests, hits + l2.misses + l2.merges + l2.allocations);
        assert_eq!((l2.replies, l2.intervals.total(), l2.latencies.total()), (600, 600, 600));
        assert_eq!((l2.fills, dram.line_reads, dram.line_writes), (l2.misses, l2.misses, l2.write_backs));
    }
}
