// SPDX-License-Identifier: MIT OR Apache-2.0
//! C++ names as people write them (Itanium C++ ABI, the mangling that CUDA uses).

use cpp_demangle::{DemangleOptions, Symbol};

/// The name as in the source, or the name itself when it is not a mangled one.
pub fn demangle(name: &str) -> String {
    if !name.starts_with("_Z") {
        return name.to_owned();
    }
    Symbol::new(name)
        .ok()
        .and_then(|symbol| symbol.demangle_with_options(&DemangleOptions::default()).ok())
        .unwrap_or_else(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::demangle;

    #[test]
    fn mangled_names_read_like_the_source() {
        assert_eq!(demangle("_Z5saxpyifPKfPf"), "saxpy(int, float, float const*, float*)");
        assert_eq!(demangle("_ZN3abc3defIiEEvT_"), "void abc::def<int>(int)");
    }

    #[test]
    fn other_names_stay_as_they_are() {
        for name in ["saxpy", "_Z", "_Zgarbage!", ""] {
            assert_eq!(demangle(name), name);
        }
    }
}
