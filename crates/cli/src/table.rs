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
/// Texts with a line of their own do not make their column narrower than this.
const NARROWEST_HUNG: usize = 24;
/// Spaces before a cell that is printed below its row.
const BELOW: usize = 4;

/// What happens to the cells of a column in a table that is wider than the terminal, in the order in which it is tried.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Overflow {
    Keep,
    /// The cell is printed below its row, indented.
    Below,
    /// The middle of the text is left out.
    Cut,
    /// The text continues on the next line; the column is narrowed before others are dropped.
    Fold,
    /// A text that is wider than the column has a line of its own.
    Hang,
    /// The column is left out.
    Drop,
    /// The text continues on the next line; the column is narrowed after others were dropped.
    Wrap,
}

impl Overflow {
    const ORDER: [Overflow; 6] =
        [Overflow::Below, Overflow::Cut, Overflow::Fold, Overflow::Hang, Overflow::Drop, Overflow::Wrap];

    /// Width of a column of this width in a table that is wider than the terminal by `excess`; none if it is not in the row.
    fn narrowed(self, natural: usize, excess: usize) -> Option<usize> {
        let least = match self {
            Overflow::Below | Overflow::Drop => return None,
            Overflow::Cut => NARROWEST_CUT,
            Overflow::Hang => NARROWEST_HUNG,
            Overflow::Keep | Overflow::Fold | Overflow::Wrap => NARROWEST_WRAPPED,
        };
        Some(natural.saturating_sub(excess).max(least.min(natural)))
    }

    /// The lines of a cell in a column of this width.
    fn lines(self, cell: &str, width: usize) -> Vec<String> {
        match self {
            Overflow::Cut => vec![shortened(cell, width)],
            // Words that are longer than the column are broken.
            Overflow::Fold | Overflow::Wrap if length(cell) > width => {
                let letters = |line: &str| line.chars().collect::<Vec<_>>();
                let broken = |line: Vec<char>| line.chunks(width.max(1)).map(String::from_iter).collect();
                wrapped(cell, 0, width).lines().map(letters).flat_map::<Vec<_>, _>(broken).collect()
            }
            _ => vec![cell.to_owned()],
        }
    }
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

    /// Wraps the cells of a column where the table would be wider than the terminal, before optional columns are left out.
    pub fn fold(mut self, column: usize) -> Table {
        self.columns[column].overflow = Overflow::Fold;
        self
    }

    /// Gives long cells of the first column a line of their own where the table would be wider than the terminal.
    pub fn hang_first(mut self) -> Table {
        self.columns[0].overflow = Overflow::Hang;
        self
    }

    /// Prints the cells of the last column below their rows where the table would be wider than the terminal.
    pub fn last_below(mut self) -> Table {
        if let Some(column) = self.columns.last_mut() {
            *column = Column { right: false, overflow: Overflow::Below };
        }
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
        for overflow in Overflow::ORDER {
            for (column, spec) in self.columns.iter().enumerate().rev() {
                let excess = total(&widths).saturating_sub(width);
                if spec.overflow == overflow && excess > 0 {
                    widths[column] = overflow.narrowed(natural[column], excess);
                }
            }
        }
        self.rows.iter().map(|row| self.render_row(row, &widths, width)).collect()
    }

    /// A row in columns of these widths; columns without one are below the row or left out.
    fn render_row(&self, row: &[String], widths: &[Option<usize>], most: usize) -> String {
        let (mut above, mut below) = (String::new(), String::new());
        let mut lines = vec![String::new()];
        let mut start = 0;
        for ((cell, spec), &width) in row.iter().zip(&self.columns).zip(widths) {
            let Some(width) = width else {
                if spec.overflow == Overflow::Below {
                    below += &wrapped(cell, BELOW, most);
                }
                continue;
            };
            if spec.overflow == Overflow::Hang && length(cell) > width {
                above += &format!("{cell}\n");
            } else {
                let texts = spec.overflow.lines(cell, width);
                lines.resize(lines.len().max(texts.len()), String::new());
                for (line, text) in lines.iter_mut().zip(texts) {
                    let padding = if spec.right { width.saturating_sub(length(&text)) } else { 0 };
                    let end = start + padding;
                    *line = format!("{line:end$}{text}");
                }
            }
            start += width + GAP;
        }
        let lines: String = lines.iter().map(|line| format!("{}\n", line.trim_end())).collect();
        above + &lines + &below
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

    #[test]
    fn long_names_have_a_line_and_notes_follow_below_in_narrow_tables() {
        let mut table =
            Table::new(&["claim", "paper", "seeds", ""]).hang_first().fold(1).optional(2).last_below();
        let cells =
            ["cache.dynamic_share_of_caches", "6 entries, in units of the paper", "1 to 2", "derived"];
        table.row(cells.map(str::to_owned));
        table.row(["a", "2 %", "3 to 4", ""].map(str::to_owned));
        assert_eq!(table.render_within(100).concat().lines().count(), 3);
        let lines = |width: usize| {
            let text = table.render_within(width).concat();
            assert!(text.lines().all(|line| length(line) <= width), "{text}");
            text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect::<Vec<_>>()
        };
        let folded = [
            "claim paper seeds",
            "cache.dynamic_share_of_caches 6 entries, in 1 to 2",
            "units of the",
            "paper",
            "derived",
            "a 2 % 3 to 4",
        ];
        assert_eq!(lines(54), folded);
        let hung = [
            "claim paper",
            "cache.dynamic_share_of_caches",
            "6 entries,",
            "in units of",
            "the paper",
            "derived",
            "a 2 %",
        ];
        assert_eq!(lines(40), hung);
    }
}
