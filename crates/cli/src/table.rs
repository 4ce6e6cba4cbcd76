// SPDX-License-Identifier: MIT OR Apache-2.0
//! Plain tables: the first column reads from the left, numbers line up on the right, nothing is drawn around them.

use comfy_table::{CellAlignment, ContentArrangement, presets};

pub struct Table(comfy_table::Table);

impl Table {
    pub fn new(columns: &[&str]) -> Table {
        let mut table = comfy_table::Table::new();
        table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
        table.set_header(columns.to_vec());
        for column in table.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        for column in table.column_iter_mut() {
            column.set_padding((0, 2));
        }
        Table(table)
    }

    /// A column of words rather than numbers.
    pub fn left(mut self, column: usize) -> Table {
        if let Some(column) = self.0.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Left);
        }
        self
    }

    pub fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.0.add_row(cells);
    }

    /// A row whose number of cells is only known when the table is made.
    pub fn cells(&mut self, cells: Vec<String>) {
        self.0.add_row(cells);
    }

    /// The table with no spaces at the ends of its lines, and a newline at its end.
    pub fn render(&self) -> String {
        self.0.to_string().lines().map(|line| format!("{}\n", line.trim_end())).collect()
    }
}

/// A whole number with its digits in groups of three.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(digit);
    }
    out
}

/// A name cut in the middle to at most `most` characters: templates have names of thousands, whose ends differ.
pub fn shortened(name: &str, most: usize) -> String {
    let count = name.chars().count();
    if count <= most {
        return name.to_owned();
    }
    let tail = most / 3;
    let head = most - tail - 1;
    name.chars().take(head).chain(['…']).chain(name.chars().skip(count - tail)).collect()
}

/// A text in lines of at most `width` columns, unless a word is longer, each with spaces in front. Numbers are not parted from their units.
pub fn wrapped(text: &str, indent: usize, width: usize) -> String {
    let mut out = String::new();
    let mut line = String::new();
    let mut end = |line: &mut String| {
        if !line.is_empty() {
            out.push_str(&format!("{:indent$}{line}\n", ""));
            line.clear();
        }
    };
    let mut words = text.split_whitespace().peekable();
    while let Some(word) = words.next() {
        // A number stays with its unit, or whatever it is the number of.
        let word = match words.next_if(|_| word.parse::<f64>().is_ok()) {
            Some(next) => &format!("{word} {next}"),
            None => word,
        };
        if indent + line.chars().count() + 1 + word.chars().count() > width {
            end(&mut line);
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    end(&mut line);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_broken_between_words() {
        assert_eq!(wrapped("one two three", 2, 10), "  one two\n  three\n");
        assert_eq!(wrapped("", 2, 10), "");
        assert_eq!(wrapped("interminable", 0, 5), "interminable\n");
        assert_eq!(wrapped("a half is 50 %, no more", 0, 12), "a half is\n50 %, no\nmore\n");
    }

    #[test]
    fn digits_are_grouped() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_234_567), "1 234 567");
    }

    #[test]
    fn long_names_keep_both_ends() {
        assert_eq!(shortened("short", 9), "short");
        assert_eq!(shortened("sort<int, long>(int*)", 12), "sort<in…nt*)");
    }

    #[test]
    fn numbers_line_up_and_lines_end_without_spaces() {
        let mut table = Table::new(&["name", "count"]);
        table.row(["a".to_owned(), "1".to_owned()]);
        table.row(["longer".to_owned(), "100".to_owned()]);
        assert_eq!(table.render(), "name    count\na           1\nlonger    100\n");
    }
}
