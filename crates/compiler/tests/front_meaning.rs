// SPDX-License-Identifier: MIT OR Apache-2.0
//! Integer instructions that become sequences compute what PTX says: the lowered operations are run by a small interpreter here and compared
//! with plain Rust over edge values and random ones.

use std::collections::HashMap;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use warpwatt_compiler::front;
use warpwatt_compiler::ir::{Function, Inst, Opnd, PredUse, Value};
use warpwatt_isa::{Cmp, Flags, MinMax, Op, Sub, Ty};

/// One instruction with up to four register sources, lowered; run with [`Sequence::run`].
struct Sequence {
    f: Function,
}

impl Sequence {
    /// `widths` are the bits of the destination and the sources.
    fn of(instruction: &str, widths: &[u32]) -> Sequence {
        let operands: Vec<String> = (0..widths.len()).map(|k| format!("%x{k}")).collect();
        let declared: String =
            widths.iter().enumerate().map(|(k, bits)| format!(".reg .b{bits} %x{k};\n")).collect();
        let loads: String = widths
            .iter()
            .enumerate()
            .skip(1)
            .map(|(k, bits)| format!("ld.param.b{bits} %x{k}, [p+{}];\n", 8 * k))
            .collect();
        let text = format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n.entry k(.param .align 8 .b8 p[64])\n{{\n{declared}{loads}{instruction} {};\nst.shared.b{} [0], %x0;\nret;\n}}\n",
            operands.join(", "),
            widths[0]
        );
        let parsed = warpwatt_ptx::parse(instruction, &text);
        assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
        let layout = front::layout(&parsed.module);
        let mut program = front::lower(&parsed.module, &layout, "k").unwrap_or_else(|e| panic!("{e:#?}"));
        assert_eq!(program.functions[0].blocks.len(), 1, "{instruction} branches");
        Sequence { f: program.functions.remove(0) }
    }

    /// The value stored at the end.
    fn run(&self, sources: &[u64]) -> u64 {
        let mut lane = Lane { f: &self.f, words: HashMap::new(), preds: HashMap::new(), sources };
        for inst in &self.f.blocks[0].insts {
            if let Some(stored) = lane.step(inst) {
                return stored;
            }
        }
        panic!("nothing was stored");
    }
}

struct Lane<'a> {
    f: &'a Function,
    words: HashMap<Value, u64>,
    preds: HashMap<Value, bool>,
    sources: &'a [u64],
}

fn low(bits: u32) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}

fn signed(v: u64, bits: u32) -> i64 {
    ((v << (64 - bits)) as i64) >> (64 - bits)
}

impl Lane<'_> {
    fn source(&self, o: Opnd) -> u64 {
        match o {
            Opnd::Imm(v) => v,
            Opnd::Value(p) => self.words[&p.value] >> (32 * p.lane) & low(32 * u32::from(p.words)),
            Opnd::Const { offset, .. } => self.parameter(u32::from(offset)),
            other => panic!("{other:?}"),
        }
    }

    fn parameter(&self, offset: u32) -> u64 {
        self.sources[((offset - u32::from(warpwatt_isa::bank0::PARAMS)) / 8 - 1) as usize]
    }

    fn pred(&self, p: PredUse) -> bool {
        p.value.is_none_or(|v| self.preds[&v]) ^ p.negated
    }

    /// Runs one operation; gives what a store stores.
    fn step(&mut self, i: &Inst) -> Option<u64> {
        let mask = low(32 * i.ty.words().max(1));
        let bits = 32 * i.ty.words().max(1);
        let mut s: Vec<u64> = i.srcs.iter().map(|&o| self.source(o)).collect();
        if i.op != Op::Pack && i.op != Op::St {
            s.iter_mut().for_each(|v| *v &= if i.op == Op::ImadWide { u64::MAX } else { mask.max(low(32)) });
        }
        let sx = |v: u64| if i.ty.is_signed() { i128::from(signed(v, bits)) } else { i128::from(v & mask) };
        let negated = |k: usize| i.neg >> k & 1 == 1;
        let field = |a: u64, pos: u64, len: u64| {
            let value = if pos >= 32 { 0 } else { a >> pos & low(len.min(32) as u32) };
            if i.ty != Ty::S32 || len == 0 {
                return value;
            }
            let top = (pos + len - 1).min(31);
            let sign = a >> top & 1;
            let kept = top.saturating_sub(pos.min(32)) + 1;
            if sign == 1 { (value | !low(kept.min(32) as u32)) & low(32) } else { value }
        };
        let result = match i.op {
            Op::Mov | Op::Ld => match i.srcs[0] {
                Opnd::Imm(0) if i.op == Op::Ld => self.parameter(i.off as u32) & low(8 * i.ty.bytes()),
                _ => s[0],
            },
            Op::St => return Some(s[1]),
            Op::Sel => s[usize::from(!self.pred(i.psrc[0]))],
            Op::Iadd3 => {
                let carry = i.flags.has(Flags::CARRY_IN);
                let mut sum = u128::from(carry && self.pred(i.psrc[0]));
                for (k, &v) in s.iter().enumerate() {
                    sum += u128::from(if negated(k) { !v & mask } else { v });
                    sum += u128::from(negated(k) && !carry);
                }
                if let Some(p) = i.pdst[0] {
                    self.preds.insert(p, sum >> bits != 0);
                }
                sum as u64
            }
            Op::Imad => s[0].wrapping_mul(s[1]).wrapping_add(s[2]),
            Op::ImadHi => ((sx(s[0]) * sx(s[1])) >> 32) as u64,
            Op::ImadWide => {
                let wide = |v: u64| {
                    if i.ty.is_signed() { signed(v & low(32), 32) as i128 } else { i128::from(v & low(32)) }
                };
                ((wide(s[0]) * wide(s[1])) as u64).wrapping_add(s[2])
            }
            Op::Lop3 => {
                let Sub::Lut(lut) = i.sub else { panic!() };
                let mut out = 0;
                for bit in 0..64 {
                    let row = (s[0] >> bit & 1) << 2 | (s[1] >> bit & 1) << 1 | s[2] >> bit & 1;
                    out |= u64::from(lut >> row & 1) << bit;
                }
                out
            }
            Op::Shl => {
                if s[1] >= u64::from(bits) {
                    0
                } else {
                    s[0] << s[1]
                }
            }
            Op::Shr => (sx(s[0]) >> s[1].min(u64::from(bits))) as u64,
            Op::Shf => {
                assert!(i.flags.has(Flags::RIGHT));
                (s[1] << 32 | s[0]) >> s[2].min(32)
            }
            Op::Bfe => field(s[0], s[1] & 0xff, s[2] & 0xff),
            Op::Bfi => {
                let (pos, len) = (s[2] & 0xff, s[3] & 0xff);
                let at = if pos >= 32 { 0 } else { (low(len.min(32) as u32) << pos) & low(32) };
                s[1] & !at | if pos >= 32 { 0 } else { s[0] << pos } & at
            }
            Op::Popc => u64::from((s[0] as u32).count_ones()),
            Op::Bfind => {
                let v = s[0] as u32;
                let v = if i.ty.is_signed() && (v as i32) < 0 { !v } else { v };
                let position = 31u32.wrapping_sub(v.leading_zeros());
                let none = v == 0;
                u64::from(if none {
                    u32::MAX
                } else if i.flags.has(Flags::SHIFTAMT) {
                    31 - position
                } else {
                    position
                })
            }
            Op::Brev => u64::from((s[0] as u32).reverse_bits()),
            Op::Imnmx => {
                let less = sx(s[0]) < sx(s[1]);
                s[usize::from(less == (i.sub == Sub::MinMax(MinMax::Max)))]
            }
            Op::Iabs => signed(s[0], bits).unsigned_abs(),
            Op::Isad => (sx(s[0]) - sx(s[1])).unsigned_abs() as u64 + s[2],
            Op::Prmt => {
                let pool = s[1] << 32 | s[0];
                (0..4).fold(0, |out, k| {
                    let nibble = s[2] >> (4 * k) & 15;
                    let byte = pool >> (8 * (nibble & 7)) & 0xff;
                    let byte = if nibble & 8 != 0 { if byte >> 7 == 1 { 0xff } else { 0 } } else { byte };
                    out | byte << (8 * k)
                })
            }
            Op::Pack => {
                let mut at = 0;
                let mut out = 0;
                for (&o, &v) in i.srcs.iter().zip(&s) {
                    let words = if let Opnd::Value(p) = o { u32::from(p.words) } else { 1 };
                    out |= (v & low(32 * words)) << at;
                    at += 32 * words;
                }
                out
            }
            Op::Isetp => {
                let Sub::Cmp(cmp, _) = i.sub else { panic!() };
                let (a, b) = (sx(s[0]), sx(s[1]));
                let holds = match cmp {
                    Cmp::Eq => a == b,
                    Cmp::Ne => a != b,
                    Cmp::Lt => a < b,
                    Cmp::Le => a <= b,
                    Cmp::Gt => a > b,
                    Cmp::Ge => a >= b,
                    other => panic!("{other:?}"),
                };
                let p = i.pdst[0].expect("a result");
                self.preds.insert(p, holds && self.pred(i.psrc[0]));
                return None;
            }
            op => panic!("{op:?} is not in these sequences"),
        };
        let dst = i.dst.expect("a result");
        assert_eq!(self.f.whole(dst.value), dst);
        if i.guard == PredUse::TRUE || self.pred(i.guard) {
            self.words.insert(dst.value, result & low(32 * u32::from(dst.words)));
        } else {
            let kept = self.source(i.keep);
            self.words.insert(dst.value, kept);
        }
        None
    }
}

fn interesting() -> impl Strategy<Value = u64> {
    let edges = vec![
        0,
        1,
        2,
        7,
        31,
        32,
        33,
        63,
        64,
        65,
        255,
        256,
        0x7f,
        0x80,
        0x7fff,
        0x8000,
        0xffff,
        0x1_0000,
        0x7fff_ffff,
        0x8000_0000,
        0xffff_ffff,
        0x1_0000_0000,
        0x7fff_ffff_ffff_ffff,
        0x8000_0000_0000_0000,
        0xffff_ffff_0000_0000,
        u64::MAX,
    ];
    prop_oneof![any::<u64>(), prop::sample::select(edges), any::<u64>().prop_map(|v| v & 0x3f)]
}

/// Compares a lowered instruction with a function over random sources.
fn agrees(instruction: &str, widths: &[u32], reference: impl Fn(&[u64]) -> u64) {
    let sequence = Sequence::of(instruction, widths);
    let mut runner = TestRunner::new_with_rng(
        Config { failure_persistence: None, cases: 512, ..Config::default() },
        TestRng::deterministic_rng(RngAlgorithm::ChaCha),
    );
    let sources: Vec<BoxedStrategy<u64>> =
        widths[1..].iter().map(|&bits| interesting().prop_map(move |v| v & low(bits)).boxed()).collect();
    runner
        .run(&sources, |s| {
            let (got, want) = (sequence.run(&s) & low(widths[0]), reference(&s) & low(widths[0]));
            prop_assert_eq!(got, want, "{} of {:x?}: {:#x}, not {:#x}", instruction, s, got, want);
            Ok(())
        })
        .unwrap_or_else(|e| panic!("{e}"));
}

fn i32_of(v: u64) -> i32 {
    v as u32 as i32
}

#[test]
fn products_have_their_upper_halves() {
    agrees("mul.hi.u64", &[64, 64, 64], |s| ((u128::from(s[0]) * u128::from(s[1])) >> 64) as u64);
    agrees("mul.hi.s64", &[64, 64, 64], |s| {
        ((i128::from(s[0] as i64) * i128::from(s[1] as i64)) >> 64) as u64
    });
    agrees("mul.hi.s16", &[16, 16, 16], |s| ((signed(s[0], 16) * signed(s[1], 16)) >> 16) as u64);
    agrees("mad.lo.s16", &[16, 16, 16, 16], |s| s[0].wrapping_mul(s[1]).wrapping_add(s[2]));
    agrees("mul24.lo.s32", &[32, 32, 32], |s| (signed(s[0], 24) * signed(s[1], 24)) as u64);
    agrees("mul24.hi.s32", &[32, 32, 32], |s| ((signed(s[0], 24) * signed(s[1], 24)) >> 16) as u64);
    agrees("mad.hi.u64", &[64, 64, 64, 64], |s| {
        (((u128::from(s[0]) * u128::from(s[1])) >> 64) as u64).wrapping_add(s[2])
    });
}

#[test]
fn saturating_sums_stop_at_the_ends() {
    agrees("add.sat.s32", &[32, 32, 32], |s| i32_of(s[0]).saturating_add(i32_of(s[1])) as u64);
    agrees("sub.sat.s32", &[32, 32, 32], |s| i32_of(s[0]).saturating_sub(i32_of(s[1])) as u64);
}

#[test]
fn narrow_integers_wrap_and_compare_in_their_own_width() {
    agrees("add.s16", &[16, 16, 16], |s| s[0].wrapping_add(s[1]));
    agrees("min.s16", &[16, 16, 16], |s| signed(s[0], 16).min(signed(s[1], 16)) as u64);
    agrees("abs.s16", &[16, 16], |s| signed(s[0], 16).unsigned_abs());
    agrees("neg.s16", &[16, 16], |s| 0u64.wrapping_sub(s[0]));
    agrees("shr.s16", &[16, 16, 32], |s| (signed(s[0], 16) >> s[1].min(15)) as u64);
    agrees("shl.b16", &[16, 16, 32], |s| if s[1] > 15 { 0 } else { s[0] << s[1] });
    agrees("sad.s16", &[16, 16, 16, 16], |s| signed(s[0], 16).abs_diff(signed(s[1], 16)).wrapping_add(s[2]));
    agrees("sad.u64", &[64, 64, 64, 64], |s| s[0].abs_diff(s[1]).wrapping_add(s[2]));
    agrees("add.u16x2", &[32, 32, 32], |s| {
        s[0].wrapping_add(s[1]) & 0xffff | ((s[0] >> 16).wrapping_add(s[1] >> 16) & 0xffff) << 16
    });
    agrees("max.s16x2", &[32, 32, 32], |s| {
        let one = |k: u32| signed(s[0] >> k, 16).max(signed(s[1] >> k, 16)) as u64 & 0xffff;
        one(0) | one(16) << 16
    });
}

#[test]
fn bits_of_pairs_are_counted() {
    agrees("popc.b64", &[32, 64], |s| u64::from(s[0].count_ones()));
    agrees("clz.b32", &[32, 32], |s| u64::from((s[0] as u32).leading_zeros()));
    agrees("clz.b64", &[32, 64], |s| u64::from(s[0].leading_zeros()));
    agrees("brev.b64", &[64, 64], |s| s[0].reverse_bits());
    let top = |v: u64| if v == 0 { u64::from(u32::MAX) } else { 63 - u64::from(v.leading_zeros()) };
    agrees("bfind.u64", &[32, 64], |s| top(s[0]));
    agrees("bfind.s64", &[32, 64], |s| top(s[0] ^ ((s[0] as i64) >> 63) as u64));
    agrees("bfind.shiftamt.u64", &[32, 64], |s| if s[0] == 0 { u64::MAX } else { 63 - top(s[0]) });
}

/// As the PTX ISA writes it down, bit by bit.
fn bfe64(a: u64, b: u64, c: u64, is_signed: bool) -> u64 {
    let (pos, len) = (b & 0xff, c & 0xff);
    let sign = if !is_signed || len == 0 { 0 } else { a >> (pos + len - 1).min(63) & 1 };
    (0..64).fold(0, |d, i| {
        let bit = if i < len && pos + i <= 63 { a >> (pos + i) & 1 } else { sign };
        d | bit << i
    })
}

#[test]
fn bit_fields_of_pairs_follow_the_manual() {
    agrees("bfe.u64", &[64, 64, 32, 32], |s| bfe64(s[0], s[1], s[2], false));
    agrees("bfe.s64", &[64, 64, 32, 32], |s| bfe64(s[0], s[1], s[2], true));
    agrees("bfi.b64", &[64, 64, 64, 32, 32], |s| {
        let (pos, len) = (s[2] & 0xff, s[3] & 0xff);
        (0..len)
            .take_while(|i| pos + i <= 63)
            .fold(s[1], |d, i| d & !(1 << (pos + i)) | (s[0] >> i & 1) << (pos + i))
    });
    agrees("bmsk.clamp.b32", &[32, 32, 32], |s| {
        (0..s[1].min(32)).filter(|i| s[0].saturating_add(*i) < 32).fold(0, |d, i| d | 1 << (s[0] + i))
    });
    agrees("szext.clamp.s32", &[32, 32, 32], |s| {
        if s[1] == 0 { 0 } else { signed(s[0], s[1].min(32) as u32) as u64 }
    });
}

#[test]
fn integer_conversions_extend_cut_and_saturate() {
    agrees("cvt.s64.s16", &[64, 16], |s| signed(s[0], 16) as u64);
    agrees("cvt.s32.s8", &[32, 32], |s| signed(s[0], 8) as u64);
    agrees("cvt.u32.u8", &[32, 16], |s| s[0] & 0xff);
    agrees("cvt.s8.s32", &[32, 32], |s| signed(s[0], 8) as u64);
    agrees("cvt.s16.s8", &[16, 16], |s| signed(s[0], 8) as u64);
    agrees("cvt.u16.s64", &[16, 64], |s| s[0]);
    agrees("cvt.sat.u8.s32", &[32, 32], |s| i32_of(s[0]).clamp(0, 255) as u64);
    agrees("cvt.sat.s8.u32", &[32, 32], |s| (s[0] as u32).min(127).into());
    agrees("cvt.sat.s32.s64", &[32, 64], |s| (s[0] as i64).clamp(i32::MIN.into(), i32::MAX.into()) as u64);
    agrees("cvt.sat.u32.s64", &[32, 64], |s| (s[0] as i64).clamp(0, u32::MAX.into()) as u64);
    agrees("cvt.sat.s64.u64", &[64, 64], |s| s[0].min(i64::MAX as u64));
    agrees("cvt.sat.u64.s64", &[64, 64], |s| (s[0] as i64).max(0) as u64);
    agrees("cvt.sat.u64.s16", &[64, 16], |s| signed(s[0], 16).max(0) as u64);
    agrees("cvt.sat.u16.s16", &[16, 16], |s| signed(s[0], 16).max(0) as u64);
    agrees("cvt.pack.sat.u8.s32.b32", &[32, 32, 32, 32], |s| {
        let cut = |v: u64| i32_of(v).clamp(0, 255) as u64;
        s[2] << 16 | cut(s[0]) << 8 | cut(s[1])
    });
    agrees("cvt.pack.sat.s16.s32", &[32, 32, 32], |s| {
        let cut = |v: u64| i32_of(v).clamp(-32768, 32767) as u64 & 0xffff;
        cut(s[0]) << 16 | cut(s[1])
    });
}

#[test]
fn the_nth_set_bit_is_found() {
    agrees("fns.b32", &[32, 32, 32, 32], |s| {
        let (mask, base, offset) = (s[0], s[1] & 31, i32_of(s[2]).clamp(-40, 40));
        let set = |i: i64| mask >> i & 1 == 1;
        let base = base as i64;
        let mut bits: Box<dyn Iterator<Item = i64>> = match offset.signum() {
            0 => Box::new((base..=base).filter(|&i| set(i))),
            1 => Box::new((base..32).filter(|&i| set(i))),
            _ => Box::new((0..=base).rev().filter(|&i| set(i))),
        };
        let nth = if offset == 0 { 0 } else { offset.unsigned_abs() as usize - 1 };
        bits.nth(nth).map_or(u64::MAX, |i| i as u64)
    });
}
