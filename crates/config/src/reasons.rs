// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why a parameter of a GPU has its value. A GPU file may give it for each parameter, as an inline table in place of the value:
//!
//! ```toml
//! [sm]
//! ctas = { value = 8, source = "CUDA programming guide, compute capability 2.0" }
//! warps = { value = 48, agrees = "48 in the simulator's configuration, too" }
//! register_unit = { choice = "no figure is published" }
//! ```
//!
//! Without `value` the parameter keeps the value of the GPU that the file inherits from; one that `agrees` may repeat it, so that it stays
//! when that GPU changes. A header `rest = "..."` gives the reason for all
//! parameters that a file does not list.

use std::fmt;
use std::ops::Range;

use toml::de::{DeTable, DeValue};

use crate::{Config, GpuFile};

/// What a value rests on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Basis {
    /// A data sheet, a paper, a configuration or a measurement.
    Source,
    /// Also a source, which confirms the inherited value.
    Agrees,
    /// A choice of ours: no source gives it, or the model needs it where the original does not.
    Choice,
}

impl Basis {
    const ALL: [(&'static str, Basis); 3] =
        [("source", Basis::Source), ("agrees", Basis::Agrees), ("choice", Basis::Choice)];

    /// The key that gives it in a file.
    pub fn name(self) -> &'static str {
        Basis::ALL.iter().find(|(_, basis)| *basis == self).map_or("", |(name, _)| name)
    }
}

/// Why a parameter has its value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reason {
    pub basis: Basis,
    pub text: String,
    /// The GPU whose file gives it.
    pub gpu: String,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self.basis {
            Basis::Choice => write!(f, "choice: {}", self.text),
            Basis::Source | Basis::Agrees => f.write_str(&self.text),
        }
    }
}

impl GpuFile {
    /// Parameters whose value this file explains in none of the ways there are: not listed with a reason, and not covered by `rest`.
    pub fn unexplained(&self) -> Vec<&'static str> {
        let explained = |key: &str| match self.reasons.get(key) {
            Some(reason) => reason.gpu == self.name || self.rest.is_some(),
            None => false,
        };
        Config::parameters().iter().map(|parameter| parameter.key).filter(|key| !explained(key)).collect()
    }
}

/// A value, where the table has one, and its reason.
type Explained<'t, 'd> = (Option<&'t toml::Spanned<DeValue<'d>>>, Basis, String);

/// A table in place of a value: where its value lies, if it has one, and the reason. `Err` is the problem and its position.
pub(crate) fn read<'t, 'd>(table: &'t DeTable<'d>) -> Result<Explained<'t, 'd>, (Range<usize>, String)> {
    let (mut value, mut found) = (None, None);
    for (name, field) in table {
        let word: &str = name.get_ref();
        if word == "value" {
            value = Some(field);
            continue;
        }
        let Some(&(_, basis)) = Basis::ALL.iter().find(|(known, _)| *known == word) else {
            return Err((name.span(), format!("has a field `{}`", crate::error::shortened(word))));
        };
        if found.is_some() {
            return Err((name.span(), "has two reasons".to_owned()));
        }
        match field.get_ref().as_str().map(str::trim) {
            Some(text) if !text.is_empty() && !text.contains(char::is_control) => {
                found = Some((basis, text.to_owned()));
            }
            _ => return Err((field.span(), format!("has a `{word}` that is not one line of text"))),
        }
    }
    match found {
        None => Err((0..0, "needs a reason beside its value".to_owned())),
        Some((basis, text)) => Ok((value, basis, text)),
    }
}
