// SPDX-License-Identifier: MIT OR Apache-2.0
//! Registers that are narrowed thread by thread.

use proptest::prelude::*;
use warpwatt_codecs::narrow::Widths;
use warpwatt_codecs::{ENTRY_BYTES, LANES, Values};

use crate::inputs::any_register;
use crate::plain;

/// 0, 1, 2 or 4: the fewest bytes that sign extension restores the value from.
fn plain_bytes(value: u32) -> usize {
    [0, 1, 2].into_iter().find(|&bytes| plain::holds(bytes, i128::from(value as i32))).unwrap_or(4)
}

#[test]
fn a_value_keeps_as_many_bytes_as_its_sign_needs() {
    let expected = [
        (0, 0),
        (1, 1),
        (-1, 1),
        (127, 1),
        (-128, 1),
        (128, 2),
        (-129, 2),
        (32_767, 2),
        (-32_768, 2),
        (32_768, 4),
        (-32_769, 4),
        (i32::MAX, 4),
        (i32::MIN, 4),
    ];
    for (value, bytes) in expected {
        for lane in 0..LANES {
            let mut values: Values = [0; LANES];
            values[lane] = value as u32;
            let widths = Widths::of(&values);
            assert_eq!((widths.bytes_of(lane), widths.bytes()), (bytes, bytes), "{value} in lane {lane}");
            assert_eq!(widths.banks(), bytes, "one bank for each byte of a single lane");
        }
    }
}

#[test]
fn a_register_takes_the_banks_that_its_widest_lanes_need() {
    let of = |values: Values| (Widths::of(&values).bytes(), Widths::of(&values).banks());
    assert_eq!(of([0; LANES]), (0, 0));
    assert_eq!(of([5; LANES]), (32, 2));
    assert_eq!(of([500; LANES]), (64, 4));
    assert_eq!(of([5_000_000; LANES]), (128, 8));
    // One wide lane costs its half of the wide banks, not all of them.
    assert_eq!(of(std::array::from_fn(|lane| if lane == 3 { 5_000_000 } else { 5 })), (35, 5));
    assert_eq!(of(std::array::from_fn(|lane| if lane == 15 || lane == 16 { 500 } else { 5 })), (34, 4));
}

#[test]
fn similar_values_do_not_help_as_they_do_across_a_warp() {
    let pointers: Values = std::array::from_fn(|lane| 0x1000_0000 + 4 * lane as u32);
    assert_eq!(Widths::of(&pointers).bytes(), ENTRY_BYTES);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn sizes_are_those_of_the_plain_twin(values in any_register(), lanes: u32) {
        let widths = Widths::of(&values);
        let kept = |mask: u32| (0..LANES).filter(move |lane| mask >> lane & 1 == 1).map(move |lane| (lane, plain_bytes(values[lane])));
        for (lane, bytes) in kept(u32::MAX) {
            prop_assert_eq!(widths.bytes_of(lane), bytes);
        }
        for (part, mask) in [(widths, u32::MAX), (widths.only(lanes), lanes)] {
            prop_assert_eq!(part.bytes(), kept(mask).map(|(_, bytes)| bytes).sum::<usize>());
            let touched: std::collections::BTreeSet<_> =
                kept(mask).flat_map(|(lane, bytes)| (0..bytes).map(move |byte| (byte * LANES + lane) / 16)).collect();
            prop_assert_eq!(part.banks(), touched.len());
        }
    }

    #[test]
    fn any_writes_under_any_masks_read_back_exactly(writes in prop::collection::vec((any_register(), any::<u32>()), 1..12)) {
        let mut entry = plain::stale();
        let (mut widths, mut expected) = (Widths::default(), [0; LANES]);
        for (values, lanes) in writes {
            widths.write(&values, lanes, &mut entry);
            for lane in 0..LANES {
                if lanes >> lane & 1 == 1 {
                    expected[lane] = values[lane];
                }
            }
            prop_assert_eq!(widths.read(&entry), expected);
            prop_assert_eq!(widths, Widths::of(&expected));
        }
    }

    #[test]
    fn a_flipped_bit_changes_the_register_if_it_is_kept(values in any_register(), bit in 0..ENTRY_BYTES * 8) {
        let mut entry = plain::stale();
        let mut widths = Widths::default();
        widths.write(&values, u32::MAX, &mut entry);
        let (byte, lane) = (bit / 8 / LANES, bit / 8 % LANES);
        entry[bit / 8] ^= 1 << (bit % 8);
        prop_assert_eq!(widths.read(&entry) != values, byte < widths.bytes_of(lane));
    }
}
