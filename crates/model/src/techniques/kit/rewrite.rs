// SPDX-License-Identifier: MIT OR Apache-2.0
//! Changes to a program by the compiler's half of a technique.

use warpwatt_isa::{NO_PC, Op, Program, Uop};

/// Puts micro-ops into a program, each ahead of the instruction at its index. Whatever jumped to that instruction jumps to them, so that they are
/// executed whenever it is. Several at one index keep their order. They get the source line of the instruction after them.
pub fn insert(program: &Program, mut new: Vec<(u32, Uop)>) -> Program {
    new.sort_by_key(|(at, _)| *at);
    // Where the instruction at an index, or what was put ahead of it, is now.
    let moved = |pc: u32| pc + new.partition_point(|(at, _)| *at < pc) as u32;
    let jump = |pc: u32| if pc == NO_PC { NO_PC } else { moved(pc) };
    let mut changed = program.clone();
    changed.uops.clear();
    changed.live_in.clear();
    let mut rest = new.iter().peekable();
    for (pc, uop) in (0..).zip(&program.uops) {
        let live = program.live_in.get(pc as usize);
        while let Some((_, added)) = rest.next_if(|(at, _)| *at <= pc) {
            changed.uops.push(Uop { loc: uop.loc, ..*added });
            changed.live_in.extend(live);
        }
        changed.live_in.extend(live);
        let target = match uop.op {
            // The number of a table.
            Op::Brx => uop.target,
            _ => jump(uop.target),
        };
        changed.uops.push(Uop { target, reconv: jump(uop.reconv), ..*uop });
    }
    for target in changed.tables.iter_mut().flatten() {
        *target = moved(*target);
    }
    for function in &mut changed.functions {
        (function.entry, function.end) = (moved(function.entry), moved(function.end));
    }
    for range in &mut changed.live_ranges {
        (range.from, range.to) = (moved(range.from), moved(range.to));
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpwatt_isa::{LiveRange, Ty};

    #[test]
    fn jumps_tables_and_ranges_follow_the_instructions() {
        let mut jump = Uop::new(Op::Bra, Ty::U32);
        (jump.target, jump.reconv) = (2, 1);
        let mut table = Uop::new(Op::Brx, Ty::U32);
        table.target = 0;
        let uops = vec![jump, table, Uop::new(Op::Exit, Ty::U32)];
        let live_ranges = vec![LiveRange { reg: 1, from: 0, to: 2 }];
        let live_in = vec![[0; 4], [2, 0, 0, 0], [0; 4]];
        let program = Program { uops, tables: vec![vec![0, 2]], live_ranges, live_in, ..Program::default() };
        let nop = || Uop::new(Op::Nop, Ty::U32);
        let changed = insert(&program, vec![(2, nop()), (0, nop()), (0, nop())]);
        let ops: Vec<_> = changed.uops.iter().map(|uop| uop.op).collect();
        assert_eq!(ops, [Op::Nop, Op::Nop, Op::Bra, Op::Brx, Op::Nop, Op::Exit]);
        assert_eq!((changed.uops[2].target, changed.uops[2].reconv), (4, 3), "to what is ahead of the exit");
        assert_eq!(changed.uops[3].target, 0, "the number of a table stays");
        assert_eq!(changed.tables, [[0, 4]]);
        assert_eq!(changed.live_in.iter().map(|live| live[0]).collect::<Vec<_>>(), [0, 0, 0, 2, 0, 0]);
        assert_eq!(changed.live_ranges, [LiveRange { reg: 1, from: 0, to: 4 }]);
    }
}
