// SPDX-License-Identifier: MIT OR Apache-2.0
//! Integer to float.

use warpwatt_isa::{Flags, Round, Ty, Uop};

use super::integer::read;
use crate::lanes::maps::{fill, fill_wide, map1, row};
use crate::lanes::shell::{kernel, pick};
use crate::lanes::soft::Format;
use crate::lanes::{Kernel, Level};

pub(super) fn select(level: Level, uop: &Uop) -> Option<Kernel> {
    if uop.flags.has(Flags::SAT) {
        return pick::<General>(level);
    }
    match (uop.ty, uop.ty2, uop.rnd) {
        (Ty::F16x2 | Ty::Bf16x2, ..) => None,
        (Ty::F32, Ty::S32, Round::Rn) => pick::<SignedSingle>(level),
        (Ty::F32, Ty::U32, Round::Rn) => pick::<UnsignedSingle>(level),
        (Ty::F64, Ty::S32, _) => pick::<SignedDouble>(level),
        (Ty::F64, Ty::U32, _) => pick::<UnsignedDouble>(level),
        _ => pick::<General>(level),
    }
}

kernel!(SignedSingle, |L, args, _uop| { map1::<L>(args, |a| (a as i32 as f32).to_bits()) });
kernel!(UnsignedSingle, |L, args, _uop| { map1::<L>(args, |a| (a as f32).to_bits()) });

kernel!(SignedDouble, |L, args, _uop| {
    let a = row(args, 0, 0);
    fill_wide::<L>(args, |lane| f64::from(a[lane] as i32).to_bits());
});

kernel!(UnsignedDouble, |L, args, _uop| {
    let a = row(args, 0, 0);
    fill_wide::<L>(args, |lane| f64::from(a[lane]).to_bits());
});

kernel!(General, |L, args, uop| {
    let (to, from) = (Format::of(uop.ty), uop.ty2);
    let one = to.round(false, 1, 0, Round::Rn);
    let convert = |value: i128| match uop.flags.has(Flags::SAT) {
        true if value <= 0 => 0,
        true => one,
        false => to.round(value < 0, value.unsigned_abs(), 0, uop.rnd),
    };
    let mut values = [0u64; 32];
    for (lane, out) in values.iter_mut().enumerate() {
        *out = convert(read(args, from, lane));
    }
    match uop.ty {
        Ty::F64 => fill_wide::<L>(args, |lane| values[lane]),
        _ => fill::<L>(args, |lane| values[lane] as u32),
    }
});
