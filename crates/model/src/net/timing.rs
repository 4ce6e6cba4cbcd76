// SPDX-License-Identifier: MIT OR Apache-2.0
//! The network's clock seen from core cycles, and the sizes of packets.
//!
//! Clock `k` of the network begins `k` periods after cycle 0, wherever in a core cycle that is.

use warpwatt_base::clock::Clock;
use warpwatt_config::Config;

use super::packet::LINE_BYTES;

const WORDS: usize = LINE_BYTES as usize / 4;

const NO_SHIFT: u32 = 64;

/// log2 of the clocks in a core cycle, or [`NO_SHIFT`].
fn shift_of(network_mhz: u32, core_mhz: u32) -> u32 {
    let ratio = network_mhz / core_mhz.max(1);
    let is_shift = ratio.is_power_of_two() && ratio * core_mhz == network_mhz;
    if is_shift { ratio.trailing_zeros() } else { NO_SHIFT }
}

#[derive(Clone, Debug)]
pub(super) struct Timing {
    network: Clock,
    core: Clock,
    /// log2 of the network's clocks in a core cycle, if these are a power of two: then clocks and cycles differ by a shift. Otherwise
    /// [`NO_SHIFT`].
    shift: u32,
    /// One less than these clocks.
    rest: u64,
    /// From the end of injection to the receiver, and of a credit back.
    pub cycles: u64,
    /// Flits of a packet by the number of words it brings.
    flits: [u8; WORDS + 1],
}

impl Timing {
    pub fn new(config: &Config) -> Timing {
        let noc = &config.noc;
        let (network, core) = (config.clock.noc_mhz, config.clock.core_mhz);
        let shift = shift_of(network, core);
        let flits = |words: usize| (noc.header_bytes + 4 * words as u32).div_ceil(noc.flit_bytes) as u8;
        Timing {
            network: Clock::new(network, core),
            core: Clock::new(core, network),
            shift,
            rest: if shift == NO_SHIFT { 0 } else { (1 << shift) - 1 },
            cycles: u64::from(noc.cycles),
            flits: std::array::from_fn(flits),
        }
    }

    /// Flits of a packet that moves so many words.
    #[inline(always)]
    pub fn flits(&self, words: u32) -> u8 {
        self.flits[words as usize]
    }

    /// The first clock that begins at or after the start of a cycle.
    #[inline(always)]
    pub fn first_clock(&self, cycle: u64) -> u64 {
        if self.shift != NO_SHIFT {
            return cycle << (self.shift % 64);
        }
        core(&self.core, cycle)
    }

    /// Clocks that are over at the start of a cycle.
    #[inline(always)]
    pub fn clocks_over(&self, cycle: u64) -> u64 {
        if self.shift != NO_SHIFT {
            return cycle << (self.shift % 64);
        }
        at(&self.network, cycle)
    }

    /// The first cycle at whose start so many clocks are over.
    #[inline(always)]
    pub fn cycle_after(&self, clocks: u64) -> u64 {
        if self.shift != NO_SHIFT {
            return (clocks + self.rest) >> (self.shift % 64);
        }
        core(&self.network, clocks)
    }

    /// The first cycle in which a port takes a packet that is free from a clock on: that clock begins in the cycle or, where the network
    /// is slower than the core, is the next one to begin.
    #[inline(always)]
    pub fn port_cycle(&self, clock: u64) -> u64 {
        if self.shift != NO_SHIFT {
            return clock >> (self.shift % 64);
        }
        let begins = at(&self.core, clock);
        let next_to_begin = if clock == 0 { 0 } else { at(&self.core, clock - 1) + 1 };
        begins.min(next_to_begin)
    }
}

/// [`Clock::at`] where it is rare. In a function of its own, as divisions take registers of the host that the usual way has to do without.
#[cold]
#[inline(never)]
fn at(clock: &Clock, cycle: u64) -> u64 {
    clock.at(cycle)
}

/// [`Clock::core`], likewise.
#[cold]
#[inline(never)]
fn core(clock: &Clock, clocks: u64) -> u64 {
    clock.core(clocks)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A port takes a packet in a cycle if it is free before this clock.
    fn port_limit(timing: &Timing, cycle: u64) -> u64 {
        timing.first_clock(cycle + 1).max(timing.first_clock(cycle) + 1)
    }

    #[test]
    fn shifts_give_what_clocks_do() {
        let mut config = Config::default();
        for mhz in [700, 1400, 2800, 350, 924, 2100] {
            config.clock.noc_mhz = mhz;
            let timing = Timing::new(&config);
            let plain = Timing { shift: NO_SHIFT, ..timing.clone() };
            assert_eq!(timing.shift != NO_SHIFT, [700, 1400, 2800].contains(&mhz));
            for time in 0..3000 {
                assert_eq!(timing.first_clock(time), plain.first_clock(time));
                assert_eq!(timing.clocks_over(time), plain.clocks_over(time));
                assert_eq!(timing.cycle_after(time), plain.cycle_after(time));
                assert_eq!(timing.port_cycle(time), plain.port_cycle(time));
            }
        }
    }

    #[test]
    fn a_port_takes_packets_from_its_cycle_on_and_not_before() {
        let mut config = Config::default();
        for mhz in [1400, 700, 350, 924, 100, 3999] {
            config.clock.noc_mhz = mhz;
            let timing = Timing::new(&config);
            for clock in 0..3000 {
                let cycle = timing.port_cycle(clock);
                assert!(port_limit(&timing, cycle) > clock, "{mhz} MHz, clock {clock}");
                assert!(cycle == 0 || port_limit(&timing, cycle - 1) <= clock, "{mhz} MHz, clock {clock}");
            }
        }
    }
}
