// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where NVRTC may be: the variable `WARPWATT_NVRTC`, wheels of the Python that is on the path, a CUDA toolkit, the loader's own folders.

use std::path::{Path, PathBuf};
use std::process::Command;

/// What installs the compiler.
pub const PIP_COMMAND: &str = "pip install nvidia-cuda-nvrtc-cu12";

/// A compiler, and the headers that came with it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Found {
    pub library: PathBuf,
    pub includes: Vec<PathBuf>,
}

/// The first compiler that there is.
pub fn find(site_packages: &dyn Fn() -> Vec<PathBuf>) -> Option<Found> {
    if let Some(named) = std::env::var_os("WARPWATT_NVRTC").filter(|named| !named.is_empty()) {
        let named = PathBuf::from(named);
        let library = if named.is_dir() { library_in(&named)? } else { named };
        let includes = library.parent().map(|folder| folder.join("../include")).into_iter();
        return Some(Found { library, includes: includes.filter(|folder| folder.is_dir()).collect() });
    }
    let wheels = site_packages();
    wheels.iter().find_map(|folder| in_wheels(folder)).or_else(in_toolkit).or_else(by_the_loader)
}

/// Folders that the Python on the path takes packages from.
pub fn site_packages() -> Vec<PathBuf> {
    let script = "import site, sys; print('\\n'.join(dict.fromkeys(p for p in sys.path + site.getsitepackages() + [site.getusersitepackages()] if p)))";
    let asked = ["python3", "python"].iter().find_map(|python| {
        let output = Command::new(python).args(["-c", script]).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    });
    asked
        .unwrap_or_default()
        .lines()
        .map(PathBuf::from)
        .filter(|folder| folder.join("nvidia").is_dir())
        .collect()
}

/// Wheels are laid out as nvidia/PACKAGE/lib and nvidia/PACKAGE/include.
fn in_wheels(folder: &Path) -> Option<Found> {
    let mut packages: Vec<_> =
        std::fs::read_dir(folder.join("nvidia")).ok()?.flatten().map(|entry| entry.path()).collect();
    packages.sort();
    let library = packages.iter().find_map(|package| library_in(&package.join("lib")))?;
    let includes = packages.iter().map(|package| package.join("include")).filter(|folder| folder.is_dir());
    Some(Found { library, includes: includes.collect() })
}

fn in_toolkit() -> Option<Found> {
    let named = ["CUDA_HOME", "CUDA_PATH"].iter().filter_map(std::env::var_os).map(PathBuf::from);
    named.chain([PathBuf::from("/usr/local/cuda")]).find_map(|root| {
        let library = ["lib64", "lib"].iter().find_map(|folder| library_in(&root.join(folder)))?;
        Some(Found { library, includes: vec![root.join("include")] })
    })
}

/// The names that are passed to the system's loader.
fn by_the_loader() -> Option<Found> {
    let names = ["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so"];
    let there = |name: &&str| {
        // SAFETY: NVRTC has no initialisers with side effects; the library is closed again at once.
        unsafe { libloading::Library::new(*name) }.is_ok()
    };
    let library = PathBuf::from(names.into_iter().find(there)?);
    Some(Found { library, includes: Vec::new() })
}

/// The compiler's library in a folder; not that of its built-in functions.
fn library_in(folder: &Path) -> Option<PathBuf> {
    let mut names: Vec<_> = std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path()).collect();
    names.sort();
    names
        .into_iter()
        .rev()
        .find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("libnvrtc.so")))
}
