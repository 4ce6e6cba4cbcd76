// SPDX-License-Identifier: MIT OR Apache-2.0
//! Clean-up of the SSA form, up to what ptxas would hand to its register allocator.
//!
//! Order: contract products and sums, as the program is written; simplify (constants, copies, algebra) and merge equal computations until nothing changes; fold addresses; fuse pairs of operations
//! into the machine's three-input ones; predicate short branches; finally give every operand a legal form.

mod address;
mod blocks;
mod contract;
mod convert;
mod cse;
mod dce;
mod defs;
mod evaluate;
mod fuse;
mod logic;
mod narrow;
mod operands;
mod predicate;
mod simplify;

use crate::ir::Function;

/// Rounds of simplification after which we stop even if something still changes; real programs need three or four.
const MAX_ROUNDS: usize = 12;

pub fn run(f: &mut Function, predicate: bool) {
    blocks::clean(f);
    contract::run(f);
    settle(f);
    if narrow::run(f) {
        settle(f);
    }
    address::fold(f);
    fuse::run(f);
    settle(f);
    address::reassociate(f);
    address::fold(f);
    dce::run(f);
    if predicate && predicate::run(f) {
        blocks::clean(f);
        settle(f);
    }
    operands::materialize(f);
    cse::run(f);
    dce::run(f);
}

fn settle(f: &mut Function) {
    // Whether there may be equal computations, or ones without users, though nothing was rewritten.
    let mut unmerged = true;
    for _ in 0..MAX_ROUNDS {
        let (mut changed, mut rewritten) = simplify::run(f);
        changed |= blocks::clean(f);
        rewritten |= changed;
        if !unmerged && !rewritten {
            debug_assert!(!cse::run(f), "equal computations are left");
            break;
        }
        unmerged = cse::run(f);
        dce::run(f);
        if !changed && !unmerged {
            break;
        }
    }
}
