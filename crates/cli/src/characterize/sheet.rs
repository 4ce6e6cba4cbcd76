// SPDX-License-Identifier: MIT OR Apache-2.0
//! One table: a row for each workload, as text for a terminal, as Markdown and as JSON.

use serde_json::{Map, Value, json};

use crate::table::{Table, paragraph};

/// Stands for a figure that there is none of.
const NONE: &str = "-";

#[derive(Clone, PartialEq, Debug)]
pub enum Cell {
    Number(f64),
    Word(String),
    None,
}

impl From<Option<f64>> for Cell {
    fn from(value: Option<f64>) -> Cell {
        value.filter(|value| value.is_finite()).map_or(Cell::None, Cell::Number)
    }
}

/// A column: its name in JSON, its heading, and how many digits are shown behind the point.
pub struct Heading {
    pub key: &'static str,
    pub title: &'static str,
    pub digits: usize,
}

pub const fn heading(key: &'static str, title: &'static str, digits: usize) -> Heading {
    Heading { key, title, digits }
}

pub struct Sheet {
    pub key: &'static str,
    pub title: &'static str,
    /// What the columns are.
    pub note: &'static str,
    pub headings: Vec<Heading>,
    /// The workload, and a cell for each heading.
    pub rows: Vec<(&'static str, Vec<Cell>)>,
}

impl Sheet {
    fn shown(&self) -> impl Iterator<Item = Vec<String>> + '_ {
        self.rows.iter().map(|(name, cells)| {
            let cells = cells.iter().zip(&self.headings).map(|(cell, heading)| match cell {
                Cell::Number(value) => format!("{value:.0$}", heading.digits),
                Cell::Word(word) => word.clone(),
                Cell::None => NONE.to_owned(),
            });
            std::iter::once((*name).to_owned()).chain(cells).collect()
        })
    }

    fn titles(&self) -> Vec<&str> {
        std::iter::once("workload").chain(self.headings.iter().map(|heading| heading.title)).collect()
    }

    pub fn to_text(&self) -> String {
        let mut table = Table::new(&self.titles());
        self.shown().for_each(|row| table.cells(row));
        format!("{}\n\n{}\n{}\n", self.title, table.render(), paragraph(self.note, 0))
    }

    pub fn to_markdown(&self) -> String {
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let titles: Vec<String> = self.titles().into_iter().map(str::to_owned).collect();
        let mut text = format!("## {}\n\n{}\n\n{}", self.title, self.note, line(&titles));
        text += &format!("|---|{}\n", "---:|".repeat(self.headings.len()));
        text.extend(self.shown().map(|row| line(&row)));
        text
    }

    pub fn document(&self) -> Value {
        let row = |(name, cells): &(&str, Vec<Cell>)| {
            let mut fields = Map::new();
            fields.insert("workload".to_owned(), json!(name));
            for (heading, cell) in self.headings.iter().zip(cells) {
                let value = match cell {
                    Cell::Number(value) => json!(value),
                    Cell::Word(word) => json!(word),
                    Cell::None => Value::Null,
                };
                fields.insert(heading.key.to_owned(), value);
            }
            Value::Object(fields)
        };
        json!({
            "name": self.key,
            "title": self.title,
            "note": self.note,
            "rows": self.rows.iter().map(row).collect::<Vec<_>>(),
        })
    }
}

/// A part in percent of the whole.
pub fn percent(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| 100.0 * part / whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_the_same_figures_in_all_its_forms() {
        let sheet = Sheet {
            key: "k",
            title: "Title",
            note: "A note.",
            headings: vec![
                heading("share", "share %", 1),
                heading("data", "data", 0),
                heading("no", "no", 1),
            ],
            rows: vec![("bfs", vec![Cell::Number(12.34), Cell::Word("int".to_owned()), None.into()])],
        };
        assert_eq!(
            sheet.to_text(),
            "Title\n\nworkload  share %  data  no\nbfs          12.3   int   -\n\nA note.\n\n"
        );
        assert_eq!(
            sheet.to_markdown(),
            "## Title\n\nA note.\n\n| workload | share % | data | no |\n|---|---:|---:|---:|\n| bfs | 12.3 | int | - |\n"
        );
        assert_eq!(
            sheet.document()["rows"][0],
            json!({ "workload": "bfs", "share": 12.34, "data": "int", "no": null })
        );
    }

    #[test]
    fn nothing_of_nothing_is_no_share() {
        assert_eq!((percent(1.0, 4.0), percent(0.0, 0.0)), (Some(25.0), None));
    }
}
