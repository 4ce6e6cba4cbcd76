// SPDX-License-Identifier: MIT OR Apache-2.0
//! The `[slurm]` table of a sweep file: what each array task may use, how long tasks are to be, and how many may be in the queue.
//!
//! Keys are declared once: the reader's advice, the schema and the table in docs/sweeps.md come from here.

use std::path::Path;

use serde_json::{Map, Value, json};
use toml::de::{DeTable, DeValue};
use warpwatt_base::Span;
use warpwatt_ptx::Diagnostic;

use crate::console::Console;
use crate::exit::{Exit, Failure};
use crate::job::read_text;
use crate::launch::keys::{Section, ValueKind, key};
use crate::launch::table::{Entry, Problems, Read, Table, span};

/// Memory of a task unless the file says otherwise. A simulation on one thread stays below a tenth of it.
const MEMORY_MB: u64 = 1024;
const TASK_MINUTES: f64 = 30.0;
const MAX_QUEUED: u64 = 1000;
const GRACE_SECONDS: f64 = 60.0;
const POLL_SECONDS: f64 = 10.0;

/// The most minutes that a time limit can have: a year.
const MOST_MINUTES: u64 = 366 * 24 * 60;

pub const SLURM: Section = Section {
    name: "table `[slurm]`",
    doc: "Resources and length of array tasks on Slurm.",
    keys: &[
        key(
            "partition",
            ValueKind::Text,
            "The partition, or several with commas; the cluster's default when left out.",
        ),
        key("account", ValueKind::Text, "Account that is charged; the user's default when left out."),
        key(
            "time",
            ValueKind::Text,
            "Time limit of a task: minutes, or a text as Slurm takes it, such as \"2:30:00\" or \"1-12\"; four times the estimated time and at least an hour when left out.",
        ),
        key(
            "memory",
            ValueKind::Text,
            "Memory of a task: megabytes, or a text such as \"2G\"; \"1G\" when left out. A point whose task is killed for memory is tried once more with twice as much.",
        ),
        key(
            "cpus",
            ValueKind::Count,
            "Cores of a task, which are the points that it runs in parallel; 1 when left out.",
        ),
        key("sbatch", ValueKind::Args, "More options for `sbatch`, a list of texts such as [\"--qos=low\"]."),
        key(
            "task_minutes",
            ValueKind::Number,
            "Points are packed into a task until they are estimated to take this long; 30 when left out.",
        ),
        key(
            "point_seconds",
            ValueKind::Number,
            "Time of a point, instead of the estimate; the estimate for programs of `command` is 60.",
        ),
        key(
            "max_array",
            ValueKind::Count,
            "Maximum number of tasks of one array job; the cluster's MaxArraySize when left out.",
        ),
        key(
            "max_queued",
            ValueKind::Count,
            "Maximum number of tasks of this sweep in the queue; 1000 when left out. More tasks are submitted as these end.",
        ),
        key(
            "grace_seconds",
            ValueKind::Number,
            "How long a result may take to appear after the end of its task, on a slow network file system; 60 when left out.",
        ),
        key("poll_seconds", ValueKind::Number, "Interval between queries of the queue; 10 when left out."),
    ],
};

/// Options of `sbatch` that the engine sets itself, and the key of the table that sets them, if there is one.
const OURS: &[(&str, Option<&str>)] = &[
    ("--partition", Some("partition")),
    ("-p", Some("partition")),
    ("--account", Some("account")),
    ("-A", Some("account")),
    ("--time", Some("time")),
    ("-t", Some("time")),
    ("--mem", Some("memory")),
    ("--mem-per-cpu", Some("memory")),
    ("--cpus-per-task", Some("cpus")),
    ("-c", Some("cpus")),
    ("--array", None),
    ("-a", None),
    ("--job-name", None),
    ("-J", None),
    ("--output", None),
    ("-o", None),
    ("--error", None),
    ("-e", None),
    ("--chdir", None),
    ("-D", None),
    ("--dependency", None),
    ("-d", None),
    ("--requeue", None),
    ("--no-requeue", None),
    ("--parsable", None),
    ("--wait", None),
    ("-W", None),
    ("--wrap", None),
    ("--ntasks", None),
    ("-n", None),
];

/// What a `[slurm]` table says, with defaults for what it leaves out.
#[derive(Clone, PartialEq, Debug)]
pub struct Settings {
    pub partition: Option<String>,
    pub account: Option<String>,
    pub time_minutes: Option<u64>,
    pub memory_mb: u64,
    pub cpus: u32,
    pub sbatch: Vec<String>,
    pub task_minutes: f64,
    pub point_seconds: Option<f64>,
    pub max_array: Option<usize>,
    pub max_queued: usize,
    pub grace_seconds: f64,
    pub poll_seconds: f64,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            partition: None,
            account: None,
            time_minutes: None,
            memory_mb: MEMORY_MB,
            cpus: 1,
            sbatch: Vec::new(),
            task_minutes: TASK_MINUTES,
            point_seconds: None,
            max_array: None,
            max_queued: MAX_QUEUED as usize,
            grace_seconds: GRACE_SECONDS,
            poll_seconds: POLL_SECONDS,
        }
    }
}

/// Reads the table that stands under `slurm`.
pub(crate) fn read(entry: &Entry, problems: &mut Problems) -> Read<Settings> {
    let table = entry.table(&SLURM, problems)?;
    let usual = Settings::default();
    // Everything is read before anything is given up, so that all mistakes are reported at once.
    let partition = word(&table, "partition", problems);
    let account = word(&table, "account", problems);
    let time_minutes = table.optional("time", problems, minutes);
    let memory_mb = table.optional("memory", problems, megabytes);
    let cpus = whole(&table, "cpus", 1, 1024, problems);
    let sbatch = table.optional("sbatch", problems, more);
    let task_minutes = number(&table, "task_minutes", 0.001, 10_000.0, problems);
    let point_seconds = number(&table, "point_seconds", 0.001, 1e7, problems);
    let max_array = whole(&table, "max_array", 1, 4_000_000, problems);
    let max_queued = whole(&table, "max_queued", 1, 1_000_000, problems);
    let grace_seconds = number(&table, "grace_seconds", 0.0, 86_400.0, problems);
    let poll_seconds = number(&table, "poll_seconds", 0.05, 3600.0, problems);
    Ok(Settings {
        partition: partition?,
        account: account?,
        time_minutes: time_minutes?,
        memory_mb: memory_mb?.unwrap_or(usual.memory_mb),
        cpus: cpus?.map_or(usual.cpus, |cpus| cpus as u32),
        sbatch: sbatch?.unwrap_or_default(),
        task_minutes: task_minutes?.unwrap_or(usual.task_minutes),
        point_seconds: point_seconds?,
        max_array: max_array?.map(|most| most as usize),
        max_queued: max_queued?.map_or(usual.max_queued, |most| most as usize),
        grace_seconds: grace_seconds?.unwrap_or(usual.grace_seconds),
        poll_seconds: poll_seconds?.unwrap_or(usual.poll_seconds),
    })
}

/// The `[slurm]` table of a file, which may be a sweep file: other keys are not looked at.
pub fn from_file(path: &Path, console: &Console) -> Result<Settings, Failure> {
    let text = read_text(path)?;
    let mut problems = Problems::default();
    let settings = match DeTable::parse(&text) {
        Ok(table) => match table.get_ref().iter().find(|(key, _)| key.get_ref() == "slurm") {
            Some((key, value)) => read(
                &Entry {
                    key: "slurm",
                    key_span: span(key.span()),
                    value: value.get_ref(),
                    span: span(value.span()),
                },
                &mut problems,
            ),
            None => problems.error(
                Span::default(),
                "the file has no table `[slurm]`",
                "add a line `[slurm]`, and below it lines such as `partition = \"short\"`; docs/sweeps.md lists the keys",
            ),
        },
        Err(error) => {
            let at = error.span().map_or(Span::default(), span);
            problems.error(at, error.message(), "the file has to be TOML; docs/sweeps.md has examples")
        }
    };
    match settings {
        Ok(settings) if problems.0.is_empty() => Ok(settings),
        _ => Err(refused(path, &text, &mut problems.0, console)),
    }
}

fn refused(path: &Path, text: &str, problems: &mut [Diagnostic], console: &Console) -> Failure {
    let shown = path.display().to_string();
    let mut out = Vec::new();
    for problem in problems.iter_mut() {
        problem.code = "slurm-table";
        out.push(problem.render(&shown, text, console.color));
    }
    let count = problems.len();
    out.push(format!("{shown} cannot be used: {count} error{}", if count == 1 { "" } else { "s" }));
    Failure::rendered(Exit::Usage, out.join("\n\n"))
}

/// The schema of the table.
pub fn schema() -> Value {
    let mut properties = Map::new();
    for key in SLURM.keys {
        let mut value = match (key.name, key.kind) {
            ("time" | "memory", _) => json!({ "type": ["string", "integer"] }),
            (_, ValueKind::Count) => json!({ "type": "integer", "minimum": 1 }),
            (_, ValueKind::Number) => json!({ "type": "number", "minimum": 0 }),
            (_, ValueKind::Args) => json!({ "type": "array", "items": { "type": "string" } }),
            _ => json!({ "type": "string" }),
        };
        value["description"] = key.doc.into();
        properties.insert(key.name.to_owned(), value);
    }
    json!({ "type": "object", "additionalProperties": false, "properties": properties })
}

/// A text that can stand in an option.
fn word(table: &Table, key: &str, problems: &mut Problems) -> Read<Option<String>> {
    table.optional(key, problems, |entry, problems| {
        let text = entry.text(problems)?;
        match text.is_empty() || text.contains(|c: char| c.is_whitespace() || c.is_control()) {
            true => problems.error(
                entry.span,
                format!("`{}` is not a valid {key}", text.escape_debug()),
                "write its name without spaces, or leave the key out",
            ),
            false => Ok(text.to_owned()),
        }
    })
}

fn whole(table: &Table, key: &str, least: u64, most: u64, problems: &mut Problems) -> Read<Option<u64>> {
    table.optional(key, problems, |entry, problems| {
        let value = entry.count(most, problems)?;
        match value < least {
            true => problems.error(
                entry.span,
                format!("invalid {key} = {value}"),
                format!("allowed: {least}–{most}"),
            ),
            false => Ok(value),
        }
    })
}

fn number(table: &Table, key: &str, least: f64, most: f64, problems: &mut Problems) -> Read<Option<f64>> {
    table.optional(key, problems, |entry, problems| {
        let value = entry.real(problems)?;
        match (least..=most).contains(&value) {
            true => Ok(value),
            false => problems.error(
                entry.span,
                format!("invalid {key} = {value}"),
                format!("allowed: {least}–{most}"),
            ),
        }
    })
}

/// A time limit in minutes.
fn minutes(entry: &Entry, problems: &mut Problems) -> Read<u64> {
    let help = "write minutes, such as 90, or a text such as \"90\", \"1:30:00\" or \"1-12:00\" (days-hours:minutes)";
    let found = match entry.value {
        DeValue::Integer(_) => Some(entry.count(MOST_MINUTES, problems)?),
        _ => limit(entry.text(problems)?),
    };
    match found.filter(|minutes| (1..=MOST_MINUTES).contains(minutes)) {
        Some(minutes) => Ok(minutes),
        None => problems.error(entry.span, "`time` is not a time limit of at least a minute", help),
    }
}

/// `M`, `M:S`, `H:M:S`, `D-H`, `D-H:M` or `D-H:M:S`, as Slurm reads them, in whole minutes, rounded up.
fn limit(text: &str) -> Option<u64> {
    let number = |text: &str| text.parse::<u64>().ok().filter(|value| *value <= MOST_MINUTES);
    let (days, rest) = match text.split_once('-') {
        Some((days, rest)) => (Some(number(days)?), rest),
        None => (None, text),
    };
    let parts = rest.split(':').map(number).collect::<Option<Vec<_>>>()?;
    let (hours, minutes, seconds) = match (days.is_some(), &parts[..]) {
        (true, [h]) => (*h, 0, 0),
        (true, [h, m]) => (*h, *m, 0),
        (false, [m]) => (0, *m, 0),
        (false, [m, s]) => (0, *m, *s),
        (_, [h, m, s]) => (*h, *m, *s),
        _ => return None,
    };
    Some((days.unwrap_or(0) * 24 + hours) * 60 + minutes + seconds.div_ceil(60))
}

/// Memory in megabytes.
fn megabytes(entry: &Entry, problems: &mut Problems) -> Read<u64> {
    let found = match entry.value {
        DeValue::Integer(_) => Some(entry.count(1 << 30, problems)?),
        _ => memory(entry.text(problems)?),
    };
    match found.filter(|megabytes| (64..=1 << 30).contains(megabytes)) {
        Some(megabytes) => Ok(megabytes),
        None => problems.error(
            entry.span,
            "`memory` is not an amount of at least 64 megabytes",
            "write megabytes, such as 2048, or a text such as \"2G\" or \"500M\"",
        ),
    }
}

fn memory(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let value: u64 = digits.parse().ok()?;
    match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" | "M" | "MB" => Some(value),
        "G" | "GB" => value.checked_mul(1024),
        "T" | "TB" => value.checked_mul(1024 * 1024),
        _ => None,
    }
}

/// Options that are passed on. Those that would break the engine are refused.
fn more(entry: &Entry, problems: &mut Problems) -> Read<Vec<String>> {
    let list = entry.list(problems)?;
    let mut found = Vec::new();
    for cell in &list {
        let text = cell.text(problems)?;
        let name = text.split('=').next().unwrap_or(text);
        // A short option may have its value behind it without a space.
        let same = |ours: &str| {
            name == ours || (!ours.starts_with("--") && !name.starts_with("--") && name.starts_with(ours))
        };
        if !text.starts_with('-') {
            return problems.error(
                cell.span,
                format!("`{}` is not an option of `sbatch`", text.escape_debug()),
                "write an option with its value as one text, such as \"--qos=low\"",
            );
        }
        if let Some((ours, key)) = OURS.iter().find(|(ours, _)| same(ours)) {
            let help = match key {
                Some(key) => format!("use the key `{key}` of this table"),
                None => "leave it out: results would be lost or run twice".to_owned(),
            };
            return problems.error(cell.span, format!("`{ours}` is set by the sweep itself"), help);
        }
        found.push(text.to_owned());
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str) -> Result<Settings, Vec<(String, String)>> {
        let mut problems = Problems::default();
        let document = DeTable::parse(text).expect("TOML");
        let (key, value) = document.get_ref().iter().next().expect("a key");
        let entry = Entry {
            key: "slurm",
            key_span: span(key.span()),
            value: value.get_ref(),
            span: span(value.span()),
        };
        match read(&entry, &mut problems) {
            Ok(settings) if problems.0.is_empty() => Ok(settings),
            _ => Err(problems.0.into_iter().map(|p| (p.message, p.help.unwrap_or_default())).collect()),
        }
    }

    #[test]
    fn everything_that_is_left_out_has_a_default() {
        assert_eq!(table("[slurm]\n"), Ok(Settings::default()));
        let settings = table(
            "[slurm]\npartition = \"short,long\"\naccount = \"p1\"\ntime = \"1-2:30\"\nmemory = \"2G\"\ncpus = 4\n\
             sbatch = [\"--qos=low\", \"-C amd\"]\ntask_minutes = 0.5\nmax_array = 10\nmax_queued = 20\npoint_seconds = 3\n",
        )
        .expect("a table");
        assert_eq!((settings.time_minutes, settings.memory_mb, settings.cpus), (Some(1590), 2048, 4));
        assert_eq!((settings.max_array, settings.max_queued), (Some(10), 20));
        assert_eq!(settings.sbatch, ["--qos=low", "-C amd"]);
    }

    #[test]
    fn times_are_read_as_slurm_reads_them() {
        for (text, minutes) in
            [("90", 90), ("90:30", 91), ("1:30:00", 90), ("2-0", 2880), ("1-1:1", 1501), ("1-1:1:1", 1502)]
        {
            assert_eq!(limit(text), Some(minutes), "{text}");
        }
        for text in ["", "a", "1:2:3:4", "1-", "-1", "1-2-3", "99999999999999999999"] {
            assert_eq!(limit(text), None, "{text}");
        }
    }

    #[test]
    fn mistakes_are_told_with_the_nearest_key() {
        for (text, message, help) in [
            ("partiton = \"x\"", "has no key `partiton`", "did you mean `partition`?"),
            ("max_arrays = 3", "has no key `max_arrays`", "did you mean `max_array`?"),
            ("task_minute = 3", "has no key `task_minute`", "did you mean `task_minutes`?"),
            ("mem = \"2G\"", "has no key `mem`", "memory"),
            ("partition = 3", "`partition` has to be a text", "\"name\""),
            ("partition = \"a b\"", "`a b` is not a valid partition", "without spaces"),
            ("time = \"soon\"", "not a time limit", "\"1:30:00\""),
            ("time = 0", "not a time limit", "minutes"),
            ("memory = \"lots\"", "not an amount", "\"2G\""),
            ("memory = 1", "at least 64 megabytes", "2048"),
            ("cpus = 0", "invalid cpus = 0", "1–1024"),
            ("cpus = 1.5", "`cpus` has to be a whole number", "5"),
            ("max_queued = -1", "-1", "0 to"),
            ("task_minutes = 0", "invalid task_minutes = 0", "0.001–10000"),
            ("task_minutes = nan", "invalid task_minutes = NaN", "0.001–"),
            ("sbatch = \"--qos=low\"", "has to be a list", "[1, 2]"),
            ("sbatch = [\"qos=low\"]", "not an option of `sbatch`", "--qos=low"),
            ("sbatch = [\"--array=1-5\"]", "`--array` is set by the sweep itself", "run twice"),
            ("sbatch = [\"-pshort\"]", "`-p` is set by the sweep itself", "`partition`"),
            ("sbatch = [\"--mem=4G\"]", "`--mem` is set", "`memory`"),
        ] {
            let found = table(&format!("[slurm]\n{text}\n")).expect_err(text);
            assert!(
                found.iter().any(|(told, advice)| told.contains(message) && advice.contains(help)),
                "{text}: {found:?}"
            );
        }
        assert!(table("slurm = 3").expect_err("no table")[0].0.contains("has to be a table"));
        assert_eq!(table("[slurm]\ncpu = 3\ntime = \"x\"\nmemory = []\n").expect_err("three").len(), 3);
    }
}
