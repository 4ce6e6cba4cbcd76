// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compressors or decompressors of a controller, taken together: a latency, and as many bytes a second as all of them work on.

use warpwatt_base::clock::Clock;
use warpwatt_config::Config;

use super::BLOCK;

/// Parts of a core cycle that time is kept in.
const PARTS: u64 = 1024;

pub struct Unit {
    /// Core cycles from a block's start to its end.
    latency: u64,
    /// Time that a block takes of all units, in parts of a cycle; 0 without a limit.
    service: u64,
    /// When they are free again, in parts of a cycle.
    free: u64,
}

impl Unit {
    /// A latency in DRAM clocks, and a rate in megabytes a second, 0 for any.
    pub fn new(config: &Config, clocks: u32, rate: u32) -> Unit {
        let clock = Clock::new(config.clock.dram_mhz, config.clock.core_mhz);
        let service = match u64::from(rate) {
            0 => 0,
            rate => BLOCK as u64 * PARTS * u64::from(config.clock.core_mhz) / rate,
        };
        Unit { latency: clock.core(u64::from(clocks)), service, free: 0 }
    }

    /// The cycle in which a block that comes in cycle `at` is done, and how many cycles it waited.
    pub fn pass(&mut self, at: u64) -> (u64, u64) {
        let start = (at * PARTS).max(self.free);
        self.free = start + self.service;
        let wait = start.div_ceil(PARTS) - at;
        (at + wait + self.latency, wait)
    }
}
