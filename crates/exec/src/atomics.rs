// SPDX-License-Identifier: MIT OR Apache-2.0
//! Atomic operations on memory (PTX ISA, "atom" and "red"): lanes one after the other, in ascending order.

use half::{bf16, f16};
use warpwatt_isa::{AtomOp, Ty};

use crate::lanes::Row;
use crate::port::Span;
use crate::rows::lanes_of;

/// One atomic operation, ready to be applied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AtomicOp {
    pub op: AtomOp,
    pub ty: Ty,
    /// Single-precision sums flush subnormals, as `atom.add.f32` on global memory does.
    pub flush: bool,
}

impl AtomicOp {
    /// Whether the machine has the operation on the type.
    pub fn is_legal(op: AtomOp, ty: Ty) -> bool {
        use AtomOp::*;
        match (op, ty) {
            (_, Ty::U8 | Ty::S8 | Ty::Pred) => false,
            (Exch | Cas, _) => true,
            (_, Ty::B128) => false,
            (Add | Min | Max, Ty::U16 | Ty::S16) => false,
            (Add | Min | Max, _) => true,
            (Inc | Dec, Ty::U32) => true,
            (And | Or | Xor, Ty::U32 | Ty::S32 | Ty::U64 | Ty::S64) => true,
            _ => false,
        }
    }

    /// Applies the operation for every lane; true if memory changed.
    ///
    /// # Safety
    /// The span's lanes must lie in writable memory and be aligned; the rows must span the type's words.
    pub unsafe fn apply(&self, span: &Span, b: *const Row, c: *const Row, dst: Option<*mut Row>) -> bool {
        // SAFETY: lanes of the span and rows as `apply` demands.
        if let Some(changed) = unsafe { self.apply_words(span, b, c, dst) } {
            return changed;
        }
        let mut changed = false;
        let words = self.ty.words() as usize;
        for lane in lanes_of(span.mask) {
            // SAFETY: lanes of the span and rows as `apply` demands.
            unsafe {
                let at = span.host.add(span.offsets[lane] as usize);
                let wide = |row: *const Row| -> u128 {
                    (0..words).fold(0, |sum, word| sum | u128::from((*row.add(word)).0[lane]) << (32 * word))
                };
                let old: u128 = match self.ty.bytes() {
                    2 => u128::from(at.cast::<u16>().read()),
                    4 => u128::from(at.cast::<u32>().read()),
                    8 => u128::from(at.cast::<u64>().read()),
                    _ => at.cast::<u128>().read_unaligned(),
                };
                let (b, c) = (wide(b), if self.op == AtomOp::Cas { wide(c) } else { 0 });
                let new = self.combine(old, b, c);
                match self.ty.bytes() {
                    2 => at.cast::<u16>().write(new as u16),
                    4 => at.cast::<u32>().write(new as u32),
                    8 => at.cast::<u64>().write(new as u64),
                    _ => at.cast::<u128>().write_unaligned(new),
                }
                changed |= new != old;
                if let Some(dst) = dst {
                    for word in 0..words {
                        (*dst.add(word)).0[lane] = (old >> (32 * word)) as u32;
                    }
                }
            }
        }
        changed
    }

    /// The frequent case, 32-bit integers, with a loop of its own for each operation.
    unsafe fn apply_words(
        &self,
        span: &Span,
        b: *const Row,
        c: *const Row,
        dst: Option<*mut Row>,
    ) -> Option<bool> {
        use AtomOp::*;
        macro_rules! all_lanes {
            (|$old:ident, $b:ident, $c:ident| $new:expr) => {{
                let mut changed = 0;
                for lane in lanes_of(span.mask) {
                    // SAFETY: lanes of the span and rows as `apply` demands.
                    unsafe {
                        let at = span.host.add(span.offsets[lane] as usize).cast::<u32>();
                        let ($old, $b, $c) = (at.read(), (*b).0[lane], (*c).0[lane]);
                        let new: u32 = $new;
                        at.write(new);
                        changed |= new ^ $old;
                        if let Some(dst) = dst {
                            (*dst).0[lane] = $old;
                        }
                    }
                }
                Some(changed != 0)
            }};
        }
        match (self.op, self.ty) {
            (Add, Ty::U32 | Ty::S32) => all_lanes!(|old, b, _c| old.wrapping_add(b)),
            (Min, Ty::U32) => all_lanes!(|old, b, _c| old.min(b)),
            (Max, Ty::U32) => all_lanes!(|old, b, _c| old.max(b)),
            (Min, Ty::S32) => all_lanes!(|old, b, _c| (old as i32).min(b as i32) as u32),
            (Max, Ty::S32) => all_lanes!(|old, b, _c| (old as i32).max(b as i32) as u32),
            (And, Ty::U32 | Ty::S32) => all_lanes!(|old, b, _c| old & b),
            (Or, Ty::U32 | Ty::S32) => all_lanes!(|old, b, _c| old | b),
            (Xor, Ty::U32 | Ty::S32) => all_lanes!(|old, b, _c| old ^ b),
            (Exch, Ty::U32 | Ty::S32) => all_lanes!(|_old, b, _c| b),
            (Cas, Ty::U32 | Ty::S32) => all_lanes!(|old, b, c| if old == b { c } else { old }),
            _ => None,
        }
    }

    /// The new value; operands are the type's bits, zero-extended.
    fn combine(&self, old: u128, b: u128, c: u128) -> u128 {
        let (old64, b64) = (old as u64, b as u64);
        match self.op {
            AtomOp::Exch => self.truncate(b),
            AtomOp::Cas => {
                if old == self.truncate(b) {
                    self.truncate(c)
                } else {
                    old
                }
            }
            AtomOp::And => old & b,
            AtomOp::Or => old | b,
            AtomOp::Xor => old ^ b,
            AtomOp::Inc => {
                if old >= b {
                    0
                } else {
                    old + 1
                }
            }
            AtomOp::Dec => {
                if old == 0 || old > b {
                    b
                } else {
                    old - 1
                }
            }
            AtomOp::Add => match self.ty {
                Ty::U64 | Ty::S64 => u128::from(old64.wrapping_add(b64)),
                Ty::F32 => self.add_f32(old as u32, b as u32).into(),
                Ty::F64 => {
                    let sum = f64::from_bits(old64) + f64::from_bits(b64);
                    if sum.is_nan() { u128::from(u64::MAX >> 1) } else { u128::from(sum.to_bits()) }
                }
                _ => per_half(self.ty, old as u32, b as u32, |x, y| x + y)
                    .unwrap_or((old as u32).wrapping_add(b as u32))
                    .into(),
            },
            AtomOp::Min | AtomOp::Max => self.pick(old, b),
        }
    }

    fn truncate(&self, value: u128) -> u128 {
        match self.ty.bytes() {
            16 => value,
            bytes => value & ((1 << (8 * bytes)) - 1),
        }
    }

    fn add_f32(&self, a: u32, b: u32) -> u32 {
        let flush = |bits: u32| if self.flush && bits & 0x7f80_0000 == 0 { bits & 0x8000_0000 } else { bits };
        let sum = f32::from_bits(flush(a)) + f32::from_bits(flush(b));
        if sum.is_nan() { 0x7fff_ffff } else { flush(sum.to_bits()) }
    }

    fn pick(&self, old: u128, b: u128) -> u128 {
        let min = self.op == AtomOp::Min;
        let lesser = match self.ty {
            Ty::S32 => (b as i32) < old as i32,
            Ty::S64 => (b as i64) < old as i64,
            Ty::U32 | Ty::U64 => b < old,
            Ty::F32 => {
                return pick_f32(f32::from_bits(old as u32), f32::from_bits(b as u32), min).to_bits().into();
            }
            Ty::F64 => {
                let (x, y) = (f64::from_bits(old as u64), f64::from_bits(b as u64));
                return match (x.is_nan(), y.is_nan()) {
                    (true, true) => u128::from(u64::MAX >> 1),
                    (true, false) => b,
                    (false, true) => old,
                    _ if (x.total_cmp(&y).is_lt()) == min => old,
                    _ => b,
                };
            }
            _ => {
                return per_half(self.ty, old as u32, b as u32, |x, y| pick_f32(x, y, min))
                    .unwrap_or(old as u32)
                    .into();
            }
        };
        let greater = b != old && !lesser;
        if (min && lesser) || (!min && greater) { b } else { old }
    }
}

/// Minimum or maximum where a number wins over NaN and -0 is below +0.
fn pick_f32(x: f32, y: f32, min: bool) -> f32 {
    match (x.is_nan(), y.is_nan()) {
        (true, true) => f32::from_bits(0x7fff_ffff),
        (true, false) => y,
        (false, true) => x,
        _ if x.total_cmp(&y).is_lt() == min => x,
        _ => y,
    }
}

/// An operation on each half of a 16-bit float type. Single precision holds enough bits for a sum of two halves to round once.
fn per_half(ty: Ty, a: u32, b: u32, f: impl Fn(f32, f32) -> f32) -> Option<u32> {
    let brain = matches!(ty, Ty::Bf16 | Ty::Bf16x2);
    let one = |a: u16, b: u16| -> u32 {
        let result = match brain {
            true => f(bf16::from_bits(a).to_f32(), bf16::from_bits(b).to_f32()),
            false => f(f16::from_bits(a).to_f32(), f16::from_bits(b).to_f32()),
        };
        let bits = if brain { bf16::from_f32(result).to_bits() } else { f16::from_f32(result).to_bits() };
        u32::from(if result.is_nan() { 0x7fff } else { bits })
    };
    match ty {
        Ty::F16 | Ty::Bf16 => Some(one(a as u16, b as u16)),
        Ty::F16x2 | Ty::Bf16x2 => {
            Some(one(a as u16, b as u16) | one((a >> 16) as u16, (b >> 16) as u16) << 16)
        }
        _ => None,
    }
}
