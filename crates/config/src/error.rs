// SPDX-License-Identifier: MIT OR Apache-2.0
//! What can be wrong with parameters: always the key, the value, what is legal and, where something was misspelt, what was
//! probably meant.

use std::fmt;

use warpwatt_base::suggest;

use crate::{Config, Parameter, ParameterKind, Refusal};

/// A place in a GPU file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FilePosition {
    pub file: String,
    /// From 1 on.
    pub line: u32,
    /// From 1 on, in characters.
    pub column: u32,
}

/// A problem that can be explained to the user.
pub trait Explain {
    fn message(&self) -> String;
    /// What to do about it.
    fn help(&self) -> String;
}

/// A problem, and its position in a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Located<P> {
    /// `None` if it is not from a file.
    pub place: Option<FilePosition>,
    pub problem: P,
}

impl<P> From<P> for Located<P> {
    fn from(problem: P) -> Located<P> {
        Located { place: None, problem }
    }
}

impl<P: Explain> fmt::Display for Located<P> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        if let Some(FilePosition { file, line, column }) = &self.place {
            write!(f, "{file}:{line}:{column}: ")?;
        }
        write!(f, "{}; {}", self.problem.message(), self.problem.help())
    }
}

impl<P: Explain + fmt::Debug> std::error::Error for Located<P> {}

/// An error in parameters.
pub type Error = Located<Problem>;

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Problem {
    UnknownKey {
        key: String,
        nearest: Option<&'static str>,
    },
    BadValue {
        key: &'static str,
        /// As it was written.
        value: String,
        kind: ParameterKind,
        unit: &'static str,
    },
    /// Values that are legal each, but not together.
    Rule {
        keys: &'static [&'static str],
        message: String,
        help: String,
    },
    /// A value where a section of parameters belongs.
    NotASection {
        section: String,
    },
    /// Not `key=value`.
    NotASetting {
        text: String,
    },
    /// A table in place of a value that gives no reason for it, or not a possible one.
    BadReason {
        key: &'static str,
        message: String,
    },
    /// `name`, `description`, `inherits` or `rest` is no text, or not a possible one.
    BadHeader {
        key: &'static str,
        message: String,
    },
    /// A size of a cache that its sets, ways and lines cannot make.
    BadSize {
        key: &'static str,
        value: String,
        help: String,
    },
    UnknownPreset {
        name: String,
        nearest: Option<&'static str>,
    },
    UnknownMemory {
        name: String,
        nearest: Option<&'static str>,
    },
    /// A file that another one inherits from cannot be read, or inherits from itself.
    BadParent {
        message: String,
        help: String,
    },
    Syntax {
        message: String,
    },
}

impl Problem {
    /// What is wrong when a parameter does not take a value.
    pub(crate) fn refused(refusal: Refusal, key: &str, value: &str) -> Problem {
        let parameter = Config::parameters().iter().find(|parameter| parameter.key == key);
        match (refusal, parameter) {
            (Refusal::BadValue(_), Some(parameter)) => Problem::bad_value(parameter, value),
            _ => Problem::unknown_key(key),
        }
    }

    pub(crate) fn bad_value(parameter: &Parameter, value: &str) -> Problem {
        Problem::BadValue {
            key: parameter.key,
            value: shortened(value),
            kind: parameter.kind,
            unit: parameter.unit,
        }
    }

    pub(crate) fn unknown_key(key: &str) -> Problem {
        Problem::UnknownKey { key: shortened(key), nearest: nearest_key(key) }
    }

    pub fn message(&self) -> String {
        match self {
            Problem::UnknownKey { key, .. } => format!("there is no parameter `{key}`"),
            Problem::BadValue { key, value, kind, unit } => {
                let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
                format!("invalid {key} = {value} (allowed: {kind}{unit})")
            }
            Problem::Rule { message, .. } => message.clone(),
            Problem::NotASection { section } => {
                format!("`{section}` is a section of parameters, not a parameter")
            }
            Problem::NotASetting { text } => format!("`{text}` is not a setting"),
            Problem::BadHeader { key, message } | Problem::BadReason { key, message } => {
                format!("`{key}` {message}")
            }
            Problem::UnknownPreset { name, .. } => format!("there is no GPU `{name}`"),
            Problem::UnknownMemory { name, .. } => format!("there is no memory `{name}`"),
            Problem::BadSize { key, value, .. } => format!("invalid {key} = {value}"),
            Problem::Syntax { message } | Problem::BadParent { message, .. } => message.clone(),
        }
    }

    /// What to do about it.
    pub fn help(&self) -> String {
        match self {
            Problem::UnknownKey { nearest: Some(nearest), .. } => format!("did you mean `{nearest}`?"),
            Problem::UnknownKey { nearest: None, .. } => {
                "`warpwatt gpu show gtx480` lists all parameters".to_owned()
            }
            Problem::BadValue { key, value, kind, .. } => {
                let typo = match kind {
                    ParameterKind::Choice(words) => suggest::nearest(value.trim_matches('"'), words),
                    _ => None,
                };
                match typo {
                    Some(word) => format!("did you mean {word}?"),
                    None => format!("`warpwatt gpu show gtx480` describes {key}"),
                }
            }
            Problem::Rule { help, .. } | Problem::BadSize { help, .. } | Problem::BadParent { help, .. } => {
                help.clone()
            }
            Problem::NotASection { section } => {
                format!("begin it with a line `[{section}]`, followed by its parameters")
            }
            Problem::BadReason { .. } => {
                "write { value = ..., source = \"...\" }, with `agrees` in place of `source` where the inherited value is the same, or `choice`"
                    .to_owned()
            }
            Problem::NotASetting { .. } => {
                "write key=value, such as sm.scheduler=lrr or sm.l1d.mshrs=64".to_owned()
            }
            Problem::BadHeader { key, .. } => match *key {
                "memory" => "write memory = \"hbm2-2000\"".to_owned(),
                "inherits" => "write inherits = \"gtx480\"".to_owned(),
                key => format!("write {key} = \"text\" on one line"),
            },
            Problem::UnknownPreset { nearest: Some(nearest), .. }
            | Problem::UnknownMemory { nearest: Some(nearest), .. } => format!("did you mean `{nearest}`?"),
            Problem::UnknownMemory { nearest: None, .. } => {
                let names: Vec<_> = crate::MEMORIES.iter().map(|memory| memory.name).collect();
                format!("there are {}", names.join(", "))
            }
            Problem::UnknownPreset { nearest: None, .. } => {
                let names: Vec<_> = crate::PRESETS.iter().map(|preset| preset.name).collect();
                format!("there are {}", names.join(", "))
            }
            Problem::Syntax { .. } => {
                "a GPU file is TOML; `warpwatt gpu show gtx480 --toml` prints one to start from".to_owned()
            }
        }
    }
}

impl Explain for Problem {
    fn message(&self) -> String {
        Problem::message(self)
    }

    fn help(&self) -> String {
        Problem::help(self)
    }
}

/// The key that was probably meant. A key without its front, such as `l1d.mshrs`, is found if it is the end of one key only.
fn nearest_key(word: &str) -> Option<&'static str> {
    let keys = || Config::parameters().iter().map(|parameter| parameter.key);
    let tail = |key: &&str| {
        key.len() > word.len() && key.ends_with(word) && key[..key.len() - word.len()].ends_with('.')
    };
    let mut ends_so = keys().filter(tail);
    if let (Some(only), None) = (ends_so.next(), ends_so.next()) {
        return Some(only);
    }
    let short = |key: &'static str| key.strip_prefix("sm.").unwrap_or(key);
    let spellings: Vec<_> = keys().chain(keys().map(short)).collect();
    let nearest = suggest::nearest(word, &spellings)?;
    keys().find(|key| *key == nearest || short(key) == nearest)
}

/// A text that fits on a line, whatever was in the file.
pub(crate) fn shortened(text: &str) -> String {
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    if text.chars().count() <= 60 {
        text.chars().map(plain).collect()
    } else {
        text.chars().take(57).map(plain).collect::<String>() + "..."
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_key_names_the_nearest() {
        assert_eq!(nearest_key("sm.schedular"), Some("sm.scheduler"));
        assert_eq!(nearest_key("l1d.mshrs"), Some("sm.l1d.mshrs"));
        assert_eq!(nearest_key("l1d.msrhs"), Some("sm.l1d.mshrs"));
        assert_eq!(nearest_key("row_bytes"), Some("dram.row_bytes"));
        assert_eq!(nearest_key("dram.t_rdc"), Some("dram.t_rcd"));
        assert_eq!(nearest_key("the moon"), None);
        assert_eq!(nearest_key(""), None);
    }

    #[test]
    fn hostile_texts_stay_on_a_line() {
        let key = "\u{1b}[31m\n".repeat(50);
        let error = Error::from(Problem::unknown_key(&key));
        assert!(!error.to_string().contains(char::is_control));
        assert!(error.to_string().len() < 200, "{error}");
    }
}
