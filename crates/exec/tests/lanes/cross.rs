// SPDX-License-Identifier: MIT OR Apache-2.0
//! Operations between lanes against plain loops over the definitions of the PTX ISA.

use warpwatt_exec::lanes::Level;
use warpwatt_isa::{AtomOp, Flags, MatchMode, Op, ShflMode, Sub, Ty, Uop, VoteMode};

use crate::support::*;

/// Runs at all levels with random operands of few different values; `want` gives destination and predicate of a lane.
fn warps(
    uop: &Uop,
    shape: impl Fn(&mut Random, usize) -> [u64; 4],
    want: impl Fn(&[Case], u32, usize) -> (Option<u64>, Option<bool>),
) {
    let mut random = Random(uop.op as u64);
    for turn in 0..200 {
        let warp: Vec<Case> = (0..32)
            .map(|lane| Case { src: shape(&mut random, lane), x: [random.next() % 5 < 2, false, false] })
            .collect();
        let mask = match turn % 4 {
            0 => u32::MAX,
            1 => 1 << (turn / 4 % 32),
            _ => random.next() as u32 | 1 << (random.next() % 32),
        };
        // Uniform predicates must occur too.
        let warp: Vec<Case> = match turn % 5 {
            0 => warp.iter().map(|c| Case { x: [true; 3], ..*c }).collect(),
            1 => warp.iter().map(|c| Case { x: [false; 3], ..*c }).collect(),
            _ => warp,
        };
        for level in Level::available() {
            for place in [20, 1] {
                let (before, after, pdst) = execute(level, uop, &warp, mask, place);
                for lane in 0..32 {
                    let (dst, p) = want(&warp, mask, lane);
                    if mask >> lane & 1 == 0 || dst.is_none() {
                        assert_eq!(
                            before[place].0[lane], after[place].0[lane],
                            "{uop}, mask {mask:x}, lane {lane}"
                        );
                    }
                    if mask >> lane & 1 == 0 {
                        continue;
                    }
                    if let Some(dst) = dst {
                        assert_eq!(
                            u64::from(after[place].0[lane]),
                            dst,
                            "{uop}, mask {mask:x}, lane {lane} {:x?}",
                            warp[lane]
                        );
                    }
                    if let Some(p) = p {
                        assert_eq!(
                            pdst[0] >> lane & 1 == 1,
                            p,
                            "{uop}, mask {mask:x}, lane {lane} {:x?}",
                            warp[lane]
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn shuffles_follow_segment_and_clamp() {
    for mode in [ShflMode::Up, ShflMode::Down, ShflMode::Bfly, ShflMode::Idx] {
        let mut op = with_predicates(uop(Op::Shfl, Ty::U32));
        (op.sub, op.flags) = (Sub::Shfl(mode), Flags::SYNC);
        let shape = |random: &mut Random, lane: usize| {
            let segment = [0, 0x1000, 0x1800, 0x1c00, 0x1e00][random.next() as usize % 5];
            [
                lane as u64 * 1000 + 7,
                random.next() % 40,
                segment | [0, 31, random.next() % 32][random.next() as usize % 3],
                u64::MAX,
            ]
        };
        warps(&op, shape, |warp, present, lane| {
            let lane = lane as i64;
            let (b, c) = (warp[lane as usize].src[1] as i64, warp[lane as usize].src[2] as i64);
            let (bval, cval, mask) = (b & 31, c & 31, c >> 8 & 31);
            let max_lane = (lane & mask) | (cval & !mask & 31);
            let min_lane = lane & mask;
            let (j, valid) = match mode {
                ShflMode::Up => (lane - bval, lane - bval >= max_lane),
                ShflMode::Down => (lane + bval, lane + bval <= max_lane),
                ShflMode::Bfly => (lane ^ bval, (lane ^ bval) <= max_lane),
                ShflMode::Idx => {
                    let j = min_lane | (bval & !mask & 31);
                    (j, j <= max_lane)
                }
            };
            let j = if valid { j } else { lane };
            // Lanes that are not there give 0.
            (Some(if present >> j & 1 == 1 { warp[j as usize].src[0] } else { 0 }), Some(valid))
        });
    }
}

#[test]
fn votes_count_active_lanes_only() {
    for mode in [VoteMode::All, VoteMode::Any, VoteMode::Uni, VoteMode::Ballot] {
        let mut op = with_predicates(uop(Op::Vote, Ty::U32));
        op.sub = Sub::Vote(mode);
        warps(
            &op,
            |_, _| [u64::MAX; 4],
            |warp, mask, _| {
                let active: Vec<usize> = (0..32).filter(|i| mask >> i & 1 == 1).collect();
                let holds = active.iter().filter(|&&i| warp[i].x[0]).count();
                match mode {
                    VoteMode::All => (None, Some(holds == active.len())),
                    VoteMode::Any => (None, Some(holds > 0)),
                    VoteMode::Uni => (None, Some(holds == 0 || holds == active.len())),
                    VoteMode::Ballot => {
                        (Some(active.iter().map(|&i| u64::from(warp[i].x[0]) << i).sum()), None)
                    }
                }
            },
        );
    }
}

#[test]
fn matches_find_equal_values() {
    for (ty, high) in [(Ty::U32, 0), (Ty::U64, 32)] {
        for mode in [MatchMode::Any, MatchMode::All] {
            let mut op = with_predicates(uop(Op::Match, ty));
            op.sub = Sub::Match(mode);
            let shape = move |random: &mut Random, lane: usize| {
                let few = if lane < 4 { random.next() % 2 } else { 1 };
                [few << high, 0xffff_ffff, 0, 0]
            };
            warps(&op, shape, |warp, mask, lane| {
                let active: Vec<usize> = (0..32).filter(|i| mask >> i & 1 == 1).collect();
                let equal: u64 =
                    active.iter().filter(|&&i| warp[i].src[0] == warp[lane].src[0]).map(|i| 1 << i).sum();
                match mode {
                    MatchMode::Any => (Some(equal), None),
                    MatchMode::All if equal == u64::from(mask) => (Some(equal), Some(true)),
                    MatchMode::All => (Some(0), Some(false)),
                }
            });
        }
    }
}

#[test]
fn reductions_combine_the_members() {
    for ty in [Ty::U32, Ty::S32] {
        for atom in [AtomOp::Add, AtomOp::Min, AtomOp::Max, AtomOp::And, AtomOp::Or, AtomOp::Xor] {
            let mut op = uop(Op::Redux, ty);
            op.sub = Sub::Atom(atom);
            warps(
                &op,
                |random, _| [random.next() & 0xffff_ffff, 0xffff_ffff, 0, 0],
                |warp, mask, _| {
                    let values = (0..32).filter(|i| mask >> i & 1 == 1).map(|i| warp[i].src[0] as u32);
                    let signed = || values.clone().map(|v| v as i32);
                    let result = match (atom, ty) {
                        (AtomOp::Add, _) => values.clone().map(u64::from).sum::<u64>() as u32,
                        (AtomOp::And, _) => values.clone().fold(!0, |a, b| a & b),
                        (AtomOp::Or, _) => values.clone().fold(0, |a, b| a | b),
                        (AtomOp::Xor, _) => values.clone().fold(0, |a, b| a ^ b),
                        (AtomOp::Min, Ty::U32) => values.clone().min().unwrap(),
                        (AtomOp::Min, _) => signed().min().unwrap() as u32,
                        (_, Ty::U32) => values.clone().max().unwrap(),
                        _ => signed().max().unwrap() as u32,
                    };
                    (Some(u64::from(result)), None)
                },
            );
        }
    }
}

#[test]
fn the_active_lanes_and_their_leader_are_known() {
    warps(&uop(Op::ActiveMask, Ty::U32), |_, _| [0; 4], |_, mask, _| (Some(u64::from(mask)), None));
    let op = with_predicates(uop(Op::Elect, Ty::U32));
    warps(
        &op,
        |_, _| [0xffff_ffff, 0, 0, 0],
        |_, mask, lane| {
            let leader = mask.trailing_zeros();
            (Some(u64::from(leader)), Some(lane as u32 == leader))
        },
    );
}

#[test]
fn operations_that_are_not_about_registers_have_no_kernel() {
    use warpwatt_exec::lanes::select;
    for op in [Op::Ld, Op::St, Op::Atom, Op::Bra, Op::Bar, Op::Exit, Op::S2r, Op::Tex, Op::Phi] {
        assert!(select(Level::Plain, &uop(op, Ty::U32)).is_none(), "{op:?}");
    }
    // Forms that the machine does not have.
    assert!(select(Level::Plain, &uop(Op::Iadd3, Ty::F32)).is_none());
    assert!(select(Level::Plain, &uop(Op::Isetp, Ty::U32)).is_none(), "a comparison needs to know which");
    assert!(select(Level::Plain, &uop(Op::Shl, Ty::U64)).is_none());
}
