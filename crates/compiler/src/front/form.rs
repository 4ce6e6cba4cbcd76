// SPDX-License-Identifier: MIT OR Apache-2.0
//! The form of an instruction: its suffixes, taken one by one, so that an unexpected suffix is reported and never ignored.

use warpwatt_base::Interner;
use warpwatt_isa::{Flags, Round, Scope};
use warpwatt_ptx::Diagnostic;
use warpwatt_ptx::ast::{Instr, Operand, Scalar};
use warpwatt_ptx::words::{Mod, Opcode};

use super::types;

/// An error in one instruction.
pub type Lower<T = ()> = Result<T, Diagnostic>;

pub struct Form<'i> {
    pub instr: &'i Instr,
    pub names: &'i Interner,
    used: u64,
}

impl<'i> Form<'i> {
    pub fn of(instr: &'i Instr, names: &'i Interner) -> Form<'i> {
        Form { instr, names, used: 0 }
    }

    fn unused(&self) -> impl Iterator<Item = (usize, Mod)> + '_ {
        self.instr.mods.iter().copied().enumerate().filter(|(k, _)| *k < 64 && self.used >> k & 1 == 0)
    }

    /// The first suffix that `f` understands.
    pub fn pick<T>(&mut self, f: impl Fn(Mod) -> Option<T>) -> Option<T> {
        let (k, found) = self.unused().find_map(|(k, m)| f(m).map(|t| (k, t)))?;
        self.used |= 1 << k;
        Some(found)
    }

    pub fn take(&mut self, word: Mod) -> bool {
        self.pick(|m| (m == word).then_some(())).is_some()
    }

    /// A suffix outside of the known words, by how it starts.
    pub fn take_other(&mut self, starts: &[&str]) -> bool {
        let names = self.names;
        self.pick(|m| match m {
            Mod::Other(sym) => starts.iter().any(|s| names.get(sym).starts_with(s)).then_some(()),
            _ => None,
        })
        .is_some()
    }

    pub fn has(&self, word: Mod) -> bool {
        self.instr.mods.contains(&word)
    }

    pub fn ty_opt(&mut self) -> Option<Scalar> {
        self.pick(types::of_mod)
    }

    pub fn ty(&mut self) -> Lower<Scalar> {
        self.ty_opt().ok_or_else(|| {
            Diagnostic::error("ptx-type", self.instr.span, format!("`{}` needs a type", self.text()))
                .with_help("add one such as `.s32` or `.f32`")
        })
    }

    /// A type out of a list; anything else is not supported.
    pub fn ty_of(&mut self, allowed: &[Scalar]) -> Lower<Scalar> {
        let ty = self.ty()?;
        if allowed.contains(&ty) { Ok(ty) } else { Err(self.unsupported()) }
    }

    pub fn round(&mut self) -> Option<Round> {
        self.pick(|m| match m {
            Mod::Rn => Some(Round::Rn),
            Mod::Rz => Some(Round::Rz),
            Mod::Rm => Some(Round::Rm),
            Mod::Rp => Some(Round::Rp),
            _ => None,
        })
    }

    /// `.ftz` and `.sat`, where the instruction has them.
    pub fn float_flags(&mut self) -> Flags {
        let mut flags = Flags::NONE;
        if self.take(Mod::Ftz) {
            flags = flags | Flags::FTZ;
        }
        if self.take(Mod::Sat) {
            flags = flags | Flags::SAT;
        }
        flags
    }

    pub fn scope(&mut self) -> Option<Scope> {
        self.pick(|m| match m {
            Mod::Cta => Some(Scope::Cta),
            Mod::Cluster => Some(Scope::Cluster),
            Mod::Gpu | Mod::Gl => Some(Scope::Gpu),
            Mod::Sys => Some(Scope::Sys),
            _ => None,
        })
    }

    /// Nothing may be left over.
    pub fn end(&self) -> Lower {
        match self.unused().next() {
            None if self.instr.mods.len() <= 64 => Ok(()),
            _ => Err(self.unsupported()),
        }
    }

    pub fn text(&self) -> String {
        spelled(self.instr, self.names)
    }

    pub fn unsupported(&self) -> Diagnostic {
        let help = advice(self.instr.op);
        Diagnostic::error(
            "ptx-unsupported",
            self.instr.span,
            format!("the instruction form `{}` is not supported", self.text()),
        )
        .with_help(help)
    }

    /// The operands, whose number must lie in a range.
    pub fn operands(&self, least: usize, most: usize) -> Lower<&'i [Operand]> {
        let n = self.instr.operands.len();
        if (least..=most).contains(&n) {
            return Ok(&self.instr.operands);
        }
        let wanted = if least == most { format!("{least}") } else { format!("{least} to {most}") };
        Err(Diagnostic::error(
            "ptx-operand-count",
            self.instr.span,
            format!("`{}` takes {wanted} operands, this one has {n}", self.text()),
        )
        .with_help("compare with the instruction's syntax in the PTX ISA"))
    }

    pub fn exactly<const N: usize>(&self) -> Lower<&'i [Operand; N]> {
        let list = self.operands(N, N)?;
        list.try_into().map_err(|_| self.unsupported())
    }
}

/// The instruction's name with its suffixes.
pub fn spelled(instr: &Instr, names: &Interner) -> String {
    let mut text = match instr.op {
        Opcode::Unknown(sym) => names.get(sym).to_owned(),
        op => op.text().unwrap_or_default().to_owned(),
    };
    for &m in &instr.mods {
        text.push('.');
        text.push_str(match m {
            Mod::Other(sym) => names.get(sym),
            m => m.text().unwrap_or_default(),
        });
    }
    text
}

/// What can be done about an instruction that is not supported.
fn advice(op: Opcode) -> &'static str {
    use Opcode::*;
    match op {
        Wmma | Mma | Wgmma | Ldmatrix | Stmatrix | Movmatrix | Tcgen05 => {
            "tensor-core instructions are not simulated yet; build the kernel without them. Programs that query the compute capability use FMA on an older GPU: try `exec --capability 7.5` (Triton), or 6.1 if the PTX is for sm_70 to sm_75"
        }
        Cp | Mbarrier | Tensormap | Clusterlaunchcontrol => {
            "asynchronous copies are not simulated yet; use plain loads and `bar.sync`. Programs that query the compute capability use those on an older GPU: try `exec --capability 7.5`"
        }
        Mapa | Getctarank | Multimem => "thread block clusters are not simulated",
        Vadd2 | Vadd4 | Vsub2 | Vsub4 | Vavrg2 | Vavrg4 | Vabsdiff2 | Vabsdiff4 | Vmin2 | Vmin4 | Vmax2
        | Vmax4 | Vset2 | Vset4 => {
            "selectors of bytes or halves are not supported here; rearrange the operands with `prmt` first"
        }
        Unknown(_) => "this is not a known PTX instruction",
        _ => "check the suffixes and types against the PTX ISA, or write it with simpler instructions",
    }
}
