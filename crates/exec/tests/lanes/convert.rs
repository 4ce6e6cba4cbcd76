// SPDX-License-Identifier: MIT OR Apache-2.0
//! Conversions that involve floats, against `rustc_apfloat`.

use warpwatt_isa::{Flags, Op, Round, Ty, Uop};

use crate::model::{self, floats};
use crate::support::*;

const INTS: [Ty; 8] = [Ty::U8, Ty::S8, Ty::U16, Ty::S16, Ty::U32, Ty::S32, Ty::U64, Ty::S64];
const FLOATS: [Ty; 4] = [Ty::F16, Ty::Bf16, Ty::F32, Ty::F64];
const MODES: [Round; 4] = [Round::Rn, Round::Rz, Round::Rm, Round::Rp];

fn cvt(to: Ty, from: Ty, rnd: Round, flags: Flags) -> Uop {
    let mut uop = uop(Op::Cvt, to);
    (uop.ty2, uop.rnd, uop.flags) = (from, rnd, flags);
    uop
}

/// Values of a float type; random ones are mostly of a size that integers have.
fn float_cases(ty: Ty, count: usize) -> Vec<Case> {
    let mut random = Random(ty as u64 + 77);
    let mut values = floats(ty);
    let (width, fraction, bias) = match ty {
        Ty::F16 => (16, 10, 15),
        Ty::Bf16 => (16, 7, 127),
        Ty::F32 => (32, 23, 127),
        _ => (64, 52, 1023u64),
    };
    for _ in 0..count {
        let exponent = (bias - 4 + random.next() % 72).min(2 * bias + 1);
        let bits = random.next() & ((1 << fraction) - 1) & u64::MAX << (random.next() % fraction);
        values.push(bits | exponent << fraction | (random.next() & 1) << (width - 1));
        values.push(random.next() & u64::MAX >> (64 - width));
    }
    values.into_iter().map(|v| Case { src: [v, random.pick(&floats(ty)), 0, 0], x: [true; 3] }).collect()
}

#[test]
fn floats_become_integers_in_every_mode() {
    for from in FLOATS {
        let all = float_cases(from, 1500);
        for to in INTS {
            for rnd in MODES {
                for flags in [Flags::NONE, Flags::FTZ] {
                    let uop = cvt(to, from, rnd, flags);
                    check(&uop, all.iter().copied(), |c| value(model::convert(&uop, c.src[0])));
                }
            }
        }
    }
}

#[test]
fn integers_become_floats_in_every_mode() {
    for from in INTS {
        let all = cases(&integers(64), 500);
        for to in FLOATS {
            for rnd in MODES {
                for flags in [Flags::NONE, Flags::SAT] {
                    let uop = cvt(to, from, rnd, flags);
                    check(&uop, all.iter().copied(), |c| value(model::convert(&uop, c.src[0])));
                }
            }
        }
    }
}

#[test]
fn floats_become_other_floats_in_every_mode() {
    for from in FLOATS {
        let all = float_cases(from, 1500);
        for to in FLOATS {
            for rnd in MODES {
                let mut sets = vec![Flags::NONE, Flags::SAT, Flags::ROUND_INT, Flags::ROUND_INT | Flags::SAT];
                sets.extend([Flags::FTZ, Flags::FTZ | Flags::SAT, Flags::FTZ | Flags::ROUND_INT]);
                if matches!(to, Ty::F16 | Ty::Bf16) {
                    sets.extend([Flags::RELU, Flags::SATFINITE, Flags::RELU | Flags::SATFINITE]);
                }
                for flags in sets {
                    let uop = cvt(to, from, rnd, flags);
                    check(&uop, all.iter().copied(), |c| value(model::convert(&uop, c.src[0])));
                }
            }
        }
    }
}

#[test]
fn two_floats_are_packed_into_halves() {
    for (to, single) in [(Ty::F16x2, Ty::F16), (Ty::Bf16x2, Ty::Bf16)] {
        for rnd in [Round::Rn, Round::Rz] {
            for flags in [Flags::NONE, Flags::RELU, Flags::SATFINITE] {
                let (uop, one) = (cvt(to, Ty::F32, rnd, flags), cvt(single, Ty::F32, rnd, flags));
                check(&uop, float_cases(Ty::F32, 1500), |c| {
                    value(model::convert(&one, c.src[0]) << 16 | model::convert(&one, c.src[1]))
                });
            }
        }
    }
}

#[test]
fn conversions_take_sign_modifiers() {
    for (to, from) in [
        (Ty::S32, Ty::F32),
        (Ty::F64, Ty::F32),
        (Ty::F32, Ty::F64),
        (Ty::F16, Ty::F32),
        (Ty::F32, Ty::F16),
        (Ty::U64, Ty::F64),
    ] {
        for (neg, abs) in [(1, 0), (0, 1), (1, 1)] {
            let mut uop = cvt(to, from, Round::Rn, Flags::NONE);
            (uop.neg, uop.abs) = (neg, abs);
            check(&uop, float_cases(from, 300), |c| value(model::convert(&uop, c.src[0])));
        }
    }
}
