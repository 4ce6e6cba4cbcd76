// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbers as they are written: rounded once, so that tables, Markdown and JSON show the same.

/// Digits of figures.
pub const FIGURE: u32 = 6;
/// Digits of measures in a ledger.
pub const LEDGER: u32 = 4;

/// A number to so many significant digits.
pub fn rounded(value: f64, digits: u32) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    // Decimal text rounds as a person would, with no error of powers of ten.
    let places = digits.saturating_sub(1) as usize;
    format!("{value:.places$e}").parse().unwrap_or(value)
}

/// A rounded number as text: plain digits, without trailing zeros.
pub fn shown(value: f64) -> String {
    format!("{value}")
}

/// A measure as a ledger shows it.
pub fn measured(value: f64) -> String {
    shown(rounded(value, LEDGER))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_that_say_nothing_are_left_out() {
        for (value, text) in [
            (24.371_2, "24.37"),
            (25.0, "25"),
            (0.062_103, "0.0621"),
            (-0.012_345, "-0.01235"),
            (0.0, "0"),
            (123_456.0, "123500"),
            (99.999, "100"),
        ] {
            assert_eq!(measured(value), text);
        }
        assert_eq!(rounded(1.0 / 3.0, FIGURE), 0.333_333);
        assert!(rounded(f64::NAN, 3).is_nan());
    }
}
