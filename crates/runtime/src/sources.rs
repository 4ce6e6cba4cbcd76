// SPDX-License-Identifier: MIT OR Apache-2.0
//! Source texts that the line tables of modules refer to, so that a report can show the line it is about.

use rustc_hash::FxHashMap;

#[derive(Default)]
pub(crate) struct Sources {
    by_file: FxHashMap<String, String>,
}

impl Sources {
    pub fn add(&mut self, file: &str, text: &str) {
        self.by_file.insert(base_name(file).to_owned(), text.to_owned());
    }

    /// Line `line` (from 1) of the file of that name, in whatever folder, without its indent.
    pub fn line(&self, file: &str, line: u32) -> Option<&str> {
        let text = self.by_file.get(base_name(file))?;
        text.lines().nth((line as usize).checked_sub(1)?).map(str::trim)
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
        sources.add("somewhere/k.cu", "one\n  two\n");
        assert_eq!(sources.line("/build/x/k.cu", 2), Some("two"));
        assert_eq!(sources.line("k.cu", 3), None);
        assert_eq!(sources.line("k.cu", 0), None);
        assert_eq!(sources.line("other.cu", 1), None);
    }
}
