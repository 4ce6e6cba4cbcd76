// SPDX-License-Identifier: MIT OR Apache-2.0
//! Registers to try: what programs write, what nobody writes, and what lies at the edges of the encodings.

use proptest::prelude::*;
use warpwatt_codecs::Values;

/// Differences at which an encoding begins or ends to fit.
pub const EDGES: [i64; 21] = [
    0,
    1,
    -1,
    127,
    128,
    -128,
    -129,
    255,
    256,
    -256,
    32_767,
    32_768,
    -32_768,
    -32_769,
    65_535,
    65_536,
    i32::MAX as i64,
    i32::MAX as i64 + 1,
    i32::MIN as i64,
    i32::MIN as i64 - 1,
    i64::MIN,
];

/// Bases from which a small step crosses a sign or wraps.
pub fn base() -> impl Strategy<Value = u32> {
    prop_oneof![
        any::<u32>(),
        Just(0),
        Just(u32::MAX),
        Just(0x7fff_ffff),
        Just(0x8000_0000),
        0u32..300,
        0x1000_0000u32..0x1000_1000
    ]
}

/// Registers of 64-bit pairs: low words in even lanes, high words in odd ones.
pub fn pairs(base: u64, delta: impl Fn(usize) -> i64) -> Values {
    std::array::from_fn(|lane| {
        let pair = base.wrapping_add_signed(delta(lane / 2));
        (pair >> (32 * (lane % 2))) as u32
    })
}

fn random() -> impl Strategy<Value = Values> {
    prop::array::uniform32(any::<u32>())
}

/// Thread indices, addresses of elements, and rows: a base and a stride.
fn strided() -> impl Strategy<Value = Values> {
    let stride = prop_oneof![Just(0i32), Just(1), Just(4), Just(-1), Just(8), -600i32..600, any::<i32>()];
    (base(), stride).prop_map(|(base, stride)| {
        std::array::from_fn(|lane| base.wrapping_add_signed(stride.wrapping_mul(lane as i32)))
    })
}

/// Data of a narrow range, as of image pixels or path costs.
fn near() -> impl Strategy<Value = Values> {
    (base(), 0u32..20).prop_flat_map(|(base, bits)| {
        prop::array::uniform32(0..1u32 << bits)
            .prop_map(move |noise| noise.map(|noise| base.wrapping_add(noise)))
    })
}

/// The upper or lower halves of pointers, and whole ones over pairs of lanes.
fn pointers() -> impl Strategy<Value = Values> {
    (any::<u32>(), 0u64..1 << 48, -70_000i64..70_000, 0u32..3).prop_map(|(offset, start, stride, part)| {
        let pointer =
            |index: usize| (start + u64::from(offset)).wrapping_add_signed(stride.wrapping_mul(index as i64));
        match part {
            0 => std::array::from_fn(|lane| pointer(lane) as u32),
            1 => std::array::from_fn(|lane| (pointer(lane) >> 32) as u32),
            _ => pairs(start + u64::from(offset), |pair| stride.wrapping_mul(pair as i64)),
        }
    })
}

/// One value everywhere, but for a few lanes (or pairs of lanes) that differ by an edge: the last subtractor must be heard.
fn edges() -> impl Strategy<Value = Values> {
    let edge = prop::sample::select(&EDGES[..]);
    (base(), base(), prop::collection::vec((0usize..32, edge), 0..4), any::<bool>()).prop_map(
        |(low, high, odd_ones, paired)| {
            let delta = |index: usize| {
                let hit = odd_ones.iter().find(|&&(lane, _)| lane == index);
                hit.map_or(0, |&(_, edge)| edge)
            };
            if paired {
                pairs(u64::from(low) | u64::from(high) << 32, delta)
            } else {
                std::array::from_fn(|lane| low.wrapping_add(delta(lane) as u32))
            }
        },
    )
}

/// The same few bytes over and over: what the smallest bases compress.
fn repeating() -> impl Strategy<Value = Values> {
    (any::<u64>(), 0u32..4, any::<i8>(), 0usize..64).prop_map(|(pattern, log, step, at)| {
        let size = 1usize << log;
        let mut bytes: [u8; 128] = std::array::from_fn(|index| pattern.to_le_bytes()[index % size]);
        if size == 2 {
            let halfword = u16::from_le_bytes([bytes[0], bytes[1]]).wrapping_add_signed(step.into());
            bytes[2 * at..2 * at + 2].copy_from_slice(&halfword.to_le_bytes());
        }
        std::array::from_fn(|lane| u32::from_le_bytes(std::array::from_fn(|byte| bytes[4 * lane + byte])))
    })
}

pub fn any_register() -> impl Strategy<Value = Values> {
    prop_oneof![random(), strided(), near(), pointers(), edges(), repeating()]
}
