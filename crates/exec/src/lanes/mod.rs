// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lane kernels: what every register-only operation of [`Op`] computes, for the 32 lanes of a warp at once.
//!
//! [`select`] is called once per micro-op when a program is decoded and returns a function specialised for its type and modifiers. One body per
//! operation is compiled once per instruction-set level of the host (`shell`); all levels give the same bits. Values follow the PTX ISA: its NaN
//! rules, saturation and flush-to-zero, which is done in software and never by the host's control register.

// A lane number indexes several rows at once; iterating over one of them would only hide that.
#![allow(clippy::needless_range_loop)]

use warpwatt_isa::{Op, Uop};

mod bits;
mod check;
mod compare;
mod convert;
mod cross;
mod float32;
mod float64;
mod half;
mod integer;
mod integral;
mod logic;
mod maps;
mod mufu;
mod shell;
mod shift;
mod soft;

pub use shell::Level;

/// One 32-bit register of a warp.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C, align(64))]
pub struct Row(pub [u32; 32]);

/// The operands of one execution of a kernel.
///
/// Sources that a micro-op leaves out point at rows of zeros. A destination or source spans as many rows as [`warpwatt_isa::Uop::dst_words`] and
/// `src_words` say; rows may be shared between destination and sources, since kernels read everything before they write.
pub struct Args {
    /// Lowest row of the destination.
    pub dst: *mut Row,
    /// Lowest row of each source; immediates and constants come as rows that hold the value in every lane.
    pub src: [*const Row; 4],
    /// Predicate sources as lane masks, negation applied.
    pub psrc: [u32; 3],
    /// Predicate results, meaningful in the lanes of `mask`.
    pub pdst: [u32; 2],
    /// Active lanes whose guard holds. Destination lanes outside of it keep their values.
    pub mask: u32,
}

/// A kernel, specialised for the micro-op it was selected for.
///
/// # Safety
/// The pointers of [`Args`] must be valid for the rows the micro-op reads and writes, the micro-op must be the one given to [`select`],
/// and the host must have the level's instructions (see [`Level::available`]).
pub type Kernel = unsafe fn(&mut Args, &Uop);

/// The kernel for a micro-op, or `None` if it does more than compute on registers, or is a form that the machine does not have.
pub fn select(level: Level, uop: &Uop) -> Option<Kernel> {
    match uop.op {
        Op::Mov | Op::Sel | Op::Prmt | Op::Lop3 | Op::Plop3 => logic::select(level, uop),
        Op::Iadd3 | Op::Imad | Op::ImadHi | Op::ImadWide | Op::Lea | Op::LeaHi => integer::select(level, uop),
        Op::Shl | Op::Shr | Op::Shf => shift::select(level, uop),
        Op::Imnmx
        | Op::Iabs
        | Op::Isad
        | Op::Bfe
        | Op::Bfi
        | Op::Popc
        | Op::Bfind
        | Op::Brev
        | Op::Dp4a
        | Op::Dp2a => bits::select(level, uop),
        Op::Isetp | Op::IsetpX | Op::Fsetp => compare::select(level, uop),
        Op::Fadd | Op::Fmul | Op::Ffma | Op::Fmnmx => match uop.ty {
            warpwatt_isa::Ty::F32 => float32::select(level, uop),
            warpwatt_isa::Ty::F64 => float64::select(level, uop),
            _ => half::select(level, uop),
        },
        Op::Mufu => mufu::select(level, uop),
        Op::Fchk | Op::Testp => check::select(level, uop),
        Op::Cvt => convert::select(level, uop),
        Op::Shfl | Op::Vote | Op::Match | Op::Redux | Op::ActiveMask | Op::Elect => cross::select(level, uop),
        _ => None,
    }
}
