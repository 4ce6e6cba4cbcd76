// SPDX-License-Identifier: MIT OR Apache-2.0
//! From a requested point to one that can be run: the GPU with its techniques and technology, the workload or the program, and the key that the result is kept
//! under.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use warpwatt_config::sha256;
use warpwatt_papers::{KeyParts, Point};
use warpwatt_results::sha256_hex;
use warpwatt_workloads::Size;

use super::{internal, own};
use crate::args::{GpuArgs, Timing};
use crate::exec::{library, located};
use crate::exit::{Exit, Failure};
use crate::job::Job;
use crate::list::find_workload;
use crate::profile;
use crate::run::Target;
use crate::technique;

/// One point that can be run.
pub struct Task {
    /// What messages call it: `workload/variant`.
    pub name: String,
    /// The requested point, with techniques in canonical form.
    pub point: Point,
    pub key: String,
    /// Hash of all parameters of the GPU.
    pub gpu_sha256: Arc<str>,
    pub subject: Subject,
}

/// What runs.
pub enum Subject {
    Job(Job),
    /// Words of the command line of a program for `exec`.
    Program(Vec<String>),
}

/// How something is run: GPU, settings, techniques and technology as given.
type Configuration = (String, Vec<String>, Vec<String>, String);

/// Makes tasks. What several of them share is read once.
pub struct Planner {
    /// Hash of the program that runs, which stands for everything that is built in.
    build: String,
    configurations: HashMap<Configuration, Ready>,
    /// Hashes of files and of texts that are built in, by name.
    hashes: HashMap<String, String>,
}

/// What is kept of a configuration: a sweep may have a million of them, and a GPU with its table of energies takes 50 KB.
#[derive(Clone)]
struct Ready {
    /// In canonical form.
    techniques: Arc<[String]>,
    gpu_sha256: Arc<str>,
    technology_sha256: Arc<str>,
}

impl Task {
    /// What `run` would make of the point. Points run side by side, each on one thread.
    pub fn target(&self) -> Result<Target, Failure> {
        target(&self.point)
    }
}

fn target(point: &Point) -> Result<Target, Failure> {
    let gpu = GpuArgs {
        gpu: Some(point.gpu.clone()),
        set: point.settings.clone(),
        with: point.techniques.clone(),
        ..GpuArgs::default()
    };
    let technology = Some(point.technology.clone());
    Target::new(&Timing { gpu, threads: Some(1), technology, ..Timing::default() })
}

impl Planner {
    pub fn new() -> Result<Planner, Failure> {
        let bytes = own::bytes()
            .map_err(|error| Failure::new(Exit::Io, format!("cannot read the program that runs: {error}")))?;
        Ok(Planner::of_build(&bytes))
    }

    /// Makes tasks with the keys that another build gives them.
    pub fn of_program(program: &Path) -> Result<Planner, Failure> {
        let bytes = std::fs::read(program).map_err(|error| Failure::io("read", program, &error))?;
        Ok(Planner::of_build(&bytes))
    }

    fn of_build(bytes: &[u8]) -> Planner {
        Planner { build: sha256_hex(bytes), configurations: HashMap::new(), hashes: HashMap::new() }
    }

    pub fn task(&mut self, name: String, mut point: Point) -> Result<Task, Failure> {
        let Ready { techniques, gpu_sha256, technology_sha256 } = self.configuration(&point)?;
        // What settings say about techniques is in their canonical form.
        point.settings.retain(|text| technique::setting(text).is_none());
        point.techniques = techniques.to_vec();
        // A program has no generator of ours.
        let mut generator = 0;
        let (subject, words, files, seed, size) = match (&point.workload, &point.command) {
            (Some(workload), None) => {
                let size: Size =
                    point.size.as_deref().unwrap_or("small").parse().map_err(
                        |error: warpwatt_workloads::UnknownSize| Failure::usage(error.to_string()),
                    )?;
                let seed = point.seed.unwrap_or(1);
                let workload = find_workload(workload)?;
                let name = workload.info().name;
                generator = workload.info().generator;
                let hash = || sha256_hex(workload.ptx().as_bytes());
                let ptx = self.hashes.entry(format!("workload {name}")).or_insert_with(hash).clone();
                (point.size, point.seed) = (Some(size.to_string()), Some(seed));
                let job = Job::Workload { workload, size, seed };
                (Subject::Job(job), vec![name.to_owned()], vec![ptx], seed, size.name())
            }
            (None, Some(words)) => {
                profile::read_for_a_program(&mut target(&point)?.timed.techniques)?;
                let files = self.program_files(words, &point.files)?;
                (Subject::Program(words.clone()), words.clone(), files, 0, "")
            }
            _ => {
                let failure = Failure::usage("a point has either a workload or a command");
                return Err(failure.help("give one of `workload` and `command`"));
            }
        };
        let parts = KeyParts {
            build: &self.build,
            gpu_sha256: &gpu_sha256,
            techniques: &point.techniques,
            technology_sha256: &technology_sha256,
            predication: point.predication,
            subject: &words,
            files_sha256: &files,
            generator,
            seed,
            size,
        };
        let key = parts.key().map_err(internal)?;
        Ok(Task { name, point, key, gpu_sha256, subject })
    }

    fn configuration(&mut self, point: &Point) -> Result<Ready, Failure> {
        let given =
            (point.gpu.clone(), point.settings.clone(), point.techniques.clone(), point.technology.clone());
        if let Some(ready) = self.configurations.get(&given) {
            return Ok(ready.clone());
        }
        let target = target(point)?;
        let ready = Ready {
            gpu_sha256: sha256(&target.timed.config).into(),
            technology_sha256: sha256_hex(target.technology.file.text.as_bytes()).into(),
            techniques: target.timed.techniques.canonical().into(),
        };
        self.configurations.insert(given, ready.clone());
        Ok(ready)
    }

    /// Hashes of our library, of the program, and of the files that its arguments and the point name.
    fn program_files(&mut self, words: &[String], files: &[String]) -> Result<Vec<String>, Failure> {
        let command: Vec<OsString> = words.iter().map(OsString::from).collect();
        let program = located(&command)?;
        let arguments = words.iter().skip(1).filter(|word| Path::new(word).is_file());
        let mut hashes = vec![self.file(&library::find()?)?, self.file(&program)?];
        for file in arguments.chain(files) {
            hashes.push(self.file(Path::new(file))?);
        }
        Ok(hashes)
    }

    fn file(&mut self, path: &Path) -> Result<String, Failure> {
        let name = format!("file {}", path.display());
        if let Some(hash) = self.hashes.get(&name) {
            return Ok(hash.clone());
        }
        let bytes = std::fs::read(path).map_err(|error| Failure::io("read", path, &error))?;
        let hash = sha256_hex(&bytes);
        self.hashes.insert(name, hash.clone());
        Ok(hash)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point() -> Point {
        Point::of_workload("vecadd", "tiny", 1, "gtx480", "gtx480-40nm")
    }

    #[test]
    fn another_build_has_other_keys() {
        let mut planner = Planner::new().expect("a planner");
        let first = planner.task("a".to_owned(), point()).expect("a task").key;
        assert_eq!(first, planner.task("b".to_owned(), point()).expect("a task").key, "names do not matter");
        planner.build = "another".to_owned();
        assert_ne!(first, planner.task("a".to_owned(), point()).expect("a task").key);
    }

    #[test]
    fn techniques_are_the_same_however_they_are_given() {
        let mut planner = Planner::new().expect("a planner");
        let with = Point { techniques: vec!["drowsy:region=16".to_owned()], ..point() };
        let set = Point {
            techniques: vec!["drowsy".to_owned()],
            settings: vec!["technique.drowsy.region=16".to_owned()],
            ..point()
        };
        let (with, set) = (planner.task(String::new(), with), planner.task(String::new(), set));
        let (with, set) = (with.expect("a task"), set.expect("a task"));
        assert_eq!((with.key, with.point), (set.key, set.point));
    }

    #[test]
    fn what_cannot_be_run_is_refused() {
        let mut planner = Planner::new().expect("a planner");
        let mut refused = |point: Point| planner.task(String::new(), point).err().expect("it is refused");
        let both = Point { command: Some(vec!["true".to_owned()]), ..point() };
        assert_eq!(refused(both).message, "a point has either a workload or a command");
        let unknown = Point { workload: Some("vecad".to_owned()), ..point() };
        assert_eq!(
            refused(unknown).help.as_deref(),
            Some("did you mean `vecadd`? `warpwatt list workloads` shows all of them")
        );
        assert!(refused(Point { size: Some("huge".to_owned()), ..point() }).message.contains("huge"));
        assert!(refused(Point { gpu: "gtx48".to_owned(), ..point() }).message.contains("gtx48"));
    }
}
