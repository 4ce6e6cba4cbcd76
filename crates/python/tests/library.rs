// SPDX-License-Identifier: MIT OR Apache-2.0
//! The extension as a library file: Python finds its module in it, and it is bound to no version of Python. That this test is there makes `cargo test` build the
//! library, which tests/python/run.py loads.

use std::path::PathBuf;

use object::{Object, ObjectSymbol};

#[test]
fn the_library_has_the_module_and_no_python_of_its_own() {
    // The library that was built for tests lies beside them.
    let test = std::env::current_exe().expect("a test has a file");
    let path: PathBuf = test.parent().expect("it is in a folder").join("libwarpwatt_python.so");
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let file = object::File::parse(&*bytes).expect("a library");
    let exported = |wanted: &str| {
        file.dynamic_symbols().any(|one| one.is_definition() && one.name().is_ok_and(|name| name == wanted))
    };
    assert!(exported("PyInit__warpwatt"), "Python looks for this function");
    let needed = String::from_utf8_lossy(&bytes);
    assert!(!needed.contains("libpython3"), "it would load only where that version of Python is");
}
