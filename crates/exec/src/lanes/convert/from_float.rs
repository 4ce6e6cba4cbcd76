// SPDX-License-Identifier: MIT OR Apache-2.0
//! Float to integer. What does not fit is clamped to the type's range. NaN gives 0, or only the top bit when the source is F64 or the result has 64 bits.

use warpwatt_isa::{Flags, Round, Ty, Uop};

use super::integer::range;
use super::{bits, code, mode, read_float};
use crate::lanes::float32::{flush, sources};
use crate::lanes::integral::{round32, round64};
use crate::lanes::maps::{Words, fill, map1, pair, store};
use crate::lanes::shell::{kernel, pick};
use crate::lanes::{Kernel, Level};

pub(super) fn select(level: Level, uop: &Uop) -> Option<Kernel> {
    macro_rules! by_mode {
        ($kernel:ident, $signed:literal) => {
            match uop.rnd {
                Round::Rn => pick::<$kernel<$signed, { code(Round::Rn) }>>(level),
                Round::Rz => pick::<$kernel<$signed, { code(Round::Rz) }>>(level),
                Round::Rm => pick::<$kernel<$signed, { code(Round::Rm) }>>(level),
                Round::Rp => pick::<$kernel<$signed, { code(Round::Rp) }>>(level),
                Round::Rna => None,
            }
        };
    }
    match (uop.ty, uop.ty2) {
        (Ty::S32, Ty::F32) => by_mode!(Single, true),
        (Ty::U32, Ty::F32) => by_mode!(Single, false),
        (Ty::S32, Ty::F64) => by_mode!(Double, true),
        _ if uop.rnd == Round::Rna => None,
        _ => pick::<General>(level),
    }
}

const TWO_31: f32 = 2_147_483_648.0;
/// The greatest F32 below 2^31.
const BELOW: f32 = 2_147_483_520.0;

/// An integral number to S32. The clamps leave nothing for which the host's conversion is undefined, and turn NaN into a number.
#[inline(always)]
fn signed(value: f32) -> u32 {
    let inside = if value > -TWO_31 { value } else { -TWO_31 };
    let inside = if inside < BELOW { inside } else { BELOW };
    // SAFETY: between -2^31 and 2^31 - 128.
    let fits = unsafe { inside.to_int_unchecked::<i32>() } as u32;
    let clamped = if value >= TWO_31 { i32::MAX as u32 } else { fits };
    if value.is_nan() { 0 } else { clamped }
}

#[inline(always)]
fn unsigned(value: f32) -> u32 {
    let value = if value > 0.0 { value } else { 0.0 };
    let large = value >= TWO_31;
    let low = if large { value - TWO_31 } else { value };
    let low = if low < BELOW { low } else { BELOW };
    // SAFETY: between 0 and 2^31 - 128.
    let fits = unsafe { low.to_int_unchecked::<i32>() } as u32;
    let fits = fits | if large { 1 << 31 } else { 0 };
    if value >= 2.0 * TWO_31 { u32::MAX } else { fits }
}

kernel!(Single<const SIGNED: bool, const MODE: u8>, |L, args, uop| {
    let (modifier, ftz) = (sources(uop)[0], uop.flags.has(Flags::FTZ));
    map1::<L>(args, |a| {
        let a = modifier.apply(a);
        let value = f32::from_bits(if ftz { flush(a) } else { a });
        // The conversion itself truncates.
        let value = if MODE == code(Round::Rz) { value } else { round32(value, mode(MODE)) };
        if SIGNED { signed(value) } else { unsigned(value) }
    });
});

kernel!(Double<const SIGNED: bool, const MODE: u8>, |L, args, uop| {
    let (modifier, a) = (crate::lanes::float64::sources(uop)[0], pair(args, 0));
    fill::<L>(args, |lane| {
        let value = round64(f64::from_bits(modifier.apply(a.get(lane))), mode(MODE));
        let (least, greatest) = (f64::from(i32::MIN), f64::from(i32::MAX));
        let inside = if value > least { value } else { least };
        let inside = if inside < greatest { inside } else { greatest };
        // SAFETY: clamped to the range of i32; NaN became its least number, which is the answer.
        inside.to_int_unchecked::<i32>() as u32
    });
});

kernel!(General, |L, args, uop| {
    let (to, from) = (uop.ty, uop.ty2);
    let (least, greatest) = range(to);
    let nan = if from == Ty::F64 || to.words() == 2 { 1u64 << (bits(to) - 1) } else { 0 };
    // Kept extended as its type says.
    let nan = if to.is_signed() && nan != 0 { least as u64 } else { nan };
    let (mut low, mut high): (Words, Words) = ([0; 32], [0; 32]);
    for lane in 0..32 {
        let value = round64(read_float(args, uop, 0, lane), uop.rnd);
        let whole = match to {
            _ if value.is_nan() => nan,
            Ty::U64 => value as u64,
            _ => i128::from(value as i64).clamp(least, greatest) as u64,
        };
        low[lane] = whole as u32;
        high[lane] = (whole >> 32) as u32;
    }
    store::<L>(args, 0, &low);
    if to.words() == 2 {
        store::<L>(args, 1, &high);
    }
});
