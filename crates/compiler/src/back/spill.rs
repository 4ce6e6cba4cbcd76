// SPDX-License-Identifier: MIT OR Apache-2.0
//! Spilling: a value is stored to a slot of the stack frame (a predicate to a register) and reloaded for one instruction at a time.
//! A value that is cheap to compute (a constant, the thread's coordinates) is rematerialised instead.

use rustc_hash::FxHashMap;
use warpwatt_isa::{BoolOp, Cmp, Flags, Op, SReg, Space, Sub, Ty};

use super::coalesce::{rename, rename_term};
use super::machine::{INSERTED, MFunc, MInst};
use crate::ir::{Frame, Inst, Opnd, Part, PredUse, Value};

/// Gives the same result at any point of a thread.
pub(super) fn is_constant(inst: &Inst) -> bool {
    inst.guard == PredUse::TRUE
        && inst.dst.is_some_and(|d| d.words == 1)
        && inst.neg | inst.abs == 0
        && inst.frame == Frame::None
        && match inst.op {
            Op::Mov => matches!(inst.srcs[..], [Opnd::Imm(_) | Opnd::Const { .. }]),
            Op::S2r => matches!(
                inst.sub,
                Sub::SReg(
                    SReg::TidX
                        | SReg::TidY
                        | SReg::TidZ
                        | SReg::CtaidX
                        | SReg::CtaidY
                        | SReg::CtaidZ
                        | SReg::LaneId
                )
            ),
            _ => false,
        }
}

/// For every value whose words all have one definition that is cheap and constant: those definitions.
pub(super) fn rematerialisable(f: &MFunc) -> Vec<Option<Vec<Inst>>> {
    let mut found: Vec<Option<Vec<Option<Inst>>>> =
        f.values.iter().map(|v| (v.words > 0).then(|| vec![None; usize::from(v.words)])).collect();
    for block in f.order.iter().map(|b| &f.blocks[b.index()]) {
        for m in &block.insts {
            m.inst.for_each_def(|p| {
                let Some(list) = &mut found[p.value.index()] else { return };
                if is_constant(&m.inst) && list[usize::from(p.lane)].is_none() {
                    list[usize::from(p.lane)] = Some(m.inst.clone());
                } else {
                    found[p.value.index()] = None;
                }
            });
        }
    }
    found.into_iter().map(|list| list?.into_iter().collect()).collect()
}

/// Where spilled values live.
enum Home {
    Slot(i32),
    Again(Vec<Inst>),
}

pub(super) fn registers(f: &mut MFunc, values: &[Value]) {
    let again = rematerialisable(f);
    let mut homes: FxHashMap<Value, Home> = FxHashMap::default();
    for &v in values {
        let home = match &again[v.index()] {
            Some(insts) => Home::Again(insts.clone()),
            None => {
                let bytes = 4 * u32::from(f.values[v.index()].words);
                let align = bytes.next_power_of_two();
                let at = f.spill_bytes.next_multiple_of(align);
                f.spill_bytes = at + bytes;
                Home::Slot(at as i32)
            }
        };
        homes.insert(v, home);
    }
    for b in f.order.clone() {
        let insts = std::mem::take(&mut f.blocks[b.index()].insts);
        let mut out = Vec::with_capacity(insts.len() * 2);
        for mut m in insts {
            if let Some(d) = m.inst.dst
                && let Some(Home::Again(_)) = homes.get(&d.value)
            {
                continue;
            }
            let mut temps: FxHashMap<Part, Part> = FxHashMap::default();
            let loc = m.inst.loc;
            m.inst.for_each_use(|p| {
                if let Some(home) = homes.get(&p.value) {
                    temps.entry(p).or_insert_with(|| load(f, &mut out, home, p, loc));
                }
            });
            let mut stores = Vec::new();
            m.inst.for_each_def(|p| {
                if let Some(Home::Slot(at)) = homes.get(&p.value) {
                    let temp = *temps.entry(p).or_insert_with(|| {
                        let value = f.new_temp(p.words);
                        Part { value, lane: 0, words: p.words }
                    });
                    stores.push((temp, at + 4 * i32::from(p.lane)));
                }
            });
            rename(&mut m.inst, &|p| temps.get(&p).copied().unwrap_or(p));
            out.push(m);
            for (temp, at) in stores {
                for (lane, words) in pieces(temp.words, at) {
                    out.push(inserted(slot_access(
                        Op::St,
                        Part { value: temp.value, lane, words },
                        at + 4 * i32::from(lane),
                        loc,
                    )));
                }
            }
        }
        let mut temps: FxHashMap<Part, Part> = FxHashMap::default();
        let mut term = f.blocks[b.index()].term.clone();
        super::machine::term_uses(&term, |p| {
            if let Some(home) = homes.get(&p.value) {
                temps.insert(p, load(f, &mut out, home, p, 0));
            }
        });
        rename_term(&mut term, &|p| temps.get(&p).copied().unwrap_or(p));
        f.blocks[b.index()].term = term;
        f.blocks[b.index()].insts = out;
    }
}

/// Reloads a part into a register of its own.
fn load(f: &mut MFunc, out: &mut Vec<MInst>, home: &Home, p: Part, loc: u32) -> Part {
    let value = f.new_temp(p.words);
    match home {
        Home::Again(insts) => {
            for i in 0..p.words {
                let mut inst = insts[usize::from(p.lane + i)].clone();
                inst.dst = Some(Part { value, lane: i, words: 1 });
                inst.flags = inst.flags.with(Flags::SPILL);
                inst.loc = loc;
                out.push(inserted(inst));
            }
        }
        Home::Slot(at) => {
            let at = at + 4 * i32::from(p.lane);
            for (lane, words) in pieces(p.words, at) {
                let part = Part { value, lane, words };
                out.push(inserted(slot_access(Op::Ld, part, at + 4 * i32::from(lane), loc)));
            }
        }
    }
    Part { value, lane: 0, words: p.words }
}

/// A run as accesses that memory can make in one go.
fn pieces(words: u8, at: i32) -> Vec<(u8, u8)> {
    if words.is_power_of_two() && at % (4 * i32::from(words)) == 0 {
        vec![(0, words)]
    } else {
        (0..words).map(|lane| (lane, 1)).collect()
    }
}

fn inserted(inst: Inst) -> MInst {
    MInst { inst, origin: INSERTED }
}

fn slot_access(op: Op, part: Part, at: i32, loc: u32) -> Inst {
    let mut inst = Inst::new(op, Ty::U32);
    inst.mem.space = Space::Local;
    inst.mem.vec = part.words;
    inst.flags = Flags::SPILL;
    inst.srcs.push(Opnd::Sp);
    if op == Op::Ld {
        inst.dst = Some(part);
    } else {
        inst.srcs.push(Opnd::Value(part));
    }
    inst.frame = Frame::Spill;
    inst.off = at;
    inst.loc = loc;
    inst
}

/// Predicates go to registers: 1 or 0.
pub(super) fn predicates(f: &mut MFunc, values: &[Value]) {
    let mut homes: FxHashMap<Value, Value> = FxHashMap::default();
    for &v in values {
        let home = f.new_temp(1);
        f.pinned[home.index()] = false;
        homes.insert(v, home);
    }
    for b in f.order.clone() {
        let insts = std::mem::take(&mut f.blocks[b.index()].insts);
        let mut out = Vec::with_capacity(insts.len() * 2);
        for mut m in insts {
            let mut temps: FxHashMap<Value, Value> = FxHashMap::default();
            let loc = m.inst.loc;
            m.inst.for_each_use(|p| {
                if let Some(&home) = homes.get(&p.value) {
                    temps.entry(p.value).or_insert_with(|| test(f, &mut out, home, loc));
                }
            });
            let mut after = Vec::new();
            m.inst.for_each_def(|p| {
                if let Some(&home) = homes.get(&p.value) {
                    let temp = *temps.entry(p.value).or_insert_with(|| f.new_temp(0));
                    let mut sel = Inst::new(Op::Sel, Ty::U32);
                    sel.dst = Some(Part { value: home, lane: 0, words: 1 });
                    sel.srcs = [Opnd::Imm(0), Opnd::Imm(1)].into_iter().collect();
                    sel.psrc[0] = !PredUse::of(temp);
                    sel.flags = Flags::SPILL;
                    sel.loc = loc;
                    after.push(inserted(sel));
                }
            });
            rename(&mut m.inst, &|p| temps.get(&p.value).map_or(p, |&value| Part { value, ..p }));
            out.push(m);
            out.extend(after);
        }
        let mut temps: FxHashMap<Value, Value> = FxHashMap::default();
        let mut term = f.blocks[b.index()].term.clone();
        super::machine::term_uses(&term, |p| {
            if let Some(&home) = homes.get(&p.value) {
                temps.insert(p.value, test(f, &mut out, home, 0));
            }
        });
        rename_term(&mut term, &|p| temps.get(&p.value).map_or(p, |&value| Part { value, ..p }));
        f.blocks[b.index()].term = term;
        f.blocks[b.index()].insts = out;
    }
}

fn test(f: &mut MFunc, out: &mut Vec<MInst>, home: Value, loc: u32) -> Value {
    let temp = f.new_temp(0);
    let mut inst = Inst::new(Op::Isetp, Ty::U32);
    inst.sub = Sub::Cmp(Cmp::Ne, BoolOp::And);
    inst.pdst[0] = Some(temp);
    inst.srcs = [Opnd::Value(Part { value: home, lane: 0, words: 1 }), Opnd::Imm(0)].into_iter().collect();
    inst.flags = Flags::SPILL;
    inst.loc = loc;
    out.push(inserted(inst));
    temp
}
