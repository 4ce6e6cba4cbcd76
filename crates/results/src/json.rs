// SPDX-License-Identifier: MIT OR Apache-2.0
//! How documents are written: indented, with lists of plain values on one line, so that histograms and series stay readable.

use serde::Serialize;

/// The text of a document, with a newline at its end.
pub fn to_text<T: Serialize>(document: &T) -> Result<String, serde_json::Error> {
    Ok(spread(&serde_json::to_string(document)?))
}

/// A document without spaces, laid out in lines.
fn spread(compact: &str) -> String {
    let bytes = compact.as_bytes();
    let mut out = String::with_capacity(2 * compact.len());
    // What is open: whether its entries have lines of their own.
    let mut open: Vec<bool> = Vec::new();
    let mut newline = "\n".to_owned();
    let (mut copied, mut at) = (0, 0);
    while let Some(&byte) = bytes.get(at) {
        at += 1;
        // The end of what is to be copied, and what to put behind it.
        let (end, lines) = match byte {
            b'"' => {
                at += string(&bytes[at..]);
                continue;
            }
            b':' => (at, false),
            b',' => (at, open.last() == Some(&true)),
            b'{' | b'[' if matches!(bytes.get(at), Some(b'}' | b']')) => {
                at += 1;
                continue;
            }
            b'{' | b'[' => {
                open.push(byte == b'{' || holds_another(&bytes[at..]));
                match open.last() {
                    Some(true) => (at, true),
                    _ => continue,
                }
            }
            b'}' | b']' => match open.pop() {
                Some(true) => (at - 1, true),
                _ => continue,
            },
            _ => continue,
        };
        out.push_str(&compact[copied..end]);
        copied = end;
        if lines {
            let length = 1 + 2 * open.len();
            while newline.len() < length {
                newline.push_str("  ");
            }
            out.push_str(&newline[..length]);
        } else {
            out.push(' ');
        }
    }
    out.push_str(&compact[copied..]);
    out.push('\n');
    out
}

/// Whether a list whose first entry begins here has lists or objects among its entries.
fn holds_another(bytes: &[u8]) -> bool {
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'{' | b'[' => return true,
            b']' => return false,
            b'"' => at += string(&bytes[at..]),
            _ => {}
        }
    }
    false
}

/// Bytes of the rest of a string, behind its first quotation mark.
fn string(bytes: &[u8]) -> usize {
    let mut at = 0;
    while let Some(next) = bytes.get(at..).and_then(|rest| memchr::memchr2(b'"', b'\\', rest)) {
        at += next + 1;
        if bytes[at - 1] == b'"' {
            return at;
        }
        // What follows a backslash does not end the string.
        at += 1;
    }
    bytes.len()
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
