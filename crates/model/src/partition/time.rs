// SPDX-License-Identifier: MIT OR Apache-2.0
//! The clocks of an L2 slice and of the memory seen from core cycles. Clock `k` belongs to the first cycle at whose start `k` clocks have passed.

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

/// The command clock of the memory: a [`Clock`] that is converted by multiplications, which take the host less than divisions, as long as cycles and clocks are
/// less than [`NEAR`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CommandClock {
    clock: Clock,
    mhz: u64,
    core_mhz: u64,
    /// 2^64 by each of them, rounded up. Products of times below [`NEAR`] and frequencies below 2^15 are divided exactly.
    by_mhz: u64,
    by_core_mhz: u64,
}

/// Times from here on are converted by divisions.
const NEAR: u64 = 1 << 34;

impl CommandClock {
    pub fn new(config: &Config) -> CommandClock {
        let [mhz, core_mhz] = [config.clock.dram_mhz, config.clock.core_mhz].map(u64::from);
        debug_assert!(mhz.min(core_mhz) > 1 && mhz.max(core_mhz) < 1 << 15);
        let reciprocal = |divisor: u64| u64::MAX / divisor + 1;
        CommandClock {
            clock: Clock::new(config.clock.dram_mhz, config.clock.core_mhz),
            mhz,
            core_mhz,
            by_mhz: reciprocal(mhz),
            by_core_mhz: reciprocal(core_mhz),
        }
    }

    /// [`Clock::at`].
    #[inline(always)]
    pub fn at(&self, core: u64) -> u64 {
        match core < NEAR {
            true => high_half(core * self.mhz, self.by_core_mhz),
            false => self.far_at(core),
        }
    }

    /// [`Clock::core`].
    #[inline(always)]
    pub fn core(&self, clocks: u64) -> u64 {
        match clocks < NEAR {
            true => high_half(clocks * self.core_mhz + (self.mhz - 1), self.by_mhz),
            false => self.far_core(clocks),
        }
    }

    #[cold]
    #[inline(never)]
    fn far_at(&self, core: u64) -> u64 {
        self.clock.at(core)
    }

    #[cold]
    #[inline(never)]
    fn far_core(&self, clocks: u64) -> u64 {
        self.clock.core(clocks)
    }
}

/// The higher half of a product.
#[inline(always)]
fn high_half(a: u64, b: u64) -> u64 {
    ((u128::from(a) * u128::from(b)) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_clock_is_converted_as_others_are() {
        for (mhz, core) in [(924, 700), (1400, 700), (700, 700), (100, 4000), (16000, 100), (16000, 3999)] {
            let mut config = Config::default();
            (config.clock.dram_mhz, config.clock.core_mhz) = (mhz, core);
            let (fast, plain) = (CommandClock::new(&config), Clock::new(mhz, core));
            let near = |far: u64| far.saturating_sub(2000)..far + 2000;
            for time in near(0).chain(near(NEAR)).chain(near(NEAR / 3)).chain(near(1 << 50)) {
                assert_eq!((fast.at(time), fast.core(time)), (plain.at(time), plain.core(time)), "{time}");
            }
        }
    }

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
