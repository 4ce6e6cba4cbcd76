// SPDX-License-Identifier: MIT OR Apache-2.0
//! Merges equal computations: a pure instruction is replaced by an equal one that dominates it.

use std::hash::{Hash, Hasher};

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use warpwatt_isa::{Flags, MemAttr, Op, Round, Space, Sub, Ty};

use crate::cfg::Cfg;
use crate::ir::{BlockId, Frame, Function, Inst, Opnd, PredUse, Value};

#[derive(PartialEq, Eq)]
struct Key {
    op: (Op, Ty, Ty, Round, Sub, Flags, MemAttr),
    srcs: SmallVec<[Opnd; 4]>,
    preds: [PredUse; 4],
    rest: (u8, u8, i32, Frame, usize, bool, bool),
}

impl Hash for Key {
    /// Operation and sources tell most keys apart; all parts are compared where they do not.
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(u64::from(self.op.0 as u8) | (self.op.1 as u64) << 8 | (self.rest.4 as u64) << 16);
        for src in &self.srcs {
            let (kind, bits) = order(*src);
            state.write_u64(bits << 3 | u64::from(kind));
        }
        let pred = |use_: &PredUse| use_.value.map_or(0, |value| u64::from(value.0) + 1);
        state.write_u64(pred(&self.preds[1]) | u64::from(self.rest.2 as u32) << 32);
    }
}

struct Found {
    block: BlockId,
    dst: Option<Value>,
    pdst: [Option<Value>; 2],
}

pub fn run(f: &mut Function) -> bool {
    let cfg = Cfg::of(f);
    let mut seen: FxHashMap<Key, SmallVec<[Found; 1]>> = FxHashMap::default();
    seen.reserve(f.blocks.iter().map(|block| block.insts.len()).sum());
    let mut map: Vec<Value> = (0..f.values.len() as u32).map(Value).collect();
    let mut changed = false;
    for &b in &cfg.order {
        let mut insts = std::mem::take(&mut f.block_mut(b).insts);
        insts.retain_mut(|inst| {
            super::simplify::for_each_value_mut(inst, |v| *v = map[v.index()]);
            let Some(key) = key(inst, b) else { return true };
            let list = seen.entry(key).or_default();
            if let Some(found) = list.iter().find(|found| cfg.dominates(found.block, b)) {
                if let (Some(from), Some(to)) = (inst.dst, found.dst) {
                    map[from.value.index()] = to;
                }
                for k in 0..2 {
                    if let (Some(from), Some(to)) = (inst.pdst[k], found.pdst[k]) {
                        map[from.index()] = to;
                    }
                }
                changed = true;
                return false;
            }
            list.push(Found { block: b, dst: inst.dst.map(|d| d.value), pdst: inst.pdst });
            true
        });
        f.block_mut(b).insts = insts;
    }
    if changed {
        // Uses that were visited before their definition's replacement was known (phis of loops), and terminators.
        for block in &mut f.blocks {
            for inst in &mut block.insts {
                super::simplify::for_each_value_mut(inst, |v| *v = map[v.index()]);
            }
            super::simplify::for_each_term_value_mut(&mut block.term, |v| *v = map[v.index()]);
        }
    }
    changed
}

fn key(inst: &Inst, block: BlockId) -> Option<Key> {
    let constant_load = inst.op == Op::Ld && inst.mem.space == Space::Const;
    if inst.is_pinned()
        || (inst.reads_memory() && !constant_load)
        || matches!(inst.op, Op::Undef | Op::Cctl | Op::Membar)
    {
        return None;
    }
    if inst.guard != PredUse::TRUE {
        return None;
    }
    let mut srcs = SmallVec::<[Opnd; 4]>::from_slice(&inst.srcs);
    if commutes(inst) && order(srcs[0]) > order(srcs[1]) {
        srcs.swap(0, 1);
    }
    // Equal phis are only equal within one block.
    let place = if inst.op == Op::Phi { block.index() } else { usize::MAX };
    Some(Key {
        op: (inst.op, inst.ty, inst.ty2, inst.rnd, inst.sub, inst.flags, inst.mem),
        srcs,
        preds: [inst.guard, inst.psrc[0], inst.psrc[1], inst.psrc[2]],
        rest: (
            inst.neg,
            inst.abs,
            inst.off,
            inst.frame,
            place,
            inst.pdst[0].is_some(),
            inst.pdst[1].is_some(),
        ),
    })
}

fn commutes(inst: &Inst) -> bool {
    let plain = (inst.neg | inst.abs) & 3 == 0;
    plain
        && matches!(
            inst.op,
            Op::Iadd3 | Op::Imad | Op::ImadHi | Op::ImadWide | Op::Imnmx | Op::Fmul | Op::Fadd | Op::Ffma
        )
}

/// Any total order of operands serves.
fn order(o: Opnd) -> (u8, u64) {
    match o {
        Opnd::None => (0, 0),
        Opnd::Value(p) => (1, u64::from(p.value.0) << 16 | u64::from(p.lane) << 8 | u64::from(p.words)),
        Opnd::Sp => (2, 0),
        Opnd::Const { bank, offset } => (3, u64::from(bank) << 16 | u64::from(offset)),
        Opnd::Imm(v) => (4, v),
    }
}
