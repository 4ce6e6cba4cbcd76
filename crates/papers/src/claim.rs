// SPDX-License-Identifier: MIT OR Apache-2.0
//! Claims of papers, as `data/*.toml` has them: what is claimed, its reading, and the rule of its verdict.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::measure::Mean;
use crate::predicate::Predicate;
use crate::size::Size;
use crate::value::ClaimValue;

const TEXTS: [&str; 4] = [
    include_str!("../data/warped-compression.toml"),
    include_str!("../data/corf.toml"),
    include_str!("../data/e2mc.toml"),
    include_str!("../data/caches.toml"),
];

/// How the papers are read where they are ambiguous, silent or contradict themselves, with the reasons.
pub const READINGS: &str = include_str!("../data/readings.md");

/// A claim of a paper, and the rule by which a measurement is judged. The head of `data/warped-compression.toml` explains the fields.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    pub id: String,
    #[serde(rename = "where")]
    pub place: String,
    pub what: String,
    pub value: ClaimValue,
    pub unit: String,
    #[serde(default)]
    pub shown_in: Option<String>,
    pub over: String,
    #[serde(default)]
    pub mean: Mean,
    #[serde(default)]
    pub kind: ClaimKind,
    #[serde(default)]
    pub share: bool,
    #[serde(default)]
    pub rounded_down: bool,
    #[serde(default)]
    pub limit: Option<Limit>,
    #[serde(default)]
    pub decimals: Option<u32>,
    #[serde(default)]
    pub columns: Vec<String>,
    #[serde(default)]
    pub unused: Option<f64>,
    #[serde(default)]
    pub min_size: Option<Size>,
    #[serde(default)]
    pub entry_min_size: BTreeMap<String, Size>,
    pub direction: Predicate,
    pub reading: String,
    #[serde(default)]
    pub others: BTreeMap<String, String>,
    #[serde(default)]
    pub others_if_far: Vec<String>,
    #[serde(default)]
    pub reasons: Vec<Reason>,
}

/// Why a measurement differs.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reason {
    pub text: String,
    /// The value that it explains, by size. At another size, or when the value has moved by more than a tenth, it is stale.
    pub of: BTreeMap<Size, f64>,
    /// The figure with the experiment that shows the cause.
    #[serde(default)]
    pub shown_by: Option<String>,
}

/// Kind of a claim's value. Only measured claims are independent of each other, and in the tally.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClaimKind {
    #[default]
    Measured,
    /// Follows from other claims, or rescales their runs.
    Derived,
    /// From areas and sizes.
    Computed,
    /// A number that the model is given.
    Input,
}

impl ClaimKind {
    pub fn name(self) -> &'static str {
        match self {
            ClaimKind::Measured => "measured",
            ClaimKind::Derived => "derived",
            ClaimKind::Computed => "computed",
            ClaimKind::Input => "input",
        }
    }

    /// Whether it counts in the tally.
    pub fn is_independent(self) -> bool {
        self == ClaimKind::Measured
    }
}

/// A value that is a limit, as the paper words it. "More than" is none: it is a mean, rounded down.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Limit {
    #[serde(rename = "less than")]
    LessThan,
    #[serde(rename = "not more than")]
    NotMoreThan,
}

impl Limit {
    pub fn sign(self) -> &'static str {
        match self {
            Limit::LessThan => "<",
            Limit::NotMoreThan => "<=",
        }
    }

    pub fn holds(self, value: f64, limit: f64) -> bool {
        match self {
            Limit::LessThan => value < limit,
            Limit::NotMoreThan => value <= limit,
        }
    }
}

/// Why a text of claims cannot be used.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum ClaimError {
    #[error("invalid claims: {0}")]
    Layout(#[from] toml::de::Error),
    #[error("duplicate claim `{0}`: give one of them another id")]
    Twice(String),
    #[error("claim `{0}`: {1}")]
    Senseless(String, &'static str),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    claim: Vec<Claim>,
}

/// All claims of all papers, in the order of the files.
pub fn claims() -> Result<Vec<Claim>, ClaimError> {
    read(&TEXTS)
}

fn read(texts: &[&str]) -> Result<Vec<Claim>, ClaimError> {
    let mut claims: Vec<Claim> = Vec::new();
    for text in texts {
        for claim in toml::from_str::<File>(text)?.claim {
            if claims.iter().any(|earlier| earlier.id == claim.id) {
                return Err(ClaimError::Twice(claim.id));
            }
            match claim.problem() {
                Some(problem) => return Err(ClaimError::Senseless(claim.id, problem)),
                None => claims.push(claim),
            }
        }
    }
    Ok(claims)
}

impl Claim {
    /// What makes no sense about it.
    fn problem(&self) -> Option<&'static str> {
        let words = matches!(self.value, ClaimValue::Words(_));
        let columns = self.value.columns();
        if words != (self.unit == "ordering") || words != self.shown_in.is_some() {
            Some("an ordering has words as its value, `ordering` as its unit and a unit in `shown_in`")
        } else if columns.is_some_and(|columns| columns != Some(self.columns.len())) {
            Some("every row of a table has a value for each of `columns`")
        } else if self.limit.is_some() && self.value.number().is_none() {
            Some("only a number can be a limit")
        } else if self.others_if_far.iter().any(|name| !self.others.contains_key(name)) {
            Some("`others_if_far` names one of `others`")
        } else {
            None
        }
    }

    /// The unit of what is measured.
    pub fn measured_in(&self) -> &str {
        self.shown_in.as_deref().unwrap_or(&self.unit)
    }

    /// Names and values of what is judged one by one: the value itself under an empty name, or each entry of a map.
    pub fn entries(&self) -> Vec<(String, f64)> {
        self.value.entries(&self.columns)
    }

    /// The size from which on an entry is measured as in the paper.
    pub fn min_size_of(&self, entry: &str) -> Option<Size> {
        self.entry_min_size.get(entry).copied().max(self.min_size)
    }

    /// How far off the paper's rounding may make a measurement: half of the last digit that it prints, or all of it if it rounds down.
    pub fn rounding(&self) -> f64 {
        let decimals = self.decimals.unwrap_or_else(|| {
            self.entries().iter().map(|(_, value)| decimals(*value)).max().unwrap_or_default()
        });
        // Text makes the power of ten exact.
        format!("5e-{}", decimals + 1).parse().unwrap_or(0.0)
    }

    /// What a measurement is compared with and how near it has to be, in words.
    pub fn judgement(&self) -> String {
        let mut text = match (&self.value, self.limit) {
            (ClaimValue::Words(_), _) => return format!("holds if {}", self.direction.text()),
            (_, Some(limit)) => {
                format!("holds if {}", limit.sign()) + &format!(" {}", self.value.shown(&self.unit))
            }
            (ClaimValue::Number(_), None) => "within 0.8 to 1.25 of it".to_owned(),
            (ClaimValue::Map(_), None) => {
                format!("each of {} entries within 0.8 to 1.25 of it, the worst counts", self.entries().len())
            }
        };
        if self.limit.is_none() {
            if self.share {
                text += ", and the same for 100 minus the value";
            }
            if self.rounded_down {
                text += "; rounded down";
            }
        }
        text + &format!("; direction: {}", self.direction.text())
    }

    /// The names that reasons use.
    pub fn placeholders(&self) -> Vec<&str> {
        let mut names = Vec::new();
        for reason in &self.reasons {
            let mut rest = reason.text.as_str();
            while let Some((_, name, after)) = placeholder(rest) {
                names.push(name);
                rest = after;
            }
        }
        names
    }
}

/// Digits behind the point.
fn decimals(value: f64) -> u32 {
    format!("{value}").split_once('.').map_or(0, |(_, digits)| digits.len() as u32)
}

/// A text in which each `{name}` is replaced by its measurement, which `value` returns.
pub fn filled(text: &str, mut value: impl FnMut(&str) -> Option<String>) -> String {
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
                       direction = \"a.b > 1\"\nreading = \"r\"\n";

    #[test]
    fn all_claims_of_four_papers_have_a_reading_a_kind_and_a_judgement() {
        let claims = claims().expect("the claims of the project");
        let of = |prefix: &str| claims.iter().filter(|claim| claim.id.starts_with(prefix)).count();
        assert_eq!((claims.len(), of("wc."), of("corf"), of("e2mc."), of("cache.")), (93, 22, 28, 26, 17));
        for claim in &claims {
            assert!(!claim.reading.is_empty() && !claim.judgement().is_empty(), "{}", claim.id);
            assert!(
                claim.direction.names().iter().all(|name| {
                    let id = name.split(':').next().unwrap_or(name);
                    *name == "each"
                        || claims
                            .iter()
                            .any(|other| id == other.id || id.starts_with(&format!("{}.", other.id)))
                }),
                "{}",
                claim.id
            );
        }
        let independent = |prefix: &str| {
            claims.iter().filter(|claim| claim.id.starts_with(prefix) && claim.kind.is_independent()).count()
        };
        assert_eq!(independent("wc."), 15);
    }

    #[test]
    fn mistakes_in_claims_are_told() {
        assert!(read(&[ONE]).is_ok());
        assert_eq!(read(&[ONE, ONE]), Err(ClaimError::Twice("a.b".to_owned())));
        let said = |from: &str, to: &str| read(&[&ONE.replace(from, to)]).expect_err("a mistake").to_string();
        assert!(said("unit", "units").contains("units"));
        assert!(said("a.b > 1", "a.b >").contains("ends without a value"));
        assert!(said("value = 2", "value = \"rises\"").contains("an ordering has words"));
        assert!(said("value = 2", "value = { a = [1, 2] }").contains("every row of a table"));
        assert!(said("value = 2", "value = { a = 1 }\nlimit = \"less than\"").contains("only a number"));
        assert!(
            said("value = 2", "value = 2\nlimit = \"more than\"").contains("more than"),
            "that is no limit"
        );
        assert!(said("reading", "others_if_far = [\"x\"]\nreading").contains("names one of `others`"));
    }

    #[test]
    fn the_rounding_is_half_of_the_last_digit_that_is_printed() {
        let rounding =
            |value: &str| read(&[&ONE.replace("value = 2", value)]).expect("a claim").remove(0).rounding();
        assert_eq!(rounding("value = 79"), 0.5);
        assert_eq!(rounding("value = 0.1"), 0.05);
        assert_eq!(rounding("value = { a = 12, b = 4.5 }"), 0.05);
        assert_eq!(rounding("value = 2\ndecimals = 1"), 0.05, "printed as 2.0");
    }

    #[test]
    fn sizes_of_entries_are_at_least_those_of_the_claim() {
        let text = ONE.replace(
            "value = 2",
            "value = { on = 1, off = 2 }\nmin_size = \"small\"\nentry_min_size = { on = \"large\" }",
        );
        let claim = read(&[&text]).expect("a claim").remove(0);
        assert_eq!(
            (claim.min_size_of("on"), claim.min_size_of("off")),
            (Some(Size::Large), Some(Size::Small))
        );
    }

    #[test]
    fn texts_are_filled_in() {
        let seven = |name: &str| (name == "a.b").then(|| "7".to_owned());
        assert_eq!(filled("{a.b} of {a.c}, {open", seven), "7 of no data, {open");
    }
}
