// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the tests of this crate share: the corpus, and trees as text that can be compared.

use std::fs;
use std::path::Path;

use warpwatt_base::Sym;
use warpwatt_ptx::ast::Module;

/// (file name, text) of every PTX file of the corpus, by name.
pub fn corpus() -> Vec<(String, String)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let mut files: Vec<(String, String)> = fs::read_dir(directory)
        .expect("the corpus is there")
        .map(|entry| entry.expect("the corpus can be listed").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "ptx"))
        .map(|path| {
            let name = path.file_name().expect("a file has a name").to_string_lossy().into_owned();
            (name, fs::read_to_string(path).expect("the corpus is text"))
        })
        .collect();
    files.sort();
    assert!(files.len() >= 30, "the corpus is whole");
    files
}

/// The tree without spans and with names in place of symbols: equal for texts that mean the same.
pub fn tree(module: &Module) -> String {
    let debug = format!(
        "{:?} {:?} {:?} {:?} {:#?}",
        module.version, module.target, module.address_size, module.files, module.items
    );
    let mut out = String::with_capacity(debug.len());
    let mut rest = debug.as_str();
    // Spans print over several lines in the pretty form: `Span {` … `}`; symbols as `Sym(\n 12,\n)`.
    while let Some(at) = rest.find("Span {").into_iter().chain(rest.find("Sym(")).min() {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        if rest.starts_with("Span {") {
            rest = &rest[rest.find('}').expect("a span ends") + 1..];
        } else {
            let end = rest.find(')').expect("a symbol ends");
            let number: u32 =
                rest["Sym(".len()..end].trim_matches([' ', '\n', ',']).parse().expect("a symbol is a number");
            out.push_str(module.names.get(Sym(number)));
            rest = &rest[end + 1..];
        }
    }
    out.push_str(rest);
    out
}
