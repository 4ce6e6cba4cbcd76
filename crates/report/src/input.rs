// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a report is made from: run records, and folders that `paper` and `sweep` leave. A folder may hold one paper (`ledger.json`, `figures/`), several
//! (`ledger-NAME.json`, or a folder for each), or points alone.

use std::path::{Path, PathBuf};

use serde_json::Value;
use warpwatt_results::{RUN_SCHEMA, RunRecord};

use crate::figure::Figure;
use crate::ledger::Ledger;
use crate::points::Point;

/// The error that prevents a report.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot {verb} {}: {error}", .path.display())]
    Io { verb: &'static str, path: PathBuf, error: std::io::Error },
    #[error("{} {problem}", .path.display())]
    Bad { path: PathBuf, problem: String },
}

impl Error {
    pub fn is_io(&self) -> bool {
        matches!(self, Error::Io { .. })
    }

    fn io(verb: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Error {
        move |error| Error::Io { verb, path: path.to_owned(), error }
    }

    fn bad(path: &Path, problem: impl Into<String>) -> Error {
        Error::Bad { path: path.to_owned(), problem: problem.into() }
    }
}

/// A paper's part of a folder.
#[derive(Default)]
pub struct Paper {
    pub name: String,
    pub ledger: Option<Ledger>,
    pub figures: Vec<Figure>,
}

/// All that a report shows.
#[derive(Default)]
pub struct Input {
    pub papers: Vec<Paper>,
    pub points: Vec<Point>,
    /// With the name of their file.
    pub runs: Vec<(String, RunRecord)>,
}

/// Order of papers; others follow.
const ORDER: [&str; 5] = ["warped-compression", "corf", "e2mc", "caches", "combined"];

impl Input {
    /// Adds a run record or an out folder.
    pub fn add(&mut self, path: &Path) -> Result<(), Error> {
        let meta = std::fs::metadata(path).map_err(Error::io("read", path))?;
        if meta.is_dir() { self.add_folder(path) } else { self.add_run(path) }
    }

    fn add_run(&mut self, path: &Path) -> Result<(), Error> {
        let document = read_json(path)?;
        match document.get("schema").and_then(Value::as_str) {
            Some(RUN_SCHEMA) => {}
            Some(other) => {
                let other: String = other.chars().take(60).collect();
                return Err(Error::bad(
                    path,
                    format!("is not a run record: its schema is `{other}`, not `{RUN_SCHEMA}`"),
                ));
            }
            None => return Err(Error::bad(path, "is not a run record: it has no `schema` field")),
        }
        let record = serde_json::from_value(document)
            .map_err(|error| Error::bad(path, format!("is not a run record of this version: {error}")))?;
        let name = path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        self.runs.push((name, record));
        Ok(())
    }

    fn add_folder(&mut self, folder: &Path) -> Result<(), Error> {
        let before = (self.papers.len(), self.points.len());
        self.add_one(folder)?;
        for path in entries(folder)? {
            let inner =
                path.is_dir() && !["points", "figures", "data"].iter().any(|name| path.ends_with(name));
            if inner
                && (path.join("points").is_dir()
                    || path.join("figures").is_dir()
                    || path.join("ledger.json").is_file())
            {
                self.add_one(&path)?;
            }
        }
        if before == (self.papers.len(), self.points.len()) {
            return Err(Error::bad(folder, "contains no points, figures or ledger"));
        }
        let place = |paper: &Paper| ORDER.iter().position(|name| *name == paper.name).unwrap_or(ORDER.len());
        self.papers.sort_by_key(place);
        Ok(())
    }

    /// One folder, without those in it.
    fn add_one(&mut self, folder: &Path) -> Result<(), Error> {
        for path in entries(folder)? {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if name.starts_with("ledger") && name.ends_with(".json") {
                let Some(ledger) = Ledger::read(&read_json(&path)?) else {
                    return Err(Error::bad(&path, "is not a ledger"));
                };
                let name = ledger.paper.clone();
                self.paper(&name).ledger = Some(ledger);
            }
        }
        let mut figures = Vec::new();
        list(&folder.join("figures"), &mut figures, 1)?;
        for path in figures {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let Some(mut figure) = Figure::read(&name, &read_json(&path)?) else {
                return Err(Error::bad(&path, "is not a figure"));
            };
            // Papers that share a folder put their name before that of the figure.
            if let Some(own) = figure.name.strip_prefix(&format!("{}-", figure.paper)) {
                figure.name = own.to_owned();
            }
            let paper = figure.paper.clone();
            self.paper(&paper).figures.push(figure);
        }
        let mut points = Vec::new();
        list(&folder.join("points"), &mut points, 0)?;
        for path in points {
            // A point that is being written, or of another version, is none of this report's.
            let point = read_json(&path).ok().and_then(|document| Point::read(&document));
            self.points.extend(point);
        }
        self.papers.iter_mut().for_each(|paper| paper.figures.sort_by_key(|figure| order(&figure.name)));
        Ok(())
    }

    fn paper(&mut self, name: &str) -> &mut Paper {
        let at = self.papers.iter().position(|paper| paper.name == name).unwrap_or(self.papers.len());
        if at == self.papers.len() {
            self.papers.push(Paper { name: name.to_owned(), ..Paper::default() });
        }
        &mut self.papers[at]
    }
}

/// Figures of the paper first, then tables, then ours, each in the order of numbers.
fn order(name: &str) -> (u8, Vec<u64>, String) {
    let kind = if name.starts_with("fig") {
        0
    } else if name.starts_with("tab") {
        1
    } else {
        2
    };
    let numbers = name.split(|letter: char| !letter.is_ascii_digit()).filter_map(|part| part.parse().ok());
    (kind, numbers.collect(), name.to_owned())
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let listed = std::fs::read_dir(folder).map_err(Error::io("read", folder))?;
    let mut paths = Vec::new();
    for entry in listed {
        paths.push(entry.map_err(Error::io("read", folder))?.path());
    }
    paths.sort();
    Ok(paths)
}

/// JSON files of a folder, in the order of names; `deep` levels of subfolders are searched.
fn list(folder: &Path, found: &mut Vec<PathBuf>, deep: u32) -> Result<(), Error> {
    if !folder.is_dir() {
        return Ok(());
    }
    for path in entries(folder)? {
        if path.is_dir() && deep > 0 {
            list(&path, found, deep - 1)?;
        } else if path.extension().is_some_and(|extension| extension == "json") {
            found.push(path);
        }
    }
    Ok(())
}

fn read_json(path: &Path) -> Result<Value, Error> {
    let text = std::fs::read_to_string(path).map_err(Error::io("read", path))?;
    serde_json::from_str(&text).map_err(|error| Error::bad(path, format!("is not JSON: {error}")))
}

/// Writes a file whole: readers see the old one or the new one.
pub fn replace(path: &Path, text: &str) -> Result<(), Error> {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(format!(".{}.tmp", std::process::id()));
    std::fs::write(&temporary, text).and_then(|()| std::fs::rename(&temporary, path)).map_err(|error| {
        let _ = std::fs::remove_file(&temporary);
        Error::Io { verb: "write", path: path.to_owned(), error }
    })
}
