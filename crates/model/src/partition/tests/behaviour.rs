// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the slice does with single requests.

use warpwatt_config::Config;

use super::{Rig, one_channel};
use crate::cache::Use;
use crate::cache::data::tests::slow;
use crate::net::PacketKind;

const ALL: u32 = u32::MAX;

/// All clocks alike, so that latencies add up exactly.
fn plain() -> Config {
    let mut config = one_channel();
    config.clock.l2_mhz = config.clock.core_mhz;
    config.clock.dram_mhz = config.clock.core_mhz;
    config
}

#[test]
fn a_hit_is_answered_after_the_latency_of_the_slice() {
    let mut rig = Rig::new(plain(), 1);
    let read = rig.packet(PacketKind::Read, 5, ALL);
    rig.time(read);
    assert_eq!(rig.time(read), u64::from(rig.config.l2.cycles));
    assert_eq!((rig.partition.l2().read_hits, rig.partition.l2().misses), (1, 1));
}

#[test]
fn a_slower_slice_takes_its_own_clocks() {
    let mut config = plain();
    config.clock.l2_mhz = config.clock.core_mhz / 2;
    let mut rig = Rig::new(config, 1);
    let read = rig.packet(PacketKind::Read, 5, ALL);
    rig.time(read);
    let clocks = u64::from(rig.config.l2.cycles);
    assert_eq!(rig.time(read), 2 * clocks);
}

#[test]
fn a_miss_costs_the_memory_on_top_of_a_hit() {
    let mut rig = Rig::new(plain(), 1);
    let read = rig.packet(PacketKind::Read, 5, ALL);
    let (l2, dram) = (rig.config.l2.clone(), rig.config.dram.clone());
    // A line is two bursts of eight beats, two clocks each.
    let memory = dram.t_rcd + dram.t_ccdl + dram.t_cl + 2 + dram.cycles;
    assert_eq!(rig.time(read), u64::from(l2.cycles + memory));
}

#[test]
fn hits_follow_each_other_as_fast_as_the_data_array_moves_lines() {
    let mut config = plain();
    config.noc.flit_bytes = 256;
    config.noc.buffer_flits = 1024;
    for (port_bytes, clocks) in [(32, 4), (64, 2), (128, 1)] {
        config.l2.port_bytes = port_bytes;
        let mut rig = Rig::new(config.clone(), 1);
        let lines: Vec<_> = (0..16).map(|line| rig.packet(PacketKind::Read, line, ALL)).collect();
        rig.ask(&lines);
        let answers = rig.ask(&lines);
        assert_eq!(rig.partition.l2().read_hits, 16);
        assert_eq!(answers[15].sent - answers[0].sent, 15 * clocks);
    }
}

#[test]
fn a_few_words_take_the_data_array_for_one_clock() {
    let mut rig = Rig::new(plain(), 1);
    let read = rig.packet(PacketKind::Read, 5, 0b11);
    rig.time(read);
    let before = rig.partition.l2();
    rig.time(read);
    assert_eq!(rig.partition.l2().since(&before).array_reads, 1);
    let both_halves = rig.packet(PacketKind::Read, 5, 1 << 31 | 1);
    let before = rig.partition.l2();
    rig.time(both_halves);
    assert_eq!(rig.partition.l2().since(&before).array_reads, 2);
}

#[test]
fn requests_for_a_line_on_its_way_are_merged() {
    let mut rig = Rig::new(plain(), 1);
    let read = rig.packet(PacketKind::Read, 5, ALL);
    let answers = rig.ask(&[read; 3]);
    let l2 = rig.partition.l2();
    assert_eq!((l2.misses, l2.merges, l2.read_hits, l2.fills), (1, 2, 0, 1));
    assert!(answers.iter().all(|answer| answer.packet.kind == PacketKind::Data));
    assert_eq!(rig.partition.dram().line_reads, 1);
}

#[test]
fn too_many_requests_for_one_line_wait_at_the_head() {
    let mut config = plain();
    config.l2.merges = 2;
    let mut rig = Rig::new(config, 1);
    let read = rig.packet(PacketKind::Read, 5, ALL);
    rig.ask(&[read; 4]);
    let l2 = rig.partition.l2();
    assert_eq!((l2.misses, l2.merges, l2.read_hits), (1, 1, 2));
    assert!(l2.blocked_merge > 20);
}

#[test]
fn misses_beyond_the_registers_wait_at_the_head() {
    let mut config = plain();
    config.l2.mshrs = 2;
    let mut rig = Rig::new(config, 1);
    let lines: Vec<_> = (0..3).map(|line| rig.packet(PacketKind::Read, line, ALL)).collect();
    rig.ask(&lines);
    assert!(rig.partition.l2().blocked_mshr > 20);
}

#[test]
fn misses_beyond_the_ways_of_a_set_wait_at_the_head() {
    let mut config = plain();
    (config.l2.sets, config.l2.ways) = (4, 1);
    let mut rig = Rig::new(config, 1);
    let lines = [rig.packet(PacketKind::Read, 0, ALL), rig.packet(PacketKind::Read, 4, ALL)];
    rig.ask(&lines);
    assert!(rig.partition.l2().blocked_ways > 20);
    assert_eq!(rig.partition.l2().evictions, 1);
}

#[test]
fn a_whole_line_is_written_without_being_fetched() {
    let mut rig = Rig::new(plain(), 1);
    let write = rig.packet(PacketKind::Write, 5, ALL);
    assert_eq!(rig.time(write), u64::from(rig.config.l2.cycles));
    rig.rest();
    let l2 = rig.partition.l2();
    assert_eq!((l2.writes, l2.allocations, l2.misses, l2.fills), (1, 1, 0, 0));
    assert_eq!(rig.partition.dram().reads, 0);
}

#[test]
fn a_whole_line_is_fetched_before_it_is_written_where_the_gpu_does_so() {
    for (write_fetch, fetched) in [(false, 0), (true, 1)] {
        let mut config = plain();
        config.l2.write_fetch = write_fetch;
        let mut rig = Rig::new(config, 1);
        let write = rig.packet(PacketKind::Write, 5, ALL);
        assert_eq!(rig.time(write), u64::from(rig.config.l2.cycles));
        rig.rest();
        let l2 = rig.partition.l2();
        assert_eq!((l2.writes, l2.partial_fetches, l2.allocations), (1, fetched, 1 - fetched));
        assert_eq!(rig.partition.dram().reads > 0, write_fetch);
    }
}

#[test]
fn a_part_of_a_line_is_written_after_its_fetch_but_acknowledged_at_once() {
    let mut rig = Rig::new(plain(), 1);
    let write = rig.packet(PacketKind::Write, 5, 0xff);
    assert_eq!(rig.time(write), u64::from(rig.config.l2.cycles));
    rig.rest();
    let l2 = rig.partition.l2();
    assert_eq!((l2.writes, l2.partial_fetches, l2.misses, l2.fills), (1, 1, 1, 1));
    let read = rig.packet(PacketKind::Read, 5, ALL);
    assert_eq!(rig.time(read), u64::from(rig.config.l2.cycles));
}

#[test]
fn changed_lines_are_written_back_when_they_make_room_and_others_are_not() {
    let mut config = plain();
    (config.l2.sets, config.l2.ways) = (1, 2);
    let mut rig = Rig::new(config, 1);
    let packets = [
        rig.packet(PacketKind::Write, 1, 1),
        rig.packet(PacketKind::Read, 2, ALL),
        rig.packet(PacketKind::Read, 3, ALL),
        rig.packet(PacketKind::Read, 4, ALL),
    ];
    packets.iter().for_each(|&packet| {
        rig.ask(&[packet]);
        rig.rest();
    });
    assert_eq!((rig.partition.l2().evictions, rig.partition.l2().write_backs), (2, 1));
    assert_eq!((rig.partition.dram().line_reads, rig.partition.dram().line_writes), (4, 1));
}

#[test]
fn atomics_take_the_unit_for_each_round_and_change_the_line() {
    let mut config = plain();
    (config.l2.sets, config.l2.ways) = (1, 1);
    let mut rig = Rig::new(config, 1);
    let mut atomic = rig.packet(PacketKind::Atomic, 5, 1);
    rig.ask(&[atomic]);
    atomic.rounds = 32;
    let expected = rig.config.l2.cycles + 32 * rig.config.l2.atomic_cycles;
    assert_eq!(rig.time(atomic), u64::from(expected));
    assert_eq!(rig.partition.l2().atomic_busy, 33 * u64::from(rig.config.l2.atomic_cycles));
    let other = rig.packet(PacketKind::Read, 6, ALL);
    rig.ask(&[other]);
    assert_eq!(rig.partition.l2().write_backs, 1);
}

#[test]
fn an_atomic_waits_for_the_unit() {
    let mut rig = Rig::new(plain(), 1);
    let mut atomic = rig.packet(PacketKind::Atomic, 5, 1);
    atomic.rounds = 16;
    rig.ask(&[atomic]);
    let answers = rig.ask(&[atomic, atomic]);
    assert_eq!(answers[1].sent - answers[0].sent, 16 * u64::from(rig.config.l2.atomic_cycles));
    assert!(rig.partition.l2().blocked_atomic > 0);
}

#[test]
fn reductions_are_acknowledged_and_atomics_answered_with_data() {
    let mut rig = Rig::new(plain(), 1);
    let packets = [PacketKind::Reduction, PacketKind::Atomic, PacketKind::Write, PacketKind::Read]
        .map(|kind| rig.packet(kind, 5, 1));
    let mut kinds: Vec<_> = rig.ask(&packets).iter().map(|answer| answer.packet.kind).collect();
    kinds.sort_by_key(|&kind| kind as u8);
    assert_eq!(kinds, [PacketKind::Data, PacketKind::Data, PacketKind::Ack, PacketKind::Ack]);
    let l2 = rig.partition.l2();
    assert_eq!((l2.atomics, l2.writes, l2.reads, l2.lanes), (2, 1, 1, 128));
}

#[test]
fn answers_that_nobody_takes_stop_the_slice() {
    let mut config = plain();
    config.noc.buffer_flits = 8;
    let mut rig = Rig::new(config, 1);
    let lines: Vec<_> = (0..400).map(|i| rig.packet(PacketKind::Read, i % 4, ALL)).collect();
    rig.deaf = true;
    rig.queues[0].extend(&lines);
    rig.epochs(100);
    let l2 = rig.partition.l2();
    let held = u64::from(rig.config.l2.cycles + rig.config.l2.queue);
    assert!(l2.reads <= held + 2 && l2.reads >= held, "{} taken", l2.reads);
    assert!(l2.blocked_reply > 1000 && l2.reply_waits > 1000);
    assert!(!rig.partition.waiting().is_empty());
    rig.deaf = false;
    rig.rest();
    assert_eq!(rig.answers.len(), lines.len());
    assert!(rig.partition.waiting().is_empty());
}

#[test]
fn memory_that_lags_behind_stops_the_slice() {
    let mut config = plain();
    config.l2.mshrs = 256;
    config.dram.queue = 4;
    config.l2.queue = 2;
    let mut rig = Rig::new(config, 1);
    let lines: Vec<_> = (0..64).map(|line| rig.packet(PacketKind::Read, line * 1024, ALL)).collect();
    rig.ask(&lines);
    assert!(rig.partition.l2().blocked_memory > 100);
}

#[test]
fn lines_on_their_way_to_memory_get_there_when_nothing_else_happens() {
    let mut config = plain();
    (config.l2.sets, config.l2.ways) = (1, 1);
    let mut rig = Rig::new(config, 1);
    let lines: Vec<_> = (0..20).map(|line| rig.packet(PacketKind::Write, line, ALL)).collect();
    rig.ask(&lines);
    rig.rest();
    assert_eq!((rig.partition.dram().line_writes, rig.partition.l2().write_backs), (19, 19));
    assert_eq!(rig.partition.next(), u64::MAX);
}

#[test]
fn a_line_from_memory_waits_until_all_its_answers_find_room() {
    let mut config = plain();
    (config.l2.cycles, config.l2.queue) = (1, 1);
    config.noc.buffer_flits = 8;
    let mut rig = Rig::new(config, 1);
    let [first, second] = [0, 1].map(|line| rig.packet(PacketKind::Read, line, ALL));
    rig.ask(&[first]);
    rig.deaf = true;
    // One answer is in the network, one waits for it; of two answers there is room for one.
    rig.queues[0].extend([first, first, second, second]);
    rig.epochs(50);
    let l2 = rig.partition.l2();
    assert_eq!((l2.reads, l2.merges, l2.fills), (5, 1, 1));
    rig.deaf = false;
    rig.rest();
    assert_eq!((rig.answers.len(), rig.partition.l2().fills), (4, 2));
}

/// A partition in which a line is there.
fn rig_with_line() -> Rig {
    let mut rig = Rig::new(plain(), 1);
    let line = rig.packet(PacketKind::Read, 7, u32::MAX);
    rig.ask(&[line]);
    rig.rest();
    rig
}

#[test]
fn an_answer_waits_for_the_data_array() {
    for (kind, words, usage) in
        [(PacketKind::Read, u32::MAX, Use::Read), (PacketKind::Atomic, 1, Use::Modify)]
    {
        let mut rig = rig_with_line();
        let packet = rig.packet(kind, 7, words);
        let hit = rig.time(packet);
        rig.partition.slice.data.add_site(slow(usage, 30));
        assert_eq!(rig.time(packet), hit + 30, "{kind:?}");
    }
    let mut rig = rig_with_line();
    let packet = rig.packet(PacketKind::Write, 7, 1);
    let written = rig.time(packet);
    rig.partition.slice.data.add_site(slow(Use::Write, 30));
    assert_eq!(rig.time(packet), written);
}

#[test]
fn a_fill_that_waits_delays_those_who_wait_for_the_line() {
    let time = |wait| {
        let mut rig = rig_with_line();
        rig.partition.slice.data.add_site(slow(Use::Fill, wait));
        let packet = rig.packet(PacketKind::Read, 1000, u32::MAX);
        rig.time(packet)
    };
    assert_eq!(time(40), time(0) + 40);
}

#[test]
fn answers_keep_their_order_when_the_first_waits() {
    let mut rig = rig_with_line();
    rig.partition.slice.data.add_site(slow(Use::Read, 50));
    let packets = [rig.packet(PacketKind::Read, 7, u32::MAX), rig.packet(PacketKind::Write, 7, 1)];
    let answers = rig.ask(&packets);
    let sent: Vec<_> = answers.iter().map(|answer| (answer.packet.kind, answer.sent)).collect();
    assert_eq!(answers[0].packet.kind, packets[0].answer().kind, "{sent:?}");
    assert!(answers[0].sent <= answers[1].sent, "{sent:?}");
}

#[test]
fn uses_of_a_line_are_told_apart_from_requests() {
    let mut rig = rig_with_line();
    let packets = [rig.packet(PacketKind::Read, 7, 1), rig.packet(PacketKind::Atomic, 7, 1)];
    let before = rig.partition.l2();
    rig.ask(&packets);
    let l2 = rig.partition.l2().since(&before);
    // Two requests; the atomic operation reads and writes.
    assert_eq!((l2.intervals.total(), l2.line_intervals.total()), (2, 3));
}
