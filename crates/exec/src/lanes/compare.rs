// SPDX-License-Identifier: MIT OR Apache-2.0
//! Comparisons of integers and floats into predicates.

use std::marker::PhantomData;

use warpwatt_isa::{BoolOp, Cmp, Flags, Op, Sub, Ty, Uop};

use super::float32::{Modifier, flush, sources};
use super::half::{Brain, Half, HalfFormat};
use super::maps::{ones, row, test2, test2_wide};
use super::shell::{Body, Isa, kernel, pick};
use super::{Args, Kernel, Level};

pub(super) fn select(level: Level, uop: &Uop) -> Option<Kernel> {
    let Sub::Cmp(cmp, _) = uop.sub else { return None };
    match (uop.op, uop.ty) {
        (Op::Isetp | Op::IsetpX, _) if uop.neg | uop.abs != 0 || cmp as u8 > Cmp::Ge as u8 => None,
        (Op::Isetp, Ty::U32) => integers::<Unsigned>(level, cmp),
        (Op::Isetp, Ty::S32) => integers::<Signed>(level, cmp),
        (Op::IsetpX, Ty::U32 | Ty::S32) => pick::<IsetpX>(level),
        (Op::Fsetp, Ty::F32) => match (uop.flags.has(Flags::FTZ), uop.neg | uop.abs != 0) {
            (false, false) => floats::<Single<false, false>>(level, cmp),
            (false, true) => floats::<Single<false, true>>(level, cmp),
            (true, false) => floats::<Single<true, false>>(level, cmp),
            (true, true) => floats::<Single<true, true>>(level, cmp),
        },
        (Op::Fsetp, Ty::F64) => floats::<Double>(level, cmp),
        (Op::Fsetp, Ty::F16) => pick::<Halves<Half, false>>(level),
        (Op::Fsetp, Ty::Bf16) => pick::<Halves<Brain, false>>(level),
        (Op::Fsetp, Ty::F16x2) => pick::<Halves<Half, true>>(level),
        (Op::Fsetp, Ty::Bf16x2) => pick::<Halves<Brain, true>>(level),
        _ => None,
    }
}

/// p and q from the lanes in which the comparison holds.
#[inline(always)]
fn finish(args: &mut Args, uop: &Uop, holds: u32) {
    let x = args.psrc[0];
    args.pdst = match uop.sub {
        Sub::Cmp(_, BoolOp::Or) => [holds | x, !holds | x],
        Sub::Cmp(_, BoolOp::Xor) => [holds ^ x, !holds ^ x],
        _ => [holds & x, !holds & x],
    };
}

/// How a type's sources are compared, all lanes at once.
trait Comparison {
    const FLOAT: bool;
    unsafe fn test<L: Isa, const RELATION: u8>(args: &Args, uop: &Uop) -> u32;
}

// Half of the comparisons; the others are their negations.
const EQUAL: u8 = 0;
const LESS: u8 = 1;
const LESS_EQUAL: u8 = 2;
const GREATER: u8 = 3;
const GREATER_EQUAL: u8 = 4;
const LESS_GREATER: u8 = 5;
const ORDERED: u8 = 6;

/// The relation of a comparison of floats, and whether it is negated.
#[inline(always)]
fn relation(cmp: Cmp) -> (u8, bool) {
    match cmp {
        Cmp::Eq => (EQUAL, false),
        Cmp::Neu => (EQUAL, true),
        Cmp::Lt => (LESS, false),
        Cmp::Geu => (LESS, true),
        Cmp::Le => (LESS_EQUAL, false),
        Cmp::Gtu => (LESS_EQUAL, true),
        Cmp::Gt => (GREATER, false),
        Cmp::Leu => (GREATER, true),
        Cmp::Ge => (GREATER_EQUAL, false),
        Cmp::Ltu => (GREATER_EQUAL, true),
        Cmp::Ne => (LESS_GREATER, false),
        Cmp::Equ => (LESS_GREATER, true),
        Cmp::Num => (ORDERED, false),
        Cmp::Nan => (ORDERED, true),
    }
}

/// The relation of an integer comparison, and whether it is negated; integers are always ordered.
#[inline(always)]
fn integer_relation(cmp: Cmp) -> (u8, bool) {
    match cmp {
        Cmp::Ne => (EQUAL, true),
        Cmp::Lt => (LESS, false),
        Cmp::Ge => (LESS, true),
        Cmp::Gt => (GREATER, false),
        Cmp::Le => (GREATER, true),
        _ => (EQUAL, false),
    }
}

struct Compare<C, const RELATION: u8>(PhantomData<C>);

impl<C: Comparison, const RELATION: u8> Body for Compare<C, RELATION> {
    #[inline(always)]
    unsafe fn run<L: Isa>(args: &mut Args, uop: &Uop) {
        let Sub::Cmp(cmp, _) = uop.sub else { return };
        let (_, negated) = if C::FLOAT { relation(cmp) } else { integer_relation(cmp) };
        // SAFETY: the contract of `Kernel`: rows span the micro-op's words.
        let holds = unsafe { C::test::<L, RELATION>(args, uop) };
        finish(args, uop, holds ^ ones(negated));
    }
}

fn integers<C: Comparison>(level: Level, cmp: Cmp) -> Option<Kernel> {
    match integer_relation(cmp).0 {
        LESS => pick::<Compare<C, LESS>>(level),
        GREATER => pick::<Compare<C, GREATER>>(level),
        _ => pick::<Compare<C, EQUAL>>(level),
    }
}

fn floats<C: Comparison>(level: Level, cmp: Cmp) -> Option<Kernel> {
    match relation(cmp).0 {
        EQUAL => pick::<Compare<C, EQUAL>>(level),
        LESS => pick::<Compare<C, LESS>>(level),
        LESS_EQUAL => pick::<Compare<C, LESS_EQUAL>>(level),
        GREATER => pick::<Compare<C, GREATER>>(level),
        GREATER_EQUAL => pick::<Compare<C, GREATER_EQUAL>>(level),
        LESS_GREATER => pick::<Compare<C, LESS_GREATER>>(level),
        _ => pick::<Compare<C, ORDERED>>(level),
    }
}

#[inline(always)]
fn holds<T: PartialOrd>(relation: u8, a: T, b: T) -> bool {
    match relation {
        EQUAL => a == b,
        LESS => a < b,
        LESS_EQUAL => a <= b,
        GREATER => a > b,
        GREATER_EQUAL => a >= b,
        LESS_GREATER => (a < b) | (a > b),
        _ => (a <= b) | (a > b),
    }
}

struct Unsigned;
impl Comparison for Unsigned {
    const FLOAT: bool = false;
    #[inline(always)]
    unsafe fn test<L: Isa, const RELATION: u8>(args: &Args, _: &Uop) -> u32 {
        // SAFETY: the contract of `Kernel`: rows span the micro-op's words.
        unsafe { test2::<L>(args, |a, b| ones(holds(RELATION, a, b))) }
    }
}

struct Signed;
impl Comparison for Signed {
    const FLOAT: bool = false;
    #[inline(always)]
    unsafe fn test<L: Isa, const RELATION: u8>(args: &Args, _: &Uop) -> u32 {
        // SAFETY: the contract of `Kernel`: rows span the micro-op's words.
        unsafe { test2::<L>(args, |a, b| ones(holds(RELATION, a as i32, b as i32))) }
    }
}

struct Single<const FTZ: bool, const MODIFIED: bool>;
impl<const FTZ: bool, const MODIFIED: bool> Comparison for Single<FTZ, MODIFIED> {
    const FLOAT: bool = true;
    #[inline(always)]
    unsafe fn test<L: Isa, const RELATION: u8>(args: &Args, uop: &Uop) -> u32 {
        let [a, b, _] = sources(uop);
        let read = |m: Modifier<u32>, v: u32| {
            let v = if MODIFIED { m.apply(v) } else { v };
            f32::from_bits(if FTZ { flush(v) } else { v })
        };
        // SAFETY: the contract of `Kernel`: rows span the micro-op's words.
        unsafe { test2::<L>(args, |x, y| ones(holds(RELATION, read(a, x), read(b, y)))) }
    }
}

struct Double;
impl Comparison for Double {
    const FLOAT: bool = true;
    #[inline(always)]
    unsafe fn test<L: Isa, const RELATION: u8>(args: &Args, uop: &Uop) -> u32 {
        let [a, b, _] = super::float64::sources(uop);
        let read = f64::from_bits;
        // SAFETY: the contract of `Kernel`: rows span the micro-op's words.
        unsafe { test2_wide::<L>(args, |x, y| ones(holds(RELATION, read(a.apply(x)), read(b.apply(y))))) }
    }
}

/// One half or both: packed, p is the low one's result and q the high one's.
struct Halves<F, const PACKED: bool>(PhantomData<F>);

impl<F: HalfFormat, const PACKED: bool> Body for Halves<F, PACKED> {
    #[inline(always)]
    unsafe fn run<L: Isa>(args: &mut Args, uop: &Uop) {
        let Sub::Cmp(cmp, _) = uop.sub else { return };
        let (relation, negated) = relation(cmp);
        let ([ma, mb, _], ftz) = (super::half::sources(uop), uop.flags.has(Flags::FTZ));
        // SAFETY: the contract of `Kernel`: rows span the micro-op's words.
        let (a, b) = unsafe { (row(args, 0, 0), row(args, 1, 0)) };
        let mut result = [0; 2];
        for half in 0..if PACKED { 2 } else { 1 } {
            let mut top = [0; 32];
            for lane in 0..32 {
                let [a, b] =
                    [ma.apply(a[lane]), mb.apply(b[lane])].map(|v| F::read(v >> (16 * half) & 0xffff, ftz));
                top[lane] = ones(holds(relation, a, b));
            }
            finish(args, uop, L::signs(&top) ^ ones(negated));
            result[half] = args.pdst[0];
        }
        if PACKED {
            args.pdst = result;
        }
    }
}

kernel!(
    /// High words of a 64-bit comparison: where they are equal the low words' result y decides.
    IsetpX,
    |L, args, uop| {
        let Sub::Cmp(cmp, _) = uop.sub else { return };
        let flip = if uop.ty.is_signed() { 1 << 31 } else { 0 };
        let (a, b) = (row(args, 0, 0), row(args, 1, 0));
        let (mut less, mut equal) = ([0; 32], [0; 32]);
        for lane in 0..32 {
            less[lane] = ones((a[lane] ^ flip) < (b[lane] ^ flip));
            equal[lane] = ones(a[lane] == b[lane]);
        }
        let (less, equal, low) = (L::signs(&less), L::signs(&equal), args.psrc[1]);
        let holds = match cmp {
            Cmp::Eq => equal & low,
            Cmp::Ne => !equal | low,
            Cmp::Lt | Cmp::Le => less | equal & low,
            _ => !(less | equal) | equal & low,
        };
        finish(args, uop, holds);
    }
);
