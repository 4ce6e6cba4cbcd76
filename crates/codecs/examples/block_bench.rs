// SPDX-License-Identifier: MIT OR Apache-2.0
//! Megabytes a second of the block codecs on one core, the best of five, and beside them host instructions for a byte.
//!
//! ```text
//! cargo run --release -p warpwatt-codecs --example block_bench [CODEC]
//! ```
//!
//! Instructions are counted by Valgrind, where it is installed: the example runs itself under it, once over all blocks and once more with a second
//! round, and what the second round takes on top is the codec's.

use std::hint::black_box;
use std::process::Command;
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

/// A codec, and the blocks as it stores them.
struct Subject {
    name: String,
    codec: Box<dyn BlockCodec>,
    stored: Vec<Option<Vec<u8>>>,
}

impl Subject {
    fn new(name: impl Into<String>, codec: Box<dyn BlockCodec>, blocks: &[[u8; LARGEST]]) -> Subject {
        let mut out = Encoded::default();
        let stored =
            blocks.iter().map(|block| codec.encode(block, &mut out).then(|| out.bytes().to_vec())).collect();
        Subject { name: name.into(), codec, stored }
    }

    fn encode(&self, blocks: &[[u8; LARGEST]]) {
        let mut out = Encoded::default();
        blocks.iter().for_each(|block| _ = black_box(self.codec.encode(black_box(block), &mut out)));
    }

    /// Decodes the blocks that are stored encoded.
    fn decode(&self) {
        let mut back = [0; LARGEST];
        for stored in self.stored.iter().flatten() {
            _ = black_box(self.codec.decode(black_box(stored), &mut back));
        }
    }

    /// Blocks that are stored encoded, as a share of all.
    fn share(&self) -> f64 {
        self.stored.iter().flatten().count().max(1) as f64 / BLOCKS as f64
    }

    fn ratio(&self) -> f64 {
        let bytes: usize = self.stored.iter().map(|stored| stored.as_ref().map_or(LARGEST, Vec::len)).sum();
        (BLOCKS * LARGEST) as f64 / bytes as f64
    }
}

/// The codecs of a name, or all of them.
fn subjects(blocks: &[[u8; LARGEST]], only: Option<&str>) -> Vec<Subject> {
    let wanted = |name: &str| only.is_none_or(|only| only == name);
    let simple: [(&str, Box<dyn BlockCodec>); 3] =
        [("bdi", Box::new(Bdi)), ("fpc", Box::new(Fpc)), ("cpack", Box::new(CPack))];
    let mut subjects: Vec<Subject> = simple
        .into_iter()
        .filter(|(name, _)| wanted(name))
        .map(|(name, codec)| Subject::new(name, codec, blocks))
        .collect();
    for width in SymbolBits::ALL {
        for ways in [1, 4] {
            let name = format!("huffman{}x{ways}", width.bits());
            if wanted(&name) {
                let mut frequencies = Frequencies::new(width);
                blocks.iter().for_each(|block| frequencies.add(block));
                let huffman = Huffman::new(&frequencies, 1024, ways);
                subjects.push(Subject::new(name, Box::new(huffman), blocks));
            }
        }
    }
    subjects
}

/// Host instructions that rounds of a codec's work take, with all that is done before.
fn counted(name: &str, work: &str, rounds: u32) -> Option<f64> {
    let program = std::env::current_exe().ok()?;
    let told = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .args([name, work, &rounds.to_string()])
        .output()
        .ok()?;
    let text = String::from_utf8(told.stderr).ok()?;
    let count = text.lines().find_map(|line| line.split_once("Collected : "))?.1;
    count.trim().parse().ok()
}

fn instructions(name: &str, work: &str, bytes: f64) -> String {
    let counted = |rounds| counted(name, work, rounds);
    match counted(2).zip(counted(1)) {
        Some((two, one)) => format!("{:.1}", (two - one) / bytes),
        None => "-".to_owned(),
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let blocks = traffic();
    let subjects = subjects(&blocks, arguments.first().map(String::as_str));
    if let [_, work, rounds] = &arguments[..] {
        // Under Valgrind.
        for _ in 0..rounds.parse().unwrap_or(1) {
            for subject in &subjects {
                if work == "encode" { subject.encode(&blocks) } else { subject.decode() }
            }
        }
        return;
    }
    println!("{:12} {:>8} {:>24} {:>24}", "", "", "encode", "decode");
    println!(
        "{:12} {:>8} {:>8} {:>15} {:>8} {:>15}",
        "codec", "ratio", "MB/s", "instructions/B", "MB/s", "instructions/B"
    );
    for subject in &subjects {
        let (name, bytes) = (&subject.name, (BLOCKS * LARGEST) as f64);
        println!(
            "{name:12} {:8.2} {:8.0} {:>15} {:8.0} {:>15}",
            subject.ratio(),
            rate(|| subject.encode(&blocks)),
            instructions(name, "encode", bytes),
            rate(|| subject.decode()) * subject.share(),
            instructions(name, "decode", bytes * subject.share()),
        );
    }
}
