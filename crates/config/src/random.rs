// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random legal GPUs, for tests that compare two ways to run one: threads, skipping, schedulers.
//!
//! They are small and odd: few SMs and partitions, shallow queues, every choice and switch. They are large enough for a block of 512
//! threads with 32 registers each and 16 KB of shared memory, so that real programs run on them.

use warpwatt_base::SplitMix64;

use crate::{Config, Parameter, ParameterKind, validate};

/// The GPU of a seed, always the same.
pub fn random(seed: u64) -> Config {
    let mut random = SplitMix64::new(seed ^ 0x6770_7573_2066_6f72);
    loop {
        let mut config = Config::default();
        for parameter in Config::parameters() {
            let value = draw(parameter, &config, &mut random);
            // What is drawn lies in the range; whether values go together is seen below.
            let _ = config.set(parameter.key, &value);
        }
        if validate(&config).is_ok() {
            return config;
        }
    }
}

/// A value of a parameter's range.
fn draw(parameter: &Parameter, defaults: &Config, random: &mut SplitMix64) -> String {
    let (min, max) = match parameter.kind {
        ParameterKind::Switch => return random.chance(2).to_string(),
        ParameterKind::Choice(words) => return words[random.below(words.len() as u32) as usize].to_owned(),
        ParameterKind::File => return String::new(),
        ParameterKind::Integer { min, max } => (min, max),
    };
    let default: u32 = defaults.get(parameter.key).and_then(|value| value.parse().ok()).unwrap_or(min);
    // Half of the values keep their defaults, so that unusual values are combined with usual ones.
    if fixed_range(parameter.key).is_none() && random.chance(2) {
        return default.to_string();
    }
    let most = if default == 0 { 16 } else { default.saturating_mul(4) };
    let (min, max) = fixed_range(parameter.key).unwrap_or((min, max.min(most)));
    let value = if is_power_of_two(parameter.key) {
        let (low, high) = (min.next_power_of_two().ilog2(), max.ilog2());
        1 << (low + random.below(high - low + 1))
    } else {
        between(min, max, random)
    };
    let step = if matches!(parameter.key, "sm.threads" | "sm.register_unit") { 32 } else { 1 };
    (value / step * step).to_string()
}

/// Small values are as frequent as large ones: uniform in magnitude, then within it.
fn between(min: u32, max: u32, random: &mut SplitMix64) -> u32 {
    let (low, high) = (min.max(1).ilog2(), max.ilog2());
    let magnitude = low + random.below(high - low + 1);
    let (from, to) = (min.max(1 << magnitude), max.min(((1_u64 << (magnitude + 1)) - 1) as u32));
    from + random.below(to - from + 1)
}

/// Ranges that are narrower than the declared ones.
fn fixed_range(key: &str) -> Option<(u32, u32)> {
    Some(match key {
        "gpu.sms" => (1, 5),
        "gpu.partitions" => (1, 4),
        "gpu.memory_mb" => (1024, 8192),
        "gpu.kernel_launch_cycles" => (1, 500),
        "gpu.cta_launch_cycles" | "gpu.cta_done_cycles" | "noc.cycles" => (8, 64),
        "clock.core_mhz" => (500, 1500),
        "sm.warps" => (16, 64),
        "sm.threads" => (512, 2048),
        "sm.block_threads" => (512, 1024),
        "sm.thread_registers" => (32, 255),
        "sm.registers" => (16384, 65536),
        "sm.register_unit" => (32, 256),
        "sm.onchip_bytes" => (32768, 98304),
        "sm.shared.bytes" => (16384, 65536),
        "noc.buffer_flits" => (5, 80),
        "noc.flit_bytes" => (8, 64),
        "l2.sets" => (1, 128),
        "dram.t_refi" => (500, 8000),
        "power.node_nm" => (22, 90),
        "power.kelvin" => (300, 380),
        "power.core_mv" | "power.noc_mv" | "power.l2_mv" => (700, 1200),
        _ => return None,
    })
}

fn is_power_of_two(key: &str) -> bool {
    let listed = [
        "sm.fetch.instruction_bytes",
        "sm.rf.sub_banks",
        "l2.port_bytes",
        "dram.bus_bytes",
        "dram.beats",
        "dram.burst",
        "dram.banks",
        "dram.groups",
        "dram.row_bytes",
        "dram.interleave_bytes",
    ];
    listed.contains(&key) || key.ends_with(".line_bytes")
}
