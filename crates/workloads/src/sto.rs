// SPDX-License-Identifier: MIT OR Apache-2.0
//! Digests of the segments of a stream, after STO of Bakhoda et al. (ISPASS 2009), which is StoreGPU's direct hashing: MD5, a segment
//! a thread, data staged in shared memory.

use crate::check::Check;
use crate::job::Job;
use crate::rng::Rng;
use crate::{Data, Dim, Fill, Info, Kernel, Known, Size, Workload};
use warpwatt_runtime::{Args, Device, Error};

const BLOCK: u32 = 128;
const SEGMENTS: Dim = Dim::new("segments", [150, 3_840, 19_200, 57_600]);
// A multiple of 16.
const WORDS: Dim = Dim::new("words", [32, 32, 48, 128]);

static INFO: Info = Info {
    name: "sto",
    about: "MD5 digests of a stream",
    domain: "storage",
    suite: "ISPASS",
    program: "STO",
    kernels: &[Kernel::after("sto_md5", "md5", [128, 1, 1], "once")],
    missing: &["sha1: the other digest of StoreGPU, which the runs of Bakhoda et al. do not use"],
    order_dependent: false,
    data: Data::Integer,
    dims: &[SEGMENTS, WORDS],
    fill: Fill::Full,
    known: Known::Recalled,
    shape_from: "a segment a thread in blocks of 128 (Bakhoda et al., Table I: 384 blocks of 128), data staged in shared memory; 150 blocks in ours at medium",
    values_from: "bytes of text-like data in half of the segments, random bytes in the others, as stored files are a mixture of both",
    generator: 3,
    source: include_str!("../cuda/sto.cu"),
    ptx: include_str!("../ptx/sto.ptx"),
};

pub struct Sto;

impl Workload for Sto {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn run(&self, dev: &mut Device, ptx: &str, size: Size, seed: u64) -> Result<Check, Error> {
        let (segments, words) = (SEGMENTS.at(size), WORDS.at(size));
        let data = stream(segments as usize, words as usize, seed);

        let mut job = Job::new(dev, &INFO, ptx)?;
        job.write_symbol("sines", &sines())?;
        let stream = job.upload("data", &data)?;
        let digests = job.zeros::<u32>("digests", 4 * segments as usize)?;
        let args = Args::new().ptr(stream).i32(segments as i32).i32(words as i32).ptr(digests);
        job.launch("sto_md5", segments.div_ceil(BLOCK), BLOCK, args)?;
        let found = job.download(digests, 4 * segments as usize)?;
        job.finish()?;

        let bytes: Vec<u8> = data.iter().flat_map(|word| word.to_le_bytes()).collect();
        let sines = sines();
        let segments = bytes.chunks_exact(4 * words as usize);
        let expected: Vec<u32> = segments.flat_map(|segment| md5(segment, &sines)).collect();
        Ok(Check::exact().output("digests", &expected, &found))
    }
}

fn stream(segments: usize, words: usize, seed: u64) -> Vec<u32> {
    let mut rng = Rng::new(seed);
    let letters = b"etaoin shrdlu cmfwyp vbgkjqxz\n0123456789.,";
    let mut data = Vec::with_capacity(segments * words);
    for _ in 0..segments {
        let text = rng.below(2) == 0;
        for _ in 0..words {
            let mut byte = || match text {
                // The smaller of two draws: frequent letters come first.
                true => {
                    letters[rng.below(letters.len() as u32).min(rng.below(letters.len() as u32)) as usize]
                }
                false => rng.below(256) as u8,
            };
            data.push(u32::from_le_bytes(std::array::from_fn(|_| byte())));
        }
    }
    data
}

/// The constants of RFC 1321: the fractions of sines.
fn sines() -> [u32; 64] {
    std::array::from_fn(|i| (libm::sin((i + 1) as f64).abs() * 4_294_967_296.0) as u32)
}

/// MD5 of a message, as four words (RFC 1321).
fn md5(message: &[u8], sines: &[u32; 64]) -> [u32; 4] {
    const TURNS: [[u32; 4]; 4] = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]];
    let mut padded = message.to_vec();
    padded.push(0x80);
    padded.resize(padded.len().next_multiple_of(64), 0);
    if padded.len() - message.len() < 9 {
        padded.resize(padded.len() + 64, 0);
    }
    let end = padded.len();
    padded[end - 8..].copy_from_slice(&(message.len() as u64 * 8).to_le_bytes());
    let mut state = [0x6745_2301u32, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];
    for chunk in padded.chunks_exact(64) {
        let word = |i: usize| u32::from_le_bytes(std::array::from_fn(|byte| chunk[4 * i + byte]));
        let [mut a, mut b, mut c, mut d] = state;
        for i in 0..64 {
            let (f, at) = match i / 16 {
                0 => ((b & c) | (!b & d), i),
                1 => ((d & b) | (!d & c), 5 * i + 1),
                2 => (b ^ c ^ d, 3 * i + 5),
                _ => (c ^ (b | !d), 7 * i),
            };
            let sum = a.wrapping_add(f).wrapping_add(sines[i]).wrapping_add(word(at % 16));
            (a, d, c) = (d, c, b);
            b = b.wrapping_add(sum.rotate_left(TURNS[i / 16][i % 4]));
        }
        for (sum, part) in state.iter_mut().zip([a, b, c, d]) {
            *sum = sum.wrapping_add(part);
        }
    }
    state
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_those_of_the_rfc() {
        let hex = |message: &str| -> String {
            md5(message.as_bytes(), &sines())
                .iter()
                .flat_map(|word| word.to_le_bytes())
                .map(|b| format!("{b:02x}"))
                .collect()
        };
        assert_eq!(hex(""), "d41d8cd98f00b204e9800998ecf8427e");
        assert_eq!(hex("abc"), "900150983cd24fb0d6963f7d28e17f72");
        let long = "12345678901234567890123456789012345678901234567890123456789012345678901234567890";
        assert_eq!(hex(long), "57edf4a22be3c955ac49da2e2107b67a");
    }
}
