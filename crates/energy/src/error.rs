// SPDX-License-Identifier: MIT OR Apache-2.0
//! What can be wrong with a technology: what, where, and what to do about it.

pub use warpwatt_config::FilePosition;
use warpwatt_config::{Explain, Located};

/// An error in a technology file.
pub type Error = Located<Problem>;

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Problem {
    Syntax {
        message: String,
    },
    UnknownTechnology {
        name: String,
        nearest: Option<&'static str>,
    },
    UnknownCounter {
        name: String,
        nearest: Option<String>,
    },
    /// A histogram, a ratio, or a counter whose clock is not known.
    UselessCounter {
        name: String,
        message: String,
        help: &'static str,
    },
    UnknownKey {
        key: String,
        nearest: Option<String>,
    },
    UnknownTechnique {
        name: String,
        nearest: Option<String>,
        /// Those that there are.
        all: Vec<String>,
    },
    /// Anything else that a value cannot be.
    Bad {
        message: String,
        help: String,
    },
}

impl Problem {
    pub fn message(&self) -> String {
        match self {
            Problem::Syntax { message } => message.clone(),
            Problem::UnknownTechnology { name, .. } => format!("there is no technology `{name}`"),
            Problem::UnknownCounter { name, .. } => format!("there is no counter `{name}`"),
            Problem::UselessCounter { name, message, .. } => format!("`{name}` {message}"),
            Problem::UnknownKey { key, .. } if key.starts_with("technique.") => {
                format!("there is no number `{key}` among the parameters of the enabled techniques")
            }
            Problem::UnknownKey { key, .. } => {
                format!("there is no number `{key}` among the GPU's parameters")
            }
            Problem::UnknownTechnique { name, .. } => format!("there is no technique `{name}`"),
            Problem::Bad { message, .. } => message.clone(),
        }
    }

    pub fn help(&self) -> String {
        let meant = |nearest: Option<&str>, else_: &str| match nearest {
            Some(nearest) => format!("did you mean `{nearest}`?"),
            None => else_.to_owned(),
        };
        match self {
            Problem::Syntax { .. } => {
                "a technology file is TOML; `warpwatt list technologies --show gtx480-40nm` prints one to start from"
                    .to_owned()
            }
            Problem::UnknownTechnology { nearest, .. } => {
                let names: Vec<_> = crate::TECHNOLOGIES.iter().map(|technology| technology.name).collect();
                meant(*nearest, &format!("there are {}", names.join(", ")))
            }
            Problem::UnknownCounter { nearest, .. } => {
                meant(nearest.as_deref(), "docs/reference-counters.md lists all counters")
            }
            Problem::UselessCounter { help, .. } => (*help).to_owned(),
            Problem::UnknownKey { key, nearest: None } if key.starts_with("technique.") => {
                "`techniques = [\"NAME\"]` makes a structure or a state part of a technique".to_owned()
            }
            Problem::UnknownKey { nearest, .. } => meant(
                nearest.as_deref(),
                "`warpwatt gpu show gtx480` lists parameters, docs/energy.md the figures that follow from them",
            ),
            Problem::UnknownTechnique { nearest, all, .. } => {
                meant(nearest.as_deref(), &format!("there are {}", all.join(", ")))
            }
            Problem::Bad { help, .. } => help.clone(),
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

/// A text that fits on a line, whatever was in the file.
pub(crate) fn shortened(text: &str) -> String {
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    if text.chars().count() <= 60 {
        text.chars().map(plain).collect()
    } else {
        text.chars().take(57).map(plain).collect::<String>() + "..."
    }
}
