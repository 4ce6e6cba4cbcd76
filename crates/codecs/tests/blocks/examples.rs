// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the papers print.

use warpwatt_codecs::block::bdi::{Bdi, Encoding, encoding};
use warpwatt_codecs::block::cpack::CPack;
use warpwatt_codecs::block::fpc::{Fpc, Pattern};
use warpwatt_codecs::block::{BlockCodec, Encoded};
use warpwatt_codecs::huffman::{Code, Codeword, Frequencies, Huffman, SymbolBits};

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn bits_of(codec: &impl BlockCodec, block: &[u8]) -> usize {
    let mut out = Encoded::default();
    assert!(codec.encode(block, &mut out));
    out.bits()
}

/// E2MC, sections III-B2c and III-F: A, B and C with codewords of 2, 1 and 3 bits.
#[test]
fn the_codewords_and_offsets_of_a_b_and_c() {
    let code = Code::new(&[2, 1, 3]);
    let word = |bits, length| Codeword { bits, length };
    assert_eq!([0, 1, 2].map(|symbol| code.word(symbol)), [word(0b10, 2), word(0b0, 1), word(0b110, 3)]);
    assert_eq!([1, 2, 3].map(|length| code.offset(length)), [Some(0), Some(1), Some(4)]);
    assert_eq!(code.offset(4), None);
    // Nothing starts with 111.
    assert_eq!(code.decode(0xe000_0000), None);
}

/// Pekhimenko's table, for the three block sizes.
#[test]
fn sizes_of_base_delta_immediate_are_those_of_its_table_and_what_tells_them_apart() {
    let table: [(usize, [usize; 8]); 3] = [
        (32, [1, 8, 12, 16, 24, 12, 20, 18]),
        (64, [1, 8, 16, 24, 40, 20, 36, 34]),
        (128, [1, 8, 24, 40, 72, 36, 68, 66]),
    ];
    for (size, bytes) in table {
        assert_eq!(Encoding::ALL.map(|encoding| encoding.table_bytes(size)), bytes);
        let elements = [0, 0, size / 8, size / 8, size / 8, size / 4, size / 4, size / 2];
        for ((one, bytes), elements) in Encoding::ALL.into_iter().zip(bytes).zip(elements) {
            let expected = if one == Encoding::Zeros { 4 } else { 4 + elements + 8 * bytes };
            assert_eq!(one.bits(size), expected, "{one:?}");
        }
    }
}

#[test]
fn each_encoding_of_base_delta_immediate_has_a_block() {
    let longs = |step: u64| -> Vec<u8> {
        (0..16).flat_map(|i| (0x1234_5678_9abc_0000 + i * step).to_le_bytes()).collect()
    };
    let spread = |step: u32| words(&std::array::from_fn::<u32, 32, _>(|i| 0x4000_0000 + i as u32 * step));
    let halves: Vec<u8> = (0..64u16).flat_map(|i| (0x5a00 + i).to_le_bytes()).collect();
    let blocks = [
        (vec![0; 128], Encoding::Zeros),
        ([1, 2, 3, 4, 5, 6, 7, 8].repeat(16), Encoding::Repeat),
        (longs(7), Encoding::B8D1),
        (longs(2000), Encoding::B8D2),
        (longs(10_000_000), Encoding::B8D4),
        (spread(3), Encoding::B4D1),
        (spread(900), Encoding::B4D2),
        (halves, Encoding::B2D1),
    ];
    for (block, expected) in blocks {
        assert_eq!(encoding(&block), Some(expected));
        assert_eq!(bits_of(&Bdi, &block), expected.bits(128));
    }
}

/// Small numbers belong to the base of zero, pointers to the other one.
#[test]
fn two_bases_hold_small_numbers_among_pointers() {
    let block =
        words(&std::array::from_fn::<u32, 32, _>(
            |i| if i % 3 == 0 { i as u32 } else { 0x7f00_1000 + i as u32 },
        ));
    assert_eq!(encoding(&block), Some(Encoding::B4D1));
}

#[test]
fn each_pattern_of_fpc_has_its_prefix_and_length() {
    let examples = [
        (0, Pattern::Zeros, 3),
        (0xffff_fff9, Pattern::Nibble, 4),
        (0x7f, Pattern::Byte, 8),
        (0xffff_8001, Pattern::Half, 16),
        (0x1234_0000, Pattern::UpperHalf, 16),
        (0x0012_ffef, Pattern::TwoBytes, 16),
        (0x5a5a_5a5a, Pattern::Repeated, 8),
        (0x1234_5678, Pattern::Raw, 32),
    ];
    for (number, (word, pattern, bits)) in examples.into_iter().enumerate() {
        assert_eq!((Pattern::of(word), pattern as usize, pattern.bits()), (pattern, number, bits));
    }
    // 32 words of zeros are four runs of eight.
    let mut out = Encoded::default();
    assert!(Fpc.encode(&[0; 128], &mut out));
    assert_eq!(out.bytes(), [0b0001_1100, 0b0111_0001, 0b1100_0111]);
}

#[test]
fn each_code_of_c_pack_has_its_bits() {
    let block = words(&[0, 0x1234_5678, 0x1234_5678, 0x1234_5699, 0x1234_ffff, 0xab, 0, 0]);
    let mut out = Encoded::default();
    assert!(CPack.encode(&block, &mut out));
    assert_eq!(out.bits(), 2 + 34 + 6 + 16 + 24 + 12 + 2 + 2);
    // 00, 01 and the word, 10 and entry 0, 1110 and entry 0 and the byte, 1100 and entry 0 and the half, 1101 and the byte, 00, 00.
    let text: String = out.bytes().iter().map(|byte| format!("{byte:08b}")).collect();
    let word = format!("{:032b}", 0x1234_5678);
    let expected = [
        "00",
        "01",
        &word,
        "10",
        "0000",
        "1110",
        "0000",
        "10011001",
        "1100",
        "0000",
        &"1".repeat(16),
        "1101",
        "10101011",
        "00",
        "00",
    ];
    assert_eq!(text.trim_end_matches('0'), expected.concat().trim_end_matches('0'));
}

/// Figure 8: pointers of 7 bits, then the parts, of which all but the first start with a byte.
#[test]
fn four_decoders_take_three_pointers_and_byte_aligned_starts() {
    let mut frequencies = Frequencies::new(SymbolBits::Sixteen);
    // 0 gets one bit, 7 the other, with the escape behind it.
    frequencies.note(0, 0, 1000);
    frequencies.note(0, 7, 100);
    let huffman = Huffman::new(&frequencies, 1024, 4);
    assert_eq!(huffman.word(0, 0), Some(Codeword { bits: 0, length: 1 }));
    assert_eq!(huffman.word(0, 7), Some(Codeword { bits: 0b10, length: 2 }));
    assert_eq!(huffman.escape(), Some(Codeword { bits: 0b11, length: 2 }));
    let mut block = vec![0; 128];
    block[96] = 7;
    let mut out = Encoded::default();
    assert!(huffman.encode(&block, &mut out));
    // 21 bits and 16 of the first part: the second starts at byte 5, the third at 7, the fourth at 9; it has 17 bits.
    assert_eq!(out.bits(), 8 * 9 + 17);
    let text: String = out.bytes().iter().map(|byte| format!("{byte:08b}")).collect();
    assert_eq!(text[..21], format!("{:07b}{:07b}{:07b}", 5, 7, 9));
    assert_eq!(text[72..75], *"100");
    assert_eq!(bits_of(&huffman.with_ways(1), &block), 65);
}

/// Section III-E: eight ways indexed by the lowest seven bits; the ninth value of a set has no place, however frequent it is.
#[test]
fn the_ninth_value_of_a_set_is_escaped() {
    let mut frequencies = Frequencies::new(SymbolBits::Sixteen);
    for i in 0..20 {
        frequencies.note(0, 5 + 128 * i, u64::from(1000 - i));
    }
    frequencies.note(0, 6, 1);
    let huffman = Huffman::new(&frequencies, 1024, 1);
    assert!((0..8).all(|i| huffman.word(0, 5 + 128 * i).is_some()));
    assert_eq!(huffman.word(0, 5 + 128 * 8), None);
    assert!(huffman.word(0, 6).is_some());
    // What is left out counts for the length of the prefix.
    assert_eq!(huffman.escape().unwrap().length, 1);
    // Twice the sets have a place for it.
    assert!(Huffman::new(&frequencies, 2048, 1).word(0, 5 + 128 * 8).is_some());
}

/// Entropy of a fair coin and of one value, for every length of symbols.
#[test]
fn the_bound_is_that_of_the_source_coding_theorem() {
    for width in SymbolBits::ALL {
        let mut frequencies = Frequencies::new(width);
        frequencies.add(&[0x5a; 128]);
        assert_eq!(frequencies.entropy_of_a_word(), Some(0.0));
        frequencies.add(&[0xa5; 128]);
        let symbols = (32 / width.bits()) as f64;
        // Nibbles of 0x5a are 5 and a by position, so that each position has two values.
        assert_eq!(frequencies.entropy_of_a_word(), Some(symbols), "{width:?}");
    }
    let mut cut = Frequencies::new(SymbolBits::ThirtyTwo);
    cut.note_rest(3);
    assert_eq!(cut.entropy_of_a_word(), None);
}
