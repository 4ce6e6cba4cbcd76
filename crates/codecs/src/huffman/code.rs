// SPDX-License-Identifier: MIT OR Apache-2.0
//! A canonical Huffman code: codewords of one length are consecutive binary numbers, so that first codewords and offsets by length are all that a
//! decoder compares with and subtracts (E2MC, sections III-B2c and III-F).

/// A codeword: its lowest `length` bits, of which the highest is the first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Codeword {
    pub bits: u32,
    pub length: u32,
}

/// The longest codeword of any code.
pub const LONGEST: usize = 20;

/// Codewords up to this length are decoded by one look at a table.
const QUICK_BITS: u32 = 11;

#[derive(Clone, Debug)]
pub struct Code {
    /// By symbol.
    words: Vec<Codeword>,
    /// Symbols by length of their codewords, then by number: the decoder's look-up table.
    symbols: Vec<u32>,
    /// By length: what is subtracted from a codeword to get its place in `symbols`.
    offsets: [u32; LONGEST + 1],
    /// By length: the first 32 bits behind the last codeword of this length or a shorter one.
    ends: [u64; LONGEST + 1],
    longest: u32,
    /// By the first bits: symbol and length; 0 for codewords that are longer.
    quick: Vec<u32>,
}

impl Code {
    /// From the lengths of the codewords, 1 to 20, by symbol.
    pub fn new(lengths: &[u8]) -> Code {
        let mut symbols: Vec<u32> = (0..lengths.len() as u32).collect();
        symbols.sort_by_key(|&symbol| (lengths[symbol as usize], symbol));
        let mut words = vec![Codeword::default(); lengths.len()];
        let (mut offsets, mut ends) = ([0; LONGEST + 1], [0; LONGEST + 1]);
        let longest = lengths.iter().copied().max().unwrap_or(1).into();
        let quick_bits = QUICK_BITS.min(longest);
        let mut quick = vec![0; 1 << quick_bits];
        let mut next = Codeword::default();
        for (place, &symbol) in symbols.iter().enumerate() {
            let length = u32::from(lengths[symbol as usize]);
            if length > next.length {
                next = Codeword { bits: next.bits << (length - next.length), length };
                offsets[length as usize] = next.bits.wrapping_sub(place as u32);
            }
            words[symbol as usize] = next;
            if length <= quick_bits {
                let shift = quick_bits - length;
                let range = (next.bits as usize) << shift..(next.bits as usize + 1) << shift;
                quick[range].fill(symbol << 5 | length);
            }
            next.bits += 1;
            ends[length as usize] = u64::from(next.bits) << (32 - length);
        }
        for length in 1..=LONGEST {
            ends[length] = ends[length].max(ends[length - 1]);
        }
        Code { words, symbols, offsets, ends, longest, quick }
    }

    /// The codeword of a symbol.
    #[inline(always)]
    pub fn word(&self, symbol: u32) -> Codeword {
        self.words[symbol as usize]
    }

    /// What is subtracted from a codeword of a length to get its place in the decoder's look-up table; `None` if there is no such codeword.
    pub fn offset(&self, length: u32) -> Option<u32> {
        let any = self.words.iter().any(|word| word.length == length);
        any.then(|| self.offsets[length as usize])
    }

    /// The symbol whose codeword these 32 bits start with, and its length; `None` if they start with no codeword.
    #[inline(always)]
    pub fn decode(&self, window: u32) -> Option<(u32, u32)> {
        let quick = self.quick[(window >> (32 - QUICK_BITS.min(self.longest))) as usize];
        if quick != 0 {
            return Some((quick >> 5, quick & 31));
        }
        self.decode_long(window)
    }

    /// Goes by the first codewords of all lengths, as hardware does.
    #[cold]
    fn decode_long(&self, window: u32) -> Option<(u32, u32)> {
        let length = (1..=self.longest).find(|&length| u64::from(window) < self.ends[length as usize])?;
        let place = (window >> (32 - length)).wrapping_sub(self.offsets[length as usize]);
        self.symbols.get(place as usize).map(|&symbol| (symbol, length))
    }
}
