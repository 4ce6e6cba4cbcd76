// SPDX-License-Identifier: MIT OR Apache-2.0
//! Encoding and decoding of blocks, with pointers to where decoding may start in parallel (E2MC, section III-F1 and Figure 8).
//!
//! A block for `n` decoders is cut into `n` parts of as many symbols. Stored are `n - 1` pointers of as many bits as number the block's bytes, then the
//! parts; all but the first start with a whole byte, to which the pointers point.

use std::ops::Range;

use super::code::Code;
use super::look_up::{Hashed, LookUp, Written, admitted};
use super::pairs::Pair;
use super::{Codeword, Frequencies, SymbolBits, limited_lengths};
use crate::block::{BlockCodec, Encoded, Garbled, LARGEST, Reader, Writer, words, words_mut};

/// A code with the table that the compressor looks symbols up in.
#[derive(Clone, Debug)]
enum Tree {
    /// All values have codewords.
    All(Code),
    /// The most frequent values have; symbol numbers of the code are places in `values`, and the one behind them is the escape.
    Frequent { code: Code, look_up: LookUp, values: Vec<u32>, escape: Codeword },
}

/// Huffman codes for blocks.
#[derive(Clone, Debug)]
pub struct Huffman {
    width: SymbolBits,
    ways: usize,
    trees: Vec<Tree>,
    /// The codes of symbols of 4 bits, two by two; empty for longer ones.
    pairs: Vec<Pair>,
}

impl Huffman {
    /// Codes from frequencies, for at most `values` frequent values if symbols are long, and 1 to 8 decoders.
    pub fn new(frequencies: &Frequencies, values: usize, ways: usize) -> Huffman {
        let width = frequencies.width();
        let tree = |tree| {
            if width.is_narrow() {
                return Tree::All(Code::new(&limited_lengths(frequencies.dense(tree), width.longest())));
            }
            Tree::frequent(frequencies, values)
        };
        let trees: Vec<Tree> = (0..width.trees()).map(tree).collect();
        let codes: Vec<&Code> = trees.iter().filter_map(Tree::all).collect();
        let pairs = match width {
            SymbolBits::Four => codes.chunks_exact(2).map(|two| Pair::new(two[0], two[1])).collect(),
            _ => vec![],
        };
        Huffman { width, ways: ways.clamp(1, 8), trees, pairs }
    }

    /// Changes the number of decoders; the codes stay.
    pub fn with_ways(mut self, ways: usize) -> Huffman {
        self.ways = ways.clamp(1, 8);
        self
    }

    pub fn width(&self) -> SymbolBits {
        self.width
    }

    /// The prefix of values without a codeword; `None` if all have one.
    pub fn escape(&self) -> Option<Codeword> {
        match &self.trees[0] {
            Tree::All(_) => None,
            Tree::Frequent { escape, .. } => Some(*escape),
        }
    }

    /// The codeword of a symbol at a position of a word; `None` if it is escaped.
    pub fn word(&self, position: usize, symbol: u32) -> Option<Codeword> {
        let word = match &self.trees[position % self.trees.len()] {
            Tree::All(code) => code.word(symbol),
            Tree::Frequent { look_up, .. } => look_up.word(symbol),
        };
        (word.length > 0).then_some(word)
    }

    /// Numbers of the symbols of a part of a block of so many words.
    fn part(&self, part: usize, words: usize, per_word: usize) -> Range<usize> {
        let symbols = words * per_word;
        part * symbols / self.ways..(part + 1) * symbols / self.ways
    }

    /// Writes the symbols of a block, and gives the bytes at which parts start; `None` if one starts too far behind to be pointed to. `put` is given the
    /// position of a symbol in its word, the word from there on and the number of symbols left in the part, and tells how many it wrote.
    #[inline(always)]
    fn write<const BITS: u32>(
        &self,
        put: impl Fn(usize, u32, usize, &mut Writer) -> usize,
        block: &[u8],
        to: &mut Writer,
    ) -> Option<[u32; 7]> {
        let per_word = 32 / BITS as usize;
        let mut values = [0; LARGEST / 4];
        values.iter_mut().zip(words(block)).for_each(|(value, word)| *value = word);
        let mut pointers = [0; 7];
        for part in 0..self.ways {
            if part > 0 {
                let byte = to.align();
                if byte >= block.len() {
                    return None;
                }
                pointers[part - 1] = byte as u32;
            }
            let Range { start: mut symbol, end } = self.part(part, block.len() / 4, per_word);
            while symbol < end {
                let position = symbol % per_word;
                let word = values[symbol / per_word] >> (position as u32 * BITS);
                symbol += put(position, word, end - symbol, to);
            }
        }
        Some(pointers)
    }

    /// [`Huffman::write`] for symbols of 16 bits, most of which are frequent in some programs and escaped in others: what is written has at most 32 bits if the
    /// escape prefix fits before a symbol.
    #[inline(always)]
    fn write_short<const FITS: bool>(
        &self,
        words: &[Written; 1 << 16],
        block: &[u8],
        to: &mut Writer,
    ) -> Option<[u32; 7]> {
        let symbols = block.as_chunks::<2>().0;
        let mut pointers = [0; 7];
        for part in 0..self.ways {
            if part > 0 {
                let byte = to.align();
                if byte >= block.len() {
                    return None;
                }
                pointers[part - 1] = byte as u32;
            }
            for &symbol in &symbols[self.part(part, block.len() / 4, 2)] {
                let written = words[usize::from(u16::from_le_bytes(symbol))];
                let (bits, length) = (written.bits(), written.length());
                if FITS || length <= 32 {
                    to.put(bits as u32, length);
                } else {
                    to.put((bits >> 16) as u32, length - 16);
                    to.put(bits as u32 & 0xffff, 16);
                }
            }
        }
        Some(pointers)
    }

    /// Reads symbols into a block, part by part. `take` is given the position of a symbol in its word and the number of symbols left in the part; it gives
    /// symbols, the first in the lowest bits, and how many they are.
    #[inline(always)]
    fn read<const BITS: u32>(
        &self,
        take: impl Fn(usize, usize, &mut Reader) -> Result<(u32, usize), Garbled>,
        pointers: &[u32],
        from: &mut Reader,
        block: &mut [u8],
    ) -> Result<(), Garbled> {
        let per_word = 32 / BITS as usize;
        let mut values = [0; LARGEST / 4];
        for part in 0..self.ways {
            if part > 0 {
                from.check()?;
                from.seek(pointers[part - 1] as usize);
            }
            let Range { start: mut symbol, end } = self.part(part, block.len() / 4, per_word);
            while symbol < end {
                let position = symbol % per_word;
                let (found, count) = take(position, end - symbol, from)?;
                values[symbol / per_word] |= found << (position as u32 * BITS);
                symbol += count;
            }
        }
        words_mut(block).iter_mut().zip(values).for_each(|(place, value)| *place = value.to_le_bytes());
        Ok(())
    }
}

impl Tree {
    /// The code of a tree in which all values have codewords.
    fn all(&self) -> Option<&Code> {
        match self {
            Tree::All(code) => Some(code),
            Tree::Frequent { .. } => None,
        }
    }

    fn frequent(frequencies: &Frequencies, values: usize) -> Tree {
        let (values, mut counts): (Vec<u32>, Vec<u64>) =
            admitted(frequencies.rows(0), values).into_iter().unzip();
        counts.push(frequencies.total() - counts.iter().sum::<u64>());
        let code = Code::new(&limited_lengths(&counts, frequencies.width().longest()));
        let entries = values.iter().enumerate().map(|(place, &value)| (value, code.word(place as u32)));
        let escape = code.word(values.len() as u32);
        let look_up = LookUp::new(frequencies.width() == SymbolBits::Sixteen, escape, entries);
        Tree::Frequent { code, look_up, values, escape }
    }
}

/// Writes one symbol of 32 bits: its codeword, or itself behind the escape prefix.
#[inline(always)]
fn put_long(look_up: &Hashed, escape: Codeword, symbol: u32, to: &mut Writer) -> usize {
    let word = look_up.word(symbol);
    if word.length > 0 {
        to.put(word.bits, word.length);
    } else {
        to.put(escape.bits, escape.length);
        to.put(symbol, 32);
    }
    1
}

impl BlockCodec for Huffman {
    fn encode(&self, block: &[u8], out: &mut Encoded) -> bool {
        let pointer_bits = block.len().ilog2();
        let mut to = Writer::new(out);
        (1..self.ways).for_each(|_| to.put(0, pointer_bits));
        let narrow = |position: usize, symbol: u32| match &self.trees[position] {
            Tree::All(code) => code.word(symbol),
            Tree::Frequent { .. } => Codeword::default(),
        };
        // Two codewords at a time have at most 32 bits.
        let nibbles = |position: usize, word: u32, left: usize, to: &mut Writer| {
            if position.is_multiple_of(4) && left >= 4 {
                let pairs = &self.pairs[position / 2..];
                to.put_both(pairs[0].word(word), pairs[1].word(word >> 8));
                return 4;
            }
            let word = narrow(position, word & 15);
            to.put(word.bits, word.length);
            1
        };
        let bytes = |position: usize, word: u32, left: usize, to: &mut Writer| {
            let first = narrow(position, word & 255);
            if position.is_multiple_of(2) && left >= 2 {
                to.put_both(first, narrow(position + 1, word >> 8 & 255));
                return 2;
            }
            to.put(first.bits, first.length);
            1
        };
        let pointers = match (self.width, &self.trees[0]) {
            (SymbolBits::Four, _) => self.write::<4>(nibbles, block, &mut to),
            (_, Tree::Frequent { look_up: LookUp::Direct(words), escape, .. }) => {
                // Mostly the prefix is so short that it is written with its symbol.
                if escape.length <= 16 {
                    self.write_short::<true>(words, block, &mut to)
                } else {
                    self.write_short::<false>(words, block, &mut to)
                }
            }
            (_, Tree::Frequent { look_up: LookUp::Hashed(look_up), escape, .. }) => {
                self.write::<32>(|_, word, _, to| put_long(look_up, *escape, word, to), block, &mut to)
            }
            _ => self.write::<8>(bytes, block, &mut to),
        };
        let Some(pointers) = pointers else { return false };
        to.finish();
        for (i, &pointer) in pointers[..self.ways - 1].iter().enumerate() {
            out.patch(i * pointer_bits as usize, pointer, pointer_bits as usize);
        }
        out.bits() < 8 * block.len()
    }

    fn decode(&self, stored: &[u8], block: &mut [u8]) -> Result<(), Garbled> {
        let pointer_bits = block.len().ilog2();
        let mut from = Reader::new(stored)?;
        let mut pointers = [0; 7];
        pointers[..self.ways - 1].iter_mut().for_each(|pointer| *pointer = from.take(pointer_bits));
        let pointers = &pointers[..self.ways - 1];
        let narrow = |position: usize, from: &mut Reader| {
            let Tree::All(code) = &self.trees[position] else { return Err(Garbled) };
            let (symbol, length) = code.decode(from.peek()).ok_or(Garbled)?;
            from.skip(length);
            Ok((symbol, 1))
        };
        let nibbles = |position: usize, left: usize, from: &mut Reader| {
            if position.is_multiple_of(2)
                && left >= 2
                && let Some((byte, length)) = self.pairs[position / 2].decode(from.peek())
            {
                from.skip(length);
                return Ok((byte, 2));
            }
            narrow(position, from)
        };
        let bytes = |position: usize, _: usize, from: &mut Reader| narrow(position, from);
        let wide = |_: usize, _: usize, from: &mut Reader| {
            let Tree::Frequent { code, values, .. } = &self.trees[0] else { return Err(Garbled) };
            let (place, length) = code.decode(from.peek()).ok_or(Garbled)?;
            from.skip(length);
            Ok((values.get(place as usize).copied().unwrap_or_else(|| from.take(self.width.bits())), 1))
        };
        match self.width {
            SymbolBits::Four => self.read::<4>(nibbles, pointers, &mut from, block)?,
            SymbolBits::Eight => self.read::<8>(bytes, pointers, &mut from, block)?,
            SymbolBits::Sixteen => self.read::<16>(wide, pointers, &mut from, block)?,
            SymbolBits::ThirtyTwo => self.read::<32>(wide, pointers, &mut from, block)?,
        }
        from.check()
    }
}
