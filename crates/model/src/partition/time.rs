// SPDX-License-Identifier: MIT OR Apache-2.0
//! The clock of an L2 slice seen from core cycles. Clock `k` belongs to the first cycle at whose start `k` clocks have passed.

use warpwatt_base::clock::Clock;
use warpwatt_config::Config;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SliceClock {
    clock: Clock,
    /// A clock is a cycle, as on most GPUs: then there is nothing to convert.
    is_core: bool,
}

impl SliceClock {
    pub fn new(config: &Config) -> SliceClock {
        let clock = Clock::new(config.clock.l2_mhz, config.clock.core_mhz);
        SliceClock { clock, is_core: clock == Clock::new(1, 1) }
    }

    /// Whether a clock is a cycle.
    #[inline(always)]
    pub fn is_core(&self) -> bool {
        self.is_core
    }

    /// The same, converted as if it were another clock.
    #[cfg(test)]
    pub fn converted(self) -> SliceClock {
        SliceClock { is_core: false, ..self }
    }

    /// The cycle of a clock.
    #[inline(always)]
    pub fn cycle(&self, clock: u64) -> u64 {
        if self.is_core { clock } else { self.other_cycle(clock) }
    }

    #[inline(never)]
    fn other_cycle(&self, clock: u64) -> u64 {
        self.clock.core(clock)
    }

    /// The first clock that a cycle or a later one has; `u64::MAX` if the cycle is that.
    #[inline(always)]
    pub fn first(&self, cycle: u64) -> u64 {
        if self.is_core { cycle } else { self.other_first(cycle) }
    }

    #[inline(never)]
    fn other_first(&self, cycle: u64) -> u64 {
        if cycle == 0 || cycle == u64::MAX { cycle } else { self.clock.at(cycle - 1) + 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_belongs_to_one_cycle() {
        for (mhz, core) in [(924, 700), (350, 700), (700, 700), (1400, 700)] {
            let mut config = Config::default();
            (config.clock.l2_mhz, config.clock.core_mhz) = (mhz, core);
            let time = SliceClock::new(&config);
            for cycle in 0..3000 {
                let clock = time.first(cycle);
                assert!(time.cycle(clock) >= cycle && (clock == 0 || time.cycle(clock - 1) < cycle));
            }
            assert_eq!(time.first(u64::MAX), u64::MAX);
        }
    }
}
