// SPDX-License-Identifier: MIT OR Apache-2.0
//! Distances between successive lanes and their bins.

use proptest::prelude::*;
use warpwatt_codecs::similarity::{Bin, Distances};
use warpwatt_codecs::{LANES, Values};

use crate::inputs::any_register;
use crate::plain;

#[test]
fn bounds_belong_to_the_nearer_bin_on_both_sides() {
    let expected = [
        (0, Bin::Zero),
        (1, Bin::Within128),
        (128, Bin::Within128),
        (129, Bin::Within32K),
        (32_768, Bin::Within32K),
        (32_769, Bin::Random),
        (i32::MAX, Bin::Random),
    ];
    for base in [0u32, 1000, 0x7fff_ffff, 0x8000_0000, u32::MAX] {
        for (step, bin) in expected {
            assert_eq!(Bin::of(base, base.wrapping_add_signed(step)), bin, "{base:#x} + {step}");
            assert_eq!(Bin::of(base, base.wrapping_add_signed(-step)), bin, "{base:#x} - {step}");
            let steps = |lane: usize| base.wrapping_add_signed(step * (lane % 2) as i32);
            assert_eq!(Distances::of(&std::array::from_fn(steps)).count(bin), 31, "{base:#x} and {step}");
        }
        assert_eq!(Bin::of(base, base.wrapping_add_signed(i32::MIN)), Bin::Random);
    }
}

#[test]
fn a_register_is_as_similar_as_its_furthest_neighbours() {
    let counts = |values: Values| Bin::ALL.map(|bin| Distances::of(&values).count(bin));
    assert_eq!(counts([9; LANES]), [31, 0, 0, 0]);
    let indices: Values = std::array::from_fn(|lane| lane as u32);
    assert_eq!(counts(indices), [0, 31, 0, 0]);
    assert_eq!(Distances::of(&indices).category(), Some(Bin::Within128));
    // Neighbours are near although the last lane is far from the first: BDI would not call this small.
    let rows: Values = std::array::from_fn(|lane| 30_000 * lane as u32);
    assert_eq!(Distances::of(&rows).category(), Some(Bin::Within32K));
    let mut one_off = [9; LANES];
    one_off[12] = 0x4000_0000;
    assert_eq!(counts(one_off), [29, 0, 0, 2]);
    assert_eq!(Distances::of(&one_off).category(), Some(Bin::Random));
}

#[test]
fn lanes_outside_of_the_mask_are_passed_over() {
    let mut values = [9; LANES];
    values[12] = 0x4000_0000;
    let among = |lanes| Distances::among(&values, lanes);
    assert_eq!(among(!(1 << 12)).category(), Some(Bin::Zero));
    assert_eq!(among(1 << 11 | 1 << 13).count(Bin::Zero), 1);
    assert_eq!(among(1 << 12).category(), None);
    assert_eq!(among(0).category(), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn counts_are_those_of_the_plain_twin(values in any_register(), lanes in prop_oneof![Just(u32::MAX), any::<u32>()]) {
        let members: Vec<u32> = (0..LANES).filter(|lane| lanes >> lane & 1 == 1).map(|lane| values[lane]).collect();
        let bins: Vec<Bin> = members.windows(2).map(|pair| plain::bin(pair[0], pair[1])).collect();
        let distances = Distances::among(&values, lanes);
        for bin in Bin::ALL {
            prop_assert_eq!(distances.count(bin) as usize, bins.iter().filter(|&&other| other == bin).count());
        }
        prop_assert_eq!(distances.category(), bins.iter().max().copied());
    }
}
