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
#[cfg(target_arch = "x86_64")]
pub mod vectors;

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
    /// What [`Operand`]s count from: the warp's registers, and the pool, less [`Operand::POOL`]. Immediates and constants lie in the pool, as rows
    /// that hold the value in every lane.
    pub bases: [*const Row; 2],
    /// Where the lowest row of each source lies.
    pub src: *const [Operand; 4],
    /// Predicate sources as lane masks, negation applied.
    pub psrc: [u32; 3],
    /// Predicate results, meaningful in the lanes of `mask`.
    pub pdst: [u32; 2],
    /// Active lanes whose guard holds. Destination lanes outside of it keep their values.
    pub mask: u32,
}

impl Args {
    /// For kernels of a warp with these registers and this pool, once destination, sources and lanes are filled in.
    pub fn new(registers: *mut Row, pool: *const Row) -> Args {
        Args {
            dst: registers,
            bases: Operand::bases(registers, pool),
            src: std::ptr::null(),
            psrc: [!0; 3],
            pdst: [0; 2],
            mask: 0,
        }
    }
}

/// Where the rows of a source lie: their distance in bytes from the warp's registers, or with [`Operand::POOL`] from the pool. Rows are multiples
/// of their size apart, which leaves the lowest bits free.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Operand(pub u32);

impl Operand {
    /// Marks an operand in the pool.
    pub const POOL: u32 = 1;

    /// A row of the warp's registers.
    pub fn register(row: u32) -> Operand {
        Operand(row * size_of::<Row>() as u32)
    }

    /// A row of the pool.
    pub fn pooled(row: u32) -> Operand {
        Operand((row * size_of::<Row>() as u32) | Operand::POOL)
    }

    /// What operands count from, given the warp's registers and the pool.
    #[inline(always)]
    pub fn bases(registers: *const Row, pool: *const Row) -> [*const Row; 2] {
        // The mark is taken off together with the choice of the base.
        [registers, pool.wrapping_byte_sub(Operand::POOL as usize)]
    }

    /// Its lowest row, where the bases are in the host's registers.
    #[inline(always)]
    pub fn row_of(self, registers: *const Row, pool: *const Row) -> *const Row {
        let base = if self.0 & Operand::POOL == 0 {
            registers
        } else {
            pool.wrapping_byte_sub(Operand::POOL as usize)
        };
        base.wrapping_byte_add(self.0 as usize)
    }

    /// Its lowest row.
    #[inline(always)]
    pub fn row(self, bases: &[*const Row; 2]) -> *const Row {
        bases[(self.0 & Operand::POOL) as usize].wrapping_byte_add(self.0 as usize)
    }
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
