// SPDX-License-Identifier: MIT OR Apache-2.0
//! The exponential of `libm` without branches, so that the compiler computes several at a time. Every step is rounded as there, so that it has the same bits.

/// e to the power `x`, which is no further than 708 from 0.
#[inline(always)]
pub fn exp(x: f64) -> f64 {
    const LN2_HIGH: f64 = 6.931_471_803_691_238e-1;
    const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    // Bounds by the upper half of their bits: about 2^-28, ln 2 / 2 and 3 ln 2 / 2.
    const TINY: f64 = f64::from_bits(0x3e30_0001_0000_0000);
    const WITHOUT_SHIFT: f64 = f64::from_bits(0x3fd6_2e43_0000_0000);
    const SHIFT_OF_ONE: f64 = f64::from_bits(0x3ff0_a2b2_0000_0000);
    const P: [f64; 5] = [
        1.666_666_666_666_660_2e-1,
        -2.777_777_777_701_559_3e-3,
        6.613_756_321_437_934e-5,
        -1.653_390_220_546_525_2e-6,
        4.138_136_797_057_238_5e-8,
    ];
    let size = x.abs();
    let many = (std::f64::consts::LOG2_E * x + 0.5f64.copysign(x)).trunc();
    let few = if size < WITHOUT_SHIFT { 0.0 } else { 1.0f64.copysign(x) };
    let shift = if size < SHIFT_OF_ONE { few } else { many };
    let (high, low) = (x - shift * LN2_HIGH, shift * LN2_LOW);
    let rest = high - low;
    let square = rest * rest;
    let c = rest - square * (P[0] + square * (P[1] + square * (P[2] + square * (P[3] + square * P[4]))));
    let power = 1.0 + (rest * c / (2.0 - c) - low + high);
    // The last bits of this sum are those of the shift as an integer.
    let exponent = (shift + 1.5 / f64::EPSILON).to_bits() << 52;
    let scale = f64::from_bits(exponent.wrapping_add(1.0f64.to_bits()));
    if size < TINY { 1.0 + x } else { power * scale }
}

#[cfg(test)]
mod tests {
    use warpwatt_base::SplitMix64;

    #[test]
    fn it_has_the_bits_of_libm() {
        let mut rng = SplitMix64::new(3);
        let near = |x: f64| [x, f64::from_bits(x.to_bits() - 1), f64::from_bits(x.to_bits() + 1)];
        let bounds = [0x3e30_0000u64, 0x3e30_0001, 0x3fd6_2e42, 0x3fd6_2e43, 0x3ff0_a2b2, 0x3ff0_a2b3];
        let bounds = bounds.iter().flat_map(|bits| near(f64::from_bits(bits << 32)));
        let random = (0..200_000).map(|n| {
            let unit = f64::from(rng.unit_f32()) + f64::from(rng.unit_f32()) * 1e-7;
            unit * [1e-8, 0.4, 1.2, 3.0, 40.0, 700.0][n % 6]
        });
        for x in random.chain(bounds).chain([0.0]) {
            for x in [x, -x] {
                assert_eq!(super::exp(x).to_bits(), libm::exp(x).to_bits(), "{x:e}");
            }
        }
    }
}
