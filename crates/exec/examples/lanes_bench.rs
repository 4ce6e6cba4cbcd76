// SPDX-License-Identifier: MIT OR Apache-2.0
//! Nanoseconds per warp of the kernels that programs run most, with full and partial masks, at every level of this host.

use std::time::Instant;

use warpwatt_exec::lanes::{Args, Level, Operand, Row, select};
use warpwatt_isa::{BoolOp, Cmp, Flags, MufuFn, Op, Round, Sub, Ty, Uop};

fn kernels() -> Vec<(&'static str, Uop)> {
    let op = |op, ty| Uop::new(op, ty);
    let sub = |op, ty, sub| Uop { sub, ..Uop::new(op, ty) };
    let flags = |op, ty, flags| Uop { flags, ..Uop::new(op, ty) };
    let cvt = |ty, ty2, rnd| Uop { ty2, rnd, ..Uop::new(Op::Cvt, ty) };
    vec![
        ("mov", op(Op::Mov, Ty::U32)),
        ("sel", op(Op::Sel, Ty::U32)),
        ("iadd3", op(Op::Iadd3, Ty::U32)),
        ("iadd3 -b", Uop { neg: 2, ..op(Op::Iadd3, Ty::U32) }),
        ("iadd3 carry", Uop { pdst: [warpwatt_isa::Pred(0); 2], ..op(Op::Iadd3, Ty::U32) }),
        ("imad", op(Op::Imad, Ty::S32)),
        ("imad.wide", op(Op::ImadWide, Ty::S32)),
        ("lea", sub(Op::Lea, Ty::U32, Sub::Shift(2))),
        ("lop3 and", sub(Op::Lop3, Ty::U32, Sub::Lut(0xc0))),
        ("lop3 table", sub(Op::Lop3, Ty::U32, Sub::Lut(0x1d))),
        ("shl", op(Op::Shl, Ty::U32)),
        ("shr.s32", op(Op::Shr, Ty::S32)),
        ("shf", op(Op::Shf, Ty::U32)),
        ("prmt", op(Op::Prmt, Ty::U32)),
        ("isetp.lt.s32", sub(Op::Isetp, Ty::S32, Sub::Cmp(Cmp::Lt, BoolOp::And))),
        ("isetp.lt.u32", sub(Op::Isetp, Ty::U32, Sub::Cmp(Cmp::Lt, BoolOp::And))),
        ("fsetp.gt", sub(Op::Fsetp, Ty::F32, Sub::Cmp(Cmp::Gt, BoolOp::And))),
        ("fadd", op(Op::Fadd, Ty::F32)),
        ("fmul.ftz", flags(Op::Fmul, Ty::F32, Flags::FTZ)),
        ("ffma", op(Op::Ffma, Ty::F32)),
        ("ffma -a ftz", Uop { neg: 1, ..flags(Op::Ffma, Ty::F32, Flags::FTZ) }),
        ("ffma.rz", Uop { rnd: Round::Rz, ..op(Op::Ffma, Ty::F32) }),
        ("fmnmx", sub(Op::Fmnmx, Ty::F32, Sub::MinMax(warpwatt_isa::MinMax::Max))),
        ("dadd", op(Op::Fadd, Ty::F64)),
        ("dfma", op(Op::Ffma, Ty::F64)),
        ("hfma2", op(Op::Ffma, Ty::F16x2)),
        ("mufu.rcp", sub(Op::Mufu, Ty::F32, Sub::Mufu(MufuFn::Rcp))),
        ("mufu.rsq", sub(Op::Mufu, Ty::F32, Sub::Mufu(MufuFn::Rsq))),
        ("mufu.ex2", sub(Op::Mufu, Ty::F32, Sub::Mufu(MufuFn::Ex2))),
        ("mufu.lg2", sub(Op::Mufu, Ty::F32, Sub::Mufu(MufuFn::Lg2))),
        ("mufu.sin", sub(Op::Mufu, Ty::F32, Sub::Mufu(MufuFn::Sin))),
        ("cvt f32<-s32", cvt(Ty::F32, Ty::S32, Round::Rn)),
        ("cvt f32<-u32", cvt(Ty::F32, Ty::U32, Round::Rn)),
        ("cvt s32<-f32", cvt(Ty::S32, Ty::F32, Round::Rz)),
        ("cvt u32<-f32", cvt(Ty::U32, Ty::F32, Round::Rz)),
        ("cvt s64<-s32", cvt(Ty::S64, Ty::S32, Round::Rn)),
        ("cvt s32<-s16", cvt(Ty::S32, Ty::S16, Round::Rn)),
        ("cvt f64<-f32", cvt(Ty::F64, Ty::F32, Round::Rn)),
        ("popc", op(Op::Popc, Ty::U32)),
        ("bfe.u32", op(Op::Bfe, Ty::U32)),
        ("shfl.bfly", sub(Op::Shfl, Ty::U32, Sub::Shfl(warpwatt_isa::ShflMode::Bfly))),
        ("vote.ballot", sub(Op::Vote, Ty::U32, Sub::Vote(warpwatt_isa::VoteMode::Ballot))),
    ]
}

fn main() {
    let mut rows: Vec<Row> = (0..16)
        .map(|i| Row(std::array::from_fn(|lane| 0x3f80_0000 + (i * 37 + lane as u32) * 1009)))
        .collect();
    let levels = Level::available();
    print!("{:14}", "ns per warp");
    levels.iter().for_each(|level| print!("{:>16}", level.name()));
    println!();
    for (name, uop) in kernels() {
        print!("{name:14}");
        for &level in &levels {
            let Some(kernel) = select(level, &uop) else { continue };
            let src = [0, 2, 4, 6].map(Operand::register);
            for mask in [u32::MAX, 0x0f0f_ff0f] {
                let base = rows.as_mut_ptr();
                // SAFETY: operands lie inside of the sixteen rows.
                let mut args = unsafe {
                    Args {
                        dst: base.add(14),
                        bases: Operand::bases(base, base),
                        src: &src,
                        psrc: [0x5555_1234; 3],
                        pdst: [0; 2],
                        mask,
                    }
                };
                let mut best = f64::MAX;
                for _ in 0..7 {
                    let start = Instant::now();
                    for _ in 0..20_000 {
                        // SAFETY: source and destination rows are local arrays of as many words as any kernel takes.
                        unsafe { std::hint::black_box(kernel)(std::hint::black_box(&mut args), &uop) };
                    }
                    best = best.min(start.elapsed().as_secs_f64() * 1e9 / 20_000.0);
                }
                print!("{best:8.1}");
            }
        }
        println!();
    }
}
