// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values in registers: how narrow, and how similar from lane to lane. Upper halves of 64-bit values, which are mostly addresses, are counted apart.

use super::runs::{Measured, SIMILARITY, WIDTHS};
use super::sheet::{Cell, Sheet, heading, percent};

/// Registers by width in bytes: of 32-bit values and lower halves, and of upper halves.
const LOWER: [&str; 2] = ["packing.read_widths.histogram", "packing.write_widths.histogram"];
const UPPER: [&str; 2] = ["packing.read_widths_upper.histogram", "packing.write_widths_upper.histogram"];

/// Registers of these counters in all, of less than four bytes, and of one byte.
fn counted(one: &Measured, counters: &[&str]) -> Option<[f64; 3]> {
    let mut sums = [0.0; 3];
    for counter in counters {
        for (sum, places) in sums.iter_mut().zip([0..4, 0..3, 0..1]) {
            *sum += one.buckets(WIDTHS, counter, places)?;
        }
    }
    Some(sums)
}

pub fn widths(measured: &[Measured]) -> Sheet {
    let row = |one: &Measured| {
        let narrow =
            |counters: &[&str]| counted(one, counters).and_then(|[all, narrow, _]| percent(narrow, all));
        let byte = counted(one, &LOWER).and_then(|[all, _, byte]| percent(byte, all));
        let both = [LOWER, UPPER].concat();
        let upper = counted(one, &UPPER).zip(counted(one, &both));
        let cells = [
            narrow(&LOWER),
            byte,
            upper.and_then(|([upper, ..], [all, ..])| percent(upper, all)),
            narrow(&UPPER),
            narrow(&both),
        ];
        (one.name(), cells.map(Cell::from).to_vec())
    };
    Sheet {
        key: "widths",
        title: "Widths of values (gtx480-corf)",
        note: "Registers read and written, by the bytes that the widest of all 32 lanes needs, in percent. `narrow`: fewer than four bytes, `byte`: \
               one byte, both for 32-bit values and lower halves of 64-bit values. `upper`: upper halves of 64-bit values, which are mostly those of \
               addresses, of all registers. `narrow upper`: the narrow ones among these. `narrow both`: narrow registers among all; a machine with 32-bit addresses has no upper halves.",
        headings: vec![
            heading("narrow", "narrow", 1),
            heading("one_byte", "byte", 1),
            heading("upper_halves", "upper", 1),
            heading("narrow_upper", "narrow upper", 1),
            heading("narrow_both", "narrow both", 1),
        ],
        rows: measured.iter().map(row).collect(),
    }
}

/// Registers written, by phase and by the largest distance of successive lanes.
const SIMILAR: &str = "wc.similar.histogram";
const SIMILAR_UPPER: &str = "wc.similar_upper.histogram";
/// Bins of distances: zero, up to 128, up to 32 K, random.
const BINS: usize = 4;
/// Phases: all lanes, under a guard, short blocks, lanes ended, split. The first two are undiverged.
const PHASES: usize = 5;
const UNDIVERGED: usize = 2;

/// Registers of these phases, and those of them whose lanes are not random.
fn similar(one: &Measured, counter: &str, phases: std::ops::Range<usize>) -> Option<[f64; 2]> {
    let all = one.buckets(SIMILARITY, counter, BINS * phases.start..BINS * phases.end)?;
    let random: f64 = phases
        .map(|phase| one.buckets(SIMILARITY, counter, BINS * phase + BINS - 1..BINS * (phase + 1)))
        .sum::<Option<f64>>()?;
    Some([all, all - random])
}

pub fn similarity(measured: &[Measured]) -> Sheet {
    let row = |one: &Measured| {
        let share = |counters: &[&str], phases: std::ops::Range<usize>| {
            let found = counters.iter().map(|counter| similar(one, counter, phases.clone()));
            let sums = found.collect::<Option<Vec<_>>>()?;
            let sum = |k: usize| sums.iter().map(|pair| pair[k]).sum::<f64>();
            percent(sum(1), sum(0))
        };
        let written = |counter: &str| similar(one, counter, 0..PHASES).map(|[all, _]| all);
        let instructions = "wc.instructions.histogram";
        let diverged = one.buckets(SIMILARITY, instructions, UNDIVERGED..PHASES);
        let upper = written(SIMILAR_UPPER).zip(written(SIMILAR));
        let cells = [
            diverged.zip(one.count(SIMILARITY, instructions)).and_then(|(part, all)| percent(part, all)),
            share(&[SIMILAR], 0..UNDIVERGED),
            share(&[SIMILAR], UNDIVERGED..PHASES),
            upper.and_then(|(upper, lower)| percent(upper, upper + lower)),
            share(&[SIMILAR_UPPER], 0..PHASES),
            share(&[SIMILAR, SIMILAR_UPPER], 0..UNDIVERGED),
        ];
        (one.name(), cells.map(Cell::from).to_vec())
    };
    Sheet {
        key: "similarity",
        title: "Similarity of values (gtx480-wc)",
        note: "`diverged`: instructions with fewer than 32 active lanes before the guard, in percent. `similar`: registers written whose successive \
               lanes differ by at most 32 K, in percent of registers written by undiverged instructions, for 32-bit values and lower halves of 64-bit values; `similar div.`: the same for diverged instructions. `upper`: upper halves of all registers written. `similar upper`: the \
               similar ones among these. `similar all`: as `similar`, with upper halves.",
        headings: vec![
            heading("diverged", "diverged", 1),
            heading("similar", "similar", 1),
            heading("similar_diverged", "similar div.", 1),
            heading("upper_halves", "upper", 1),
            heading("similar_upper", "similar upper", 1),
            heading("similar_both", "similar all", 1),
        ],
        rows: measured.iter().map(row).collect(),
    }
}
