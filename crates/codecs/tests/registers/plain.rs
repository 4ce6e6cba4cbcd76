// SPDX-License-Identifier: MIT OR Apache-2.0
//! The plain twins: one chunk after the other in wide integers, from the words of the paper and with nothing of the crate but its names.

use warpwatt_codecs::bdi::{Range, Scheme};
use warpwatt_codecs::similarity::Bin;
use warpwatt_codecs::{Entry, Values};

pub fn bytes(values: &Values) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// Little-endian numbers of `size` bytes.
fn chunks(values: &Values, size: usize) -> Vec<u128> {
    let number = |chunk: &[u8]| chunk.iter().rev().fold(0, |number, &byte| number << 8 | u128::from(byte));
    bytes(values).chunks(size).map(number).collect()
}

/// The difference modulo 2^(8 size) that lies around zero.
fn wrapped(difference: i128, size: usize) -> i128 {
    let modulus = 1i128 << (8 * size);
    let rest = difference.rem_euclid(modulus);
    if rest >= modulus / 2 { rest - modulus } else { rest }
}

fn deltas(values: &Values, size: usize) -> Vec<i128> {
    let chunks = chunks(values, size);
    chunks.iter().map(|&chunk| wrapped(chunk as i128 - chunks[0] as i128, size)).collect()
}

/// Whether a signed number can be kept in so many bytes.
pub fn holds(bytes: usize, number: i128) -> bool {
    match bytes {
        0 => number == 0,
        _ => {
            let half = 1i128 << (8 * bytes - 1);
            (-half..half).contains(&number)
        }
    }
}

pub fn fits(scheme: Scheme, values: &Values) -> bool {
    deltas(values, scheme.base()).iter().all(|&delta| holds(scheme.delta(), delta))
}

pub fn classify(values: &Values) -> Range {
    let candidates = [Range::B4D0, Range::B4D1, Range::B4D2];
    let fitting = candidates.into_iter().find(|range| fits(range.scheme().unwrap(), values));
    fitting.unwrap_or(Range::Uncompressed)
}

/// The candidate with the smallest compressed size.
pub fn explore(values: &Values) -> Option<Scheme> {
    let four = [Scheme::B4D0, Scheme::B4D1, Scheme::B4D2];
    let eight = [Scheme::B8D0, Scheme::B8D1, Scheme::B8D2, Scheme::B8D4];
    let fitting = four.into_iter().chain(eight).filter(|&scheme| fits(scheme, values));
    fitting.min_by_key(|scheme| scheme.base() + scheme.delta() * (128 / scheme.base() - 1))
}

/// The base's bytes, then those of each delta but the first.
pub fn stored(scheme: Scheme, values: &Values) -> Vec<u8> {
    let mut stored = bytes(values)[..scheme.base()].to_vec();
    for delta in &deltas(values, scheme.base())[1..] {
        stored.extend(&delta.to_le_bytes()[..scheme.delta()]);
    }
    stored
}

pub fn bin(one: u32, next: u32) -> Bin {
    match wrapped(i128::from(next) - i128::from(one), 4).abs() {
        0 => Bin::Zero,
        distance if distance <= 128 => Bin::Within128,
        distance if distance <= 1 << 15 => Bin::Within32K,
        _ => Bin::Random,
    }
}

/// An entry whose bytes nobody has written.
pub fn stale() -> Entry {
    std::array::from_fn(|index| (index as u8).wrapping_mul(37) ^ 0xa5)
}
