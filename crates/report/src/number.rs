// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbers as people read them: few significant digits, units with prefixes, thousands set apart. What is not finite is a dash.

/// Shown in place of a missing value.
pub const NONE: &str = "–";

/// With so many significant digits, without zeros at the end.
pub fn digits(value: f64, digits: usize) -> String {
    if !value.is_finite() {
        return NONE.to_owned();
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    let magnitude = value.abs().log10().floor() as i32;
    if !(-4..15).contains(&magnitude) {
        return format!("{value:.*e}", digits.saturating_sub(1));
    }
    let decimals = (digits as i32 - 1 - magnitude).max(0) as usize;
    let text = format!("{value:.decimals$}");
    let text = match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    };
    grouped(&text)
}

/// A figure or table of a paper: four digits.
pub fn shown(value: f64) -> String {
    digits(value, 4)
}

pub fn optional(value: Option<f64>) -> String {
    value.map_or(NONE.to_owned(), shown)
}

/// Sets thousands apart.
fn grouped(text: &str) -> String {
    let (sign, rest) = text.strip_prefix('-').map_or(("", text), |rest| ("−", rest));
    let (whole, part) = rest.split_once('.').map_or((rest, None), |(whole, part)| (whole, Some(part)));
    let mut out = String::from(sign);
    for (place, digit) in whole.chars().enumerate() {
        if place > 0 && (whole.len() - place) % 3 == 0 && whole.len() > 4 {
            out.push('\u{202f}');
        }
        out.push(digit);
    }
    if let Some(part) = part {
        out.push('.');
        out.push_str(part);
    }
    out
}

/// A count, in full.
pub fn count(value: f64) -> String {
    if !value.is_finite() {
        return NONE.to_owned();
    }
    grouped(&format!("{value:.0}"))
}

/// With a prefix of the unit: 1.23 mJ.
pub fn si(value: f64, unit: &str) -> String {
    const PREFIXES: [(f64, &str); 8] =
        [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n")];
    if !value.is_finite() {
        return NONE.to_owned();
    }
    if value == 0.0 {
        return format!("0 {unit}");
    }
    let found = PREFIXES.iter().find(|(scale, _)| value.abs() >= *scale * 0.99995);
    let (scale, prefix) = found.copied().unwrap_or((1e-12, "p"));
    format!("{} {prefix}{unit}", shown(value / scale))
}

pub fn joules(value: f64) -> String {
    si(value, "J")
}

/// Bytes are whole: small numbers have no fraction.
pub fn bytes(value: f64) -> String {
    si(value, "B")
}

/// A fraction as percent.
pub fn percent(fraction: f64) -> String {
    match fraction.is_finite() {
        true => format!("{} %", digits(fraction * 100.0, 3)),
        false => NONE.to_owned(),
    }
}

/// A change as signed percent; `None` without a base.
pub fn change(from: f64, to: f64) -> Option<f64> {
    (from != 0.0 && from.is_finite() && to.is_finite()).then(|| (to - from) / from.abs())
}

pub fn signed_percent(fraction: f64) -> String {
    let sign = if fraction > 0.0 { "+" } else { "" };
    format!("{sign}{}", percent(fraction))
}

/// A number of things, by the right word.
pub fn things(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(number as f64), if number == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_few_digits_and_no_needless_zeros() {
        let cases = [
            (0.0, "0"),
            (2.5, "2.5"),
            (0.123456, "0.1235"),
            (1234.0, "1234"),
            (1234567.0, "1\u{202f}234\u{202f}567"),
            (-3.0, "−3"),
            (99.99999, "100"),
            (1e-9, "1.000e-9"),
            (f64::NAN, NONE),
            (f64::INFINITY, NONE),
        ];
        for (value, text) in cases {
            assert_eq!(shown(value), text, "{value}");
        }
    }

    #[test]
    fn units_get_prefixes() {
        assert_eq!(joules(0.00111748183), "1.117 mJ");
        assert_eq!(joules(0.0), "0 J");
        assert_eq!(joules(3e-13), "0.3 pJ");
        assert_eq!(bytes(131072.0), "131.1 kB");
        assert_eq!((percent(0.5), percent(f64::NAN).as_str()), ("50 %".to_owned(), NONE));
        assert_eq!(change(0.0, 1.0), None);
        assert_eq!(signed_percent(0.25), "+25 %");
    }
}
