// SPDX-License-Identifier: MIT OR Apache-2.0
//! The ledger: a row for each claim, with what the paper says, what was measured, and whether that is the same.
//!
//! A claim `holds` when the measurement is within 0.8 to 1.25 of the paper's value, or within the claim's tolerance, or on the right side of
//! its bound; an ordering holds when its predicate is true. A claim whose number is off but whose predicate is true keeps its `direction`;
//! else it `differs`. Numbers are rounded before they are judged, so that what is shown explains the verdict.

use std::collections::BTreeMap;

use serde::Serialize;
use warpwatt_results::Tool;

use crate::claim::{Bound, Claim, ClaimKind, ClaimValue, filled};
use crate::measure::Measures;
use crate::number::{LEDGER, rounded, shown};

/// Name and version of the ledger's layout.
pub const LEDGER_SCHEMA: &str = "warpwatt.ledger/1";

/// Ratios of measurement to claim that hold.
const NEAR: std::ops::RangeInclusive<f64> = 0.8..=1.25;
/// A ratio that is further from 1 is worth a reason.
const WORTH_A_REASON: f64 = 0.2;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub enum Verdict {
    #[serde(rename = "holds")]
    Holds,
    #[serde(rename = "direction")]
    Direction,
    #[serde(rename = "differs")]
    Differs,
    #[serde(rename = "no data")]
    NoData,
}

impl Verdict {
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::Direction => "direction",
            Verdict::Differs => "differs",
            Verdict::NoData => "no data",
        }
    }
}

/// What was run.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct About {
    pub paper: String,
    pub title: String,
    pub citation: String,
    pub tool: Tool,
    pub gpu: String,
    pub gpu_sha256: String,
    pub technology: String,
    pub size: String,
    pub seed: u64,
    pub workloads: Vec<String>,
    /// Workloads that there are.
    pub of_workloads: usize,
    pub points: usize,
    /// Points that failed, as `workload/variant`.
    pub failed: Vec<String>,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Ledger {
    pub schema: &'static str,
    #[serde(flatten)]
    pub about: About,
    pub summary: Summary,
    pub rows: Vec<Row>,
}

/// How many rows have each verdict.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Summary {
    pub claims: usize,
    pub holds: usize,
    pub direction: usize,
    pub differs: usize,
    pub no_data: usize,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Row {
    pub id: String,
    #[serde(rename = "where")]
    pub place: String,
    pub what: String,
    pub kind: ClaimKind,
    pub paper: ClaimValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound: Option<Bound>,
    pub unit: String,
    pub measured: Option<f64>,
    pub measured_unit: String,
    /// Measured over paper.
    pub ratio: Option<f64>,
    pub verdict: Verdict,
    /// Workloads that the measurement stands on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workloads: Option<usize>,
    /// What else was measured about it: other readings, parts, extremes.
    pub beside: BTreeMap<String, f64>,
    /// What must be true for the direction to be right, and whether it is.
    pub direction: String,
    pub direction_holds: Option<bool>,
    /// What was measured for it, where there was a choice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reading: Option<String>,
    /// Why it differs, where it does.
    pub reason: Option<String>,
}

impl Ledger {
    /// Puts measures beside claims, in the claims' order.
    pub fn new(about: About, claims: &[Claim], measures: &Measures) -> Ledger {
        let rows: Vec<_> = claims.iter().map(|claim| Row::new(claim, measures)).collect();
        let count = |verdict| rows.iter().filter(|row| row.verdict == verdict).count();
        let summary = Summary {
            claims: rows.len(),
            holds: count(Verdict::Holds),
            direction: count(Verdict::Direction),
            differs: count(Verdict::Differs),
            no_data: count(Verdict::NoData),
        };
        Ledger { schema: LEDGER_SCHEMA, about, summary, rows }
    }

    /// The document, as written to a file.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        warpwatt_results::json::to_text(self)
    }

    /// What was run, in a line.
    pub fn headline(&self) -> String {
        let about = &self.about;
        let (some, all) = (about.workloads.len(), about.of_workloads);
        let workloads = match some == all {
            true => format!("all {all} workloads"),
            false => format!("{some} of {all} workloads ({})", about.workloads.join(", ")),
        };
        format!(
            "{} on {workloads} at {}, seed {}, GPU {}, technology {}",
            about.title, about.size, about.seed, about.gpu, about.technology
        )
    }

    /// How many claims hold, in a line.
    pub fn tally(&self) -> String {
        let Summary { claims, holds, direction, differs, no_data } = self.summary;
        let number = |count: usize, one: &str, many: &str| match count {
            1 => format!(", 1 {one}"),
            _ => format!(", {count} {many}"),
        };
        let mut text = format!("{holds} of {claims} claims hold");
        text += &number(direction, "keeps its direction", "keep their direction");
        text += &number(differs, "differs", "differ");
        if no_data > 0 {
            text += &number(no_data, "has no data", "have no data");
        }
        text
    }
}

impl Row {
    fn new(claim: &Claim, measures: &Measures) -> Row {
        let measure = measures.get(&claim.id);
        let value = measure.map(|measure| rounded(measure.value, LEDGER));
        let ratio = value.and_then(|value| {
            let claimed = claim.value.number().filter(|claimed| *claimed != 0.0)?;
            Some(rounded(value / claimed, LEDGER))
        });
        let direction_holds = claim.direction.is_true(&|name| measures.value(name));
        let text = |text: &Option<String>| Some(filled(text.as_deref()?, |name| measures.shown(name)));
        Row {
            id: claim.id.clone(),
            place: claim.place.clone(),
            what: claim.what.clone(),
            kind: claim.kind,
            paper: claim.value.clone(),
            bound: claim.bound,
            unit: claim.unit.clone(),
            measured: value,
            measured_unit: claim.measured_in().to_owned(),
            ratio,
            verdict: judge(claim, value, ratio, direction_holds),
            workloads: measure.and_then(|measure| measure.workloads),
            beside: measures
                .beside(&claim.id)
                .map(|(name, value)| (name.to_owned(), rounded(value, LEDGER)))
                .collect(),
            direction: claim.direction.text().to_owned(),
            direction_holds,
            reading: text(&claim.reading),
            reason: text(&claim.reason),
        }
    }

    /// Whether a reason should be told.
    pub fn needs_a_reason(&self) -> bool {
        match self.verdict {
            Verdict::Direction | Verdict::Differs => true,
            Verdict::Holds => {
                self.bound.is_none() && self.ratio.is_some_and(|ratio| (ratio - 1.0).abs() > WORTH_A_REASON)
            }
            Verdict::NoData => false,
        }
    }

    /// What is to be said about a row that needs a reason: the reason, and the direction where it is not right or all there is to say.
    pub fn remark(&self) -> Option<String> {
        if !self.needs_a_reason() {
            return None;
        }
        let truth = match self.direction_holds {
            Some(true) => "is true",
            Some(false) => "is not true",
            None => "lacks data",
        };
        let direction = format!("`{}` {truth}.", self.direction);
        Some(match (&self.reason, self.direction_holds) {
            (Some(reason), Some(true)) => reason.clone(),
            (Some(reason), _) => format!("{direction} {reason}"),
            (None, _) => direction,
        })
    }

    pub fn shown_paper(&self) -> String {
        match (&self.paper, self.bound) {
            (ClaimValue::Words(words), _) => words.clone(),
            (ClaimValue::Number(number), None) => with_unit(*number, &self.unit),
            (ClaimValue::Number(number), Some(Bound::AtMost)) => {
                format!("<= {}", with_unit(*number, &self.unit))
            }
            (ClaimValue::Number(number), Some(Bound::AtLeast)) => {
                format!(">= {}", with_unit(*number, &self.unit))
            }
        }
    }

    pub fn shown_measured(&self) -> String {
        self.measured.map_or("no data".to_owned(), |value| with_unit(value, &self.measured_unit))
    }

    pub fn shown_ratio(&self) -> String {
        self.ratio.map_or("-".to_owned(), shown)
    }
}

fn with_unit(value: f64, unit: &str) -> String {
    format!("{} {unit}", shown(value))
}

fn judge(claim: &Claim, value: Option<f64>, ratio: Option<f64>, direction: Option<bool>) -> Verdict {
    let Some(value) = value else { return Verdict::NoData };
    let fits = match (&claim.value, claim.bound) {
        (ClaimValue::Words(_), _) => {
            // Orderings have no number to be near to.
            return match direction {
                Some(true) => Verdict::Holds,
                Some(false) => Verdict::Differs,
                None => Verdict::NoData,
            };
        }
        (ClaimValue::Number(most), Some(Bound::AtMost)) => value <= *most,
        (ClaimValue::Number(least), Some(Bound::AtLeast)) => value >= *least,
        (ClaimValue::Number(claimed), None) => {
            // Twelve digits take the error of the subtraction away.
            let off = rounded((value - claimed).abs(), 12);
            ratio.is_some_and(|ratio| NEAR.contains(&ratio))
                || claim.tolerance.is_some_and(|tolerance| off <= tolerance)
        }
    };
    match (fits, direction) {
        (true, _) => Verdict::Holds,
        (false, Some(true)) => Verdict::Direction,
        (false, _) => Verdict::Differs,
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::measure::Column;
    use crate::predicate::Predicate;

    fn claim(value: ClaimValue) -> Claim {
        Claim {
            id: "a".to_owned(),
            place: "Figure 1".to_owned(),
            what: "it".to_owned(),
            value,
            unit: "%".to_owned(),
            shown_in: None,
            over: "suite".to_owned(),
            kind: ClaimKind::Measured,
            tolerance: None,
            bound: None,
            direction: Predicate::parse("a > 0").expect("a predicate"),
            reading: Some("Not {a}.".to_owned()),
            reason: Some("Because of {a.b}.".to_owned()),
        }
    }

    fn number(value: f64) -> Claim {
        claim(ClaimValue::Number(value))
    }

    pub fn row(claim: &Claim, value: Option<f64>) -> Row {
        let mut measures = Measures::default();
        measures.mean("a", &Column(vec![value]));
        measures.computed("a.b", 1.0 / 3.0);
        Row::new(claim, &measures)
    }

    fn verdict(claim: &Claim, value: f64) -> Verdict {
        row(claim, Some(value)).verdict
    }

    #[test]
    fn ratios_hold_up_to_their_limits() {
        let claim = number(10.0);
        for (value, verdict_) in [
            (8.0, Verdict::Holds),
            (7.99, Verdict::Direction),
            (12.5, Verdict::Holds),
            (12.51, Verdict::Direction),
            (-10.0, Verdict::Differs),
            (0.0, Verdict::Differs),
            // What is shown as 0.8 is 0.8.
            (7.9996, Verdict::Holds),
        ] {
            assert_eq!(verdict(&claim, value), verdict_, "{value}");
        }
    }

    #[test]
    fn tolerances_hold_up_to_their_limits() {
        let claim = Claim { tolerance: Some(0.5), ..number(0.1) };
        for (value, verdict_) in [
            (0.6, Verdict::Holds),
            (0.601, Verdict::Direction),
            (-0.4, Verdict::Holds),
            (-0.401, Verdict::Differs),
        ] {
            assert_eq!(verdict(&claim, value), verdict_, "{value}");
        }
    }

    #[test]
    fn bounds_hold_on_one_side() {
        let most = Claim { bound: Some(Bound::AtMost), ..number(2.0) };
        let least = Claim { bound: Some(Bound::AtLeast), ..number(2.0) };
        assert_eq!(verdict(&most, 0.001), Verdict::Holds);
        assert_eq!(verdict(&most, 2.0), Verdict::Holds);
        assert_eq!(verdict(&most, 2.01), Verdict::Direction, "the ratio is near, but over the limit");
        assert_eq!(verdict(&least, 1.99), Verdict::Direction);
        assert_eq!(verdict(&least, 100.0), Verdict::Holds);
        assert!(!row(&most, Some(0.001)).needs_a_reason(), "far below a limit is as claimed");
    }

    #[test]
    fn orderings_hold_if_they_are_true() {
        let ordering = claim(ClaimValue::Words("rises".to_owned()));
        assert_eq!(verdict(&ordering, 1.0), Verdict::Holds);
        assert_eq!(verdict(&ordering, -1.0), Verdict::Differs);
        let lacking = Claim { direction: Predicate::parse("b > 0").expect("a predicate"), ..ordering };
        assert_eq!(verdict(&lacking, 1.0), Verdict::NoData);
    }

    #[test]
    fn reasons_are_told_where_they_are_needed() {
        let claim = number(10.0);
        assert_eq!(row(&claim, Some(8.0)).remark(), None);
        let remark = row(&claim, Some(12.3)).remark().unwrap_or_default();
        assert_eq!(remark, "Because of 0.3333.", "it holds, and is off by more than a fifth");
        let remark = row(&claim, Some(-1.0)).remark().unwrap_or_default();
        assert_eq!(remark, "`a > 0` is not true. Because of 0.3333.");
        let silent = Claim { reason: None, ..claim.clone() };
        assert_eq!(row(&silent, Some(12.6)).remark().as_deref(), Some("`a > 0` is true."));
        let row = row(&claim, None);
        assert_eq!(
            (row.verdict, row.remark(), row.shown_measured()),
            (Verdict::NoData, None, "no data".to_owned())
        );
    }

    #[test]
    fn rows_show_what_they_hold() {
        let claim = Claim { bound: Some(Bound::AtMost), ..number(2.0) };
        let row = row(&claim, Some(1.234_56));
        assert_eq!(
            (row.shown_paper(), row.shown_measured(), row.shown_ratio()),
            ("<= 2 %".to_owned(), "1.235 %".to_owned(), "0.6175".to_owned())
        );
        assert_eq!(row.measured, Some(1.235));
        assert_eq!(row.reading.as_deref(), Some("Not 1.235."), "it is told whether the claim holds or not");
        assert_eq!(row.beside, BTreeMap::from([("b".to_owned(), 0.3333)]));
    }
}
