// SPDX-License-Identifier: MIT OR Apache-2.0
//! Garbled PTX: the parser answers every text, quickly and without a panic, and its messages can be shown.
//!
//! `WARPWATT_FUZZ` sets how many texts are tried. The same number tries the same texts.

use crate::common::corpus;
use warpwatt_base::SplitMix64;
use warpwatt_ptx::{parse, print};

/// Texts are pieces of the corpus of up to this size, so that many are tried.
const PIECE: u32 = 3000;

const SPLICES: &[&str] = &[
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ";",
    ",",
    ":",
    "@",
    "!",
    "-",
    "|",
    "=",
    "<",
    ">",
    "?",
    "/*",
    "*/",
    "\"",
    "//",
    "\0",
    "é",
    "\u{FEFF}",
    ".entry",
    ".func",
    ".visible",
    ".extern",
    ".reg",
    ".section",
    ".global",
    ".loc",
    ".pragma",
    ".callprototype",
    "call",
    "ret",
    "0x",
    "0f",
    "0d",
    "1e",
    "99999999999999999999",
    "%",
    "_",
    ".",
    "..",
    "::",
    "generic(",
    "0xFF(",
    "WARP_SZ",
    "%r<",
    "\n",
];

fn pick(random: &mut SplitMix64, length: usize) -> usize {
    random.below(length.max(1) as u32) as usize
}

/// The next place that is not inside of a character.
fn boundary(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at += 1;
    }
    at
}

/// A place where a word starts.
fn word_start(text: &str, random: &mut SplitMix64) -> usize {
    let at = boundary(text, pick(random, text.len()));
    text[at..].find([' ', '\t', '\n', ',', '.', ';']).map_or(at, |gap| at + gap)
}

fn mutate(text: &mut String, random: &mut SplitMix64) {
    let from = word_start(text, random);
    let to = boundary(text, (from + 1 + pick(random, 24)).min(text.len()));
    match random.below(7) {
        0 => {
            // Flip a bit of a byte and make what comes out text again.
            let mut bytes = std::mem::take(text).into_bytes();
            if !bytes.is_empty() {
                let at = pick(random, bytes.len());
                bytes[at] ^= 1 << random.below(8);
            }
            *text = String::from_utf8_lossy(&bytes).into_owned();
        }
        1 => text.truncate(from),
        2 => text.replace_range(from..to.max(from), ""),
        3 => {
            let piece = text[from..to.max(from)].to_owned();
            text.insert_str(from, &piece);
        }
        4 => {
            let piece = text[from..to.max(from)].to_owned();
            let at = word_start(text, random);
            text.insert_str(at, &piece);
        }
        5 => text.insert_str(from, SPLICES[pick(random, SPLICES.len())]),
        _ => {
            let times = 1 + pick(random, 300);
            text.insert_str(from, &SPLICES[pick(random, SPLICES.len())].repeat(times));
        }
    }
}

#[test]
fn garbled_text_gives_diagnostics_not_panics() {
    let count: u32 = match std::env::var("WARPWATT_FUZZ") {
        Ok(count) => count.parse().expect("WARPWATT_FUZZ is a number"),
        Err(_) => 20_000,
    };
    let corpus = corpus();
    let mut random = SplitMix64::new(2);
    let mut with_errors = 0u32;
    for index in 0..count {
        let (name, whole) = &corpus[pick(&mut random, corpus.len())];
        let from = boundary(whole, pick(&mut random, whole.len()));
        let to = boundary(whole, (from + random.below(PIECE) as usize).min(whole.len()));
        // The beginning of the file makes the piece part of a kernel, mostly.
        let head = boundary(whole, (random.below(PIECE) as usize).min(whole.len()));
        let mut text = format!("{}{}", &whole[..head], &whole[from..to]);
        for _ in 0..=random.below(4) {
            mutate(&mut text, &mut random);
        }
        let parsed = parse(name, &text);
        for diagnostic in parsed.diagnostics.iter().take(3) {
            let shown = diagnostic.render(name, &text, false);
            assert!(shown.contains(diagnostic.code), "text {index}: {shown}");
            assert!(
                diagnostic.span.start <= diagnostic.span.end && diagnostic.span.end as usize <= text.len()
            );
        }
        // What was read without a word is read the same after printing; what was not can be printed all the same.
        let printed = print::module(&parsed.module);
        if parsed.diagnostics.is_empty() {
            let again = parse(name, &printed).module;
            assert_eq!(printed, print::module(&again), "text {index}");
        }
        with_errors += u32::from(!parsed.diagnostics.is_empty());
    }
    assert!(with_errors > count / 2, "{with_errors} of {count} texts were found wrong");
}

#[test]
fn every_beginning_of_a_file_is_answered() {
    let (name, whole) = &corpus()[0];
    for end in (0..whole.len()).step_by(97) {
        let parsed = parse(name, &whole[..boundary(whole, end)]);
        let text = parsed.module.text.len();
        assert!(parsed.diagnostics.iter().all(|d| d.span.end as usize <= text), "cut at {end}");
    }
}
