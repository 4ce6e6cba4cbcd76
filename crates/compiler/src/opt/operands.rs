// SPDX-License-Identifier: MIT OR Apache-2.0
//! Immediates and constants that no slot of their instruction can hold are moved to a register once, outside of loops.

use rustc_hash::FxHashMap;
use smallvec::smallvec;
use warpwatt_isa::{Op, Ty, src_words};

use crate::back::operands::{Rule, canonicalise, encode_imm, is_register, rule};
use crate::cfg::Cfg;
use crate::ir::{BlockId, Function, Inst, Opnd, Part};

pub fn move_type(words: u8) -> Ty {
    match words {
        1 => Ty::U32,
        2 => Ty::U64,
        _ => Ty::B128,
    }
}

pub fn materialize(f: &mut Function) {
    let cfg = Cfg::of(f);
    // (bits of the operand, words) -> moves made so far
    let mut made: FxHashMap<(Opnd, u8), Vec<(BlockId, Part)>> = FxHashMap::default();
    for b in cfg.order.clone() {
        let mut i = 0;
        while i < f.block(b).insts.len() {
            let mut inst = f.block(b).insts[i].clone();
            canonicalise(&mut inst);
            let mut new_moves: Vec<(BlockId, Inst)> = Vec::new();
            for slot in offending(&inst) {
                let words = source_words(&inst, slot);
                let o = inst.srcs[slot];
                let key = (o, words);
                let existing = made
                    .get(&key)
                    .and_then(|list| list.iter().find(|(at, _)| cfg.dominates(*at, b)).map(|x| x.1));
                let part = existing.unwrap_or_else(|| {
                    let home = home(&cfg, b);
                    let value = f.new_value(words);
                    let part = Part { value, lane: 0, words };
                    let mut mov = Inst::new(Op::Mov, move_type(words));
                    mov.dst = Some(part);
                    mov.srcs = smallvec![o];
                    mov.loc = inst.loc;
                    new_moves.push((home, mov));
                    made.entry(key).or_default().push((home, part));
                    part
                });
                inst.srcs[slot] = Opnd::Value(part);
            }
            f.block_mut(b).insts[i] = inst;
            for (home, mov) in new_moves {
                if home == b {
                    f.block_mut(b).insts.insert(i, mov);
                    i += 1;
                } else {
                    f.block_mut(home).insts.push(mov);
                }
            }
            i += 1;
        }
    }
}

/// The nearest block above `b` (or itself) outside of all loops that `b` is in.
fn home(cfg: &Cfg, b: BlockId) -> BlockId {
    let mut at = b;
    while cfg.loop_depths()[at.index()] > 0 {
        match cfg.idom(at) {
            Some(up) => at = up,
            None => break,
        }
    }
    at
}

fn source_words(inst: &Inst, slot: usize) -> u8 {
    src_words(inst.op, inst.ty, inst.ty2, inst.sub, &inst.mem, slot).clamp(1, 4) as u8
}

/// Slots whose immediate or constant must go to a register.
fn offending(inst: &Inst) -> Vec<usize> {
    // Copies accept any operand, and 64-bit integer operations are split later, each half with its own slot.
    let halves =
        inst.ty.words() == 2 && inst.ty.is_int() && !matches!(inst.op, Op::Ld | Op::St | Op::Atom | Op::Red);
    if matches!(inst.op, Op::Mov | Op::Phi | Op::Pack | Op::Part) || halves {
        return Vec::new();
    }
    let (mask, mut left) = match rule(inst.op) {
        Rule::One(mask) => (mask, 1),
        Rule::Any(mask) => (mask, usize::MAX),
    };
    // Constants keep the place before immediates: those are cheaper to have in a register.
    let mut slots: Vec<usize> = (0..inst.srcs.len()).filter(|&k| !is_register(inst.srcs[k])).collect();
    slots.sort_by_key(|&k| matches!(inst.srcs[k], Opnd::Imm(_)));
    let mut bad = Vec::new();
    for k in slots {
        let fits = match inst.srcs[k] {
            Opnd::Imm(bits) => {
                let ty = if inst.op == Op::Cvt { inst.ty2 } else { inst.ty };
                encode_imm(bits, u32::from(source_words(inst, k)), ty).is_some()
                    && !(inst.op == Op::ImadWide && k == 2)
            }
            _ => true,
        };
        if mask >> k & 1 == 1 && left > 0 && fits {
            left -= 1;
        } else {
            bad.push(k);
        }
    }
    bad
}
