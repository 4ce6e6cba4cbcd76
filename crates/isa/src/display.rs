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

/// Names of the flags, by bit.
const FLAGS: [&str; 16] = [
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

/// Words with a dot before each.
struct Suffixes(String);

impl Suffixes {
    fn put(&mut self, word: &str) {
        self.0.push('.');
        self.0.push_str(word);
    }

    fn debug(&mut self, value: &dyn fmt::Debug) {
        self.put(&format!("{value:?}").to_uppercase());
    }

    fn memory(&mut self, mem: &MemAttr) {
        match mem.space {
            Space::Const => self.put(&format!("C{}", mem.bank)),
            space => self.debug(&space),
        }
        if mem.cache != CacheOp::Default {
            self.debug(&mem.cache);
        }
        if mem.order != Order::Weak {
            self.debug(&mem.order);
        }
        if mem.vec > 1 {
            self.put(&format!("V{}", mem.vec));
        }
    }

    fn sub(&mut self, sub: Sub) {
        match sub {
            Sub::None | Sub::SReg(_) => {}
            Sub::Cmp(cmp, BoolOp::And) => self.debug(&cmp),
            Sub::Cmp(cmp, combine) => {
                self.debug(&cmp);
                self.debug(&combine);
            }
            Sub::Lut(lut) => self.put(&format!("0x{lut:02x}")),
            Sub::Shift(n) => self.put(&format!("SH{n}")),
            Sub::MinMax(m) => self.debug(&m),
            Sub::Mufu(m) => self.debug(&m),
            Sub::Shfl(m) => self.debug(&m),
            Sub::Vote(m) => self.debug(&m),
            Sub::Match(m) => self.debug(&m),
            Sub::Atom(m) => self.debug(&m),
            Sub::Bar(m) => self.debug(&m),
            Sub::Prmt(m) => self.debug(&m),
            Sub::Tex(g, m) => {
                self.debug(&g);
                self.debug(&m);
            }
            Sub::Tld4(g, component) => {
                self.debug(&g);
                self.put(["R", "G", "B", "A"][usize::from(component & 3)]);
            }
            Sub::Query(q) => self.debug(&q),
            Sub::Surf(g, clamp, formatted) => {
                self.debug(&g);
                self.debug(&clamp);
                self.put(if formatted { "P" } else { "B" });
            }
            Sub::SurfRed(g, clamp, atom) => {
                self.debug(&g);
                self.debug(&clamp);
                self.debug(&atom);
            }
            Sub::Testp(p) => self.debug(&p),
            Sub::Sys(call) => self.debug(&call),
            Sub::Part(i) => self.put(&format!("{i}")),
        }
    }
}

/// The suffixes of an operation, such as `.RZ.FTZ.LT.AND`. Shared by the machine's printer and the compiler's.
pub fn suffixes(op: Op, ty: Ty, ty2: Ty, rnd: Round, sub: Sub, flags: Flags, mem: &MemAttr) -> String {
    let mut words = Suffixes(String::new());
    if matches!(op, Op::Ld | Op::St | Op::Atom | Op::Red) {
        words.memory(mem);
    }
    if ty != Ty::U32 || matches!(op, Op::Cvt | Op::Ld | Op::St) {
        words.put(ty.name());
    }
    if ty2 != ty || op == Op::Cvt {
        words.put(ty2.name());
    }
    if rnd != Round::Rn {
        words.debug(&rnd);
    }
    words.sub(sub);
    for (bit, name) in FLAGS.iter().enumerate() {
        if flags.0 >> bit & 1 == 1 {
            words.put(name);
        }
    }
    words.0
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
