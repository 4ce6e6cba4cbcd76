// SPDX-License-Identifier: MIT OR Apache-2.0
//! C's printf, as kernels use it. Floating-point digits come from Rust's exact conversion, so that the text is the same on every host.

/// Where the variable arguments come from.
pub(crate) trait Arguments {
    /// The next argument of 4 or 8 bytes.
    fn next(&mut self, bytes: u64) -> Option<u64>;
    /// The string at an address, at most `limit` bytes of it.
    fn text(&mut self, address: u64, limit: usize) -> Option<Vec<u8>>;
}

#[derive(Default)]
struct Spec {
    left: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    zero: bool,
    width: usize,
    precision: Option<usize>,
    wide: bool,
    /// Bits of an `hh` or `h` argument, or 32 or 64.
    bits: u32,
}

/// Widths and precisions beyond this are cut, so that no kernel prints megabytes of blanks.
const MAX_WIDTH: usize = 4096;

/// The text, and how many arguments it took. `None` if one of them cannot be read.
pub(crate) fn format(format: &[u8], arguments: &mut dyn Arguments) -> Option<(Vec<u8>, u64)> {
    let mut out = Vec::new();
    let mut used = 0;
    let mut rest = format;
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let directive = rest;
        let spec = parse(&mut rest, arguments, &mut used)?;
        let Some((&conversion, tail)) = rest.split_first() else {
            out.push(b'%');
            out.extend_from_slice(directive);
            break;
        };
        rest = tail;
        if conversion == b'%' {
            out.push(b'%');
            continue;
        }
        if !b"diuoxXcspfFeEgGaAn".contains(&conversion) {
            // Not a directive: printed as it stands.
            out.push(b'%');
            out.extend_from_slice(&directive[..directive.len() - rest.len()]);
            continue;
        }
        used += 1;
        convert(conversion, &spec, arguments, &mut out)?;
    }
    Some((out, used))
}

fn parse(rest: &mut &[u8], arguments: &mut dyn Arguments, used: &mut u64) -> Option<Spec> {
    let mut spec = Spec { bits: 32, ..Spec::default() };
    let next = |rest: &mut &[u8]| {
        let byte = rest.first().copied();
        *rest = rest.get(1..).unwrap_or(&[]);
        byte
    };
    loop {
        match rest.first() {
            Some(b'-') => spec.left = true,
            Some(b'+') => spec.plus = true,
            Some(b' ') => spec.space = true,
            Some(b'#') => spec.alternate = true,
            Some(b'0') => spec.zero = true,
            _ => break,
        }
        next(rest);
    }
    let mut number = |rest: &mut &[u8]| -> Option<i64> {
        if rest.first() == Some(&b'*') {
            next(rest);
            *used += 1;
            return Some(i64::from(arguments.next(4)? as i32));
        }
        let mut value = 0i64;
        while let Some(digit) = rest.first().filter(|byte| byte.is_ascii_digit()) {
            value = (value * 10 + i64::from(digit - b'0')).min(MAX_WIDTH as i64);
            next(rest);
        }
        Some(value)
    };
    let width = number(rest)?;
    spec.left |= width < 0;
    spec.width = (width.unsigned_abs() as usize).min(MAX_WIDTH);
    if rest.first() == Some(&b'.') {
        *rest = &rest[1..];
        let precision = number(rest)?;
        spec.precision = usize::try_from(precision).ok().map(|p| p.min(MAX_WIDTH));
    }
    loop {
        match rest.first() {
            Some(b'h') => spec.bits = if spec.bits == 16 { 8 } else { 16 },
            Some(b'l' | b'j' | b'z' | b't' | b'q' | b'L') => {
                spec.wide = true;
                spec.bits = 64;
            }
            _ => return Some(spec),
        }
        *rest = &rest[1..];
    }
}

fn convert(conversion: u8, spec: &Spec, arguments: &mut dyn Arguments, out: &mut Vec<u8>) -> Option<()> {
    match conversion {
        b'd' | b'i' => {
            let raw = arguments.next(if spec.wide { 8 } else { 4 })?;
            let unused = 64 - spec.bits;
            let value = (raw << unused) as i64 >> unused;
            let sign = sign(spec, value < 0);
            integer(spec, sign, value.unsigned_abs().to_string(), out);
        }
        b'u' | b'o' | b'x' | b'X' => {
            let raw = arguments.next(if spec.wide { 8 } else { 4 })?;
            let value = raw & (u64::MAX >> (64 - spec.bits));
            let mut digits = match conversion {
                b'u' => value.to_string(),
                b'o' => format!("{value:o}"),
                b'x' => format!("{value:x}"),
                _ => format!("{value:X}"),
            };
            if conversion == b'o' && spec.alternate && value != 0 {
                digits.insert(0, '0');
            }
            let prefix = match conversion {
                b'x' if spec.alternate && value != 0 => "0x",
                b'X' if spec.alternate && value != 0 => "0X",
                _ => "",
            };
            integer(spec, prefix, digits, out);
        }
        b'c' => {
            let value = arguments.next(4)? as u8;
            pad(spec, &[value], out);
        }
        b's' => {
            let address = arguments.next(8)?;
            let limit = spec.precision.unwrap_or(usize::MAX);
            let text = match address {
                0 => b"(null)"[..limit.min(6)].to_vec(),
                _ => arguments.text(address, limit)?,
            };
            pad(spec, &text, out);
        }
        b'p' => {
            let address = arguments.next(8)?;
            let text = if address == 0 { "(nil)".to_string() } else { format!("0x{address:x}") };
            pad(spec, text.as_bytes(), out);
        }
        b'n' => {
            // `%n` stores a count; device printf does not.
            arguments.next(8)?;
        }
        _ => {
            let value = f64::from_bits(arguments.next(8)?);
            let sign = sign(spec, value.is_sign_negative() && !value.is_nan());
            let digits = if value.is_finite() {
                finite(conversion.to_ascii_lowercase(), spec, value.abs())
            } else if value.is_nan() {
                "nan".to_string()
            } else {
                "inf".to_string()
            };
            let upper = conversion.is_ascii_uppercase();
            let digits = if upper { digits.to_uppercase() } else { digits };
            let hexadecimal = conversion.eq_ignore_ascii_case(&b'a') && value.is_finite();
            let prefix = match (hexadecimal, upper) {
                (true, true) => format!("{sign}0X"),
                (true, false) => format!("{sign}0x"),
                _ => sign.to_string(),
            };
            let zeros = if spec.zero && !spec.left && value.is_finite() {
                spec.width.saturating_sub(prefix.len() + digits.len())
            } else {
                0
            };
            pad(spec, format!("{prefix}{}{digits}", "0".repeat(zeros)).as_bytes(), out);
        }
    }
    Some(())
}

fn sign(spec: &Spec, negative: bool) -> &'static str {
    match (negative, spec.plus, spec.space) {
        (true, ..) => "-",
        (_, true, _) => "+",
        (_, _, true) => " ",
        _ => "",
    }
}

fn integer(spec: &Spec, prefix: &str, digits: String, out: &mut Vec<u8>) {
    // A value of 0 with precision 0 has no digits at all.
    let digits = if spec.precision == Some(0) && digits == "0" { String::new() } else { digits };
    let wanted = match spec.precision {
        Some(precision) => precision,
        None if spec.zero && !spec.left => spec.width.saturating_sub(prefix.len()),
        None => 0,
    };
    let zeros = "0".repeat(wanted.saturating_sub(digits.len()));
    pad(spec, format!("{prefix}{zeros}{digits}").as_bytes(), out);
}

fn pad(spec: &Spec, text: &[u8], out: &mut Vec<u8>) {
    let blanks = spec.width.saturating_sub(text.len());
    if !spec.left {
        out.resize(out.len() + blanks, b' ');
    }
    out.extend_from_slice(text);
    if spec.left {
        out.resize(out.len() + blanks, b' ');
    }
}

/// Digits of a finite value that is not negative, in lower case.
fn finite(conversion: u8, spec: &Spec, value: f64) -> String {
    let precision = spec.precision.unwrap_or(6);
    match conversion {
        b'f' => point(spec, format!("{value:.precision$}")),
        b'e' => scientific(spec, value, precision),
        b'g' => general(spec, value, precision.max(1)),
        _ => hexadecimal(spec, value),
    }
}

fn point(spec: &Spec, mut digits: String) -> String {
    if spec.alternate && !digits.contains('.') {
        digits.push('.');
    }
    digits
}

/// Mantissa and exponent with so many digits after the point.
fn parts(value: f64, precision: usize) -> (String, i32) {
    let text = format!("{value:.precision$e}");
    match text.split_once('e') {
        Some((mantissa, exponent)) => (mantissa.to_string(), exponent.parse().unwrap_or(0)),
        None => (text, 0),
    }
}

fn exponent(power: i32) -> String {
    format!("e{}{:02}", if power < 0 { '-' } else { '+' }, power.unsigned_abs())
}

fn scientific(spec: &Spec, value: f64, precision: usize) -> String {
    let (mantissa, power) = parts(value, precision);
    point(spec, mantissa) + &exponent(power)
}

fn general(spec: &Spec, value: f64, precision: usize) -> String {
    let (mantissa, power) = parts(value, precision - 1);
    let strip = |digits: String| match (spec.alternate, digits.contains('.')) {
        (false, true) => digits.trim_end_matches('0').trim_end_matches('.').to_string(),
        _ => point(spec, digits),
    };
    if power >= -4 && i64::from(power) < precision as i64 {
        let decimals = (precision as i64 - 1 - i64::from(power)) as usize;
        strip(format!("{value:.decimals$}"))
    } else {
        strip(mantissa) + &exponent(power)
    }
}

/// `h.hhhp+d`, without the leading `0x`.
fn hexadecimal(spec: &Spec, value: f64) -> String {
    let bits = value.to_bits();
    let (mut mantissa, biased) = (bits & ((1 << 52) - 1), (bits >> 52) as i32);
    let power = if value == 0.0 { 0 } else { biased.max(1) - 1023 };
    if biased != 0 {
        mantissa |= 1 << 52;
    }
    let mut nibbles = 13;
    if let Some(precision) = spec.precision.filter(|&p| p < 13) {
        // Round to nearest, ties to even.
        let dropped = 4 * (13 - precision) as u32;
        let half = 1u64 << (dropped - 1);
        let odd = mantissa >> dropped & 1;
        mantissa = (mantissa + half - 1 + odd) >> dropped;
        nibbles = precision;
    }
    let lead = mantissa >> (4 * nibbles);
    let fraction = mantissa & ((1u64 << (4 * nibbles)) - 1);
    let mut digits = if nibbles == 0 { String::new() } else { format!("{fraction:0nibbles$x}") };
    match spec.precision {
        None => digits.truncate(digits.trim_end_matches('0').len()),
        Some(precision) => digits.push_str(&"0".repeat(precision.saturating_sub(digits.len()))),
    }
    let dot = if digits.is_empty() && !spec.alternate { "" } else { "." };
    format!("{lead}{dot}{digits}p{}{}", if power < 0 { '-' } else { '+' }, power.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct List(Vec<u64>, usize);

    impl Arguments for List {
        fn next(&mut self, bytes: u64) -> Option<u64> {
            let value = *self.0.get(self.1)?;
            self.1 += 1;
            Some(if bytes == 4 { value & 0xffff_ffff } else { value })
        }
        fn text(&mut self, address: u64, limit: usize) -> Option<Vec<u8>> {
            let text: &[u8] = if address == 1 { b"warp" } else { return None };
            Some(text[..text.len().min(limit)].to_vec())
        }
    }

    fn print(format_text: &str, arguments: &[u64]) -> String {
        let (text, _) = format(format_text.as_bytes(), &mut List(arguments.to_vec(), 0)).unwrap();
        String::from_utf8(text).unwrap()
    }

    fn real(format_text: &str, value: f64) -> String {
        print(format_text, &[value.to_bits()])
    }

    #[test]
    fn integers_follow_c() {
        assert_eq!(print("%d %i", &[-5i64 as u64, 7]), "-5 7");
        assert_eq!(print("[%5d|%-5d|%05d|%+d|% d]", &[42, 42, 42, 42, 42]), "[   42|42   |00042|+42| 42]");
        assert_eq!(print("%.3d|%8.3d|%.0d|", &[7, 7, 0]), "007|     007||");
        assert_eq!(
            print("%u %x %X %o %#x %#o", &[u64::MAX, 255, 255, 8, 255, 8]),
            "4294967295 ff FF 10 0xff 010"
        );
        assert_eq!(
            print("%lld %lu %hhd %hu", &[i64::MIN as u64, u64::MAX, 0x1ff, 0x1_ffff]),
            "-9223372036854775808 18446744073709551615 -1 65535"
        );
        assert_eq!(print("%*d|%-*d|%.*d", &[4, 1, 4, 2, 3, 3]), "   1|2   |003");
        assert_eq!(print("%*d|", &[-4i64 as u64, 1]), "1   |");
    }

    #[test]
    fn text_characters_and_pointers() {
        assert_eq!(print("%s|%6s|%-6s|%.2s|%c|%%", &[1, 1, 1, 1, 65]), "warp|  warp|warp  |wa|A|%");
        assert_eq!(print("%s %p %p", &[0, 0, 0x1234]), "(null) (nil) 0x1234");
        assert_eq!(print("100%", &[]), "100%");
        assert_eq!(print("%y|%5", &[]), "%y|%5");
    }

    #[test]
    fn reals_follow_c() {
        assert_eq!(real("%f", 1234.5678915), "1234.567892");
        assert_eq!(real("%.2f|", 2.675), "2.67|");
        assert_eq!(real("%8.3f|", -1.5), "  -1.500|");
        assert_eq!(real("%08.3f|", -1.5), "-001.500|");
        assert_eq!(real("%e", 12345.678), "1.234568e+04");
        assert_eq!(real("%.0e", 12345.678), "1e+04");
        assert_eq!(real("%E", 1e-100), "1.000000E-100");
        assert_eq!(real("%g", 100000.0), "100000");
        assert_eq!(real("%g", 1000000.0), "1e+06");
        assert_eq!(real("%g", 0.0001), "0.0001");
        assert_eq!(real("%g", 0.00001), "1e-05");
        assert_eq!(real("%#g", 1.0), "1.00000");
        assert_eq!(real("%.3g", 1234.5), "1.23e+03");
        assert_eq!(real("%f %%", f64::INFINITY), "inf %");
        assert_eq!(real("%F", f64::NAN), "NAN");
        assert_eq!(real("%5.1f|", -f64::INFINITY), " -inf|");
    }

    #[test]
    fn hexadecimal_reals_follow_c() {
        assert_eq!(real("%a", 1.0), "0x1p+0");
        assert_eq!(real("%a", 3.0), "0x1.8p+1");
        assert_eq!(real("%.1a", 1.96875), "0x2.0p+0");
        assert_eq!(real("%a", 0.0), "0x0p+0");
        assert_eq!(real("%A", -0.5), "-0X1P-1");
    }

    #[test]
    fn unreadable_arguments_are_noticed() {
        assert!(format(b"%s", &mut List(vec![2], 0)).is_none());
        assert!(format(b"%d %d", &mut List(vec![2], 0)).is_none());
    }
}
