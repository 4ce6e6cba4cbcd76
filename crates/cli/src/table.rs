// SPDX-License-Identifier: MIT OR Apache-2.0
//! Plain tables and paragraphs that fit the terminal: the first column is left-aligned, numbers are right-aligned, there are no borders.

/// Width of results that do not go to a terminal.
const PLAIN: usize = 100;
/// Paragraphs are no wider than this, however wide the terminal is.
const PARAGRAPH: usize = 100;
/// Spaces between two columns.
const GAP: usize = 2;
/// A column whose texts are cut or wrapped is not made narrower than this.
const NARROWEST_CUT: usize = 16;
const NARROWEST_WRAPPED: usize = 12;

/// What happens to the cells of a column in a table that is wider than the terminal.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Overflow {
    Keep,
    /// The middle of the text is left out.
    Cut,
    /// The column is left out.
    Drop,
    /// The text continues on the next line.
    Wrap,
}

struct Column {
    right: bool,
    overflow: Overflow,
}

pub struct Table {
    columns: Vec<Column>,
    /// The headings first.
    rows: Vec<Vec<String>>,
}

impl Table {
    pub fn new(headings: &[&str]) -> Table {
        let column = |index: usize| Column { right: index > 0, overflow: Overflow::Keep };
        let headings: Vec<_> = headings.iter().map(|&heading| heading.to_owned()).collect();
        Table { columns: (0..headings.len()).map(column).collect(), rows: vec![headings] }
    }

    /// Left-aligns a column of words.
    pub fn left(mut self, column: usize) -> Table {
        self.columns[column].right = false;
        self
    }

    /// Shortens the cells of a column where the table would be wider than the terminal.
    pub fn cut(mut self, column: usize) -> Table {
        self.columns[column].overflow = Overflow::Cut;
        self
    }

    /// Leaves a column out where the table would be wider than the terminal.
    pub fn optional(mut self, column: usize) -> Table {
        self.columns[column].overflow = Overflow::Drop;
        self
    }

    /// Wraps the cells of the last column where the table would be wider than the terminal.
    pub fn wrap_last(mut self) -> Table {
        if let Some(column) = self.columns.last_mut() {
            *column = Column { right: false, overflow: Overflow::Wrap };
        }
        self
    }

    pub fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.rows.push(cells.into());
    }

    /// Adds a row whose number of cells is only known at run time.
    pub fn cells(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// The table as wide as the terminal at most, if its columns allow that.
    pub fn render(&self) -> String {
        self.render_rows().concat()
    }

    /// The headings and each row, as one or more lines that end in a newline and have no trailing spaces.
    pub fn render_rows(&self) -> Vec<String> {
        self.render_within(width())
    }

    fn render_within(&self, width: usize) -> Vec<String> {
        let natural: Vec<usize> = (0..self.columns.len())
            .map(|column| self.rows.iter().map(|row| length(&row[column])).max().unwrap_or_default())
            .collect();
        let mut widths: Vec<_> = natural.iter().copied().map(Some).collect();
        // Names are shortened first, then columns dropped, then texts wrapped; the rightmost column first.
        for overflow in [Overflow::Cut, Overflow::Drop, Overflow::Wrap] {
            for (column, spec) in self.columns.iter().enumerate().rev() {
                let excess = total(&widths).saturating_sub(width);
                if spec.overflow == overflow && excess > 0 {
                    let least = if overflow == Overflow::Cut { NARROWEST_CUT } else { NARROWEST_WRAPPED };
                    let narrower = natural[column].saturating_sub(excess).max(least.min(natural[column]));
                    widths[column] = (overflow != Overflow::Drop).then_some(narrower);
                }
            }
        }
        self.rows.iter().map(|row| self.render_row(row, &widths)).collect()
    }

    /// A row in columns of these widths; columns without one are left out.
    fn render_row(&self, row: &[String], widths: &[Option<usize>]) -> String {
        let mut line = String::new();
        let mut rest = Vec::new();
        let mut start = 0;
        for ((cell, spec), &width) in row.iter().zip(&self.columns).zip(widths) {
            let Some(width) = width else { continue };
            let text = match spec.overflow {
                Overflow::Cut => shortened(cell, width),
                Overflow::Wrap => {
                    let wrapped = wrapped(cell, 0, width);
                    // Words that are longer than the column are broken.
                    let mut lines = wrapped.lines().flat_map(|line| {
                        let letters: Vec<char> = line.chars().collect();
                        letters.chunks(width.max(1)).map(String::from_iter).collect::<Vec<_>>()
                    });
                    let first = lines.next().unwrap_or_default();
                    rest.extend(lines.map(|line| format!("{:start$}{line}\n", "")));
                    first
                }
                Overflow::Keep | Overflow::Drop => cell.clone(),
            };
            let padding = " ".repeat(width.saturating_sub(length(&text)));
            let (before, after) = if spec.right { (padding.as_str(), "") } else { ("", padding.as_str()) };
            line += &format!("{before}{text}{after}{:GAP$}", "");
            start += width + GAP;
        }
        format!("{}\n{}", line.trim_end(), rest.concat())
    }
}

fn total(widths: &[Option<usize>]) -> usize {
    let shown = widths.iter().flatten();
    shown.clone().sum::<usize>() + GAP * shown.count().saturating_sub(1)
}

fn length(text: &str) -> usize {
    text.chars().count()
}

/// Columns of the terminal that results go to; `COLUMNS` or a fixed number if they go elsewhere.
pub fn width() -> usize {
    // SAFETY: `winsize` is plain data, and `ioctl` with this request writes to it alone.
    let terminal = unsafe {
        let mut size: libc::winsize = std::mem::zeroed();
        let found = libc::ioctl(libc::STDOUT_FILENO, libc::TIOCGWINSZ, &mut size) == 0;
        found.then_some(usize::from(size.ws_col))
    };
    let variable = || std::env::var("COLUMNS").ok()?.parse().ok();
    terminal.filter(|columns| *columns > 0).or_else(variable).unwrap_or(PLAIN).max(40)
}

/// A paragraph as wide as the terminal, with spaces before each line.
pub fn paragraph(text: &str, indent: usize) -> String {
    wrapped(text, indent, width().min(PARAGRAPH))
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

/// A name with its middle left out to have at most `most` characters: names of templates have thousands, and differ at their ends.
pub fn shortened(name: &str, most: usize) -> String {
    let count = length(name);
    if count <= most {
        return name.to_owned();
    }
    let tail = most / 3;
    let head = most.saturating_sub(tail + 1);
    name.chars().take(head).chain(['…']).chain(name.chars().skip(count - tail)).collect()
}

/// A text in lines of at most `width` columns (unless a word is longer), each with spaces in front. A number and its unit stay on one line.
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
        let word = match words.next_if(|_| word.parse::<f64>().is_ok()) {
            Some(unit) => &format!("{word} {unit}"),
            None => word,
        };
        let space = usize::from(!line.is_empty());
        if indent + length(&line) + space + length(word) > width {
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
        assert_eq!(wrapped("exact fit", 0, 9), "exact fit\n");
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

    #[test]
    fn tables_fit_the_terminal_by_cutting_names_dropping_columns_and_wrapping_texts() {
        let name = "sort<unsigned long long, block_shape<256>>(unsigned long long*)".to_owned();
        let mut table = Table::new(&["kernel", "count", "meaning"]).cut(0).wrap_last();
        table.row([name.clone(), "7".to_owned(), "what it is, in many words that do not fit".to_owned()]);
        let rows = table.render_within(60);
        assert!(rows.concat().lines().all(|line| length(line) <= 60), "{rows:?}");
        assert!(rows[1].starts_with("sort<") && rows[1].contains('…'), "{rows:?}");
        let meaning: Vec<_> = rows[1].lines().skip(1).map(str::trim).collect();
        assert!(meaning.last() == Some(&"not fit"), "{rows:?}");
        let wide = table.render_within(200).concat();
        assert!(wide.contains(&name) && wide.lines().count() == 2, "{wide}");
        let table = table.optional(1);
        assert!(
            table.render_within(200)[0].contains("count") && !table.render_within(50)[0].contains("count")
        );
    }
}
