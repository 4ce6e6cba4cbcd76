// SPDX-License-Identifier: MIT OR Apache-2.0
//! Technology files: TOML with a list of structures. A file may inherit a built-in one and list what differs.

use std::ops::Range;
use std::sync::Arc;

use warpwatt_base::suggest;

use crate::builtin::{FILES, TECHNOLOGIES};
use crate::error::{Error, FilePosition, Problem, shortened};
use crate::technology::{Die, File, Silicon, Structure, Text};

/// Energies and powers of a GPU's structures.
#[derive(Clone, PartialEq, Debug)]
pub struct Technology {
    pub name: String,
    /// One line.
    pub description: String,
    /// The built-in technology that it starts from.
    pub inherits: Option<String>,
    /// The silicon that its figures are for; without it they hold for every clock, node and temperature.
    pub silicon: Option<(Origin, Silicon)>,
    /// The voltage is constant when clocks change.
    pub pinned: bool,
    pub die: Option<(Origin, Die)>,
    /// Each structure with the name of its file, for messages.
    pub structures: Vec<(Origin, Structure)>,
}

/// The file that something is in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Origin {
    pub file: String,
    pub text: Arc<str>,
}

/// The schema of `warpwatt.technology/1` as a JSON document.
pub fn technology_schema() -> serde_json::Value {
    let mut schema = schemars::schema_for!(File).to_value();
    schema["$id"] = "warpwatt.technology/1".into();
    schema["title"] = "Technology".into();
    schema
}

impl Technology {
    /// A built-in technology.
    pub fn builtin(name: &str) -> Result<Technology, Vec<Error>> {
        match TECHNOLOGIES.iter().position(|technology| technology.name == name) {
            Some(index) => read(TECHNOLOGIES[index].text, name, index),
            None => Err(vec![unknown(name).into()]),
        }
    }

    /// Reads a technology file. Without a `name`, it has the name of the file.
    pub fn read(text: &str, file_name: &str) -> Result<Technology, Vec<Error>> {
        read(text, file_name, TECHNOLOGIES.len())
    }

    /// The structure of that name.
    pub fn structure(&self, name: &str) -> Option<&Structure> {
        self.structures.iter().map(|(_, structure)| structure).find(|structure| structure.name.value == name)
    }
}

fn unknown(name: &str) -> Problem {
    let names: Vec<_> = TECHNOLOGIES.iter().map(|technology| technology.name).collect();
    Problem::UnknownTechnology { name: shortened(name), nearest: suggest::nearest(name, &names) }
}

/// A built-in technology inherits from those before it, so that none inherits from itself; `known` of them are to be had.
fn read(text: &str, file_name: &str, known: usize) -> Result<Technology, Vec<Error>> {
    let origin = Origin { file: file_name.to_owned(), text: Arc::from(text) };
    let file = match TECHNOLOGIES.iter().position(|technology| technology.text == text) {
        Some(index) => FILES[index].clone(),
        None => toml::from_str(text).map_err(|error| {
            let message = error.message().lines().collect::<Vec<_>>().join(" ");
            vec![origin.error(error.span().unwrap_or(0..0), Problem::Syntax { message })]
        })?,
    };
    let stem = file_name.rsplit(['/', '\\']).next().unwrap_or_default();
    let stem = stem.strip_suffix(".toml").unwrap_or(stem);
    let base = match &file.inherits {
        None => None,
        Some(name) => {
            match TECHNOLOGIES[..known].iter().position(|technology| technology.name == name.value) {
                Some(index) => Some(read(TECHNOLOGIES[index].text, &name.value, index)?),
                None => return Err(vec![origin.error(name.span.clone(), unknown(&name.value))]),
            }
        }
    };
    let (silicon, pinned, die, mut structures) = match base {
        None => (None, false, None, Vec::new()),
        Some(base) => (base.silicon, base.pinned, base.die, base.structures),
    };
    let inherited = structures.len();
    let mut errors = Vec::new();
    for structure in file.structure.into_owned() {
        let same = |(_, other): &(Origin, Structure)| other.name.value == structure.name.value;
        match structures.iter().position(same) {
            Some(place) if place < inherited => structures[place] = (origin.clone(), structure),
            Some(_) => {
                let message = format!("duplicate structure `{}`", shortened(&structure.name.value));
                let help = "give them different names".to_owned();
                errors.push(origin.error(structure.name.span.clone(), Problem::Bad { message, help }));
            }
            None => structures.push((origin.clone(), structure)),
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    Ok(Technology {
        name: file.name.map_or_else(|| stem.to_owned(), Text::into_owned),
        description: file.description.into_owned(),
        inherits: file.inherits.map(|name| name.value.into_owned()),
        silicon: file.silicon.map(|silicon| (origin.clone(), silicon)).or(silicon),
        pinned: file.pinned_voltage.unwrap_or(pinned),
        die: file.die.map(|die| (origin, die)).or(die),
        structures,
    })
}

impl Origin {
    /// An error at a place of this file.
    pub(crate) fn error(&self, at: Range<usize>, problem: Problem) -> Error {
        let before = &self.text.as_bytes()[..at.start.min(self.text.len())];
        let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
        let begin = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1);
        let column = String::from_utf8_lossy(&before[begin..]).chars().count() + 1;
        let place = FilePosition {
            file: self.file.clone(),
            line: u32::try_from(line).unwrap_or(u32::MAX),
            column: u32::try_from(column).unwrap_or(u32::MAX),
        };
        Error { place: Some(place), problem }
    }
}
