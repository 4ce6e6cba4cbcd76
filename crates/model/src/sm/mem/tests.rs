// SPDX-License-Identifier: MIT OR Apache-2.0
//! The memory unit between an issuer and a memory that answers every request after a while.

mod arrays;

use std::collections::{BTreeMap, VecDeque};

use warpwatt_base::SplitMix64;
use warpwatt_config::{Allocation, Config};
use warpwatt_exec::AccessKind;
use warpwatt_exec::stepping::{AccessGroup, Lanes};
use warpwatt_isa::{CacheOp, Space};

use super::{Done, Job, JobKind, MemCounters, MemoryUnit};
use crate::net::{Inbox, Kind, Outbox, Packet, exchange_all};
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
    let transactions = match handed {
        Handed::Groups(groups) => match groups.as_slice() {
            [group] => unit.accept_lanes(job, &group.lanes, &group.offsets),
            groups => unit.accept_groups(job, groups),
        },
        Handed::Lines(lines, texels) => unit.accept_texture(job, lines, *texels),
    };
    let nothing = match handed {
        Handed::Groups(groups) => groups.is_empty(),
        Handed::Lines(lines, _) => lines.is_empty(),
    };
    assert_eq!(transactions == 0, nothing);
}

fn job(token: u32, kind: JobKind) -> Job {
    let (cache, local_base) = (CacheOp::Default, crate::address::local_base(0, 0, 64));
    Job { token, warp: 0, lanes: 32, kind, cache, ready: 0, issued: 0, local_base, shared_row: 0, kernel: 1 }
}

fn group(space: Space, bytes: u32, offset: impl Fn(u32) -> u32) -> AccessGroup {
    let base = if space == Space::Global { GLOBAL } else { 0 };
    let lanes = Lanes { space, bank: 3, base, mask: u32::MAX, bytes, kind: AccessKind::Load };
    AccessGroup { lanes, offsets: std::array::from_fn(|lane| offset(lane as u32)) }
}

fn words(space: Space, start: u32) -> Handed {
    Handed::Groups(vec![group(space, 4, |lane| start + 4 * lane)])
}

/// One access of each lane to a line of its own.
fn spread(space: Space, start: u32) -> Handed {
    Handed::Groups(vec![group(space, 4, |lane| start + 128 * lane)])
}

fn packets(bench: &Bench, kind: Kind) -> usize {
    bench.asked.iter().filter(|packet| packet.kind == kind).count()
}

#[test]
fn a_hit_takes_the_latency_of_the_cache() {
    let mut bench = Bench::new(&Config::default());
    bench.run(&[(job(0, JobKind::Load), words(Space::Global, 0))]);
    let issued = bench.run(&[(job(1, JobKind::Load), words(Space::Global, 0))]);
    assert_eq!(bench.latency_of(1, issued), 1 + u64::from(bench.config.l1d.cycles));
    let counters = bench.unit.counters();
    assert_eq!((counters.l1d.reads, counters.l1d.misses, counters.l1d.read_hits), (2, 1, 1));
}

#[test]
fn a_miss_takes_the_way_to_memory_and_back() {
    let mut bench = Bench::new(&Config::default());
    let issued = bench.run(&[(job(0, JobKind::Load), words(Space::Global, 0))]);
    // Handed over, looked up, sent, under way, answered.
    let latency = bench.latency_of(0, issued);
    let least = 2 + u64::from(bench.config.noc.cycles) + bench.latency;
    assert!((least..least + 3).contains(&latency), "{latency} for {least}");
    assert_eq!(bench.asked.len(), 1);
    assert_eq!((bench.asked[0].words, bench.asked[0].lanes), (u32::MAX, 32));
}

#[test]
fn loads_of_a_line_on_its_way_wait_for_it_together() {
    let mut bench = Bench::new(&Config::default());
    let jobs: Vec<_> = (0..8).map(|token| (job(token, JobKind::Load), words(Space::Global, 0))).collect();
    bench.run(&jobs);
    assert_eq!(bench.asked.len(), 1);
    assert_eq!((bench.unit.counters().l1d.misses, bench.unit.counters().l1d.merges), (1, 7));
    assert!(bench.done.values().all(|&at| at == bench.done[&0]));
}

#[test]
fn more_loads_of_a_line_than_can_wait_are_held_up_until_it_comes() {
    let config = Config::default();
    let mut bench = Bench::new(&config);
    let count = config.l1d.merges + 2;
    let jobs: Vec<_> = (0..count).map(|token| (job(token, JobKind::Load), words(Space::Global, 0))).collect();
    bench.run(&jobs);
    let counters = bench.unit.counters();
    assert!(counters.l1d.fail_merges > 50);
    assert_eq!(counters.l1d.fail_merges, counters.lsu.blocked);
    assert_eq!(counters.l1d.read_hits, 2);
}

#[test]
fn misses_beyond_the_registers_are_held_up() {
    let mut config = Config::default();
    config.l1d.mshrs = 4;
    let mut bench = Bench::new(&config);
    bench.run(&[(job(0, JobKind::Load), spread(Space::Global, 0))]);
    let counters = bench.unit.counters();
    assert!(counters.l1d.fail_mshrs > 7 * 100);
    assert_eq!((counters.l1d.misses, packets(&bench, Kind::Read)), (32, 32));
}

#[test]
fn a_set_whose_ways_are_all_on_their_way_holds_misses_up_if_places_are_taken_with_the_miss() {
    // A distance that the hash does not spread.
    let same_set = || Handed::Groups(vec![group(Space::Global, 4, |lane| (lane % 8) << 20)]);
    let waits = |allocate, mshrs| {
        let mut config = Config::default();
        (config.l1d.allocate, config.l1d.mshrs) = (allocate, mshrs);
        let mut bench = Bench::new(&config);
        bench.run(&[(job(0, JobKind::Load), same_set())]);
        let counters = bench.unit.counters().l1d;
        assert_eq!((counters.misses, counters.fills, counters.evictions), (8, 8, 4));
        (counters.fail_ways, counters.fail_mshrs)
    };
    assert!(waits(Allocation::Miss, 64).0 > 100);
    assert_eq!(waits(Allocation::Fill, 64), (0, 0));
    assert!(waits(Allocation::Fill, 4).1 > 100);
}

#[test]
fn a_line_on_its_way_without_a_place_is_joined_and_changed() {
    let mut bench = Bench::new(&Config::default());
    let whole = || Handed::Groups(vec![group(Space::Local, 4, |_| 0)]);
    let mut part = group(Space::Local, 4, |_| 0);
    part.lanes.mask = 3;
    let jobs = [
        (job(0, JobKind::Load), whole()),
        (job(1, JobKind::Store), Handed::Groups(vec![part])),
        (job(2, JobKind::Store), whole()),
    ];
    bench.run(&jobs);
    assert_eq!((packets(&bench, Kind::Read), bench.unit.counters().l1d.fills), (1, 1));
    bench.unit.new_kernel(bench.now, false);
    bench.finish();
    assert_eq!(packets(&bench, Kind::Write), 1);
}

#[test]
fn a_larger_cache_holds_more_lines_until_a_kernel_has_the_usual_one_again() {
    let mut bench = Bench::new(&Config::default());
    let lines = |start: u32, large: bool, bench: &mut Bench| {
        bench.unit.new_kernel(bench.now, large);
        bench.done.clear();
        let jobs: Vec<_> = (0..2)
            .flat_map(|_| (0..8).map(|i| spread(Space::Global, start + i * 32 * 128)))
            .enumerate()
            .map(|(token, handed)| (job(token as u32, JobKind::Load), handed))
            .collect();
        let before = bench.unit.counters().l1d.read_hits;
        jobs.iter().for_each(|job| {
            bench.run(std::slice::from_ref(job));
        });
        bench.unit.counters().l1d.read_hits - before
    };
    // 256 lines twice: half of them or none are there again.
    assert_eq!(lines(0, true, &mut bench), 256);
    assert_eq!(lines(0, false, &mut bench), 0);
}

#[test]
fn a_full_miss_queue_holds_stores_up() {
    let mut config = Config::default();
    config.l1d.miss_queue = 1;
    config.clock.noc_mhz = 100;
    let mut bench = Bench::new(&config);
    bench.run(&[(job(0, JobKind::Store), spread(Space::Global, 0))]);
    assert!(bench.unit.counters().l1d.fail_queue > 100);
    assert!(bench.unit.counters().l1d.network > 100);
    assert_eq!(bench.outbox.counters.port_stalls, bench.unit.counters().l1d.network);
}

#[test]
fn a_store_drops_the_line_and_goes_to_memory() {
    let mut bench = Bench::new(&Config::default());
    bench.run(&[(job(0, JobKind::Load), words(Space::Global, 0))]);
    let mut half = group(Space::Global, 4, |lane| 4 * lane);
    half.lanes.mask = 0xffff;
    bench.run(&[(job(1, JobKind::Store), Handed::Groups(vec![half]))]);
    bench.run(&[(job(2, JobKind::Load), words(Space::Global, 0))]);
    let counters = bench.unit.counters();
    assert_eq!((counters.l1d.write_evictions, counters.l1d.misses, counters.l1d.read_hits), (1, 2, 0));
    let write = bench.asked.iter().find(|packet| packet.kind == Kind::Write).expect("a write");
    assert_eq!(write.words, 0xffff);
}

#[test]
fn stores_are_done_when_they_leave_and_pending_until_acknowledged() {
    let mut bench = Bench::new(&Config::default());
    let store = Job { warp: 5, ..job(0, JobKind::Store) };
    bench.cycle(|unit, now| hand(unit, Job { ready: now + 1, ..store }, &words(Space::Global, 64)));
    assert_eq!(bench.unit.pending_writes(5), 2);
    while bench.done.is_empty() {
        bench.cycle(|_, _| ());
    }
    assert_eq!((bench.now, bench.unit.pending_writes(5)), (3, 2));
    bench.finish();
    assert_eq!(bench.unit.pending_writes(5), 0);
    assert!(bench.now > bench.latency);
}

#[test]
fn loads_past_the_cache_ask_for_segments() {
    let mut bench = Bench::new(&Config::default());
    let scattered = Handed::Groups(vec![group(Space::Global, 4, |lane| lane % 4 * 32)]);
    let past = Job { cache: CacheOp::Cg, ..job(0, JobKind::Load) };
    let few = Handed::Groups(vec![group(Space::Global, 4, |lane| 256 + lane % 2 * 64)]);
    bench.run(&[(past, scattered), (Job { token: 1, ..past }, few)]);
    let asked: Vec<_> = bench.asked.iter().map(|packet| packet.words).collect();
    assert_eq!(asked, [u32::MAX, 0x00ff_00ff]);
    assert_eq!((bench.unit.counters().l1d.reads, bench.unit.counters().l1d.bypasses), (0, 2));

    let mut config = Config::default();
    config.l1d.global = false;
    let mut bench = Bench::new(&config);
    bench.run(&[
        (job(0, JobKind::Load), words(Space::Global, 0)),
        (job(1, JobKind::Load), words(Space::Local, 0)),
    ]);
    assert_eq!((bench.unit.counters().l1d.bypasses, bench.unit.counters().l1d.reads), (1, 32));
}

#[test]
fn local_stores_stay_until_a_kernel_starts() {
    let mut bench = Bench::new(&Config::default());
    let same = Handed::Groups(vec![group(Space::Local, 8, |_| 8)]);
    bench.run(&[(job(0, JobKind::Store), same.clone()), (job(1, JobKind::Load), same)]);
    let counters = bench.unit.counters();
    assert_eq!((counters.l1d.writes, counters.l1d.read_hits, bench.asked.len()), (2, 2, 0));
    bench.unit.new_kernel(bench.now, false);
    assert!(!bench.unit.is_idle());
    bench.finish();
    assert_eq!((packets(&bench, Kind::Write), bench.unit.counters().l1d.write_backs), (2, 2));
}

#[test]
fn a_local_line_written_in_part_is_fetched_and_written_back_when_it_makes_room() {
    let mut config = Config::default();
    config.l1d.ways = 1;
    config.shared.bytes = config.sm.onchip_bytes - 128;
    let mut bench = Bench::new(&config);
    let mut part = group(Space::Local, 4, |_| 0);
    part.lanes.mask = 3;
    bench.run(&[(job(0, JobKind::Store), Handed::Groups(vec![part]))]);
    assert_eq!(packets(&bench, Kind::Read), 1);
    bench.run(&[(job(1, JobKind::Load), words(Space::Global, 0))]);
    assert_eq!((packets(&bench, Kind::Read), packets(&bench, Kind::Write)), (2, 1));
}

#[test]
fn atomics_wait_for_old_values_and_reductions_for_nothing() {
    let mut bench = Bench::new(&Config::default());
    let one_word = Handed::Groups(vec![group(Space::Global, 4, |lane| lane / 16 * 4)]);
    let start =
        bench.run(&[(job(0, JobKind::Atomic), one_word.clone()), (job(1, JobKind::Reduction), one_word)]);
    assert!(bench.latency_of(0, start) > bench.latency);
    assert_eq!(bench.latency_of(1, start + 1), 1);
    let rounds: Vec<_> =
        bench.asked.iter().map(|packet| (packet.kind, packet.words, packet.rounds)).collect();
    assert_eq!(rounds, [(Kind::Atomic, 3, 16), (Kind::Reduction, 3, 16)]);
}

#[test]
fn conflicts_of_banks_hold_up_what_follows() {
    let mut bench = Bench::new(&Config::default());
    let stride = Handed::Groups(vec![group(Space::Shared, 4, |lane| lane * 16)]);
    let start =
        bench.run(&[(job(0, JobKind::Load), stride), (job(1, JobKind::Load), words(Space::Shared, 0))]);
    let cycles = u64::from(bench.config.shared.cycles);
    assert_eq!(bench.latency_of(0, start), 1 + 3 + cycles);
    assert_eq!(bench.latency_of(1, start), 1 + 4 + cycles);
    let counters = bench.unit.counters();
    assert_eq!((counters.shared.reads, counters.shared.conflicts, counters.lsu.busy), (2, 3, 5));
}

#[test]
fn indexed_constants_are_read_one_place_a_cycle() {
    let mut bench = Bench::new(&Config::default());
    let four = Handed::Groups(vec![group(Space::Const, 4, |lane| lane % 4 * 4)]);
    bench.run(&[(job(0, JobKind::Load), four.clone())]);
    // The second level asks for a line of its own, which is two of these.
    assert_eq!((bench.asked.len(), bench.asked[0].words), (1, u32::MAX));
    let start = bench.run(&[(job(1, JobKind::Load), four)]);
    assert_eq!(bench.latency_of(1, start), 1 + 3 + u64::from(bench.config.constant.cycles));
}

#[test]
fn a_warp_whose_operand_is_missing_is_woken_when_it_comes() {
    let mut bench = Bench::new(&Config::default());
    let address = crate::address::constant(1, 0, 0x20);
    let ask = |unit: &mut MemoryUnit, now, warp| unit.constant(now, address, warp, 32).is_some();
    let mut there = true;
    bench.cycle(|unit, now| there = ask(unit, now, 7) || ask(unit, now, 9));
    assert!(!there);
    let mut woken = 0;
    while woken == 0 {
        bench.cycle(|_, _| ());
        woken = bench.unit.take_woken();
        assert!(bench.now < 1000);
    }
    assert_eq!(woken, 1 << 7 | 1 << 9);
    bench.cycle(|unit, now| there = ask(unit, now, 7) && ask(unit, now, 9));
    assert!(there);
    let counters = bench.unit.counters();
    assert_eq!((counters.constant.operands, counters.constant.misses, counters.constant.merges), (2, 1, 1));
    assert_eq!(counters.constant.hits, 0);
}

#[test]
fn warps_that_take_each_others_constants_away_get_theirs_all_the_same() {
    let mut config = Config::default();
    (config.constant.sets, config.constant.ways, config.constant.mshrs) = (1, 1, 1);
    let mut bench = Bench::new(&config);
    let operands = |warp: u64| [0, 1].map(|i| crate::address::constant(1, 0, 0) + (2 * warp + i) * 64);
    let mut left: Vec<u64> = (0..8).collect();
    let mut asleep = 0u64;
    while !left.is_empty() {
        bench.cycle(|unit, now| {
            left.retain(|&warp| {
                let asks = asleep >> warp & 1 == 0;
                let there =
                    asks && operands(warp).map(|at| unit.constant(now, at, warp as u8, 32)) == [Some(now); 2];
                asleep |= u64::from(asks && !there) << warp;
                !there
            });
        });
        asleep &= !bench.unit.take_woken();
        assert!(bench.now < 20_000, "still waiting: {left:?}");
    }
}

#[test]
fn texture_accesses_leave_in_order_when_their_lines_have_come() {
    let mut bench = Bench::new(&Config::default());
    let lines = |from: u64| Handed::Lines((from..from + 4).map(|line| GLOBAL + line * 128).collect(), 32);
    let jobs = [
        (job(0, JobKind::Texture), lines(0)),
        (job(1, JobKind::Texture), lines(100)),
        (job(2, JobKind::Texture), lines(0)),
    ];
    let start = bench.run(&jobs);
    assert!(bench.done[&0] < bench.done[&1] && bench.done[&1] < bench.done[&2]);
    assert_eq!((bench.unit.counters().texture.misses, bench.unit.counters().texture.hits), (8, 4));
    assert!(bench.latency_of(0, start) > bench.latency + u64::from(bench.config.texture.cycles));
    let start = bench.run(&[(job(3, JobKind::Texture), lines(0))]);
    assert_eq!(bench.latency_of(3, start), 1 + 3 + u64::from(bench.config.texture.cycles));
}

#[test]
fn a_full_fragment_queue_holds_up_what_follows() {
    let mut config = Config::default();
    config.texture.fragments = 2;
    let mut bench = Bench::new(&config);
    let lines = Handed::Lines((0..8).map(|line| GLOBAL + line * 128).collect(), 32);
    bench.run(&[(job(0, JobKind::Texture), lines.clone()), (job(1, JobKind::Texture), lines)]);
    assert!(bench.unit.counters().texture.fail_fragments > 3 * 100);
}

#[test]
fn an_instruction_in_several_spaces_is_done_when_all_of_it_is() {
    let mut bench = Bench::new(&Config::default());
    let mut shared = group(Space::Shared, 4, |lane| 4 * lane);
    let mut global = group(Space::Global, 4, |lane| 4 * lane);
    (shared.lanes.mask, global.lanes.mask) = (0xffff, 0xffff_0000);
    let start = bench.run(&[(job(0, JobKind::Load), Handed::Groups(vec![shared, global]))]);
    assert!(bench.latency_of(0, start) > bench.latency);
    assert_eq!((bench.unit.counters().shared.reads, bench.unit.counters().l1d.misses), (1, 1));
}

#[test]
fn a_second_slot_lets_shared_memory_and_the_cache_work_side_by_side() {
    let run = |ldst| {
        let mut config = Config::default();
        config.units.ldst = ldst;
        let mut bench = Bench::new(&config);
        let jobs = [
            (job(0, JobKind::Load), spread(Space::Global, 0)),
            (job(1, JobKind::Load), words(Space::Shared, 0)),
        ];
        bench.run(&jobs);
        bench.done[&1]
    };
    let cycles = u64::from(Config::default().shared.cycles);
    assert!(run(1) >= 32 + cycles && run(2) < 8 + cycles);
}

/// Random instructions of all kinds, in a few lines so that they meet.
fn random_jobs(random: &mut SplitMix64, count: u32) -> Vec<(Job, Handed)> {
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

fn random_config(random: &mut SplitMix64) -> Config {
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
fn play(
    config: &Config,
    jobs: &[(Job, Handed)],
    every_cycle: bool,
    seed: u64,
) -> (MemCounters, BTreeMap<u32, u64>, Bench) {
    play_with(config, jobs, every_cycle, seed, |_| ())
}

/// Plays the jobs on a unit that `change` has prepared.
fn play_with(
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
        assert_eq!(packets(&bench, Kind::Read) as u64, reads);
        assert_eq!(
            packets(&bench, Kind::Atomic) + packets(&bench, Kind::Reduction),
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
