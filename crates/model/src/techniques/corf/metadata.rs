// SPDX-License-Identifier: MIT OR Apache-2.0
//! Metadata instructions at the start of a kernel: they are fetched, decoded and issued, and compute nothing.

use warpwatt_isa::{Op, Program, Ty, Uop};

use crate::techniques::kit::rewrite::insert;

/// Puts instructions ahead of a kernel. A loop that begins with the kernel's first instruction does not go through them again.
pub fn insert_metadata(program: &Program, count: usize) -> Program {
    let mut changed = insert(program, vec![(0, Uop::new(Op::Nop, Ty::U32)); count]);
    let first = count as u32;
    for uop in changed.uops.iter_mut().skip(count).filter(|uop| uop.op != Op::Brx) {
        for target in [&mut uop.target, &mut uop.reconv] {
            *target = (*target).max(first);
        }
    }
    for target in changed.tables.iter_mut().flatten() {
        *target = (*target).max(first);
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpwatt_isa::NO_PC;

    #[test]
    fn a_loop_around_the_whole_kernel_leaves_metadata_out() {
        let mut jump = Uop::new(Op::Bra, Ty::U32);
        jump.target = 0;
        let program = Program { uops: vec![jump, Uop::new(Op::Exit, Ty::U32)], ..Program::default() };
        let changed = insert_metadata(&program, 2);
        assert_eq!((changed.uops.len(), changed.uops[2].target, changed.uops[2].reconv), (4, 2, NO_PC));
        assert_eq!(changed.uops[0].op, Op::Nop);
        assert_eq!(insert_metadata(&program, 0).uops, program.uops);
    }
}
