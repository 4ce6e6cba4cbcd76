// SPDX-License-Identifier: MIT OR Apache-2.0
//! The checker must refuse what is wrong: allocations of random functions are corrupted in one place each.

use warpwatt_base::SplitMix64;
use warpwatt_isa::{Flags, Op, Reg, Src};

use super::code::CodedFunction;
use super::machine::INSERTED;
use super::{BackOptions, allocate, check};
use crate::ir::Function;

#[path = "../../tests/back_support/generator.rs"]
mod generator;

use generator::{Shape, function};

fn allocated(seed: u64, budget: u32, is_kernel: bool) -> (Function, CodedFunction) {
    let mut f = function(seed, &Shape { length: 6, nesting: 2, pressure: 24 });
    if !is_kernel {
        f.is_kernel = false;
        for block in &mut f.blocks {
            if let crate::ir::Term::Exit { loc } = block.term {
                block.term = crate::ir::Term::Ret { loc };
            }
        }
    }
    let options = BackOptions { budget, ..BackOptions::default() };
    let (reference, coded) = allocate(f, &options).expect("random functions fit");
    check::run(&reference, &coded).expect("the allocation is sound");
    (reference, coded)
}

/// Every micro-op that a predicate picks, as block and index.
fn places(coded: &CodedFunction, pick: impl Fn(&super::code::Coded) -> bool) -> Vec<(usize, usize)> {
    let blocks = coded.order.iter().map(|b| b.index());
    blocks
        .flat_map(|b| coded.blocks[b].uops.iter().enumerate().map(move |(i, u)| (b, i, u)))
        .filter(|(_, _, u)| pick(u))
        .map(|(b, i, _)| (b, i))
        .collect()
}

/// Corrupts one place per round; gives how many corruptions were refused.
fn refused(
    reference: &Function,
    coded: &CodedFunction,
    rng: &mut SplitMix64,
    rounds: u32,
    pick: impl Fn(&super::code::Coded) -> bool,
    corrupt: impl Fn(&mut super::code::Coded, &mut SplitMix64),
) -> u32 {
    let candidates = places(coded, pick);
    assert!(!candidates.is_empty(), "nothing to corrupt");
    (0..rounds)
        .filter(|_| {
            let mut broken = coded.clone();
            let (b, i) = candidates[rng.below(candidates.len() as u32) as usize];
            corrupt(&mut broken.blocks[b].uops[i], rng);
            check::run(reference, &broken).is_err()
        })
        .count() as u32
}

fn another(reg: Reg, rng: &mut SplitMix64) -> Reg {
    loop {
        let other = Reg(rng.below(16) as u8);
        if other != reg && other != Reg::SP {
            return other;
        }
    }
}

#[test]
fn a_result_in_the_wrong_register_is_refused() {
    let mut rng = SplitMix64::new(1);
    for seed in 0..12 {
        let (reference, coded) = allocated(seed, [16, 255][seed as usize % 2], true);
        // A constant or a copy may by chance be where it is needed already.
        let computed = |u: &super::code::Coded| {
            u.origin != INSERTED && u.uop.dst != Reg::ZERO && !matches!(u.uop.op, Op::Mov | Op::S2r)
        };
        let n =
            refused(&reference, &coded, &mut rng, 25, computed, |u, rng| u.uop.dst = another(u.uop.dst, rng));
        assert_eq!(n, 25, "seed {seed}");
    }
}

#[test]
fn a_source_from_the_wrong_register_is_refused() {
    let mut rng = SplitMix64::new(2);
    let (mut wrong, mut caught) = (0, 0);
    for seed in 20..32 {
        let (reference, coded) = allocated(seed, [16, 255][seed as usize % 2], true);
        let reads = |u: &super::code::Coded| {
            u.origin != INSERTED && matches!(u.uop.src[0], Src::Reg(r) if r != Reg::ZERO && r != Reg::SP)
        };
        wrong += 25;
        caught += refused(&reference, &coded, &mut rng, 25, reads, |u, rng| {
            if let Src::Reg(r) = u.uop.src[0] {
                u.uop.src[0] = Src::Reg(another(r, rng));
            }
        });
    }
    // Another register may hold a copy of the same value; that is no error.
    assert!(caught * 100 >= wrong * 97, "{caught} of {wrong}");
}

#[test]
fn a_spill_slot_mixed_up_is_refused() {
    let mut rng = SplitMix64::new(3);
    for seed in 40..46 {
        let (reference, coded) = allocated(seed, 16, true);
        let spill_load = |u: &super::code::Coded| {
            u.origin == INSERTED && u.uop.op == Op::Ld && u.uop.flags.has(Flags::SPILL)
        };
        let n = refused(&reference, &coded, &mut rng, 20, spill_load, |u, _| u.uop.off += 4);
        assert_eq!(n, 20, "seed {seed}");
    }
}

#[test]
fn a_predicate_mixed_up_is_refused() {
    let mut rng = SplitMix64::new(4);
    for seed in 60..66 {
        let (reference, coded) = allocated(seed, 255, true);
        let guarded = |u: &super::code::Coded| u.uop.guard.pred.0 < 7;
        let n = refused(&reference, &coded, &mut rng, 20, guarded, |u, _| u.uop.guard.negated ^= true);
        assert_eq!(n, 20, "seed {seed}");
    }
}

#[test]
fn a_caller_register_that_is_not_restored_is_refused() {
    for seed in 80..86 {
        let (reference, coded) = allocated(seed, 20, false);
        let restores = places(&coded, |u| {
            u.origin == INSERTED && u.uop.op == Op::Ld && u.uop.off >= coded.frame.saved as i32
        });
        for &(b, i) in &restores {
            let mut broken = coded.clone();
            broken.blocks[b].uops.remove(i);
            assert!(check::run(&reference, &broken).is_err(), "seed {seed}: {}", coded.blocks[b].uops[i].uop);
        }
        assert!(!restores.is_empty());
    }
}

#[test]
fn a_lost_instruction_is_refused() {
    let mut rng = SplitMix64::new(5);
    for seed in 100..106 {
        let (reference, coded) = allocated(seed, 255, true);
        let stores = places(&coded, |u| u.origin != INSERTED && u.uop.op == Op::St);
        for _ in 0..10 {
            let (b, i) = stores[rng.below(stores.len() as u32) as usize];
            let mut broken = coded.clone();
            broken.blocks[b].uops.remove(i);
            assert!(check::run(&reference, &broken).is_err(), "seed {seed}");
        }
    }
}
