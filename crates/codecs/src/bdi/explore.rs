// SPDX-License-Identifier: MIT OR Apache-2.0
//! The original search for the best base and delta, which Figure 5 of Warped-Compression counts for every register write (section 4).

use super::Scheme;
use super::spread::{spread_4, spread_8};
use crate::Values;

/// What the search chooses from, smallest first. No two are equally large, so there is never a tie.
pub const EXPLORED: [Scheme; 7] =
    [Scheme::B4D0, Scheme::B8D0, Scheme::B8D1, Scheme::B4D1, Scheme::B8D2, Scheme::B4D2, Scheme::B8D4];

/// The scheme with the highest compression ratio for this register, or none if it does not compress.
#[inline]
pub fn explore(values: &Values) -> Option<Scheme> {
    let (four, eight) = (u64::from(spread_4(values)), spread_8(values));
    EXPLORED.into_iter().find(|scheme| {
        let spread = if scheme.base() == 4 { four } else { eight };
        spread >> (8 * scheme.delta()) == 0
    })
}
