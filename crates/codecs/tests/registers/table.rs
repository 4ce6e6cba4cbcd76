// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the paper prints.

use warpwatt_codecs::bdi::{Choices, EXPLORED, Range, Scheme, TABLE_1};
use warpwatt_codecs::{BANKS, banks};

#[test]
fn equation_1_gives_table_1() {
    assert_eq!(TABLE_1.map(|row| row.scheme), Scheme::ALL);
    for row in TABLE_1 {
        let chunks = 128 / row.base_bytes;
        assert_eq!(row.base_bytes + row.delta_bytes * (chunks - 1), row.compressed_bytes, "{row:?}");
        assert_eq!(row.banks, banks(row.compressed_bytes), "{row:?}");
        let scheme = row.scheme;
        assert_eq!((scheme.base(), scheme.delta()), (row.base_bytes, row.delta_bytes), "{row:?}");
        assert_eq!((scheme.bytes(), scheme.banks()), (row.compressed_bytes, row.banks), "{row:?}");
    }
}

#[test]
fn the_used_rows_are_the_three_ranges() {
    let used: Vec<_> = TABLE_1.iter().filter(|row| row.used).map(|row| Some(row.scheme)).collect();
    assert_eq!(used, [Range::B4D0, Range::B4D1, Range::B4D2].map(Range::scheme));
}

#[test]
fn ranges_take_one_three_five_or_eight_banks() {
    let all = [Range::B4D0, Range::B4D1, Range::B4D2, Range::Uncompressed];
    assert_eq!(all.map(Range::bytes), [4, 35, 66, 128]);
    assert_eq!(all.map(Range::banks), [1, 3, 5, 8]);
    assert_eq!(BANKS, 8);
    assert_eq!(all.map(|range| range.to_string()), ["<4,0>", "<4,1>", "<4,2>", "uncompressed"]);
}

#[test]
fn the_indicator_has_two_bits() {
    for (bits, range) in Range::ALL.into_iter().enumerate() {
        assert_eq!(usize::from(range.bits()), bits);
        assert_eq!(Range::from_bits(range.bits()), range);
        assert_eq!(Range::from_bits(range.bits() | 0xfc), range);
    }
    assert_eq!(Range::default(), Range::Uncompressed);
}

#[test]
fn the_explorer_leaves_out_the_rows_with_small_bases_and_goes_by_size() {
    let sizes = EXPLORED.map(Scheme::bytes);
    assert!(sizes.is_sorted_by(|one, next| one < next), "{sizes:?}");
    let large = Scheme::ALL.into_iter().filter(|scheme| scheme.base() >= 4);
    assert!(large.clone().all(|scheme| EXPLORED.contains(&scheme)));
    assert_eq!(large.count(), EXPLORED.len());
}

/// Registers that get <4,0>, <4,1>, <4,2> and nothing from a compressor that has all.
const BY_RANGE: [u32; 4] = [0, 1, 1000, 100_000];

#[test]
fn a_single_choice_takes_what_fits_it_and_no_more() {
    let registers = BY_RANGE.map(|stride| std::array::from_fn(|lane| 5 + stride * lane as u32));
    let stored = |choices: Choices| registers.map(|values| choices.classify(&values));
    use Range::{B4D0, B4D1, B4D2, Uncompressed};
    assert_eq!(stored(Choices::ALL), [B4D0, B4D1, B4D2, Uncompressed]);
    assert_eq!(stored(Choices::default()), stored(Choices::ALL));
    assert_eq!(stored(Choices::ONLY_4_0), [B4D0, Uncompressed, Uncompressed, Uncompressed]);
    assert_eq!(stored(Choices::ONLY_4_1), [B4D1, B4D1, Uncompressed, Uncompressed]);
    assert_eq!(stored(Choices::ONLY_4_2), [B4D2, B4D2, B4D2, Uncompressed]);
    assert_eq!(stored(Choices::new(true, false, true)), [B4D0, B4D2, B4D2, Uncompressed]);
    assert_eq!(stored(Choices::new(false, false, false)), [Uncompressed; 4]);
}
