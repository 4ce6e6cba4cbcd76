// SPDX-License-Identifier: MIT OR Apache-2.0
//! Blocks to try: what programs store, what nobody stores, and what lies at the edges of the encodings. By a seed, so that millions are quick to make.

use warpwatt_base::SplitMix64;

/// Words at which a pattern or an encoding begins or ends to fit.
const EDGES: [u32; 20] = [
    0,
    1,
    7,
    8,
    0xffff_fff8,
    0xffff_fff7,
    127,
    128,
    255,
    256,
    0xffff_ff80,
    0xffff_ff7f,
    0x7fff,
    0x8000,
    0xffff_8000,
    0xffff_7fff,
    0x1234_0000,
    0x007f_ff80,
    0x0080_ff80,
    0xabab_abab,
];

fn pick<T: Copy>(seed: &mut SplitMix64, from: &[T]) -> T {
    from[seed.next_u32() as usize % from.len()]
}

/// A block of 32, 64 or 128 bytes.
pub fn block(seed: &mut SplitMix64) -> Vec<u8> {
    let size = pick(seed, &[32, 64, 128]);
    block_of(seed, size)
}

/// A block of a size.
pub fn block_of(seed: &mut SplitMix64, size: usize) -> Vec<u8> {
    let words = size / 4;
    let base = if seed.next_u32().is_multiple_of(2) { seed.next_u32() } else { pick(seed, &EDGES) };
    let shift = seed.next_u32() % 32;
    let kind = seed.next_u32() % 10;
    let stride: u32 = pick(seed, &[0, 1, 4, 0xffff_ffff, 127, 128, 129, 32_768, 65_536]);
    let few: [u32; 3] = std::array::from_fn(|_| seed.next_u32());
    let long = (u64::from(base) << 32 | u64::from(few[0])) >> shift;
    let mut block: Vec<u8> = match kind {
        0 => (0..words).flat_map(|_| seed.next_u32().to_le_bytes()).collect(),
        1 => {
            (0..words).flat_map(|i| base.wrapping_add(stride.wrapping_mul(i as u32)).to_le_bytes()).collect()
        }
        2 => (0..words).flat_map(|_| base.wrapping_add(seed.next_u32() >> shift).to_le_bytes()).collect(),
        3 => (0..words).flat_map(|_| pick(seed, &EDGES).to_le_bytes()).collect(),
        4 => (0..words).flat_map(|_| pick(seed, &few).to_le_bytes()).collect(),
        5 => (0..words / 2)
            .flat_map(|_| long.wrapping_add_signed(i64::from(seed.next_u32() as i32 >> shift)).to_le_bytes())
            .collect(),
        // Two bases, one of them zero.
        6 => (0..words)
            .flat_map(|_| (seed.next_u32() % 2 * base).wrapping_add(seed.next_u32() % 100).to_le_bytes())
            .collect(),
        // Numbers between 0 and 1, and small ones with an integer's sign.
        7 => (0..words).flat_map(|_| (seed.next_u32() as f32 / u32::MAX as f32).to_le_bytes()).collect(),
        8 => (0..2 * words)
            .flat_map(|_| (few[0] as u16).wrapping_add(seed.next_u32() as u16 % 300).to_le_bytes())
            .collect(),
        _ => vec![few[0] as u8 * (few[1] % 2) as u8; size],
    };
    // A few bytes are something else.
    for _ in 0..seed.next_u32() % 3 * (seed.next_u32() % 2) {
        let at = seed.next_u32() as usize % size;
        block[at] = seed.next_u32() as u8;
    }
    block
}
