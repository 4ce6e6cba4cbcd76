// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random SSA functions: loops, diamonds, wide values, vectors, predicates, guarded instructions, pressure.

use smallvec::SmallVec;
use warpwatt_base::SplitMix64;
use warpwatt_compiler::ir::{Block, BlockId, Function, Inst, Opnd, Part, PredUse, Term, Value, ValueInfo};
use warpwatt_isa::{BoolOp, Cmp, Location, MinMax, Op, SReg, Space, Sub, Ty};

pub struct Shape {
    /// Instructions per straight piece.
    pub length: u32,
    pub nesting: u32,
    /// Values kept alive until the end of a piece: register pressure.
    pub pressure: usize,
}

struct Gen {
    f: Function,
    rng: SplitMix64,
    at: BlockId,
    /// Values that may be used here, by words: predicates, words, pairs.
    known: [Vec<Value>; 3],
    stores: u32,
    length: u32,
}

pub fn function(seed: u64, shape: &Shape) -> Function {
    let f = Function {
        name: format!("random{seed}"),
        id: 0,
        is_kernel: true,
        blocks: vec![Block { insts: Vec::new(), term: Term::Unreachable, preds: Vec::new() }],
        values: Vec::<ValueInfo>::new(),
        locs: vec![Location::default()],
        out_bytes: 0,
        local_bytes: 0,
        spill_bytes: 0,
    };
    let mut g = Gen {
        f,
        rng: SplitMix64::new(seed),
        at: BlockId(0),
        known: Default::default(),
        stores: 0,
        length: shape.length,
    };
    for i in 0..4 {
        g.define(Op::Mov, Ty::U32, 1, &[Opnd::Const { bank: 0, offset: 0x160 + 4 * i }], |_| {});
        g.define(Op::Mov, Ty::U64, 2, &[Opnd::Const { bank: 0, offset: 0x180 + 8 * i }], |_| {});
    }
    g.define(Op::S2r, Ty::U32, 1, &[], |i| i.sub = Sub::SReg(SReg::TidX));
    g.compare();
    let mut held: Vec<Value> = Vec::new();
    for _ in 0..shape.pressure {
        let v = g.word_op();
        held.push(v);
    }
    g.region(shape.nesting);
    for v in held {
        let part = g.f.whole(v);
        g.store(&[Opnd::Value(part)], Ty::U32, 1);
    }
    g.store_some();
    g.f.block_mut(g.at).term = Term::Exit { loc: 0 };
    g.f
}

impl Gen {
    fn pick(&mut self, class: usize) -> Value {
        let n = self.known[class].len() as u32;
        // Recent values more often than old ones.
        let back = self.rng.below(n).min(self.rng.below(n));
        self.known[class][(n - 1 - back) as usize]
    }

    fn pred(&mut self) -> PredUse {
        let p = PredUse::of(self.pick(0));
        if self.rng.chance(2) { !p } else { p }
    }

    fn operand(&mut self, class: usize) -> Opnd {
        match self.rng.below(8) {
            0 if class == 1 => {
                Opnd::Imm(u64::from([0u32, 1, 31, 0xffff_ffff, 0x1234_5678][self.rng.below(5) as usize]))
            }
            0 => Opnd::Imm(
                [0, 1, u64::MAX, 1 << 32, 0xffff_ffff, 0x1234_5678_9abc_def0][self.rng.below(6) as usize],
            ),
            1 => Opnd::Const { bank: 0, offset: 0x160 + 8 * self.rng.below(8) as u16 },
            2 if class == 1 => {
                let v = self.pick(2);
                Opnd::Value(Part { value: v, lane: self.rng.below(2) as u8, words: 1 })
            }
            _ => {
                let v = self.pick(class);
                Opnd::Value(self.f.whole(v))
            }
        }
    }

    fn push(&mut self, inst: Inst) {
        self.f.block_mut(self.at).insts.push(inst);
    }

    fn define(&mut self, op: Op, ty: Ty, words: u8, srcs: &[Opnd], set: impl FnOnce(&mut Inst)) -> Value {
        let value = self.f.new_value(words);
        let mut inst = Inst::new(op, ty);
        inst.dst = Some(self.f.whole(value));
        inst.srcs = SmallVec::from_slice(srcs);
        set(&mut inst);
        if !self.known[0].is_empty() && self.rng.chance(6) && words < 3 {
            inst.guard = self.pred();
            inst.keep = self.operand(usize::from(words));
        }
        self.push(inst);
        if words < 3 {
            self.known[usize::from(words)].push(value);
        }
        value
    }

    fn compare(&mut self) {
        let class = 1 + self.rng.below(2) as usize;
        let signed = self.rng.chance(2);
        let ty = [[Ty::U32, Ty::S32], [Ty::U64, Ty::S64]][class - 1][usize::from(signed)];
        let cmp = [Cmp::Eq, Cmp::Ne, Cmp::Lt, Cmp::Le, Cmp::Gt, Cmp::Ge][self.rng.below(6) as usize];
        let combine = [BoolOp::And, BoolOp::Or, BoolOp::Xor][self.rng.below(3) as usize];
        let mut inst = Inst::new(Op::Isetp, ty);
        inst.srcs = [self.operand(class), self.operand(class)].into_iter().collect();
        inst.sub = Sub::Cmp(cmp, combine);
        if !self.known[0].is_empty() && self.rng.chance(3) {
            inst.psrc[0] = self.pred();
        }
        let guarded = !self.known[0].is_empty() && self.rng.chance(6);
        let mut results = Vec::new();
        for k in 0..1 + usize::from(self.rng.chance(3)) {
            let p = self.f.new_value(0);
            inst.pdst[k] = Some(p);
            results.push(p);
            if guarded {
                inst.pkeep[k] = Some(self.pred());
            }
        }
        if guarded {
            inst.guard = self.pred();
        }
        self.push(inst);
        self.known[0].extend(results);
    }

    fn logic_of_predicates(&mut self) {
        let mut inst = Inst::new(Op::Plop3, Ty::Pred);
        inst.psrc = [self.pred(), self.pred(), self.pred()];
        inst.sub = Sub::Lut(self.rng.below(256) as u8);
        let p = self.f.new_value(0);
        inst.pdst[0] = Some(p);
        self.push(inst);
        self.known[0].push(p);
    }

    fn word_op(&mut self) -> Value {
        let (a, b, c) = (self.operand(1), self.operand(1), self.operand(1));
        let sign = [Ty::U32, Ty::S32][self.rng.below(2) as usize];
        let lut = self.rng.below(256) as u8;
        let neg = 1 << self.rng.below(3);
        let field = |g: &mut Gen| Opnd::Imm(u64::from(g.rng.below(40)));
        match self.rng.below(10) {
            0 => self.define(Op::Iadd3, Ty::U32, 1, &[a, b, c], |i| i.neg = neg),
            1 => self.define(Op::Iadd3, Ty::U32, 1, &[a, b], |_| {}),
            2 => self.define(Op::Imad, Ty::U32, 1, &[a, b, c], |_| {}),
            3 => self.define(Op::Lop3, Ty::U32, 1, &[a, b, c], |i| i.sub = Sub::Lut(lut)),
            4 => self.define(Op::Shl, Ty::U32, 1, &[a, b], |_| {}),
            5 => self.define(Op::Shr, sign, 1, &[a, b], |_| {}),
            6 => {
                let p = self.pred();
                self.define(Op::Sel, Ty::U32, 1, &[a, b], |i| i.psrc[0] = p)
            }
            7 => self.define(Op::Imnmx, sign, 1, &[a, b], |i| i.sub = Sub::MinMax(MinMax::Min)),
            8 => {
                let (at, length) = (field(self), field(self));
                self.define(Op::Bfe, sign, 1, &[a, at, length], |_| {})
            }
            _ => {
                let (at, length) = (field(self), field(self));
                self.define(Op::Bfi, Ty::U32, 1, &[a, b, at, length], |_| {})
            }
        }
    }

    fn wide_op(&mut self) {
        let (a, b, c) = (self.operand(2), self.operand(2), self.operand(2));
        let sign = [Ty::U64, Ty::S64][self.rng.below(2) as usize];
        let amount =
            if self.rng.chance(3) { self.operand(1) } else { Opnd::Imm(u64::from(self.rng.below(70))) };
        let masked = |g: &mut Gen| {
            let v = g.define(Op::Lop3, Ty::U32, 1, &[amount, Opnd::Imm(127)], |i| i.sub = Sub::Lut(0xc0));
            Opnd::Value(g.f.whole(v))
        };
        let lut = self.rng.below(256) as u8;
        let neg = self.rng.below(4) as u8;
        let which = [MinMax::Min, MinMax::Max][self.rng.below(2) as usize];
        match self.rng.below(13) {
            0 => self.define(Op::Iadd3, Ty::U64, 2, &[a, b], |i| i.neg = neg),
            1 => self.define(Op::Iadd3, Ty::U64, 2, &[a, b, c], |_| {}),
            2 => self.define(Op::Lop3, Ty::U64, 2, &[a, b, c], |i| i.sub = Sub::Lut(lut)),
            3 => {
                let n = masked(self);
                self.define(Op::Shl, Ty::U64, 2, &[a, n], |_| {})
            }
            4 => {
                let n = masked(self);
                self.define(Op::Shr, sign, 2, &[a, n], |_| {})
            }
            5 => self.define(Op::Shl, Ty::U64, 2, &[a, amount], |_| {}),
            6 => self.define(Op::Shr, sign, 2, &[a, amount], |_| {}),
            7 => self.define(Op::Imad, Ty::U64, 2, &[a, b, c], |_| {}),
            8 => {
                let p = self.pred();
                self.define(Op::Sel, Ty::U64, 2, &[a, b], |i| i.psrc[0] = p)
            }
            9 => self.define(Op::Imnmx, sign, 2, &[a, b], |i| i.sub = Sub::MinMax(which)),
            10 => self.define(Op::Iabs, Ty::S64, 2, &[a], |_| {}),
            11 => {
                let (x, y) = (self.operand(1), self.operand(1));
                self.define(Op::ImadWide, Ty::U32, 2, &[x, y, c], |_| {})
            }
            _ => {
                let (x, y) = (self.operand(1), self.operand(1));
                self.define(Op::Pack, Ty::U64, 2, &[x, y], |_| {})
            }
        };
    }

    /// A vector load, read by parts later.
    fn load(&mut self) {
        let vec = [1u8, 2, 4][self.rng.below(3) as usize];
        let base = self.pick(2);
        let base = Opnd::Value(self.f.whole(base));
        let off = 16 * self.rng.below(8) as i32;
        // Loads read where nothing is stored: the top bit of the address keeps them apart.
        let high = self.define(
            Op::Lop3,
            Ty::U64,
            2,
            &[base, Opnd::Imm(0x3fff_ffff_ffff_fff0), Opnd::Imm(1 << 63)],
            |i| {
                i.sub = Sub::Lut(0xea);
            },
        );
        let address = Opnd::Value(self.f.whole(high));
        if self.rng.chance(4) {
            self.define(Op::Ld, Ty::U64, 2, &[address], |i| {
                i.mem.space = Space::Global;
                i.off = off;
            });
            return;
        }
        let v = self.define(Op::Ld, Ty::U32, vec, &[address], |i| {
            i.mem.space = Space::Global;
            i.mem.vec = vec;
            i.off = off;
        });
        for lane in 0..vec {
            if vec == 4 && self.rng.chance(2) {
                let part = Opnd::Value(Part { value: v, lane, words: 1 });
                self.define(Op::Iadd3, Ty::U32, 1, &[part, Opnd::Imm(1)], |_| {});
            }
        }
        if vec == 4 {
            let whole = self.f.whole(v);
            self.store(&[Opnd::Value(whole)], Ty::U32, 4);
        }
    }

    fn store(&mut self, data: &[Opnd], ty: Ty, vec: u8) {
        let mut inst = Inst::new(Op::St, ty);
        inst.mem.space = Space::Global;
        inst.mem.vec = vec;
        inst.srcs.push(Opnd::Imm(0));
        inst.srcs.extend(data.iter().copied());
        inst.off = 0x1000 + 16 * self.stores as i32;
        self.stores += 1;
        if self.rng.chance(5) {
            inst.guard = self.pred();
        }
        self.push(inst);
    }

    fn store_some(&mut self) {
        for _ in 0..3 {
            let word = self.operand(1);
            self.store(&[word], Ty::U32, 1);
            let wide = self.operand(2);
            self.store(&[wide], Ty::U64, 1);
        }
        let parts: Vec<Opnd> = (0..4).map(|_| self.operand(1)).collect();
        let quad = self.define(Op::Pack, Ty::B128, 4, &parts, |_| {});
        let whole = self.f.whole(quad);
        self.store(&[Opnd::Value(whole)], Ty::U32, 4);
    }

    fn straight(&mut self) {
        for _ in 0..1 + self.rng.below(self.length) {
            match self.rng.below(12) {
                0..5 => {
                    self.word_op();
                }
                5..8 => self.wide_op(),
                8 => self.compare(),
                9 => self.logic_of_predicates(),
                10 => self.load(),
                _ => self.store_some(),
            }
        }
    }

    fn new_block(&mut self, preds: &[BlockId]) -> BlockId {
        self.f.blocks.push(Block { insts: Vec::new(), term: Term::Unreachable, preds: preds.to_vec() });
        BlockId::from(self.f.blocks.len() - 1)
    }

    fn region(&mut self, depth: u32) {
        self.straight();
        if depth == 0 {
            return;
        }
        for _ in 0..1 + self.rng.below(2) {
            if self.rng.chance(2) {
                self.diamond(depth)
            } else {
                self.cycle(depth)
            }
            self.straight();
        }
    }

    fn diamond(&mut self, depth: u32) {
        let from = self.at;
        let cond = self.pred();
        let saved = self.known.clone();
        let mut arms = Vec::new();
        let mut ends = Vec::new();
        let empty = self.rng.chance(3);
        for arm in 0..2 {
            if arm == 1 && empty {
                arms.push(None);
                ends.push((from, saved.clone()));
                continue;
            }
            let b = self.new_block(&[from]);
            self.at = b;
            self.region(depth - 1);
            arms.push(Some(b));
            ends.push((self.at, std::mem::replace(&mut self.known, saved.clone())));
        }
        let join = self.new_block(&[ends[0].0, ends[1].0]);
        for (end, arm) in ends.iter().zip(&arms) {
            if arm.is_some() {
                self.f.block_mut(end.0).term = Term::Jump(join);
            }
        }
        let (taken, other) = (arms[0].unwrap_or(join), arms[1].unwrap_or(join));
        self.f.block_mut(from).term = Term::Branch { cond, taken, other, uniform: false, loc: 0 };
        self.at = join;
        for class in 0..3 {
            for _ in 0..2 {
                let pick = |g: &mut Gen, known: &[Vec<Value>; 3]| {
                    let list = &known[class];
                    list[list.len() - 1 - g.rng.below(4.min(list.len() as u32)) as usize]
                };
                let srcs = [pick(self, &ends[0].1), pick(self, &ends[1].1)];
                self.phi(class as u8, &srcs.map(|v| Opnd::Value(self.f.whole(v))));
            }
        }
    }

    fn phi(&mut self, words: u8, srcs: &[Opnd]) -> Value {
        let value = self.f.new_value(words);
        let mut inst = Inst::new(Op::Phi, [Ty::Pred, Ty::U32, Ty::U64][usize::from(words)]);
        if words == 0 {
            inst.pdst[0] = Some(value);
        } else {
            inst.dst = Some(self.f.whole(value));
        }
        inst.srcs = SmallVec::from_slice(srcs);
        let at = self.f.block(self.at).insts.iter().take_while(|i| i.op == Op::Phi).count();
        self.f.block_mut(self.at).insts.insert(at, inst);
        self.known[usize::from(words)].push(value);
        value
    }

    /// A counted loop with a few values carried around, some of them swapped.
    fn cycle(&mut self, depth: u32) {
        let from = self.at;
        let head = self.new_block(&[from]);
        self.f.block_mut(from).term = Term::Jump(head);
        let first: Vec<(usize, Opnd)> = (0..5)
            .map(|i| {
                let class = [0, 1, 1, 2, 2][i];
                let o = if class == 0 {
                    let v = self.pick(0);
                    Opnd::Value(self.f.whole(v))
                } else {
                    self.operand(class)
                };
                (class, o)
            })
            .collect();
        self.at = head;
        let saved = self.known.clone();
        let counter = self.phi(1, &[Opnd::Imm(0)]);
        let phis: Vec<Value> = first.iter().map(|&(class, o)| self.phi(class as u8, &[o])).collect();
        self.region(depth - 1);
        let mut next: Vec<Opnd> = Vec::new();
        for (i, &(class, _)) in first.iter().enumerate() {
            let swap = self.rng.chance(2);
            let v = match i {
                1 if swap => phis[2],
                2 if swap => phis[1],
                3 if swap => phis[4],
                _ => self.pick(class),
            };
            next.push(Opnd::Value(self.f.whole(v)));
        }
        let plus = self.f.new_value(1);
        let mut add = Inst::new(Op::Iadd3, Ty::U32);
        add.dst = Some(self.f.whole(plus));
        add.srcs = [Opnd::Value(self.f.whole(counter)), Opnd::Imm(1)].into_iter().collect();
        self.push(add);
        let again = self.f.new_value(0);
        let mut cmp = Inst::new(Op::Isetp, Ty::U32);
        cmp.sub = Sub::Cmp(Cmp::Lt, BoolOp::And);
        cmp.pdst[0] = Some(again);
        cmp.srcs = [Opnd::Value(self.f.whole(plus)), Opnd::Imm(u64::from(1 + self.rng.below(3)))]
            .into_iter()
            .collect();
        self.push(cmp);
        let latch = self.at;
        self.f.block_mut(head).preds.push(latch);
        let whole = Opnd::Value(self.f.whole(plus));
        for (k, value) in [counter].iter().chain(&phis).enumerate() {
            let src = if k == 0 { whole } else { next[k - 1] };
            let phi = self.f.block_mut(head).insts.iter_mut().find(|i| {
                i.op == Op::Phi && (i.pdst[0] == Some(*value) || i.dst.is_some_and(|d| d.value == *value))
            });
            phi.expect("the phi is there").srcs.push(src);
        }
        let after = self.new_block(&[latch]);
        self.f.block_mut(latch).term =
            Term::Branch { cond: PredUse::of(again), taken: head, other: after, uniform: false, loc: 0 };
        // What the loop computed may be used behind it; from inside inner branches only what dominates.
        let inside = std::mem::replace(&mut self.known, saved);
        for (known, inside) in self.known.iter_mut().zip(inside) {
            let from = known.len();
            known.extend_from_slice(&inside[from..]);
        }
        self.at = after;
    }
}
