// SPDX-License-Identifier: MIT OR Apache-2.0
//! Claims of papers, as `data/claims.toml` has them.

use serde::{Deserialize, Serialize};

use crate::predicate::Predicate;

const TEXT: &str = include_str!("../data/claims.toml");

/// What a paper says, and how a measurement is judged by it.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    pub id: String,
    #[serde(rename = "where")]
    pub place: String,
    pub what: String,
    pub value: ClaimValue,
    pub unit: String,
    /// Unit of what is measured for an ordering.
    #[serde(default)]
    pub shown_in: Option<String>,
    pub over: String,
    #[serde(default)]
    pub kind: ClaimKind,
    #[serde(default)]
    pub tolerance: Option<f64>,
    #[serde(default)]
    pub bound: Option<Bound>,
    pub direction: Predicate,
    #[serde(default)]
    pub reading: Option<String>,
    #[serde(default)]
    pub reason: Option<String>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ClaimValue {
    Number(f64),
    Words(String),
}

impl ClaimValue {
    pub fn number(&self) -> Option<f64> {
        match self {
            ClaimValue::Number(number) => Some(*number),
            ClaimValue::Words(_) => None,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClaimKind {
    #[default]
    Measured,
    /// From areas and sizes.
    Computed,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Bound {
    #[serde(rename = "at most")]
    AtMost,
    #[serde(rename = "at least")]
    AtLeast,
}

/// Why a text of claims cannot be used.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum ClaimError {
    #[error("the claims are not as they should be: {0}")]
    Layout(#[from] toml::de::Error),
    #[error("there are two claims `{0}`: give one of them another id")]
    Twice(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    claim: Vec<Claim>,
}

/// All claims, in the order of the file.
pub fn claims() -> Result<Vec<Claim>, ClaimError> {
    read(TEXT)
}

fn read(text: &str) -> Result<Vec<Claim>, ClaimError> {
    let claims = toml::from_str::<File>(text)?.claim;
    for (index, claim) in claims.iter().enumerate() {
        if claims[..index].iter().any(|earlier| earlier.id == claim.id) {
            return Err(ClaimError::Twice(claim.id.clone()));
        }
    }
    Ok(claims)
}

impl Claim {
    /// The unit of what is measured.
    pub fn measured_in(&self) -> &str {
        self.shown_in.as_deref().unwrap_or(&self.unit)
    }

    /// The names that reading and reason ask for.
    pub fn placeholders(&self) -> Vec<&str> {
        let mut names = Vec::new();
        for text in [&self.reading, &self.reason].into_iter().flatten() {
            let mut rest = text.as_str();
            while let Some((_, name, after)) = placeholder(rest) {
                names.push(name);
                rest = after;
            }
        }
        names
    }
}

/// A text with what was measured put in for each `{name}`; `value` tells it.
pub fn filled(text: &str, value: impl Fn(&str) -> Option<String>) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, name, after)) = placeholder(rest) {
        out.push_str(before);
        out.push_str(value(name).as_deref().unwrap_or("no data"));
        rest = after;
    }
    out + rest
}

/// The text before the first `{name}`, the name, and the text after it.
fn placeholder(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once('{')?;
    let (name, after) = rest.split_once('}')?;
    Some((before, name, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "[[claim]]\nid = \"a.b\"\nwhere = \"Figure 1\"\nwhat = \"w\"\nvalue = 2\nunit = \"%\"\nover = \"suite\"\n\
                       direction = \"a.b > 1\"\n";

    #[test]
    fn the_claims_read_and_orderings_say_what_they_are_shown_in() {
        let claims = claims().expect("the claims of the project");
        assert_eq!(claims.len(), 22);
        for claim in &claims {
            assert_eq!(claim.value.number().is_none(), claim.unit == "ordering", "{}", claim.id);
            assert_eq!(claim.shown_in.is_some(), claim.unit == "ordering", "{}", claim.id);
            assert!(claim.tolerance.is_none_or(|tolerance| tolerance > 0.0), "{}", claim.id);
        }
    }

    #[test]
    fn mistakes_in_claims_are_told() {
        assert!(read(ONE).is_ok());
        assert_eq!(read(&ONE.repeat(2)), Err(ClaimError::Twice("a.b".to_owned())));
        let said = |text: &str| read(text).expect_err("a mistake").to_string();
        assert!(said(&ONE.replace("unit", "units")).contains("units"));
        assert!(said(&ONE.replace("a.b > 1", "a.b >")).contains("ends where a value should be"));
    }

    #[test]
    fn texts_are_filled_in() {
        let mut claim = read(ONE).expect("a claim").remove(0);
        claim.reading = Some("As {a.d}.".to_owned());
        claim.reason = Some("{a.b} of {a.c}, {open".to_owned());
        assert_eq!(claim.placeholders(), ["a.d", "a.b", "a.c"]);
        let seven = |name: &str| (name == "a.b").then(|| "7".to_owned());
        assert_eq!(filled("{a.b} of {a.c}, {open", seven), "7 of no data, {open");
    }
}
