// SPDX-License-Identifier: MIT OR Apache-2.0
//! Golden files: text that a test compares with what it finds today. `WARPWATT_BLESS=1` writes them anew.
//!
//! A difference is shown by name, with the old and the new value and the relative change, so that a reader sees at once whether a counter moved by
//! one or doubled. The name of a line is all of it but its numbers.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// Lines of a difference that a message shows.
const SHOWN: usize = 40;

/// Compares a golden file with `found`, or writes it if `WARPWATT_BLESS` is set. `advice` ends the message: what to do if the change is meant.
///
/// # Panics
/// If the texts differ, with the [`difference`].
pub fn check(path: impl AsRef<Path>, found: &str, advice: &str) {
    let path = path.as_ref();
    if std::env::var_os("WARPWATT_BLESS").is_some() {
        std::fs::write(path, found)
            .unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
        return;
    }
    let golden = std::fs::read_to_string(path).unwrap_or_default();
    assert!(golden == found, "{} is out of date:\n{}{advice}", path.display(), difference(&golden, found));
}

/// What changed between two texts, by name, the largest relative change first.
pub fn difference(golden: &str, found: &str) -> String {
    let (old, new) = (by_name(golden), by_name(found));
    let mut rows = Vec::new();
    for (name, before) in &old {
        match new.get(name) {
            Some(after) if after == before => {}
            Some(after) => rows.push((change(before, after), row(name, before, after))),
            None => rows.push((f64::INFINITY, format!("- {name}: was {}", before.join(" ")))),
        }
    }
    for (name, after) in new.iter().filter(|(name, _)| !old.contains_key(*name)) {
        rows.push((f64::INFINITY, format!("+ {name}: is {}", after.join(" "))));
    }
    if rows.is_empty() {
        return "  the order of lines has changed\n".to_owned();
    }
    rows.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut text = String::new();
    rows.iter().take(SHOWN).for_each(|(_, row)| _ = writeln!(text, "  {row}"));
    if rows.len() > SHOWN {
        let _ = writeln!(text, "  and {} more", rows.len() - SHOWN);
    }
    text
}

/// The numbers of each line, by the rest of it. Lines of one name count as one.
fn by_name(text: &str) -> BTreeMap<String, Vec<&str>> {
    let mut lines: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for line in text.lines() {
        let (mut name, mut numbers) = (String::new(), Vec::new());
        for word in line.split_whitespace() {
            match number(word) {
                Some(_) => numbers.push(word),
                None => {
                    name.push_str(if name.is_empty() { "" } else { " " });
                    name.push_str(word);
                }
            }
        }
        lines.entry(name).or_default().extend(numbers);
    }
    lines
}

/// A word's value, with a unit or a thousands separator.
fn number(word: &str) -> Option<f64> {
    let bare = word.trim_end_matches(['%', ',', '|']).replace(',', "");
    bare.parse().ok().filter(|value: &f64| value.is_finite())
}

/// The largest relative change of two rows of numbers.
fn change(before: &[&str], after: &[&str]) -> f64 {
    if before.len() != after.len() {
        return f64::INFINITY;
    }
    let each = before.iter().zip(after).filter_map(|(a, b)| Some(relative(number(a)?, number(b)?).abs()));
    each.fold(0.0, f64::max)
}

fn relative(before: f64, after: f64) -> f64 {
    if before == after { 0.0 } else { (after - before) / before.abs() }
}

fn row(name: &str, before: &[&str], after: &[&str]) -> String {
    if before.len() != after.len() {
        return format!("{name}: {} -> {}", before.join(" "), after.join(" "));
    }
    let pairs = before.iter().zip(after).filter(|(a, b)| a != b);
    let each = pairs.map(|(a, b)| {
        let percent = number(a).zip(number(b)).map_or(0.0, |(a, b)| 100.0 * relative(a, b));
        format!("{a} -> {b} ({percent:+.2} %)")
    });
    format!("{name}: {}", each.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_that_moved_is_shown_with_both_values_and_the_change() {
        let (old, new) =
            ("bfs cycles 1000\nbfs l2.hits 7\nbfs gone 3\n", "bfs cycles 1100\nbfs l2.hits 14\nbfs new 1\n");
        let text = difference(old, new);
        let lines: Vec<_> = text.lines().map(str::trim).collect();
        assert_eq!(
            lines,
            [
                "- bfs gone: was 3",
                "+ bfs new: is 1",
                "bfs l2.hits: 7 -> 14 (+100.00 %)",
                "bfs cycles: 1000 -> 1100 (+10.00 %)"
            ]
        );
    }

    #[test]
    fn rows_of_tables_are_compared_by_what_is_not_a_number() {
        let text = difference("| sgemm | 1.50 | 12 % |\n", "| sgemm | 1.25 | 12 % |\n");
        assert_eq!(text, "  | sgemm | | % |: 1.50 -> 1.25 (-16.67 %)\n");
    }

    #[test]
    fn texts_with_the_same_lines_differ_in_their_order() {
        assert_eq!(difference("a 1\nb 2\n", "b 2\na 1\n"), "  the order of lines has changed\n");
    }

    #[test]
    #[should_panic(expected = "is out of date")]
    fn a_file_that_does_not_exist_is_out_of_date() {
        check("/nonexistent/golden.txt", "a 1\n", "");
    }
}
