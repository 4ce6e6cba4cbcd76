// SPDX-License-Identifier: MIT OR Apache-2.0
//! AES (FIPS 197) with keys of 128 bits by tables, after AES of Bakhoda et al. (ISPASS 2009), which is Manavski's. The reference works
//! byte by byte, without the tables.

use crate::check::Check;
use crate::job::Job;
use crate::rng::Rng;
use crate::{Data, Dim, Fill, Info, Kernel, Known, Size, Workload};
use warpwatt_runtime::{Args, Device, Error};

const BLOCK: u32 = 256;
const ROUNDS: usize = 10;
// A state is 16 bytes; a block has 64 of them.
const STATES: Dim = Dim::new("states", [256, 2_560, 11_520, 92_160]);

static INFO: Info = Info {
    name: "aes",
    about: "encrypts, decrypts images",
    domain: "cryptography",
    suite: "ISPASS",
    program: "AES",
    kernels: &[
        Kernel::after("aes_encrypt", "aesEncrypt128", [256, 1, 1], "once"),
        Kernel::after("aes_decrypt", "aesDecrypt128", [256, 1, 1], "once"),
    ],
    missing: &["aesEncrypt256, aesDecrypt256: the same with four rounds more"],
    order_dependent: false,
    data: Data::Integer,
    dims: &[STATES],
    fill: Fill::Full,
    known: Known::Recalled,
    shape_from: "a column of a state a thread, blocks of 256 threads without partial warps (Bakhoda et al., Table I: 257 blocks of 256; ours at medium 180), tables in shared memory",
    values_from: "a picture with smooth areas and noise, bytes, as the original encrypts a photograph; a random key",
    generator: 3,
    source: include_str!("../cuda/aes.cu"),
    ptx: include_str!("../ptx/aes.ptx"),
};

pub struct Aes;

impl Workload for Aes {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn run(&self, dev: &mut Device, ptx: &str, size: Size, seed: u64) -> Result<Check, Error> {
        let states = STATES.at(size) as usize;
        let mut rng = Rng::new(seed);
        let picture = picture(16 * states, &mut rng);
        let cipher = Cipher::new(std::array::from_fn(|_| rng.below(256) as u8));

        let mut job = Job::new(dev, &INFO, ptx)?;
        let grid = (4 * states) as u32 / BLOCK;
        let plain = job.upload("picture", &words(&picture))?;
        let coded = job.zeros::<u32>("encrypted", 4 * states)?;
        let again = job.zeros::<u32>("decrypted", 4 * states)?;
        let tables = job.upload("tables", &cipher.encryption_tables())?;
        job.write_symbol("round_keys", &cipher.keys.map(|key| words(&key)).concat())?;
        job.launch("aes_encrypt", grid, BLOCK, Args::new().ptr(tables).ptr(plain).ptr(coded))?;
        let found: Vec<u32> = job.download(coded, 4 * states)?;
        job.write(tables, &cipher.decryption_tables())?;
        job.write_symbol("round_keys", &cipher.decryption_keys())?;
        job.launch("aes_decrypt", grid, BLOCK, Args::new().ptr(tables).ptr(coded).ptr(again))?;
        let back: Vec<u32> = job.download(again, 4 * states)?;
        job.finish()?;

        let expected: Vec<u8> = picture
            .chunks_exact(16)
            .flat_map(|state| cipher.encrypt(std::array::from_fn(|byte| state[byte])))
            .collect();
        Ok(Check::exact().output("encrypted", &words(&expected), &found).output(
            "decrypted",
            &words(&picture),
            &back,
        ))
    }
}

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]])).collect()
}

/// Rows of 256 grey pixels: areas of slowly changing brightness, and a little noise.
fn picture(pixels: usize, rng: &mut Rng) -> Vec<u8> {
    let mut level = 128.0;
    (0..pixels)
        .map(|at| {
            if at % 64 == 0 {
                level = rng.float(20.0, 235.0);
            }
            level = (level + rng.float(-1.5, 1.5)).clamp(0.0, 255.0);
            level as u8
        })
        .collect()
}

/// Product in the field of 256 elements (FIPS 197, section 4.2).
fn times(mut a: u8, mut b: u8) -> u8 {
    let mut product = 0;
    while b != 0 {
        if b & 1 != 0 {
            product ^= a;
        }
        a = a << 1 ^ if a & 0x80 != 0 { 0x1b } else { 0 };
        b >>= 1;
    }
    product
}

/// Product of a column with the circulant matrix of this first column.
fn mix(column: [u8; 4], by: [u8; 4]) -> [u8; 4] {
    std::array::from_fn(|row| (0..4).fold(0, |sum, i| sum ^ times(column[i], by[(4 + row - i) % 4])))
}

/// [`mix`] by [`MIX`], whose factors are 1, 2 and 3: what is added to a byte is the sum of all four, and twice the sum of it and the next one.
fn mix_plainly(column: [u8; 4]) -> [u8; 4] {
    let sum = column.iter().fold(0, |sum, byte| sum ^ byte);
    let twice = |byte: u8| (byte << 1) ^ ((byte >> 7) * 0x1b);
    std::array::from_fn(|row| column[row] ^ sum ^ twice(column[row] ^ column[(row + 1) % 4]))
}

const MIX: [u8; 4] = [2, 1, 1, 3];
const UNMIX: [u8; 4] = [14, 9, 13, 11];

struct Cipher {
    boxed: [u8; 256],
    unboxed: [u8; 256],
    keys: [[u8; 16]; ROUNDS + 1],
}

impl Cipher {
    fn new(key: [u8; 16]) -> Self {
        let mut boxed = [0; 256];
        let mut unboxed = [0; 256];
        for byte in 0..=255u8 {
            let inverse = (1..=255).find(|other| times(byte, *other) == 1).unwrap_or(0);
            let turned = (1..5).fold(inverse, |sum, turn| sum ^ inverse.rotate_left(turn));
            boxed[usize::from(byte)] = turned ^ 0x63;
            unboxed[usize::from(turned ^ 0x63)] = byte;
        }
        let mut keys = [key; ROUNDS + 1];
        let mut constant = 1;
        for round in 1..=ROUNDS {
            let before = keys[round - 1];
            for at in 0..16 {
                keys[round][at] = before[at]
                    ^ match at {
                        0..4 => boxed[usize::from(before[12 + (at + 1) % 4])],
                        _ => keys[round][at - 4],
                    };
                if at == 0 {
                    keys[round][0] ^= constant;
                }
            }
            constant = times(constant, 2);
        }
        Cipher { boxed, unboxed, keys }
    }

    fn encrypt(&self, mut state: [u8; 16]) -> [u8; 16] {
        for (round, key) in self.keys.iter().enumerate() {
            if round > 0 {
                // Substitute, shift row r by r columns, mix all columns but in the last round.
                state = std::array::from_fn(|at| self.boxed[usize::from(state[(at + 4 * (at % 4)) % 16])]);
                if round < ROUNDS {
                    let column = |c: usize| mix_plainly(std::array::from_fn(|row| state[4 * c + row]));
                    let columns: [[u8; 4]; 4] = std::array::from_fn(column);
                    state = std::array::from_fn(|at| columns[at / 4][at % 4]);
                }
            }
            state = std::array::from_fn(|at| state[at] ^ key[at]);
        }
        state
    }

    fn tables(substitute: &[u8; 256], by: [u8; 4]) -> Vec<u32> {
        let table = |row: u32| {
            let word = move |s: &u8| u32::from_le_bytes(mix([*s, 0, 0, 0], by)).rotate_left(8 * row);
            substitute.iter().map(word)
        };
        (0..4).flat_map(table).chain(substitute.iter().map(|s| u32::from(*s))).collect()
    }

    fn encryption_tables(&self) -> Vec<u32> {
        Cipher::tables(&self.boxed, MIX)
    }

    fn decryption_tables(&self) -> Vec<u32> {
        Cipher::tables(&self.unboxed, UNMIX)
    }

    /// Round keys of the equivalent inverse cipher (FIPS 197, section 5.3.5).
    fn decryption_keys(&self) -> Vec<u32> {
        let last_first = self.keys.iter().rev().enumerate();
        last_first
            .flat_map(|(round, key)| {
                let unmixed = move |column: &[u8]| {
                    let column = std::array::from_fn(|row| column[row]);
                    u32::from_le_bytes(if (1..ROUNDS).contains(&round) { mix(column, UNMIX) } else { column })
                };
                key.chunks_exact(4).map(unmixed)
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_standard_comes_out() {
        // FIPS 197, appendix B.
        let key =
            [0x2b, 0x7e, 0x15, 0x16, 0x28, 0xae, 0xd2, 0xa6, 0xab, 0xf7, 0x15, 0x88, 0x09, 0xcf, 0x4f, 0x3c];
        let plain =
            [0x32, 0x43, 0xf6, 0xa8, 0x88, 0x5a, 0x30, 0x8d, 0x31, 0x31, 0x98, 0xa2, 0xe0, 0x37, 0x07, 0x34];
        let coded =
            [0x39, 0x25, 0x84, 0x1d, 0x02, 0xdc, 0x09, 0xfb, 0xdc, 0x11, 0x85, 0x97, 0x19, 0x6a, 0x0b, 0x32];
        assert_eq!(Cipher::new(key).encrypt(plain), coded);
    }

    #[test]
    fn mixing_and_unmixing_cancel() {
        assert_eq!(mix(mix([1, 200, 3, 77], MIX), UNMIX), [1, 200, 3, 77]);
        assert_eq!(mix_plainly([1, 200, 3, 77]), mix([1, 200, 3, 77], MIX));
    }
}
