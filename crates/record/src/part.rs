// SPDX-License-Identifier: MIT OR Apache-2.0
//! The part that one process of a program has in the run record, as a file in the session's folder.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use warpwatt_results::{Copied, Diagnostic, Kernel, Status, Sums, Values};

/// A line of a source file, for the summary: file, line, text.
pub type Text = (String, u32, String);

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    pub status: Status,
    /// The first launches in detail.
    pub kernels: Vec<Kernel>,
    /// Sums over all launches.
    #[serde(default)]
    pub sums: Sums,
    /// Cycles and counters of a timed device as a whole.
    pub whole: Option<(u64, Values)>,
    pub diagnostics: Vec<Diagnostic>,
    /// Hashes of the PTX texts, in the order of loading.
    pub ptx: Vec<String>,
    pub texts: Vec<Text>,
    /// Copies, if they are noted.
    #[serde(default)]
    pub copies: Vec<Copied>,
    /// How often each instruction was executed, as a file of counts, if requested and the process has ended.
    #[serde(default)]
    pub counts: Option<String>,
}

/// The file with the traffic of a process, in a session's folder.
pub fn traffic_path(folder: &Path, number: u32) -> PathBuf {
    folder.join(format!("traffic-{number:04}"))
}

impl Part {
    /// Takes the next number of a session's folder for a process.
    pub fn claim(folder: &Path) -> std::io::Result<u32> {
        for number in 1..=9999 {
            let path = folder.join(format!("{number:04}"));
            match OpenOptions::new().write(true).create_new(true).open(path) {
                Ok(_) => return Ok(number),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(std::io::Error::other("more than 9999 processes use the device"))
    }

    /// Replaces an earlier part of the same process atomically.
    pub fn write(&self, folder: &Path, number: u32) -> std::io::Result<()> {
        let temporary = folder.join(format!("{number:04}.tmp"));
        std::fs::write(&temporary, serde_json::to_vec(self)?)?;
        std::fs::rename(&temporary, path(folder, number))
    }

    /// All parts in a folder, in the order of their numbers; `None` for a process that left nothing.
    pub fn read_all(folder: &Path) -> std::io::Result<Vec<(u32, Option<Part>)>> {
        let mut numbers: Vec<u32> = std::fs::read_dir(folder)?
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
            .collect();
        numbers.sort_unstable();
        let read = |number| match std::fs::read(path(folder, number)) {
            Ok(bytes) => Ok((number, Some(serde_json::from_slice(&bytes)?))),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok((number, None)),
            Err(error) => Err(error),
        };
        numbers.into_iter().map(read).collect()
    }
}

fn path(folder: &Path, number: u32) -> PathBuf {
    folder.join(format!("{number:04}.json"))
}
