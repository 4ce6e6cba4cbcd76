// SPDX-License-Identifier: MIT OR Apache-2.0
//! Integer, logic, shift and bit operations against wide integers.

use warpwatt_isa::{BoolOp, Cmp, Flags, MinMax, Op, PrmtMode, Reg, Src, Sub, Ty};

use crate::model::integer;
use crate::support::*;

const INTS: [Ty; 2] = [Ty::U32, Ty::S32];

fn words() -> Vec<Case> {
    cases(&integers(32), 2000)
}

fn low(v: i128) -> u64 {
    u64::from(v as u32)
}

#[test]
fn moves_and_selections_copy_every_width() {
    for (ty, edges) in [(Ty::U32, integers(32)), (Ty::U64, integers(64))] {
        let mask = u64::MAX >> (64 - ty.bytes() * 8);
        check(&uop(Op::Mov, ty), cases(&edges, 300), |c| value(c.src[0] & mask));
        check(&uop(Op::Sel, ty), cases(&edges, 300), |c| {
            value(if c.x[0] { c.src[0] } else { c.src[1] } & mask)
        });
    }
}

#[test]
fn additions_carry_and_borrow() {
    for neg in 0..8u8 {
        for (carry_in, wants_carry) in [(false, false), (false, true), (true, false), (true, true)] {
            let mut op = uop(Op::Iadd3, Ty::U32);
            op.neg = neg;
            if carry_in {
                op.flags = Flags::CARRY_IN;
            }
            if wants_carry {
                op = with_predicates(op);
            }
            let all = words().into_iter().map(|mut c| {
                if wants_carry {
                    c.src[2] = 0;
                }
                c
            });
            check(&op, all, |c| {
                let mut sum = i128::from(carry_in && c.x[0]);
                for i in 0..3 {
                    let v = i128::from(c.src[i] as u32);
                    // A negated source is 2^32 - 1 - v, plus one where no carry stands for it.
                    sum += if neg >> i & 1 == 1 { 0xffff_ffff - v + i128::from(!carry_in) } else { v };
                }
                Expect { dst: Some(low(sum)), p: wants_carry.then_some(sum >> 32 != 0), q: None }
            });
        }
    }
}

#[test]
fn additions_and_products_of_two_sources_have_nothing_to_add() {
    let two = || {
        words().into_iter().map(|mut c| {
            c.src[2] = 0;
            c
        })
    };
    for (carry_in, wants_carry) in [(false, false), (false, true), (true, false), (true, true)] {
        let mut op = uop(Op::Iadd3, Ty::U32);
        op.src[2] = Src::Reg(Reg::ZERO);
        if carry_in {
            op.flags = Flags::CARRY_IN;
        }
        if wants_carry {
            op = with_predicates(op);
        }
        check(&op, two(), |c| {
            let sum = c.src[0] as u32 as i128 + c.src[1] as u32 as i128 + i128::from(carry_in && c.x[0]);
            Expect { dst: Some(low(sum)), p: wants_carry.then_some(sum >> 32 != 0), q: None }
        });
    }
    let mut op = uop(Op::Imad, Ty::U32);
    op.src[2] = Src::Reg(Reg::ZERO);
    check(&op, two(), |c| value(low(c.src[0] as u32 as i128 * c.src[1] as u32 as i128)));
    let mut op = uop(Op::Iadd3, Ty::U32);
    (op.src[2], op.neg) = (Src::Reg(Reg::ZERO), 0b10);
    check(&op, two(), |c| value(low(c.src[0] as u32 as i128 - c.src[1] as u32 as i128)));
}

#[test]
fn wide_products_with_powers_of_two_are_shifts() {
    let (mut random, wide) = (Random(6), integers(64));
    for ty in INTS {
        for power in [0, 1, 2, 3, 4, 17, 30, 31] {
            let mut op = uop(Op::ImadWide, ty);
            op.src[1] = Src::Imm(1 << power);
            let mut all = words();
            for c in &mut all {
                c.src[1] = 1 << power;
                c.src[2] = if random.next() & 1 == 0 { random.pick(&wide) } else { random.next() };
            }
            check(&op, all, |c| {
                let product = integer(ty, c.src[0]) * integer(ty, c.src[1]);
                value((product + i128::from(c.src[2])) as u64)
            });
        }
    }
}

#[test]
fn saturating_addition_stops_at_the_bounds() {
    for neg in 0..8 {
        let mut op = uop(Op::Iadd3, Ty::S32);
        (op.flags, op.neg) = (Flags::SAT, neg);
        check(&op, words(), |c| {
            let v = |i: usize| integer(Ty::S32, c.src[i]) * if neg >> i & 1 == 1 { -1 } else { 1 };
            value(low((v(0) + v(1) + v(2)).clamp(-(1 << 31), (1 << 31) - 1)))
        });
    }
}

#[test]
fn multiplications_take_low_high_and_wide_products() {
    for ty in INTS {
        for neg in 0..8u8 {
            let v = |c: &Case, i: usize| integer(ty, c.src[i]) * if neg >> i & 1 == 1 { -1 } else { 1 };
            let mut op = uop(Op::Imad, ty);
            op.neg = neg;
            check(&op, words(), |c| value(low(v(c, 0) * v(c, 1) + v(c, 2))));
            op.op = Op::ImadHi;
            check(&op, words(), |c| value(low(((v(c, 0) * v(c, 1)) >> 32) + v(c, 2))));
            if ty == Ty::S32 {
                op.flags = Flags::SAT;
                check(&op, words().into_iter().filter(|c| neg & 4 == 0 || c.src[2] != 1 << 31), |c| {
                    // The high word is cut to 32 bits before the addition.
                    let high = integer(Ty::S32, ((v(c, 0) * v(c, 1)) >> 32) as u64);
                    value(low((high + v(c, 2)).clamp(-(1 << 31), (1 << 31) - 1)))
                });
            }
        }
    }
}

#[test]
fn wide_multiply_add_carries_out_of_64_bits() {
    let mut all = words();
    let mut random = Random(5);
    let wide = integers(64);
    all.iter_mut()
        .for_each(|c| c.src[2] = if random.next() & 1 == 0 { random.pick(&wide) } else { random.next() });
    for ty in INTS {
        for (neg, carry_in, wants_carry) in [
            (0, false, false),
            (0, false, true),
            (0, true, true),
            (1, false, false),
            (3, false, true),
            (6, false, true),
            (4, true, true),
        ] {
            let mut op = uop(Op::ImadWide, ty);
            op.neg = neg;
            op.flags = if carry_in { Flags::CARRY_IN } else { Flags::NONE };
            op = if wants_carry { with_predicates(op) } else { op };
            check(&op, all.iter().copied(), |c| {
                let sign = if (neg ^ neg >> 1) & 1 == 1 { -1 } else { 1 };
                let product = (integer(ty, c.src[0]) * integer(ty, c.src[1]) * sign) as u64;
                let addend = if neg & 4 != 0 { !c.src[2] } else { c.src[2] };
                let extra = u128::from(neg & 4 != 0 && !carry_in) + u128::from(carry_in && c.x[0]);
                let sum = u128::from(product) + u128::from(addend) + extra;
                Expect { dst: Some(sum as u64), p: wants_carry.then_some(sum >> 64 != 0), q: None }
            });
        }
    }
}

#[test]
fn address_arithmetic_shifts_and_adds() {
    for shift in [0, 1, 2, 3, 7, 16, 31] {
        let mut op = uop(Op::Lea, Ty::U32);
        op.sub = Sub::Shift(shift);
        check(&op, words(), |c| value(low((i128::from(c.src[0]) << shift) + i128::from(c.src[1] as u32))));
        let part = |c: &Case| u64::from((c.src[0] as u32) << shift);
        check(&with_predicates(op), words(), |c| {
            let sum = part(c) + u64::from(c.src[1] as u32);
            Expect { dst: Some(sum & 0xffff_ffff), p: Some(sum >> 32 == 1), q: None }
        });
        op.op = Op::LeaHi;
        for carry in [false, true] {
            op.flags = if carry { Flags::CARRY_IN } else { Flags::NONE };
            check(&op, words(), |c| {
                let shifted = (c.src[2] << 32 | u64::from(c.src[0] as u32)) << shift;
                value(low(i128::from(shifted >> 32)
                    + i128::from(c.src[1] as u32)
                    + i128::from(carry && c.x[0])))
            });
        }
    }
}

#[test]
fn minimum_absolute_value_and_distance_follow_the_sign() {
    for ty in INTS {
        let v = |c: &Case, i: usize| integer(ty, c.src[i]);
        let mut op = uop(Op::Imnmx, ty);
        op.sub = Sub::MinMax(MinMax::Min);
        check(&op, words(), |c| value(low(v(c, 0).min(v(c, 1)))));
        op.sub = Sub::MinMax(MinMax::Max);
        check(&op, words(), |c| value(low(v(c, 0).max(v(c, 1)))));
        check(&uop(Op::Isad, ty), words(), |c| value(low((v(c, 0) - v(c, 1)).abs() + v(c, 2))));
    }
    check(&uop(Op::Iabs, Ty::S32), words(), |c| value(low(integer(Ty::S32, c.src[0]).abs())));
}

#[test]
fn shifts_clamp_or_wrap() {
    let mut all = words();
    let mut random = Random(11);
    all.iter_mut().for_each(|c| {
        if random.next() & 1 == 0 {
            c.src[1] = random.next() % 70;
            c.src[2] = random.next() % 70;
        }
    });
    for ty in INTS {
        for wrap in [false, true] {
            let flags = if wrap { Flags::WRAP } else { Flags::NONE };
            let amount = |v: u64, most: u64| if wrap { v & 31 } else { (v & 0xffff_ffff).min(most) };
            let mut op = uop(Op::Shl, ty);
            op.flags = flags;
            check(&op, all.iter().copied(), |c| {
                value(low(i128::from(c.src[0] as u32) << amount(c.src[1], 64)))
            });
            op.op = Op::Shr;
            check(&op, all.iter().copied(), |c| value(low(integer(ty, c.src[0]) >> amount(c.src[1], 64))));
            op.op = Op::Shf;
            let both = |c: &Case| i128::from(c.src[1] as u32) << 32 | i128::from(c.src[0] as u32);
            check(&op, all.iter().copied(), |c| value(low(both(c) << amount(c.src[2], 32) >> 32)));
            op.flags = flags | Flags::RIGHT;
            check(&op, all.iter().copied(), |c| value(low(both(c) >> amount(c.src[2], 32))));
        }
    }
}

fn table(lut: u8, a: bool, b: bool, c: bool) -> bool {
    lut >> (u8::from(a) << 2 | u8::from(b) << 1 | u8::from(c)) & 1 == 1
}

#[test]
fn logic_follows_every_truth_table() {
    for lut in 0..=255 {
        let mut op = uop(Op::Lop3, Ty::U32);
        op.sub = Sub::Lut(lut);
        check(&op, cases(&[0, 0xffff_ffff, 0x0f0f_3355], 64), |c| {
            let bit = |i: usize, k: u32| c.src[i] >> k & 1 == 1;
            value((0..32).map(|k| u64::from(table(lut, bit(0, k), bit(1, k), bit(2, k))) << k).sum())
        });
        let mut op = uop(Op::Plop3, Ty::Pred);
        op.sub = Sub::Lut(lut);
        check(&op, cases(&[0], 96), |c| {
            let p = table(lut, c.x[0], c.x[1], c.x[2]);
            Expect { dst: None, p: Some(p), q: None }
        });
    }
}

#[test]
fn bytes_are_permuted_by_selector_and_by_mode() {
    let bytes = |c: &Case| -> [u8; 8] { (c.src[1] << 32 | u64::from(c.src[0] as u32)).to_le_bytes() };
    let permuted = |c: &Case| {
        let pick = |i: u32| {
            let nibble = c.src[2] >> (4 * i) & 15;
            let byte = bytes(c)[nibble as usize & 7];
            let sign = if byte >= 128 { 255 } else { 0 };
            u64::from(if nibble < 8 { byte } else { sign }) << (8 * i)
        };
        value(pick(0) | pick(1) | pick(2) | pick(3))
    };
    check(&uop(Op::Prmt, Ty::U32), words(), permuted);
    // The same with an immediate selector, which has a kernel of its own.
    for selector in [0x3210, 0x7654, 0x0123, 0x5410, 0xba98, 0x7632, 0x4440, 0x89f1, 0x2c6e] {
        let mut op = uop(Op::Prmt, Ty::U32);
        op.src[2] = Src::Imm(selector);
        let all = words().into_iter().map(|mut c| {
            c.src[2] = u64::from(selector);
            c
        });
        check(&op, all, permuted);
    }
    // Tables of the PTX ISA, bytes from the highest down, for selectors 0 to 3.
    let modes = [
        (PrmtMode::F4e, [[3, 2, 1, 0], [4, 3, 2, 1], [5, 4, 3, 2], [6, 5, 4, 3]]),
        (PrmtMode::B4e, [[5, 6, 7, 0], [6, 7, 0, 1], [7, 0, 1, 2], [0, 1, 2, 3]]),
        (PrmtMode::Rc8, [[0, 0, 0, 0], [1, 1, 1, 1], [2, 2, 2, 2], [3, 3, 3, 3]]),
        (PrmtMode::Ecl, [[3, 2, 1, 0], [3, 2, 1, 1], [3, 2, 2, 2], [3, 3, 3, 3]]),
        (PrmtMode::Ecr, [[0, 0, 0, 0], [1, 1, 1, 0], [2, 2, 1, 0], [3, 2, 1, 0]]),
        (PrmtMode::Rc16, [[1, 0, 1, 0], [3, 2, 3, 2], [1, 0, 1, 0], [3, 2, 3, 2]]),
    ];
    for (mode, table) in modes {
        let mut op = uop(Op::Prmt, Ty::U32);
        op.sub = Sub::Prmt(mode);
        check(&op, words(), |c| {
            let row = table[c.src[2] as usize & 3];
            value(row.iter().fold(0, |out, &i: &usize| out << 8 | u64::from(bytes(c)[i])))
        });
    }
}

#[test]
fn bit_fields_are_taken_out_and_put_in() {
    for ty in [Ty::U32, Ty::S32, Ty::U64, Ty::S64] {
        let bits = u64::from(ty.bytes() * 8);
        let mut all = cases(&integers(bits as u32), 3000);
        let mut random = Random(3);
        all.iter_mut().for_each(|c| {
            for i in 1..4 {
                if !random.next().is_multiple_of(4) && (ty != Ty::U64 || i > 1) {
                    c.src[i] = random.next() % 70;
                }
            }
        });
        let bit = |v: u64, i: u64| i < bits && v >> i & 1 == 1;
        check(&uop(Op::Bfe, ty), all.iter().copied(), |c| {
            let (a, position, length) = (c.src[0], c.src[1] & 255, c.src[2] & 255);
            let sign = ty.is_signed() && length > 0 && bit(a, (position + length - 1).min(bits - 1));
            let field = |i: u64| if i < length && position + i < bits { bit(a, position + i) } else { sign };
            value((0..bits).map(|i| u64::from(field(i)) << i).sum())
        });
        if !ty.is_signed() {
            check(&uop(Op::Bfi, ty), all.iter().copied(), |c| {
                let (position, length) = (c.src[2] & 255, c.src[3] & 255);
                let pick = |i: u64| match i >= position && i < position + length {
                    true => bit(c.src[0], i - position),
                    false => bit(c.src[1], i),
                };
                value((0..bits).map(|i| u64::from(pick(i)) << i).sum())
            });
            check(&uop(Op::Brev, ty), all.iter().copied(), |c| {
                value((0..bits).map(|i| u64::from(bit(c.src[0], i)) << (bits - 1 - i)).sum())
            });
            check(&uop(Op::Popc, ty), all.iter().copied(), |c| {
                value((0..bits).map(|i| u64::from(bit(c.src[0], i))).sum())
            });
        }
        for distance in [false, true] {
            let mut op = uop(Op::Bfind, ty);
            op.flags = if distance { Flags::SHIFTAMT } else { Flags::NONE };
            check(&op, all.iter().copied(), |c| {
                let sign = ty.is_signed() && bit(c.src[0], bits - 1);
                let found = (0..bits).rev().find(|&i| bit(c.src[0], i) != sign);
                value(found.map_or(0xffff_ffff, |i| if distance { bits - 1 - i } else { i }))
            });
        }
    }
}

#[test]
fn dot_products_mix_signs() {
    for a_ty in INTS {
        for b_ty in INTS {
            let part = |ty: Ty, wide: bool, v: u64, i: u32| {
                let (bits, small) = if wide { (16, [Ty::U16, Ty::S16]) } else { (8, [Ty::U8, Ty::S8]) };
                integer(small[usize::from(ty.is_signed())], v >> (bits * i))
            };
            let mut op = uop(Op::Dp4a, a_ty);
            op.ty2 = b_ty;
            check(&op, words(), |c| {
                let dot: i128 =
                    (0..4).map(|i| part(a_ty, false, c.src[0], i) * part(b_ty, false, c.src[1], i)).sum();
                value(low(dot + i128::from(c.src[2])))
            });
            op.op = Op::Dp2a;
            for high in [false, true] {
                op.flags = if high { Flags::HIGH } else { Flags::NONE };
                let first = if high { 2 } else { 0 };
                check(&op, words(), |c| {
                    let dot: i128 = (0..2)
                        .map(|i| part(a_ty, true, c.src[0], i) * part(b_ty, false, c.src[1], first + i))
                        .sum();
                    value(low(dot + i128::from(c.src[2])))
                });
            }
        }
    }
}

const COMPARISONS: [Cmp; 6] = [Cmp::Eq, Cmp::Ne, Cmp::Lt, Cmp::Le, Cmp::Gt, Cmp::Ge];

fn holds(cmp: Cmp, a: i128, b: i128) -> bool {
    match cmp {
        Cmp::Eq => a == b,
        Cmp::Ne => a != b,
        Cmp::Lt => a < b,
        Cmp::Le => a <= b,
        Cmp::Gt => a > b,
        _ => a >= b,
    }
}

pub fn combine(op: BoolOp, a: bool, b: bool) -> bool {
    match op {
        BoolOp::And => a && b,
        BoolOp::Or => a || b,
        BoolOp::Xor => a != b,
    }
}

#[test]
fn comparisons_of_words_and_of_their_high_halves() {
    for (ty, wide) in [(Ty::U32, Ty::U64), (Ty::S32, Ty::S64)] {
        for cmp in COMPARISONS {
            for op in [BoolOp::And, BoolOp::Or, BoolOp::Xor] {
                let mut set = with_predicates(uop(Op::Isetp, ty));
                set.sub = Sub::Cmp(cmp, op);
                check(&set, words(), |c| {
                    let p = holds(cmp, integer(ty, c.src[0]), integer(ty, c.src[1]));
                    predicates(combine(op, p, c.x[0]), combine(op, !p, c.x[0]))
                });
                // 64 bits in two steps: sources 2 and 3 of the case are the low words.
                set.op = Op::IsetpX;
                let all = words().into_iter().map(|mut c| {
                    c.x[1] = holds(cmp, i128::from(c.src[2] as u32), i128::from(c.src[3] as u32));
                    c
                });
                check(&set, all, |c| {
                    let join = |high: u64, low: u64| integer(wide, high << 32 | u64::from(low as u32));
                    let p = holds(cmp, join(c.src[0], c.src[2]), join(c.src[1], c.src[3]));
                    predicates(combine(op, p, c.x[0]), combine(op, !p, c.x[0]))
                });
            }
        }
    }
}

#[test]
fn integer_conversions_extend_cut_and_saturate() {
    let types = [Ty::U8, Ty::S8, Ty::U16, Ty::S16, Ty::U32, Ty::S32, Ty::U64, Ty::S64];
    for to in types {
        for from in types {
            for sat in [false, true] {
                let mut op = uop(Op::Cvt, to);
                op.ty2 = from;
                op.flags = if sat { Flags::SAT } else { Flags::NONE };
                check(&op, cases(&integers(64), 200), |c| value(crate::model::convert(&op, c.src[0])));
            }
        }
    }
}
