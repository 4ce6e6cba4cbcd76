// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where each encoding begins and ends to fit, in every lane and from bases that wrap.

use warpwatt_codecs::bdi::{Misfit, Range, Scheme, classify, explore};
use warpwatt_codecs::{LANES, Values};

use crate::inputs::{EDGES, pairs};
use crate::plain;

const BASES: [u64; 8] =
    [0, 1, 100, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, 0x7fff_ffff_ffff_ffff, 0xffff_ffff_ffff_ffff];

/// One lane differs from all others.
fn one_odd(base: u32, odd: usize, delta: i64) -> Values {
    std::array::from_fn(|lane| if lane == odd { base.wrapping_add(delta as u32) } else { base })
}

#[test]
fn a_delta_of_four_byte_chunks_sets_the_range() {
    use Range::{B4D0, B4D1, B4D2, Uncompressed};
    let expected = [
        (0, B4D0),
        (1, B4D1),
        (-1, B4D1),
        (127, B4D1),
        (-128, B4D1),
        (128, B4D2),
        (-129, B4D2),
        (255, B4D2),
        (256, B4D2),
        (32_767, B4D2),
        (-32_768, B4D2),
        (32_768, Uncompressed),
        (-32_769, Uncompressed),
        (65_536, Uncompressed),
        (i32::MAX.into(), Uncompressed),
        (i32::MIN.into(), Uncompressed),
    ];
    for base in BASES {
        for odd in 1..LANES {
            for (delta, range) in expected {
                assert_eq!(
                    classify(&one_odd(base as u32, odd, delta)),
                    range,
                    "{base:#x} {delta} in lane {odd}"
                );
            }
        }
    }
}

#[test]
fn differences_wrap_around_zero_and_around_the_sign() {
    assert_eq!(classify(&one_odd(u32::MAX, 31, 1)), Range::B4D1);
    assert_eq!(classify(&one_odd(0x7fff_ffff, 31, 1)), Range::B4D1);
    assert_eq!(classify(&one_odd(0, 31, -128)), Range::B4D1);
}

#[test]
fn the_first_lane_is_the_base_even_if_it_is_the_odd_one() {
    // The others differ from it by the opposite: -128 fits a byte, 128 does not.
    for (delta, range) in
        [(127, Range::B4D1), (128, Range::B4D1), (129, Range::B4D2), (-127, Range::B4D1), (-128, Range::B4D2)]
    {
        assert_eq!(classify(&one_odd(1000, 0, delta)), range, "{delta}");
    }
}

#[test]
fn opposite_signs_do_not_cancel_out() {
    let mut values = [500; LANES];
    (values[7], values[8]) = (500 - 128, 500 + 128);
    assert_eq!(classify(&values), Range::B4D2);
    values[8] = 500 + 127;
    assert_eq!(classify(&values), Range::B4D1);
}

#[test]
fn a_delta_of_eight_byte_chunks_sets_the_scheme() {
    let expected = [
        (0, Some(Scheme::B8D0)),
        (1, Some(Scheme::B8D1)),
        (-1, Some(Scheme::B8D1)),
        (127, Some(Scheme::B8D1)),
        (-128, Some(Scheme::B8D1)),
        (128, Some(Scheme::B8D2)),
        (-129, Some(Scheme::B8D2)),
        (32_767, Some(Scheme::B8D2)),
        (-32_768, Some(Scheme::B8D2)),
        (32_768, Some(Scheme::B8D4)),
        (-32_769, Some(Scheme::B8D4)),
        (i32::MAX.into(), Some(Scheme::B8D4)),
        (i32::MIN.into(), Some(Scheme::B8D4)),
        (i64::from(i32::MAX) + 1, None),
        (i64::from(i32::MIN) - 1, None),
        (i64::MIN, None),
    ];
    // Halves far apart, so that nothing with a base of four bytes fits; the last one borrows and carries between the halves.
    for base in [0x1234_5678_9abc_def0, 0x4000_0000_0000_0000, 0x7fff_0000_ffff_ffff] {
        for odd in 1..LANES / 2 {
            for (delta, scheme) in expected {
                let values = pairs(base, |pair| if pair == odd { delta } else { 0 });
                assert_eq!(explore(&values), scheme, "{base:#x} {delta} in pair {odd}");
            }
        }
    }
}

#[test]
fn the_explorer_prefers_the_smaller_of_two_that_fit() {
    assert_eq!(explore(&[7; LANES]), Some(Scheme::B4D0), "fits all; 4 bytes");
    let in_low_words = pairs(0x0000_0009_0000_0009, |pair| pair as i64);
    assert_eq!(classify(&in_low_words), Range::B4D1);
    assert_eq!(explore(&in_low_words), Some(Scheme::B8D1), "23 bytes rather than 35");
    let wider = pairs(0x0000_0009_0000_0009, |pair| 200 * pair as i64);
    assert_eq!(classify(&wider), Range::B4D2);
    assert_eq!(explore(&wider), Some(Scheme::B8D2), "38 bytes rather than 66");
    let indices: Values = std::array::from_fn(|lane| lane as u32);
    assert_eq!(explore(&indices), Some(Scheme::B4D1), "odd lanes differ");
}

#[test]
fn every_scheme_agrees_with_its_plain_twin_and_comes_back_at_every_edge() {
    for base in BASES {
        for delta in EDGES {
            for odd in [0, 1, 2, 14, 15] {
                let wide = pairs(base, |pair| if pair == odd { delta } else { 0 });
                for values in [wide, one_odd(base as u32, 2 * odd, delta)] {
                    for scheme in Scheme::ALL {
                        let mut entry = plain::stale();
                        let fits = plain::fits(scheme, &values);
                        assert_eq!(scheme.fits(&values), fits, "{scheme} {values:x?}");
                        assert_eq!(scheme.encode(&values, &mut entry).is_ok(), fits, "{scheme} {values:x?}");
                        assert!(!fits || scheme.decode(&entry) == values, "{scheme} {values:x?}");
                    }
                }
            }
        }
    }
}

#[test]
fn small_bases_see_bytes_and_halfwords() {
    assert!(Scheme::B1D0.fits(&[0x5a5a_5a5a; LANES]));
    assert!(!Scheme::B1D0.fits(&[0x5a5a_5a5b; LANES]));
    for (other, fits) in [(127, true), (128, false), (-128, true), (-129, false)] {
        let halfword = u32::from(0x0100u16.wrapping_add_signed(other));
        let values: Values =
            std::array::from_fn(|lane| if lane == 31 { halfword << 16 | 0x0100 } else { 0x0100_0100 });
        assert_eq!(Scheme::B2D1.fits(&values), fits, "{other}");
    }
}

#[test]
fn what_does_not_fit_is_refused_and_nothing_is_written() {
    let mut entry = plain::stale();
    let refused = Range::B4D1.encode(&one_odd(0, 31, 128), &mut entry);
    assert_eq!(refused, Err(Misfit { scheme: Scheme::B4D1 }));
    assert_eq!(entry, plain::stale());
    assert_eq!(
        refused.unwrap_err().to_string(),
        "the register does not fit <4,1>: a chunk of 4 B differs from the first by more than 1 B hold; store it uncompressed"
    );
}
