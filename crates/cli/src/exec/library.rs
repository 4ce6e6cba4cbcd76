// SPDX-License-Identifier: MIT OR Apache-2.0
//! Location of our CUDA library, and the names under which programs load it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::exit::{Exit, Failure};

/// One library holds both of CUDA's interfaces.
pub const LIBRARY: &str = "libwarpwatt_cuda.so";

/// The names that programs load it by. `libnvJitLink` keeps Python's numba from making machine code.
pub const NAMES: [&str; 8] = [
    "libcuda.so.1",
    "libcuda.so",
    "libcudart.so.11.0",
    "libcudart.so.12",
    "libcudart.so.13",
    "libcudart.so",
    "libnvJitLink.so.12",
    "libnvJitLink.so.13",
];

/// Names the library, or the folder that it is in.
const VARIABLE: &str = "WARPWATT_LIB";

/// The library of this program.
pub fn find() -> Result<PathBuf, Failure> {
    let program = std::env::current_exe().and_then(std::fs::canonicalize);
    let program = program
        .map_err(|error| Failure::new(Exit::Io, format!("cannot find the path of this program: {error}")))?;
    find_from(&program, std::env::var_os(VARIABLE).as_deref())
}

fn find_from(program: &Path, variable: Option<&OsStr>) -> Result<PathBuf, Failure> {
    if let Some(given) = variable.filter(|given| !given.is_empty()) {
        let given = Path::new(given);
        let file = if given.is_dir() { given.join(LIBRARY) } else { given.to_owned() };
        // The program may change folders, and symbolic links are made to it.
        return std::fs::canonicalize(&file).map_err(|error| {
            Failure::usage(format!("{VARIABLE} names no library: {}: {error}", file.display()))
                .help(format!("give the path of {LIBRARY}, or leave it unset"))
        });
    }
    let beside = program.parent().unwrap_or(Path::new("/"));
    let places = [beside.to_owned(), beside.join("deps"), beside.join("../lib/warpwatt")];
    for place in &places {
        let file = place.join(LIBRARY);
        if let Ok(file) = std::fs::canonicalize(file) {
            return Ok(file);
        }
    }
    let looked: Vec<_> = places.iter().map(|place| place.display().to_string()).collect();
    Err(Failure::usage(format!("{LIBRARY} was not found in {}", looked.join(", "))).help(format!(
        "`cargo install` leaves it out. In the source folder, `cargo build --release && target/release/warpwatt install --prefix ~/.local` \
         installs the program with it; or set {VARIABLE} to the folder that has it"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_looked_for_where_builds_and_installations_put_it() {
        let root = std::env::temp_dir().join(format!("warpwatt-library-{}", std::process::id()));
        let root = root.as_path();
        for folder in ["bin/deps", "lib/warpwatt", "else"] {
            std::fs::create_dir_all(root.join(folder)).expect("folders can be made");
        }
        let root = &std::fs::canonicalize(root).expect("it is there");
        let (program, elsewhere) = (root.join("bin/warpwatt"), root.join("else"));
        let text = find_from(&program, None).expect_err("there is none yet").message;
        assert!(text.contains("lib/warpwatt") && text.contains("deps"), "{text}");
        for (place, variable) in
            [("lib/warpwatt", None), ("bin/deps", None), ("bin", None), ("else", Some(elsewhere.as_os_str()))]
        {
            let file = root.join(place).join(LIBRARY);
            std::fs::write(&file, b"").expect("it can be written");
            assert_eq!(find_from(&program, variable).ok(), Some(file), "{place}");
        }
        let wrong = root.join("nowhere");
        assert!(find_from(&program, Some(wrong.as_os_str())).is_err(), "what is named is not replaced");
        std::fs::remove_dir_all(root).expect("it can be removed");
    }
}
