// SPDX-License-Identifier: MIT OR Apache-2.0
//! Digests of the segments of a stream, after STO of Bakhoda et al. (ISPASS 2009), which is StoreGPU's direct hashing: MD5, a segment
//! a thread, data staged in shared memory.

use crate::check::Check;
use crate::job::Job;
use crate::rng::Rng;
use crate::wide::wide;
use crate::{Data, Dim, Fill, Info, Kernel, Known, Size, Workload};
use warpwatt_runtime::{Args, Device, Error};
use zerocopy::IntoBytes;

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

        let sines = sines();
        let segments: Vec<&[u8]> = data.chunks_exact(words as usize).map(IntoBytes::as_bytes).collect();
        let (many, rest) = segments.as_chunks::<LANES>();
        let many = many.iter().flat_map(|many| md5(*many, &sines));
        let expected: Vec<u32> =
            many.chain(rest.iter().flat_map(|one| md5([*one], &sines))).flatten().collect();
        Ok(Check::exact().output("digests", &expected, &found))
    }
}

fn stream(segments: usize, words: usize, seed: u64) -> Vec<u32> {
    let mut rng = Rng::new(seed);
    let letters = b"etaoin shrdlu cmfwyp vbgkjqxz\n0123456789.,";
    let mut data = Vec::with_capacity(segments * words);
    for _ in 0..segments {
        let bytes: Vec<u8> = if rng.below(2) == 0 {
            // The smaller of two draws: frequent letters come first.
            let draws = rng.ints(2 * 4 * words, 0, letters.len() as i32);
            draws.as_chunks().0.iter().map(|[one, other]| letters[*one.min(other) as usize]).collect()
        } else {
            rng.ints(4 * words, 0, 256).into_iter().map(|byte| byte as u8).collect()
        };
        data.extend(bytes.as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes)));
    }
    data
}

/// The constants of RFC 1321: the fractions of sines.
fn sines() -> [u32; 64] {
    std::array::from_fn(|i| (libm::sin((i + 1) as f64).abs() * 4_294_967_296.0) as u32)
}

/// Messages that are hashed at once.
const LANES: usize = 64;

/// MD5 of messages of one length, as four words each (RFC 1321).
fn md5<const N: usize>(messages: [&[u8]; N], sines: &[u32; 64]) -> [[u32; 4]; N] {
    let length = messages[0].len();
    let padded = messages.map(|message| {
        let mut padded = message.to_vec();
        padded.push(0x80);
        padded.resize((length + 9).next_multiple_of(64) - 8, 0);
        padded.extend((length as u64 * 8).to_le_bytes());
        padded
    });
    let mut state = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476].map(|word: u32| [word; N]);
    wide(|| {
        for start in (0..padded[0].len()).step_by(64) {
            let chunks = std::array::from_fn(|lane| padded[lane][start..start + 64].as_chunks().0);
            let words = std::array::from_fn(|i| chunks.map(|chunk| u32::from_le_bytes(chunk[i])));
            let mut next = state;
            let (sines, _) = sines.as_chunks();
            round(&mut next, &words, &sines[0], [1, 0], [7, 12, 17, 22], |b, c, d| (b & c) | (!b & d));
            round(&mut next, &words, &sines[1], [5, 1], [5, 9, 14, 20], |b, c, d| (d & b) | (!d & c));
            round(&mut next, &words, &sines[2], [3, 5], [4, 11, 16, 23], |b, c, d| b ^ c ^ d);
            round(&mut next, &words, &sines[3], [7, 0], [6, 10, 15, 21], |b, c, d| c ^ (b | !d));
            for (sums, parts) in state.iter_mut().zip(next) {
                *sums = std::array::from_fn(|lane| sums[lane].wrapping_add(parts[lane]));
            }
        }
    });
    std::array::from_fn(|lane| state.map(|words| words[lane]))
}

/// The 16 steps of a round, which reads the words of the message `stride` apart.
#[inline(always)]
fn round<const N: usize>(
    state: &mut [[u32; N]; 4],
    words: &[[u32; N]; 16],
    sines: &[u32; 16],
    [stride, start]: [usize; 2],
    turns: [u32; 4],
    mix: impl Fn(u32, u32, u32) -> u32,
) {
    for i in 0..16 {
        let (words, turn) = (&words[(stride * i + start) % 16], turns[i % 4]);
        // The part that changes and those behind it: in the next step the one before it changes.
        let [changed, b, c, d] = [16, 17, 18, 19].map(|part| (part - i) % 4);
        let mut next = state[changed];
        for lane in 0..N {
            let [b, c, d] = [b, c, d].map(|part| state[part][lane]);
            let sum = next[lane].wrapping_add(mix(b, c, d)).wrapping_add(sines[i]).wrapping_add(words[lane]);
            next[lane] = b.wrapping_add(sum.rotate_left(turn));
        }
        state[changed] = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_those_of_the_rfc() {
        let hex = |message: &str| -> String {
            let digests = md5([message.as_bytes(); 3], &sines());
            assert!(digests.iter().all(|digest| *digest == digests[0]));
            digests[0].iter().flat_map(|word| word.to_le_bytes()).map(|b| format!("{b:02x}")).collect()
        };
        assert_eq!(hex(""), "d41d8cd98f00b204e9800998ecf8427e");
        assert_eq!(hex("abc"), "900150983cd24fb0d6963f7d28e17f72");
        let long = "12345678901234567890123456789012345678901234567890123456789012345678901234567890";
        assert_eq!(hex(long), "57edf4a22be3c955ac49da2e2107b67a");
    }
}
