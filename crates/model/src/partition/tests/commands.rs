// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every command of a random run is checked against every earlier one, by a plain reading of the constraints that shares nothing
//! with the banks' own bookkeeping.

use warpwatt_base::SplitMix64;
use warpwatt_config::{Config, Dram, DramPolicy};

use crate::partition::banks::Direction;
use crate::partition::channel::Command;
use crate::partition::controller::Controller;
use crate::techniques::Techniques;

/// Commands further back than this do not affect timing.
const WINDOW: usize = 400;

/// Clocks that must lie between two commands, with `same` bank and `group`.
fn distance(dram: &Dram, earlier: Command, later: Command) -> u64 {
    use Command::*;
    use Direction::*;
    let data = dram.burst.div_ceil(dram.beats);
    let group = |bank: usize| match dram.upper_groups {
        true => bank / (dram.banks / dram.groups) as usize,
        false => bank % dram.groups as usize,
    };
    let clocks = match (earlier, later) {
        (Access { bank: a, direction: from }, Access { bank: b, direction: to }) => {
            let bus = match (from, to) {
                (Read, Read) | (Write, Write) => dram.t_ccd.max(data),
                (Read, Write) => (dram.t_cl + data + 2).saturating_sub(dram.t_wl).max(dram.t_ccd).max(data),
                (Write, Read) => (dram.t_wl + data + dram.t_cdlr).max(dram.t_ccd),
            };
            if group(a) == group(b) { bus.max(dram.t_ccdl) } else { bus }
        }
        (Access { bank: a, direction }, Precharge { bank: b }) if a == b => match direction {
            Read => dram.t_rtp,
            Write => dram.t_wl + data + dram.t_wr,
        },
        (Access { direction, .. }, PrechargeAll) => match direction {
            Read => dram.t_rtp,
            Write => dram.t_wl + data + dram.t_wr,
        },
        (Activate { bank: a, .. }, Activate { bank: b, .. }) if a == b => dram.t_rc.max(dram.t_rrd),
        (Activate { .. }, Activate { .. }) => dram.t_rrd,
        (Activate { bank: a, .. }, Access { bank: b, .. }) if a == b => dram.t_rcd,
        (Activate { bank: a, .. }, Precharge { bank: b }) if a == b => dram.t_ras,
        (Activate { .. }, PrechargeAll) => dram.t_ras,
        (Precharge { bank: a }, Activate { bank: b, .. }) if a == b => dram.t_rp,
        (Precharge { .. } | PrechargeAll, Refresh) | (PrechargeAll, Activate { .. }) => dram.t_rp,
        (Refresh, Activate { .. } | Refresh) => dram.t_rfc,
        _ => 1,
    };
    u64::from(clocks.max(1))
}

fn check(dram: &Dram, trace: &[(u64, Command)]) {
    let mut rows = vec![None; dram.banks as usize];
    let mut activations = Vec::new();
    for (i, &(at, command)) in trace.iter().enumerate() {
        for &(before, earlier) in &trace[i.saturating_sub(WINDOW)..i] {
            let clocks = distance(dram, earlier, command);
            assert!(
                at >= before + clocks,
                "{command:?} at {at} comes too soon after {earlier:?} at {before}"
            );
        }
        match command {
            Command::Access { bank, .. } => assert!(rows[bank].is_some(), "access to a closed row at {at}"),
            Command::Activate { bank, row } => {
                assert_eq!(rows[bank].replace(row), None, "bank opened twice at {at}");
                activations.push(at);
            }
            Command::Precharge { bank } => assert!(rows[bank].take().is_some(), "nothing to close at {at}"),
            Command::PrechargeAll => rows.fill(None),
            Command::Refresh => assert!(rows.iter().all(Option::is_none), "refresh with open rows at {at}"),
        }
    }
    for five in activations.windows(5) {
        assert!(
            five[4] >= five[0] + u64::from(dram.t_faw),
            "five activations from {} to {}",
            five[0],
            five[4]
        );
    }
}

pub(super) fn run(config: &Config, seed: u64) {
    let mut random = SplitMix64::new(seed);
    let mut controller = Controller::new(config, &Techniques::default(), 0, 4096);
    let (mut asked, mut returned, mut written) = (0, 0, 0);
    let (mut cycle, mut near) = (0, 0);
    let mut busy = 2;
    while asked < 3000 || !controller.is_idle() {
        controller.advance(cycle);
        // As at the end of an epoch. In between channels stay behind where nobody asks them.
        if cycle.is_multiple_of(64) {
            controller.bring_to(cycle);
        }
        if random.chance(400) {
            busy = [1, 2, 6, 40][random.below(4) as usize];
        }
        if asked < 3000 && random.chance(busy) && controller.has_room_for_any() {
            if random.chance(6) {
                near = random.next_u64() % (1 << 20);
            }
            let line = near + random.next_u64() % 16;
            if random.chance(3) {
                controller.write(line);
                written += 1;
            } else {
                controller.read(line, 0);
            }
            asked += 1;
        }
        while let Some(line) = controller.returned().filter(|line| line.at <= cycle) {
            if random.chance(20) {
                break;
            }
            controller.take(line);
            returned += 1;
        }
        cycle += 1;
        assert!(cycle < 10_000_000, "the memory does not finish");
    }
    assert_eq!(returned + written, 3000);
    let counters = &controller.counters();
    assert_eq!((counters.line_reads, counters.line_writes), (returned, written));
    assert_eq!(counters.row_hits + counters.row_misses, counters.reads + counters.writes);
    assert!(counters.refreshes > 0 && counters.turnarounds > 0 && counters.row_hits > 0);
    controller.channels.iter().for_each(|channel| check(&config.dram, &channel.trace));
}

#[test]
fn commands_of_random_traffic_keep_all_distances() {
    for seed in 0..6 {
        run(&Config::default(), seed);
    }
}

#[test]
fn commands_keep_all_distances_whatever_those_are() {
    (0..40).for_each(|seed| run(&random_config(seed), seed));
}

/// Any timing and any structure.
pub(super) fn random_config(seed: u64) -> Config {
    let mut random = SplitMix64::new(seed);
    let mut config = Config::default();
    let mut pick = |low: u32, high: u32| low + random.below(high - low + 1);
    config.clock.dram_mhz = pick(300, 2000);
    let dram = &mut config.dram;
    dram.channels = pick(1, 3);
    dram.banks = 1 << pick(0, 5);
    dram.groups = (1 << pick(0, 3)).min(dram.banks);
    dram.burst = 1 << pick(1, 4);
    dram.bus_bytes = 1 << pick(1, 5);
    dram.row_bytes = 1 << pick(8, 13);
    dram.queue = pick(1, 100);
    dram.return_queue = pick(1, 20);
    dram.bank_hash = pick(0, 1) == 1;
    dram.upper_groups = pick(0, 1) == 1;
    dram.write_queue = pick(0, 1) == 1;
    dram.policy = if pick(0, 3) == 0 { DramPolicy::Fcfs } else { DramPolicy::FrFcfs };
    (dram.t_ccd, dram.t_ccdl) = (pick(1, 6), pick(1, 8));
    (dram.t_rrd, dram.t_faw, dram.t_rcd) = (pick(1, 12), pick(1, 60), pick(1, 30));
    (dram.t_ras, dram.t_rp, dram.t_rc) = (pick(1, 50), pick(1, 30), pick(1, 90));
    (dram.t_cl, dram.t_wl, dram.t_cdlr) = (pick(1, 30), pick(1, 30), pick(1, 20));
    (dram.t_wr, dram.t_rtp) = (pick(1, 30), pick(1, 20));
    (dram.t_refi, dram.t_rfc) = (pick(1500, 5000), pick(1, 300));
    config
}
