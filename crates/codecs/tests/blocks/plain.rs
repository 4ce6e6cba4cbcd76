// SPDX-License-Identifier: MIT OR Apache-2.0
//! Plain twins: sizes by the definitions, and optimal code lengths by package-merge.

use warpwatt_codecs::block::bdi::Encoding;

fn words(block: &[u8]) -> Vec<u32> {
    block.chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
}

/// Whether a difference, taken as a signed number of so many bytes, fits fewer.
fn fits(value: u64, bytes: usize, short: usize) -> bool {
    let signed = (value << (64 - 8 * bytes)) as i64 >> (64 - 8 * bytes);
    let limit = 1i64 << (8 * short - 1);
    (-limit..limit).contains(&signed)
}

/// The smallest encoding of base-delta-immediate by trying all of them.
pub fn bdi(block: &[u8]) -> Option<Encoding> {
    let holds = |encoding: &Encoding| {
        let (base, delta) = match encoding {
            Encoding::Zeros => return block.iter().all(|&byte| byte == 0),
            Encoding::Repeat => return block.chunks(8).all(|chunk| chunk == &block[..8]),
            Encoding::B8D1 => (8, 1),
            Encoding::B8D2 => (8, 2),
            Encoding::B8D4 => (8, 4),
            Encoding::B4D1 => (4, 1),
            Encoding::B4D2 => (4, 2),
            Encoding::B2D1 => (2, 1),
        };
        let elements: Vec<u64> = block
            .chunks(base)
            .map(|chunk| chunk.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)))
            .collect();
        let other = elements.iter().copied().find(|&element| !fits(element, base, delta)).unwrap_or(0);
        elements
            .iter()
            .all(|&element| fits(element, base, delta) || fits(element.wrapping_sub(other), base, delta))
    };
    Encoding::ALL.into_iter().filter(holds).min_by_key(|encoding| encoding.bits(block.len()))
}

/// Bits that frequent-pattern compression takes.
pub fn fpc_bits(block: &[u8]) -> usize {
    let mut bits = 0;
    let mut run = 0;
    for word in words(block) {
        let signed = i64::from(word as i32);
        let halves = [(word & 0xffff) as u16 as i16, (word >> 16) as u16 as i16];
        if word == 0 {
            bits += if run % 8 == 0 { 6 } else { 0 };
            run += 1;
            continue;
        }
        run = 0;
        bits += 3 + if (-8..8).contains(&signed) {
            4
        } else if (-128..128).contains(&signed) || word.to_le_bytes().iter().all(|&byte| byte == word as u8) {
            8
        } else if (-32_768..32_768).contains(&signed)
            || halves[0] == 0
            || halves.iter().all(|half| (-128..128).contains(half))
        {
            16
        } else {
            32
        };
    }
    bits
}

/// Bits that C-Pack takes.
pub fn cpack_bits(block: &[u8]) -> usize {
    let mut dictionary: Vec<u32> = vec![];
    let mut bits = 0;
    for word in words(block) {
        let last = &dictionary[dictionary.len().saturating_sub(16)..];
        let same = |shift: u32| last.iter().any(|entry| entry >> shift == word >> shift);
        let (size, enter) = match word {
            0 => (2, false),
            1..=255 => (12, false),
            _ if same(0) => (6, false),
            _ if same(8) => (16, true),
            _ if same(16) => (24, true),
            _ => (34, true),
        };
        bits += size;
        if enter {
            dictionary.push(word);
        }
    }
    bits
}

/// Lengths of the best code whose words are no longer than a limit, by package-merge (Larmore and Hirschberg, 1990).
pub fn package_merge(frequencies: &[u64], limit: u32) -> Vec<u8> {
    let mut coins: Vec<(u64, Vec<usize>)> =
        frequencies.iter().enumerate().map(|(symbol, &count)| (count, vec![symbol])).collect();
    coins.sort();
    let mut packages = coins.clone();
    for _ in 1..limit {
        let mut next: Vec<(u64, Vec<usize>)> = packages
            .chunks_exact(2)
            .map(|pair| (pair[0].0 + pair[1].0, [&pair[0].1[..], &pair[1].1[..]].concat()))
            .collect();
        next.extend(coins.iter().cloned());
        next.sort();
        packages = next;
    }
    let mut lengths = vec![0; frequencies.len()];
    for (_, symbols) in packages.into_iter().take(2 * frequencies.len() - 2) {
        symbols.into_iter().for_each(|symbol| lengths[symbol] += 1);
    }
    lengths
}
