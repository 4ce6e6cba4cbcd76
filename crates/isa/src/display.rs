// SPDX-License-Identifier: MIT OR Apache-2.0
//! Micro-ops as text, close to how disassemblers print the hardware's.

use std::fmt;

use crate::*;

impl fmt::Display for Reg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Reg::ZERO { f.write_str("RZ") } else { write!(f, "R{}", self.0) }
    }
}

impl fmt::Display for Pred {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Pred::TRUE { f.write_str("PT") } else { write!(f, "P{}", self.0) }
    }
}

impl fmt::Display for PredSrc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.negated { write!(f, "!{}", self.pred) } else { write!(f, "{}", self.pred) }
    }
}

/// The suffixes of an operation, such as `.RZ.FTZ.LT.AND`. Shared by the machine's printer and the compiler's.
pub fn suffixes(op: Op, ty: Ty, ty2: Ty, rnd: Round, sub: Sub, flags: Flags, mem: &MemAttr) -> String {
    let mut s = String::new();
    let mut put = |word: &str| {
        s.push('.');
        s.push_str(word);
    };
    let debug = |value: &dyn fmt::Debug| format!("{value:?}").to_uppercase();
    if matches!(op, Op::Ld | Op::St | Op::Atom | Op::Red) {
        match mem.space {
            Space::Const => put(&format!("C{}", mem.bank)),
            space => put(&debug(&space)),
        }
        if mem.cache != CacheOp::Default {
            put(&debug(&mem.cache));
        }
        if mem.order != Order::Weak {
            put(&debug(&mem.order));
        }
        if mem.vec > 1 {
            put(&format!("V{}", mem.vec));
        }
    }
    if ty != Ty::U32 || matches!(op, Op::Cvt | Op::Ld | Op::St) {
        put(ty.name());
    }
    if ty2 != ty || op == Op::Cvt {
        put(ty2.name());
    }
    if rnd != Round::Rn {
        put(&debug(&rnd));
    }
    match sub {
        Sub::None | Sub::SReg(_) => {}
        Sub::Cmp(cmp, BoolOp::And) => put(&debug(&cmp)),
        Sub::Cmp(cmp, combine) => {
            put(&debug(&cmp));
            put(&debug(&combine));
        }
        Sub::Lut(lut) => put(&format!("0x{lut:02x}")),
        Sub::Shift(n) => put(&format!("SH{n}")),
        Sub::MinMax(m) => put(&debug(&m)),
        Sub::Mufu(m) => put(&debug(&m)),
        Sub::Shfl(m) => put(&debug(&m)),
        Sub::Vote(m) => put(&debug(&m)),
        Sub::Match(m) => put(&debug(&m)),
        Sub::Atom(m) => put(&debug(&m)),
        Sub::Bar(m) => put(&debug(&m)),
        Sub::Prmt(m) => put(&debug(&m)),
        Sub::Tex(g, m) => {
            put(&debug(&g));
            put(&debug(&m));
        }
        Sub::Tld4(g, component) => {
            put(&debug(&g));
            put(["R", "G", "B", "A"][usize::from(component & 3)]);
        }
        Sub::Query(q) => put(&debug(&q)),
        Sub::Surf(g, clamp, formatted) => {
            put(&debug(&g));
            put(&debug(&clamp));
            put(if formatted { "P" } else { "B" });
        }
        Sub::SurfRed(g, clamp, atom) => {
            put(&debug(&g));
            put(&debug(&clamp));
            put(&debug(&atom));
        }
        Sub::Testp(p) => put(&debug(&p)),
        Sub::Sys(call) => put(&debug(&call)),
        Sub::Part(i) => put(&format!("{i}")),
    }
    const NAMES: [&str; 16] = [
        "FTZ",
        "SAT",
        "RELU",
        "NAN",
        "XORSIGN",
        "X",
        "W",
        "R",
        "SH",
        "H1",
        "SYNC",
        "UNI",
        "INT",
        "SATFINITE",
        "SPILL",
        "OOB",
    ];
    for (bit, name) in NAMES.iter().enumerate() {
        if flags.0 >> bit & 1 == 1 {
            put(name);
        }
    }
    s
}

impl fmt::Display for Uop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.guard != PredSrc::TRUE {
            write!(f, "@{} ", self.guard)?;
        }
        f.write_str(self.op.name())?;
        f.write_str(&suffixes(self.op, self.ty, self.ty2, self.rnd, self.sub, self.flags, &self.mem))?;
        let mut separator = " ";
        let mut item = |f: &mut fmt::Formatter<'_>, text: String| -> fmt::Result {
            f.write_str(separator)?;
            separator = ", ";
            f.write_str(&text)
        };
        for p in self.pdst {
            if p != Pred::TRUE {
                item(f, p.to_string())?;
            }
        }
        if self.dst_words() > 0 {
            item(f, self.dst.to_string())?;
        }
        let is_memory = matches!(self.op, Op::Ld | Op::St | Op::Atom | Op::Red | Op::Cctl | Op::Sys);
        for (i, src) in self.src.iter().enumerate() {
            let mut text = match src {
                Src::None => continue,
                Src::Reg(r) => r.to_string(),
                Src::Imm(v) if self.ty.is_float() && !is_memory => match self.ty {
                    Ty::F32 => format!("{:?}", f32::from_bits(*v)),
                    Ty::F64 => format!("{:?}", f64::from_bits(u64::from(*v) << 32)),
                    _ => format!("0x{v:x}"),
                },
                Src::Imm(v) => format!("0x{v:x}"),
                Src::Const { bank, offset } => format!("c[0x{bank:x}][0x{offset:x}]"),
            };
            if is_memory && i == 0 {
                text = match self.off {
                    0 => format!("[{text}]"),
                    n if n < 0 => format!("[{text}-0x{:x}]", n.unsigned_abs()),
                    n => format!("[{text}+0x{n:x}]"),
                };
            }
            if self.abs >> i & 1 == 1 {
                text = format!("|{text}|");
            }
            if self.neg >> i & 1 == 1 {
                text = format!("-{text}");
            }
            item(f, text)?;
        }
        for p in self.psrc {
            if p != PredSrc::TRUE {
                item(f, p.to_string())?;
            }
        }
        if let Sub::SReg(sreg) = self.sub {
            item(f, sreg.name().to_string())?;
        }
        if self.target != NO_PC {
            item(f, format!("L{}", self.target))?;
        }
        if self.reconv != NO_PC {
            write!(f, " /* meet L{} */", self.reconv)?;
        }
        Ok(())
    }
}
