// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fused multiply-add in single precision, rounded once: the references need it wherever the kernels fuse. The host's own instruction gives
//! it where there is one, plain double-precision arithmetic elsewhere, with the same bits for all but the payload of a NaN.

/// `a * b + c` with one rounding to nearest even.
#[inline]
pub fn fma(a: f32, b: f32, c: f32) -> f32 {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("fma") {
        // SAFETY: the host has the instruction.
        return unsafe { host::fma(a, b, c) };
    }
    emulated(a, b, c)
}

/// Products and sums rounded once, by the host's instruction or by plain arithmetic. A reference whose loops are full of them is written for both, and
/// [`with_fused`] chooses: the instruction then stands where a call would cost more than it.
pub trait Fused: Copy {
    /// `a * b + c` with one rounding to nearest even.
    fn fma(self, a: f32, b: f32, c: f32) -> f32;
}

/// By plain arithmetic.
#[derive(Clone, Copy)]
pub struct Plain;

impl Fused for Plain {
    #[inline]
    fn fma(self, a: f32, b: f32, c: f32) -> f32 {
        emulated(a, b, c)
    }
}

/// By the host's instruction: there is one only where the host has it.
#[derive(Clone, Copy)]
pub struct Host(());

impl Host {
    /// Only where there are wide vectors, too.
    pub fn detect() -> Option<Host> {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("fma") && std::arch::is_x86_feature_detected!("avx2") {
            return Some(Host(()));
        }
        None
    }
}

impl Fused for Host {
    #[inline(always)]
    fn fma(self, a: f32, b: f32, c: f32) -> f32 {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the host has the instruction.
        return unsafe { host::fma(a, b, c) };
        #[cfg(not(target_arch = "x86_64"))]
        emulated(a, b, c)
    }
}

/// Declares a function that works with the best [`Fused`] there is, and with wide vectors where that is the host's. What it calls must be inlined to profit.
macro_rules! with_fused {
    (
        $(#[$attribute:meta])*
        fn $name:ident($($argument:ident: $ty:ty),*) $(-> $result:ty)? { |$fused:ident| $work:expr }
    ) => {
        $(#[$attribute])*
        fn $name($($argument: $ty),*) $(-> $result)? {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "fma,avx2")]
                fn on_host($fused: $crate::fused::Host, $($argument: $ty),*) $(-> $result)? {
                    $work
                }
                if let Some(host) = $crate::fused::Host::detect() {
                    // SAFETY: the host has the instructions.
                    return unsafe { on_host(host, $($argument),*) };
                }
            }
            let $fused = $crate::fused::Plain;
            $work
        }
    };
}
pub(crate) use with_fused;

/// Adds the product of `left` and each of `right` to each of `sums`, fused.
pub fn add_products(sums: &mut [f32], left: f32, right: &[f32]) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("fma") && std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the host has the instructions.
        return unsafe { host::add_products(sums, left, right) };
    }
    for (sum, right) in sums.iter_mut().zip(right) {
        *sum = emulated(left, *right, *sum);
    }
}

/// Adds the products of two lists to each of `sums`, fused.
pub fn add_pairs(sums: &mut [f32], left: &[f32], right: &[f32]) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("fma") && std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the host has the instructions.
        return unsafe { host::add_pairs(sums, left, right) };
    }
    for (sum, (left, right)) in sums.iter_mut().zip(left.iter().zip(right)) {
        *sum = emulated(*left, *right, *sum);
    }
}

/// Adds the square of the distance of each of `values` from `centre` to each of `sums`, fused.
pub fn add_squares(sums: &mut [f32], values: &[f32], centre: f32) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("fma") && std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the host has the instructions.
        return unsafe { host::add_squares(sums, values, centre) };
    }
    for (sum, value) in sums.iter_mut().zip(values) {
        *sum = emulated(value - centre, value - centre, *sum);
    }
}

/// `start` and the products of two lists, added one after the other, fused.
pub fn dot(start: f32, left: &[f32], right: &[f32]) -> f32 {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("fma") {
        // SAFETY: the host has the instruction.
        return unsafe { host::dot(start, left, right) };
    }
    left.iter().zip(right).fold(start, |sum, (left, right)| emulated(*left, *right, sum))
}

#[cfg(target_arch = "x86_64")]
mod host {
    #[target_feature(enable = "fma")]
    pub fn fma(a: f32, b: f32, c: f32) -> f32 {
        a.mul_add(b, c)
    }

    #[target_feature(enable = "fma,avx2")]
    pub fn add_products(sums: &mut [f32], left: f32, right: &[f32]) {
        for (sum, right) in sums.iter_mut().zip(right) {
            *sum = left.mul_add(*right, *sum);
        }
    }

    #[target_feature(enable = "fma,avx2")]
    pub fn add_pairs(sums: &mut [f32], left: &[f32], right: &[f32]) {
        for (sum, (left, right)) in sums.iter_mut().zip(left.iter().zip(right)) {
            *sum = left.mul_add(*right, *sum);
        }
    }

    #[target_feature(enable = "fma,avx2")]
    pub fn add_squares(sums: &mut [f32], values: &[f32], centre: f32) {
        for (sum, value) in sums.iter_mut().zip(values) {
            *sum = (value - centre).mul_add(value - centre, *sum);
        }
    }

    #[target_feature(enable = "fma")]
    pub fn dot(start: f32, left: &[f32], right: &[f32]) -> f32 {
        left.iter().zip(right).fold(start, |sum, (left, right)| left.mul_add(*right, sum))
    }
}

/// The product of two singles is exact in double precision. Their sum with `c` is rounded to odd there (Boldo and
/// Melquiond, "Emulation of a FMA and correctly rounded sums", 2008), which makes the last rounding right.
fn emulated(a: f32, b: f32, c: f32) -> f32 {
    let product = f64::from(a) * f64::from(b);
    let c = f64::from(c);
    let sum = product + c;
    let bits = sum.to_bits();
    // What the sum lost (Knuth's two-sum).
    let part = sum - product;
    let lost = (product - (sum - part)) + (c - part);
    // An inexact sum with an even last bit becomes its odd neighbour on the side of what was lost.
    let adjust = lost != 0.0 && bits & 1 == 0 && sum.is_finite();
    let away = (lost > 0.0) == (sum > 0.0);
    let odd = if away { bits.wrapping_add(1) } else { bits.wrapping_sub(1) };
    f64::from_bits(if adjust { odd } else { bits }) as f32
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpwatt_base::SplitMix64;

    with_fused! {
        fn chosen(a: f32, b: f32, c: f32) -> f32 { |fused| fused.fma(a, b, c) }
    }

    #[test]
    fn agrees_with_the_hardware_on_random_and_awkward_operands() {
        let mut rng = SplitMix64::new(7);
        for round in 0..400_000 {
            let mut draw = || {
                let bits = rng.next_u64();
                match round % 4 {
                    // Any bits at all.
                    0 => f32::from_bits(bits as u32),
                    // Few significant bits, so that sums fall on halfway points.
                    1 => {
                        f32::from_bits((bits as u32 & 0x8080_0000) | 0x3f00_0000 | (bits >> 40) as u32 & 0x1f)
                    }
                    // Exponents close together.
                    2 => f32::from_bits((bits as u32 & 0x87ff_ffff) | 0x3800_0000),
                    // Around the subnormals.
                    _ => f32::from_bits((bits as u32 & 0x83ff_ffff) | 0x1000_0000),
                }
            };
            let (a, b, c) = (draw(), draw(), draw());
            let want = a.mul_add(b, c);
            let mut sums = [c; 9];
            add_products(&mut sums, a, &[b; 9]);
            let mut pairs = [c; 9];
            add_pairs(&mut pairs, &[a; 9], &[b; 9]);
            let one = [fma(a, b, c), emulated(a, b, c), chosen(a, b, c), dot(c, &[a], &[b])];
            for got in one.into_iter().chain([sums[0], sums[8], pairs[0], pairs[8]]) {
                assert!(
                    want.to_bits() == got.to_bits() || (want.is_nan() && got.is_nan()),
                    "fma({a:e}, {b:e}, {c:e}) is {want:e}, not {got:e}"
                );
            }
        }
    }

    #[test]
    fn rounds_once_where_two_roundings_differ() {
        // (1 + 2^-12)^2 lies halfway between two singles; 2^-60 more tips it upwards, but is lost in a double.
        let a = 1.0 + f32::EPSILON * 2048.0;
        let tiny = f32::from_bits(0x2180_0000);
        assert_eq!(((f64::from(a) * f64::from(a)) + f64::from(tiny)) as f32, 1.0 + f32::EPSILON * 4096.0);
        assert_eq!(fma(a, a, tiny), 1.0 + f32::EPSILON * 4097.0);
    }
}
