// SPDX-License-Identifier: MIT OR Apache-2.0
//! The file that this code runs from: the program, or a library of another program, such as the Python package.

use std::ffi::{CStr, OsStr};
use std::io::{Error, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Linux gives this name to the running program, even if its file was replaced meanwhile.
const RUNNING: &str = "/proc/self/exe";
const NAME: &str = "warpwatt";
/// Words that start this code in another process, where it is no program.
static STARTED_BY: OnceLock<Vec<String>> = OnceLock::new();

/// Says how another process starts this code: these words, and then those of a command. Only a front end that is no program has to.
pub fn started_by(words: Vec<String>) {
    // The file that it runs from stays the same, so the first words are as good as later ones.
    let _ = STARTED_BY.set(words);
}

/// Words that start this code in another process, before those of a command.
pub fn words() -> std::io::Result<Vec<String>> {
    match STARTED_BY.get() {
        Some(words) => Ok(words.clone()),
        None => Ok(vec![std::env::current_exe()?.display().to_string()]),
    }
}

/// The bytes of that file, which stand for everything that is built in.
pub fn bytes() -> std::io::Result<Vec<u8>> {
    let program = std::env::current_exe()?;
    match library().filter(|library| *library != program) {
        Some(library) => std::fs::read(library),
        None => std::fs::read(RUNNING).or_else(|_| std::fs::read(program)),
    }
}

/// The `warpwatt` command: this program, or the one that is found in PATH.
pub fn program() -> std::io::Result<PathBuf> {
    let program = std::env::current_exe()?;
    if library().is_none_or(|library| library == program) {
        return Ok(program);
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&folders).map(|folder| folder.join(NAME)).find(|file| file.is_file());
    found.ok_or_else(|| {
        let message = "a program is run by the `warpwatt` command, which is not in PATH; `warpwatt install` copies it to a folder";
        Error::new(ErrorKind::NotFound, message)
    })
}

/// The file that this function was loaded from.
fn library() -> Option<PathBuf> {
    // SAFETY: plain C data, which `dladdr` fills in.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: the address is only looked up; the name it leads to belongs to the loader and is copied at once.
    let name = unsafe {
        if libc::dladdr(library as *const libc::c_void, &mut info) == 0 || info.dli_fname.is_null() {
            return None;
        }
        CStr::from_ptr(info.dli_fname)
    };
    std::fs::canonicalize(Path::new(OsStr::from_bytes(name.to_bytes()))).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_runs_from_its_own_program() {
        let program = std::env::current_exe().expect("a program");
        assert_eq!(library(), Some(program.clone()));
        assert_eq!(super::program().expect("itself"), program);
        assert_eq!(bytes().expect("its bytes"), std::fs::read(program).expect("its file"));
    }
}
