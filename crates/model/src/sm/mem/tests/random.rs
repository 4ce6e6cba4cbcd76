// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random instructions on random memory units.

use super::*;

/// Random instructions of all kinds, in a few lines so that they meet.
pub(super) fn random_jobs(random: &mut SplitMix64, count: u32) -> Vec<(Job, Handed)> {
    let mut jobs = Vec::new();
    for token in 0..count {
        let kind = [
            JobKind::Load,
            JobKind::Load,
            JobKind::Load,
            JobKind::Store,
            JobKind::Atomic,
            JobKind::Reduction,
        ][random.below(6) as usize];
        let cache = [CacheOp::Default, CacheOp::Default, CacheOp::Cg, CacheOp::Ca][random.below(4) as usize];
        let mut job = Job { cache, warp: random.below(4) as u8, ..job(token, kind) };
        if random.chance(6) {
            job.kind = JobKind::Texture;
            let lines = (0..random.below(6)).map(|_| GLOBAL + u64::from(random.below(64)) * 128).collect();
            jobs.push((job, Handed::Lines(lines, 32)));
            continue;
        }
        let groups = (0..[0, 1, 1, 1, 1, 2][random.below(6) as usize]).map(|_| {
            let spaces = [Space::Global, Space::Global, Space::Shared, Space::Local, Space::Const];
            let space = spaces[random.below(if kind == JobKind::Load { 5 } else { 4 }) as usize];
            let bytes = 4 << random.below(3);
            let (start, stride) = (random.below(64) * bytes, random.below(40));
            let any = random.next_u64();
            let mut group = match random.below(4) {
                0 => group(space, bytes, |_| start),
                1 => group(space, bytes, |lane| start + lane * bytes),
                2 => group(space, bytes, |lane| start + lane * bytes * stride),
                _ => group(space, bytes, |lane| (any >> lane) as u32 % 512 * bytes),
            };
            group.lanes.mask = if random.chance(2) { u32::MAX } else { random.next_u32() | 1 };
            group
        });
        jobs.push((job, Handed::Groups(groups.collect())));
    }
    jobs
}

pub(super) fn random_config(random: &mut SplitMix64) -> Config {
    let mut config = Config::default();
    let mut pick = |choices: &[u32]| choices[random.below(choices.len() as u32) as usize];
    config.units.ldst = pick(&[1, 1, 2, 4]);
    config.rf.collectors_mem = pick(&[1, 4, 8]);
    config.l1d.mshrs = pick(&[1, 2, 32]);
    config.l1d.merges = pick(&[1, 2, 8]);
    config.l1d.miss_queue = pick(&[1, 2, 8]);
    config.shared.bytes = pick(&[49152, 16384, 65536 - 512]);
    config.constant.mshrs = pick(&[1, 2]);
    config.constant.sets = pick(&[1, 64]);
    config.texture.fragments = pick(&[1, 3, 128]);
    config.texture.mshrs = pick(&[1, 3, 32]);
    config.texture.line_bytes = pick(&[32, 128]);
    config.noc.buffer_flits = pick(&[5, 8, 40]);
    config.clock.noc_mhz = pick(&[200, 700, 1400]);
    config
}

/// What came of random instructions: counters, and when each was done.
pub(super) fn play(
    config: &Config,
    jobs: &[(Job, Handed)],
    every_cycle: bool,
    seed: u64,
) -> (MemCounters, BTreeMap<u32, u64>, Bench) {
    play_with(config, jobs, every_cycle, seed, |_| ())
}

/// Plays the jobs on a unit that `change` has prepared.
pub(super) fn play_with(
    config: &Config,
    jobs: &[(Job, Handed)],
    every_cycle: bool,
    seed: u64,
    prepare: impl FnOnce(&mut MemoryUnit),
) -> (MemCounters, BTreeMap<u32, u64>, Bench) {
    let mut random = SplitMix64::new(seed);
    let mut bench = Bench::new(config);
    prepare(&mut bench.unit);
    bench.every_cycle = every_cycle;
    let mut left = jobs.iter();
    let mut next = left.next();
    let mut asleep = 0u64;
    while next.is_some() {
        let (pause, constant) = (random.chance(3), random.below(30));
        bench.cycle(|unit, now| {
            let warp = (constant % 4) as u8;
            if constant < 8 && asleep >> warp & 1 == 0 {
                let there = unit.constant(now, crate::address::constant(1, 0, constant * 64), warp, 32);
                asleep |= u64::from(there.is_none()) << warp;
            }
            if let Some((job, handed)) = next
                && unit.has_room()
                && !pause
            {
                hand(unit, Job { issued: now, ready: now + 3, ..*job }, handed);
                next = left.next();
            }
        });
        asleep &= !bench.unit.take_woken();
    }
    bench.finish();
    (bench.unit.counters(), bench.done.clone(), bench)
}

#[test]
fn every_instruction_is_done_once_whatever_the_configuration() {
    let mut random = SplitMix64::new(11);
    for round in 0..60 {
        let config = random_config(&mut random);
        let jobs = random_jobs(&mut random, 200);
        let (counters, done, bench) = play(&config, &jobs, false, round);
        assert_eq!(done.len(), jobs.len());
        assert_eq!(counters.lsu.instructions, jobs.len() as u64);
        assert_eq!(counters.l1d.reads, counters.l1d.read_hits + counters.l1d.misses + counters.l1d.merges);
        assert_eq!(counters.texture.reads, counters.texture.hits + counters.texture.misses);
        let reads = counters.l1d.misses
            + counters.l1d.write_fetches
            + counters.l1d.bypasses
            + counters.constant.misses
            + counters.texture.misses;
        assert_eq!(packets(&bench, PacketKind::Read) as u64, reads);
        assert_eq!(
            packets(&bench, PacketKind::Atomic) + packets(&bench, PacketKind::Reduction),
            counters.l1d.atomics as usize
        );
        assert_eq!(bench.outbox.counters.packets, bench.asked.len() as u64);
        assert!((0..64).all(|warp| bench.unit.pending_writes(warp) == 0));
        assert!(bench.unit.waiting().is_empty(), "{:?}", bench.unit.waiting());
    }
}

#[test]
fn skipping_cycles_changes_nothing() {
    let mut random = SplitMix64::new(5);
    for round in 0..60 {
        let config = random_config(&mut random);
        let jobs = random_jobs(&mut random, 150);
        let (skipped, skipped_done, skipping) = play(&config, &jobs, false, round);
        let (stepped, stepped_done, stepping) = play(&config, &jobs, true, round);
        assert_eq!(skipped_done, stepped_done);
        assert_eq!(skipped, stepped);
        assert_eq!(skipping.outbox.counters, stepping.outbox.counters);
        assert_eq!(skipping.asked, stepping.asked);
        assert!(skipping.steps < stepping.steps, "{} of {}", skipping.steps, stepping.steps);
    }
}
