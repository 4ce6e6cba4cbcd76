// SPDX-License-Identifier: MIT OR Apache-2.0
//! From TOML text to a [`Sweep`]. All that is wrong is reported at once, each with its line and advice.

use toml::de::{DeTable, DeValue};
use warpwatt_base::Span;
use warpwatt_config::Config;
use warpwatt_ptx::Diagnostic;
use warpwatt_workloads::Size;

use super::keys::SWEEP;
use crate::args::GpuArgs;
use crate::exit::{Failure, UsageProblem};
use crate::gpu::{Machine, apply_told};
use crate::launch::table::{Entry, Problems, Read, Table, shorten, span};
use crate::list::find_workload;
use crate::slurm::{Settings, settings};
use crate::technique;

/// Most points that a sweep may have: a slip of the pen should not plan for minutes.
pub const MOST_POINTS: usize = 1_000_000;

/// What a sweep file asks for.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Sweep {
    pub name: Option<String>,
    pub gpus: Vec<String>,
    pub technology: String,
    pub subjects: Vec<Subject>,
    pub seeds: Vec<u64>,
    /// As for `--with`; an empty one is none.
    pub techniques: Vec<Vec<String>>,
    /// Keys with their values, in the order of the file.
    pub parameters: Vec<(String, Vec<String>)>,
    /// What tasks may use with `--engine slurm`.
    pub slurm: Option<Settings>,
}

/// What runs in every configuration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Subject {
    Workload { name: String, size: Size },
    Program { words: Vec<String>, files: Vec<String> },
}

/// Reads a sweep file. On failure, the diagnostics point into `text`.
pub fn read(text: &str) -> Result<Sweep, Vec<Diagnostic>> {
    let mut problems = Problems::default();
    let sweep = match DeTable::parse(text) {
        Ok(table) => file(table.get_ref(), &mut problems),
        Err(error) => {
            let at = error.span().map_or(Span::default(), span);
            problems.error(at, error.message(), "the file has to be TOML; docs/sweeps.md has examples")
        }
    };
    problems.0.iter_mut().for_each(|problem| problem.code = "sweep-file");
    match sweep {
        Ok(sweep) if problems.0.is_empty() => Ok(sweep),
        _ => Err(problems.0),
    }
}

fn file(table: &DeTable, problems: &mut Problems) -> Read<Sweep> {
    let top = Table::new(&SWEEP, table, Span::default(), problems);
    let text = |key: &str, problems: &mut Problems| {
        Ok(top.optional(key, problems, |entry, p| entry.text(p))?.map(str::to_owned))
    };
    let name = text("name", problems)?;
    let gpus = match top.get("gpu") {
        Some(entry) if entry.value.as_str().is_none() => texts(entry, problems)?,
        _ => vec![text("gpu", problems)?.unwrap_or_else(|| "gtx480".to_owned())],
    };
    let technology = text("technology", problems)?.unwrap_or_else(|| warpwatt_energy::DEFAULT.to_owned());
    let size = match top.get("size") {
        Some(entry) => parse_size(entry.text(problems)?, entry, problems)?,
        None => Size::Small,
    };
    let seeds = match top.get("seeds") {
        Some(entry) => {
            let list = entry.list(problems)?;
            not_empty(entry, &list, problems)?;
            let seeds: Vec<_> = list.iter().map(|seed| seed.count(u64::MAX, problems)).collect();
            seeds.into_iter().collect::<Result<_, _>>()?
        }
        None => vec![1],
    };
    let subjects = subjects(&top, size, problems);
    let techniques = match top.get("techniques") {
        Some(entry) => sets(entry, problems)?,
        None => vec![Vec::new()],
    };
    let gpu = machine(&gpus, &top, problems);
    let parameters = match top.get("parameters") {
        Some(entry) => parameters(entry, gpu.as_ref().map(|machine| &machine.config), problems)?,
        None => Vec::new(),
    };
    let slurm = top.optional("slurm", problems, settings::read)?;
    Ok(Sweep { name, gpus, technology, subjects: subjects?, seeds, techniques, parameters, slurm })
}

/// The first GPU, which parameters are tried on.
fn machine(gpus: &[String], top: &Table, problems: &mut Problems) -> Option<Machine> {
    let mut first = None;
    for gpu in gpus {
        match Machine::new(&GpuArgs { gpu: Some(gpu.clone()), ..GpuArgs::default() }) {
            Ok(machine) => drop(first.get_or_insert(machine)),
            Err(failure) => refused(top.get("gpu").map_or(top.at(), |entry| entry.span), failure, problems),
        }
    }
    first
}

fn refused(at: Span, failure: Failure, problems: &mut Problems) {
    let help = failure.help.unwrap_or_else(|| "docs/sweeps.md has examples".to_owned());
    let _: Read<()> = problems.error(at, failure.message, help);
}

fn parse_size(text: &str, entry: &Entry, problems: &mut Problems) -> Read<Size> {
    text.parse().or_else(|error: warpwatt_workloads::UnknownSize| {
        problems.error(entry.span, error.to_string(), "write tiny, small, medium or large")
    })
}

fn not_empty<T>(entry: &Entry, list: &[T], problems: &mut Problems) -> Read<()> {
    match list.is_empty() {
        true => problems.error(
            entry.span,
            format!("`{}` is empty, so that there is nothing to run", shorten(entry.key)),
            "give at least one value, or leave the key out",
        ),
        false => Ok(()),
    }
}

fn texts(entry: &Entry, problems: &mut Problems) -> Read<Vec<String>> {
    let list = entry.list(problems)?;
    not_empty(entry, &list, problems)?;
    let texts: Vec<_> = list.iter().map(|text| text.text(problems).map(str::to_owned)).collect();
    texts.into_iter().collect()
}

fn subjects(top: &Table, size: Size, problems: &mut Problems) -> Read<Vec<Subject>> {
    match (top.get("workloads"), top.get("command")) {
        (Some(workloads), None) => {
            if let Some(files) = top.get("files") {
                return problems.error(
                    files.key_span,
                    "`files` are those of a program, and there is no `command`",
                    "leave `files` out: workloads read none",
                );
            }
            let list = workloads.list(problems)?;
            not_empty(workloads, &list, problems)?;
            let subjects: Vec<_> = list.iter().map(|entry| workload(entry, size, problems)).collect();
            subjects.into_iter().collect()
        }
        (None, Some(command)) => {
            let words = texts(command, problems)?;
            let files = top.optional("files", problems, texts)?.unwrap_or_default();
            Ok(vec![Subject::Program { words, files }])
        }
        (Some(_), Some(command)) => problems.error(
            command.key_span,
            "a sweep has either `workloads` or a `command`",
            "make two sweeps of it",
        ),
        (None, None) => problems.error(
            top.at(),
            "the sweep has nothing to run",
            "add a line such as `workloads = [\"bfs\", \"sgemm\"]` or `command = [\"./program\", \"1000\"]`",
        ),
    }
}

fn workload(entry: &Entry, size: Size, problems: &mut Problems) -> Read<Subject> {
    let text = entry.text(problems)?;
    let (name, size) = match text.split_once('@') {
        Some((name, size)) => (name, parse_size(size, entry, problems)?),
        None => (text, size),
    };
    match find_workload(name) {
        Ok(_) => Ok(Subject::Workload { name: name.to_owned(), size }),
        Err(failure) => problems.error(entry.span, failure.message, failure.help.unwrap_or_default()),
    }
}

/// Sets of techniques. Whether those of a set go together is seen on each GPU.
fn sets(entry: &Entry, problems: &mut Problems) -> Read<Vec<Vec<String>>> {
    let list = entry.list(problems)?;
    not_empty(entry, &list, problems)?;
    let sets: Vec<_> = list.iter().map(|set| one_set(set, problems)).collect();
    sets.into_iter().collect()
}

fn one_set(entry: &Entry, problems: &mut Problems) -> Read<Vec<String>> {
    let texts = match entry.value {
        DeValue::Array(_) => {
            let list = entry.list(problems)?;
            let texts: Vec<_> = list.iter().map(|text| text.text(problems).map(str::to_owned)).collect();
            texts.into_iter().collect::<Result<Vec<_>, _>>()?
        }
        _ => match entry.text(problems)? {
            "none" => Vec::new(),
            text => vec![text.to_owned()],
        },
    };
    let mut found = Vec::new();
    technique::choose(&GpuArgs { with: texts.clone(), ..GpuArgs::default() }, &mut found);
    match found.is_empty() {
        true => Ok(texts),
        false => {
            for UsageProblem { message, help } in found {
                let _: Read<()> = problems.error(entry.span, message, help);
            }
            Err(crate::launch::table::Reported)
        }
    }
}

/// Parameters by key; a key with dots is a table in a table.
fn parameters(
    entry: &Entry,
    config: Option<&Config>,
    problems: &mut Problems,
) -> Read<Vec<(String, Vec<String>)>> {
    let Some(table) = entry.value.as_table() else {
        return problems.error(
            entry.span,
            "`parameters` has to be a table",
            "write `[parameters]` on a line, and below it lines such as `sm.l1d.mshrs = [16, 32]`",
        );
    };
    let mut found = Vec::new();
    flatten("", table, config, &mut found, problems);
    Ok(found)
}

fn flatten(
    prefix: &str,
    table: &DeTable,
    config: Option<&Config>,
    found: &mut Vec<(String, Vec<String>)>,
    problems: &mut Problems,
) {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    for (key, value) in entries {
        let name: &str = key.get_ref();
        let path = if prefix.is_empty() { name.to_owned() } else { format!("{prefix}.{name}") };
        if let Some(inner) = value.get_ref().as_table() {
            flatten(&path, inner, config, found, problems);
            continue;
        }
        let entry = Entry {
            key: &path,
            key_span: span(key.span()),
            value: value.get_ref(),
            span: span(value.span()),
        };
        if let Ok(values) = values(&entry, config, problems) {
            found.push((path, values));
        }
    }
}

/// The values of a parameter, each tried on the first GPU.
fn values(entry: &Entry, config: Option<&Config>, problems: &mut Problems) -> Read<Vec<String>> {
    let cells = match entry.value {
        DeValue::Array(list) => {
            not_empty(entry, list, problems)?;
            list.iter().map(|value| Entry::new(entry.key, value)).collect()
        }
        _ => vec![Entry { key: entry.key, key_span: entry.key_span, value: entry.value, span: entry.span }],
    };
    let mut texts = Vec::new();
    for cell in cells {
        let text = match cell.value {
            DeValue::String(text) => text.to_string(),
            DeValue::Integer(number) => number.to_string(),
            DeValue::Float(number) => number.to_string(),
            DeValue::Boolean(on) => if *on { "on" } else { "off" }.to_owned(),
            _ => {
                return problems.error(
                    cell.span,
                    format!(
                        "a value of `{}` has to be a text, a number, or true or false",
                        shorten(cell.key)
                    ),
                    "write values as [16, 32] or [\"gto\", \"lrr\"]",
                );
            }
        };
        let setting = format!("{}={text}", cell.key);
        let mut told = Vec::new();
        match technique::setting(&setting) {
            Some(_) => {
                let args = GpuArgs { set: vec![setting], ..GpuArgs::default() };
                technique::choose(&args, &mut told);
            }
            None => told.extend(config.and_then(|config| apply_told(&mut config.clone(), &setting).err())),
        }
        // One value of a parameter that is wrong is enough to say so.
        if let Some(UsageProblem { message, help }) = told.into_iter().next() {
            return problems.error(entry.key_span, message, help);
        }
        texts.push(text);
    }
    Ok(texts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> Vec<(String, String)> {
        let problems = read(text).expect_err("it is refused");
        problems.into_iter().map(|problem| (problem.message, problem.help.unwrap_or_default())).collect()
    }

    #[test]
    fn a_sweep_is_read_with_dotted_keys_in_the_order_of_the_file() {
        let text = "workloads = [\"bfs\", \"sgemm@tiny\"]\nseeds = [1, 2]\ntechniques = [\"none\", [\"drowsy\", \"dwl\"]]\n\
                    [parameters]\nsm.scheduler = [\"gto\", \"lrr\"]\n\"sm.l1d.mshrs\" = 64\ntechnique.drowsy.region = [1, 16]\n";
        let sweep = read(text).expect("it is a sweep file");
        assert_eq!((sweep.gpus, sweep.seeds), (vec!["gtx480".to_owned()], vec![1, 2]));
        assert_eq!(sweep.subjects[1], Subject::Workload { name: "sgemm".to_owned(), size: Size::Tiny });
        assert_eq!(sweep.techniques, [vec![], vec!["drowsy".to_owned(), "dwl".to_owned()]]);
        let keys: Vec<_> =
            sweep.parameters.iter().map(|(key, values)| (key.as_str(), values.len())).collect();
        assert_eq!(keys, [("sm.scheduler", 2), ("sm.l1d.mshrs", 1), ("technique.drowsy.region", 2)]);
    }

    #[test]
    fn a_program_can_be_swept() {
        let sweep =
            read("command = [\"./saxpy\", \"1000\"]\nfiles = [\"data.bin\"]").expect("it is a sweep file");
        let words = vec!["./saxpy".to_owned(), "1000".to_owned()];
        assert_eq!(sweep.subjects, [Subject::Program { words, files: vec!["data.bin".to_owned()] }]);
    }

    #[test]
    fn what_is_wrong_is_told_with_the_nearest_key() {
        for (text, message, help) in [
            ("workload = [\"bfs\"]", "has no key `workload`", "did you mean `workloads`?"),
            ("workloads = [\"bsf\"]", "there is no workload `bsf`", "did you mean `bfs`?"),
            ("workloads = [\"bfs@huge\"]", "huge", "tiny, small, medium or large"),
            ("workloads = []", "`workloads` is empty", "at least one"),
            ("size = \"tiny\"", "the sweep has nothing to run", "workloads ="),
            ("workloads = [\"bfs\"]\ncommand = [\"x\"]", "either `workloads` or a `command`", "two sweeps"),
            ("workloads = [\"bfs\"]\n[parameters]\nsm.wraps = [1]", "sm.wraps", "sm.warps"),
            ("workloads = [\"bfs\"]\n[parameters]\nsm.warps = [\"many\"]", "many", ""),
            (
                "workloads = [\"bfs\"]\n[parameters]\nsm.warps = [[1]]",
                "has to be a text, a number",
                "[16, 32]",
            ),
            ("workloads = [\"bfs\"]\ntechniques = [\"drowzy\"]", "there is no technique `drowzy`", "drowsy"),
            ("workloads = [\"bfs\"]\n[parameters]\ntechnique.drowsy.regon = [1]", "regon", "region"),
            ("workloads = [\"bfs\"]\ngpu = \"gtx48\"", "gtx48", ""),
            ("workloads = [\"bfs\"]\nseeds = [-1]", "-1", "0 to"),
            ("workloads = [\"bfs\"]\nparameters = 3", "has to be a table", "[parameters]"),
            (
                "workloads = [\"bfs\"]\n[slurm]\npartiton = \"x\"",
                "no key `partiton`",
                "did you mean `partition`?",
            ),
            ("workloads = [\"bfs\"]\n[slrum]\ncpus = 2", "no key `slrum`", "did you mean `slurm`?"),
            ("workloads = ", "", "has to be TOML"),
        ] {
            let found = refused(text);
            assert!(
                found.iter().any(|(told, advice)| told.contains(message) && advice.contains(help)),
                "{text}: {found:?}"
            );
        }
    }

    #[test]
    fn all_mistakes_are_told_at_once() {
        assert_eq!(
            refused("workloads = [\"bsf\", \"sgem\"]\nsizes = 3\n[parameters]\nsm.wraps = 1").len(),
            4
        );
    }
}
