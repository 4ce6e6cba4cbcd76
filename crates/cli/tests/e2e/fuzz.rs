// SPDX-License-Identifier: MIT OR Apache-2.0
//! The launch-file reader against garbled files: it answers with a file or with diagnostics that can be shown, never with a
//! panic. `WARPWATT_FUZZ` sets the number of inputs.

use warpwatt_base::SplitMix64;
use warpwatt_cli::launch;

/// Pieces that mutations splice in: everything that has a meaning somewhere.
const PIECES: &[&str] = &[
    "[[buffer]]\n",
    "[[step]]\n",
    "name = \"x\"\n",
    "type = \"f32\"\n",
    "count = 3\n",
    "bytes = 7\n",
    "fill = nan\n",
    "values = [1, -2, 0xff, 1e300]\n",
    "iota = { start = 1 }\n",
    "random = { lo = 1, hi = 0 }\n",
    "launch = \"k\"\n",
    "grid = [1, 2]\n",
    "block = 4294967296\n",
    "args = [\"buf:x\", { u64 = 18446744073709551615 }]\n",
    "compare = \"x\"\n",
    "address = 0xffff_ffff_ffff_ffff\n",
    "{",
    "}",
    "[",
    "]",
    "\"",
    "'''",
    "=",
    ".",
    "#",
    "\\u0000",
    "\u{0}",
    "é",
    "-",
    "inf",
    "99999999999999999999999999999999999999999999",
    "1979-05-27",
    "true",
    "offset = -1\n",
    "file = \"\"\n",
];

fn mutate(random: &mut SplitMix64, seeds: &[String]) -> String {
    let mut text: Vec<char> = seeds[random.below(seeds.len() as u32) as usize].chars().collect();
    for _ in 0..=random.below(6) {
        let at = random.below(text.len() as u32 + 1) as usize;
        match random.below(6) {
            0 => text.truncate(at),
            1 => {
                let end = (at + random.below(20) as usize).min(text.len());
                text.drain(at..end);
            }
            2 => {
                let end = (at + random.below(60) as usize).min(text.len());
                let copy: Vec<char> = text[at..end].to_vec();
                let to = random.below(text.len() as u32 + 1) as usize;
                text.splice(to..to, copy);
            }
            3 => text.insert(at, char::from_u32(random.below(0x250)).unwrap_or('?')),
            _ => {
                let piece = PIECES[random.below(PIECES.len() as u32) as usize];
                text.splice(at..at, piece.chars());
            }
        }
    }
    text.into_iter().collect()
}

#[test]
fn no_launch_file_makes_the_reader_panic() {
    let count: u64 = std::env::var("WARPWATT_FUZZ").ok().and_then(|text| text.parse().ok()).unwrap_or(20_000);
    let examples = ["saxpy/saxpy", "smooth/smooth", "faults/misaligned"];
    let mut seeds = examples.map(|name| {
        let path = crate::common::root().join(format!("examples/{name}.toml"));
        std::fs::read_to_string(path).expect("the example is there")
    });
    seeds.sort();
    let (mut good, mut bad) = (0_u64, 0_u64);
    let mut random = SplitMix64::new(1);
    for _ in 0..count {
        let text = mutate(&mut random, &seeds);
        match launch::read(&text) {
            Ok(_) => good += 1,
            Err(diagnostics) => {
                bad += 1;
                assert!(!diagnostics.is_empty(), "refused without a reason:\n{text}");
                // Rendering is slow next to reading: a sample shows that it holds.
                if bad.is_multiple_of(16) {
                    for diagnostic in diagnostics.iter().take(3) {
                        assert!(diagnostic.render("x.toml", &text, false).contains("x.toml"));
                    }
                }
            }
        }
    }
    assert!(good > count / 100 && bad > count / 10, "{good} good and {bad} bad files are no fair mix");
}
