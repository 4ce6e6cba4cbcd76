// SPDX-License-Identifier: MIT OR Apache-2.0
//! How documents are written: indented, with lists of plain values on one line, so that histograms and series stay readable.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};

/// The text of a document, with a newline at its end.
pub fn to_text<T: Serialize>(document: &T) -> Result<String, serde_json::Error> {
    // Memory that is not written to costs nothing, copies to where there is more of it do: most records are shorter.
    let mut text = Vec::with_capacity(1 << 20);
    document.serialize(&mut Serializer::with_formatter(&mut text, Layout::default()))?;
    text.push(b'\n');
    String::from_utf8(text).map_err(serde::ser::Error::custom)
}

/// Entries of objects have lines of their own, and so have those of a list whose first entry is an object or a list.
#[derive(Default)]
struct Layout {
    /// What is open, the innermost last.
    open: Vec<Open>,
}

#[derive(Clone, Copy, PartialEq)]
enum Open {
    /// An object without entries, or a list of which at most one plain entry is known.
    Start,
    /// Plain entries on one line.
    Line,
    /// Entries on lines of their own.
    Lines,
}

impl Layout {
    /// Before an object or a list.
    #[inline]
    fn begin<W: ?Sized + Write>(&mut self, to: &mut W, bracket: u8) -> io::Result<()> {
        if self.open.last() == Some(&Open::Start) {
            self.next_line(to)?;
        }
        self.open.push(Open::Start);
        to.write_all(&[bracket])
    }

    #[inline]
    fn end<W: ?Sized + Write>(&mut self, to: &mut W, bracket: u8) -> io::Result<()> {
        if self.open.pop() == Some(Open::Lines) {
            self.indent(to)?;
        }
        to.write_all(&[bracket])
    }

    /// Begins the line of an entry of what is open.
    #[inline]
    fn next_line<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        if let Some(open) = self.open.last_mut() {
            *open = Open::Lines;
        }
        self.indent(to)
    }

    #[inline]
    fn indent<W: ?Sized + Write>(&self, to: &mut W) -> io::Result<()> {
        const LINE: &[u8] = b"\n                        ";
        match LINE.get(..1 + 2 * self.open.len()) {
            Some(line) => to.write_all(line),
            None => {
                to.write_all(b"\n")?;
                self.open.iter().try_for_each(|_| to.write_all(b"  "))
            }
        }
    }
}

impl Formatter for Layout {
    #[inline]
    fn begin_array<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.begin(to, b'[')
    }

    #[inline]
    fn end_array<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.end(to, b']')
    }

    #[inline]
    fn begin_array_value<W: ?Sized + Write>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        match self.open.last_mut() {
            _ if first => Ok(()),
            Some(Open::Lines) => {
                to.write_all(b",")?;
                self.indent(to)
            }
            open => {
                open.into_iter().for_each(|open| *open = Open::Line);
                to.write_all(b", ")
            }
        }
    }

    #[inline]
    fn begin_object<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.begin(to, b'{')
    }

    #[inline]
    fn end_object<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.end(to, b'}')
    }

    #[inline]
    fn begin_object_key<W: ?Sized + Write>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        if !first {
            to.write_all(b",")?;
        }
        self.next_line(to)
    }

    #[inline]
    fn begin_object_value<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        to.write_all(b": ")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    /// The same layout, from the values of a document.
    fn plain(value: &Value, depth: usize) -> String {
        let lines = |entries: Vec<String>, [open, close]: [&str; 2]| {
            let indent = "  ".repeat(depth + 1);
            let entries = entries.join(&format!(",\n{indent}"));
            format!("{open}\n{indent}{entries}\n{}{close}", "  ".repeat(depth))
        };
        match value {
            Value::Object(fields) if !fields.is_empty() => {
                let field = |(key, field): (&String, &Value)| {
                    format!("{}: {}", Value::from(key.as_str()), plain(field, depth + 1))
                };
                lines(fields.iter().map(field).collect(), ["{", "}"])
            }
            Value::Array(items) if items.first().is_some_and(|item| item.is_object() || item.is_array()) => {
                lines(items.iter().map(|item| plain(item, depth + 1)).collect(), ["[", "]"])
            }
            Value::Array(items) => {
                format!("[{}]", items.iter().map(Value::to_string).collect::<Vec<_>>().join(", "))
            }
            plain => plain.to_string(),
        }
    }

    #[test]
    fn lists_of_plain_values_stay_on_a_line_and_all_reads_back() {
        let document = json!({
            "a": [1, 2.5, u64::MAX, "x\n\"y"],
            "b": {},
            "c": [],
            "d": [{ "e": null }, [true]],
            "f[\\{": [{ "\\\"": [[], {}] }, "a]\"", "\\"],
        });
        let text = super::to_text(&document).expect("it is JSON");
        assert!(text.contains("\"a\": [1, 2.5, 18446744073709551615, \"x\\n\\\"y\"],\n"), "{text}");
        assert!(text.contains("    {\n      \"e\": null\n    },\n    [true]\n"), "{text}");
        assert_eq!(text, plain(&document, 0) + "\n");
        assert_eq!(serde_json::from_str::<Value>(&text).expect("it reads back"), document);
    }
}
