// SPDX-License-Identifier: MIT OR Apache-2.0
//! A program decoded for execution: one compact record per micro-op, with its lane kernel chosen and its operands resolved to rows.
//!
//! A warp's registers are a run of rows; immediates, constants and the zero register are rows of a pool that all warps share. An operand is
//! an index into one of the two, so that it is fetched without a branch on its kind.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustc_hash::FxHashMap;
use thiserror::Error;
use warpwatt_isa::{Flags, NO_PC, Op, Program, Reg, SReg, Space, Src, Sub, Ty, Uop, window};

use crate::lanes::{self, Kernel, Level, Operand, Row};
use crate::port::Shape;

/// Rows after a warp's registers that receive writes to RZ.
pub(crate) const TRASH_ROWS: usize = 8;
/// Rows at the start of the pool that are always zero.
const ZERO_ROWS: usize = 8;
/// The operand that is zero.
const ZERO: Operand = Operand(Operand::POOL);
/// Predicate slot that receives writes to PT.
pub(crate) const TRASH_PRED: u8 = 8;

#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum ImageError {
    #[error("the program is empty")]
    Empty,
    #[error("micro-op {pc} names a register beyond the program's {registers}: {text}")]
    Register { pc: u32, registers: u32, text: String },
    #[error("micro-op {pc} leads outside of the program: {text}")]
    Target { pc: u32, text: String },
    #[error("micro-op {pc} has an operand that the machine cannot encode: {text}")]
    Operand { pc: u32, text: String },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum UopKind {
    /// Computes on registers alone.
    Alu,
    /// Computes on registers of lanes that a member mask names.
    Sync,
    S2r,
    LdGlobal,
    LdShared,
    LdOther,
    StGlobal,
    StShared,
    StOther,
    Atomic,
    Texture,
    IsSpace,
    Nop,
    Bra,
    Brx,
    Call,
    CallInd,
    Ret,
    Exit,
    Bar,
    WarpSync,
    Nanosleep,
    Trap,
    Brkpt,
    Sys,
    /// A form that has no kernel: a fault if it is ever executed.
    Unsupported,
    /// After the last micro-op.
    End,
}

/// A decoded micro-op.
#[derive(Clone)]
pub(crate) struct Code {
    pub kernel: Kernel,
    pub kind: UopKind,
    pub guard: u8,
    pub pdst: [u8; 2],
    pub psrc: [u8; 3],
    /// Bit i: predicate source i is negated.
    pub psrc_neg: u8,
    pub uses_psrc: bool,
    pub writes_pred: bool,
    /// All ones when the guard is negated.
    pub guard_flip: u32,
    pub dst: u32,
    pub src: [Operand; 4],
    pub target: u32,
    pub reconv: u32,
    pub off: i32,
    pub shape: Shape,
    /// Bytes one lane moves.
    pub bytes: u8,
    /// Which source holds the member mask of a `Sync`.
    pub member: u8,
}

impl Code {
    /// The rows of a source operand, given the warp's registers and the pool.
    #[inline(always)]
    pub fn source(&self, i: usize, rows: *mut Row, pool: *mut Row) -> *const Row {
        self.src[i].row_of(rows, pool)
    }
}

/// A constant operand: rows of the pool that are filled at launch.
pub(crate) struct ConstRows {
    pub row: u32,
    pub bank: u8,
    pub offset: u16,
    pub words: u32,
}

pub struct Image {
    id: u64,
    program: Arc<Program>,
    level: Level,
    pub(crate) uops: Vec<Uop>,
    pub(crate) code: Vec<Code>,
    pub(crate) pool: Vec<Row>,
    pub(crate) consts: Vec<ConstRows>,
    /// Special registers that have a row behind a warp's registers and the rows for writes to RZ: their values do not change while a block runs, so
    /// that reading them is a move.
    pub(crate) specials: Vec<SReg>,
    /// Entry points by function id.
    pub(crate) entries: FxHashMap<u32, u32>,
}

impl Image {
    pub fn new(program: Arc<Program>, level: Level) -> Result<Image, ImageError> {
        if program.uops.is_empty() {
            return Err(ImageError::Empty);
        }
        let mut uops = program.uops.clone();
        uops.push(Uop::new(Op::Nop, Ty::U32));
        let mut decoder = Decoder {
            program: &program,
            level,
            pool: vec![Row([0; 32]); ZERO_ROWS],
            consts: Vec::new(),
            specials: Vec::new(),
            immediates: FxHashMap::default(),
            constants: FxHashMap::default(),
        };
        let mut code = Vec::with_capacity(uops.len());
        for (pc, uop) in program.uops.iter().enumerate() {
            code.push(decoder.decode(pc as u32, uop)?);
        }
        code.push(Code { kind: UopKind::End, ..decoder.blank() });
        let (pool, consts, specials) = (decoder.pool, decoder.consts, decoder.specials);
        let entries = program.functions.iter().map(|f| (f.id, f.entry)).collect();
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        Ok(Image { id, program, level, uops, code, pool, consts, specials, entries })
    }

    /// Tells it apart from all other images of the process, also from those that are gone.
    pub fn id(&self) -> u64 {
        self.id
    }

    pub fn program(&self) -> &Program {
        &self.program
    }

    pub fn level(&self) -> Level {
        self.level
    }

    /// Entry point of the function at a function address, if the program contains it.
    pub(crate) fn function_at(&self, address: u64) -> Option<u32> {
        let offset = address.checked_sub(window::FUNCTION)?;
        let id = u32::try_from(offset / 16).ok()?;
        if offset % 16 != 0 { None } else { self.entries.get(&id).copied() }
    }
}

struct Decoder<'a> {
    program: &'a Program,
    level: Level,
    pool: Vec<Row>,
    consts: Vec<ConstRows>,
    specials: Vec<SReg>,
    immediates: FxHashMap<Vec<u32>, u32>,
    constants: FxHashMap<(u8, u16, u32), u32>,
}

unsafe fn no_kernel(_: &mut lanes::Args, _: &Uop) {}

impl Decoder<'_> {
    fn trash(&self) -> u32 {
        self.program.registers
    }

    fn blank(&self) -> Code {
        Code {
            kernel: no_kernel,
            kind: UopKind::Nop,
            guard: 7,
            pdst: [TRASH_PRED; 2],
            psrc: [7; 3],
            psrc_neg: 0,
            uses_psrc: false,
            writes_pred: false,
            guard_flip: 0,
            dst: self.trash(),
            src: [ZERO; 4],
            target: NO_PC,
            reconv: NO_PC,
            off: 0,
            shape: Shape::Words(1),
            bytes: 0,
            member: 0,
        }
    }

    fn decode(&mut self, pc: u32, uop: &Uop) -> Result<Code, ImageError> {
        let bad_register =
            || ImageError::Register { pc, registers: self.program.registers, text: uop.to_string() };
        let bad_operand = || ImageError::Operand { pc, text: uop.to_string() };
        let dst = match uop.dst {
            Reg::ZERO => self.trash(),
            Reg(r) if u32::from(r) + uop.dst_words() <= self.program.registers => u32::from(r),
            _ => return Err(bad_register()),
        };
        for (i, src) in uop.src.iter().enumerate() {
            match *src {
                Src::Reg(r)
                    if r != Reg::ZERO && u32::from(r.0) + uop.src_words(i) > self.program.registers =>
                {
                    return Err(bad_register());
                }
                _ => {}
            }
        }
        let predicate = |p: u8| p <= 7;
        if !uop.pdst.iter().all(|p| predicate(p.0))
            || !uop.psrc.iter().all(|p| predicate(p.pred.0))
            || !predicate(uop.guard.pred.0)
        {
            return Err(bad_operand());
        }
        let mut src = [ZERO; 4];
        for (i, slot) in src.iter_mut().enumerate() {
            *slot = self.operand(uop, i);
        }
        let (mut kind, mut kernel) = self.kind(pc, uop)?;
        if let Some(special) = self.special(uop) {
            let copy =
                lanes::select(self.level, &Uop::new(Op::Mov, Ty::U32)).expect("every level has a move");
            (kind, kernel, src[0]) = (UopKind::Alu, copy, special);
        }
        let is_memory = matches!(uop.op, Op::Ld | Op::St | Op::Atom | Op::Red);
        let (elements, width) = (u32::from(uop.mem.vec.max(1)), uop.ty.bytes());
        if is_memory && (!matches!(elements, 1 | 2 | 4) || elements * width > 32) {
            return Err(bad_operand());
        }
        let shape = match width {
            1 | 2 => Shape::Narrow { bytes: width as u8, count: elements as u8, signed: uop.ty.is_signed() },
            _ => Shape::Words((elements * width / 4) as u8),
        };
        let mut psrc_neg = 0;
        for (i, p) in uop.psrc.iter().enumerate() {
            psrc_neg |= u8::from(p.negated) << i;
        }
        let sink = |p: u8| if p == 7 { TRASH_PRED } else { p };
        Ok(Code {
            kernel,
            kind,
            guard: uop.guard.pred.0,
            pdst: uop.pdst.map(|p| sink(p.0)),
            psrc: uop.psrc.map(|p| p.pred.0),
            psrc_neg,
            uses_psrc: uop.psrc.iter().any(|&p| p != warpwatt_isa::PredSrc::TRUE),
            writes_pred: uop.pdst.iter().any(|p| p.0 != 7),
            guard_flip: if uop.guard.negated { !0 } else { 0 },
            dst,
            src,
            target: uop.target,
            reconv: uop.reconv,
            off: uop.off,
            shape,
            bytes: if is_memory { (elements * width) as u8 } else { 0 },
            member: match uop.op {
                Op::Shfl => 3,
                Op::Match | Op::Redux => 1,
                _ => 0,
            },
        })
    }

    fn kind(&self, pc: u32, uop: &Uop) -> Result<(UopKind, Kernel), ImageError> {
        let len = self.program.uops.len() as u32;
        let inside = |target: u32| {
            if target < len { Ok(()) } else { Err(ImageError::Target { pc, text: uop.to_string() }) }
        };
        if uop.reconv != NO_PC {
            inside(uop.reconv)?;
        }
        let kind = match uop.op {
            Op::S2r => UopKind::S2r,
            Op::Ld => match uop.mem.space {
                Space::Global => UopKind::LdGlobal,
                Space::Shared => UopKind::LdShared,
                _ => UopKind::LdOther,
            },
            Op::St => match uop.mem.space {
                Space::Global => UopKind::StGlobal,
                Space::Shared => UopKind::StShared,
                _ => UopKind::StOther,
            },
            Op::Atom | Op::Red => UopKind::Atomic,
            Op::Tex | Op::Tld4 | Op::Txq | Op::Suld | Op::Sust | Op::Sured => UopKind::Texture,
            Op::IsSpace => UopKind::IsSpace,
            Op::Membar | Op::Cctl | Op::Nop => UopKind::Nop,
            Op::Bra => {
                inside(uop.target)?;
                UopKind::Bra
            }
            Op::Brx => {
                let bad = ImageError::Target { pc, text: uop.to_string() };
                let table = self.program.tables.get(uop.target as usize).ok_or(bad)?;
                table.iter().try_for_each(|&target| inside(target))?;
                UopKind::Brx
            }
            Op::Call => {
                inside(uop.target)?;
                UopKind::Call
            }
            Op::CallInd => UopKind::CallInd,
            Op::Ret => UopKind::Ret,
            Op::Exit => UopKind::Exit,
            Op::Bar => UopKind::Bar,
            Op::WarpSync => UopKind::WarpSync,
            Op::Nanosleep => UopKind::Nanosleep,
            Op::Trap => UopKind::Trap,
            Op::Brkpt => UopKind::Brkpt,
            Op::Sys if matches!(uop.sub, Sub::Sys(_)) => UopKind::Sys,
            _ => {
                let sync = matches!(uop.op, Op::Match | Op::Redux | Op::Elect)
                    || matches!(uop.op, Op::Shfl | Op::Vote) && uop.flags.has(Flags::SYNC);
                return Ok(match lanes::select(self.level, uop) {
                    Some(kernel) if sync => (UopKind::Sync, kernel),
                    Some(kernel) => (UopKind::Alu, kernel),
                    None => (UopKind::Unsupported, no_kernel as Kernel),
                });
            }
        };
        Ok((kind, no_kernel))
    }

    /// The row of a special register that is read, if it has one.
    fn special(&mut self, uop: &Uop) -> Option<Operand> {
        let Sub::SReg(sreg) = uop.sub else { return None };
        if uop.op != Op::S2r || !has_row(sreg) {
            return None;
        }
        let known = self.specials.iter().position(|&known| known == sreg);
        let place = known.unwrap_or_else(|| {
            self.specials.push(sreg);
            self.specials.len() - 1
        });
        Some(Operand::register(self.program.registers + (TRASH_ROWS + place) as u32))
    }

    fn operand(&mut self, uop: &Uop, i: usize) -> Operand {
        let words = uop.src_words(i).max(1);
        match uop.src[i] {
            Src::None | Src::Reg(Reg::ZERO) => ZERO,
            Src::Reg(Reg(r)) => Operand::register(u32::from(r)),
            Src::Imm(value) => self.immediate(immediate_words(uop, i, value, words)),
            Src::Const { bank, offset } => {
                let row = self.pool.len() as u32;
                let found = *self.constants.entry((bank, offset, words)).or_insert(row);
                if found == row {
                    self.pool.resize(self.pool.len() + words as usize, Row([0; 32]));
                    self.consts.push(ConstRows { row, bank, offset, words });
                }
                Operand::pooled(found)
            }
        }
    }

    fn immediate(&mut self, words: Vec<u32>) -> Operand {
        if words.iter().all(|&w| w == 0) && words.len() <= ZERO_ROWS {
            return ZERO;
        }
        let row = self.pool.len() as u32;
        if let Some(found) = self.immediates.get(&words) {
            return Operand::pooled(*found);
        }
        self.pool.extend(words.iter().map(|&w| Row([w; 32])));
        self.immediates.insert(words, row);
        Operand::pooled(row)
    }
}

/// Whether the value of a special register is the same from the start of a block to its end.
fn has_row(sreg: SReg) -> bool {
    use SReg::{CtaidX, CtaidY, CtaidZ, LaneId, TidX, TidY, TidZ};
    matches!(sreg, TidX | TidY | TidZ | CtaidX | CtaidY | CtaidZ | LaneId)
}

/// An immediate as the words its operand spans: the high word of a 64-bit float, or an integer that is sign-extended.
fn immediate_words(uop: &Uop, i: usize, value: u32, words: u32) -> Vec<u32> {
    let ty = if uop.op == Op::Cvt { uop.ty2 } else { uop.ty };
    let is_address = i == 0 && matches!(uop.op, Op::Ld | Op::St | Op::Atom | Op::Red | Op::Cctl);
    let element = if ty.words() == 2 || words == 2 && ty.words() < 2 && uop.mem.vec <= 1 { 2 } else { 1 };
    let sign = (value as i32 >> 31) as u32;
    let pair = if is_address {
        // Addresses are unsigned.
        [value, 0]
    } else if ty == Ty::F64 {
        [0, value]
    } else {
        [value, sign]
    };
    match (words, element) {
        (1, _) => vec![value],
        (_, 2) => pair.repeat(words.div_ceil(2) as usize),
        _ if is_address => pair.to_vec(),
        _ if ty == Ty::B128 => vec![value, sign, sign, sign],
        _ => vec![value; words as usize],
    }
}
