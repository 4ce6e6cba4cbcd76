// SPDX-License-Identifier: MIT OR Apache-2.0
//! The intermediate form as text, for `--emit ir` and golden tests.

use std::fmt::Write;

use warpwatt_isa::suffixes;

use crate::ir::{Frame, Function, Inst, Opnd, Part, PredUse, Term, Value};

pub fn function(f: &Function) -> String {
    let mut out = String::new();
    let kind = if f.is_kernel { "kernel" } else { "func" };
    let _ = writeln!(
        out,
        "{kind} {} (out {}, local {}, spill {})",
        f.name, f.out_bytes, f.local_bytes, f.spill_bytes
    );
    for id in f.block_ids() {
        let block = f.block(id);
        let preds: Vec<String> = block.preds.iter().map(|p| format!("b{}", p.0)).collect();
        let _ = writeln!(
            out,
            "b{}:{}",
            id.0,
            if preds.is_empty() { String::new() } else { format!("  ; from {}", preds.join(" ")) }
        );
        for inst in &block.insts {
            let _ = writeln!(out, "    {}", self::inst(f, inst));
        }
        let _ = writeln!(out, "    {}", term(f, &block.term));
    }
    out
}

fn name(f: &Function, value: Value) -> String {
    let prefix = match f.words(value) {
        0 => "p",
        1 => "v",
        2 => "d",
        _ => "q",
    };
    format!("{prefix}{}", value.0)
}

fn part(f: &Function, p: Part) -> String {
    if p.words == f.words(p.value) {
        name(f, p.value)
    } else if p.words == 1 {
        format!("{}.{}", name(f, p.value), p.lane)
    } else {
        format!("{}.{}:{}", name(f, p.value), p.lane, p.lane + p.words - 1)
    }
}

fn opnd(f: &Function, o: Opnd) -> String {
    match o {
        Opnd::None => "_".into(),
        Opnd::Value(p) => part(f, p),
        Opnd::Imm(v) => format!("0x{v:x}"),
        Opnd::Const { bank, offset } => format!("c[0x{bank:x}][0x{offset:x}]"),
        Opnd::Sp => "sp".into(),
    }
}

fn pred(f: &Function, p: PredUse) -> String {
    let text = p.value.map_or("pt".into(), |v| name(f, v));
    if p.negated { format!("!{text}") } else { text }
}

pub fn inst(f: &Function, i: &Inst) -> String {
    let mut s = String::new();
    if i.guard != PredUse::TRUE {
        let _ = write!(s, "@{} ", pred(f, i.guard));
    }
    let mut defs = Vec::new();
    i.for_each_def(|p| defs.push(part(f, p)));
    if !defs.is_empty() {
        let _ = write!(s, "{} = ", defs.join(", "));
    }
    s.push_str(i.op.name());
    s.push_str(&suffixes(i.op, i.ty, i.ty2, i.rnd, i.sub, i.flags, &i.mem));
    let mut args = Vec::new();
    for (k, &src) in i.srcs.iter().enumerate() {
        let mut text = opnd(f, src);
        if i.abs >> k & 1 == 1 {
            text = format!("|{text}|");
        }
        if i.neg >> k & 1 == 1 {
            text = format!("-{text}");
        }
        args.push(text);
    }
    for p in i.psrc {
        if p != PredUse::TRUE {
            args.push(pred(f, p));
        }
    }
    if let warpwatt_isa::Sub::SReg(sreg) = i.sub {
        args.push(sreg.name().into());
    }
    if i.callee != u32::MAX {
        args.push(format!("fn{}", i.callee));
    }
    if i.off != 0 || i.frame != Frame::None {
        args.push(match i.frame {
            Frame::None => format!("off={}", i.off),
            frame => format!("off={frame:?}+{}", i.off),
        });
    }
    if i.keep != Opnd::None {
        args.push(format!("keep={}", opnd(f, i.keep)));
    }
    for p in i.pkeep.into_iter().flatten() {
        args.push(format!("keep={}", pred(f, p)));
    }
    if !args.is_empty() {
        let _ = write!(s, " {}", args.join(", "));
    }
    s
}

fn term(f: &Function, t: &Term) -> String {
    match t {
        Term::Jump(b) => format!("jump b{}", b.0),
        Term::Branch { cond, taken, other, uniform, .. } => {
            format!(
                "branch{} {} ? b{} : b{}",
                if *uniform { ".uni" } else { "" },
                pred(f, *cond),
                taken.0,
                other.0
            )
        }
        Term::Table { index, targets, .. } => {
            let list: Vec<String> = targets.iter().map(|b| format!("b{}", b.0)).collect();
            format!("table {} [{}]", opnd(f, *index), list.join(" "))
        }
        Term::Ret { .. } => "ret".into(),
        Term::Exit { .. } => "exit".into(),
        Term::Unreachable => "unreachable".into(),
    }
}
