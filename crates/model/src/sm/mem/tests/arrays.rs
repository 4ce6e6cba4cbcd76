// SPDX-License-Identifier: MIT OR Apache-2.0
//! Accesses that a technique has wait in a data array, and the rows and words that it is shown.

use super::random::{play, play_with, random_config, random_jobs};
use super::*;
use crate::cache::Use;
use crate::cache::data::tests::{Seen, slow};

/// When the second of two equal instructions is done, after its issue. `prepare` comes between them.
fn second(job: Job, handed: &Handed, prepare: impl FnOnce(&mut MemoryUnit)) -> u64 {
    let mut bench = Bench::new(&Config::default());
    bench.run(&[(job, handed.clone())]);
    prepare(&mut bench.unit);
    let issued = bench.run(&[(Job { token: 99, ..job }, handed.clone())]);
    bench.latency_of(99, issued)
}

/// When an instruction that has its lines fetched is done, after its issue.
fn first(job: Job, handed: &Handed, prepare: impl FnOnce(&mut MemoryUnit)) -> u64 {
    let mut bench = Bench::new(&Config::default());
    prepare(&mut bench.unit);
    let issued = bench.run(&[(job, handed.clone())]);
    bench.latency_of(job.token, issued)
}

#[test]
fn hits_have_their_data_when_the_array_serves_them() {
    let load = job(0, JobKind::Load);
    let global = words(Space::Global, 0);
    let hit = second(load, &global, |_| ());
    assert_eq!(second(load, &global, |unit| unit.l1d.data.add_site(slow(Use::Read, 5))), hit + 5);
    let shared = words(Space::Shared, 0);
    let hit = second(load, &shared, |_| ());
    assert_eq!(second(load, &shared, |unit| unit.shared.data.add_site(slow(Use::Read, 4))), hit + 4);
    let constant = Handed::Groups(vec![group(Space::Const, 4, |lane| lane % 2 * 4)]);
    let hit = second(load, &constant, |_| ());
    assert_eq!(second(load, &constant, |unit| unit.constant.data.add_site(slow(Use::Read, 7))), hit + 7);
    let (texture, lines) = (job(0, JobKind::Texture), Handed::Lines(vec![GLOBAL, GLOBAL + 128], 32));
    let hit = second(texture, &lines, |_| ());
    assert_eq!(second(texture, &lines, |unit| unit.texture.data.add_site(slow(Use::Read, 3))), hit + 3);
}

#[test]
fn those_who_wait_for_a_line_have_it_when_the_array_has_taken_it() {
    let load = job(0, JobKind::Load);
    let global = words(Space::Global, 0);
    let miss = first(load, &global, |_| ());
    assert_eq!(first(load, &global, |unit| unit.l1d.data.add_site(slow(Use::Fill, 9))), miss + 9);
    let constant = Handed::Groups(vec![group(Space::Const, 4, |_| 0)]);
    let miss = first(load, &constant, |_| ());
    assert_eq!(first(load, &constant, |unit| unit.constant.data.add_site(slow(Use::Fill, 6))), miss + 6);
    let (texture, lines) = (job(0, JobKind::Texture), Handed::Lines(vec![GLOBAL], 32));
    let miss = first(texture, &lines, |_| ());
    assert_eq!(first(texture, &lines, |unit| unit.texture.data.add_site(slow(Use::Fill, 2))), miss + 2);
}

#[test]
fn nobody_waits_for_stores_and_write_backs() {
    let store = job(0, JobKind::Store);
    for space in [Space::Local, Space::Shared] {
        let handed = Handed::Groups(vec![group(space, 4, |_| 8)]);
        let done = second(store, &handed, |_| ());
        let slowly = second(store, &handed, |unit| {
            unit.l1d.data.add_site(slow(Use::Write, 50));
            unit.l1d.data.add_site(slow(Use::WriteBack, 50));
            unit.shared.data.add_site(slow(Use::Write, 50));
        });
        assert_eq!(slowly, done, "{space:?}");
    }
    // An atomic has to read first.
    let (atomic, words) = (job(0, JobKind::Atomic), words(Space::Shared, 0));
    let done = second(atomic, &words, |_| ());
    assert_eq!(second(atomic, &words, |unit| unit.shared.data.add_site(slow(Use::Modify, 5))), done + 5);
}

#[test]
fn a_kernels_start_shows_the_lines_that_are_written_back() {
    let mut bench = Bench::new(&Config::default());
    bench.unit.l1d.data.add_site(slow(Use::Read, 0));
    let local = Handed::Groups(vec![group(Space::Local, 8, |_| 8)]);
    bench.run(&[(job(0, JobKind::Store), local)]);
    bench.unit.new_kernel(bench.now, false);
    bench.finish();
    assert_eq!(bench.unit.l1d.data.seen(), Seen { accesses: 4, lanes: 128, rows: 4, words: 128, settled: 0 });
}

#[test]
fn a_constant_operand_is_there_when_the_array_serves_it() {
    let mut bench = Bench::new(&Config::default());
    bench.unit.constant.data.add_site(slow(Use::Read, 8));
    let address = crate::address::constant(1, 0, 0x20);
    let mut there = None;
    for _ in 0..1000 {
        bench.cycle(|unit, now| there = unit.constant(now, address, 7, 5).map(|at| at - now));
        if there.is_some() {
            break;
        }
    }
    assert_eq!(there, Some(8));
    let seen = bench.unit.constant.data.seen();
    // The line of 64 bytes, then a word for 5 lanes.
    assert_eq!(seen, Seen { accesses: 2, lanes: 37, rows: 2, words: 17, settled: 0 });
    assert_eq!(bench.unit.counters().constant.lanes, 37);
}

#[test]
fn shared_memory_shows_each_row_with_its_words() {
    let seen = |bytes, stride: u32, mask| {
        let mut bench = Bench::new(&Config::default());
        bench.unit.shared.data.add_site(slow(Use::Read, 0));
        let mut group = group(Space::Shared, bytes, |lane| lane * stride);
        group.lanes.mask = mask;
        bench.run(&[(job(0, JobKind::Load), Handed::Groups(vec![group]))]);
        let Seen { rows, words, .. } = bench.unit.shared.data.seen();
        (rows, words)
    };
    assert_eq!(seen(4, 0, u32::MAX), (1, 1));
    assert_eq!(seen(4, 4, u32::MAX), (1, 32));
    assert_eq!(seen(4, 8, u32::MAX), (2, 32));
    assert_eq!(seen(8, 8, u32::MAX), (2, 64));
    assert_eq!(seen(16, 1024, 0xff), (8, 32));
    assert_eq!(seen(4, 1024, u32::MAX), (32, 32));
}

#[test]
fn rows_of_different_blocks_are_different_rows() {
    let intervals = |warp| {
        let mut bench = Bench::new(&Config::default());
        bench.unit.shared.data.add_site(slow(Use::Read, 0));
        let load = job(0, JobKind::Load);
        bench.run(&[
            (load, words(Space::Shared, 0)),
            (Job { token: 1, warp, ..load }, words(Space::Shared, 128)),
            (Job { token: 2, ..load }, words(Space::Shared, 64)),
        ]);
        bench.unit.shared.data.frame_intervals().total()
    };
    // The third touches rows 0 and 1, of which the second has touched one or none.
    assert_eq!((intervals(0), intervals(1)), (2, 1));
}

/// Puts a technique into every array.
fn everywhere(unit: &mut MemoryUnit, usage: Use, wait: u64) {
    unit.l1d.data.add_site(slow(usage, wait));
    unit.shared.data.add_site(slow(usage, wait));
    unit.constant.data.add_site(slow(usage, wait));
    unit.texture.data.add_site(slow(usage, wait));
}

#[test]
fn a_technique_without_effect_changes_nothing() {
    let mut random = SplitMix64::new(9);
    for round in 0..20 {
        let config = random_config(&mut random);
        let jobs = random_jobs(&mut random, 150);
        let (without, without_done, _) = play(&config, &jobs, false, round);
        let (with, with_done, _) =
            play_with(&config, &jobs, false, round, |unit| everywhere(unit, Use::Read, 0));
        assert_eq!(without, with);
        assert_eq!(without_done, with_done);
    }
}

#[test]
fn skipping_cycles_changes_nothing_with_waits() {
    let mut random = SplitMix64::new(3);
    for round in 0..20 {
        let config = random_config(&mut random);
        let jobs = random_jobs(&mut random, 150);
        let prepare = |unit: &mut MemoryUnit| {
            everywhere(unit, Use::Read, 3);
            everywhere(unit, Use::Fill, 11);
        };
        let (skipped, skipped_done, skipping) = play_with(&config, &jobs, false, round, prepare);
        let (stepped, stepped_done, _) = play_with(&config, &jobs, true, round, prepare);
        assert_eq!(skipped, stepped);
        assert_eq!(skipped_done, stepped_done);
        assert_eq!(skipped_done.len(), jobs.len());
        assert!(skipping.unit.waiting().is_empty());
    }
}
