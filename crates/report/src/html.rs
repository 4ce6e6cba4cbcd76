// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pieces of a page: escaped text, identifiers, and tables that can be sorted and filtered.

use std::fmt::Write;

use crate::number::{NONE, shown};

/// Text in which `words` between backticks are code.
pub fn prose(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('`') {
        let Some((code, after)) = after.split_once('`') else { break };
        out += &format!("{}<code>{}</code>", escape(before), escape(code));
        rest = after;
    }
    out + &escape(rest)
}

/// Text that is valid in an element or in a quoted attribute.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // Characters that neither HTML nor SVG may hold.
            '\u{0}'..='\u{8}'
            | '\u{b}'
            | '\u{c}'
            | '\u{e}'..='\u{1f}'
            | '\u{7f}'
            | '\u{fffe}'
            | '\u{ffff}' => {
                out.push('\u{fffd}');
            }
            other => out.push(other),
        }
    }
    out
}

/// A name as a part of an identifier.
pub fn slug(text: &str) -> String {
    let mut out = String::new();
    for letter in text.chars() {
        match letter {
            'a'..='z' | '0'..='9' => out.push(letter),
            'A'..='Z' => out.push(letter.to_ascii_lowercase()),
            _ if out.ends_with('-') || out.is_empty() => {}
            _ => out.push('-'),
        }
    }
    out.trim_end_matches('-').to_owned()
}

/// A document in a `<script>` element, which nothing in it can end.
pub fn script_json(value: &serde_json::Value) -> String {
    value.to_string().replace('<', "\\u003c")
}

/// Content of a cell, and its sort key.
pub enum Cell {
    Text(String),
    /// Markup, with the text to sort and filter by.
    Markup(String, String),
    Number(String, f64),
    Nothing,
}

impl Cell {
    pub fn text(text: impl Into<String>) -> Cell {
        Cell::Text(text.into())
    }

    pub fn number(value: Option<f64>) -> Cell {
        value.map_or(Cell::Nothing, |value| Cell::Number(shown(value), value))
    }

    pub fn shown(value: Option<f64>, how: impl Fn(f64) -> String) -> Cell {
        value.map_or(Cell::Nothing, |value| Cell::Number(how(value), value))
    }

    fn write(&self, out: &mut String) {
        let _ = match self {
            Cell::Text(text) => write!(out, "<td>{}</td>", escape(text)),
            Cell::Markup(markup, key) => write!(out, "<td data-v=\"{}\">{markup}</td>", escape(key)),
            Cell::Number(text, value) if value.is_finite() && *text != value.to_string() => {
                write!(out, "<td class=n data-v=\"{value}\">{}</td>", escape(text))
            }
            Cell::Number(text, _) => write!(out, "<td class=n>{}</td>", escape(text)),
            Cell::Nothing => write!(out, "<td class=n data-v=\"\">{NONE}</td>"),
        };
    }
}

/// A table. Columns of numbers are right-aligned.
#[derive(Default)]
pub struct Table {
    id: Option<String>,
    caption: String,
    columns: Vec<(String, bool, String)>,
    rows: Vec<Vec<Cell>>,
    sortable: bool,
    filter: Option<String>,
    tall: bool,
}

impl Table {
    /// With a caption for screen readers.
    pub fn new(caption: impl Into<String>) -> Table {
        Table { caption: caption.into(), ..Table::default() }
    }

    pub fn id(mut self, id: impl Into<String>) -> Table {
        self.id = Some(id.into());
        self
    }

    pub fn text(mut self, title: impl Into<String>) -> Table {
        self.columns.push((title.into(), false, String::new()));
        self
    }

    pub fn number(mut self, title: impl Into<String>) -> Table {
        self.columns.push((title.into(), true, String::new()));
        self
    }

    /// What the last column means.
    pub fn meaning(mut self, text: impl Into<String>) -> Table {
        if let Some(column) = self.columns.last_mut() {
            column.2 = text.into();
        }
        self
    }

    pub fn sortable(mut self) -> Table {
        self.sortable = true;
        self
    }

    /// With a field above it that leaves the rows that hold a text.
    pub fn filter(mut self, label: impl Into<String>) -> Table {
        self.filter = Some(label.into());
        self.tall = true;
        self
    }

    pub fn push(&mut self, row: Vec<Cell>) {
        self.rows.push(row);
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub fn html(&self) -> String {
        let mut out = String::new();
        let id = self.id.as_deref().unwrap_or_default();
        if let Some(label) = &self.filter {
            let _ = write!(
                out,
                "<div class=tools><label>{} <input type=search data-filter=\"{id}\"></label> <output data-count=\"{id}\">{} rows</output></div>",
                escape(label),
                self.rows.len()
            );
        }
        let class = if self.tall && self.rows.len() > 24 { "scroll tall" } else { "scroll" };
        let _ = write!(
            out,
            "<div class=\"{class}\" tabindex=0 role=region aria-label=\"{}\"><table",
            escape(&self.caption)
        );
        if !id.is_empty() {
            let _ = write!(out, " id=\"{id}\"");
        }
        if self.sortable {
            out.push_str(" class=sortable");
        }
        let _ = write!(out, "><caption>{}</caption><thead><tr>", escape(&self.caption));
        for (title, number, meaning) in &self.columns {
            let class = if *number { " class=n" } else { "" };
            let help =
                if meaning.is_empty() { String::new() } else { format!(" title=\"{}\"", escape(meaning)) };
            let title = escape(title);
            let _ = match self.sortable {
                true => write!(out, "<th scope=col{class}{help}><button type=button>{title}</button></th>"),
                false => write!(out, "<th scope=col{class}{help}>{title}</th>"),
            };
        }
        out.push_str("</tr></thead><tbody>");
        for row in &self.rows {
            out.push_str("<tr>");
            row.iter().for_each(|cell| cell.write(&mut out));
            out.push_str("</tr>\n");
        }
        out.push_str("</tbody></table></div>");
        out
    }
}

/// A part that is folded away.
pub fn folded(summary: &str, content: &str) -> String {
    format!("<details><summary>{}</summary>{content}</details>", escape(summary))
}

/// A bar within a cell, of a share from 0 to 1.
pub fn meter(share: f64, text: &str, class: &str) -> String {
    let width = if share.is_finite() { (share * 100.0).clamp(0.0, 100.0) } else { 0.0 };
    format!("<span class=\"meter {class}\" style=\"--w:{width:.1}%\"><span>{}</span></span>", escape(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_name_is_markup() {
        let name = "k<int, 'a'>(&x, \"</script>\")\u{0}";
        let text = escape(name);
        assert!(!text.contains(['<', '>', '"', '\'', '\u{0}']), "{text}");
        assert_eq!(prose("lost to `<b>` & `c"), "lost to <code>&lt;b&gt;</code> &amp; `c");
        let script = script_json(&serde_json::json!({ "name": name }));
        assert!(!script.contains("</"), "{script}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&script).expect("it is JSON")["name"], name);
        assert_eq!(slug("void k<int>(float*, A::B)"), "void-k-int-float-a-b");
    }

    #[test]
    fn a_table_tells_what_it_sorts_by() {
        let mut table = Table::new("a & b").id("t").text("name").number("µJ").sortable().filter("Filter");
        table.push(vec![Cell::text("<x>"), Cell::Number("1.2 k".into(), 1234.5)]);
        table.push(vec![Cell::text("y"), Cell::number(None)]);
        let html = table.html();
        assert!(html.contains("<caption>a &amp; b</caption>"));
        assert!(html.contains("<td>&lt;x&gt;</td><td class=n data-v=\"1234.5\">1.2 k</td>"), "{html}");
        assert!(html.contains("data-v=\"\">–"), "{html}");
        assert!(html.contains("data-filter=\"t\"") && html.contains("2 rows"));
    }
}
