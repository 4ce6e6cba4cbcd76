// SPDX-License-Identifier: MIT OR Apache-2.0
//! The private folder of a session: CUDA's library names as links to ours, the settings, and room for what processes leave. It is
//! gone with the session.

use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::{Path, PathBuf};

use warpwatt_record::{BOARD_FILE, Board, FIRST_PROCESS, SETTINGS_FILE, Settings};

use super::library::NAMES;
use crate::exit::Failure;

pub struct Folder {
    path: PathBuf,
    pub board: Board,
}

impl Folder {
    pub fn new(library: &Path, settings: &Settings) -> Result<Folder, Failure> {
        let path = make()?;
        fill(&path, library, settings).map(|board| Folder { path: path.clone(), board }).map_err(|error| {
            let _ = std::fs::remove_dir_all(&path);
            Failure::io("write", &path, &error)
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether a process of the program uses CUDA.
    pub fn is_used(&self) -> bool {
        self.path.join(FIRST_PROCESS).exists()
    }

    pub fn settings(&self) -> PathBuf {
        self.path.join(SETTINGS_FILE)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// A new folder that only this user can look into.
fn make() -> Result<PathBuf, Failure> {
    let parent = std::env::temp_dir();
    let mut number = 0;
    loop {
        let path = parent.join(format!("warpwatt-exec-{}-{number}", std::process::id()));
        match std::fs::DirBuilder::new().mode(0o700).create(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists && number < 1000 => number += 1,
            Err(error) => return Err(Failure::io("make", &path, &error)),
        }
    }
}

fn fill(path: &Path, library: &Path, settings: &Settings) -> std::io::Result<Board> {
    for name in NAMES {
        symlink(library, path.join(name))?;
    }
    settings.write(&path.join(SETTINGS_FILE))?;
    Board::create(&path.join(BOARD_FILE))
}
