// SPDX-License-Identifier: MIT OR Apache-2.0
//! The compiler's intermediate form: a control-flow graph of machine operations on virtual registers.
//!
//! One form, two stages. Up to `legalize` it is in SSA: every [`Value`] has one definition of its whole width, joins are
//! [`Op::Phi`], operations may be wider than the machine's (64-bit integers). After it, only operations of the machine remain, a value may be
//! defined several times and by parts (`lane`), and phis have become copies. Uses may name a part of a wide value at both stages.
//!
//! Invariants: phis stand first in a block, with one source per predecessor in the order of `Block::preds`; a predicate value has `words == 0`;
//! a guarded definition (guard not "true") in SSA names in `keep` the value that lanes without the guard keep (`None`: those lanes are never read).

use smallvec::SmallVec;
use warpwatt_base::typed_id;
use warpwatt_isa::{Flags, Location, MemAttr, Op, Round, Sub, Ty};

typed_id!(
    /// A virtual register.
    Value
);
typed_id!(
    /// A basic block.
    BlockId
);

/// What is known about a virtual register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ValueInfo {
    /// 32-bit words: 0 for a predicate, else 1, 2, 3 or 4. Two are aligned to 2, three and four to 4.
    pub words: u8,
}

/// A use or definition of `words` words of `value`, starting at word `lane`. For predicates both are 0.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Part {
    pub value: Value,
    pub lane: u8,
    pub words: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Opnd {
    #[default]
    None,
    Value(Part),
    /// Bits in the width of the operand.
    Imm(u64),
    /// A word, or an aligned pair, of a constant bank.
    Const {
        bank: u8,
        offset: u16,
    },
    /// The stack pointer (R1) after the function's prologue.
    Sp,
}

/// A predicate source: `None` is always true.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct PredUse {
    pub value: Option<Value>,
    pub negated: bool,
}

impl PredUse {
    pub const TRUE: PredUse = PredUse { value: None, negated: false };
    pub const FALSE: PredUse = PredUse { value: None, negated: true };

    pub fn of(value: Value) -> PredUse {
        PredUse { value: Some(value), negated: false }
    }
}

impl std::ops::Not for PredUse {
    type Output = PredUse;

    fn not(self) -> PredUse {
        PredUse { negated: !self.negated, ..self }
    }
}

/// Which area of the stack frame `Inst::off` counts from. The frame, from the stack pointer up: arguments of calls made, variables, spill slots, saved registers;
/// the arguments of this function are above it (return values first).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Frame {
    /// `off` is a plain offset.
    #[default]
    None,
    Out,
    Local,
    Spill,
    In,
}

#[derive(Debug)]
pub struct Inst {
    pub op: Op,
    pub ty: Ty,
    pub ty2: Ty,
    pub rnd: Round,
    pub sub: Sub,
    pub flags: Flags,
    pub mem: MemAttr,
    pub guard: PredUse,
    pub dst: Option<Part>,
    pub pdst: [Option<Value>; 2],
    pub srcs: SmallVec<[Opnd; 4]>,
    pub psrc: [PredUse; 3],
    pub neg: u8,
    pub abs: u8,
    pub off: i32,
    pub frame: Frame,
    /// SSA only: what lanes without the guard keep, for `dst` and `pdst`.
    pub keep: Opnd,
    pub pkeep: [Option<PredUse>; 2],
    /// A product or a sum without a rounding modifier, which may become part of a fused multiply-add (`opt::contract`).
    pub contract: bool,
    /// `Op::Call`: module-wide function id. Values that live across a call stay in registers: a callee saves what it writes.
    pub callee: u32,
    /// Index into `Function::locs`.
    pub loc: u32,
}

impl Clone for Inst {
    /// Passes work on copies of most instructions: the sources are copied as a whole, not one by one.
    fn clone(&self) -> Inst {
        Inst { srcs: SmallVec::from_slice(&self.srcs), ..*self }
    }
}

impl Inst {
    pub fn new(op: Op, ty: Ty) -> Inst {
        Inst {
            op,
            ty,
            ty2: ty,
            rnd: Round::Rn,
            sub: Sub::None,
            flags: Flags::NONE,
            mem: MemAttr { vec: 1, ..MemAttr::default() },
            guard: PredUse::TRUE,
            dst: None,
            pdst: [None; 2],
            srcs: SmallVec::new(),
            psrc: [PredUse::TRUE; 3],
            neg: 0,
            abs: 0,
            off: 0,
            frame: Frame::None,
            keep: Opnd::None,
            pkeep: [None; 2],
            contract: false,
            callee: u32::MAX,
            loc: 0,
        }
    }

    /// Must stay even if nothing reads its results.
    pub fn has_effect(&self) -> bool {
        use Op::*;
        matches!(
            self.op,
            St | Atom
                | Red
                | Sust
                | Sured
                | Membar
                | Call
                | CallInd
                | Bar
                | WarpSync
                | Nanosleep
                | Trap
                | Brkpt
                | Sys
        ) || (matches!(self.op, Shfl | Vote | Match | Redux | Elect) && self.flags.has(Flags::SYNC))
            || (self.op == Ld && self.mem.order != warpwatt_isa::Order::Weak)
    }

    /// May not be moved over memory operations or barriers, duplicated or merged (volatile reads, clocks, lane communication).
    pub fn is_pinned(&self) -> bool {
        use Op::*;
        use warpwatt_isa::SReg;
        self.has_effect()
            || matches!(self.op, Shfl | Vote | Match | Redux | ActiveMask | Elect)
            || matches!(
                self.sub,
                Sub::SReg(SReg::ClockLo | SReg::ClockHi | SReg::GlobalTimerLo | SReg::GlobalTimerHi)
            )
    }

    pub fn reads_memory(&self) -> bool {
        use Op::*;
        matches!(self.op, Ld | Atom | Tex | Tld4 | Suld | Call | CallInd | Sys)
    }

    pub fn writes_memory(&self) -> bool {
        use Op::*;
        matches!(self.op, St | Atom | Red | Sust | Sured | Call | CallInd | Sys)
    }

    /// Every register operand read, the stack pointer apart.
    #[inline]
    pub fn for_each_use(&self, mut f: impl FnMut(Part)) {
        let [kept, also_kept] = self.pkeep.map(|keep| keep.and_then(|keep| keep.value));
        let [first, second, third] = self.psrc.map(|source| source.value);
        for value in [self.guard.value, first, second, third, kept, also_kept].into_iter().flatten() {
            f(Part { value, lane: 0, words: 0 });
        }
        for src in &self.srcs {
            if let Opnd::Value(part) = src {
                f(*part);
            }
        }
        if let Opnd::Value(part) = self.keep {
            f(part);
        }
    }

    /// Every register operand written.
    #[inline]
    pub fn for_each_def(&self, mut f: impl FnMut(Part)) {
        if let Some(part) = self.dst {
            f(part);
        }
        for value in self.pdst.into_iter().flatten() {
            f(Part { value, lane: 0, words: 0 });
        }
    }
}

#[derive(Clone, Debug)]
pub enum Term {
    Jump(BlockId),
    /// Lanes for which `cond` holds go to `taken`, the others to `other`.
    Branch {
        cond: PredUse,
        taken: BlockId,
        other: BlockId,
        uniform: bool,
        loc: u32,
    },
    Table {
        index: Opnd,
        targets: Vec<BlockId>,
        loc: u32,
    },
    /// Of a `.func`. After lowering, at most one block of a function ends so.
    Ret {
        loc: u32,
    },
    Exit {
        loc: u32,
    },
    /// Unreachable (after `trap`, or a call that does not return).
    Unreachable,
}

impl Term {
    pub fn targets(&self) -> SmallVec<[BlockId; 2]> {
        match self {
            Term::Jump(b) => SmallVec::from_slice(&[*b]),
            Term::Branch { taken, other, .. } => SmallVec::from_slice(&[*taken, *other]),
            Term::Table { targets, .. } => targets.iter().copied().collect(),
            Term::Ret { .. } | Term::Exit { .. } | Term::Unreachable => SmallVec::new(),
        }
    }

    pub fn retarget(&mut self, mut f: impl FnMut(BlockId) -> BlockId) {
        match self {
            Term::Jump(b) => *b = f(*b),
            Term::Branch { taken, other, .. } => {
                *taken = f(*taken);
                *other = f(*other);
            }
            Term::Table { targets, .. } => targets.iter_mut().for_each(|b| *b = f(*b)),
            Term::Ret { .. } | Term::Exit { .. } | Term::Unreachable => {}
        }
    }
}

#[derive(Clone, Debug)]
pub struct Block {
    pub insts: Vec<Inst>,
    pub term: Term,
    /// One entry per edge: a block whose two edges both lead here is listed twice.
    pub preds: Vec<BlockId>,
}

#[derive(Clone, Debug)]
pub struct Function {
    pub name: String,
    /// Module-wide function id.
    pub id: u32,
    pub is_kernel: bool,
    /// Block 0 is the entry and has no predecessors.
    pub blocks: Vec<Block>,
    pub values: Vec<ValueInfo>,
    pub locs: Vec<Location>,
    /// Bytes of the frame's areas for arguments of calls and for variables (multiples of 8; 16-byte aligned variables are kept so).
    pub out_bytes: u32,
    pub local_bytes: u32,
    pub spill_bytes: u32,
}

impl Function {
    pub fn new_value(&mut self, words: u8) -> Value {
        self.values.push(ValueInfo { words });
        Value::from(self.values.len() - 1)
    }

    pub fn words(&self, value: Value) -> u8 {
        self.values[value.index()].words
    }

    /// The whole of a value.
    pub fn whole(&self, value: Value) -> Part {
        Part { value, lane: 0, words: self.words(value) }
    }

    pub fn block(&self, id: BlockId) -> &Block {
        &self.blocks[id.index()]
    }

    pub fn block_mut(&mut self, id: BlockId) -> &mut Block {
        &mut self.blocks[id.index()]
    }

    pub fn block_ids(&self) -> impl Iterator<Item = BlockId> + use<> {
        (0..self.blocks.len() as u32).map(BlockId)
    }
}
