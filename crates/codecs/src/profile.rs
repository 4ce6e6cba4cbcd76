// SPDX-License-Identifier: MIT OR Apache-2.0
//! Frequencies of symbols as a text file: what a program loads and stores, collected beforehand, from which E2MC makes its codes (its offline
//! probabilities, section III-B2a).
//!
//! ```text
//! warpwatt.profile/1
//! sha256 0f3a...            of all that follows this line
//! collected loads-stores    or dram
//! of vectorAdd@small, seed 1
//! symbols 16 tree 0 values 812 rest 0
//! 0 5214                    value in hexadecimal, count in decimal, the most frequent first
//! ```
//!
//! Of long symbols the [`KEPT`] most frequent values are kept, the counts of the others added up.

use std::fmt::Write;

use sha2::{Digest, Sha256};

use crate::huffman::{Frequencies, SymbolBits};

/// The first line of a profile.
pub const VERSION: &str = "warpwatt.profile/1";

/// Values of a code that a profile keeps one by one.
pub const KEPT: usize = 1 << 16;

/// What was counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Collected {
    /// The data of all loads and stores.
    LoadsStores,
    /// The lines that move between L2 and DRAM.
    Dram,
}

impl Collected {
    pub const ALL: [Collected; 2] = [Collected::LoadsStores, Collected::Dram];

    pub fn name(self) -> &'static str {
        match self {
            Collected::LoadsStores => "loads-stores",
            Collected::Dram => "dram",
        }
    }
}

/// Frequencies of symbols of all lengths.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Profile {
    pub collected: Collected,
    /// What it was collected of, in words.
    pub of: String,
    /// By length of symbols, in the order of [`SymbolBits::ALL`].
    pub frequencies: [Frequencies; 4],
}

/// Why a text is no profile.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ProfileError {
    #[error("this is no profile: its first line is not `{VERSION}`")]
    NoProfile,
    #[error("the profile has version `{0}`, and this program reads `{VERSION}`: collect it again")]
    Version(String),
    #[error(
        "the profile is damaged: its contents do not have the hash that its second line names; collect it again"
    )]
    Hash,
    #[error("line {line} of the profile: {what}")]
    Line { line: usize, what: &'static str },
}

impl Profile {
    pub fn new(collected: Collected, of: impl Into<String>) -> Profile {
        Profile { collected, of: of.into(), frequencies: SymbolBits::ALL.map(Frequencies::new) }
    }

    /// Counts a 32-bit word in symbols of all lengths.
    #[inline]
    pub fn add_word(&mut self, word: u32) {
        self.frequencies.iter_mut().for_each(|frequencies| frequencies.add_word(word));
    }

    /// Counts a block in symbols of all lengths.
    pub fn add(&mut self, block: &[u8]) {
        self.frequencies.iter_mut().for_each(|frequencies| frequencies.add(block));
    }

    /// Counts a block so many times.
    pub fn add_times(&mut self, block: &[u8], times: u64) {
        self.frequencies.iter_mut().for_each(|frequencies| frequencies.add_times(block, times));
    }

    /// Adds what another profile counted.
    pub fn merge(&mut self, other: &Profile) {
        self.frequencies.iter_mut().zip(&other.frequencies).for_each(|(ours, theirs)| ours.merge(theirs));
    }

    pub fn of_width(&self, width: SymbolBits) -> &Frequencies {
        &self.frequencies[width as usize]
    }

    /// As a file.
    pub fn to_text(&self) -> String {
        let mut body = format!("collected {}\nof {}\n", self.collected.name(), self.of.replace('\n', " "));
        for frequencies in &self.frequencies {
            let width = frequencies.width();
            for tree in 0..width.trees() {
                let all = frequencies.by_frequency(tree);
                let (kept, left_out) = all.split_at(all.len().min(KEPT));
                let rest = frequencies.rest() + left_out.iter().map(|&(_, count)| count).sum::<u64>();
                let _ =
                    writeln!(body, "symbols {} tree {tree} values {} rest {rest}", width.bits(), kept.len());
                for (value, count) in kept {
                    let _ = writeln!(body, "{value:x} {count}");
                }
            }
        }
        format!("{VERSION}\nsha256 {}\n{body}", hash(&body))
    }

    /// From a file.
    pub fn from_text(text: &str) -> Result<Profile, ProfileError> {
        let (version, rest) = text.split_once('\n').ok_or(ProfileError::NoProfile)?;
        if version.trim_end() != VERSION {
            let of_ours = version.starts_with("warpwatt.profile/");
            let shown = || version.trim_end().chars().take(40).collect();
            return Err(if of_ours { ProfileError::Version(shown()) } else { ProfileError::NoProfile });
        }
        let (second, body) = rest.split_once('\n').ok_or(ProfileError::Hash)?;
        if second.strip_prefix("sha256 ").map(str::trim_end) != Some(hash(body).as_str()) {
            return Err(ProfileError::Hash);
        }
        Lines { text: body, line: 2 }.profile()
    }

    /// A short name of its contents, for records.
    pub fn digest(&self) -> String {
        hash(&self.to_text())[..16].to_owned()
    }
}

/// SHA-256 of a text, in hexadecimal.
pub fn hash(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// The lines behind the hash.
struct Lines<'a> {
    text: &'a str,
    line: usize,
}

impl<'a> Lines<'a> {
    fn next(&mut self, missing: &'static str) -> Result<&'a str, ProfileError> {
        self.line += 1;
        if self.text.is_empty() {
            return self.wrong(missing);
        }
        // Lines are short: a loop is quicker than a search that is made for long texts.
        let end = self.text.bytes().position(|byte| byte == b'\n').unwrap_or(self.text.len());
        let line = &self.text[..end];
        self.text = self.text.get(end + 1..).unwrap_or_default();
        Ok(line.strip_suffix('\r').unwrap_or(line))
    }

    fn wrong<T>(&self, what: &'static str) -> Result<T, ProfileError> {
        Err(ProfileError::Line { line: self.line, what })
    }

    fn profile(mut self) -> Result<Profile, ProfileError> {
        let collected = self.next("`collected` is missing")?.strip_prefix("collected ");
        let collected = Collected::ALL.into_iter().find(|one| collected == Some(one.name()));
        let Some(collected) = collected else {
            return self.wrong("expected `collected loads-stores` or `collected dram`");
        };
        let Some(of) = self.next("`of` is missing")?.strip_prefix("of ") else {
            return self.wrong("expected `of`");
        };
        let mut profile = Profile::new(collected, of);
        for frequencies in &mut profile.frequencies {
            for tree in 0..frequencies.width().trees() {
                self.tree(tree, frequencies)?;
            }
        }
        if !self.text.is_empty() {
            self.line += 1;
            return self.wrong("nothing is expected behind the last symbol");
        }
        Ok(profile)
    }

    fn tree(&mut self, tree: usize, frequencies: &mut Frequencies) -> Result<(), ProfileError> {
        let heading: Vec<&str> = self.next("`symbols` is missing")?.split(' ').collect();
        let ["symbols", bits, "tree", number, "values", values, "rest", rest] = heading[..] else {
            return self.wrong("expected `symbols BITS tree NUMBER values COUNT rest COUNT`");
        };
        if bits != frequencies.width().bits().to_string() || number != tree.to_string() {
            return self.wrong("lengths of symbols and trees are to follow each other in ascending order");
        }
        let (Ok(values), Ok(rest)) = (values.parse::<u64>(), rest.parse()) else {
            return self.wrong("expected a count");
        };
        frequencies.note_rest(rest);
        frequencies.expect(values.min(KEPT as u64) as usize);
        for _ in 0..values {
            let line = self.next("there are fewer values than the heading says")?;
            let Some((value, count)) = entry(line.as_bytes()) else {
                return self.wrong("expected a value in hexadecimal and a count");
            };
            if !frequencies.note(tree, value, count) {
                return self.wrong("the value is too large for its symbol");
            }
        }
        Ok(())
    }
}

/// By byte: the hexadecimal digit that it is, or [`NO_DIGIT`].
const DIGITS: [u8; 256] = {
    let mut digits = [NO_DIGIT; 256];
    let mut digit = 0;
    while digit < 16 {
        digits[b"0123456789abcdef"[digit] as usize] = digit as u8;
        digits[b"0123456789ABCDEF"[digit] as usize] = digit as u8;
        digit += 1;
    }
    digits
};
const NO_DIGIT: u8 = 255;

/// A value in hexadecimal and a count in decimal, with a space between them: a profile has many of these.
fn entry(line: &[u8]) -> Option<(u32, u64)> {
    let (mut value, mut at) = (0, 0);
    while let Some(&byte) = line.get(at) {
        let digit = DIGITS[usize::from(byte)];
        if digit == NO_DIGIT {
            break;
        }
        value = value << 4 | u32::from(digit);
        at += 1;
    }
    let [b' ', count @ ..] = line.get(at..)? else { return None };
    // As many digits as fit into a word.
    if !(1..=8).contains(&at) || !(1..=19).contains(&count.len()) {
        return None;
    }
    let mut sum = 0;
    for &byte in count {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        sum = sum * 10 + u64::from(digit);
    }
    Some((value, sum))
}
