// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the controller makes of single lines: latencies that follow from the timing of the banks.

use warpwatt_config::{Config, DramPolicy};

use crate::partition::banks::Direction;
use crate::partition::channel::Command;
use crate::partition::controller::Controller;
use crate::partition::mapping::Mapping;
use crate::partition::tests::one_channel;
use crate::techniques::Techniques;

/// The command clock is the core's.
fn plain() -> Config {
    let mut config = one_channel();
    config.clock.dram_mhz = config.clock.core_mhz;
    config
}

/// Reads a line from a cycle on and gives how long that took.
fn read(controller: &mut Controller, from: u64, line: u64) -> u64 {
    controller.advance(from);
    controller.read(line, 0);
    finish(controller, from)[0].0 - from
}

/// Goes on until nothing is under way, and gives when lines came back, with their tags.
pub(super) fn finish(controller: &mut Controller, from: u64) -> Vec<(u64, u32)> {
    let mut returned = Vec::new();
    for cycle in from..from + 100_000 {
        controller.advance(cycle);
        // As at the end of an epoch: writes alone do not ask for it.
        if cycle % 16 == 0 {
            controller.bring_to(cycle);
        }
        while let Some(line) = controller.returned().filter(|line| line.at <= cycle) {
            returned.push((line.at, line.tag));
            controller.take(line);
        }
        if controller.is_idle() {
            return returned;
        }
    }
    panic!("the memory does not finish");
}

/// Two lines of one row, and one of another row of the same bank.
pub(super) fn neighbours(config: &Config) -> [u64; 3] {
    let mapping = Mapping::new(config);
    let first = mapping.place(0);
    let find = |f: &dyn Fn(u64) -> bool| (1..1 << 20).find(|&line| f(line)).expect("a line");
    let same = find(&|line| mapping.place(line) == first);
    let other = find(&|line| mapping.place(line).bank == first.bank && mapping.place(line).row != first.row);
    [0, same, other]
}

#[test]
fn rows_that_are_closed_open_or_taken_make_the_difference_of_their_commands() {
    let config = plain();
    let dram = &config.dram;
    let [first, same, other] = neighbours(&config);
    let mut controller = Controller::new(&config, &Techniques::default(), 0, 8);
    let closed = read(&mut controller, 100, first);
    let hit = read(&mut controller, 300, same);
    let conflict = read(&mut controller, 500, other);
    assert_eq!(closed, u64::from(dram.t_rcd + dram.t_ccdl + dram.t_cl + 2 + dram.cycles));
    assert_eq!(closed - hit, u64::from(dram.t_rcd));
    assert_eq!(conflict - closed, u64::from(dram.t_rp));
    let counters = &controller.counters();
    assert_eq!(
        (counters.row_misses, counters.row_hits, counters.activates, counters.precharges),
        (2, 4, 2, 1)
    );
}

#[test]
fn hits_to_an_open_row_go_before_older_conflicts_unless_first_come_is_first_served() {
    let order = |policy| {
        let mut config = plain();
        config.dram.policy = policy;
        let [first, same, other] = neighbours(&config);
        let mut controller = Controller::new(&config, &Techniques::default(), 0, 8);
        read(&mut controller, 100, first);
        controller.advance(300);
        controller.read(other, 1);
        controller.read(same, 2);
        finish(&mut controller, 300).iter().map(|line| line.1).collect::<Vec<_>>()
    };
    assert_eq!(order(DramPolicy::FrFcfs), [2, 1]);
    assert_eq!(order(DramPolicy::Fcfs), [1, 2]);
}

#[test]
fn reads_go_before_writes_until_the_write_queue_fills() {
    let config = plain();
    let [first, same, _] = neighbours(&config);
    let mut controller = Controller::new(&config, &Techniques::default(), 0, 8);
    controller.advance(100);
    controller.read(first, 1);
    controller.write(same);
    finish(&mut controller, 100);
    let directions: Vec<_> = controller.channels[0]
        .trace
        .iter()
        .filter_map(|&(_, command)| match command {
            Command::Access { direction, .. } => Some(direction),
            _ => None,
        })
        .collect();
    assert_eq!(directions, [Direction::Read, Direction::Read, Direction::Write, Direction::Write]);

    // So many writes that they get their turn while reads still wait.
    let mut controller = Controller::new(&config, &Techniques::default(), 0, 64);
    controller.advance(100);
    (0..24).for_each(|line| controller.read(line, 0));
    (100..124).for_each(|line| controller.write(line));
    finish(&mut controller, 100);
    let first_write = controller.channels[0]
        .trace
        .iter()
        .position(|(_, command)| matches!(command, Command::Access { direction: Direction::Write, .. }));
    let last_read = controller.channels[0]
        .trace
        .iter()
        .rposition(|(_, command)| matches!(command, Command::Access { direction: Direction::Read, .. }));
    assert!(first_write < last_read);
    assert!(controller.counters().turnarounds <= 4, "{} turnarounds", controller.counters().turnarounds);
}

#[test]
fn a_line_still_in_the_write_queue_is_read_from_there() {
    let config = plain();
    let mut controller = Controller::new(&config, &Techniques::default(), 0, 8);
    controller.advance(100);
    controller.read(0, 1);
    controller.write(4096);
    controller.read(4096, 2);
    let returned = finish(&mut controller, 100);
    assert_eq!(returned.iter().map(|line| line.1).collect::<Vec<_>>(), [2, 1]);
    assert_eq!((controller.counters().forwards, controller.counters().reads), (1, 2));
    assert_eq!(controller.counters().line_reads, 2);
}

#[test]
fn refreshes_come_on_time_whether_anything_else_happens_or_not() {
    let config = plain();
    let mut controller = Controller::new(&config, &Techniques::default(), 0, 8);
    let refi = u64::from(config.dram.t_refi);
    controller.settle(10 * refi + 1);
    let refreshes = |controller: &Controller| {
        let trace = controller.channels[0].trace.iter();
        trace.filter(|(_, command)| *command == Command::Refresh).map(|&(at, _)| at).collect::<Vec<_>>()
    };
    assert_eq!(refreshes(&controller), (1..=10).map(|i| i * refi).collect::<Vec<_>>());

    // A row that is open is closed first.
    read(&mut controller, 10 * refi + 200, 0);
    controller.settle(11 * refi + 100);
    assert_eq!(refreshes(&controller)[10], 11 * refi + u64::from(config.dram.t_rp));
    // Who comes in the middle of a refresh waits for its end.
    let from = 12 * refi + 10;
    let closed = config.dram.t_rcd + config.dram.t_ccdl + config.dram.t_cl + 2 + config.dram.cycles;
    assert_eq!(read(&mut controller, from, 0), u64::from(config.dram.t_rfc) - 10 + u64::from(closed));
}

#[test]
fn time_with_and_without_open_rows_adds_up() {
    let config = one_channel();
    let mut controller = Controller::new(&config, &Techniques::default(), 0, 8);
    for i in 0..50 {
        read(&mut controller, 500 * i + 100, i * 77);
    }
    controller.settle(30_000);
    let counters = &controller.counters();
    assert_eq!(counters.active + counters.idle, 30_000 * 924 / 700);
    assert!(counters.active > 0 && counters.idle > 0);
}

#[test]
fn channels_serve_lines_side_by_side() {
    let mut config = plain();
    (config.dram.bus_bytes, config.dram.cycles) = (4, 40);
    let time = |channels| {
        let mut config = config.clone();
        config.dram.channels = channels;
        let mut controller = Controller::new(&config, &Techniques::default(), 0, 64);
        controller.advance(100);
        (0..32).for_each(|line| controller.read(line, 0));
        let returned = finish(&mut controller, 100);
        assert_eq!((returned.len(), controller.counters().reads), (32, 128));
        returned[31].0 - 100
    };
    let (one, two) = (time(1), time(2));
    // 32 lines of four accesses of two clocks each.
    assert!(one >= 256 && two < one * 2 / 3, "{one} and {two}");
}
