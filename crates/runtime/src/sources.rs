// SPDX-License-Identifier: MIT OR Apache-2.0
//! Texts whose lines are looked up by number: PTX, and the sources that the line tables of modules refer to.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use rustc_hash::FxHashMap;

/// A text that gives any of its lines in constant time.
pub(crate) struct Text {
    text: Arc<str>,
    /// Where each line is, without its end; computed when a line is first requested.
    lines: OnceLock<Vec<Range<usize>>>,
}

impl Text {
    pub fn new(text: &str) -> Text {
        Text { text: text.into(), lines: OnceLock::new() }
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub fn shared(&self) -> Arc<str> {
        self.text.clone()
    }

    /// Line `line`, counted from 1, unchanged.
    pub fn line(&self, line: u32) -> Option<&str> {
        let lines = self.lines.get_or_init(|| {
            let start = self.text.as_ptr() as usize;
            let place = |line: &str| line.as_ptr() as usize - start;
            self.text.lines().map(|line| place(line)..place(line) + line.len()).collect()
        });
        self.text.get(lines.get((line as usize).checked_sub(1)?)?.clone())
    }
}

#[derive(Default)]
pub(crate) struct Sources {
    by_file: FxHashMap<String, Text>,
}

impl Sources {
    pub fn add(&mut self, file: &str, text: &str) {
        self.by_file.insert(base_name(file).to_owned(), Text::new(text));
    }

    /// Line `line` (from 1) of the file of that name, in whatever folder.
    pub fn line(&self, file: &str, line: u32) -> Option<&str> {
        self.by_file.get(base_name(file))?.line(line)
    }
}

/// Line tables hold the paths of the machine that compiled: only the last part means anything here.
fn base_name(file: &str) -> &str {
    file.rsplit(['/', '\\']).next().unwrap_or(file)
}

#[cfg(test)]
mod tests {
    use super::{Sources, Text};

    #[test]
    fn lines_are_found_by_the_last_part_of_a_path() {
        let mut sources = Sources::default();
        sources.add("somewhere/k.cu", "one\n  two\n");
        assert_eq!(sources.line("/build/x/k.cu", 2), Some("  two"));
        assert_eq!(sources.line("k.cu", 3), None);
        assert_eq!(sources.line("k.cu", 0), None);
        assert_eq!(sources.line("other.cu", 1), None);
    }

    #[test]
    fn lines_are_those_that_a_walk_through_the_text_finds() {
        for text in ["", "\n", "a", "a\n", "a\r\n\r\n b\n\nc", "\n\nä\u{2028}b\rc\n"] {
            let found = Text::new(text);
            for line in 0..8 {
                let plain = (line as usize).checked_sub(1).and_then(|before| text.lines().nth(before));
                assert_eq!(found.line(line), plain, "line {line} of {text:?}");
            }
        }
    }
}
