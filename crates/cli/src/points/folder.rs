// SPDX-License-Identifier: MIT OR Apache-2.0
//! The folder that results are kept in: marked as ours, used by one process at a time, with files that are whole or not there.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde::{Deserialize, Serialize};
use warpwatt_papers::PointRecord;

use crate::exit::{Exit, Failure};

pub const POINTS: &str = "points";
pub const FIGURES: &str = "figures";
pub const DATA: &str = "data";
pub const LOG: &str = "log.txt";
const MARKER: &str = "warpwatt-out.json";
const UNFINISHED_MARKER: &str = "warpwatt-out.json.tmp";
const LOCK: &str = "lock";
/// What files end in while they are written.
const TEMPORARY: &str = ".tmp";
/// What points end in while tasks on other machines write them.
const PART: &str = ".part";

const OUT_SCHEMA: &str = "warpwatt.out/1";

/// What a folder is for: the results of a paper, of `all` papers, or of a sweep, by name.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Purpose {
    Paper(String),
    Sweep(String),
}

impl Purpose {
    fn shown(&self) -> String {
        match self {
            Purpose::Paper(name) => format!("another paper, `{name}`"),
            Purpose::Sweep(name) => format!("a sweep, `{name}`"),
        }
    }
}

/// Tells that a folder is ours, and what it is for.
#[derive(Serialize, Deserialize)]
struct Marker {
    schema: String,
    #[serde(flatten)]
    purpose: Purpose,
}

#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    log: File,
    started: Instant,
    /// Held as long as the folder is in use.
    _lock: File,
}

impl Folder {
    /// Makes the folder, or takes one that was made for the same purpose.
    pub fn open(path: &Path, purpose: &Purpose) -> Result<Folder, Failure> {
        let failed = |verb: &'static str| move |error: io::Error| Failure::io(verb, path, &error);
        if !is_ours(path, purpose)? {
            fs::create_dir_all(path).map_err(failed("make"))?;
            let marker = Marker { schema: OUT_SCHEMA.to_owned(), purpose: purpose.clone() };
            let text = warpwatt_results::json::to_text(&marker).map_err(super::internal)?;
            write_whole(&path.join(MARKER), text.as_bytes()).map_err(failed("write into"))?;
        }
        let lock = File::create(path.join(LOCK)).map_err(failed("write into"))?;
        lock.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => {
                Failure::usage(format!("another warpwatt process is using {}", path.display()))
                    .help("wait for it (`warpwatt sweep status DIR` shows its progress), or choose another folder with `--out DIR`")
            }
            TryLockError::Error(error) => Failure::io("lock", path, &error),
        })?;
        fs::create_dir_all(path.join(POINTS)).map_err(failed("write into"))?;
        clear_temporary(path).map_err(failed("tidy up"))?;
        let log = OpenOptions::new().append(true).create(true).open(path.join(LOG));
        let log = log.map_err(failed("write into"))?;
        Ok(Folder { path: path.to_owned(), log, started: Instant::now(), _lock: lock })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    fn point_file(&self, key: &str) -> PathBuf {
        point_file(&self.path.join(POINTS), key)
    }

    /// The point of a key, if it was kept. One that is not whole is run again.
    pub fn point(&self, key: &str) -> Option<PointRecord> {
        let text = fs::read_to_string(self.point_file(key)).ok()?;
        let record = PointRecord::read(&text, key);
        if record.is_none() {
            self.log(&format!("{POINTS}/{key}.json is not the result of that point, and is recomputed"));
        }
        record
    }

    pub fn keep(&self, record: &PointRecord) -> Result<(), Failure> {
        let text = warpwatt_results::json::to_text(record).map_err(super::internal)?;
        let path = self.point_file(&record.key);
        let part = path.with_extension(format!("json{TEMPORARY}"));
        // Waiting for the disk takes as long as a tiny point. One that is not whole after a power cut is seen to be, and run again.
        write_by(&part, &path, text.as_bytes(), Durable::No).map_err(|error| lost(&path, &error))
    }

    /// Writes a file; its name may begin with folders.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<(), Failure> {
        let path = self.path.join(name);
        let folder = path.parent().map_or(Ok(()), fs::create_dir_all);
        folder.and_then(|()| write_whole(&path, bytes)).map_err(|error| lost(&path, &error))
    }

    /// Begins a file; its name may begin with folders.
    pub fn create(&self, name: &str) -> Result<Growing, Failure> {
        let path = self.path.join(name);
        let folder = path.parent().map_or(Ok(()), fs::create_dir_all);
        folder.and_then(|()| Growing::new(&path)).map_err(|error| lost(&path, &error))
    }

    /// Adds a line to the log. A log that cannot be written is no reason to stop.
    pub fn log(&self, line: &str) {
        let line = format!("{:8.1} s  {line}\n", self.started.elapsed().as_secs_f64());
        let _ = (&self.log).write_all(line.as_bytes());
    }
}

fn point_file(points: &Path, key: &str) -> PathBuf {
    points.join(format!("{key}.json"))
}

/// The point of a key in a folder of points that other processes use as well, if it was kept.
pub fn kept(points: &Path, key: &str) -> Option<PointRecord> {
    PointRecord::read(&fs::read_to_string(point_file(points, key)).ok()?, key)
}

/// Keeps a point in a folder that other processes write into as well; `writer` is no other's name. One that is there is left as it is.
pub fn keep_as(points: &Path, record: &PointRecord, writer: &str) -> Result<(), Failure> {
    let path = point_file(points, &record.key);
    if kept(points, &record.key).is_some() {
        return Ok(());
    }
    let text = warpwatt_results::json::to_text(record).map_err(super::internal)?;
    let part = points.join(format!("{}.{writer}{PART}", record.key));
    // A network file system reports only then that it is full.
    write_by(&part, &path, text.as_bytes(), Durable::Yes).map_err(|error| lost(&path, &error))
}

/// Removes what tasks that were ended in the middle of writing left. Nobody may be writing any more.
pub fn clear_parts(out: &Path) {
    let entries = fs::read_dir(out.join(POINTS)).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_name().to_string_lossy().ends_with(PART)) {
        let _ = fs::remove_file(entry.path());
    }
}

fn lost(path: &Path, error: &io::Error) -> Failure {
    Failure::io("write", path, error).help("finished points are kept; repeat the command to continue")
}

/// Whether the folder was made for this purpose; an error if it is there and was not.
fn is_ours(path: &Path, purpose: &Purpose) -> Result<bool, Failure> {
    let shown = path.display();
    match fs::read_to_string(path.join(MARKER)) {
        Ok(text) => match serde_json::from_str::<Marker>(&text) {
            Ok(marker) if marker.schema == OUT_SCHEMA && marker.purpose == *purpose => Ok(true),
            Ok(marker) if marker.schema == OUT_SCHEMA => {
                Err(Failure::usage(format!("{shown} has the results of {}", marker.purpose.shown()))
                    .help("choose another folder with `--out DIR`"))
            }
            _ => Err(Failure::usage(format!("{shown}/{MARKER} was not written by this version of warpwatt"))
                .help("choose another folder with `--out DIR`, or remove this one")),
        },
        Err(_) => match fs::read_dir(path) {
            // A command that was killed while it made the folder leaves an unfinished marker.
            Ok(entries) => match entries.flatten().any(|entry| entry.file_name() != UNFINISHED_MARKER) {
                false => Ok(false),
                true => Err(Failure::usage(format!("{shown} is not empty and was not created by warpwatt"))
                    .help("choose a new or an empty folder with `--out DIR`")),
            },
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) if error.kind() == ErrorKind::NotADirectory => {
                Err(Failure::usage(format!("{shown} is a file"))
                    .help("choose a new or an empty folder with `--out DIR`"))
            }
            Err(error) => Err(Failure::new(Exit::Io, format!("cannot read {shown}: {error}"))),
        },
    }
}

/// Readers see the old file or the new one, even after a crash of the machine. An incomplete file is removed.
pub fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(TEMPORARY);
    write_by(Path::new(&temporary), path, bytes, Durable::Yes)
}

/// Whether what is written has to be on the disk before it takes its place.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Durable {
    Yes,
    No,
}

/// Writes a file by way of another one beside it.
fn write_by(temporary: &Path, path: &Path, bytes: &[u8], durable: Durable) -> io::Result<()> {
    let written = (|| {
        let mut file = File::create(temporary)?;
        file.write_all(bytes)?;
        if durable == Durable::Yes {
            file.sync_all()?;
        }
        drop(file);
        fs::rename(temporary, path)
    })();
    if written.is_err() {
        let _ = fs::remove_file(temporary);
    }
    written
}

/// A file that is written bit by bit beside its place, and takes its place when it is whole.
pub struct Growing {
    path: PathBuf,
    temporary: PathBuf,
    file: BufWriter<File>,
}

impl Growing {
    fn new(path: &Path) -> io::Result<Growing> {
        let mut temporary = path.as_os_str().to_owned();
        temporary.push(TEMPORARY);
        let temporary = PathBuf::from(temporary);
        let file = BufWriter::new(File::create(&temporary)?);
        Ok(Growing { path: path.to_owned(), temporary, file })
    }

    /// Puts the file in its place, once it is on the disk.
    pub fn finish(mut self) -> Result<(), Failure> {
        let written = self.file.flush().and_then(|()| self.file.get_ref().sync_all());
        let written = written.and_then(|()| fs::rename(&self.temporary, &self.path));
        written.map_err(|error| lost(&self.path, &error))
    }
}

impl Write for Growing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for Growing {
    fn drop(&mut self) {
        // There is none if it took its place.
        let _ = fs::remove_file(&self.temporary);
    }
}

/// Removes what a process that was stopped in the middle of writing left, here and below.
fn clear_temporary(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            clear_temporary(&entry.path())?;
        } else if entry.file_name().to_string_lossy().ends_with(TEMPORARY) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use warpwatt_papers::{POINT_SCHEMA, PointEnergy, PointHost};
    use warpwatt_results::{Inputs, Reading, Status, Values};

    use super::*;

    /// A path of its own that is gone when the test ends.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Scratch {
            let path = std::env::temp_dir().join(format!("warpwatt-folder-{}-{name}", std::process::id()));
            let _ = fs::remove_dir_all(&path);
            Scratch(path)
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn paper(name: &str) -> Purpose {
        Purpose::Paper(name.to_owned())
    }

    fn record(key: &str) -> PointRecord {
        PointRecord {
            schema: POINT_SCHEMA.to_owned(),
            key: key.to_owned(),
            status: Status::Complete,
            inputs: Inputs {
                workload: Some("vecadd".to_owned()),
                size: Some("tiny".to_owned()),
                program: None,
                seed: Some(1),
                ptx_sha256: String::new(),
                launch_sha256: None,
                gpu: None,
                techniques: Vec::new(),
                technology: Some("wc45".to_owned()),
            },
            check: None,
            cycles: 7,
            warp_instructions: 1,
            thread_instructions: 32,
            counters: Values::from([
                ("a.count".to_owned(), Reading::Count(u64::MAX)),
                ("a.ratio".to_owned(), Reading::Ratio(0.1)),
                ("a.histogram".to_owned(), Reading::Histogram(vec![0, 3])),
            ]),
            energy: PointEnergy { total_j: 0.1 + 0.2, ..PointEnergy::default() },
            kernels: Vec::new(),
            host: PointHost { wall_seconds: 0.5 },
        }
    }

    #[test]
    fn points_are_there_when_the_folder_is_opened_again() {
        let scratch = Scratch::new("again");
        let folder = Folder::open(&scratch.0, &paper("p")).expect("a new folder");
        assert_eq!(folder.point("k"), None);
        folder.keep(&record("k")).expect("it is kept");
        drop(folder);
        let folder = Folder::open(&scratch.0, &paper("p")).expect("the same folder");
        assert_eq!(folder.point("k"), Some(record("k")));
        assert_eq!(folder.point("l"), None);
    }

    #[test]
    fn points_that_are_not_whole_or_of_another_key_are_not_taken() {
        let scratch = Scratch::new("stale");
        let folder = Folder::open(&scratch.0, &paper("p")).expect("a new folder");
        folder.keep(&record("k")).expect("it is kept");
        let text = fs::read_to_string(folder.point_file("k")).expect("its file");
        fs::write(folder.point_file("other"), &text).expect("a copy");
        fs::write(folder.point_file("cut"), &text[..text.len() / 2]).expect("half a file");
        let partial = text.replace("\"complete\"", "\"partial\"").replace("\"k\"", "\"partial\"");
        fs::write(folder.point_file("partial"), partial).expect("a partial one");
        for key in ["other", "cut", "partial"] {
            assert_eq!(folder.point(key), None, "{key}");
        }
        let log = fs::read_to_string(scratch.0.join(LOG)).expect("a log");
        assert!(log.contains("points/cut.json is not the result of that point"), "{log}");
    }

    #[test]
    fn what_was_left_half_written_is_cleared() {
        let scratch = Scratch::new("half");
        drop(Folder::open(&scratch.0, &paper("p")).expect("a new folder"));
        let left = scratch.0.join(POINTS).join("k.json.tmp");
        fs::write(&left, "{").expect("a file");
        let _folder = Folder::open(&scratch.0, &paper("p")).expect("the same folder");
        assert!(!left.exists());
    }

    /// The disk is full while the folder is made, or the command is killed in that moment.
    #[test]
    fn a_folder_with_nothing_but_an_unfinished_marker_is_used() {
        let scratch = Scratch::new("unfinished");
        let marker = scratch.0.join(UNFINISHED_MARKER);
        fs::create_dir_all(&scratch.0).expect("a folder");
        std::os::unix::fs::symlink("/dev/full", &marker).expect("a file that cannot be written");
        let full = Folder::open(&scratch.0, &paper("p")).expect_err("no space is left");
        assert!(full.exit == Exit::Io && full.message.contains("write into"), "{}", full.message);
        assert!(fs::symlink_metadata(&marker).is_err(), "what could not be written is removed");
        fs::write(&marker, "{").expect("half a marker");
        drop(Folder::open(&scratch.0, &paper("p")).expect("the next command makes the folder"));
        fs::remove_file(scratch.0.join(MARKER)).expect("there is a marker");
        fs::write(&marker, "{").expect("half a marker");
        let others = Folder::open(&scratch.0, &paper("p")).expect_err("files of somebody else");
        assert!(others.message.ends_with("was not created by warpwatt"), "{}", others.message);
    }

    #[test]
    fn folders_of_others_are_left_alone() {
        let scratch = Scratch::new("foreign");
        let refused = |purpose: &Purpose| {
            let failure = Folder::open(&scratch.0, purpose).expect_err("a foreign folder");
            assert_eq!(failure.exit, Exit::Usage);
            failure.message
        };
        fs::create_dir_all(&scratch.0).expect("a folder");
        fs::write(scratch.0.join("thesis.tex"), "").expect("a file");
        assert!(refused(&paper("p")).ends_with("is not empty and was not created by warpwatt"));
        assert_eq!(fs::read_dir(&scratch.0).expect("it is there").count(), 1, "nothing was written");

        fs::remove_file(scratch.0.join("thesis.tex")).expect("an empty folder");
        drop(Folder::open(&scratch.0, &paper("p")).expect("an empty folder can be used"));
        assert!(refused(&paper("q")).ends_with("has the results of another paper, `p`"));
        let sweep = Purpose::Sweep("p".to_owned());
        assert!(refused(&sweep).ends_with("has the results of another paper, `p`"));
        fs::write(scratch.0.join(MARKER), "{}").expect("a marker of somebody else's");
        assert!(refused(&paper("p")).contains("was not written by this version of warpwatt"));

        fs::remove_dir_all(&scratch.0).expect("it is gone");
        fs::write(&scratch.0, "").expect("a file in its place");
        assert!(refused(&paper("p")).ends_with("is a file"));
        fs::remove_file(&scratch.0).expect("it is gone");
    }

    #[test]
    fn a_folder_is_used_once_at_a_time() {
        let scratch = Scratch::new("lock");
        let folder = Folder::open(&scratch.0, &paper("p")).expect("a new folder");
        let refused = Folder::open(&scratch.0, &paper("p")).expect_err("it is in use");
        assert!(refused.message.starts_with("another warpwatt process is using"), "{}", refused.message);
        drop(folder);
        assert!(Folder::open(&scratch.0, &paper("p")).is_ok());
    }
}
