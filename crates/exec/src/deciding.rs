// SPDX-License-Identifier: MIT OR Apache-2.0
//! The registers on which control flow and memory depend: those that feed branches, addresses and stores.
//!
//! A loop that waits may count its iterations. A counter on which nothing in the loop depends does not change whether the loop
//! ever ends.

use warpwatt_isa::{Op, Pred, PredSrc, Reg, SReg, Src, Sub, Uop};

use crate::image::{Image, UopKind};

/// Sets of these registers and predicates.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Deciding {
    registers: [u64; 4],
    predicates: u8,
    /// One of them is read from a clock, so that its value differs each time.
    pub time: bool,
}

impl Deciding {
    /// For warps that execute these instructions only.
    pub(crate) fn of(image: &Image, executed: impl Fn(usize) -> bool) -> Deciding {
        let uops = &image.program().uops;
        let executed: Vec<usize> = (0..uops.len()).filter(|&pc| executed(pc)).collect();
        let mut set = Deciding::default();
        loop {
            let before = set.clone();
            for &pc in &executed {
                let uop = &uops[pc];
                let computes = matches!(image.code[pc].kind, UopKind::Alu | UopKind::S2r | UopKind::Nop);
                if !computes || set.has_result_of(uop) {
                    set.add_operands_of(uop);
                }
            }
            if set == before {
                return set;
            }
        }
    }

    pub(crate) fn has(&self, register: usize) -> bool {
        self.registers[register / 64 % 4] >> (register % 64) & 1 != 0
    }

    pub(crate) fn has_predicate(&self, predicate: usize) -> bool {
        self.predicates >> predicate & 1 != 0
    }

    fn has_result_of(&self, uop: &Uop) -> bool {
        let words = if uop.dst == Reg::ZERO { 0 } else { uop.dst_words() as usize };
        let first = usize::from(uop.dst.0);
        (first..first + words).any(|register| self.has(register))
            || uop.pdst.iter().any(|&pred| pred != Pred::TRUE && self.has_predicate(usize::from(pred.0)))
    }

    fn add_operands_of(&mut self, uop: &Uop) {
        for (i, source) in uop.src.iter().enumerate() {
            if let Src::Reg(register) = source
                && *register != Reg::ZERO
            {
                let first = usize::from(register.0);
                for register in first..first + uop.src_words(i) as usize {
                    self.registers[register / 64 % 4] |= 1 << (register % 64);
                }
            }
        }
        for PredSrc { pred, .. } in uop.psrc.iter().chain([&uop.guard]) {
            self.predicates |= 1 << (pred.0 & 7);
        }
        let clock =
            |sreg| matches!(sreg, SReg::ClockLo | SReg::ClockHi | SReg::GlobalTimerLo | SReg::GlobalTimerHi);
        self.time |= uop.op == Op::S2r && matches!(uop.sub, Sub::SReg(sreg) if clock(sreg));
    }
}
