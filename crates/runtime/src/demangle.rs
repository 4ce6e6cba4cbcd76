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

/// The name of a function in the source, without namespaces, template arguments and parameters.
pub fn plain_name(name: &str) -> String {
    let whole = demangle(name);
    // Parentheses and angle brackets may nest: `void ns::k<(int)3>(float*)`.
    let mut depth = 0_u32;
    let mut flat = String::new();
    for c in whole.chars() {
        match c {
            '<' | '(' => depth += 1,
            '>' | ')' => depth = depth.saturating_sub(1),
            _ if depth == 0 => flat.push(c),
            _ => {}
        }
        if c == '(' && depth == 1 && !flat.trim().is_empty() {
            break;
        }
    }
    let last = flat.split_whitespace().last().unwrap_or_default();
    let last = last.rsplit("::").next().unwrap_or_default();
    if last.is_empty() { whole } else { last.to_owned() }
}

/// The kernel that a name means: the name itself, the whole demangled name, or the plain one where only one kernel has it.
/// The error lists the kernels that the name could mean; it is empty if there is none.
pub fn find_kernel<'k>(kernels: &'k [String], wanted: &str) -> Result<&'k str, Vec<String>> {
    if let Some(exact) = kernels.iter().find(|name| *name == wanted) {
        return Ok(exact);
    }
    let same = |text: &str| text.split_whitespace().collect::<String>();
    if let Some(whole) = kernels.iter().find(|name| same(&demangle(name)) == same(wanted)) {
        return Ok(whole);
    }
    let alike: Vec<_> = kernels.iter().filter(|name| plain_name(name) == wanted).collect();
    match alike[..] {
        [only] => Ok(only),
        _ => Err(alike.into_iter().map(|name| demangle(name)).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::{demangle, find_kernel, plain_name};

    #[test]
    fn plain_names_are_those_of_the_source() {
        for (mangled, plain) in [
            ("_Z5saxpyifPKfPf", "saxpy"),
            ("_ZN3abc3defIiEEvT_", "def"),
            ("saxpy", "saxpy"),
            ("_Z3addIXadL_Z3oneiEEEvPi", "add"),
            ("", ""),
        ] {
            assert_eq!(plain_name(mangled), plain, "{}", demangle(mangled));
        }
    }

    #[test]
    fn a_kernel_is_found_by_any_of_its_names_if_it_is_the_only_one() {
        let names = ["_Z5saxpyifPKfPf", "_Z3defIiEvT_", "_Z3defIfEvT_", "plain"].map(str::to_owned);
        for wanted in ["_Z5saxpyifPKfPf", "saxpy", "saxpy(int,float,float const*,float*)"] {
            assert_eq!(find_kernel(&names, wanted), Ok("_Z5saxpyifPKfPf"));
        }
        assert_eq!(find_kernel(&names, "plain"), Ok("plain"));
        assert_eq!(find_kernel(&names, "void def<float>(float)"), Ok("_Z3defIfEvT_"));
        assert_eq!(
            find_kernel(&names, "def"),
            Err(vec!["void def<int>(int)".to_owned(), "void def<float>(float)".to_owned()])
        );
        assert_eq!(find_kernel(&names, "sax"), Err(vec![]));
    }

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
