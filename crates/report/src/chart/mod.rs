// SPDX-License-Identifier: MIT OR Apache-2.0
//! Charts as SVG, for the page and as files. There is no library behind them: a few kinds are needed, each of which is a short file, and what is drawn
//! here can be tested, printed and read without a script.
//!
//! A mark carries `data-i="column,row"`, the place of its value in the table behind the chart, from which the page takes what it shows when the
//! pointer or the keyboard is on it.

pub mod area;
pub mod bars;
pub mod rows;
pub mod scale;
pub mod scatter;
pub mod svg;

/// Categorical colours, and those of an ordered scale.
pub fn class(place: usize, of: usize, ordered: bool) -> String {
    match ordered && of > 1 {
        true => format!("q{}", place * 15 / (of - 1)),
        false => format!("c{}", place % 10),
    }
}
