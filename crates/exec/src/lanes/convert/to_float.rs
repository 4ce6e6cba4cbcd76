// SPDX-License-Identifier: MIT OR Apache-2.0
//! Integer to float.

use warpwatt_isa::{Flags, Round, Ty, Uop};

use super::integer::read;
use crate::lanes::maps::{fill, fill_wide, map1, row};
use crate::lanes::shell::{kernel, pick};
use crate::lanes::soft::{Format, narrow_directed};
use crate::lanes::{Kernel, Level};

pub(super) fn select(level: Level, uop: &Uop) -> Option<Kernel> {
    if uop.flags.has(Flags::SAT) {
        return pick::<General>(level);
    }
    match (uop.ty, uop.ty2, uop.rnd) {
        (Ty::F16x2 | Ty::Bf16x2, ..) => None,
        (Ty::F32, Ty::S32, Round::Rn) => pick::<SignedSingle>(level),
        (Ty::F32, Ty::U32, Round::Rn) => pick::<UnsignedSingle>(level),
        (Ty::F32, Ty::S32, Round::Rz | Round::Rm | Round::Rp) => pick::<SignedDirected>(level),
        (Ty::F32, Ty::U32, Round::Rz | Round::Rm | Round::Rp) => pick::<UnsignedDirected>(level),
        (Ty::F64, Ty::S32, _) => pick::<SignedDouble>(level),
        (Ty::F64, Ty::U32, _) => pick::<UnsignedDouble>(level),
        _ => pick::<General>(level),
    }
}

kernel!(SignedSingle, |L, args, _uop| { map1::<L>(args, |a| (a as i32 as f32).to_bits()) });
kernel!(UnsignedSingle, |L, args, _uop| { map1::<L>(args, |a| (a as f32).to_bits()) });

// F64 holds every integer of 32 bits.
kernel!(SignedDirected, |L, args, uop| {
    map1::<L>(args, |a| narrow_directed(f64::from(a as i32), uop.rnd).to_bits());
});

kernel!(UnsignedDirected, |L, args, uop| {
    map1::<L>(args, |a| narrow_directed(f64::from(a), uop.rnd).to_bits());
});

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directed_conversions_are_those_of_the_integer_rounding() {
        let near = |value: u32| [value.wrapping_sub(1), value, value.wrapping_add(1)];
        let awkward =
            (0..32).flat_map(|bit| near(1 << bit)).chain(near(0xffff_ff80)).chain(near(0x7fff_ffc0));
        let spread = (0..100_000u32).map(|at| at.wrapping_mul(0x9e37_79b9));
        for bits in awkward.chain(spread) {
            for mode in [Round::Rz, Round::Rm, Round::Rp] {
                for value in [i64::from(bits), i64::from(bits as i32)] {
                    let want = Format::of(Ty::F32).round(value < 0, value.unsigned_abs().into(), 0, mode);
                    assert_eq!(
                        u64::from(narrow_directed(value as f64, mode).to_bits()),
                        want,
                        "{value} {mode:?}"
                    );
                }
            }
        }
    }
}
