// SPDX-License-Identifier: MIT OR Apache-2.0
//! Operations between lanes: shuffles, votes, matches and reductions (PTX ISA, "shfl.sync", "vote.sync", "match.sync", "redux.sync", "elect.sync").
//!
//! Here are only the values; the machine brings the lanes together that a member mask names, and they arrive as the mask.

use warpwatt_isa::{AtomOp, MatchMode, Op, ShflMode, Sub, Ty, Uop, VoteMode};

use super::maps::{fill, ones, pair, row, store};
use super::shell::{kernel, pick};
use super::{Args, Kernel, Level};

pub(super) fn select(level: Level, uop: &Uop) -> Option<Kernel> {
    match (uop.op, uop.sub) {
        (Op::Shfl, Sub::Shfl(mode)) => match mode {
            ShflMode::Up => pick::<Shfl<UP>>(level),
            ShflMode::Down => pick::<Shfl<DOWN>>(level),
            ShflMode::Bfly => pick::<Shfl<BUTTERFLY>>(level),
            ShflMode::Idx => pick::<Shfl<{ ShflMode::Idx as u8 }>>(level),
        },
        (Op::Vote, Sub::Vote(_)) => pick::<Vote>(level),
        (Op::Match, Sub::Match(_)) => match uop.ty.words() {
            1 => pick::<Match<false>>(level),
            2 => pick::<Match<true>>(level),
            _ => None,
        },
        (Op::Redux, Sub::Atom(op)) => match (op, uop.ty) {
            (AtomOp::Add | AtomOp::And | AtomOp::Or | AtomOp::Xor, Ty::U32 | Ty::S32) => pick::<Redux>(level),
            (AtomOp::Min | AtomOp::Max, Ty::U32 | Ty::S32) => pick::<Redux>(level),
            _ => None,
        },
        (Op::ActiveMask, _) => pick::<ActiveMask>(level),
        (Op::Elect, _) => pick::<Elect>(level),
        _ => None,
    }
}

const UP: u8 = ShflMode::Up as u8;
const DOWN: u8 = ShflMode::Down as u8;
const BUTTERFLY: u8 = ShflMode::Bfly as u8;

kernel!(Shfl<const MODE: u8>, |L, args, _uop| {
    let (a, b, c) = (row(args, 0, 0), row(args, 1, 0), row(args, 2, 0));
    let (mut from, mut inside) = ([0; 32], [0; 32]);
    for lane in 0..32u32 {
        let (shift, clamp) = (b[lane as usize] & 31, c[lane as usize] & 31);
        let segment = c[lane as usize] >> 8 & 31;
        let last = lane & segment | clamp & !segment;
        let (source, valid) = match MODE {
            // With `up` the clamp is the segment's lowest lane.
            UP => (lane.wrapping_sub(shift), lane as i32 - shift as i32 >= last as i32),
            DOWN => (lane + shift, lane + shift <= last),
            BUTTERFLY => (lane ^ shift, lane ^ shift <= last),
            _ => {
                let source = lane & segment | shift & !segment;
                (source, source <= last)
            }
        };
        from[lane as usize] = if valid { source & 31 } else { lane };
        inside[lane as usize] = ones(valid);
    }
    let inside = L::signs(&inside);
    args.pdst = [inside, !inside];
    // A lane that does not take part gives 0. PTX leaves it open, but that is what hardware does, and programs have come to rely on it:
    // the last step of many block reductions is done by fewer lanes than its shuffles reach.
    let present = args.mask;
    fill::<L>(args, |lane| a[(from[lane] & 31) as usize] & ones(present >> (from[lane] & 31) & 1 == 1));
});

kernel!(Vote, |L, args, uop| {
    let Sub::Vote(mode) = uop.sub else { return };
    let (active, holds) = (args.mask, args.psrc[0] & args.mask);
    let (all, any) = (holds == active, holds != 0);
    let p = match mode {
        VoteMode::All => all,
        VoteMode::Any => any,
        VoteMode::Uni => all || !any,
        VoteMode::Ballot => {
            store::<L>(args, 0, &[holds; 32]);
            any
        }
    };
    let p = u32::from(p).wrapping_neg();
    args.pdst = [p, !p];
});

/// Active lanes that a lane's member mask names.
#[inline(always)]
unsafe fn members(args: &Args, source: usize, lane: usize) -> u32 {
    // SAFETY: the contract of `Kernel`: rows span the micro-op's words.
    args.mask & unsafe { row(args, source, 0) }[lane]
}

kernel!(Match<const WIDE: bool>, |L, args, uop| {
    let all = uop.sub == Sub::Match(MatchMode::All);
    let mut values = [0u64; 32];
    for (lane, value) in values.iter_mut().enumerate() {
        *value = if WIDE { pair(args, 0).get(lane) } else { u64::from(row(args, 0, 0)[lane]) };
    }
    let (mut out, mut p) = ([0; 32], 0);
    for lane in 0..32 {
        let mut equal = 0;
        for (other, value) in values.iter().enumerate() {
            equal |= u32::from(*value == values[lane]) << other;
        }
        let members = members(args, 1, lane);
        let same = equal & members == members;
        p |= u32::from(same) << lane;
        out[lane] = match (all, same) {
            (false, _) => equal & members,
            (true, true) => members,
            (true, false) => 0,
        };
    }
    args.pdst = [p, !p];
    store::<L>(args, 0, &out);
});

kernel!(Redux, |L, args, uop| {
    let Sub::Atom(op) = uop.sub else { return };
    let a = row(args, 0, 0);
    let mut out = [0; 32];
    let (mut known, mut result) = (0, 0);
    for lane in 0..32 {
        let members = members(args, 1, lane);
        // The lanes of one reduction name the same members: it is computed once.
        if members != known && args.mask >> lane & 1 == 1 {
            let values = (0..32).filter(|i| members >> i & 1 == 1).map(|i| a[i]);
            let values = values.reduce(|x, y| match (op, uop.ty.is_signed()) {
                (AtomOp::Add, _) => x.wrapping_add(y),
                (AtomOp::And, _) => x & y,
                (AtomOp::Or, _) => x | y,
                (AtomOp::Min, false) => x.min(y),
                (AtomOp::Min, true) => (x as i32).min(y as i32) as u32,
                (AtomOp::Max, false) => x.max(y),
                (AtomOp::Max, true) => (x as i32).max(y as i32) as u32,
                _ => x ^ y,
            });
            (known, result) = (members, values.unwrap_or(0));
        }
        out[lane] = if members == 0 { 0 } else { result };
    }
    store::<L>(args, 0, &out);
});

kernel!(ActiveMask, |L, args, _uop| { store::<L>(args, 0, &[args.mask; 32]) });

kernel!(Elect, |L, args, _uop| {
    let mut p = 0;
    let mut out = [0; 32];
    for (lane, out) in out.iter_mut().enumerate() {
        let members = members(args, 0, lane);
        *out = members.trailing_zeros() & 31;
        p |= u32::from(members != 0 && *out == lane as u32) << lane;
    }
    args.pdst = [p, !p];
    fill::<L>(args, |lane| out[lane]);
});
