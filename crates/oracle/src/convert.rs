// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cvt` between all types (PTX ISA, "Data Movement and Conversion Instructions: cvt").

use rustc_apfloat::Round;
use warpwatt_ptx::words::Mod;

use crate::alu::Sources;
use crate::float;
use crate::form::{Form, Ty, mask};
use crate::integer as int;

pub fn cvt(form: &Form, src: &impl Sources) -> Result<(u64, Ty), String> {
    let &[to, from] = form.types.as_slice() else { return Err("cvt needs two types".to_owned()) };
    if form.has(Mod::Tf32) {
        return Ok((to_tf32(src.get(1, from)?), to));
    }
    if to.lanes == 2 {
        // The first source goes to the upper half.
        let high = number(form, src.get(1, from)?, from, to.lane());
        let low = number(form, src.get(2, from)?, from, to.lane());
        return Ok((high << to.bits | low, to));
    }
    Ok((number(form, src.get(1, from)?, from, to), to))
}

fn number(form: &Form, raw: u64, from: Ty, to: Ty) -> u64 {
    let round = form.rounding();
    // Only single precision is flushed: the other formats keep their subnormals in conversions.
    let flush = |raw, ty: Ty| float::flush(raw, ty, form.ftz && ty == Ty::F32);
    match (from.float(), to.float()) {
        (false, false) if form.sat => int::clamp(int::value(raw, from), to),
        (false, false) => int::value(raw, from) as u64 & mask(to.bits),
        (false, true) => {
            float::finish(float::from_integer(int::value(raw, from), to, round), to, false, form.sat)
        }
        (true, false) => {
            let round = if form.integral { round } else { Round::TowardZero };
            match float::to_integer(flush(raw, from), from, round) {
                Some(wide) => int::clamp(wide, to),
                None if from.bits == 64 || to.bits == 64 => 1 << (to.bits - 1),
                None => 0,
            }
        }
        (true, true) => {
            let raw = flush(raw, from);
            let integral = if form.integral { float::to_integral(raw, from, round) } else { raw };
            let result =
                float::finish(flush(float::convert(integral, from, to, round), to), to, false, form.sat);
            narrowed(form, result, to)
        }
    }
}

/// `.relu` clears what is negative, `.satfinite` stays below infinity.
fn narrowed(form: &Form, result: u64, ty: Ty) -> u64 {
    let negative = float::sign(result, ty) != 0;
    if float::is_nan(result, ty) {
        result
    } else if form.has(Mod::Relu) && negative {
        0
    } else if form.has(Mod::Satfinite) && result & float::nan(ty) == float::infinity(ty) {
        result - 1
    } else {
        result
    }
}

/// Ten bits of fraction, ties away from zero.
fn to_tf32(raw: u64) -> u64 {
    let raw = float::canonical(raw, Ty::F32);
    if raw & float::infinity(Ty::F32) == float::infinity(Ty::F32) {
        return raw;
    }
    (raw + 0x1000) & 0xffff_e000
}
