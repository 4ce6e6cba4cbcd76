// SPDX-License-Identifier: MIT OR Apache-2.0
//! Shifts and funnel shifts.

use warpwatt_isa::{Flags, Op, Ty, Uop};

use super::maps::{map2, map3};
use super::shell::{kernel, pick};
use super::{Kernel, Level};

pub(super) fn select(level: Level, uop: &Uop) -> Option<Kernel> {
    let wrap = uop.flags.has(Flags::WRAP);
    let right = uop.flags.has(Flags::RIGHT);
    if uop.neg != 0 || uop.abs != 0 {
        return None;
    }
    match (uop.op, uop.ty) {
        (Op::Shl, Ty::U32 | Ty::S32) if wrap => pick::<ShlWrap>(level),
        (Op::Shl, Ty::U32 | Ty::S32) => pick::<Shl>(level),
        (Op::Shr, Ty::U32) if wrap => pick::<ShrWrap>(level),
        (Op::Shr, Ty::U32) => pick::<Shr>(level),
        (Op::Shr, Ty::S32) if wrap => pick::<SarWrap>(level),
        (Op::Shr, Ty::S32) => pick::<Sar>(level),
        (Op::Shf, Ty::U32 | Ty::S32) => match (right, wrap) {
            (false, false) => pick::<Shf<false, false>>(level),
            (false, true) => pick::<Shf<false, true>>(level),
            (true, false) => pick::<Shf<true, false>>(level),
            (true, true) => pick::<Shf<true, true>>(level),
        },
        _ => None,
    }
}

kernel!(Shl, |L, args, _uop| { map2::<L>(args, |a, b| if b < 32 { a << (b & 31) } else { 0 }) });
kernel!(ShlWrap, |L, args, _uop| { map2::<L>(args, |a, b| a << (b & 31)) });
kernel!(Shr, |L, args, _uop| { map2::<L>(args, |a, b| if b < 32 { a >> (b & 31) } else { 0 }) });
kernel!(ShrWrap, |L, args, _uop| { map2::<L>(args, |a, b| a >> (b & 31)) });
kernel!(Sar, |L, args, _uop| { map2::<L>(args, |a, b| (a as i32 >> b.min(31)) as u32) });
kernel!(SarWrap, |L, args, _uop| { map2::<L>(args, |a, b| (a as i32 >> (b & 31)) as u32) });

kernel!(Shf<const RIGHT: bool, const WRAP: bool>, |L, args, _uop| {
    map3::<L>(args, |a, b, c| {
        let value = u64::from(b) << 32 | u64::from(a);
        let amount = if WRAP { c & 31 } else { c.min(32) };
        if RIGHT { (value >> amount) as u32 } else { ((value << amount) >> 32) as u32 }
    });
});
