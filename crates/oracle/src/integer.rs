// SPDX-License-Identifier: MIT OR Apache-2.0
//! Integer instructions on plain 128-bit arithmetic (PTX ISA, "Integer Arithmetic", "Logic and Shift", "Extended-Precision").

use crate::form::{Ty, extend, mask};

/// The value of the low bits of `raw`, by the type's signedness.
pub fn value(raw: u64, ty: Ty) -> i128 {
    if ty.signed() { i128::from(extend(raw, ty.bits)) } else { i128::from(raw & mask(ty.bits)) }
}

/// The least and the greatest value of an integer type.
pub fn range(ty: Ty) -> (i128, i128) {
    if ty.signed() { (-(1 << (ty.bits - 1)), (1 << (ty.bits - 1)) - 1) } else { (0, (1 << ty.bits) - 1) }
}

pub fn clamp(wide: i128, ty: Ty) -> u64 {
    let (least, greatest) = range(ty);
    wide.clamp(least, greatest) as u64 & mask(ty.bits)
}

/// Quotient or remainder. Dividing by zero gives all ones.
pub fn divide(a: u64, b: u64, ty: Ty, remainder: bool) -> u64 {
    let (x, y) = (value(a, ty), value(b, ty));
    let wide = match (y, remainder) {
        (0, _) => -1,
        (_, false) => x / y,
        (_, true) => x % y,
    };
    wide as u64 & mask(ty.bits)
}

/// Shifts clamp: everything is shifted out by the width or more.
pub fn shift_left(a: u64, amount: u32, bits: u32) -> u64 {
    if amount >= bits { 0 } else { (a << amount) & mask(bits) }
}

pub fn shift_right(a: u64, amount: u32, ty: Ty) -> u64 {
    (value(a, ty) >> amount.min(ty.bits)) as u64 & mask(ty.bits)
}

/// Funnel shift of `hi:lo`.
pub fn funnel(lo: u32, hi: u32, amount: u32, wrap: bool, right: bool) -> u32 {
    let both = u64::from(hi) << 32 | u64::from(lo);
    let amount = if wrap { amount & 31 } else { amount.min(32) };
    if right { (both >> amount) as u32 } else { ((both << amount) >> 32) as u32 }
}

pub fn leading_zeros(a: u64, bits: u32) -> u64 {
    u64::from((a & mask(bits)).leading_zeros() - (64 - bits))
}

pub fn reverse(a: u64, bits: u32) -> u64 {
    a.reverse_bits() >> (64 - bits)
}

/// Position of the highest bit that is not the sign, or all ones.
pub fn find_highest(a: u64, ty: Ty, shift_amount: bool) -> u64 {
    let wide = value(a, ty);
    let magnitude = (if wide < 0 { !wide } else { wide }) as u64;
    if magnitude == 0 {
        return mask(32);
    }
    let position = magnitude.ilog2();
    u64::from(if shift_amount { ty.bits - 1 - position } else { position })
}

pub fn extract(a: u64, position: u32, length: u32, ty: Ty) -> u64 {
    let (position, length) = (position & 0xff, length & 0xff);
    if length == 0 {
        return 0;
    }
    let bit = |index: u32| index < ty.bits && a >> index & 1 == 1;
    let sign = ty.signed() && bit((position + length - 1).min(ty.bits - 1));
    (0..ty.bits).fold(0, |field, index| {
        let inside = index < length && position + index < ty.bits;
        let one = if inside { bit(position + index) } else { sign };
        field | u64::from(one) << index
    })
}

pub fn insert(field: u64, into: u64, position: u32, length: u32, bits: u32) -> u64 {
    let (position, length) = (position & 0xff, length & 0xff);
    (0..length).take_while(|index| position + index < bits).fold(into & mask(bits), |whole, index| {
        let at = position + index;
        whole & !(1 << at) | (field >> index & 1) << at
    })
}

pub fn bit_mask(position: u32, length: u32, wrap: bool) -> u32 {
    let (position, length) = if wrap { (position & 31, length & 31) } else { (position, length) };
    (0..32u32)
        .filter(|&bit| bit >= position && bit - position < length)
        .fold(0, |whole, bit| whole | 1 << bit)
}

/// Sign or zero extension of the low `width` bits.
pub fn extend_field(a: u64, width: u32, wrap: bool, signed: bool) -> u64 {
    let width = if wrap { width & 31 } else { width };
    match (width, signed) {
        (0, _) => 0,
        (32.., _) => a & mask(32),
        (_, true) => extend(a, width) as u64 & mask(32),
        (_, false) => a & mask(width),
    }
}

/// The n-th set bit of `a` from `base`, upwards for positive n (PTX `fns`); all ones if there is none.
pub fn find_nth_set(a: u32, base: u32, offset: i32) -> u32 {
    let set = |bit: i64| (0..32).contains(&bit) && a >> bit & 1 == 1;
    let base = i64::from(base);
    let (step, mut wanted) = match offset {
        0 => return if set(base) { base as u32 } else { u32::MAX },
        1.. => (1, offset),
        _ => (-1, offset.saturating_neg()),
    };
    let mut bit = base;
    while (0..32).contains(&bit) {
        if set(bit) {
            wanted -= 1;
            if wanted == 0 {
                return bit as u32;
            }
        }
        bit += step;
    }
    u32::MAX
}

pub fn lop3(a: u64, b: u64, c: u64, table: u32) -> u64 {
    (0..32).fold(0, |whole, bit| {
        let index = (a >> bit & 1) << 2 | (b >> bit & 1) << 1 | c >> bit & 1;
        whole | u64::from(table >> index & 1) << bit
    })
}

/// Byte permute in its default mode: nibble `n` of the selector picks byte `n`; its high bit asks for the byte's sign.
pub fn permute(a: u32, b: u32, selector: u32) -> u32 {
    let bytes = (u64::from(b) << 32 | u64::from(a)).to_le_bytes();
    u32::from_le_bytes(std::array::from_fn(|index| {
        let nibble = selector >> (4 * index) & 15;
        let byte = bytes[nibble as usize & 7];
        match (nibble & 8 != 0, byte & 0x80 != 0) {
            (false, _) => byte,
            (true, true) => 0xff,
            (true, false) => 0,
        }
    }))
}

/// The selector that a named mode of `prmt` stands for.
pub fn permute_selector(mode: warpwatt_ptx::words::Mod, amount: u32) -> Option<u32> {
    use warpwatt_ptx::words::Mod;
    let n = amount & 3;
    let each = |pick: &dyn Fn(u32) -> u32| (0..4).fold(0, |whole, index| whole | pick(index) << (4 * index));
    Some(match mode {
        Mod::F4e => each(&|index| n + index),
        Mod::B4e => each(&|index| (n + 8 - index) & 7),
        Mod::Rc8 => each(&|_| n),
        Mod::Ecl => each(&|index| index.max(n)),
        Mod::Ecr => each(&|index| index.min(n)),
        Mod::Rc16 => each(&|index| (n & 1) * 2 + (index & 1)),
        _ => return None,
    })
}

/// Dot product of four bytes, or of two half-words with two bytes.
pub fn dot(a: u64, b: u64, sum: u64, a_ty: Ty, b_ty: Ty, halves: bool, high: bool) -> u64 {
    let part = |raw: u64, bits: u32, index: u32, ty: Ty| value(raw >> (bits * index), Ty { bits, ..ty });
    let products: i128 = if halves {
        let first = if high { 2 } else { 0 };
        (0..2).map(|index| part(a, 16, index, a_ty) * part(b, 8, first + index, b_ty)).sum()
    } else {
        (0..4).map(|index| part(a, 8, index, a_ty) * part(b, 8, index, b_ty)).sum()
    };
    (i128::from(sum) + products) as u64 & mask(32)
}
