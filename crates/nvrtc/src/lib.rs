// SPDX-License-Identifier: MIT OR Apache-2.0
//! CUDA C++ to PTX by NVRTC, NVIDIA's run-time compiler. The library is not part of this project and is not needed to build or run it: it is
//! loaded when a `.cu` file is given, from a Python wheel, a CUDA toolkit, or the path in `WARPWATT_NVRTC`.

mod find;
mod library;

pub use find::{Found, PIP_COMMAND};

use std::path::{Path, PathBuf};

/// Why a source could not be compiled.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no compiler.
    #[error("NVRTC, NVIDIA's compiler for CUDA C++, is not installed")]
    NotInstalled,
    /// A library was found and does not work.
    #[error("{} cannot be used: {reason}", path.display())]
    Broken { path: PathBuf, reason: String },
    /// The compiler refused the source; the log is its own.
    #[error("{log}")]
    Refused { log: String },
}

impl Error {
    /// What to do about it.
    pub fn help(&self) -> Option<String> {
        match self {
            Error::NotInstalled => Some(format!(
                "install it with `{PIP_COMMAND}`, or set WARPWATT_NVRTC to its library; or pass PTX from nvcc or clang"
            )),
            Error::Broken { .. } => Some(format!(
                "install another version with `{PIP_COMMAND}`, or set WARPWATT_NVRTC to its library"
            )),
            Error::Refused { .. } => None,
        }
    }
}

/// The target that sources are compiled for: the oldest that current versions of NVRTC know.
pub const TARGET: &str = "compute_75";

/// PTX of a CUDA C++ source, with line information. `path` is what the compiler calls the source; headers are searched in its folder and in
/// those that came with the compiler.
pub fn compile(source: &str, path: &Path) -> Result<String, Error> {
    compile_with(source, path, &find::site_packages)
}

/// [`compile`] with wheels in these folders, rather than in those of the Python on the path.
pub fn compile_with(
    source: &str,
    path: &Path,
    site_packages: &dyn Fn() -> Vec<PathBuf>,
) -> Result<String, Error> {
    let found = find::find(site_packages).ok_or(Error::NotInstalled)?;
    let mut options = vec![
        format!("--gpu-architecture={TARGET}"),
        "--generate-line-info".to_owned(),
        "--std=c++17".to_owned(),
    ];
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    options.push(format!("--include-path={}", folder.display()));
    options.extend(found.includes.iter().map(|folder| format!("--include-path={}", folder.display())));
    library::compile(&found, source, &path.display().to_string(), &options)
}
