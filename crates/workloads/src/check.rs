// SPDX-License-Identifier: MIT OR Apache-2.0
//! Comparison of what a run left in memory with what its reference expects.

use zerocopy::{FromBytes, Immutable, IntoBytes};

/// The outcome of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// Something was compared and nothing was further off than the tolerance.
    pub passed: bool,
    /// The largest error: the distance of integers, the relative error of floats, infinite for a NaN.
    pub max_error: f64,
    /// The largest error that passes; 0 asks for equal values.
    pub tolerance: f64,
    /// How many values were compared.
    pub compared: u64,
    /// FNV-1a hash of all outputs, for comparing runs with each other; only in builds with the feature `digests`.
    pub digest: u64,
    /// FNV-1a hash of all values that the reference expects. It depends on the inputs alone. Only in builds with the feature `digests`.
    pub expected: u64,
    /// The value that is furthest off, if any is off at all.
    pub worst: Option<Mismatch>,
}

/// One value that is not as expected.
#[derive(Clone, Debug, PartialEq)]
pub struct Mismatch {
    pub output: &'static str,
    pub index: usize,
    pub expected: f64,
    pub actual: f64,
}

impl Check {
    /// A check that passes only equal values.
    pub(crate) fn exact() -> Self {
        Check::within(0.0)
    }

    /// A check that passes errors up to `tolerance`.
    pub(crate) fn within(tolerance: f64) -> Self {
        Check {
            passed: false,
            max_error: 0.0,
            tolerance,
            compared: 0,
            digest: FNV_START,
            expected: FNV_START,
            worst: None,
        }
    }

    /// Compares one output array.
    pub(crate) fn output<T: Element>(mut self, output: &'static str, expected: &[T], actual: &[T]) -> Self {
        let (want, got) = (expected.as_bytes(), actual.as_bytes());
        if want != got || self.digest != self.expected {
            return self.compare(output, expected, actual, T::error);
        }
        // No value is off, and there is one hash to add to.
        self.digest = fnv(self.digest, got);
        self.expected = self.digest;
        self.counting(actual.len())
    }

    /// Compares an array of sums whose terms may cancel: an error counts relative to the value or to `scale`, whichever is larger.
    pub(crate) fn sums(self, output: &'static str, scale: f32, expected: &[f32], actual: &[f32]) -> Self {
        self.compare(output, expected, actual, |want, got| {
            let error = (f64::from(want) - f64::from(got)).abs() / f64::from(want.abs().max(scale));
            if error.is_nan() { f64::INFINITY } else { error }
        })
    }

    fn compare<T: Element>(
        mut self,
        output: &'static str,
        expected: &[T],
        actual: &[T],
        error: impl Fn(T, T) -> f64,
    ) -> Self {
        assert_eq!(expected.len(), actual.len(), "the reference of `{output}` has another length");
        for (index, (want, got)) in expected.iter().zip(actual).enumerate() {
            let error = error(*want, *got);
            if error > self.max_error {
                self.max_error = error;
                self.worst = Some(Mismatch { output, index, expected: want.as_f64(), actual: got.as_f64() });
            }
        }
        self.digest = fnv(self.digest, actual.as_bytes());
        self.expected = fnv(self.expected, expected.as_bytes());
        self.counting(actual.len())
    }

    /// With this many values compared more.
    fn counting(mut self, values: usize) -> Self {
        self.compared += values as u64;
        self.passed = self.compared > 0 && self.max_error <= self.tolerance;
        self
    }
}

const FNV_START: u64 = 0xcbf2_9ce4_8422_2325;

/// A hash with more bytes. It takes byte after byte, longer than many a reference does, and only tests look at it.
fn fnv(hash: u64, bytes: &[u8]) -> u64 {
    if !cfg!(any(test, feature = "digests")) {
        return hash;
    }
    let add = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
    let (chunks, rest) = bytes.as_chunks::<16>();
    let hash = chunks.iter().fold(hash, |hash, chunk| chunk.iter().fold(hash, add));
    rest.iter().fold(hash, add)
}

/// A scalar whose bytes are those of device memory.
pub trait Element: Copy + FromBytes + IntoBytes + Immutable {
    fn as_f64(self) -> f64;
    /// 0 for values with the same bits.
    fn error(expected: Self, actual: Self) -> f64;
}

macro_rules! integer {
    ($($ty:ty),*) => {$(
        impl Element for $ty {
            fn as_f64(self) -> f64 {
                f64::from(self)
            }

            fn error(expected: Self, actual: Self) -> f64 {
                f64::from(expected.abs_diff(actual))
            }
        }
    )*};
}

integer!(u8, u16, u32, i32);

impl Element for f32 {
    fn as_f64(self) -> f64 {
        f64::from(self)
    }

    fn error(expected: f32, actual: f32) -> f64 {
        if expected.to_bits() == actual.to_bits() {
            return 0.0;
        }
        let error = (f64::from(expected) - f64::from(actual)).abs()
            / f64::from(expected.abs().max(f32::MIN_POSITIVE));
        if error.is_nan() { f64::INFINITY } else { error }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_outputs_pass_and_a_single_difference_fails() {
        let check = Check::exact().output("ints", &[1, 2, 3], &[1, 2, 3]);
        assert!(check.passed);
        let check = check.output("bytes", &[9u8, 9], &[9u8, 7]);
        assert!(!check.passed);
        assert_eq!(check.worst, Some(Mismatch { output: "bytes", index: 1, expected: 9.0, actual: 7.0 }));
    }

    #[test]
    fn nothing_compared_does_not_pass() {
        assert!(!Check::exact().passed);
        assert!(!Check::exact().output::<i32>("none", &[], &[]).passed);
    }

    #[test]
    fn floats_are_compared_relatively_and_nan_never_passes() {
        assert!(Check::within(1e-6).output("x", &[1000.0], &[1000.0005]).passed);
        assert!(!Check::within(1e-6).output("x", &[1000.0], &[1000.005]).passed);
        assert!(!Check::within(1e30).output("x", &[1.0], &[f32::NAN]).passed);
        assert!(!Check::exact().output("x", &[1.0], &[1.0 + f32::EPSILON]).passed);
    }

    #[test]
    fn sums_that_cancel_are_compared_with_the_size_of_their_terms() {
        assert!(!Check::within(1e-6).output("x", &[1e-9], &[2e-9]).passed);
        assert!(Check::within(1e-6).sums("x", 1.0, &[1e-9], &[2e-9]).passed);
        assert!(!Check::within(1e-6).sums("x", 1.0, &[100.0], &[100.001]).passed);
        assert!(!Check::within(1e30).sums("x", 1.0, &[1.0], &[f32::NAN]).passed);
    }

    #[test]
    fn digests_tell_outputs_apart() {
        let one = Check::exact().output("x", &[1], &[1]);
        let two = Check::exact().output("x", &[2], &[2]);
        assert_ne!(one.digest, two.digest);
        let wrong = Check::exact().output("x", &[1], &[2]);
        assert_eq!((wrong.digest, wrong.expected), (two.digest, one.expected));
    }
}
