// SPDX-License-Identifier: MIT OR Apache-2.0
//! The built-in library, run instruction by instruction, against arithmetic that is exact by construction.
//!
//! Edge values with edge values, quotients and roots that all but hit a rounding boundary, and random operands. How many random ones is set
//! by `WARPWATT_CASES` (4,000 for each function by default).

use warpwatt_base::SplitMix64;
use warpwatt_oracle::float::{self, Arith};
use warpwatt_oracle::{Launch, Memory, ScalarKind, Ty, integer};

use rustc_apfloat::Round;
use rustc_apfloat::Round::*;

const LIBRARY: [&str; 11] = [
    include_str!("../src/front/builtins/approx.ptx"),
    include_str!("../src/front/builtins/div_f32.ptx"),
    include_str!("../src/front/builtins/div_f64.ptx"),
    include_str!("../src/front/builtins/half.ptx"),
    include_str!("../src/front/builtins/int16.ptx"),
    include_str!("../src/front/builtins/int32.ptx"),
    include_str!("../src/front/builtins/int64.ptx"),
    include_str!("../src/front/builtins/rcp_f32.ptx"),
    include_str!("../src/front/builtins/rcp_f64.ptx"),
    include_str!("../src/front/builtins/sqrt_f32.ptx"),
    include_str!("../src/front/builtins/sqrt_f64.ptx"),
];

const ROUNDINGS: [(&str, Round); 4] =
    [("rn", NearestTiesToEven), ("rz", TowardZero), ("rm", TowardNegative), ("rp", TowardPositive)];

const A: u64 = 0x100_0000_0000;
const B: u64 = 0x110_0000_0000;
const D: u64 = 0x120_0000_0000;
const THREADS: usize = 256;

fn cases() -> usize {
    std::env::var("WARPWATT_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(4_000)
}

const fn ty(kind: ScalarKind, bits: u32) -> Ty {
    Ty { kind, bits, lanes: 1 }
}

/// Calls `function` for every tuple of operands, one thread each.
fn call(function: &str, word: &str, bits: u32, sources: usize, operands: &[(u64, u64)]) -> Vec<u64> {
    let size = bits as usize / 8;
    let second = if sources == 2 { format!("ld.global.{word} %b, [%ab];") } else { String::new() };
    let arguments = if sources == 2 { "%a, %b" } else { "%a" };
    let kernel = format!(
        ".visible .entry probe(.param .u64 pa, .param .u64 pb, .param .u64 pd)\n{{\n\
         .reg .u32 %i, %t, %n; .reg .u64 %aa, %ab, %ad; .reg .{word} %a, %b, %d;\n\
         mov.u32 %t, %tid.x; mov.u32 %i, %ctaid.x; mov.u32 %n, %ntid.x; mad.lo.u32 %i, %i, %n, %t;\n\
         ld.param.u64 %aa, [pa]; ld.param.u64 %ab, [pb]; ld.param.u64 %ad, [pd];\n\
         mad.wide.u32 %aa, %i, {size}, %aa; mad.wide.u32 %ab, %i, {size}, %ab; mad.wide.u32 %ad, %i, {size}, %ad;\n\
         ld.global.{word} %a, [%aa]; {second}\n\
         call (%d), {function}, ({arguments});\n\
         st.global.{word} [%ad], %d;\nret;\n}}\n"
    );
    let header =
        |line: &&str| [".version", ".target", ".address_size"].iter().any(|word| line.starts_with(word));
    let body: String = LIBRARY
        .iter()
        .flat_map(|text| text.lines().filter(|line| !header(line)))
        .flat_map(|line| [line, "\n"])
        .collect();
    let text = format!(".version 7.8\n.target sm_90\n.address_size 64\n{body}{kernel}");
    let parsed = warpwatt_ptx::parse("builtins.ptx", &text);
    assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);

    let grid = operands.len().div_ceil(THREADS);
    let column = |pick: fn(&(u64, u64)) -> u64| {
        let mut bytes: Vec<u8> =
            operands.iter().flat_map(|pair| pick(pair).to_le_bytes().into_iter().take(size)).collect();
        bytes.resize(grid * THREADS * size, 0);
        bytes
    };
    let mut memory = Memory::new();
    memory.map(A, column(|pair| pair.0));
    memory.map(B, column(|pair| pair.1));
    memory.map(D, vec![0; grid * THREADS * size]);
    let params: Vec<u8> = [A, B, D].iter().flat_map(|address| address.to_le_bytes()).collect();
    let launch = Launch {
        kernel: "probe",
        grid: [grid as u32, 1, 1],
        block: [THREADS as u32, 1, 1],
        dynamic_shared: 0,
        params: &params,
    };
    warpwatt_oracle::run(&parsed.module, &launch, &mut memory).expect("the library runs");
    let results = memory.buffer(D).expect("it was mapped");
    let value = |bytes: &[u8]| bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte));
    results.chunks(size).take(operands.len()).map(value).collect()
}

/// Compares with the model and names the first operands that differ.
fn check(
    function: &str,
    word: &str,
    bits: u32,
    sources: usize,
    operands: &[(u64, u64)],
    model: impl Fn(u64, u64) -> u64,
) {
    let results = call(function, word, bits, sources, operands);
    for (&(a, b), result) in operands.iter().zip(results) {
        let expected = model(a, b);
        assert!(result == expected, "{function}({a:#x}, {b:#x}) = {result:#x}, not {expected:#x}");
    }
}

/// All pairs of edge values, then the hard cases, then random operands, some of them with exponents that meet.
fn pairs(edges: &[u64], hard: &[(u64, u64)], ty: Ty, seed: u64) -> Vec<(u64, u64)> {
    let mut rng = SplitMix64::new(seed);
    let mask = ty.mask();
    let mut pairs: Vec<(u64, u64)> = edges.iter().flat_map(|&a| edges.iter().map(move |&b| (a, b))).collect();
    pairs.extend_from_slice(hard);
    for index in 0..cases() {
        let (a, b) = (rng.next_u64() & mask, rng.next_u64() & mask);
        pairs.push(match index % 4 {
            0 => (a, b >> rng.below(ty.bits)),
            1 => (a >> rng.below(ty.bits), b >> rng.below(ty.bits)),
            _ => (a, b),
        });
    }
    pairs
}

fn integer_edges(bits: u32) -> Vec<u64> {
    let mask = if bits == 64 { u64::MAX } else { (1 << bits) - 1 };
    let mut edges: Vec<u64> =
        vec![0, 1, 2, 3, 5, 7, 10, 100, 641, 0x55, 0xaaaa_aaaa_aaaa_aaaa, 0x1234_5678_9abc_def0];
    for bit in [7, 8, 15, 16, 23, 24, 31, 32, 33, 47, 48, 62, 63].into_iter().filter(|&bit| bit < bits) {
        edges.extend([1 << bit, (1 << bit) - 1, (1 << bit) + 1]);
    }
    let negated: Vec<u64> = edges.iter().map(|edge| edge.wrapping_neg()).collect();
    edges.extend(negated);
    edges.iter_mut().for_each(|edge| *edge &= mask);
    edges.sort_unstable();
    edges.dedup();
    edges
}

#[test]
fn integer_division_is_exact() {
    for (bits, prefix) in [(16, "16"), (32, "32"), (64, "64")] {
        for (sign, kind) in [("u", ScalarKind::Unsigned), ("s", ScalarKind::Signed)] {
            let of = ty(kind, bits);
            let word = format!("{sign}{prefix}");
            let operands = pairs(&integer_edges(bits), &[], of, u64::from(bits));
            for (op, remainder) in [("div", false), ("rem", true)] {
                let model = |a, b| integer::divide(a, b, of, remainder);
                check(&format!("__ww_{op}_{word}"), &word, bits, 2, &operands, model);
            }
        }
    }
}

/// Signs, zeros, the ends of the subnormal and normal ranges, powers of two, infinities, NaN.
fn float_edges(ty: Ty) -> Vec<u64> {
    let infinity = float::infinity(ty);
    let one = float::one(ty);
    let places = infinity.trailing_zeros();
    let ulp = 1u64 << places;
    let mut edges =
        vec![0, 1, 2, 3, ulp / 2, ulp - 1, ulp, ulp + 1, 2 * ulp, 2 * ulp + 5, 3 * ulp + 0x155, one];
    edges.extend([
        one + 1,
        one - 1,
        one + ulp,
        one + ulp - 1,
        one + ulp / 2,
        one + 3 * (ulp / 4),
        one - ulp,
        one + ulp / 3,
    ]);
    for exponent in [20, 22, 24, 25, 31, 32, 33, 50, 60, 64, 100] {
        edges.extend([
            one + exponent * ulp,
            one - exponent * ulp + 1,
            exponent * ulp + ulp / 7,
            infinity - exponent * ulp - 1,
        ]);
    }
    edges.extend([
        infinity - 1,
        infinity - ulp,
        infinity - 2 * ulp,
        infinity - 2 * ulp + 1,
        infinity - 3 * ulp,
        infinity,
    ]);
    edges.extend([infinity + 1, float::nan(ty)]);
    let negative: Vec<u64> = edges.iter().map(|edge| edge | 1 << (ty.bits - 1)).collect();
    edges.extend(negative);
    edges
}

fn inverse(a: i128, modulus: i128) -> Option<i128> {
    let (mut r, mut next, mut t, mut u) = (modulus, a % modulus, 0i128, 1i128);
    while next != 0 {
        let quotient = r / next;
        (r, next) = (next, r - quotient * next);
        (t, u) = (u, t - quotient * u);
    }
    (r == 1).then(|| t.rem_euclid(modulus))
}

/// Quotients and roots that are floats themselves: in no mode may they be left. The first of each pair is a product or a square.
fn exact(ty: Ty, square: bool) -> Vec<(u64, u64)> {
    let mut rng = SplitMix64::new(77);
    let half = float::infinity(ty).trailing_zeros().div_ceil(2);
    let short = |rng: &mut SplitMix64| rng.next_u64() >> (64 - half) | 1;
    let pack = |value: u64| float::from_integer(i128::from(value), ty, NearestTiesToEven);
    (0..cases() / 2)
        .flat_map(|_| {
            let (x, y) = (short(&mut rng), short(&mut rng));
            let whole = rng.next_u64() & float::nan(ty);
            let y = if square { x } else { y };
            [(pack(x * y), pack(x)), (whole, whole)]
        })
        .collect()
}

/// Quotients within a few units of 2^-(2p) of a representable number or of the middle between two: a * 2^k leaves a tiny remainder modulo b.
fn hard_quotients(ty: Ty) -> Vec<(u64, u64)> {
    let places = float::infinity(ty).trailing_zeros();
    let hidden = 1i128 << places;
    let mut rng = SplitMix64::new(99);
    let mut found = Vec::new();
    for index in 0..(cases() / 20) as i128 {
        let b = if index < 200 {
            2 * hidden - 1 - 2 * index
        } else {
            i128::from(rng.next_u64()) & (hidden - 1) | hidden | 1
        };
        for power in [places, places + 1, places + 2] {
            let Some(inverse) = inverse((1 << power) % b, b) else { continue };
            for remainder in [1, 2, b - 1, b - 2] {
                let mut a = remainder * inverse % b;
                while a > 0 && a < hidden {
                    a <<= 1;
                }
                if (hidden..2 * hidden).contains(&a) {
                    let at = |value: i128, exponent: u64| exponent << places | (value - hidden) as u64;
                    let bias = float::one(ty) >> places;
                    let below = u64::from(rng.below(places));
                    // At scale one, and where the quotient is subnormal.
                    found.push((at(a, bias), at(b, bias)));
                    found.push((at(a, 60), at(b, 60 + bias + below)));
                }
            }
        }
    }
    found
}

#[test]
fn float_division_is_exactly_rounded() {
    let mut operands = pairs(&float_edges(Ty::F32), &hard_quotients(Ty::F32), Ty::F32, 7);
    operands.extend(exact(Ty::F32, false));
    // Divisors as large as can be make the quotient subnormal.
    let mut rng = SplitMix64::new(5);
    for _ in 0..cases() {
        let exponent = 100 + rng.below(60);
        let (a, b) = (rng.next_u32() & 0x807f_ffff, rng.next_u32() & 0x807f_ffff);
        operands.push((u64::from(a | exponent << 23), u64::from(b | (exponent + 94).min(254) << 23)));
    }
    for (mode, round) in ROUNDINGS {
        for (suffix, ftz) in [("", false), ("_ftz", true)] {
            let model = |a, b| {
                let [a, b] = [a, b].map(|raw| float::flush(raw, Ty::F32, ftz));
                float::finish(float::arith(Arith::Div, a, b, 0, Ty::F32, round), Ty::F32, ftz, false)
            };
            check(&format!("__ww_div_{mode}{suffix}_f32"), "f32", 32, 2, &operands, model);
            let model = |a, _| {
                let (one, a) = (float::one(Ty::F32), float::flush(a, Ty::F32, ftz));
                float::finish(float::arith(Arith::Div, one, a, 0, Ty::F32, round), Ty::F32, ftz, false)
            };
            check(&format!("__ww_rcp_{mode}{suffix}_f32"), "f32", 32, 1, &operands, model);
        }
    }
}

#[test]
fn float_square_roots_are_exactly_rounded() {
    let mut operands = pairs(&float_edges(Ty::F32), &exact(Ty::F32, true), Ty::F32, 8);
    // Squares and their neighbours.
    let mut rng = SplitMix64::new(6);
    for _ in 0..cases() {
        let root = f32::from_bits(0x3f80_0000 + (rng.next_u32() & 0x007f_ffff));
        operands.push((u64::from((root * root).to_bits() + rng.below(3) - 1), 0));
    }
    for (mode, round) in ROUNDINGS {
        for (suffix, ftz) in [("", false), ("_ftz", true)] {
            let model = |a, _| float::sqrt(float::flush(a, Ty::F32, ftz), Ty::F32, round);
            check(&format!("__ww_sqrt_{mode}{suffix}_f32"), "f32", 32, 1, &operands, model);
        }
    }
}

#[test]
fn double_division_is_exactly_rounded() {
    let mut operands = pairs(&float_edges(Ty::F64), &hard_quotients(Ty::F64), Ty::F64, 9);
    operands.extend(exact(Ty::F64, false));
    let mut rng = SplitMix64::new(4);
    for _ in 0..cases() {
        let exponent = u64::from(900 + rng.below(200));
        let fraction = 0x800f_ffff_ffff_ffff;
        let (a, b) = (rng.next_u64() & fraction, rng.next_u64() & fraction);
        operands.push((a | exponent << 52, b | (exponent + 1000) << 52));
        operands.push((a | exponent << 52, b | u64::from(900 + rng.below(200)) << 52));
    }
    for (mode, round) in ROUNDINGS {
        let divide = |a, b| float::canonical(float::arith(Arith::Div, a, b, 0, Ty::F64, round), Ty::F64);
        check(&format!("__ww_div_{mode}_f64"), "f64", 64, 2, &operands, divide);
        check(&format!("__ww_rcp_{mode}_f64"), "f64", 64, 1, &operands, |a, _| {
            divide(float::one(Ty::F64), a)
        });
    }
}

#[test]
fn double_square_roots_are_exactly_rounded() {
    let mut operands = pairs(&float_edges(Ty::F64), &exact(Ty::F64, true), Ty::F64, 10);
    let mut rng = SplitMix64::new(3);
    for _ in 0..cases() {
        let root = f64::from_bits(float::one(Ty::F64) + (rng.next_u64() >> 12));
        operands.push(((root * root).to_bits() + u64::from(rng.below(3)) - 1, 0));
        // Just below a power of four the root is nearly the middle between two doubles.
        operands.push(((float::one(Ty::F64) + (2 << 52)) - 1 - u64::from(rng.below(4096)), 0));
    }
    for (mode, round) in ROUNDINGS {
        check(&format!("__ww_sqrt_{mode}_f64"), "f64", 64, 1, &operands, |a, _| {
            float::sqrt(a, Ty::F64, round)
        });
    }
}

/// Units in the last place between two floats of one sign; 0 for two NaN.
fn distance(a: u64, b: u64) -> u64 {
    let both_nan = float::is_nan(a, Ty::F32) && float::is_nan(b, Ty::F32);
    if both_nan { 0 } else { a.abs_diff(b) }
}

fn single(value: f64) -> u64 {
    float::canonical(u64::from((value as f32).to_bits()), Ty::F32)
}

fn double(raw: u64) -> f64 {
    f64::from(f32::from_bits(raw as u32))
}

/// PTX's bounds on the approximate functions, over the whole range with subnormal operands and results.
#[test]
fn approximate_functions_keep_their_bounds() {
    let operands = pairs(&float_edges(Ty::F32), &[], Ty::F32, 11);
    let near = |function: &str, sources, ulps: u64, model: fn(f64, f64) -> f64| {
        let results = call(function, "f32", 32, sources, &operands);
        for (&(a, b), result) in operands.iter().zip(results) {
            let expected = single(model(double(a), double(b)));
            assert!(
                distance(result, expected) <= ulps,
                "{function}({a:#x}, {b:#x}) = {result:#x}, not {expected:#x}"
            );
        }
    };
    near("__ww_rcp_approx_f32", 1, 1, |a, _| 1.0 / a);
    near("__ww_rsqrt_approx_f32", 1, 2, |a, _| 1.0 / a.sqrt());
    near("__ww_sqrt_approx_f32", 1, 2, |a, _| a.sqrt());
    near("__ww_ex2_approx_f32", 1, 4, |a, _| a.exp2());
    near("__ww_lg2_approx_f32", 1, 2, |a, _| a.log2());
    near("__ww_div_full_f32", 2, 2, |a, b| a / b);

    // In these two, divisors above 2^126 give zero, or NaN for an infinite dividend.
    for (function, ftz) in
        [("__ww_div_approx_f32", false), ("__ww_div_approx_ftz_f32", true), ("__ww_div_full_ftz_f32", true)]
    {
        let results = call(function, "f32", 32, 2, &operands);
        for (&(a, b), result) in operands.iter().zip(results) {
            let [x, y] = [a, b].map(|raw| float::flush(raw, Ty::F32, ftz));
            let huge =
                double(y).abs() > 2f64.powi(126) && double(y).is_finite() && !function.contains("full");
            let quotient = if huge { double(x) * 0.0 * double(y).signum() } else { double(x) / double(y) };
            let expected = float::flush(single(quotient), Ty::F32, ftz);
            // A result next to the subnormal range may be flushed or not.
            let edge = ftz && (result | expected) & 0x7fff_ffff <= 0x0080_0001;
            assert!(
                edge || distance(result, expected) <= 2,
                "{function}({a:#x}, {b:#x}) = {result:#x}, not {expected:#x}"
            );
        }
    }
}

#[test]
fn reciprocal_roots_of_doubles_are_good_to_their_last_places() {
    let operands = pairs(&float_edges(Ty::F64), &[], Ty::F64, 12);
    let results = call("__ww_rsqrt_approx_f64", "f64", 64, 1, &operands);
    for (&(a, _), result) in operands.iter().zip(results) {
        let expected = float::canonical((1.0 / f64::from_bits(a).sqrt()).to_bits(), Ty::F64);
        assert!(result.abs_diff(expected) <= 3, "rsqrt({a:#x}) = {result:#x}, not {expected:#x}");
    }
}

#[test]
fn halves_go_through_single_precision() {
    let every: Vec<(u64, u64)> = (0..0x1_0000).map(|raw| (raw, 0)).collect();
    let twice: Vec<(u64, u64)> = (0..0x1_0000u64).map(|raw| (raw | (raw ^ 0x1234) << 16, 0)).collect();
    let formats = [(ty(ScalarKind::Float, 16), "f16"), (ty(ScalarKind::Brain, 16), "bf16")];
    for (of, word) in formats {
        let through = |raw: u64, function: fn(f64) -> f64, ftz: bool| {
            let wide =
                float::flush(float::convert(raw & 0xffff, of, Ty::F32, NearestTiesToEven), Ty::F32, ftz);
            let result = float::flush(single(function(double(wide))), Ty::F32, ftz);
            float::convert(result, Ty::F32, of, NearestTiesToEven)
        };
        let exponential = |raw| through(raw, f64::exp2, true);
        let tangent = |raw| through(raw, f64::tanh, false);
        let ftz = if word == "bf16" { "ftz_" } else { "" };
        check(&format!("__ww_ex2_approx_{ftz}{word}"), "b16", 16, 1, &every, |a, _| exponential(a));
        check(&format!("__ww_tanh_approx_{word}"), "b16", 16, 1, &every, |a, _| tangent(a));
        let packed = |a: u64, of: &dyn Fn(u64) -> u64| of(a & 0xffff) | of(a >> 16) << 16;
        check(&format!("__ww_ex2_approx_{ftz}{word}x2"), "b32", 32, 1, &twice, |a, _| {
            packed(a, &exponential)
        });
        check(&format!("__ww_tanh_approx_{word}x2"), "b32", 32, 1, &twice, |a, _| packed(a, &tangent));
    }
}
