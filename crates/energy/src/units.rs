// SPDX-License-Identifier: MIT OR Apache-2.0
//! Units of energy, power and time.

use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul, Sub};

macro_rules! unit {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, PartialOrd, Debug, Default)]
        pub struct $name(pub f64);

        impl Add for $name {
            type Output = $name;
            fn add(self, other: $name) -> $name {
                $name(self.0 + other.0)
            }
        }

        impl Sub for $name {
            type Output = $name;
            fn sub(self, other: $name) -> $name {
                $name(self.0 - other.0)
            }
        }

        impl AddAssign for $name {
            fn add_assign(&mut self, other: $name) {
                self.0 += other.0;
            }
        }

        impl Mul<f64> for $name {
            type Output = $name;
            fn mul(self, factor: f64) -> $name {
                $name(self.0 * factor)
            }
        }

        impl Sum for $name {
            fn sum<I: Iterator<Item = $name>>(all: I) -> $name {
                $name(all.map(|one| one.0).sum())
            }
        }
    };
}

unit! {
    /// Energy.
    Joules
}
unit! {
    /// Energy of an event.
    Picojoules
}
unit! {
    /// Power of a structure.
    Milliwatts
}
unit! {
    /// Time.
    Seconds
}

impl From<Picojoules> for Joules {
    fn from(energy: Picojoules) -> Joules {
        Joules(energy.0 * 1e-12)
    }
}

impl Mul<Seconds> for Milliwatts {
    type Output = Joules;
    fn mul(self, time: Seconds) -> Joules {
        Joules(self.0 * 1e-3 * time.0)
    }
}

impl Joules {
    /// Mean power over a time; nothing over no time.
    pub fn watts_over(self, time: Seconds) -> f64 {
        if time.0 > 0.0 { self.0 / time.0 } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn power_times_time_is_energy() {
        assert_eq!(Milliwatts(250.0) * Seconds(4.0), Joules(1.0));
        assert_eq!(Joules::from(Picojoules(2e12)), Joules(2.0));
        assert_eq!(Joules(6.0).watts_over(Seconds(3.0)), 2.0);
        assert_eq!(Joules(6.0).watts_over(Seconds(0.0)), 0.0);
    }
}
