// SPDX-License-Identifier: MIT OR Apache-2.0
//! Truth tables of three-input logic, on registers and on predicates.

use warpwatt_isa::Sub;

use super::evaluate;
use super::simplify::Outcome;
use crate::ir::{Inst, Opnd, PredUse};

/// Removes known and repeated inputs from a truth table; unused inputs become zero.
pub fn lop3(inst: &mut Inst, changed: &mut bool) -> Outcome {
    let Sub::Lut(old) = inst.sub else { return Outcome::Stays };
    if inst.neg != 0 {
        return Outcome::Stays;
    }
    let ones = evaluate::mask(inst.ty.words());
    while inst.srcs.len() < 3 {
        inst.srcs.push(Opnd::Imm(0));
    }
    let mut lut = old;
    for k in 0..3 {
        lut = match inst.srcs[k] {
            Opnd::Imm(0) | Opnd::None => fix_input(lut, k, false),
            Opnd::Imm(v) if v & ones == ones => fix_input(lut, k, true),
            _ => lut,
        };
    }
    for (a, b) in [(0, 1), (0, 2), (1, 2)] {
        if inst.srcs[a] == inst.srcs[b] && !matches!(inst.srcs[a], Opnd::Imm(_) | Opnd::None) {
            // Rows where the two differ cannot occur: make the table ignore the second.
            let (bit_a, bit_b) = (2 - a, 2 - b);
            let mut merged = 0u8;
            for row in 0..8u8 {
                let value = row >> bit_a & 1;
                let source = row & !(1 << bit_b) | value << bit_b;
                merged |= (lut >> source & 1) << row;
            }
            lut = merged;
        }
    }
    for k in 0..3 {
        if !depends(lut, k) && inst.srcs[k] != Opnd::Imm(0) {
            inst.srcs[k] = Opnd::Imm(0);
            *changed = true;
        }
    }
    match lut {
        0x00 => return Outcome::Copy(Opnd::Imm(0)),
        0xff => return Outcome::Copy(Opnd::Imm(ones)),
        0xf0 => return Outcome::Copy(inst.srcs[0]),
        0xcc => return Outcome::Copy(inst.srcs[1]),
        0xaa => return Outcome::Copy(inst.srcs[2]),
        _ => {}
    }
    if lut != old {
        inst.sub = Sub::Lut(lut);
        *changed = true;
    }
    Outcome::Stays
}

/// The table when input `k` is known.
fn fix_input(lut: u8, k: usize, value: bool) -> u8 {
    let bit = 2 - k;
    let mut out = 0;
    for row in 0..8u8 {
        let source = if value { row | 1 << bit } else { row & !(1 << bit) };
        out |= (lut >> source & 1) << row;
    }
    out
}

pub fn depends(lut: u8, k: usize) -> bool {
    fix_input(lut, k, false) != fix_input(lut, k, true)
}

pub fn predicate_logic(inst: &mut Inst, changed: &mut bool) -> Outcome {
    let Sub::Lut(old) = inst.sub else { return Outcome::Stays };
    let mut lut = old;
    // Negated sources move into the table, constants and repetitions out of it.
    for k in 0..3 {
        let p = inst.psrc[k];
        match p.value {
            None => lut = fix_input(lut, k, !p.negated),
            Some(_) if p.negated => {
                let bit = 2 - k;
                let mut flipped = 0;
                for row in 0..8u8 {
                    flipped |= (lut >> (row ^ 1 << bit) & 1) << row;
                }
                lut = flipped;
                inst.psrc[k].negated = false;
            }
            Some(_) => {}
        }
    }
    for (a, b) in [(0, 1), (0, 2), (1, 2)] {
        if inst.psrc[a].value.is_some() && inst.psrc[a].value == inst.psrc[b].value {
            let (bit_a, bit_b) = (2 - a, 2 - b);
            let mut merged = 0u8;
            for row in 0..8u8 {
                let source = row & !(1 << bit_b) | (row >> bit_a & 1) << bit_b;
                merged |= (lut >> source & 1) << row;
            }
            lut = merged;
        }
    }
    for k in 0..3 {
        if !depends(lut, k) {
            inst.psrc[k] = PredUse::TRUE;
        }
    }
    if lut != old {
        inst.sub = Sub::Lut(lut);
        *changed = true;
    }
    if inst.pdst[1].is_some() {
        return Outcome::Stays;
    }
    match lut {
        0x00 => Outcome::Pred(PredUse::FALSE),
        0xff => Outcome::Pred(PredUse::TRUE),
        0xf0 => Outcome::Pred(inst.psrc[0]),
        0xcc => Outcome::Pred(inst.psrc[1]),
        0xaa => Outcome::Pred(inst.psrc[2]),
        0x0f => Outcome::Pred(!inst.psrc[0]),
        0x33 => Outcome::Pred(!inst.psrc[1]),
        0x55 => Outcome::Pred(!inst.psrc[2]),
        _ => Outcome::Stays,
    }
}
