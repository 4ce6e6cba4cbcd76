// SPDX-License-Identifier: MIT OR Apache-2.0
//! Clock domains. All time is in core cycles; another domain has made `core * its MHz / core MHz` clocks by then, rounded down.

/// A clock domain beside the core's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Clock {
    mhz: u64,
    core_mhz: u64,
}

impl Clock {
    pub fn new(mhz: u32, core_mhz: u32) -> Clock {
        let divisor = gcd(mhz.max(1), core_mhz.max(1));
        Clock { mhz: u64::from(mhz.max(1) / divisor), core_mhz: u64::from(core_mhz.max(1) / divisor) }
    }

    /// Clocks that have passed at the start of a core cycle.
    #[inline(always)]
    pub fn at(self, core: u64) -> u64 {
        match core.checked_mul(self.mhz) {
            Some(product) if self.core_mhz == 1 => product,
            Some(product) => product / self.core_mhz,
            None => (u128::from(core) * u128::from(self.mhz) / u128::from(self.core_mhz)) as u64,
        }
    }

    /// The first core cycle at whose start so many clocks have passed.
    #[inline(always)]
    pub fn core(self, clocks: u64) -> u64 {
        match clocks.checked_mul(self.core_mhz) {
            Some(product) if self.mhz == 1 => product,
            Some(product) => product.div_ceil(self.mhz),
            None => (u128::from(clocks) * u128::from(self.core_mhz)).div_ceil(u128::from(self.mhz)) as u64,
        }
    }
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_cycle_of_a_clock_is_where_the_clock_starts() {
        for (mhz, core) in [(924, 700), (1400, 700), (350, 700), (700, 700), (1002, 772)] {
            let clock = Clock::new(mhz, core);
            for local in 0..5000 {
                let start = clock.core(local);
                assert!(clock.at(start) >= local, "{mhz}/{core}: {local}");
                assert!(start == 0 || clock.at(start - 1) < local, "{mhz}/{core}: {local}");
            }
        }
    }

    #[test]
    fn long_runs_do_not_overflow() {
        let clock = Clock::new(3999, 101);
        assert_eq!(clock.at(101 << 50), 3999 << 50);
    }
}
