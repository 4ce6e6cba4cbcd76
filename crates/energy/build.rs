// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads the built-in technologies and writes each as the expression of a constant: every run needs one, and reading TOML takes longer than
//! the smallest kernels.

use std::path::Path;

#[path = "src/spanned.rs"]
mod spanned;
#[path = "src/technology.rs"]
mod technology;

fn main() {
    for path in ["build.rs", "src/spanned.rs", "src/technology.rs", "technologies"] {
        println!("cargo:rerun-if-changed={path}");
    }
    let out = std::env::var("OUT_DIR").expect("cargo sets it");
    for entry in std::fs::read_dir("technologies").expect("a folder") {
        let path = entry.expect("an entry").path();
        let text = std::fs::read_to_string(&path).expect("a text file");
        let file: technology::File =
            toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let name = path.with_extension("rs");
        let constant = Path::new(&out).join(name.file_name().expect("a name"));
        std::fs::write(constant, expression(&format!("{file:?}"))).expect("it can be written");
    }
}

/// What derived `Debug` shows is an expression but for texts and lists, which are borrowed. A bracket before a digit is a point of a table.
fn expression(shown: &str) -> String {
    let (mut out, mut lists) = (String::new(), Vec::new());
    let mut rest = shown.chars().peekable();
    while let Some(next) = rest.next() {
        match next {
            '"' => {
                out += "Cow::Borrowed(\"";
                loop {
                    match rest.next().expect("texts end") {
                        '"' => break,
                        '\\' => out.extend(['\\', rest.next().expect("something is escaped")]),
                        plain => out.push(plain),
                    }
                }
                out += "\")";
            }
            '[' => {
                let list = !rest.peek().is_some_and(char::is_ascii_digit);
                out += if list { "Cow::Borrowed(&[" } else { "[" };
                lists.push(list);
            }
            ']' => out += if lists.pop() == Some(true) { "])" } else { "]" },
            plain => out.push(plain),
        }
    }
    out
}
