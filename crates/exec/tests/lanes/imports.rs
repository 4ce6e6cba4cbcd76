// SPDX-License-Identifier: MIT OR Apache-2.0
//! Same bits on every host: no kernel may call the C library's mathematics. This binary holds all kernels; its import table says what it calls.

/// Names of the functions that an ELF file of 64 bits imports dynamically.
#[cfg(target_os = "linux")]
fn imports(file: &[u8]) -> Vec<String> {
    let number =
        |at: usize, bytes: usize| (0..bytes).fold(0usize, |n, i| n | usize::from(file[at + i]) << (8 * i));
    assert_eq!(&file[..6], b"\x7fELF\x02\x01", "a little-endian ELF file of 64 bits");
    let (sections, size, count) = (number(40, 8), number(58, 2), number(60, 2));
    let section = |i: usize| sections + i * size;
    const DYNAMIC_SYMBOLS: usize = 11;
    let table =
        (0..count).map(section).find(|&s| number(s + 4, 4) == DYNAMIC_SYMBOLS).expect("dynamic symbols");
    let names = number(section(number(table + 40, 4)) + 24, 8);
    let (start, length) = (number(table + 24, 8), number(table + 32, 8));
    let undefined = (0..length / 24).map(|i| start + i * 24).filter(|&symbol| number(symbol + 6, 2) == 0);
    undefined
        .map(|symbol| {
            let name = &file[names + number(symbol, 4)..];
            String::from_utf8_lossy(name.split(|&b| b == 0).next().unwrap_or_default()).into_owned()
        })
        .collect()
}

#[cfg(target_os = "linux")]
#[test]
fn nothing_of_the_c_librarys_mathematics_is_imported() {
    let file = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    let imports = imports(&file);
    assert!(
        imports.iter().any(|name| name == "memcpy" || name == "malloc"),
        "the table was not read: {imports:?}"
    );
    let stems = [
        "sin",
        "cos",
        "tan",
        "asin",
        "acos",
        "atan",
        "atan2",
        "sinh",
        "cosh",
        "tanh",
        "exp",
        "exp2",
        "exp10",
        "expm1",
        "log",
        "log2",
        "log10",
        "log1p",
        "pow",
        "fma",
        "sqrt",
        "cbrt",
        "hypot",
        "erf",
        "erfc",
        "lgamma",
        "tgamma",
        "fmod",
        "round",
        "roundeven",
        "rint",
        "nearbyint",
        "floor",
        "ceil",
        "trunc",
        "ldexp",
        "scalbn",
    ];
    for stem in stems {
        for suffix in ["", "f", "l"] {
            let name = format!("{stem}{suffix}");
            assert!(!imports.contains(&name), "{name} is imported");
        }
    }
}
