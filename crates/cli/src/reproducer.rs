// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reproducers: a folder with the PTX text, the memory as one launch finds it, and a launch file that repeats this launch.
//!
//! Runs are deterministic, so nothing is recorded while they last: to save a launch, the job is repeated up to that launch,
//! and memory is captured at that point.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use warpwatt_config::Config;
use warpwatt_record::ChosenTechniques;
use warpwatt_results::Gpu;
use warpwatt_runtime::{Device, Error, Mode, Options, Pending};

use crate::args::{Execution, ReplayArgs};
use crate::console::Console;
use crate::exit::{Exit, Failure};
use crate::gpu::Machine;
use crate::job::{FileJob, Job, Stop, read_text};
use crate::run::{Request, Target, cores, perform};
use crate::session::{Watch, Watcher, isolated};

const ABOUT_FILE: &str = "reproducer.toml";
const LAUNCH_FILE: &str = "launch.toml";
const PTX_FILE: &str = "kernel.ptx";

/// What a reproducer is about, and the settings that its launch ran with.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct About {
    version: String,
    commit: String,
    job: String,
    launch: u64,
    reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_registers: Option<u32>,
    #[serde(default)]
    no_predication: bool,
    /// Names of the checks that were on.
    #[serde(default)]
    checks: Vec<String>,
    watchdog: u64,
    /// The GPU that was timed; absent in a functional run.
    #[serde(skip_serializing_if = "Option::is_none")]
    gpu: Option<SavedGpu>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedGpu {
    parameters: BTreeMap<String, String>,
    #[serde(default)]
    techniques: ChosenTechniques,
}

/// Folder of a reproducer.
pub enum Saved<'a> {
    /// Exactly here; the folder must not exist yet.
    Folder(&'a Path),
    /// `warpwatt-reproducer` in the current folder, with a number if that exists.
    NewFolder,
}

/// Saves launch number `launch` of a job.
pub fn save(job: &Job, options: &Options, launch: u64, to: Saved, reason: &str) -> Result<PathBuf, String> {
    let (files, about) = isolated(|| capture(job, options, launch, reason)).and_then(|result| result)?;
    let folder = make_folder(to)?;
    let mut all = files;
    all.push((
        ABOUT_FILE.to_owned(),
        toml::to_string(&about).map_err(|error| error.to_string())?.into_bytes(),
    ));
    for (name, bytes) in all {
        let path = folder.join(name);
        std::fs::write(&path, bytes).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(folder)
}

fn make_folder(to: Saved) -> Result<PathBuf, String> {
    let create =
        |path: &Path| std::fs::create_dir(path).map_err(|error| format!("{}: {error}", path.display()));
    match to {
        Saved::Folder(path) => create(path).map(|()| path.to_owned()),
        Saved::NewFolder => {
            let mut last = String::new();
            for number in 1..100 {
                let suffix = if number == 1 { String::new() } else { format!("-{number}") };
                let path = PathBuf::from(format!("warpwatt-reproducer{suffix}"));
                match create(&path) {
                    Ok(()) => return Ok(path),
                    Err(reason) => last = reason,
                }
            }
            Err(last)
        }
    }
}

type Files = Vec<(String, Vec<u8>)>;

/// Does the job again up to the launch, and turns what it finds there into files.
fn capture(job: &Job, options: &Options, launch: u64, reason: &str) -> Result<(Files, About), String> {
    let options = Options { stop_before_launch: Some(launch), interrupt: Arc::default(), ..options.clone() };
    let (max_registers, no_predication, checks, watchdog) =
        (options.max_registers, !options.predicate, options.checks, options.watchdog.patience);
    let gpu = match &options.mode {
        Mode::Functional => None,
        Mode::Timed(timed) => Some(SavedGpu {
            parameters: Gpu::of("", &timed.config).parameters,
            techniques: ChosenTechniques::of(&timed.techniques),
        }),
    };
    let (watcher, _) = Watcher::new(Watch { to_stderr: true, silent: true, ..Watch::default() });
    let mut device = Device::with(options, Box::new(watcher)).map_err(|error| error.to_string())?;
    match job.execute(&mut device) {
        Err(Stop::Device { error: Error::StoppedBefore(_), .. }) => {}
        Err(Stop::Device { error, .. }) => return Err(error.to_string()),
        Err(Stop::Io(message) | Stop::Request(message)) => return Err(message),
        Ok(_) => return Err("the run has no launch to save".to_owned()),
    }
    let Some(pending) = device.pending().cloned() else { return Err("no launch is pending".to_owned()) };
    let tool = warpwatt_record::tool();
    let about = About {
        version: tool.version,
        commit: tool.commit,
        job: job.name(),
        launch,
        reason: reason.to_owned(),
        max_registers,
        no_predication,
        checks: checks.names().into_iter().map(str::to_owned).collect(),
        watchdog,
        gpu,
    };
    Ok((describe(&mut device, &pending).map_err(|error| error.to_string())?, about))
}

fn describe(device: &mut Device, pending: &Pending) -> Result<Files, Error> {
    let (name, text) = device.module_text(pending.module)?;
    let mut toml = format!(
        "# One launch of {}, with memory as it was at its start.\nptx = {}\n",
        comment(name),
        quote(PTX_FILE)
    );
    let mut files = vec![(PTX_FILE.to_owned(), text.as_bytes().to_vec())];
    let variables = device.variables(pending.module)?;
    let mut read = |device: &mut Device, at, bytes: u64| -> Result<String, Error> {
        let mut data = vec![0; bytes as usize];
        device.read(at, &mut data)?;
        let file = format!("memory-{}.bin", files.len());
        files.push((file.clone(), data));
        Ok(file)
    };
    let inside =
        |base: u64| variables.iter().any(|v| v.bytes > 0 && v.at.0 <= base && base < v.at.0 + v.bytes);
    let buffers: Vec<_> =
        device.allocations().filter(|allocation| !inside(allocation.base)).cloned().collect();
    for (number, buffer) in buffers.iter().enumerate() {
        let file = read(device, warpwatt_runtime::DevicePtr(buffer.base), buffer.size)?;
        let twin = buffers[..number].iter().any(|other| other.name == buffer.name);
        let name = quote(&if twin { format!("{} #{number}", buffer.name) } else { buffer.name.clone() });
        let (bytes, base) = (buffer.size, buffer.base);
        let _ = write!(toml, "\n[[buffer]]\nname = {name}\nbytes = {bytes}\naddress = {base:#x}\n");
        let _ = writeln!(toml, "file = {}", quote(&file));
    }
    for variable in variables.iter().filter(|variable| variable.bytes > 0) {
        let file = read(device, variable.at, variable.bytes)?;
        let _ = write!(toml, "\n[[step]]\nsymbol = {}\nfile = {}\n", quote(&variable.name), quote(&file));
    }
    let config = &pending.config;
    let _ = write!(toml, "\n[[step]]\nlaunch = {}\n", quote(&pending.kernel));
    let _ = writeln!(toml, "grid = {:?}\nblock = {:?}", config.grid.to_array(), config.block.to_array());
    let _ = writeln!(toml, "shared = {}\nstream = {}", config.dynamic_shared, config.stream);
    let _ =
        writeln!(toml, "cooperative = {}\nprefer_l1 = {}\nargs = [", config.cooperative, config.prefer_l1);
    for value in pending.args.values() {
        let _ = writeln!(toml, "    {{ bytes = {value:?} }},");
    }
    toml.push_str("]\n");
    files.push((LAUNCH_FILE.to_owned(), toml.into_bytes()));
    Ok(files)
}

/// A TOML string.
fn quote(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// Text that cannot end a comment.
fn comment(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// `replay`: runs a reproducer with the settings it was saved with.
pub fn replay(args: &ReplayArgs, console: &Console) -> Result<Exit, Failure> {
    let about_path = args.folder.join(ABOUT_FILE);
    if !about_path.is_file() {
        let failure =
            Failure::usage(format!("{} is not a reproducer: it has no {ABOUT_FILE}", args.folder.display()));
        return Err(
            failure.help("a crash leaves one, and `warpwatt run ... --save-reproducer DIR` saves one")
        );
    }
    let about: About = toml::from_str(&read_text(&about_path)?)
        .map_err(|error| Failure::new(Exit::BadInput, format!("{}: {error}", about_path.display())))?;
    console.note(&format!("launch {} of {}: {}", about.launch, about.job, about.reason));
    let execution = Execution {
        max_registers: about.max_registers,
        no_predication: about.no_predication,
        watchdog: Some(about.watchdog),
        check: about.checks,
        per_launch: warpwatt_record::PER_LAUNCH,
        ..Execution::default()
    };
    let target = about.gpu.map(|gpu| target(&gpu, &about_path)).transpose()?;
    let job = Job::File(FileJob::load(&args.folder.join(LAUNCH_FILE), None, 1, console)?);
    perform(
        &job,
        &Request {
            execution: &execution,
            target: target.as_ref(),
            machine: None,
            counts: None,
            json: args.json.as_deref(),
            trace: None,
            save: None,
            panic_at: None,
        },
        console,
    )
}

/// The GPU of a reproducer: parameters that it does not name have been added since, and keep their defaults.
fn target(saved: &SavedGpu, path: &Path) -> Result<Target, Failure> {
    let mut config = Config::default();
    for (key, value) in &saved.parameters {
        config.set(key, value).map_err(|_| {
            let message = format!("{}: `{key} = {value}` is no parameter of a GPU", path.display());
            Failure::new(Exit::BadInput, message).help("another version of warpwatt may have saved it")
        })?;
    }
    let techniques = saved.techniques.restore().map_err(|error| {
        let message = format!("{}: {}", path.display(), error.message);
        Failure::new(Exit::BadInput, message).help(error.help)
    })?;
    Target::on(Machine { name: "gpu of the reproducer".to_owned(), config, techniques }, cores())
}
