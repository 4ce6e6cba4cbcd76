// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memories by their standards: sequences of commands whose times data sheets give in nanoseconds, and random traffic against all constraints.

use warpwatt_config::{Config, GpuFile, MEMORIES};

use crate::partition::channel::Command;
use crate::partition::controller::Controller;
use crate::partition::mapping::Mapping;
use crate::partition::tests::{commands, memory};
use crate::techniques::Techniques;

/// One channel of a memory, whose clock is the core's.
fn channel(memory: &str) -> Config {
    let text = format!(
        "memory = \"{memory}\"\n[gpu]\npartitions = 1\n[dram]\nchannels = 1\nbank_hash = false\naddress_hash = false\n"
    );
    let mut config = GpuFile::read(&text, "one.toml").expect("it is legal").config;
    config.clock.core_mhz = config.clock.dram_mhz;
    config
}

/// From one command to the next in a trace, in nanoseconds.
fn between(
    config: &Config,
    trace: &[(u64, Command)],
    from: fn(Command) -> bool,
    to: fn(Command) -> bool,
) -> f64 {
    let start = trace.iter().position(|&(_, command)| from(command)).expect("the first command");
    let end = trace[start + 1..].iter().find(|&&(_, command)| to(command)).expect("the second command");
    (end.0 - trace[start].0) as f64 * 1000.0 / f64::from(config.clock.dram_mhz)
}

fn is_activate(command: Command) -> bool {
    matches!(command, Command::Activate { .. })
}

fn is_access(command: Command) -> bool {
    matches!(command, Command::Access { .. })
}

fn is_precharge(command: Command) -> bool {
    matches!(command, Command::Precharge { .. })
}

/// tRCD, tRAS and tRP in nanoseconds, as published: DDR4-2400R by JESD79-4, HBM2 by JESD235C, GDDR5 by the chips' data sheet at 924 MHz.
const PUBLISHED: [(&str, [f64; 3]); 3] = [
    ("gddr5-3700", [12.99, 30.30, 12.99]),
    ("ddr4-2400", [14.16, 32.0, 14.16]),
    ("hbm2-2000", [16.0, 33.0, 16.0]),
];

#[test]
fn a_row_conflict_takes_the_times_of_the_data_sheet() {
    for (name, [t_rcd, t_ras, t_rp]) in PUBLISHED {
        let config = channel(name);
        let [first, _, other] = memory::neighbours(&config);
        let mut controller = Controller::new(&config, &Techniques::default(), 0, 8);
        controller.advance(100);
        controller.read(first, 0);
        controller.read(other, 1);
        memory::finish(&mut controller, 100);
        let trace = &controller.channels[0].trace;
        let clock = 1000.0 / f64::from(config.clock.dram_mhz);
        let holds = |what: &str, found: f64, published: f64| {
            // A constraint is kept from below, and by less than a clock from above.
            let kept = (published - 0.01..published + clock).contains(&found);
            assert!(kept, "{name}: {what} of {found:.2} ns, published {published} ns");
        };
        holds("tRCD", between(&config, trace, is_activate, is_access), t_rcd);
        holds("tRP", between(&config, trace, is_precharge, is_activate), t_rp);
        let open = between(&config, trace, is_activate, is_precharge);
        assert!(open >= t_ras - 0.01, "{name}: a row is open for {open:.2} ns, published {t_ras} ns");
    }
}

/// Lines in rows of different banks, one bank each.
fn one_line_a_bank(config: &Config, count: usize) -> Vec<u64> {
    let mapping = Mapping::new(config);
    let mut lines: Vec<u64> = Vec::new();
    for line in 0..1 << 20 {
        if lines.iter().all(|&other| mapping.place(other).bank != mapping.place(line).bank) {
            lines.push(line);
        }
        if lines.len() == count {
            return lines;
        }
    }
    panic!("there are not so many banks")
}

/// In DDR4 a window of tFAW is longer than four times tRRD: the fifth activation waits for it.
#[test]
fn the_fifth_activation_waits_for_the_window_of_four() {
    for memory in MEMORIES {
        let config = channel(memory.name);
        let dram = &config.dram;
        let mut controller = Controller::new(&config, &Techniques::default(), 0, 8);
        controller.advance(100);
        one_line_a_bank(&config, 5).into_iter().zip(0..).for_each(|(line, tag)| controller.read(line, tag));
        memory::finish(&mut controller, 100);
        let activations: Vec<u64> = controller.channels[0]
            .trace
            .iter()
            .filter(|(_, command)| is_activate(*command))
            .map(|&(at, _)| at)
            .collect();
        assert_eq!(activations.len(), 5, "{}", memory.name);
        let fifth = activations[4] - activations[0];
        assert!(fifth >= u64::from(dram.t_faw.max(4 * dram.t_rrd)), "{}: {fifth}", memory.name);
        if memory.name == "ddr4-2400" {
            assert_eq!(activations[1] - activations[0], 4, "tRRD_S");
            assert_eq!(fifth, 26, "21 ns at 1200 MHz");
        }
    }
}

#[test]
fn commands_of_random_traffic_keep_the_distances_of_every_standard() {
    for memory in MEMORIES {
        commands::run(&channel(memory.name), 7);
    }
}
