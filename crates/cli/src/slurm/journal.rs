// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a task did, written by itself line by line: the one who submitted it reads along, `status` reads it afterwards.
//!
//! Every start of a task has a journal of its own, `task-T.N.journal`: N is 0 at first, and one more each time that Slurm starts the task anew. A
//! process that finds a journal with a higher number than its own has been replaced, and stops before its next point.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

/// One line.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Line {
    /// The task was started on this machine.
    Start { host: String, job: String },
    /// A point is run from now on.
    Begin { key: String },
    /// The result of a point is kept, after so many seconds.
    Done { key: String, seconds: f64 },
    /// A point cannot be run to its end.
    Failed { key: String, reason: String },
    /// The program of a point was killed by signal 9; the task ends with it.
    Killed { key: String },
    /// Nothing of the list can be run here.
    Refused { reason: String },
    /// Nothing is left of the list.
    End,
}

fn path(folder: &Path, task: usize, start: usize) -> PathBuf {
    folder.join(format!("task-{task}.{start}.journal"))
}

/// The journal of a task that runs.
pub struct Journal {
    file: Mutex<File>,
    /// That of the next start: if it is there, this process has been replaced.
    next: PathBuf,
}

impl Journal {
    /// Begins the journal of this start, under the first number that is free.
    pub fn begin(folder: &Path, task: usize) -> io::Result<Journal> {
        for start in 0.. {
            match OpenOptions::new().append(true).create_new(true).open(path(folder, task, start)) {
                Ok(file) => {
                    return Ok(Journal { file: Mutex::new(file), next: path(folder, task, start + 1) });
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::from(ErrorKind::AlreadyExists))
    }

    /// Adds a line. One that cannot be written is no reason to lose the point that it tells about.
    pub fn add(&self, line: &Line) {
        if let Ok(mut text) = serde_json::to_string(line) {
            text.push('\n');
            let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
            let _ = file.write_all(text.as_bytes());
        }
    }

    pub fn is_replaced(&self) -> bool {
        self.next.exists()
    }
}

/// Reads the journals of a task as they grow.
#[derive(Debug, Default)]
pub struct Reader {
    /// Bytes read of the journal of each start.
    read: Vec<u64>,
}

impl Reader {
    /// Lines that were written since the last call, each with the number of its start.
    pub fn next(&mut self, folder: &Path, task: usize) -> Vec<(usize, Line)> {
        let mut found = Vec::new();
        for start in 0.. {
            let Ok(mut file) = File::open(path(folder, task, start)) else { break };
            if self.read.len() <= start {
                self.read.push(0);
            }
            let mut text = Vec::new();
            if file.seek(SeekFrom::Start(self.read[start])).is_err() || file.read_to_end(&mut text).is_err() {
                continue;
            }
            // The last line may not be whole yet.
            let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            self.read[start] += whole as u64;
            let lines = String::from_utf8_lossy(&text[..whole]).into_owned();
            found.extend(lines.lines().filter_map(|line| Some((start, serde_json::from_str(line).ok()?))));
        }
        found
    }

    /// How often the task was started.
    pub fn starts(&self) -> usize {
        self.read.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_sees_whole_lines_once_and_every_start() {
        let folder = std::env::temp_dir().join(format!("warpwatt-journal-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("a folder");
        let mut reader = Reader::default();
        assert!(reader.next(&folder, 3).is_empty());
        let first = Journal::begin(&folder, 3).expect("a journal");
        first.add(&Line::Begin { key: "a".to_owned() });
        assert_eq!(reader.next(&folder, 3), [(0, Line::Begin { key: "a".to_owned() })]);
        assert!(reader.next(&folder, 3).is_empty() && !first.is_replaced());
        let second = Journal::begin(&folder, 3).expect("another journal");
        assert!(first.is_replaced() && !second.is_replaced());
        second.add(&Line::End);
        first.add(&Line::Done { key: "a".to_owned(), seconds: 1.5 });
        let half = path(&folder, 3, 1);
        OpenOptions::new()
            .append(true)
            .open(&half)
            .and_then(|mut file| file.write_all(b"{\"begin\""))
            .expect("half a line");
        let found = reader.next(&folder, 3);
        assert_eq!(found, [(0, Line::Done { key: "a".to_owned(), seconds: 1.5 }), (1, Line::End)]);
        OpenOptions::new()
            .append(true)
            .open(&half)
            .and_then(|mut file| file.write_all(b": {\"key\": \"b\"}}\n"))
            .expect("the rest");
        assert_eq!(reader.next(&folder, 3), [(1, Line::Begin { key: "b".to_owned() })]);
        assert_eq!(reader.starts(), 2);
        std::fs::remove_dir_all(&folder).expect("it is there");
    }
}
