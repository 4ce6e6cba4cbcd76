// SPDX-License-Identifier: MIT OR Apache-2.0
//! FCHK, which guards the fast division sequence, and TESTP.

use warpwatt_isa::{Op, Sub, TestProp, Ty, Uop};

use super::maps::{ones, pair, row, test2, test2_wide};
use super::shell::{kernel, pick};
use super::{Kernel, Level};

pub(super) fn select(level: Level, uop: &Uop) -> Option<Kernel> {
    match (uop.op, uop.ty, uop.sub) {
        (Op::Fchk, Ty::F32, _) => pick::<Fchk>(level),
        (Op::Fchk, Ty::F64, _) => pick::<FchkWide>(level),
        (Op::Testp, Ty::F32, Sub::Testp(_)) => pick::<Testp>(level),
        (Op::Testp, Ty::F64, Sub::Testp(_)) => pick::<TestpWide>(level),
        _ => None,
    }
}

/// The sequence takes the reciprocal of b, corrects it, multiplies by a and corrects the quotient by its residual. All of that is exact enough when
/// b and its reciprocal are normal, the quotient is normal and finite, and the residual, some two significands below a, does not underflow.
#[inline(always)]
fn unsafe_to_divide(a: i32, b: i32, top: i32, floor: i32) -> bool {
    let quotient = a - b;
    let bias = top / 2;
    a < floor || a >= top || b < 2 || b > top - 3 || quotient < 7 - bias || quotient > bias - 1
}

kernel!(Fchk, |L, args, _uop| {
    let exponent = |v: u32| (v >> 23 & 0xff) as i32;
    let p = test2::<L>(args, |a, b| ones(unsafe_to_divide(exponent(a), exponent(b), 255, 32)));
    args.pdst = [p, !p];
});

kernel!(FchkWide, |L, args, _uop| {
    let exponent = |v: u64| (v >> 52 & 0x7ff) as i32;
    let p = test2_wide::<L>(args, |a, b| ones(unsafe_to_divide(exponent(a), exponent(b), 2047, 64)));
    args.pdst = [p, !p];
});

/// A property of a float by its magnitude, given where the format's normal numbers and its infinity begin. PTX counts zero as normal.
#[inline(always)]
fn holds(property: TestProp, magnitude: u64, normal: u64, infinity: u64) -> bool {
    match property {
        TestProp::Finite => magnitude < infinity,
        TestProp::Infinite => magnitude == infinity,
        TestProp::Number => magnitude <= infinity,
        TestProp::NotANumber => magnitude > infinity,
        TestProp::Normal => magnitude == 0 || magnitude >= normal && magnitude < infinity,
        TestProp::Subnormal => magnitude != 0 && magnitude < normal,
    }
}

kernel!(Testp, |L, args, uop| {
    let Sub::Testp(property) = uop.sub else { return };
    let a = row(args, 0, 0);
    let mut top = [0; 32];
    for lane in 0..32 {
        top[lane] = ones(holds(property, u64::from(a[lane] & 0x7fff_ffff), 0x0080_0000, 0x7f80_0000));
    }
    let p = L::signs(&top);
    args.pdst = [p, !p];
});

kernel!(TestpWide, |L, args, uop| {
    let Sub::Testp(property) = uop.sub else { return };
    let a = pair(args, 0);
    let mut top = [0; 32];
    for lane in 0..32 {
        top[lane] = ones(holds(property, a.get(lane) & (u64::MAX >> 1), 1 << 52, 0x7ff << 52));
    }
    let p = L::signs(&top);
    args.pdst = [p, !p];
});
