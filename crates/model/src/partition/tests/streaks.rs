// SPDX-License-Identifier: MIT OR Apache-2.0
//! Channels that make accesses in streaks and stay behind the present issue the same commands in the same clocks as those that are brought up in every cycle and make
//! accesses one by one, each of which is compared with a choice among all waiting lines.

use warpwatt_base::SplitMix64;
use warpwatt_config::Config;

use super::commands::random_config;
use crate::partition::controller::Controller;
use crate::techniques::Techniques;

/// What a controller did: returns and counters are compared on the way.
fn compare(config: &Config, seed: u64) {
    let mut random = SplitMix64::new(seed);
    let new = || Controller::new(config, &Techniques::default(), 0, 4096);
    let (mut streaks, mut plain) = (new(), new());
    plain.channels.iter_mut().for_each(|channel| channel.one_by_one = true);
    let (mut asked, mut near, mut busy, mut reach) = (0, 0, 2, 16);
    let mut cycle = 0;
    while asked < 2500 || !plain.is_idle() {
        streaks.advance(cycle);
        plain.bring_to(cycle);
        if random.chance(300) {
            streaks.bring_to(cycle);
            assert_eq!(streaks.is_idle(), plain.is_idle(), "seed {seed}, cycle {cycle}");
        }
        if random.chance(300) {
            busy = [1, 1, 2, 6, 40][random.below(5) as usize];
            reach = [2, 8, 16, 64][random.below(4) as usize];
        }
        // The slice may stop for a while, so that places for lines get scarce.
        let is_awake = cycle / 512 % 5 != 0;
        while asked < 2500 && is_awake && random.chance(busy) {
            let has_room = plain.has_room_for_any();
            assert_eq!(streaks.has_room_for_any(), has_room, "seed {seed}, cycle {cycle}");
            if !has_room {
                break;
            }
            if random.chance(12) {
                near = random.next_u64() % (1 << 20);
            }
            let line = near + random.next_u64() % reach;
            let is_write = random.chance(5);
            for controller in [&mut streaks, &mut plain] {
                match is_write {
                    true => controller.write(line),
                    false => controller.read(line, asked),
                }
            }
            asked += 1;
            if random.chance(2) {
                break;
            }
        }
        while is_awake && let Some(line) = plain.returned().filter(|line| line.at <= cycle) {
            let other = streaks.returned().map(|line| (line.at, line.done, line.tag, line.channel));
            assert_eq!(other, Some((line.at, line.done, line.tag, line.channel)), "seed {seed}");
            plain.take(line);
            streaks.take(line);
        }
        assert!(streaks.returned_at() > cycle || !is_awake, "seed {seed}, cycle {cycle}");
        cycle += 1;
        assert!(cycle < 10_000_000, "the memory does not finish");
    }
    for controller in [&mut streaks, &mut plain] {
        controller.settle(cycle + 5000);
    }
    assert_eq!(streaks.counters(), plain.counters(), "seed {seed}");
    for (streaks, plain) in streaks.channels.iter().zip(&plain.channels) {
        let differs = streaks.trace.iter().zip(&plain.trace).find(|(streaks, plain)| streaks != plain);
        assert_eq!(differs, None, "seed {seed}");
        assert_eq!(streaks.trace.len(), plain.trace.len(), "seed {seed}");
    }
}

#[test]
fn streaks_are_what_single_accesses_make() {
    (0..40).for_each(|seed| compare(&Config::default(), seed));
}

#[test]
fn streaks_are_what_single_accesses_make_whatever_the_timing_is() {
    (0..150).for_each(|seed| compare(&random_config(seed), seed));
}
