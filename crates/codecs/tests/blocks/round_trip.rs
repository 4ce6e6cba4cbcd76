// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whatever is stored comes back, with every codec, length of symbols, number of decoders and size of blocks; garbled bits never do harm.
//!
//! `WARPWATT_CASES` sets the number of blocks.

use warpwatt_base::SplitMix64;
use warpwatt_codecs::block::bdi::{Bdi, encoding};
use warpwatt_codecs::block::cpack::CPack;
use warpwatt_codecs::block::fpc::Fpc;
use warpwatt_codecs::block::{BlockCodec, Encoded};
use warpwatt_codecs::huffman::{Frequencies, Huffman, SymbolBits};

use crate::{inputs, plain};

fn cases() -> u64 {
    std::env::var("WARPWATT_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(20_000)
}

/// Encodes, decodes and compares; the bits that were stored, if any were.
fn check(codec: &dyn BlockCodec, block: &[u8], what: &str) -> Option<Vec<u8>> {
    let mut out = Encoded::default();
    if !codec.encode(block, &mut out) {
        return None;
    }
    assert!(out.bits() < 8 * block.len() && out.bytes().len() == out.bits().div_ceil(8), "{what}");
    let mut back = vec![0xee; block.len()];
    assert_eq!(codec.decode(out.bytes(), &mut back), Ok(()), "{what}: {block:x?}");
    assert_eq!(back, block, "{what}");
    Some(out.bytes().to_vec())
}

/// Codes for some traffic, with all numbers of decoders.
fn huffmans(seed: &mut SplitMix64, width: SymbolBits) -> Vec<Huffman> {
    let mut frequencies = Frequencies::new(width);
    for _ in 0..seed.next_u32() % 400 {
        frequencies.add(&inputs::block(seed));
    }
    let values = [8, 64, 1024, 4096][seed.next_u32() as usize % 4];
    let huffman = Huffman::new(&frequencies, values, 1);
    (1..=8).map(|ways| huffman.clone().with_ways(ways)).collect()
}

/// Bits of an encoded block for one decoder, from the codewords alone.
fn plain_bits(huffman: &Huffman, block: &[u8]) -> usize {
    let width = huffman.width().bits();
    let symbols = block.chunks(4).flat_map(|word| {
        let word = u32::from_le_bytes(word.try_into().unwrap());
        (0..32 / width)
            .map(move |i| (i as usize, (u64::from(word) >> (i * width) & ((1 << width) - 1)) as u32))
    });
    let escaped = huffman.escape().map_or(0, |escape| escape.length + width);
    symbols
        .map(|(position, symbol)| huffman.word(position, symbol).map_or(escaped, |word| word.length) as usize)
        .sum()
}

/// The stored bytes of a block, codeword by codeword and bit by bit: pointers, then the parts, each but the first on a whole byte.
fn plain_bytes(huffman: &Huffman, ways: usize, block: &[u8]) -> Option<Vec<u8>> {
    let width = huffman.width().bits() as usize;
    let per_word = 32 / width;
    let symbols: Vec<u32> = block
        .chunks(4)
        .flat_map(|word| {
            let word = u64::from(u32::from_le_bytes(word.try_into().unwrap()));
            (0..per_word).map(move |i| (word >> (i * width) & ((1 << width) - 1)) as u32)
        })
        .collect();
    let pointer_bits = block.len().ilog2() as usize;
    let mut bits = vec![false; (ways - 1) * pointer_bits];
    let put = |bits: &mut Vec<bool>, value: u32, length: usize| {
        bits.extend((0..length).rev().map(|bit| value >> bit & 1 == 1));
    };
    for part in 0..ways {
        if part > 0 {
            bits.resize(bits.len().next_multiple_of(8), false);
            let byte = bits.len() / 8;
            if byte >= block.len() {
                return None;
            }
            let mut pointer = vec![];
            put(&mut pointer, byte as u32, pointer_bits);
            bits[(part - 1) * pointer_bits..part * pointer_bits].copy_from_slice(&pointer);
        }
        let (start, end) = (part * symbols.len() / ways, (part + 1) * symbols.len() / ways);
        for (place, &symbol) in symbols.iter().enumerate().take(end).skip(start) {
            match (huffman.word(place % per_word, symbol), huffman.escape()) {
                (Some(word), _) => put(&mut bits, word.bits, word.length as usize),
                (None, escape) => {
                    let escape = escape.expect("all values have codewords, or there is a prefix");
                    put(&mut bits, escape.bits, escape.length as usize);
                    put(&mut bits, symbol, width);
                }
            }
        }
    }
    let byte =
        |bits: &[bool]| bits.iter().enumerate().fold(0, |byte, (i, &bit)| byte | u8::from(bit) << (7 - i));
    (bits.len() < 8 * block.len()).then(|| bits.chunks(8).map(byte).collect())
}

#[test]
fn the_bits_of_a_block_are_those_of_its_codewords_one_by_one() {
    let mut seed = SplitMix64::new(5);
    for width in SymbolBits::ALL {
        for huffmans in [huffmans(&mut seed, width), huffmans(&mut seed, width)] {
            for _ in 0..(cases() / 400).max(1) {
                let block = inputs::block(&mut seed);
                for (ways, huffman) in (1..).zip(&huffmans) {
                    let bytes = check(huffman, &block, "codec");
                    assert_eq!(bytes, plain_bytes(huffman, ways, &block), "{width:?}, {ways} ways");
                }
            }
        }
    }
}

#[test]
fn patterns_and_dictionaries_take_the_bits_of_their_definitions_and_give_blocks_back() {
    let mut seed = SplitMix64::new(1);
    let mut stored = [0; 3];
    for _ in 0..cases() {
        let block = inputs::block(&mut seed);
        let limit = 8 * block.len();
        let twin = plain::bdi(&block);
        assert_eq!(
            encoding(&block).map(|one| one.bits(block.len())),
            twin.map(|one| one.bits(block.len())),
            "{block:x?}"
        );
        let plain = [
            twin.map_or(limit, |one| one.bits(block.len())),
            plain::fpc_bits(&block),
            plain::cpack_bits(&block),
        ];
        let codecs: [(&dyn BlockCodec, &str); 3] = [(&Bdi, "bdi"), (&Fpc, "fpc"), (&CPack, "cpack")];
        for (i, (codec, name)) in codecs.into_iter().enumerate() {
            let bytes = check(codec, &block, name);
            assert_eq!(
                bytes.as_ref().map(Vec::len),
                (plain[i] < limit).then_some(plain[i].div_ceil(8)),
                "{name}: {block:x?}"
            );
            stored[i] += u64::from(bytes.is_some());
        }
    }
    assert!(stored.iter().all(|&stored| stored > cases() / 4 && stored < cases()), "{stored:?}");
}

#[test]
fn entropy_coding_gives_blocks_back_for_all_lengths_of_symbols_and_decoders() {
    let mut seed = SplitMix64::new(2);
    for width in SymbolBits::ALL {
        let mut stored = 0;
        for round in 0..20 {
            let huffmans = huffmans(&mut seed, width);
            for _ in 0..(cases() / (20 * 4 * 8)).max(1) {
                let block = inputs::block(&mut seed);
                let bits = plain_bits(&huffmans[0], &block);
                let mut smaller = usize::MAX;
                for (ways, huffman) in (1..).zip(&huffmans) {
                    let what = format!("{width:?}, {ways} ways, round {round}");
                    let bytes = check(huffman, &block, &what).map(|bytes| bytes.len());
                    let pointers = (ways - 1) * block.len().ilog2() as usize;
                    let (least, most) = (bits + pointers, bits + pointers + 7 * (ways - 1));
                    match bytes {
                        Some(bytes) => {
                            assert!((least.div_ceil(8)..=most.div_ceil(8)).contains(&bytes), "{what}")
                        }
                        None => assert!(most >= 8 * block.len(), "{what}"),
                    }
                    if ways == 1 {
                        smaller = bytes.unwrap_or(block.len());
                        stored += u64::from(bytes.is_some());
                    }
                    assert!(bytes.unwrap_or(block.len()) >= smaller);
                }
            }
        }
        assert!(stored > 20, "{width:?}: {stored}");
    }
}

#[test]
fn garbled_bits_are_refused_or_give_another_block() {
    let mut seed = SplitMix64::new(3);
    let mut codecs: Vec<Box<dyn BlockCodec>> = vec![Box::new(Bdi), Box::new(Fpc), Box::new(CPack)];
    for width in SymbolBits::ALL {
        for huffman in huffmans(&mut seed, width).into_iter().step_by(3) {
            codecs.push(Box::new(huffman));
        }
    }
    let (mut noticed, mut flips) = (0, 0);
    for _ in 0..cases() / 40 {
        let block = inputs::block(&mut seed);
        for codec in &codecs {
            let mut back = vec![0; block.len()];
            if let Some(mut stored) = check(codec.as_ref(), &block, "codec") {
                let bit = seed.next_u32() as usize % (8 * stored.len());
                stored[bit / 8] ^= 0x80 >> (bit % 8);
                noticed += u64::from(codec.decode(&stored, &mut back).is_err() || back != block);
                flips += 1;
                stored.truncate(seed.next_u32() as usize % (stored.len() + 1));
                let _ = codec.decode(&stored, &mut back);
            }
            // Anything at all, of any length.
            let garbage: Vec<u8> = (0..seed.next_u32() % 150).map(|_| seed.next_u32() as u8).collect();
            let _ = codec.decode(&garbage, &mut back);
        }
    }
    // Only bits that pad to whole bytes do not matter.
    assert!(noticed > flips * 8 / 10, "{noticed} of {flips}");
}

/// Values that are met for the first time cost the prefix, and nothing else.
#[test]
fn codes_of_one_program_hold_blocks_of_any_other() {
    let mut seed = SplitMix64::new(4);
    for width in SymbolBits::ALL {
        let nothing = Huffman::new(&Frequencies::new(width), 1024, 4);
        let mut one = Frequencies::new(width);
        one.add(&[7; 128]);
        let one = Huffman::new(&one, 1024, 4);
        for _ in 0..200 {
            let block = inputs::block(&mut seed);
            check(&nothing, &block, "codes of nothing");
            check(&one, &block, "codes of one value");
        }
    }
}
