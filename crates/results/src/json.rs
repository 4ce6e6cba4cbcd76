// SPDX-License-Identifier: MIT OR Apache-2.0
//! How documents are written: indented, with lists of plain values on one line, so that histograms and series stay readable.

use serde::Serialize;
use serde_json::Value;

/// The text of a document, with a newline at its end.
pub fn to_text<T: Serialize>(document: &T) -> Result<String, serde_json::Error> {
    let mut out = String::new();
    write(&serde_json::to_value(document)?, 0, &mut out);
    out.push('\n');
    Ok(out)
}

fn write(value: &Value, depth: usize, out: &mut String) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            out.push('{');
            for (number, (key, field)) in fields.iter().enumerate() {
                start(number, depth + 1, out);
                out.push_str(&Value::from(key.as_str()).to_string());
                out.push_str(": ");
                write(field, depth + 1, out);
            }
            newline(depth, out);
            out.push('}');
        }
        Value::Array(items) if items.iter().any(|item| item.is_object() || item.is_array()) => {
            out.push('[');
            for (number, item) in items.iter().enumerate() {
                start(number, depth + 1, out);
                write(item, depth + 1, out);
            }
            newline(depth, out);
            out.push(']');
        }
        Value::Array(items) => {
            out.push('[');
            for (number, item) in items.iter().enumerate() {
                if number > 0 {
                    out.push_str(", ");
                }
                out.push_str(&item.to_string());
            }
            out.push(']');
        }
        plain => out.push_str(&plain.to_string()),
    }
}

fn start(number: usize, depth: usize, out: &mut String) {
    if number > 0 {
        out.push(',');
    }
    newline(depth, out);
}

fn newline(depth: usize, out: &mut String) {
    out.push('\n');
    out.push_str(&"  ".repeat(depth));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn lists_of_plain_values_stay_on_a_line_and_all_reads_back() {
        let document = json!({
            "a": [1, 2.5, u64::MAX, "x\n\"y"],
            "b": {},
            "c": [],
            "d": [{ "e": null }, [true]],
        });
        let text = super::to_text(&document).expect("it is JSON");
        assert!(text.contains("\"a\": [1, 2.5, 18446744073709551615, \"x\\n\\\"y\"],\n"), "{text}");
        assert!(text.contains("    {\n      \"e\": null\n    },\n    [true]\n"), "{text}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).expect("it reads back"), document);
    }
}
