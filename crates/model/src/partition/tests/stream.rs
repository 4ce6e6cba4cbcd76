// SPDX-License-Identifier: MIT OR Apache-2.0
//! How much of the memory's bandwidth streams of lines get.

use warpwatt_config::Config;

use super::{Rig, one_channel};
use crate::net::PacketKind;

/// Lines that SMs ask for block by block, as kernels do: each SM walks through its own stretch of `stretch` lines, then through the
/// next one that has not been taken. Gives the share of time in which the data bus was in use.
fn stream(config: Config, kinds: &[PacketKind], stretch: u64, lines: u64) -> (f64, Rig) {
    let sms = config.gpu.sms as usize;
    let mut rig = Rig::new(config, sms);
    let each = lines / sms as u64;
    for sm in 0..sms {
        for i in 0..each {
            let (block, offset) = (i / stretch, i % stretch);
            let line = (block * sms as u64 + sm as u64) * stretch + offset;
            for (array, &kind) in kinds.iter().enumerate() {
                let packet = rig.packet(kind, line + (array as u64) * 1_000_448, u32::MAX);
                rig.queues[sm].push_back(packet);
            }
        }
    }
    // Warm up, measure in the middle.
    rig.epochs(200);
    rig.partition.settle(rig.now, true);
    let (start, before) = (rig.now, rig.partition.dram());
    while rig.queues.iter().all(|queue| queue.len() > 16) {
        rig.epoch();
    }
    rig.partition.settle(rig.now, true);
    let counters = rig.partition.dram().since(&before);
    let clocks = (rig.now - start) * 924 / 700;
    let share = counters.data_busy as f64 / clocks as f64;
    let part = |some: u64, all: u64| 100.0 * some as f64 / all as f64;
    println!(
        "{kinds:?}, {stretch} lines at a stretch: {:.1} % of peak; row hits {:.1} %, refreshing {:.1} %, {} turnarounds",
        100.0 * share,
        part(counters.row_hits, counters.row_hits + counters.row_misses),
        part(counters.refreshing, clocks),
        counters.turnarounds,
    );
    (share, rig)
}

/// What is lost is refreshes and opening rows again after them; where SMs take longer stretches also rows that change too soon.
#[test]
fn streaming_reads_get_most_of_the_bandwidth() {
    let mut config = one_channel();
    // The memory's pins bind, not the lines that can be on their way.
    (config.l2.mshrs, config.dram.cycles) = (128, 40);
    for stretch in [1, 2, 8, 64, 512] {
        let (share, _) = stream(config.clone(), &[PacketKind::Read], stretch, 60_000);
        assert!((0.86..=0.98).contains(&share), "{share}");
    }
}

#[test]
fn copies_lose_to_turnarounds_but_not_much() {
    let (share, rig) = stream(one_channel(), &[PacketKind::Read, PacketKind::Write], 8, 30_000);
    assert!((0.6..=0.9).contains(&share), "{share}");
    assert!(rig.partition.dram().turnarounds > 0);
}
