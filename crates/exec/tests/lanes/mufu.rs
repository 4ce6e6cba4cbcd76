// SPDX-License-Identifier: MIT OR Apache-2.0
//! Special functions against `libm` in F64, within the error that PTX documents, and their special values. Levels must agree to the bit.

use warpwatt_exec::lanes::Level;
use warpwatt_isa::{MufuFn, Op, Sub, Ty, Uop};

use crate::support::*;

fn function(mufu: MufuFn) -> Uop {
    let mut uop = uop(Op::Mufu, Ty::F32);
    uop.sub = Sub::Mufu(mufu);
    uop
}

/// Results of all levels, which must be equal.
fn run(uop: &Uop, inputs: &[u32]) -> Vec<u32> {
    let mut results = Vec::new();
    for warp in inputs.chunks(32) {
        let mut cases: Vec<Case> =
            warp.iter().map(|&v| Case { src: [v.into(), 0, 0, 0], x: [true; 3] }).collect();
        cases.resize(32, cases[0]);
        let all: Vec<[u32; 32]> = Level::available()
            .into_iter()
            .map(|level| execute(level, uop, &cases, u32::MAX, 20).1[20].0)
            .collect();
        assert!(all.iter().all(|r| *r == all[0]), "levels disagree on {uop}");
        results.extend(&all[0][..warp.len()]);
    }
    results
}

/// Largest error over numbers between two bounds, measured by `error(got, want)`.
fn worst(
    mufu: MufuFn,
    inputs: &[f32],
    reference: impl Fn(f64) -> f64,
    error: impl Fn(f64, f64) -> f64,
) -> f64 {
    let bits: Vec<u32> = inputs.iter().map(|v| v.to_bits()).collect();
    let got = run(&function(mufu), &bits);
    let errors =
        inputs.iter().zip(got).map(|(&x, y)| error(f64::from(f32::from_bits(y)), reference(f64::from(x))));
    errors.fold(0.0, |a, e| if e > a || e.is_nan() { e } else { a })
}

fn spread(count: usize, low: f32, high: f32) -> Vec<f32> {
    let mut random = Random(1234);
    let mut values: Vec<f32> = (0..count)
        .map(|_| low + (high - low) * ((random.next() >> 40) as f32 / (1u64 << 24) as f32))
        .collect();
    values.extend([low, high]);
    values
}

/// Positive normal numbers over all exponents in a range.
fn scales(count: usize, from: i32, to: i32) -> Vec<f32> {
    let mut random = Random(4321);
    (0..count)
        .map(|_| {
            let exponent = (127 + from) as u32 + (random.next() % (to - from) as u64) as u32;
            f32::from_bits(exponent << 23 | random.next() as u32 & 0x7f_ffff)
        })
        .collect()
}

fn relative(got: f64, want: f64) -> f64 {
    ((got - want) / want).abs()
}

fn absolute(got: f64, want: f64) -> f64 {
    (got - want).abs()
}

fn two(k: f64) -> f64 {
    libm::exp2(k)
}

#[test]
fn errors_stay_within_the_documented_bounds() {
    const N: usize = 100_000;
    let mut failures = Vec::new();
    let mut expect = |name: &str, error: f64, bound: f64| {
        println!("{name:5} 2^{:.1} (allowed 2^{bound})", libm::log2(error));
        if error.is_nan() || error > two(bound) {
            failures.push(format!("{name}: {error:e}"));
        }
    };
    let tau = std::f64::consts::TAU;
    expect("rcp", worst(MufuFn::Rcp, &scales(N, -126, 126), |x| 1.0 / x, relative), -23.0);
    expect("rsq", worst(MufuFn::Rsq, &scales(N, -126, 127), |x| 1.0 / libm::sqrt(x), relative), -22.9);
    expect("sqrt", worst(MufuFn::Sqrt, &scales(N, -126, 127), libm::sqrt, relative), -23.0);
    expect("ex2", worst(MufuFn::Ex2, &spread(N, -125.9, 127.9), libm::exp2, relative), -22.5);
    expect("ex2", worst(MufuFn::Ex2, &spread(N, -1.0, 1.0), libm::exp2, relative), -22.5);
    expect("lg2", worst(MufuFn::Lg2, &spread(N, 0.5, 2.0), libm::log2, absolute), -22.0);
    let far: Vec<f32> = scales(N, -126, 127).into_iter().filter(|v| !(0.5..=2.0).contains(v)).collect();
    expect("lg2", worst(MufuFn::Lg2, &far, libm::log2, relative), -22.0);
    expect("sin", worst(MufuFn::Sin, &spread(N, -1.0, 1.0), |x| libm::sin(tau * x), absolute), -20.5);
    expect("cos", worst(MufuFn::Cos, &spread(N, -1.0, 1.0), |x| libm::cos(tau * x), absolute), -20.5);
    expect(
        "sin",
        worst(MufuFn::Sin, &spread(N, -50.0, 50.0), |x| libm::sin(tau * (x - libm::rint(x))), absolute),
        -20.5,
    );
    expect("tanh", worst(MufuFn::Tanh, &spread(N, -10.0, 10.0), libm::tanh, relative), -11.0);
    expect("tanh", worst(MufuFn::Tanh, &scales(N, -126, 3), libm::tanh, relative), -11.0);
    assert!(failures.is_empty(), "{failures:?}");
}

#[test]
fn special_values_come_out_as_documented() {
    const NAN: u32 = 0x7fff_ffff;
    let (inf, zero) = (f32::INFINITY, 0f32);
    let sub = f32::from_bits(0x0040_0000);
    let table: &[(MufuFn, &[(f32, f32)])] = &[
        (
            MufuFn::Rcp,
            &[
                (zero, inf),
                (-zero, -inf),
                (inf, 0.0),
                (-inf, -0.0),
                (sub, inf),
                (-sub, -inf),
                (1.7e38, 5.882353e-39 * 0.0),
                (-4.0, -0.25),
            ],
        ),
        (MufuFn::Rsq, &[(zero, inf), (-zero, -inf), (sub, inf), (-sub, -inf), (inf, 0.0), (4.0, 0.5)]),
        (MufuFn::Sqrt, &[(zero, zero), (-zero, -zero), (sub, zero), (-sub, -zero), (inf, inf), (4.0, 2.0)]),
        (
            MufuFn::Ex2,
            &[
                (zero, 1.0),
                (-zero, 1.0),
                (sub, 1.0),
                (inf, inf),
                (-inf, 0.0),
                (128.0, inf),
                (-127.0, 0.0),
                (3.0, 8.0),
                (-126.0, f32::MIN_POSITIVE),
            ],
        ),
        (
            MufuFn::Lg2,
            &[
                (zero, -inf),
                (-zero, -inf),
                (sub, -inf),
                (-sub, -inf),
                (inf, inf),
                (1.0, 0.0),
                (8.0, 3.0),
                (0.25, -2.0),
            ],
        ),
        (
            MufuFn::Sin,
            &[(zero, zero), (-zero, -zero), (sub, zero), (-sub, -zero), (0.25, 1.0), (-0.25, -1.0)],
        ),
        (MufuFn::Cos, &[(zero, 1.0), (-sub, 1.0), (0.5, -1.0), (1.0, 1.0)]),
        (
            MufuFn::Tanh,
            &[(zero, zero), (-zero, -zero), (sub, sub), (-sub, -sub), (inf, 1.0), (-inf, -1.0), (20.0, 1.0)],
        ),
    ];
    for (mufu, values) in table {
        let inputs: Vec<u32> = values.iter().map(|v| v.0.to_bits()).collect();
        for ((x, want), got) in values.iter().zip(run(&function(*mufu), &inputs)) {
            assert_eq!(want.to_bits(), got, "{mufu:?}({x:e}) = {:e}, want {want:e}", f32::from_bits(got));
        }
        assert_eq!(
            run(&function(*mufu), &[0x7fc0_0000, 0xffff_ffff, 0x7f80_0001]),
            [NAN; 3],
            "{mufu:?} of NaN"
        );
    }
    for mufu in [MufuFn::Rsq, MufuFn::Sqrt, MufuFn::Lg2] {
        assert_eq!(
            run(&function(mufu), &[(-1f32).to_bits(), (-inf).to_bits()]),
            [NAN; 2],
            "{mufu:?} of a negative number"
        );
    }
    for mufu in [MufuFn::Sin, MufuFn::Cos] {
        assert_eq!(
            run(&function(mufu), &[inf.to_bits(), (-inf).to_bits()]),
            [NAN; 2],
            "{mufu:?} of infinity"
        );
    }
}

#[test]
fn double_seeds_are_good_to_twenty_bits() {
    let mut random = Random(8);
    let highs: Vec<u32> = (0..50_000).map(|_| (random.next() >> 33) as u32).collect();
    let number = |high: u32| f64::from_bits(u64::from(high) << 32);
    for (mufu, reference) in
        [(MufuFn::Rcp64h, (|x| 1.0 / x) as fn(f64) -> f64), (MufuFn::Rsq64h, |x| 1.0 / libm::sqrt(x))]
    {
        for (&x, y) in highs.iter().zip(run(&function(mufu), &highs)) {
            let want = reference(number(x));
            if number(x).is_normal() && want >= 2.3e-308 {
                assert!(
                    relative(number(y), want) <= two(-20.0),
                    "{mufu:?}({:e}) = {:e}",
                    number(x),
                    number(y)
                );
            }
        }
    }
    let special = [0, 0x8000_0000, 0x7ff0_0000, 0xfff0_0000, 0x0008_0000, 0x7ff8_0000, 0x7fe8_0000];
    let want = [0x7ff0_0000, 0xfff0_0000, 0, 0x8000_0000, 0x7ff0_0000, 0x7fff_ffff, 0];
    assert_eq!(run(&function(MufuFn::Rcp64h), &special), want);
    let special =
        [0, 0x8000_0000, 0x7ff0_0000, 0xfff0_0000, 0x0008_0000, 0x8008_0000, 0xbff0_0000, 0x7ff8_0000];
    let want = [0x7ff0_0000, 0xfff0_0000, 0, 0x7fff_ffff, 0x7ff0_0000, 0xfff0_0000, 0x7fff_ffff, 0x7fff_ffff];
    assert_eq!(run(&function(MufuFn::Rsq64h), &special), want);
}
