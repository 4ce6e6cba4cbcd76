// SPDX-License-Identifier: MIT OR Apache-2.0
//! Texts of source lines for the record: those that something was done for, and lines around them, so that a reader sees the whole function.

use std::collections::{BTreeMap, BTreeSet};

use warpwatt_results::SourceTexts;

/// Lines before the first one of a file with work, and behind the last.
const BEFORE: u32 = 8;
const BEHIND: u32 = 4;
/// A file whose work spans more lines is kept around its work only.
const MOST: u32 = 2000;
/// Lines around one with work, in such a file.
const AROUND: u32 = 2;
/// Letters of a line that are kept: generated code has endless ones.
const LETTERS: usize = 400;

/// The texts of lines with work at these places, as far as `text` has them.
pub fn sources<'a>(
    places: impl Iterator<Item = (&'a str, u32)>,
    text: impl Fn(&str, u32) -> Option<String>,
) -> SourceTexts {
    let mut lines = BTreeMap::<&str, BTreeSet<u32>>::new();
    for (file, line) in places.filter(|(_, line)| *line > 0) {
        lines.entry(file).or_default().insert(line);
    }
    let mut found = SourceTexts::new();
    for (file, lines) in lines {
        let (Some(&first), Some(&last)) = (lines.first(), lines.last()) else { continue };
        let wanted: BTreeSet<u32> = if last - first < MOST {
            (first.saturating_sub(BEFORE).max(1)..=last.saturating_add(BEHIND)).collect()
        } else {
            lines
                .iter()
                .flat_map(|line| line.saturating_sub(AROUND).max(1)..=line.saturating_add(AROUND))
                .collect()
        };
        let cut = |mut text: String| {
            text.truncate(text.trim_end().len());
            // Few lines have as many bytes.
            if text.len() > LETTERS
                && let Some((end, _)) = text.char_indices().nth(LETTERS)
            {
                text.truncate(end);
            }
            text
        };
        let texts: BTreeMap<u32, String> =
            wanted.into_iter().filter_map(|line| Some((line, cut(text(file, line)?)))).collect();
        if !texts.is_empty() {
            found.insert(file.to_owned(), texts);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_around_work_come_with_it() {
        let text = |file: &str, line: u32| (file == "a.cu" && line <= 30).then(|| format!("  line {line}  "));
        let found = sources([("a.cu", 3), ("a.cu", 20), ("a.cu", 0), ("b.cu", 1)].into_iter(), text);
        assert_eq!(found.keys().collect::<Vec<_>>(), ["a.cu"], "of b.cu there is no text");
        let lines = &found["a.cu"];
        assert_eq!((lines.keys().next(), lines.keys().last(), lines.len()), (Some(&1), Some(&24), 24));
        assert_eq!(lines[&3], "  line 3", "the indent stays");
    }

    #[test]
    fn a_long_file_is_kept_around_its_work() {
        let found =
            sources([("a", 10), ("a", 1_000_000)].into_iter(), |_, line| Some("x".repeat(line as usize)));
        let lines: Vec<u32> = found["a"].keys().copied().collect();
        assert_eq!(lines, [8, 9, 10, 11, 12, 999_998, 999_999, 1_000_000, 1_000_001, 1_000_002]);
        assert!(found["a"].values().all(|text| text.len() <= LETTERS));
    }
}
