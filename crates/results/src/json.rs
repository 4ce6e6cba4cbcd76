// SPDX-License-Identifier: MIT OR Apache-2.0
//! How documents are written: indented, with lists of plain values on one line, so that histograms and series stay readable.

mod layout;

use serde::Serialize;
use serde::ser::Error;

use layout::Writer;

/// The text of a document, with a newline at its end.
pub fn to_text<T: Serialize>(document: &T) -> Result<String, serde_json::Error> {
    let mut writer = Writer::new();
    document.serialize(&mut writer)?;
    let mut out = writer.out;
    out.push(b'\n');
    String::from_utf8(out).map_err(serde_json::Error::custom)
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
            Value::Array(items) if items.iter().any(|item| item.is_object() || item.is_array()) => {
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
            "f[\\{": ["a]\"", "\\", { "\\\"": [[], {}] }],
        });
        let text = super::to_text(&document).expect("it is JSON");
        assert!(text.contains("\"a\": [1, 2.5, 18446744073709551615, \"x\\n\\\"y\"],\n"), "{text}");
        assert!(text.contains("    {\n      \"e\": null\n    },\n    [true]\n"), "{text}");
        assert_eq!(text, plain(&document, 0) + "\n");
        assert_eq!(serde_json::from_str::<Value>(&text).expect("it reads back"), document);
    }
}
