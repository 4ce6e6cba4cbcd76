// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whatever is stored comes back, bytes lie where hardware would put them, and none of them is idle.

use proptest::prelude::*;
use warpwatt_codecs::bdi::{Choices, Range, Scheme, classify, explore};
use warpwatt_codecs::{Entry, Values};

use crate::inputs::any_register;
use crate::plain;

/// Every stored bit counts and no other does.
fn check_bits(stored: &Entry, bytes: usize, decode: impl Fn(&Entry) -> Values) -> Result<(), TestCaseError> {
    let values = decode(stored);
    for bit in 0..stored.len() * 8 {
        let mut flipped = *stored;
        flipped[bit / 8] ^= 1 << (bit % 8);
        prop_assert_eq!(decode(&flipped) != values, bit < bytes * 8, "bit {}", bit);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn the_range_is_that_of_the_plain_twin(values in any_register()) {
        prop_assert_eq!(classify(&values), plain::classify(&values));
    }

    #[test]
    fn the_best_scheme_is_that_of_the_plain_twin(values in any_register()) {
        prop_assert_eq!(explore(&values), plain::explore(&values));
    }

    #[test]
    fn every_scheme_that_fits_stores_base_and_deltas_and_gives_them_back(values in any_register()) {
        for scheme in Scheme::ALL {
            let mut entry = plain::stale();
            let fits = plain::fits(scheme, &values);
            prop_assert_eq!(scheme.encode(&values, &mut entry).is_ok(), fits, "{}", scheme);
            let stored = if fits { plain::stored(scheme, &values) } else { vec![] };
            prop_assert_eq!(stored.len(), if fits { scheme.bytes() } else { 0 });
            prop_assert_eq!(&entry[..stored.len()], &stored[..], "{}", scheme);
            prop_assert_eq!(&entry[stored.len()..], &plain::stale()[stored.len()..], "{}", scheme);
            if fits {
                prop_assert_eq!(scheme.decode(&entry), values, "{}", scheme);
            }
        }
    }

    #[test]
    fn any_compressor_gives_back_what_it_was_given(
        values in any_register(), b4d0: bool, b4d1: bool, b4d2: bool,
    ) {
        let range = Choices::new(b4d0, b4d1, b4d2).classify(&values);
        prop_assert!(range.bytes() >= Choices::ALL.classify(&values).bytes());
        let mut entry = plain::stale();
        prop_assert_eq!(range.encode(&values, &mut entry), Ok(()));
        prop_assert_eq!(range.decode(&entry), values);
    }

    #[test]
    fn a_register_that_is_written_again_and_again_is_the_last_one(
        writes in prop::collection::vec(any_register(), 1..8),
    ) {
        let mut entry = plain::stale();
        let mut range = Range::default();
        for values in writes {
            range = classify(&values);
            prop_assert_eq!(range.encode(&values, &mut entry), Ok(()));
            prop_assert_eq!(Range::from_bits(range.bits()).decode(&entry), values);
        }
        prop_assert!(range.banks() * 16 >= range.bytes());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_flipped_bit_changes_the_register_if_it_is_stored(values in any_register()) {
        let mut entry = plain::stale();
        let range = classify(&values);
        prop_assert_eq!(range.encode(&values, &mut entry), Ok(()));
        check_bits(&entry, range.bytes(), |entry| range.decode(entry))?;
        for scheme in Scheme::ALL.into_iter().filter(|scheme| scheme.fits(&values)) {
            prop_assert_eq!(scheme.encode(&values, &mut entry), Ok(()));
            check_bits(&entry, scheme.bytes(), |entry| scheme.decode(entry))?;
        }
    }
}

#[test]
fn uncompressed_registers_lie_lane_by_lane() {
    let values: Values = std::array::from_fn(|lane| (lane as u32 + 1).wrapping_mul(0x9e37_79b9));
    let mut entry = plain::stale();
    assert_eq!(classify(&values), Range::Uncompressed);
    assert_eq!(Range::Uncompressed.encode(&values, &mut entry), Ok(()));
    assert_eq!(entry.to_vec(), plain::bytes(&values));
    assert_eq!(Range::Uncompressed.decode(&entry), values);
}

#[test]
fn thread_indices_lie_as_a_base_and_31_bytes() {
    let values: Values = std::array::from_fn(|lane| 0x0403_0201 + lane as u32);
    let mut entry = plain::stale();
    assert_eq!(Range::B4D1.encode(&values, &mut entry), Ok(()));
    assert_eq!(entry[..4], [1, 2, 3, 4]);
    assert_eq!(entry[4..35], std::array::from_fn::<u8, 31, _>(|index| index as u8 + 1));
    assert_eq!(entry[35..], plain::stale()[35..]);
}

/// If the inputs stopped reaching an encoding, the tests above would no longer say anything about it.
#[test]
fn the_inputs_reach_every_scheme_and_every_choice() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let (mut fitting, mut best, mut ranges) = ([0; 9], [0; 9], [0; 4]);
    let mut none = 0;
    for _ in 0..5000 {
        let values = any_register().new_tree(&mut runner).unwrap().current();
        for (scheme, count) in Scheme::ALL.into_iter().zip(&mut fitting) {
            *count += u32::from(scheme.fits(&values));
        }
        match explore(&values) {
            Some(scheme) => best[scheme as usize] += 1,
            None => none += 1,
        }
        ranges[classify(&values) as usize] += 1;
    }
    assert!(fitting.iter().all(|&count| count >= 50), "{fitting:?}");
    assert!(best[2..].iter().all(|&count| count >= 20) && none >= 500, "{best:?} {none}");
    assert!(ranges.iter().all(|&count| count >= 200), "{ranges:?}");
}
