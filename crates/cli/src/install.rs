// SPDX-License-Identifier: MIT OR Apache-2.0
//! `install`: the program and its CUDA libraries in a folder of the user's. `cargo install` leaves libraries behind.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::args::InstallArgs;
use crate::console::Console;
use crate::exec::library::{self, LIBRARY, NAMES};
use crate::exit::{Exit, Failure};

pub fn install(args: &InstallArgs, console: &Console) -> Result<Exit, Failure> {
    let program = std::env::current_exe()
        .map_err(|error| Failure::new(Exit::Io, format!("cannot find the path of this program: {error}")))?;
    let library = library::find()?;
    let (bin, lib) = (args.prefix.join("bin"), args.prefix.join("lib/warpwatt"));
    for folder in [&bin, &lib] {
        std::fs::create_dir_all(folder).map_err(|error| Failure::io("make", folder, &error))?;
    }
    let installed = bin.join("warpwatt");
    copy(&program, &installed)?;
    copy(&library, &lib.join(LIBRARY))?;
    for name in NAMES {
        link(&lib.join(name))?;
    }
    console.result(&format!(
        "{}\n{}\n{} and {} other names in {}\n",
        installed.display(),
        lib.join(LIBRARY).display(),
        NAMES[0],
        NAMES.len() - 1,
        lib.display()
    ));
    let on_path =
        std::env::var_os("PATH").is_some_and(|path| std::env::split_paths(&path).any(|folder| folder == bin));
    if !on_path {
        console.note(&format!("{} is not in PATH", bin.display()));
    }
    Ok(Exit::Ok)
}

/// Replaces a file atomically: processes that use the old one keep it.
fn copy(from: &Path, to: &Path) -> Result<(), Failure> {
    if std::fs::canonicalize(from).ok() == std::fs::canonicalize(to).ok().or(Some(PathBuf::new())) {
        return Ok(());
    }
    let mut temporary = to.as_os_str().to_owned();
    temporary.push(format!(".{}.tmp", std::process::id()));
    let temporary = PathBuf::from(temporary);
    let copied = std::fs::copy(from, &temporary).and_then(|_| std::fs::rename(&temporary, to));
    copied.map_err(|error| {
        let _ = std::fs::remove_file(&temporary);
        Failure::io("write", to, &error)
    })
}

fn link(at: &Path) -> Result<(), Failure> {
    match std::fs::remove_file(at) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(Failure::io("replace", at, &error));
        }
        _ => {}
    }
    symlink(LIBRARY, at).map_err(|error| Failure::io("make", at, &error))
}
