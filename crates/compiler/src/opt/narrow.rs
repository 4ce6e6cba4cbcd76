// SPDX-License-Identifier: MIT OR Apache-2.0
//! 64-bit arithmetic of which only the low word is read becomes 32-bit arithmetic: addresses of shared, local and constant memory are 64-bit in
//! PTX and 32-bit in the machine.

use smallvec::smallvec;
use warpwatt_isa::{Flags, Op, Ty};

use crate::ir::{Frame, Function, Inst, Opnd, Part, PredUse, Value};

pub fn run(f: &mut Function) -> bool {
    let high = high_words_needed(f);
    let mut narrow: Vec<Option<Value>> = vec![None; f.values.len()];
    for inst in f.blocks.iter().flat_map(|b| &b.insts).cloned().collect::<Vec<_>>() {
        if let Some(dst) = inst.dst
            && passes_low_word(&inst)
            && !high[dst.value.index()]
        {
            narrow[dst.value.index()] = Some(f.new_value(1));
        }
    }
    if narrow.iter().all(Option::is_none) {
        return false;
    }
    let low = |o: Opnd| match o {
        Opnd::Value(p) if p.words == 2 => match narrow.get(p.value.index()).copied().flatten() {
            Some(value) => Opnd::Value(Part { value, lane: 0, words: 1 }),
            None => Opnd::Value(Part { words: 1, ..p }),
        },
        Opnd::Imm(v) => Opnd::Imm(v & 0xffff_ffff),
        o => o,
    };
    for block in &mut f.blocks {
        for inst in &mut block.insts {
            if let Some(value) = inst.dst.and_then(|d| narrow.get(d.value.index()).copied().flatten()) {
                inst.dst = Some(Part { value, lane: 0, words: 1 });
                inst.keep = low(inst.keep);
                inst.ty = Ty::U32;
                inst.ty2 = Ty::U32;
                match inst.op {
                    Op::Pack | Op::Cvt => {
                        inst.op = Op::Mov;
                        inst.flags = Flags::NONE;
                        inst.srcs = smallvec![low(inst.srcs[0])];
                    }
                    Op::ImadWide => {
                        inst.op = Op::Imad;
                        inst.srcs.iter_mut().for_each(|s| *s = low(*s));
                    }
                    _ => inst.srcs.iter_mut().for_each(|s| *s = low(*s)),
                }
            }
            // Uses of the low word alone.
            for src in inst.srcs.iter_mut().chain([&mut inst.keep]) {
                if let Opnd::Value(p) = src
                    && p.words == 1
                    && let Some(value) = narrow.get(p.value.index()).copied().flatten()
                {
                    *src = Opnd::Value(Part { value, lane: 0, words: 1 });
                }
            }
        }
        if let crate::ir::Term::Table { index: Opnd::Value(p), .. } = &mut block.term
            && let Some(value) = narrow.get(p.value.index()).copied().flatten()
        {
            *p = Part { value, lane: 0, words: 1 };
        }
    }
    true
}

/// The low word of the result depends on the low words of the sources only.
fn passes_low_word(inst: &Inst) -> bool {
    let wide = inst.dst.is_some_and(|d| d.words == 2 && d.lane == 0);
    let plain = inst.pdst[0].is_none()
        && inst.flags == Flags::NONE
        && inst.frame == Frame::None
        && inst.guard == PredUse::TRUE
        && inst.abs == 0;
    let known = match inst.op {
        Op::Iadd3 => true,
        Op::Imad | Op::Lop3 | Op::Mov | Op::Sel | Op::Phi => inst.neg == 0,
        Op::ImadWide => inst.neg == 0,
        Op::Shl => matches!(inst.srcs[1], Opnd::Imm(_)),
        Op::Pack => inst.srcs.len() == 2,
        Op::Cvt => inst.ty.is_int() && matches!(inst.ty2, Ty::U32 | Ty::S32),
        _ => false,
    };
    wide && plain && known
}

/// For every value: whether anything but its low word is read.
fn high_words_needed(f: &Function) -> Vec<bool> {
    let mut needed = vec![false; f.values.len()];
    loop {
        let mut changed = false;
        for block in &f.blocks {
            for inst in &block.insts {
                let low_only = passes_low_word(inst) && inst.dst.is_some_and(|d| !needed[d.value.index()]);
                inst.for_each_use(|p| {
                    // A pair can be read by its low word alone; a high word that is named is read.
                    let reads_high = p.lane > 0 || (p.words > 1 && !low_only);
                    if reads_high && !std::mem::replace(&mut needed[p.value.index()], true) {
                        changed = true;
                    }
                });
            }
        }
        if !changed {
            return needed;
        }
    }
}
