// SPDX-License-Identifier: MIT OR Apache-2.0
//! Applying a function of one lane to all 32 of them.
//!
//! Results are collected in local arrays before anything is stored: sources may overlap the destination, and the compiler sees that the loop has no
//! aliases and vectorises it. With a full mask the result is stored as it is; otherwise it is blended with the old value.

use super::shell::Isa;
use super::{Args, Row};

pub(super) type Words = [u32; 32];

/// Word `word` of source `i`, all lanes.
///
/// # Safety
/// The source must have that many rows.
#[inline(always)]
pub(super) unsafe fn row<'a>(args: &Args, i: usize, word: usize) -> &'a Words {
    // SAFETY: the contract of `Kernel`: rows span the micro-op's words.
    unsafe { &(*(*args.src)[i].row(&args.bases).add(word)).0 }
}

/// Stores a result in word `word` of the destination, in the lanes of the mask.
///
/// # Safety
/// The destination must have that many rows.
#[inline(always)]
pub(super) unsafe fn store<L: Isa>(args: &mut Args, word: usize, value: &Words) {
    // SAFETY: the contract of `Kernel`: rows span the micro-op's words.
    let dst = unsafe { &mut *args.dst.add(word) };
    if args.mask == u32::MAX {
        *dst = Row(*value);
    } else {
        L::blend(dst, value, args.mask);
    }
}

#[inline(always)]
pub(super) unsafe fn map1<L: Isa>(args: &mut Args, f: impl Fn(u32) -> u32) {
    // SAFETY: the contract of `Kernel`: rows span the micro-op's words.
    let a = unsafe { row(args, 0, 0) };
    let mut out = [0; 32];
    for lane in 0..32 {
        out[lane] = f(a[lane]);
    }
    // SAFETY: the contract of `Kernel`: rows span the micro-op's words.
    unsafe { store::<L>(args, 0, &out) };
}

#[inline(always)]
pub(super) unsafe fn map2<L: Isa>(args: &mut Args, f: impl Fn(u32, u32) -> u32) {
    // SAFETY: the contract of `Kernel`: rows span the micro-op's words.
    let (a, b) = unsafe { (row(args, 0, 0), row(args, 1, 0)) };
    let mut out = [0; 32];
    for lane in 0..32 {
        out[lane] = f(a[lane], b[lane]);
    }
    // SAFETY: the contract of `Kernel`: rows span the micro-op's words.
    unsafe { store::<L>(args, 0, &out) };
}

#[inline(always)]
pub(super) unsafe fn map3<L: Isa>(args: &mut Args, f: impl Fn(u32, u32, u32) -> u32) {
    // SAFETY: the contract of `Kernel`: rows span the micro-op's words.
    let (a, b, c) = unsafe { (row(args, 0, 0), row(args, 1, 0), row(args, 2, 0)) };
    let mut out = [0; 32];
    for lane in 0..32 {
        out[lane] = f(a[lane], b[lane], c[lane]);
    }
    // SAFETY: the contract of `Kernel`: rows span the micro-op's words.
    unsafe { store::<L>(args, 0, &out) };
}

/// As [`map3`], with a carry into each lane.
#[inline(always)]
pub(super) unsafe fn map3x<L: Isa>(args: &mut Args, x: u32, f: impl Fn(u32, u32, u32, u32) -> u32) {
    // SAFETY: the contract of `Kernel`: rows span the micro-op's words.
    let (a, b, c) = unsafe { (row(args, 0, 0), row(args, 1, 0), row(args, 2, 0)) };
    let mut out = [0; 32];
    for lane in 0..32 {
        out[lane] = f(a[lane], b[lane], c[lane], x >> lane & 1);
    }
    // SAFETY: the contract of `Kernel`: rows span the micro-op's words.
    unsafe { store::<L>(args, 0, &out) };
}

/// As [`map3x`]; the second result is a word whose top bit is the lane's predicate result.
#[inline(always)]
pub(super) unsafe fn map3_pred<L: Isa>(
    args: &mut Args,
    x: u32,
    f: impl Fn(u32, u32, u32, u32) -> (u32, u32),
) {
    // SAFETY: the contract of `Kernel`: rows span the micro-op's words.
    let (a, b, c) = unsafe { (row(args, 0, 0), row(args, 1, 0), row(args, 2, 0)) };
    let (mut out, mut top) = ([0; 32], [0; 32]);
    for lane in 0..32 {
        (out[lane], top[lane]) = f(a[lane], b[lane], c[lane], x >> lane & 1);
    }
    args.pdst = [L::signs(&top), 0];
    // SAFETY: the contract of `Kernel`: rows span the micro-op's words.
    unsafe { store::<L>(args, 0, &out) };
}

/// The lanes for which a comparison of sources 0 and 1 holds; `f` gives all ones or zero.
#[inline(always)]
pub(super) unsafe fn test2<L: Isa>(args: &Args, f: impl Fn(u32, u32) -> u32) -> u32 {
    // SAFETY: the contract of `Kernel`: rows span the micro-op's words.
    let (a, b) = unsafe { (row(args, 0, 0), row(args, 1, 0)) };
    let mut top = [0; 32];
    for lane in 0..32 {
        top[lane] = f(a[lane], b[lane]);
    }
    L::signs(&top)
}

/// As [`test2`] for 64-bit sources.
#[inline(always)]
pub(super) unsafe fn test2_wide<L: Isa>(args: &Args, f: impl Fn(u64, u64) -> u32) -> u32 {
    // SAFETY: the contract of `Kernel`: rows span the micro-op's words.
    let (a, b) = unsafe { (pair(args, 0), pair(args, 1)) };
    let mut top = [0; 32];
    for lane in 0..32 {
        top[lane] = f(a.get(lane), b.get(lane));
    }
    L::signs(&top)
}

/// A 64-bit source: low words and high words.
#[derive(Clone, Copy)]
pub(super) struct Pair<'a>(pub &'a Words, pub &'a Words);

impl Pair<'_> {
    #[inline(always)]
    pub(super) fn get(&self, lane: usize) -> u64 {
        u64::from(self.0[lane]) | u64::from(self.1[lane]) << 32
    }
}

#[inline(always)]
pub(super) unsafe fn pair<'a>(args: &Args, i: usize) -> Pair<'a> {
    // SAFETY: the contract of `Kernel`: rows span the micro-op's words.
    unsafe { Pair(row(args, i, 0), row(args, i, 1)) }
}

/// Stores a 64-bit result computed lane by lane.
#[inline(always)]
pub(super) unsafe fn fill_wide<L: Isa>(args: &mut Args, f: impl Fn(usize) -> u64) {
    let (mut low, mut high) = ([0; 32], [0; 32]);
    for lane in 0..32 {
        let value = f(lane);
        low[lane] = value as u32;
        high[lane] = (value >> 32) as u32;
    }
    // SAFETY: the contract of `Kernel`: rows span the micro-op's words.
    unsafe {
        store::<L>(args, 0, &low);
        store::<L>(args, 1, &high);
    }
}

/// Stores a 32-bit result computed lane by lane.
#[inline(always)]
pub(super) unsafe fn fill<L: Isa>(args: &mut Args, f: impl Fn(usize) -> u32) {
    let mut out = [0; 32];
    for (lane, word) in out.iter_mut().enumerate() {
        *word = f(lane);
    }
    // SAFETY: the contract of `Kernel`: rows span the micro-op's words.
    unsafe { store::<L>(args, 0, &out) };
}

/// All ones if the condition holds.
#[inline(always)]
pub(super) fn ones(condition: bool) -> u32 {
    u32::from(condition).wrapping_neg()
}
