// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which operands may be immediates or constants, and moves for those that may not.
//!
//! As in the hardware's encodings, an arithmetic operation has room for one immediate or constant, not in its first source. A value that needs
//! a register is moved there once, outside of loops.

use rustc_hash::FxHashMap;
use smallvec::smallvec;
use warpwatt_isa::{Op, Space, Ty};

use crate::cfg::Cfg;
use crate::ir::{BlockId, Function, Inst, Opnd, Part};

pub fn move_type(words: u8) -> Ty {
    match words {
        1 => Ty::U32,
        2 => Ty::U64,
        _ => Ty::B128,
    }
}

/// Whether source `slot` of `inst` may be `o`, an immediate or constant, other sources aside. Zero is always there, as register RZ.
pub fn accepts(inst: &Inst, slot: usize, o: Opnd) -> bool {
    use Op::*;
    let imm = match o {
        Opnd::Imm(v) => Some(v),
        Opnd::Const { .. } => None,
        _ => return true,
    };
    if imm == Some(0) {
        return true;
    }
    match inst.op {
        Mov | Phi | Pack | Part => true,
        // Lane numbers, masks, barrier numbers, bit positions are fields of the instruction.
        Shfl => slot > 0 && imm.is_some(),
        Vote | WarpSync | Nanosleep | Elect => imm.is_some(),
        Match | Redux | Bar => imm.is_some() && (slot > 0 || inst.op == Bar),
        Bfe => slot > 0 && imm.is_some(),
        Bfi => slot > 1 && imm.is_some(),
        Prmt => slot == 2 || slot == 1,
        Ld | St | Atom | Red | Cctl => slot == 0 && imm.is_none() && inst.mem.space == Space::Const,
        Tex | Tld4 | Txq | Suld | Sust | Sured => slot == 0 && imm.is_none(),
        Sys | Call | CallInd | Brx | IsSpace => false,
        ImadWide if slot == 2 => imm.is_none(),
        _ if slot == 0 => matches!(inst.op, Cvt | Mufu | Popc | Bfind | Brev | Iabs) && imm.is_none(),
        _ if inst.ty == Ty::F64 => imm.is_none_or(|v| v & 0xffff_ffff == 0),
        // 64-bit integers are halved later; each half is an operand of its own.
        _ => true,
    }
}

/// Sources that share the one place an instruction has for an immediate or constant.
fn shares_place(op: Op) -> bool {
    use Op::*;
    !matches!(
        op,
        Mov | Phi
            | Pack
            | Part
            | Shfl
            | Vote
            | Match
            | Redux
            | Bar
            | Bfe
            | Bfi
            | WarpSync
            | Nanosleep
            | Elect
    )
}

pub fn materialize(f: &mut Function) {
    let cfg = Cfg::of(f);
    // (bits of the operand, words) -> moves made so far
    let mut made: FxHashMap<(Opnd, u8), Vec<(BlockId, Part)>> = FxHashMap::default();
    for b in cfg.order.clone() {
        let mut i = 0;
        while i < f.block(b).insts.len() {
            let mut inst = f.block(b).insts[i].clone();
            commute(&mut inst);
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
    while cfg.loop_depth[at.index()] > 0 {
        match cfg.idom(at) {
            Some(up) => at = up,
            None => break,
        }
    }
    at
}

fn source_words(inst: &Inst, slot: usize) -> u8 {
    warpwatt_isa::src_words(inst.op, inst.ty, inst.ty2, inst.sub, &inst.mem, slot).clamp(1, 4) as u8
}

/// Slots whose immediate or constant must go to a register.
fn offending(inst: &Inst) -> Vec<usize> {
    let mut bad = Vec::new();
    let mut place_taken = false;
    let fixed = |o: &Opnd| matches!(o, Opnd::Const { .. }) || matches!(o, Opnd::Imm(v) if *v != 0);
    // Constants keep the place before immediates: an immediate in a register is cheaper to have than a loaded constant.
    let mut slots: Vec<usize> = (0..inst.srcs.len()).filter(|&k| fixed(&inst.srcs[k])).collect();
    slots.sort_by_key(|&k| matches!(inst.srcs[k], Opnd::Imm(_)));
    for k in slots {
        if !accepts(inst, k, inst.srcs[k]) || (shares_place(inst.op) && place_taken) {
            bad.push(k);
        } else {
            place_taken = true;
        }
    }
    bad
}

/// Puts a register first where the order of the first two sources does not matter.
fn commute(inst: &mut Inst) {
    let swappable = matches!(
        inst.op,
        Op::Iadd3
            | Op::Imad
            | Op::ImadHi
            | Op::ImadWide
            | Op::Imnmx
            | Op::Fadd
            | Op::Fmul
            | Op::Ffma
            | Op::Fmnmx
    );
    if swappable
        && inst.srcs.len() >= 2
        && !matches!(inst.srcs[0], Opnd::Value(_))
        && matches!(inst.srcs[1], Opnd::Value(_))
    {
        inst.srcs.swap(0, 1);
        for bits in [&mut inst.neg, &mut inst.abs] {
            *bits = *bits & !3 | (*bits & 1) << 1 | (*bits >> 1) & 1;
        }
    }
    if inst.op == Op::Lop3
        && let warpwatt_isa::Sub::Lut(lut) = inst.sub
        && inst.srcs.len() >= 2
        && !matches!(inst.srcs[0], Opnd::Value(_))
    {
        // Exchange with the first register among the others, and the table's inputs with it.
        if let Some(k) = (1..inst.srcs.len()).find(|&k| matches!(inst.srcs[k], Opnd::Value(_))) {
            inst.srcs.swap(0, k);
            let (x, y) = (2, 2 - k);
            let mut swapped = 0u8;
            for row in 0..8u8 {
                let (bx, by) = (row >> x & 1, row >> y & 1);
                let source = row & !(1 << x | 1 << y) | by << x | bx << y;
                swapped |= (lut >> source & 1) << row;
            }
            inst.sub = warpwatt_isa::Sub::Lut(swapped);
        }
    }
}
