// SPDX-License-Identifier: MIT OR Apache-2.0
//! Comparisons of integers and floats into predicates.

use warpwatt_isa::{BoolOp, Cmp, Flags, Op, Sub, Ty, Uop};

use super::float32::{flush, sources};
use super::half::{Brain, Half, HalfFormat};
use super::maps::{ones, row, test2, test2_wide};
use super::shell::{Body, Isa, kernel, pick};
use super::{Args, Kernel, Level};

pub(super) fn select(level: Level, uop: &Uop) -> Option<Kernel> {
    let Sub::Cmp(cmp, _) = uop.sub else { return None };
    match (uop.op, uop.ty) {
        (Op::Isetp | Op::IsetpX, Ty::U32 | Ty::S32) if uop.neg | uop.abs != 0 => None,
        (Op::Isetp, Ty::U32) => compare::<Unsigned>(level, cmp),
        (Op::Isetp, Ty::S32) => compare::<Signed>(level, cmp),
        (Op::IsetpX, Ty::U32 | Ty::S32) if (cmp as u8) < 6 => pick::<IsetpX>(level),
        (Op::Fsetp, Ty::F32) if uop.flags.has(Flags::FTZ) => compare::<Single<true>>(level, cmp),
        (Op::Fsetp, Ty::F32) => compare::<Single<false>>(level, cmp),
        (Op::Fsetp, Ty::F64) => compare::<Double>(level, cmp),
        (Op::Fsetp, Ty::F16) => compare::<Narrow<Half>>(level, cmp),
        (Op::Fsetp, Ty::Bf16) => compare::<Narrow<Brain>>(level, cmp),
        (Op::Fsetp, Ty::F16x2) => pick::<Packed<Half>>(level),
        (Op::Fsetp, Ty::Bf16x2) => pick::<Packed<Brain>>(level),
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
    unsafe fn test<L: Isa, const CMP: u8>(args: &Args, uop: &Uop) -> u32;
}

struct Compare<C, const CMP: u8>(std::marker::PhantomData<C>);

impl<C: Comparison, const CMP: u8> Body for Compare<C, CMP> {
    #[inline(always)]
    unsafe fn run<L: Isa>(args: &mut Args, uop: &Uop) {
        let holds = unsafe { C::test::<L, CMP>(args, uop) };
        finish(args, uop, holds);
    }
}

fn compare<C: Comparison>(level: Level, cmp: Cmp) -> Option<Kernel> {
    macro_rules! cases {
        ($($name:ident)*) => {
            match cmp { $(Cmp::$name => pick::<Compare<C, { Cmp::$name as u8 }>>(level),)* }
        };
    }
    if !C::FLOAT && cmp as u8 >= 6 {
        return None;
    }
    cases!(Eq Ne Lt Le Gt Ge Equ Neu Ltu Leu Gtu Geu Num Nan)
}

/// A comparison by its number in [`Cmp`], for ordered values and floats. The unordered forms are the negations of the opposite ordered ones.
#[inline(always)]
fn holds<T: PartialOrd>(cmp: u8, a: T, b: T) -> bool {
    const EQ: u8 = Cmp::Eq as u8;
    const NE: u8 = Cmp::Ne as u8;
    const LT: u8 = Cmp::Lt as u8;
    const LE: u8 = Cmp::Le as u8;
    const GT: u8 = Cmp::Gt as u8;
    const GE: u8 = Cmp::Ge as u8;
    const EQU: u8 = Cmp::Equ as u8;
    const NEU: u8 = Cmp::Neu as u8;
    const LTU: u8 = Cmp::Ltu as u8;
    const LEU: u8 = Cmp::Leu as u8;
    const GTU: u8 = Cmp::Gtu as u8;
    const GEU: u8 = Cmp::Geu as u8;
    const NUM: u8 = Cmp::Num as u8;
    // `x == x` is false for NaN alone; PartialOrd says so for any T.
    #[allow(clippy::eq_op)]
    let number = (a == a) & (b == b);
    #[allow(clippy::neg_cmp_op_on_partial_ord)]
    match cmp {
        EQ => a == b,
        NE => (a != b) & number,
        LT => a < b,
        LE => a <= b,
        GT => a > b,
        GE => a >= b,
        EQU => (a == b) | !number,
        NEU => a != b,
        LTU => !(a >= b),
        LEU => !(a > b),
        GTU => !(a <= b),
        GEU => !(a < b),
        NUM => number,
        _ => !number,
    }
}

struct Unsigned;
impl Comparison for Unsigned {
    const FLOAT: bool = false;
    #[inline(always)]
    unsafe fn test<L: Isa, const CMP: u8>(args: &Args, _: &Uop) -> u32 {
        unsafe { test2::<L>(args, |a, b| ones(holds(CMP, a, b))) }
    }
}

struct Signed;
impl Comparison for Signed {
    const FLOAT: bool = false;
    #[inline(always)]
    unsafe fn test<L: Isa, const CMP: u8>(args: &Args, _: &Uop) -> u32 {
        unsafe { test2::<L>(args, |a, b| ones(holds(CMP, a as i32, b as i32))) }
    }
}

struct Single<const FTZ: bool>;
impl<const FTZ: bool> Comparison for Single<FTZ> {
    const FLOAT: bool = true;
    #[inline(always)]
    unsafe fn test<L: Isa, const CMP: u8>(args: &Args, uop: &Uop) -> u32 {
        let [a, b, _] = sources(uop);
        let read = |v: u32| f32::from_bits(if FTZ { flush(v) } else { v });
        unsafe { test2::<L>(args, |x, y| ones(holds(CMP, read(a.apply(x)), read(b.apply(y))))) }
    }
}

struct Double;
impl Comparison for Double {
    const FLOAT: bool = true;
    #[inline(always)]
    unsafe fn test<L: Isa, const CMP: u8>(args: &Args, uop: &Uop) -> u32 {
        let [a, b, _] = super::float64::sources(uop);
        let read = f64::from_bits;
        unsafe { test2_wide::<L>(args, |x, y| ones(holds(CMP, read(a.apply(x)), read(b.apply(y))))) }
    }
}

struct Narrow<F>(std::marker::PhantomData<F>);
impl<F: HalfFormat> Comparison for Narrow<F> {
    const FLOAT: bool = true;
    #[inline(always)]
    unsafe fn test<L: Isa, const CMP: u8>(args: &Args, uop: &Uop) -> u32 {
        let [a, b, _] = super::half::sources(uop);
        let ftz = uop.flags.has(Flags::FTZ);
        let read = |v: u32| F::read(v & 0xffff, ftz);
        unsafe { test2::<L>(args, |x, y| ones(holds(CMP, read(a.apply(x)), read(b.apply(y))))) }
    }
}

/// Both halves: p is the low one's result, q the high one's.
struct Packed<F>(std::marker::PhantomData<F>);
impl<F: HalfFormat> Body for Packed<F> {
    #[inline(always)]
    unsafe fn run<L: Isa>(args: &mut Args, uop: &Uop) {
        let Sub::Cmp(cmp, combine) = uop.sub else { return };
        let [a, b, _] = super::half::sources(uop);
        let ftz = uop.flags.has(Flags::FTZ);
        for half in 0..2 {
            let read = |v: u32| F::read(v >> (16 * half) & 0xffff, ftz);
            let test = |x: u32, y: u32| ones(holds(cmp as u8, read(a.apply(x)), read(b.apply(y))));
            let holds = unsafe { test2::<L>(args, test) };
            args.pdst[half] = match combine {
                BoolOp::And => holds & args.psrc[0],
                BoolOp::Or => holds | args.psrc[0],
                BoolOp::Xor => holds ^ args.psrc[0],
            };
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
