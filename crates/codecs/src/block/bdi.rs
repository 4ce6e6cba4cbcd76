// SPDX-License-Identifier: MIT OR Apache-2.0
//! Base-delta-immediate compression of blocks (Pekhimenko and others, PACT 2012): elements of 8, 4 or 2 bytes as short differences to one of two
//! bases, zero and the first element that is not close to zero.
//!
//! Stored are the number of the encoding (4 bits), for each element a bit that says which base it belongs to, the base, and the differences. The
//! table of the paper counts base and differences only ([`Encoding::table_bytes`]).

use super::{BlockCodec, Encoded, Garbled, Reader, Writer};

/// How a block is stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Encoding {
    /// All bytes are zero.
    Zeros,
    /// The same eight bytes again and again.
    Repeat,
    B8D1,
    B8D2,
    B8D4,
    B4D1,
    B4D2,
    B2D1,
}

impl Encoding {
    pub const ALL: [Encoding; 8] = [
        Encoding::Zeros,
        Encoding::Repeat,
        Encoding::B8D1,
        Encoding::B8D2,
        Encoding::B8D4,
        Encoding::B4D1,
        Encoding::B4D2,
        Encoding::B2D1,
    ];

    /// Bytes of an element and of a difference.
    const fn shape(self) -> (usize, usize) {
        match self {
            Encoding::Zeros => (0, 0),
            Encoding::Repeat => (8, 0),
            Encoding::B8D1 => (8, 1),
            Encoding::B8D2 => (8, 2),
            Encoding::B8D4 => (8, 4),
            Encoding::B4D1 => (4, 1),
            Encoding::B4D2 => (4, 2),
            Encoding::B2D1 => (2, 1),
        }
    }

    /// Bytes of base and differences for a block, as the paper's Table 2 has them; a block of zeros counts as one.
    pub fn table_bytes(self, block: usize) -> usize {
        match self.shape() {
            (0, _) => 1,
            (base, 0) => base,
            (base, delta) => base + block / base * delta,
        }
    }

    /// Bits that are stored for a block: number, bits that choose a base, base, differences.
    pub fn bits(self, block: usize) -> usize {
        match self.shape() {
            (0, _) => 4,
            (base, 0) => 4 + 8 * base,
            (base, delta) => 4 + block / base + 8 * (base + block / base * delta),
        }
    }

    /// The smallest encoding of a block, and its base.
    #[inline]
    fn of(block: &[u8]) -> Option<(Encoding, u64)> {
        let (longs, _) = block.as_chunks::<8>();
        let first = u64::from_le_bytes(longs[0]);
        if longs.iter().fold(0, |all, &long| all | (u64::from_le_bytes(long) ^ first)) == 0 {
            return Some((if first == 0 { Encoding::Zeros } else { Encoding::Repeat }, first));
        }
        let order = if block.len() > 64 { BY_SIZE_LARGE } else { BY_SIZE_SMALL };
        order.into_iter().find_map(|encoding| Some((encoding, encoding.base_of(block)?)))
    }

    /// The base with which all elements of a block can be stored in an encoding with differences.
    #[inline]
    fn base_of(self, block: &[u8]) -> Option<u64> {
        match self {
            Encoding::Zeros | Encoding::Repeat => None,
            Encoding::B8D1 => fits_8_1(block),
            Encoding::B8D2 => fits_8_2(block),
            Encoding::B8D4 => fits_8_4(block),
            Encoding::B4D1 => fits_4_1(block),
            Encoding::B4D2 => fits_4_2(block),
            Encoding::B2D1 => fits_2_1(block),
        }
    }
}

/// Encodings with differences by the bits they take, fewest first: blocks of 128 bytes, and smaller ones.
const BY_SIZE_LARGE: [Encoding; 6] =
    [Encoding::B8D1, Encoding::B4D1, Encoding::B8D2, Encoding::B4D2, Encoding::B2D1, Encoding::B8D4];
const BY_SIZE_SMALL: [Encoding; 6] =
    [Encoding::B8D1, Encoding::B4D1, Encoding::B8D2, Encoding::B2D1, Encoding::B4D2, Encoding::B8D4];

macro_rules! base_delta {
    ($fits:ident, $write:ident, $read:ident, $element:ty, $delta:ty) => {
        /// The base with which all elements can be stored, if there is one.
        #[inline]
        fn $fits(block: &[u8]) -> Option<u64> {
            const BITS: u32 = <$delta>::BITS;
            const HALF: $element = 1 << (BITS - 1);
            let (elements, _) = block.as_chunks::<{ size_of::<$element>() }>();
            let far = |element: $element| element.wrapping_add(HALF) >> BITS;
            let base = elements
                .iter()
                .map(|&bytes| <$element>::from_le_bytes(bytes))
                .find(|&element| far(element) != 0);
            let base = base.unwrap_or_default();
            let misfit = elements.iter().fold(0, |all, &bytes| {
                let element = <$element>::from_le_bytes(bytes);
                all | if far(element) != 0 { far(element.wrapping_sub(base)) } else { 0 }
            });
            (misfit == 0).then_some(u64::from(base))
        }

        #[inline]
        fn $write(block: &[u8], base: u64, to: &mut Writer) {
            const BITS: u32 = <$delta>::BITS;
            const HALF: $element = 1 << (BITS - 1);
            let base = base as $element;
            let (elements, _) = block.as_chunks::<{ size_of::<$element>() }>();
            let element = |&bytes: &[u8; size_of::<$element>()]| <$element>::from_le_bytes(bytes);
            let based = |element: $element| element.wrapping_add(HALF) >> BITS != 0;
            for group in elements.chunks(4) {
                let mask = group.iter().fold(0, |mask, bytes| mask << 1 | u32::from(based(element(bytes))));
                to.put(mask, group.len() as u32);
            }
            for byte in base.to_le_bytes() {
                to.put(u32::from(byte), 8);
            }
            for element in elements.iter().map(element) {
                let from = if based(element) { base } else { 0 };
                to.put(u32::from_le_bytes(widen((element.wrapping_sub(from) as $delta).to_le_bytes())), BITS);
            }
        }

        #[inline]
        fn $read(from: &mut Reader, block: &mut [u8]) {
            const BITS: u32 = <$delta>::BITS;
            let (elements, _) = block.as_chunks_mut::<{ size_of::<$element>() }>();
            let mut mask = 0u64;
            for _ in 0..elements.len() / 4 {
                mask = mask << 4 | u64::from(from.take(4));
            }
            let base = std::array::from_fn(|_| from.take(8) as u8);
            let base = <$element>::from_le_bytes(base);
            let count = elements.len();
            for (i, element) in elements.iter_mut().enumerate() {
                let delta = from.take(BITS) as $delta as $element;
                let based = mask >> (count - 1 - i) & 1 != 0;
                *element = if based { base.wrapping_add(delta) } else { delta }.to_le_bytes();
            }
        }
    };
}

base_delta!(fits_8_1, write_8_1, read_8_1, u64, i8);
base_delta!(fits_8_2, write_8_2, read_8_2, u64, i16);
base_delta!(fits_8_4, write_8_4, read_8_4, u64, i32);
base_delta!(fits_4_1, write_4_1, read_4_1, u32, i8);
base_delta!(fits_4_2, write_4_2, read_4_2, u32, i16);
base_delta!(fits_2_1, write_2_1, read_2_1, u16, i8);

fn widen<const N: usize>(bytes: [u8; N]) -> [u8; 4] {
    std::array::from_fn(|i| if i < N { bytes[i] } else { 0 })
}

/// The encoding of a block that takes the fewest bits; `None` if it has none.
pub fn encoding(block: &[u8]) -> Option<Encoding> {
    Encoding::of(block).map(|(encoding, _)| encoding)
}

/// The codec.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Bdi;

impl BlockCodec for Bdi {
    fn encode(&self, block: &[u8], out: &mut Encoded) -> bool {
        let Some((encoding, base)) = Encoding::of(block) else { return false };
        let mut to = Writer::new(out);
        to.put(encoding as u32, 4);
        match encoding {
            Encoding::Zeros => {}
            Encoding::Repeat => base.to_le_bytes().into_iter().for_each(|byte| to.put(u32::from(byte), 8)),
            Encoding::B8D1 => write_8_1(block, base, &mut to),
            Encoding::B8D2 => write_8_2(block, base, &mut to),
            Encoding::B8D4 => write_8_4(block, base, &mut to),
            Encoding::B4D1 => write_4_1(block, base, &mut to),
            Encoding::B4D2 => write_4_2(block, base, &mut to),
            Encoding::B2D1 => write_2_1(block, base, &mut to),
        }
        to.finish();
        out.bits() < 8 * block.len()
    }

    fn decode(&self, stored: &[u8], block: &mut [u8]) -> Result<(), Garbled> {
        let mut from = Reader::new(stored)?;
        let number = from.take(4) as usize;
        match Encoding::ALL.get(number).ok_or(Garbled)? {
            Encoding::Zeros => block.fill(0),
            Encoding::Repeat => {
                let value: [u8; 8] = std::array::from_fn(|_| from.take(8) as u8);
                block.as_chunks_mut::<8>().0.fill(value);
            }
            Encoding::B8D1 => read_8_1(&mut from, block),
            Encoding::B8D2 => read_8_2(&mut from, block),
            Encoding::B8D4 => read_8_4(&mut from, block),
            Encoding::B4D1 => read_4_1(&mut from, block),
            Encoding::B4D2 => read_4_2(&mut from, block),
            Encoding::B2D1 => read_2_1(&mut from, block),
        }
        from.check()
    }
}
