// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rounding to integral values without the host's rounding instructions, which not every host has: adding and subtracting a number whose last
//! place is worth one rounds to nearest even; the other modes correct that by one.

use warpwatt_isa::Round;

macro_rules! integral {
    ($name:ident, $float:ty, $magic:expr) => {
        #[inline(always)]
        pub(super) fn $name(value: $float, mode: Round) -> $float {
            let magnitude = value.abs();
            // From the magic number on every value is integral. Comparisons are false for NaN, which passes through.
            let small = magnitude < $magic;
            let near = (magnitude + $magic) - $magic;
            let near = if small { near } else { magnitude };
            let down = if near > magnitude { near - 1.0 } else { near };
            let up = if near < magnitude { near + 1.0 } else { near };
            let negative = value.is_sign_negative();
            let rounded = match mode {
                Round::Rn => near,
                Round::Rz => down,
                Round::Rm => {
                    if negative {
                        up
                    } else {
                        down
                    }
                }
                Round::Rp => {
                    if negative {
                        down
                    } else {
                        up
                    }
                }
                Round::Rna => {
                    if magnitude - down >= 0.5 {
                        down + 1.0
                    } else {
                        down
                    }
                }
            };
            if negative { -rounded } else { rounded }
        }
    };
}

integral!(round32, f32, 8_388_608.0);
integral!(round64, f64, 4_503_599_627_370_496.0);
