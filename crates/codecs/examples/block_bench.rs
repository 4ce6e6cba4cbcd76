// SPDX-License-Identifier: MIT OR Apache-2.0
//! Megabytes a second of the block codecs on one core, the best of five, and host instructions for a byte where the system counts them
//! (`perf stat` of a run with one codec's name as argument gives them otherwise).

use std::hint::black_box;
use std::time::Instant;

use warpwatt_base::SplitMix64;
use warpwatt_codecs::block::bdi::Bdi;
use warpwatt_codecs::block::cpack::CPack;
use warpwatt_codecs::block::fpc::Fpc;
use warpwatt_codecs::block::{BlockCodec, Encoded, LARGEST};
use warpwatt_codecs::huffman::{Frequencies, Huffman, SymbolBits};

/// Traffic of a megabyte: what programs store, in shares that they store it in.
const BLOCKS: usize = 8192;

fn traffic() -> Vec<[u8; LARGEST]> {
    let mut seed = SplitMix64::new(1);
    let mut block = |kind: usize, number: usize| {
        let words: [u32; LARGEST / 4] = std::array::from_fn(|i| match kind {
            0 => 0,
            1 => (number * 32 + i) as u32,
            2 => 0x1000_0000 + (number * 32 + i) as u32 * 4,
            3 => seed.next_u32() % 256,
            // A measurement with few digits.
            4 => ((seed.next_u32() % 1000) as f32 / 8.0).to_bits(),
            5 => (seed.next_u32() as f32 / u32::MAX as f32).to_bits(),
            6 => seed.next_u32() % 20_000,
            _ => seed.next_u32(),
        });
        let mut bytes = [0; LARGEST];
        bytes.chunks_mut(4).zip(words).for_each(|(place, word)| place.copy_from_slice(&word.to_le_bytes()));
        bytes
    };
    (0..BLOCKS).map(|number| block(number % 8, number)).collect()
}

/// The best of five, in megabytes a second.
fn rate(mut work: impl FnMut()) -> f64 {
    let best = (0..5).map(|_| {
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64()
    });
    (BLOCKS * LARGEST) as f64 / 1e6 / best.fold(f64::INFINITY, f64::min)
}

fn main() {
    let only = std::env::args().nth(1);
    let blocks = traffic();
    let mut codecs: Vec<(String, Box<dyn BlockCodec>)> = vec![
        ("bdi".to_owned(), Box::new(Bdi)),
        ("fpc".to_owned(), Box::new(Fpc)),
        ("cpack".to_owned(), Box::new(CPack)),
    ];
    for width in SymbolBits::ALL {
        let mut frequencies = Frequencies::new(width);
        blocks.iter().for_each(|block| frequencies.add(block));
        for ways in [1, 4] {
            let huffman = Huffman::new(&frequencies, 1024, ways);
            codecs.push((format!("huffman{}x{ways}", width.bits()), Box::new(huffman)));
        }
    }
    println!("{:12} {:>12} {:>12} {:>8}", "codec", "encode MB/s", "decode MB/s", "ratio");
    for (name, codec) in codecs.iter().filter(|(name, _)| only.as_ref().is_none_or(|only| only == name)) {
        let mut out = Encoded::default();
        let encode =
            rate(|| blocks.iter().for_each(|block| _ = black_box(codec.encode(black_box(block), &mut out))));
        let stored: Vec<Option<Vec<u8>>> =
            blocks.iter().map(|block| codec.encode(block, &mut out).then(|| out.bytes().to_vec())).collect();
        let bytes: usize = stored.iter().map(|stored| stored.as_ref().map_or(LARGEST, Vec::len)).sum();
        let encoded = stored.iter().flatten().count().max(1);
        let mut back = [0; LARGEST];
        let decode = rate(|| {
            stored
                .iter()
                .flatten()
                .for_each(|stored| _ = black_box(codec.decode(black_box(stored), &mut back)))
        });
        let decode = decode * encoded as f64 / BLOCKS as f64;
        println!("{name:12} {encode:12.0} {decode:12.0} {:8.2}", (BLOCKS * LARGEST) as f64 / bytes as f64);
    }
}
