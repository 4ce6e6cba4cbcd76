// SPDX-License-Identifier: MIT OR Apache-2.0
//! 64-bit integer operations as sequences on 32-bit words, simplified with the known constant words.

use warpwatt_isa::{BoolOp, Cmp, Flags, MinMax, Op, Sub, Ty};

use super::legalize::Legalizer;
use crate::ir::{Inst, Opnd, Part, PredUse, Value};

const ZERO: Opnd = Opnd::Imm(0);

impl Legalizer<'_> {
    fn words2(&self, inst: &Inst, i: usize) -> [Opnd; 2] {
        let src = inst.srcs.get(i).copied().unwrap_or(ZERO);
        [self.word(src, 0), self.word(src, 1)]
    }

    /// Defines word `i` by a truth table, with constant inputs worked into the table.
    pub(super) fn define_logic(&mut self, like: &Inst, i: u8, mut lut: u8, mut srcs: [Opnd; 3]) {
        const COLUMN: [u8; 3] = [0xf0, 0xcc, 0xaa];
        for (k, src) in srcs.iter_mut().enumerate() {
            let set = match src {
                Opnd::Imm(0) => false,
                Opnd::Imm(v) if *v as u32 == u32::MAX => true,
                _ => continue,
            };
            // Half of the table is out of reach: the half that counts is copied over it.
            let half = if set { lut & COLUMN[k] } else { lut & !COLUMN[k] };
            let shift = 4 >> k;
            lut = half | if set { half >> shift } else { half << shift };
            *src = ZERO;
        }
        match lut {
            0x00 => return self.define(like, i, Op::Mov, Ty::U32, &[ZERO]),
            0xff => return self.define(like, i, Op::Mov, Ty::U32, &[Opnd::Imm(0xffff_ffff)]),
            _ => {}
        }
        if let Some(k) = COLUMN.iter().position(|&c| c == lut) {
            return self.define(like, i, Op::Mov, Ty::U32, &[srcs[k]]);
        }
        let (dst, keep) = self.dst_word(like, i);
        let mut inst = self.make(like, Op::Lop3, Ty::U32, dst, &srcs);
        inst.sub = Sub::Lut(lut);
        inst.keep = keep;
        self.emit(inst);
    }

    pub(super) fn wide_logic(&mut self, inst: &Inst) {
        let Sub::Lut(lut) = inst.sub else { return };
        for i in 0..2 {
            let src = |k: usize| inst.srcs.get(k).map_or(ZERO, |&s| self.word(s, i));
            let srcs = [src(0), src(1), src(2)];
            self.define_logic(inst, i, lut, srcs);
        }
    }

    /// Sum of two 64-bit values, or of three where nothing is carried in or out.
    pub(super) fn wide_add(&mut self, inst: &Inst) {
        let third = inst.srcs.get(2).copied().filter(|s| !matches!(s, Opnd::None | Opnd::Imm(0)));
        if let Some(third) = third {
            let sum = self.f.new_value(2);
            let mut first = self.make(inst, Op::Iadd3, inst.ty, Some(self.f.whole(sum)), &inst.srcs[..2]);
            first.neg = inst.neg & 0b11;
            self.wide_add(&first);
            let mut second = inst.clone();
            second.srcs = [Opnd::Value(self.f.whole(sum)), third].into_iter().collect();
            second.neg = inst.neg >> 1 & 0b10;
            return self.wide_add(&second);
        }
        let (mut a, mut b) = (self.words2(inst, 0), self.words2(inst, 1));
        let mut neg = inst.neg & 0b11;
        let chained = inst.flags.has(Flags::CARRY_IN);
        if chained || inst.pdst[0].is_some() {
            return self.add_words(inst, a, b, neg, chained);
        }
        for (k, words) in [&mut a, &mut b].into_iter().enumerate() {
            if let [Opnd::Imm(low), Opnd::Imm(high)] = *words
                && neg >> k & 1 == 1
            {
                let value = (high << 32 | low).wrapping_neg();
                *words = [Opnd::Imm(value & 0xffff_ffff), Opnd::Imm(value >> 32)];
                neg &= !(1 << k);
            }
        }
        // A zero low word that is added carries nothing.
        let (x, y) = if b[0] == ZERO { (0, 1) } else { (1, 0) };
        let (other, zero) = ([a, b][x], [a, b][y]);
        if zero[0] == ZERO && neg >> x & 1 == 0 && neg >> y & 1 == 0 {
            self.define(inst, 0, Op::Mov, Ty::U32, &[other[0]]);
            if zero[1] == ZERO {
                self.define(inst, 1, Op::Mov, Ty::U32, &[other[1]]);
            } else {
                self.define(inst, 1, Op::Iadd3, Ty::U32, &[other[1], zero[1], ZERO]);
            }
            return;
        }
        if neg == 0b11 {
            // -a - b would carry two: -(a + b) carries one.
            let sum = self.f.new_value(2);
            let whole = self.f.whole(sum);
            let plain = self.make(inst, Op::Iadd3, inst.ty, Some(whole), &inst.srcs[..2]);
            self.wide_add(&plain);
            let mut minus = inst.clone();
            minus.srcs = [ZERO, Opnd::Value(whole)].into_iter().collect();
            minus.neg = 0b10;
            return self.wide_add(&minus);
        }
        self.add_words(inst, a, b, neg, false);
    }

    fn add_words(&mut self, inst: &Inst, a: [Opnd; 2], b: [Opnd; 2], neg: u8, chained: bool) {
        let carry = self.f.new_value(0);
        for i in 0..2u8 {
            let (dst, keep) = self.dst_word(inst, i);
            let mut add = self.make(inst, Op::Iadd3, Ty::U32, dst, &[a[i as usize], b[i as usize], ZERO]);
            add.keep = keep;
            add.neg = neg;
            if i == 0 {
                add.pdst[0] = Some(carry);
                if chained {
                    add.flags = Flags::CARRY_IN;
                    add.psrc[0] = inst.psrc[0];
                }
            } else {
                add.flags = Flags::CARRY_IN;
                add.psrc[0] = PredUse::of(carry);
                add.pdst[0] = inst.pdst[0];
                add.pkeep[0] = inst.pkeep[0];
            }
            for (k, src) in add.srcs.iter_mut().enumerate() {
                // With a carry in, a negated source is only complemented.
                if let Opnd::Imm(v) = *src
                    && add.flags.has(Flags::CARRY_IN)
                    && neg >> k & 1 == 1
                {
                    *src = Opnd::Imm(u64::from(!(v as u32)));
                    add.neg &= !(1 << k);
                }
            }
            self.emit(add);
        }
    }

    /// Low 64 bits of a * b + c: one wide product and the two cross products that reach the high word.
    pub(super) fn wide_mad(&mut self, inst: &Inst) {
        let (a, b) = (self.words2(inst, 0), self.words2(inst, 1));
        let c = inst.srcs.get(2).copied().filter(|&c| c != Opnd::None).unwrap_or(ZERO);
        if inst.neg & 0b111 != 0 {
            // The product alone, then a sum that takes the signs.
            let product = self.f.new_value(2);
            let whole = self.f.whole(product);
            let plain = self.make(inst, Op::Imad, inst.ty, Some(whole), &[inst.srcs[0], inst.srcs[1]]);
            self.wide_mad(&plain);
            let mut sum = inst.clone();
            sum.op = Op::Iadd3;
            sum.srcs = [Opnd::Value(whole), c].into_iter().collect();
            sum.neg = (inst.neg ^ inst.neg >> 1) & 1 | inst.neg >> 1 & 0b10;
            return self.wide_add(&sum);
        }
        let crosses: Vec<[Opnd; 2]> =
            [[a[1], b[0]], [a[0], b[1]]].into_iter().filter(|x| x[0] != ZERO && x[1] != ZERO).collect();
        if crosses.is_empty() {
            let mut wide = self.make(inst, Op::ImadWide, Ty::U32, inst.dst, &[a[0], b[0], c]);
            wide.keep = inst.keep;
            return self.emit(wide);
        }
        let product = self.f.new_value(2);
        let whole = self.f.whole(product);
        let wide = self.make(inst, Op::ImadWide, Ty::U32, Some(whole), &[a[0], b[0], c]);
        self.emit(wide);
        let word = |lane| Opnd::Value(Part { value: product, lane, words: 1 });
        self.define(inst, 0, Op::Mov, Ty::U32, &[word(0)]);
        let mut high = word(1);
        for (k, [x, y]) in crosses.iter().enumerate() {
            if k + 1 == crosses.len() {
                self.define(inst, 1, Op::Imad, Ty::U32, &[*x, *y, high]);
            } else {
                high = self.temp(inst, Op::Imad, Ty::U32, &[*x, *y, high]);
            }
        }
    }

    fn shift_amount(&mut self, inst: &Inst) -> Opnd {
        let n = self.word(inst.srcs[1], 0);
        match n {
            Opnd::Imm(v) if inst.flags.has(Flags::WRAP) => Opnd::Imm(v & 63),
            n if inst.flags.has(Flags::WRAP) => {
                let value = self.f.new_value(1);
                let part = self.f.whole(value);
                let mut mask = self.make(inst, Op::Lop3, Ty::U32, Some(part), &[n, Opnd::Imm(63), ZERO]);
                mask.sub = Sub::Lut(0xc0);
                self.emit(mask);
                Opnd::Value(part)
            }
            n => n,
        }
    }

    fn funnel(&mut self, inst: &Inst, a: [Opnd; 2], n: Opnd, right: bool) -> Inst {
        let mut shf = self.make(inst, Op::Shf, Ty::U32, None, &[a[0], a[1], n]);
        if right {
            shf.flags = Flags::RIGHT;
        }
        shf
    }

    fn at_least_32(&mut self, inst: &Inst, n: Opnd) -> Value {
        let far = self.f.new_value(0);
        let mut cmp = self.make(inst, Op::Isetp, Ty::U32, None, &[n, Opnd::Imm(32)]);
        cmp.sub = Sub::Cmp(Cmp::Ge, BoolOp::And);
        cmp.pdst[0] = Some(far);
        self.emit(cmp);
        far
    }

    fn select(&mut self, inst: &Inst, i: u8, p: Value, yes: Opnd, no: Opnd) {
        let (dst, keep) = self.dst_word(inst, i);
        let mut sel = self.make(inst, Op::Sel, Ty::U32, dst, &[yes, no]);
        sel.psrc[0] = PredUse::of(p);
        sel.keep = keep;
        self.emit(sel);
    }

    pub(super) fn wide_shl(&mut self, inst: &Inst) {
        let a = self.words2(inst, 0);
        let n = self.shift_amount(inst);
        let imm = |v: u64| Opnd::Imm(v);
        if let Opnd::Imm(n) = n {
            match n as u32 {
                0 => (0..2).for_each(|i| self.define(inst, i, Op::Mov, Ty::U32, &[a[i as usize]])),
                n @ 1..32 => {
                    self.define(inst, 0, Op::Shl, Ty::U32, &[a[0], imm(n.into())]);
                    self.define(inst, 1, Op::Shf, Ty::U32, &[a[0], a[1], imm(n.into())]);
                }
                n => {
                    self.define(inst, 0, Op::Mov, Ty::U32, &[ZERO]);
                    match n {
                        32 => self.define(inst, 1, Op::Mov, Ty::U32, &[a[0]]),
                        33..64 => self.define(inst, 1, Op::Shl, Ty::U32, &[a[0], imm(u64::from(n) - 32)]),
                        _ => self.define(inst, 1, Op::Mov, Ty::U32, &[ZERO]),
                    }
                }
            }
            return;
        }
        let beyond = self.temp(inst, Op::Iadd3, Ty::U32, &[n, imm(0xffff_ffe0), ZERO]);
        let far = self.at_least_32(inst, n);
        let mut near = self.funnel(inst, a, n, false);
        let high = self.f.new_value(1);
        near.dst = Some(self.f.whole(high));
        self.emit(near);
        let over = self.temp(inst, Op::Shl, Ty::U32, &[a[0], beyond]);
        self.define(inst, 0, Op::Shl, Ty::U32, &[a[0], n]);
        self.select(inst, 1, far, over, Opnd::Value(self.f.whole(high)));
    }

    pub(super) fn wide_shr(&mut self, inst: &Inst) {
        let a = self.words2(inst, 0);
        let ty = if inst.ty.is_signed() { Ty::S32 } else { Ty::U32 };
        let n = self.shift_amount(inst);
        let imm = |v: u64| Opnd::Imm(v);
        if let Opnd::Imm(n) = n {
            match n as u32 {
                0 => (0..2).for_each(|i| self.define(inst, i, Op::Mov, Ty::U32, &[a[i as usize]])),
                n @ 1..32 => {
                    let (dst, keep) = self.dst_word(inst, 0);
                    let mut low = self.funnel(inst, a, imm(n.into()), true);
                    low.dst = dst;
                    low.keep = keep;
                    self.emit(low);
                    self.define(inst, 1, Op::Shr, ty, &[a[1], imm(n.into())]);
                }
                n => {
                    match n {
                        32 => self.define(inst, 0, Op::Mov, Ty::U32, &[a[1]]),
                        _ if ty == Ty::S32 || n < 64 => {
                            let n = u64::from(n.min(63)) - 32;
                            self.define(inst, 0, Op::Shr, ty, &[a[1], imm(n)]);
                        }
                        _ => self.define(inst, 0, Op::Mov, Ty::U32, &[ZERO]),
                    }
                    if ty == Ty::S32 {
                        self.define(inst, 1, Op::Shr, ty, &[a[1], imm(31)]);
                    } else {
                        self.define(inst, 1, Op::Mov, Ty::U32, &[ZERO]);
                    }
                }
            }
            return;
        }
        let beyond = self.temp(inst, Op::Iadd3, Ty::U32, &[n, imm(0xffff_ffe0), ZERO]);
        let far = self.at_least_32(inst, n);
        let mut near = self.funnel(inst, a, n, true);
        let low = self.f.new_value(1);
        near.dst = Some(self.f.whole(low));
        self.emit(near);
        let over = self.temp(inst, Op::Shr, ty, &[a[1], beyond]);
        self.select(inst, 0, far, over, Opnd::Value(self.f.whole(low)));
        self.define(inst, 1, Op::Shr, ty, &[a[1], n]);
    }

    /// The comparison of the low words feeds the one of the high words.
    fn compare(&mut self, like: &Inst, cmp: Cmp, signed: bool, a: [Opnd; 2], b: [Opnd; 2]) -> Inst {
        let low = self.f.new_value(0);
        let mut first = self.make(like, Op::Isetp, Ty::U32, None, &[a[0], b[0]]);
        first.sub = Sub::Cmp(cmp, BoolOp::And);
        first.pdst[0] = Some(low);
        self.emit(first);
        let ty = if signed { Ty::S32 } else { Ty::U32 };
        // A constant on the left would have to change sides together with the comparison of the low words.
        let mut second = self.make(like, Op::IsetpX, ty, None, &[a[1], b[1]]);
        second.sub = Sub::Cmp(cmp, BoolOp::And);
        second.psrc[1] = PredUse::of(low);
        second
    }

    pub(super) fn wide_compare(&mut self, inst: &Inst) {
        let Sub::Cmp(cmp, combine) = inst.sub else { return };
        let (a, b) = (self.words2(inst, 0), self.words2(inst, 1));
        let mut last = self.compare(inst, cmp, inst.ty.is_signed(), a, b);
        last.sub = Sub::Cmp(cmp, combine);
        last.psrc[0] = inst.psrc[0];
        last.pdst = inst.pdst;
        last.pkeep = inst.pkeep;
        self.emit(last);
    }

    pub(super) fn wide_minmax(&mut self, inst: &Inst) {
        let cmp = if inst.sub == Sub::MinMax(MinMax::Min) { Cmp::Lt } else { Cmp::Gt };
        let (a, b) = (self.words2(inst, 0), self.words2(inst, 1));
        let first = self.f.new_value(0);
        let mut last = self.compare(inst, cmp, inst.ty.is_signed(), a, b);
        last.pdst[0] = Some(first);
        self.emit(last);
        (0..2).for_each(|i| self.select(inst, i, first, a[i as usize], b[i as usize]));
    }

    pub(super) fn wide_abs(&mut self, inst: &Inst) {
        let a = self.words2(inst, 0);
        let negative = self.f.new_value(0);
        let mut cmp = self.make(inst, Op::Isetp, Ty::S32, None, &[a[1], ZERO]);
        cmp.sub = Sub::Cmp(Cmp::Lt, BoolOp::And);
        cmp.pdst[0] = Some(negative);
        self.emit(cmp);
        let opposite = self.f.new_value(2);
        let mut sub =
            self.make(inst, Op::Iadd3, Ty::U64, Some(self.f.whole(opposite)), &[ZERO, inst.srcs[0]]);
        sub.neg = 0b10;
        self.wide_add(&sub);
        for i in 0..2 {
            let flipped = Opnd::Value(Part { value: opposite, lane: i, words: 1 });
            self.select(inst, i, negative, flipped, a[i as usize]);
        }
    }
}
