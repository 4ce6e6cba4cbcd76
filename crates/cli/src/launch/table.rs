// SPDX-License-Identifier: MIT OR Apache-2.0
//! A TOML table under examination: keys are taken by name and type; what is wrong becomes a diagnostic with its place.

use toml::Spanned;
use toml::de::{DeTable, DeValue};
use warpwatt_base::Span;
use warpwatt_ptx::{Diagnostic, suggest};

use super::content::Number;
use super::keys::Section;

/// The value was missing or wrong, as a diagnostic reports.
#[derive(Debug)]
pub(crate) struct Reported;

pub(crate) type Read<T> = Result<T, Reported>;

pub(crate) fn span(range: std::ops::Range<usize>) -> Span {
    Span::new(range.start as u32, range.end as u32)
}

pub(crate) struct Table<'a> {
    section: &'static str,
    at: Span,
    entries: Vec<Entry<'a>>,
}

pub(crate) struct Entry<'a> {
    pub key: &'a str,
    pub key_span: Span,
    pub value: &'a DeValue<'a>,
    pub span: Span,
}

/// Collects what is wrong with a text.
#[derive(Default)]
pub(crate) struct Problems(pub Vec<Diagnostic>);

impl Problems {
    pub fn error<T>(&mut self, at: Span, message: impl Into<String>, help: impl Into<String>) -> Read<T> {
        self.0.push(Diagnostic::error("launch-file", at, message).with_help(help));
        Err(Reported)
    }
}

impl<'a> Table<'a> {
    /// Examines a table: keys that its section does not have are reported at once.
    pub fn new(section: &Section, table: &'a DeTable<'a>, at: Span, problems: &mut Problems) -> Table<'a> {
        let known: Vec<_> = section.keys.iter().map(|key| key.name).collect();
        let mut entries = Vec::new();
        for (key, value) in table {
            let name: &str = key.get_ref();
            if known.contains(&name) {
                entries.push(Entry {
                    key: name,
                    key_span: span(key.span()),
                    value: value.get_ref(),
                    span: span(value.span()),
                });
                continue;
            }
            let message = format!("a {} has no key `{}`", section.name, shorten(name));
            let help = match suggest::nearest(name, &known) {
                Some(nearest) => format!("did you mean `{nearest}`?"),
                None => format!("it may have {}", known.join(", ")),
            };
            let _: Read<()> = problems.error(span(key.span()), message, help);
        }
        Table { section: section.name, at, entries }
    }

    pub fn at(&self) -> Span {
        self.at
    }

    pub fn get(&self, key: &str) -> Option<&Entry<'a>> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    /// The value of a key that has to be there.
    pub fn need(&self, key: &str, problems: &mut Problems) -> Read<&Entry<'a>> {
        match self.get(key) {
            Some(entry) => Ok(entry),
            None => problems.error(
                self.at,
                format!("this {} has no `{key}`", self.section),
                format!("add a line `{key} = ...` to it"),
            ),
        }
    }

    pub fn optional<T>(
        &self,
        key: &str,
        problems: &mut Problems,
        read: impl FnOnce(&Entry<'a>, &mut Problems) -> Read<T>,
    ) -> Read<Option<T>> {
        self.get(key).map(|entry| read(entry, problems)).transpose()
    }
}

impl<'a> Entry<'a> {
    pub fn new(key: &'a str, value: &'a Spanned<DeValue<'a>>) -> Entry<'a> {
        Entry { key, key_span: span(value.span()), value: value.get_ref(), span: span(value.span()) }
    }

    fn wrong<T>(&self, wanted: &str, problems: &mut Problems) -> Read<T> {
        let message = format!("`{}` has to be {wanted}, not {}", self.key, kind_of(self.value));
        problems.error(self.span, message, format!("write {}", example(wanted)))
    }

    pub fn text(&self, problems: &mut Problems) -> Read<&'a str> {
        match self.value.as_str() {
            Some(text) => Ok(text),
            None => self.wrong("a text in quotes", problems),
        }
    }

    pub fn switch(&self, problems: &mut Problems) -> Read<bool> {
        match self.value.as_bool() {
            Some(value) => Ok(value),
            None => self.wrong("true or false", problems),
        }
    }

    pub fn number(&self, problems: &mut Problems) -> Read<Number> {
        match number(self.value) {
            Some(number) => Ok(number),
            None => self.wrong("a number", problems),
        }
    }

    pub fn real(&self, problems: &mut Problems) -> Read<f64> {
        self.number(problems).map(Number::as_f64)
    }

    /// A whole number from 0 to `most`.
    pub fn count(&self, most: u64, problems: &mut Problems) -> Read<u64> {
        match number(self.value) {
            Some(Number::Int(value)) if (0..=i128::from(most)).contains(&value) => Ok(value as u64),
            Some(Number::Int(value)) => {
                let message = format!("invalid {} = {value}", self.key);
                problems.error(self.span, message, format!("allowed: 0 to {most}"))
            }
            _ => self.wrong("a whole number", problems),
        }
    }

    pub fn list(&self, problems: &mut Problems) -> Read<Vec<Entry<'a>>> {
        match self.value.as_array() {
            Some(list) => Ok(list.iter().map(|value| Entry::new(self.key, value)).collect()),
            None => self.wrong("a list in square brackets", problems),
        }
    }

    pub fn table(&self, section: &Section, problems: &mut Problems) -> Read<Table<'a>> {
        match self.value.as_table() {
            Some(table) => Ok(Table::new(section, table, self.span, problems)),
            None => self.wrong("a table in braces", problems),
        }
    }
}

/// An integer of any radix, or a float.
fn number(value: &DeValue) -> Option<Number> {
    if let Some(integer) = value.as_integer() {
        return i128::from_str_radix(integer.as_str(), integer.radix()).ok().map(Number::Int);
    }
    value.as_float().and_then(|float| float.as_str().parse().ok()).map(Number::Float)
}

fn kind_of(value: &DeValue) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number with a fraction",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

fn example(wanted: &str) -> &'static str {
    match wanted {
        "a text in quotes" => "it as \"name\"",
        "a number" => "it as 5 or 2.5",
        "a whole number" => "it as 5",
        "a list in square brackets" => "it as [1, 2]",
        "a table in braces" => "it as { key = value }",
        _ => "true or false",
    }
}

/// A name that fits on a line, whatever was in the file.
pub(crate) fn shorten(name: &str) -> String {
    if name.chars().count() <= 40 {
        name.to_owned()
    } else {
        name.chars().take(37).collect::<String>() + "..."
    }
}
