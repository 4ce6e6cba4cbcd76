// SPDX-License-Identifier: MIT OR Apache-2.0
//! Source texts that the line tables of modules refer to, so that a report can show the line it is about.

use std::sync::OnceLock;

use rustc_hash::FxHashMap;

/// Where the lines of a text start, found when the first of them is asked for: libraries bring modules of millions of lines, and a record
/// shows thousands of them.
#[derive(Default)]
pub(crate) struct Lines(OnceLock<Vec<usize>>);

impl Lines {
    /// Line `line` (from 1) of the text, without its indent.
    pub fn line<'t>(&self, text: &'t str, line: u32) -> Option<&'t str> {
        let ends = || text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let starts = self.0.get_or_init(|| std::iter::once(0).chain(ends().map(|(at, _)| at + 1)).collect());
        let number = (line as usize).checked_sub(1)?;
        let start = *starts.get(number)?;
        let end = starts.get(number + 1).map_or(text.len(), |next| next - 1);
        text.get(start..end).filter(|_| start < text.len()).map(str::trim)
    }
}

#[derive(Default)]
pub(crate) struct Sources {
    by_file: FxHashMap<String, (String, Lines)>,
}

impl Sources {
    pub fn add(&mut self, file: &str, text: &str) {
        self.by_file.insert(base_name(file).to_owned(), (text.to_owned(), Lines::default()));
    }

    /// Line `line` (from 1) of the file of that name, in whatever folder, without its indent.
    pub fn line(&self, file: &str, line: u32) -> Option<&str> {
        let (text, lines) = self.by_file.get(base_name(file))?;
        lines.line(text, line)
    }
}

/// Line tables hold the paths of the machine that compiled: only the last part means anything here.
fn base_name(file: &str) -> &str {
    file.rsplit(['/', '\\']).next().unwrap_or(file)
}

#[cfg(test)]
mod tests {
    use super::Sources;

    #[test]
    fn lines_are_found_by_the_last_part_of_a_path() {
        let mut sources = Sources::default();
        sources.add("somewhere/k.cu", "one\n  two\n\nfour");
        assert_eq!(sources.line("/build/x/k.cu", 2), Some("two"));
        assert_eq!((sources.line("k.cu", 1), sources.line("k.cu", 3)), (Some("one"), Some("")));
        assert_eq!((sources.line("k.cu", 4), sources.line("k.cu", 5)), (Some("four"), None));
        sources.add("k.cu", "one\n");
        assert_eq!((sources.line("k.cu", 1), sources.line("k.cu", 2)), (Some("one"), None));
        assert_eq!(sources.line("k.cu", 0), None);
        assert_eq!(sources.line("other.cu", 1), None);
    }
}
