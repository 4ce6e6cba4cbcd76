// SPDX-License-Identifier: MIT OR Apache-2.0
//! GPU files: TOML whose tables are the sections of parameters. A file names the GPU that it inherits from, a preset or another file, and lists
//! what differs. Presets are such files too. All errors are reported at once, each with its line.

use std::collections::BTreeMap;
use std::ops::Range;

use toml::de::{DeTable, DeValue};
use warpwatt_base::suggest;

use crate::error::shortened;
use crate::reasons::{self, Reason};
use crate::sizes::Size;
use crate::{Config, Error, FilePosition, MEMORIES, PRESETS, Parameter, ParameterKind, Problem, validate};

/// What a file inherits from unless it says otherwise: the defaults of the declarations.
pub(crate) const ROOT: &str = "gtx480";

/// A GPU with a name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GpuFile {
    pub name: String,
    /// One line.
    pub description: String,
    /// The preset or file that it lists differences from.
    pub inherits: String,
    pub config: Config,
    /// Why parameters have their values, as far as this file and those that it inherits from say so.
    pub reasons: BTreeMap<&'static str, Reason>,
    /// Why the parameters that the file does not list are those of the GPU that it inherits from.
    pub rest: Option<String>,
}

impl Config {
    /// Reads a GPU file. `file_name` is for messages.
    pub fn load(text: &str, file_name: &str) -> Result<Config, Vec<Error>> {
        GpuFile::read(text, file_name).map(|file| file.config)
    }
}

impl GpuFile {
    /// A built-in GPU.
    pub fn preset(name: &str) -> Result<GpuFile, Vec<Error>> {
        match PRESETS.iter().position(|preset| preset.name == name) {
            Some(index) => read(PRESETS[index].text, name, Parents::Presets(index)),
            None => Err(vec![unknown_preset(name).into()]),
        }
    }

    /// Reads a GPU file that inherits from a preset. Without a `name`, it has the name of the file.
    pub fn read(text: &str, file_name: &str) -> Result<GpuFile, Vec<Error>> {
        GpuFile::read_with(text, file_name, &|_| {
            Err("only built-in GPUs can be inherited from here".to_owned())
        })
    }

    /// Reads a GPU file that may inherit from another file, whose text `load` returns by its path, or the reason for failure.
    pub fn read_with(text: &str, file_name: &str, load: Load) -> Result<GpuFile, Vec<Error>> {
        read_file(text, file_name, load, 0)
    }
}

/// How the text of a file that is inherited from is found, by its path.
pub type Load<'l> = &'l dyn Fn(&str) -> Result<String, String>;

/// Files that inherit from each other, at most: more is a circle.
const GENERATIONS: u32 = 32;

fn read_file(text: &str, file_name: &str, load: Load, generation: u32) -> Result<GpuFile, Vec<Error>> {
    if !DeTable::parse(text).is_ok_and(|table| table.get_ref().is_empty()) {
        return read(text, file_name, Parents::Files { load, generation });
    }
    let mut reader = Reader::new(text, file_name);
    let message = "the file is empty; `inherits = \"gtx480\"` makes a copy of that GPU to change".to_owned();
    reader.report(0..0, Problem::Syntax { message });
    Err(reader.finish())
}

/// What a file may inherit from.
#[derive(Clone, Copy)]
enum Parents<'l> {
    /// A preset: the presets before it, so that none inherits from itself.
    Presets(usize),
    /// Any other file: all presets, and files.
    Files { load: Load<'l>, generation: u32 },
}

impl Parents<'_> {
    /// The GPU that is inherited from; `file_name` is the file that names it.
    fn find(self, wanted: &str, file_name: &str) -> Result<GpuFile, ParentError> {
        let known = if let Parents::Presets(known) = self { known } else { PRESETS.len() };
        if let Some(index) = PRESETS[..known].iter().position(|preset| preset.name == wanted) {
            return read(PRESETS[index].text, wanted, Parents::Presets(index)).map_err(ParentError::Inside);
        }
        let Parents::Files { load, generation } = self else {
            return Err(ParentError::Here(unknown_preset(wanted)));
        };
        if !wanted.ends_with(".toml") && !wanted.contains(['/', '\\']) {
            return Err(ParentError::Here(unknown_preset(wanted)));
        }
        if generation >= GENERATIONS {
            return Err(ParentError::Here(Problem::BadParent {
                message: format!("{file_name} inherits from itself through {}", shortened(wanted)),
                help: "let one of the files inherit from a built-in GPU".to_owned(),
            }));
        }
        let path = match file_name.rfind(['/', '\\']) {
            Some(end) if !wanted.starts_with(['/', '\\']) => format!("{}{wanted}", &file_name[..=end]),
            _ => wanted.to_owned(),
        };
        let text = load(&path).map_err(|reason| {
            ParentError::Here(Problem::BadParent {
                message: format!("cannot read {}: {reason}", shortened(&path)),
                help:
                    "the path is relative to the file that inherits; a built-in GPU is named without `.toml`"
                        .to_owned(),
            })
        })?;
        read_file(&text, &path, load, generation + 1).map_err(ParentError::Inside)
    }
}

/// What is wrong with a GPU that is inherited from.
enum ParentError {
    /// It cannot be had.
    Here(Problem),
    /// There are errors in its own file.
    Inside(Vec<Error>),
}

fn unknown_preset(name: &str) -> Problem {
    let names: Vec<_> = PRESETS.iter().map(|preset| preset.name).collect();
    Problem::UnknownPreset { name: shortened(name), nearest: suggest::nearest(name, &names) }
}

fn read(text: &str, file_name: &str, parents: Parents) -> Result<GpuFile, Vec<Error>> {
    let mut reader = Reader::new(text, file_name);
    let table = match DeTable::parse(text) {
        Ok(table) => table,
        Err(error) => {
            reader.report(
                error.span().unwrap_or(0..0),
                Problem::Syntax { message: error.message().to_owned() },
            );
            return Err(reader.finish());
        }
    };
    let table = table.get_ref();
    let stem = file_name.rsplit(['/', '\\']).next().unwrap_or_default();
    let stem = stem.strip_suffix(".toml").unwrap_or(stem);
    let name = reader.header(table, "name").unwrap_or_else(|| stem.to_owned());
    let description = reader.header(table, "description").unwrap_or_default();
    let inherits = reader.header(table, "inherits");
    let rest = reader.header(table, "rest");
    let mut config = Config::default();
    reader.gpu.clone_from(&name);
    if let Some(wanted) = &inherits {
        match parents.find(wanted, file_name) {
            Ok(parent) => (config, reader.reasons) = (parent.config, parent.reasons),
            Err(ParentError::Inside(errors)) => return Err(errors),
            Err(ParentError::Here(problem)) => reader.report(span_of(table, "inherits"), problem),
        }
    }
    if let Some(wanted) = reader.header(table, "memory") {
        match memory(&wanted, &mut config) {
            Ok(reasons) => reader.reasons.extend(reasons),
            Err(problem) => reader.report(span_of(table, "memory"), problem),
        }
    }
    reader.section("", table, &mut config);
    reader.sizes(&mut config);
    if reader.errors.is_empty()
        && let Err(broken) = validate(&config)
    {
        for Error { problem, .. } in broken {
            let at = match &problem {
                Problem::Rule { keys, .. } => {
                    reader.set.iter().find(|(key, _)| keys.contains(key)).map(|(_, at)| at.clone())
                }
                _ => None,
            };
            reader.report(at.unwrap_or(0..0), problem);
        }
    }
    if !reader.errors.is_empty() {
        return Err(reader.finish());
    }
    let inherits = inherits.unwrap_or_else(|| ROOT.to_owned());
    Ok(GpuFile { name, description, inherits, config, reasons: reader.reasons, rest })
}

/// Gives a GPU the clock, geometry and timing of a memory, and the reasons for them.
fn memory(name: &str, config: &mut Config) -> Result<BTreeMap<&'static str, Reason>, Problem> {
    let Some(memory) = MEMORIES.iter().find(|memory| memory.name == name) else {
        let names: Vec<_> = MEMORIES.iter().map(|memory| memory.name).collect();
        let nearest = suggest::nearest(name, &names);
        return Err(Problem::UnknownMemory { name: shortened(name), nearest });
    };
    let mut reader = Reader::new(memory.text, memory.name);
    reader.gpu = memory.name.to_owned();
    let table = DeTable::parse(memory.text)
        .map_err(|error| Problem::Syntax { message: error.message().to_owned() })?;
    reader.section("", table.get_ref(), config);
    match reader.errors.pop() {
        Some((_, error)) => Err(error.problem),
        None => Ok(reader.reasons),
    }
}

fn span_of(table: &DeTable, key: &str) -> Range<usize> {
    table.iter().find(|(name, _)| name.get_ref() == key).map_or(0..0, |(_, value)| value.span())
}

const HEADERS: [&str; 5] = ["name", "description", "inherits", "memory", "rest"];

struct Reader<'t> {
    text: &'t str,
    file_name: &'t str,
    errors: Vec<(usize, Error)>,
    /// Sizes of caches, which are applied after the parameters that they follow from.
    later: Vec<(&'static Size, String, Range<usize>)>,
    /// Parameters that the file gives a value to, and where.
    set: Vec<(&'static str, Range<usize>)>,
    /// What the GPU is called, and why its parameters have their values.
    gpu: String,
    reasons: BTreeMap<&'static str, Reason>,
}

impl<'t> Reader<'t> {
    fn new(text: &'t str, file_name: &'t str) -> Reader<'t> {
        Reader {
            text,
            file_name,
            errors: Vec::new(),
            later: Vec::new(),
            set: Vec::new(),
            gpu: String::new(),
            reasons: BTreeMap::new(),
        }
    }

    fn report(&mut self, at: Range<usize>, problem: Problem) {
        let before = &self.text.as_bytes()[..at.start.min(self.text.len())];
        let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
        let begin = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1);
        let column = String::from_utf8_lossy(&before[begin..]).chars().count() + 1;
        let place = FilePosition {
            file: self.file_name.to_owned(),
            line: u32::try_from(line).unwrap_or(u32::MAX),
            column: u32::try_from(column).unwrap_or(u32::MAX),
        };
        self.errors.push((at.start, Error { place: Some(place), problem }));
    }

    /// The errors, from the top of the file to its end.
    fn finish(mut self) -> Vec<Error> {
        self.errors.sort_by_key(|(at, _)| *at);
        self.errors.into_iter().map(|(_, error)| error).collect()
    }

    /// A line of text at the top of the file.
    fn header(&mut self, table: &DeTable, key: &'static str) -> Option<String> {
        let (_, value) = table.iter().find(|(name, _)| name.get_ref() == key)?;
        let message = match value.get_ref().as_str() {
            Some(text) if text.trim().is_empty() => "is empty".to_owned(),
            Some(text) if text.contains(char::is_control) => "has more than one line".to_owned(),
            Some(text) => return Some(text.trim().to_owned()),
            None => format!("must be a string in quotes, not {}", written(value.get_ref())),
        };
        self.report(value.span(), Problem::BadHeader { key, message });
        None
    }

    fn section(&mut self, prefix: &str, table: &DeTable, config: &mut Config) {
        for (name, value) in table {
            let name_text: &str = name.get_ref();
            if prefix.is_empty() && HEADERS.contains(&name_text) {
                continue;
            }
            let key = if prefix.is_empty() { name_text.to_owned() } else { format!("{prefix}.{name_text}") };
            if let Some(parameter) = Config::parameters().iter().find(|parameter| parameter.key == key) {
                self.parameter(parameter, value.get_ref(), value.span(), config);
                continue;
            }
            if let Some(size) = Size::find(&key) {
                self.later.push((size, written(value.get_ref()), value.span()));
                continue;
            }
            let within = |section: &str| {
                section.strip_prefix(&*key).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            };
            let is_section = Config::SECTIONS.iter().any(|section| within(section.key));
            match value.get_ref() {
                DeValue::Table(inner) if is_section => self.section(&key, inner, config),
                // A misspelt section: its parameters show which one was meant.
                DeValue::Table(inner) if !inner.is_empty() && prefix.matches('.').count() < 2 => {
                    self.section(&key, inner, config);
                }
                _ if is_section => self.report(name.span(), Problem::NotASection { section: key }),
                _ => self.report(name.span(), Problem::unknown_key(&key)),
            }
        }
    }

    fn sizes(&mut self, config: &mut Config) {
        for (size, value, at) in std::mem::take(&mut self.later) {
            let problem = if self.set.iter().any(|(key, _)| *key == size.sets) {
                Err(Problem::BadSize {
                    key: size.key,
                    value,
                    help: format!(
                        "the file sets {} too, from which {} follows: leave one of them out",
                        size.sets, size.key
                    ),
                })
            } else {
                size.apply(config, value.trim_matches('"'))
            };
            match problem {
                Ok(()) => {
                    self.reasons.remove(size.sets);
                    self.set.push((size.sets, at));
                }
                Err(problem) => self.report(at, problem),
            }
        }
    }

    fn parameter(
        &mut self,
        parameter: &'static Parameter,
        value: &DeValue,
        at: Range<usize>,
        config: &mut Config,
    ) {
        let DeValue::Table(table) = value else {
            // The reason belongs to the previous value.
            self.reasons.remove(parameter.key);
            return self.value(parameter, value, at, config);
        };
        match reasons::read(table) {
            Ok((value, basis, text)) => {
                if let Some(value) = value {
                    self.value(parameter, value.get_ref(), value.span(), config);
                }
                self.reasons.insert(parameter.key, Reason { basis, text, gpu: self.gpu.clone() });
            }
            Err((place, message)) => {
                let place = if place.is_empty() { at } else { place };
                self.report(place, Problem::BadReason { key: parameter.key, message });
            }
        }
    }

    fn value(
        &mut self,
        parameter: &'static Parameter,
        value: &DeValue,
        at: Range<usize>,
        config: &mut Config,
    ) {
        let text = match (parameter.kind, value) {
            (ParameterKind::Integer { .. }, DeValue::Integer(number)) => {
                i128::from_str_radix(number.as_str(), number.radix()).ok().map(|number| number.to_string())
            }
            (ParameterKind::Switch, DeValue::Boolean(switch)) => Some(switch.to_string()),
            (ParameterKind::Choice(_) | ParameterKind::File, DeValue::String(word)) => Some(word.to_string()),
            _ => None,
        };
        let taken = text.is_some_and(|text| config.set(parameter.key, &text).is_ok());
        if taken {
            self.set.push((parameter.key, at));
        } else {
            self.report(at, Problem::bad_value(parameter, &written(value)));
        }
    }
}

/// A value as written in the file, or its type.
fn written(value: &DeValue) -> String {
    match value {
        DeValue::String(text) => format!("\"{}\"", shortened(text)),
        DeValue::Integer(number) => match i128::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) => number.to_string(),
            Err(_) => number.as_str().to_owned(),
        },
        DeValue::Float(number) => number.as_str().to_owned(),
        DeValue::Boolean(switch) => switch.to_string(),
        DeValue::Datetime(_) => "a date".to_owned(),
        DeValue::Array(_) => "a list".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
    }
}
