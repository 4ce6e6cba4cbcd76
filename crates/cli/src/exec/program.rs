// SPDX-License-Identifier: MIT OR Apache-2.0
//! The program that is to be run: where it is, and whether it can work with our libraries.

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::elf::Image;
use super::{FAILED, NOT_EXECUTABLE, NOT_FOUND, Refusal, last_part};

pub struct Program {
    pub path: PathBuf,
    /// As given, for the program's own name.
    pub name: OsString,
    pub args: Vec<OsString>,
}

impl Program {
    /// The program that a command line names, as a shell would find it.
    pub fn find(command: &[OsString]) -> Result<Program, Refusal> {
        let Some((name, args)) = command.split_first() else {
            return Err(Refusal::new(FAILED, "name a program".to_owned()));
        };
        let path = locate(name, std::env::var_os("PATH").as_deref())?;
        Ok(Program { path, name: name.clone(), args: args.to_vec() })
    }

    /// Name and arguments, without folders: the same on every machine.
    pub fn words(&self) -> Vec<String> {
        let plain = |word: &OsString| {
            let path = Path::new(word);
            if path.is_absolute() { last_part(path) } else { word.to_string_lossy().into_owned() }
        };
        std::iter::once(last_part(Path::new(&self.name))).chain(self.args.iter().map(plain)).collect()
    }

    pub fn shown(&self) -> String {
        let words = self.words().join(" ");
        let mut short: String = words.chars().take(80).collect();
        if short.len() < words.len() {
            short.push('…');
        }
        short
    }

    /// Refuses a program that would not use our libraries; returns warnings about one that might not.
    pub fn inspect(&self) -> Result<Vec<String>, Refusal> {
        // Scripts run as they are: their interpreters load CUDA later, if at all.
        let Ok(file) = std::fs::File::open(&self.path) else { return Ok(Vec::new()) };
        let Some(image) = Image::read(&object::ReadCache::new(file)) else { return Ok(Vec::new()) };
        let name = last_part(&self.path);
        if image.has_static_runtime() {
            let message =
                format!("{name} contains NVIDIA's CUDA runtime, which works with NVIDIA's driver alone");
            return Err(Refusal::new(FAILED, message).help(
                "link it with the shared runtime: `-cudart shared` for nvcc, `-lcudart` instead of \
                 `-lcudart_static` for clang",
            ));
        }
        let origin = self.path.parent().unwrap_or(Path::new("/"));
        Ok(image
            .stubborn_folders(origin)
            .into_iter()
            .filter(|folder| holds_runtime(folder))
            .map(|folder| {
                format!(
                    "{name} was linked to use the libcudart in {}, which comes before ours; link it without \
                     `-rpath`, or with `-Wl,--enable-new-dtags`",
                    folder.display()
                )
            })
            .collect())
    }
}

fn holds_runtime(folder: &Path) -> bool {
    std::fs::read_dir(folder).into_iter().flatten().flatten().any(|entry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        name.starts_with("libcudart.so") || name.starts_with("libcuda.so")
    })
}

fn locate(name: &OsStr, search: Option<&OsStr>) -> Result<PathBuf, Refusal> {
    let shown = name.to_string_lossy();
    let given = Path::new(name);
    // As for shells, a name with a slash is a path.
    let is_path = name.as_encoded_bytes().contains(&b'/');
    let mut seen = None;
    if is_path {
        if is_program(given) {
            return Ok(given.to_owned());
        }
        seen = given.exists().then(|| given.to_owned());
    } else {
        for folder in std::env::split_paths(search.unwrap_or(OsStr::new("/usr/bin:/bin"))) {
            let path = folder.join(given);
            if is_program(&path) {
                return Ok(path);
            }
        }
    }
    Err(match seen {
        Some(path) if path.is_dir() => Refusal::new(NOT_EXECUTABLE, format!("{shown} is a folder")),
        Some(_) => Refusal::new(NOT_EXECUTABLE, format!("{shown} is not executable"))
            .help(format!("`chmod +x {shown}` makes it so, if it is a program")),
        None if is_path => Refusal::new(NOT_FOUND, format!("there is no {shown}")),
        None => {
            let refusal = Refusal::new(NOT_FOUND, format!("there is no program `{shown}` in PATH"));
            if given.exists() {
                refusal.help(format!("for the one in this folder, write ./{shown}"))
            } else {
                refusal
            }
        }
    })
}

fn is_program(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}
