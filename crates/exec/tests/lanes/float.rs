// SPDX-License-Identifier: MIT OR Apache-2.0
//! Floating-point arithmetic and comparison against `rustc_apfloat`.

use warpwatt_isa::{BoolOp, Cmp, Flags, MinMax, Op, Round, Sub, TestProp, Ty, Uop};

use crate::integer::combine;
use crate::model::{self, arithmetic, element, floats};
use crate::support::*;

const FLOATS: [Ty; 6] = [Ty::F32, Ty::F64, Ty::F16, Ty::F16x2, Ty::Bf16, Ty::Bf16x2];

/// Edge values and random ones; packed types get two different halves. Some random operands are close to another, so that sums cancel.
fn float_cases(ty: Ty, count: usize) -> Vec<Case> {
    let edges = floats(ty);
    let mut random = Random(ty as u64);
    let width = element(ty).bytes() * 8;
    let mut all = cases(&edges, count);
    // Every pair of edges comes with a third operand; add those whose product the third nearly cancels.
    for _ in 0..count {
        let near = |random: &mut Random, v: u64| {
            v.wrapping_add(random.next() % 5).wrapping_sub(2) ^ (random.next() & 1) << (width - 1)
        };
        let a = random.next();
        let one = edges[random.next() as usize % edges.len()];
        let src = match random.next() % 3 {
            0 => [a, near(&mut random, a), random.next(), 0],
            1 => [a, one, near(&mut random, a), 0],
            _ => {
                // Exponents close together: the same top bits.
                let keep = u64::MAX << (width - width / 4);
                let mix = |random: &mut Random| a & keep | random.next() & !keep;
                [mix(&mut random), mix(&mut random), mix(&mut random), 0]
            }
        };
        all.push(Case { src, x: [random.next() & 1 == 1; 3] });
    }
    if matches!(ty, Ty::F16x2 | Ty::Bf16x2) {
        let other = all.clone();
        for (i, case) in all.iter_mut().enumerate() {
            let high = other[(i * 7 + 13) % other.len()];
            for k in 0..4 {
                case.src[k] = case.src[k] & 0xffff | (high.src[k] & 0xffff) << 16;
            }
        }
    }
    all
}

fn result(uop: &Uop, c: &Case) -> Expect {
    value(arithmetic(uop, c.src))
}

fn flag_sets(ty: Ty) -> Vec<Flags> {
    match ty {
        Ty::F64 => vec![Flags::NONE],
        Ty::F32 => vec![Flags::NONE, Flags::FTZ, Flags::SAT, Flags::FTZ | Flags::SAT],
        _ => vec![Flags::NONE, Flags::FTZ, Flags::SAT, Flags::RELU, Flags::FTZ | Flags::RELU],
    }
}

#[test]
fn arithmetic_rounds_once_to_nearest() {
    for ty in FLOATS {
        let all = float_cases(ty, 3000);
        for op in [Op::Fadd, Op::Fmul, Op::Ffma] {
            for flags in flag_sets(ty) {
                let mut uop = uop(op, ty);
                uop.flags = flags;
                check(&uop, all.iter().copied(), |c| result(&uop, c));
            }
        }
    }
}

#[test]
fn source_modifiers_act_before_the_operation() {
    for ty in FLOATS {
        let all = float_cases(ty, 200);
        for op in [Op::Fadd, Op::Fmul, Op::Ffma] {
            for (neg, abs) in [(1, 0), (2, 0), (4, 0), (0, 1), (0, 2), (7, 7), (5, 2)] {
                let mut uop = uop(op, ty);
                (uop.neg, uop.abs) = (neg, abs);
                check(&uop, all.iter().copied(), |c| result(&uop, c));
            }
        }
    }
}

#[test]
fn directed_rounding_is_exact() {
    for ty in [Ty::F32, Ty::F64] {
        let all = float_cases(ty, 6000);
        for op in [Op::Fadd, Op::Fmul, Op::Ffma] {
            for rnd in [Round::Rz, Round::Rm, Round::Rp] {
                for flags in flag_sets(ty) {
                    let mut uop = uop(op, ty);
                    (uop.rnd, uop.flags) = (rnd, flags);
                    check(&uop, all.iter().copied(), |c| result(&uop, c));
                }
            }
        }
    }
}

#[test]
fn minimum_and_maximum_know_nan_and_signed_zero() {
    let (n, x) = (Flags::NAN, Flags::XORSIGN_ABS);
    for ty in FLOATS {
        let all = float_cases(ty, 500);
        let sets = if ty == Ty::F64 {
            vec![Flags::NONE]
        } else {
            vec![Flags::NONE, Flags::FTZ, n, x, n | x, n | Flags::FTZ]
        };
        for which in [MinMax::Min, MinMax::Max] {
            for &flags in &sets {
                for (neg, abs) in [(0, 0), (1, 0), (0, 2)] {
                    let mut uop = uop(Op::Fmnmx, ty);
                    (uop.sub, uop.flags, uop.neg, uop.abs) = (Sub::MinMax(which), flags, neg, abs);
                    check(&uop, all.iter().copied(), |c| result(&uop, c));
                }
            }
        }
    }
}

const COMPARISONS: [Cmp; 14] = [
    Cmp::Eq,
    Cmp::Ne,
    Cmp::Lt,
    Cmp::Le,
    Cmp::Gt,
    Cmp::Ge,
    Cmp::Equ,
    Cmp::Neu,
    Cmp::Ltu,
    Cmp::Leu,
    Cmp::Gtu,
    Cmp::Geu,
    Cmp::Num,
    Cmp::Nan,
];

#[test]
fn comparisons_are_ordered_or_unordered() {
    for ty in FLOATS {
        let all = float_cases(ty, 300);
        for cmp in COMPARISONS {
            for combine_by in [BoolOp::And, BoolOp::Or, BoolOp::Xor] {
                for flags in [Flags::NONE, Flags::FTZ] {
                    if ty == Ty::F64 && flags == Flags::FTZ {
                        continue;
                    }
                    let mut uop = with_predicates(uop(Op::Fsetp, ty));
                    (uop.sub, uop.flags) = (Sub::Cmp(cmp, combine_by), flags);
                    (uop.neg, uop.abs) = if cmp == Cmp::Lt { (1, 2) } else { (0, 0) };
                    check(&uop, all.iter().copied(), |c| {
                        let low = model::compare(&uop, cmp, c.src[0], c.src[1]);
                        let second = match ty {
                            Ty::F16x2 | Ty::Bf16x2 => {
                                model::compare(&uop, cmp, c.src[0] >> 16, c.src[1] >> 16)
                            }
                            _ => !low,
                        };
                        predicates(combine(combine_by, low, c.x[0]), combine(combine_by, second, c.x[0]))
                    });
                }
            }
        }
    }
}

#[test]
fn properties_of_floats_are_told_apart() {
    let all = [
        TestProp::Finite,
        TestProp::Infinite,
        TestProp::Number,
        TestProp::NotANumber,
        TestProp::Normal,
        TestProp::Subnormal,
    ];
    for ty in [Ty::F32, Ty::F64] {
        for property in all {
            let mut uop = with_predicates(uop(Op::Testp, ty));
            uop.sub = Sub::Testp(property);
            check(&uop, float_cases(ty, 300), |c| {
                let class = match ty {
                    Ty::F32 => f32::from_bits(c.src[0] as u32).classify(),
                    _ => f64::from_bits(c.src[0]).classify(),
                };
                use std::num::FpCategory::*;
                let p = match property {
                    TestProp::Finite => !matches!(class, Nan | Infinite),
                    TestProp::Infinite => class == Infinite,
                    TestProp::Number => class != Nan,
                    TestProp::NotANumber => class == Nan,
                    TestProp::Normal => matches!(class, Normal | Zero),
                    TestProp::Subnormal => class == Subnormal,
                };
                predicates(p, !p)
            });
        }
    }
}

/// The division sequence that FCHK guards, on the kernels: where it says "safe", the quotient must be correctly rounded.
#[test]
fn division_is_exact_where_the_check_lets_it_pass() {
    use warpwatt_exec::lanes::Level;
    let level = Level::detect();
    let all: Vec<Case> = float_cases(Ty::F32, 60_000);
    let run = |op: Op, sub: Sub, neg: u8, src: [&[u32; 32]; 3]| -> ([u32; 32], u32) {
        let mut uop = with_predicates(uop(op, Ty::F32));
        (uop.sub, uop.neg) = (sub, neg);
        let cases: Vec<Case> = (0..32)
            .map(|i| Case { src: [src[0][i].into(), src[1][i].into(), src[2][i].into(), 0], x: [true; 3] })
            .collect();
        let (_, rows, pdst) = execute(level, &uop, &cases, u32::MAX, 20);
        (rows[20].0, pdst[0])
    };
    let mut safe = 0;
    for warp in all.chunks_exact(32) {
        let a: [u32; 32] = std::array::from_fn(|i| warp[i].src[0] as u32);
        let b: [u32; 32] = std::array::from_fn(|i| warp[i].src[1] as u32);
        let (one, zero) = ([1f32.to_bits(); 32], [0; 32]);
        let (_, unsafe_lanes) = run(Op::Fchk, Sub::None, 0, [&a, &b, &zero]);
        let (r, _) = run(Op::Mufu, Sub::Mufu(warpwatt_isa::MufuFn::Rcp), 0, [&b, &zero, &zero]);
        let (e, _) = run(Op::Ffma, Sub::None, 1, [&b, &r, &one]);
        let (r, _) = run(Op::Ffma, Sub::None, 0, [&r, &e, &r]);
        let (q, _) = run(Op::Ffma, Sub::None, 0, [&a, &r, &zero]);
        let (e, _) = run(Op::Ffma, Sub::None, 1, [&b, &q, &a]);
        let (q, _) = run(Op::Ffma, Sub::None, 0, [&r, &e, &q]);
        let (e, _) = run(Op::Ffma, Sub::None, 1, [&b, &q, &a]);
        let (q, _) = run(Op::Ffma, Sub::None, 0, [&r, &e, &q]);
        for lane in (0..32).filter(|lane| unsafe_lanes >> lane & 1 == 0) {
            safe += 1;
            let (x, y) = (f32::from_bits(a[lane]), f32::from_bits(b[lane]));
            assert_eq!((x / y).to_bits(), q[lane], "{x:e} / {y:e}");
        }
    }
    assert!(safe > 10_000, "the check refuses too much: only {safe} pass");
}

#[test]
fn the_division_check_refuses_special_operands() {
    let special = [0.0, f32::INFINITY, f32::NAN, 1e-40, f32::MIN_POSITIVE, f32::MAX];
    let uop = with_predicates(uop(Op::Fchk, Ty::F32));
    let bits = |v: f32| u64::from(v.to_bits());
    let all = special.map(|v| Case { src: [bits(1.0), bits(v), 0, 0], x: [true; 3] });
    check(&uop, all, |_| predicates(true, false));
    let all = special.map(|v| Case { src: [bits(v), bits(1.0), 0, 0], x: [true; 3] });
    check(&uop, all, |_| predicates(true, false));
    let fine = [(1.0, 3.0), (1e-20, 1e10), (7e30, 2.0)]
        .map(|(a, b)| Case { src: [bits(a), bits(b), 0, 0], x: [true; 3] });
    check(&uop, fine, |_| predicates(false, true));
}
