// SPDX-License-Identifier: MIT OR Apache-2.0
//! The ledger: a row for each claim, with the paper's value, the measurement, and the verdict (`judge`).
//!
//! The verdict is by the claim's fixed reading; other readings have verdicts of their own. Only independent claims are
//! counted, and only if there are enough seeds to estimate their spread.

use std::collections::BTreeMap;

use serde::Serialize;
use warpwatt_results::Tool;

use crate::claim::{Claim, ClaimKind, Limit, filled};
use crate::evidence::{ENOUGH_SEEDS, Evidence};
use crate::judge::{Judged, Verdict, whole};
use crate::measure::Mean;
use crate::number::shown;
use crate::size::Size;
use crate::value::ClaimValue;

/// Name and version of the ledger's layout.
pub const LEDGER_SCHEMA: &str = "warpwatt.ledger/2";

/// A ratio that is further from 1 is worth a reason.
const WORTH_A_REASON: f64 = 0.2;
/// What moves by more than this part is another value: a reason for it is stale, another way to measure it is worth telling.
const MOVED: f64 = 0.1;

/// What was run.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct About {
    pub paper: String,
    pub title: String,
    pub citation: String,
    pub tool: Tool,
    /// The build that simulated the points, if it is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub simulated_by: Option<Tool>,
    /// GPUs of the variants, the first of which the paper is about.
    pub gpus: Vec<String>,
    pub gpu_sha256: String,
    pub technologies: Vec<String>,
    pub size: Size,
    pub seeds: Vec<u64>,
    pub workloads: Vec<String>,
    /// Programs of the paper's suite that none of our workloads is.
    pub missing: Vec<String>,
    /// Workloads that stand in for another program of the suite, and why they are not the same.
    pub stand_ins: BTreeMap<String, String>,
    /// The workloads are those of the paper's suite, not a choice of the user's.
    pub of_suite: bool,
    /// A quick run, on some of so many programs of the suite.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quick_of: Option<usize>,
    /// The size at which rows that need one larger than `size` were measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub larger: Option<Size>,
    pub points: usize,
    /// Points that failed, as `workload/variant`.
    pub failed: Vec<String>,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Ledger {
    pub schema: &'static str,
    #[serde(flatten)]
    pub about: About,
    /// Absent with too few seeds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<Summary>,
    pub rows: Vec<Row>,
}

/// How many independent claims have each verdict.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Summary {
    pub independent: usize,
    pub holds: usize,
    pub direction: usize,
    pub differs: usize,
    pub no_data: usize,
    /// Verdicts that change within the spread of the seeds.
    pub unsettled: usize,
    /// Claims that are shown and not counted.
    pub not_counted: usize,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Row {
    pub id: String,
    #[serde(rename = "where")]
    pub place: String,
    pub what: String,
    pub over: String,
    pub mean: Mean,
    pub kind: ClaimKind,
    pub paper: ClaimValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,
    pub unit: String,
    pub measured_unit: String,
    #[serde(flatten)]
    pub judged: Judged,
    /// Entries of a map or table.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub entries: Vec<EntryRow>,
    /// The smallest size that it can be measured at as in the paper, if this run is below it: parameters are scaled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scaled_below: Option<Size>,
    /// The size that it, or entries of it, were measured at, where that is larger than the run's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured_at: Option<Size>,
    pub reading: String,
    pub judgement: String,
    /// Other readings.
    pub others: Vec<OtherRow>,
    /// What else was measured about it: parts, extremes.
    pub beside: BTreeMap<String, f64>,
    /// What must be true for the direction to be right, and whether it is.
    pub direction: String,
    pub direction_holds: Option<bool>,
    /// Why it differs, where it does.
    pub reasons: Vec<RowReason>,
}

/// One place of a map or table.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct EntryRow {
    pub name: String,
    pub paper: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scaled_below: Option<Size>,
    #[serde(flatten)]
    pub judged: Judged,
}

/// Another reading of a claim.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct OtherRow {
    pub name: String,
    pub reading: String,
    /// It is too near to the row's own value to be worth a line.
    pub near: bool,
    #[serde(flatten)]
    pub judged: Judged,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct RowReason {
    pub text: String,
    /// Why it may not be true any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stale: Option<String>,
    /// The file with the experiment that shows the cause.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shown_by: Option<String>,
}

impl Ledger {
    /// Puts measures beside claims, in the claims' order.
    pub fn new(about: About, claims: &[Claim], evidence: &Evidence) -> Ledger {
        let rows = claims.iter().map(|claim| Row::new(claim, evidence, about.size)).collect();
        Ledger::of_rows(about, rows)
    }

    /// The ledger of these rows.
    pub(crate) fn of_rows(about: About, rows: Vec<Row>) -> Ledger {
        let enough = about.seeds.len() >= ENOUGH_SEEDS;
        let summary = enough.then(|| Summary::of(&rows));
        Ledger { schema: LEDGER_SCHEMA, about, summary, rows }
    }

    /// The document, as written to a file.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        warpwatt_results::json::to_text(self)
    }

    /// What was run, in a line.
    pub fn headline(&self) -> String {
        let about = &self.about;
        let some = about.workloads.len();
        let workloads = match about.of_suite {
            _ if about.quick_of.is_some() => {
                format!("{some} of the {} programs of its suite, quick,", about.quick_of.unwrap_or_default())
            }
            true => format!("{some} of the {} programs of its suite", some + about.missing.len()),
            false => format!("selected workloads ({})", about.workloads.join(", ")),
        };
        let seeds: Vec<_> = about.seeds.iter().map(u64::to_string).collect();
        let plural = |names: &[String]| if names.len() == 1 { "y" } else { "ies" };
        format!(
            "{} on {workloads} at {}, seed{} {}, GPU{} {}, technolog{} {}",
            about.title,
            about.size.name(),
            if seeds.len() == 1 { "" } else { "s" },
            seeds.join(", "),
            if about.gpus.len() == 1 { "" } else { "s" },
            about.gpus.join(", "),
            plural(&about.technologies),
            about.technologies.join(", ")
        )
    }

    /// The tally in one line, or why there is none.
    pub fn tally(&self) -> String {
        if self.rows.is_empty() {
            return "No paper has this experiment, so there are no claims to compare".to_owned();
        }
        let Some(Summary { independent, holds, direction, differs, no_data, unsettled, not_counted }) =
            self.summary
        else {
            return format!(
                "No tally: {} of {ENOUGH_SEEDS} seeds, so the spread over inputs is unknown",
                self.about.seeds.len()
            );
        };
        let number = |count: usize, one: &str, many: &str| match count {
            1 => format!(", 1 {one}"),
            _ => format!(", {count} {many}"),
        };
        let mut text = format!("{holds} of {independent} independent claims hold");
        text += &number(direction, "keeps its direction", "keep their direction");
        text += &number(differs, "differs", "differ");
        if no_data > 0 {
            text += &number(no_data, "has no data", "have no data");
        }
        if unsettled > 0 {
            text += &format!(
                "; {unsettled} of these verdicts change{} within the spread of the seeds",
                if unsettled == 1 { "s" } else { "" }
            );
        }
        text + &format!("; {not_counted} derived, computed or given ones are not counted")
    }
}

impl Summary {
    fn of(rows: &[Row]) -> Summary {
        let independent = || rows.iter().filter(|row| row.kind.is_independent());
        let count = |verdict| independent().filter(|row| row.judged.verdict == verdict).count();
        Summary {
            independent: independent().count(),
            holds: count(Verdict::Holds),
            direction: count(Verdict::Direction),
            differs: count(Verdict::Differs),
            no_data: count(Verdict::NoData),
            unsettled: independent().filter(|row| row.judged.is_unsettled()).count(),
            not_counted: rows.len() - independent().count(),
        }
    }
}

impl Row {
    pub fn new(claim: &Claim, evidence: &Evidence, size: Size) -> Row {
        let (judged, entries) = whole(claim, None, evidence);
        let below = |least: Option<Size>| least.filter(|least| size < *least);
        let entries: Vec<_> = entries
            .into_iter()
            .map(|(name, paper, judged)| {
                let scaled_below = below(claim.min_size_of(&name));
                EntryRow { name, paper, scaled_below, judged }
            })
            .collect();
        let others = claim.others.iter().map(|(name, reading)| {
            let (mut other, _) = whole(claim, Some(name), evidence);
            // Of several entries, that over all programs is shown.
            other.measured = other.measured.or_else(|| evidence.mean(&format!("{}.{name}:all", claim.id)));
            let far = moved(judged.measured, other.measured);
            let near = claim.others_if_far.contains(name) && !far;
            OtherRow { name: name.clone(), reading: reading.clone(), near, judged: other }
        });
        let reasons = claim.reasons.iter().map(|reason| RowReason {
            text: filled(&reason.text, |name| evidence.shown(name)),
            stale: stale(&reason.of, size, judged.measured),
            shown_by: reason.shown_by.clone(),
        });
        let others = others.collect::<Vec<_>>();
        Row {
            id: claim.id.clone(),
            place: claim.place.clone(),
            what: claim.what.clone(),
            over: claim.over.clone(),
            mean: claim.mean,
            kind: claim.kind,
            paper: claim.value.clone(),
            limit: claim.limit,
            unit: claim.unit.clone(),
            measured_unit: claim.measured_in().to_owned(),
            scaled_below: below(claim.min_size),
            measured_at: None,
            reading: claim.reading.clone(),
            judgement: claim.judgement(),
            beside: evidence
                .beside(&claim.id)
                .into_iter()
                .filter(|(name, _)| !claim.others.contains_key(name))
                .collect(),
            direction: claim.direction.text().to_owned(),
            direction_holds: claim.direction.is_true(&|name| match name {
                "each" => judged.measured,
                _ => evidence.mean(name),
            }),
            reasons: reasons.collect(),
            judged,
            entries,
            others,
        }
    }

    /// Whether a reason is needed.
    pub fn needs_a_reason(&self) -> bool {
        match self.judged.verdict {
            Verdict::Direction | Verdict::Differs => true,
            Verdict::Holds => {
                self.limit.is_none()
                    && self.judged.ratio.is_some_and(|ratio| (ratio - 1.0).abs() > WORTH_A_REASON)
            }
            Verdict::NoData => false,
        }
    }

    /// Remarks on a row that needs a reason: a direction that does not hold, and the reasons, with a mark if they are stale.
    pub fn remarks(&self) -> Vec<String> {
        if !self.needs_a_reason() {
            return Vec::new();
        }
        let mut remarks = Vec::new();
        match self.direction_holds {
            Some(false) => remarks.push(format!("The direction `{}` does not hold.", self.direction)),
            None if self.entries.is_empty() => remarks.push(format!("`{}` lacks data.", self.direction)),
            _ => {}
        }
        for reason in &self.reasons {
            let shown = reason.shown_by.as_ref().map(|file| format!(" (figures/{file}.json)"));
            let stale = reason.stale.as_ref().map(|why| format!(" Stale: {why}."));
            remarks.push(format!(
                "{}{}{}",
                reason.text,
                shown.unwrap_or_default(),
                stale.unwrap_or_default()
            ));
        }
        if remarks.is_empty() {
            remarks.push("No reason is known.".to_owned());
        }
        remarks
    }

    /// What a reader has to know beside the verdict, given how many workloads were run.
    pub fn flags(&self, of_workloads: usize) -> Vec<String> {
        let mut flags = Vec::new();
        if !self.kind.is_independent() {
            flags.push(self.kind.name().to_owned());
        }
        if self.judged.is_unsettled() {
            let mut names: Vec<_> = self.judged.by_seed.iter().map(|verdict| verdict.name()).collect();
            names.sort_unstable();
            names.dedup();
            flags.push(format!("changes within the spread ({})", names.join(", ")));
        }
        if !self.entries.is_empty() {
            let holds = self.entries.iter().filter(|entry| entry.judged.verdict == Verdict::Holds).count();
            flags.push(format!("{holds} of {} entries hold", self.entries.len()));
        }
        if let Some(size) = self.scaled_below {
            flags.push(format!("scaled: as in the paper from {} on", size.name()));
        }
        if let Some(size) = self.measured_at {
            flags.push(format!("measured at {}", size.name()));
        }
        match self.judged.workloads {
            Some(some) if self.judged.measured.is_some() && some != of_workloads => {
                flags.push(format!("on {some} of {of_workloads} workloads"));
            }
            _ => {}
        }
        if self.needs_a_reason() && self.reasons.iter().any(|reason| reason.stale.is_some()) {
            flags.push("reason is stale".to_owned());
        }
        flags
    }

    pub fn shown_paper(&self) -> String {
        let sign = self.limit.map_or(String::new(), |limit| format!("{} ", limit.sign()));
        sign + &self.paper.shown(&self.unit)
    }

    pub fn shown_measured(&self) -> String {
        match self.entries.is_empty() {
            true => self.judged.shown(&self.measured_unit),
            false => "below".to_owned(),
        }
    }

    /// Other readings that are worth a line.
    pub fn notable_others(&self) -> impl Iterator<Item = &OtherRow> {
        self.others.iter().filter(|other| !other.near && other.judged.verdict != Verdict::NoData)
    }
}

impl Judged {
    pub fn shown(&self, unit: &str) -> String {
        self.measured.map_or("no data".to_owned(), |value| format!("{} {unit}", shown(value)))
    }

    pub fn shown_spread(&self) -> String {
        self.spread.map_or("-".to_owned(), |(low, high)| format!("{} to {}", shown(low), shown(high)))
    }

    /// The ratio; of a share, that of what remains if it is further off.
    pub fn shown_ratio(&self) -> String {
        let off = |ratio: f64| if ratio > 0.0 { ratio.ln().abs() } else { f64::INFINITY };
        match (self.ratio, self.remaining_ratio) {
            (Some(ratio), Some(remaining)) if off(remaining) > off(ratio) => {
                format!("{} rest", shown(remaining))
            }
            (Some(ratio), _) => shown(ratio),
            (None, _) => "-".to_owned(),
        }
    }
}

/// Whether a value has become another one.
fn moved(from: Option<f64>, to: Option<f64>) -> bool {
    match (from, to) {
        (Some(from), Some(to)) => (to - from).abs() > MOVED * from.abs(),
        _ => false,
    }
}

/// Why a reason for these values may not explain what was measured now.
fn stale(of: &BTreeMap<Size, f64>, size: Size, measured: Option<f64>) -> Option<String> {
    let measured = measured?;
    match of.get(&size) {
        None => Some(format!("no value was recorded for size {}", size.name())),
        Some(value) if moved(Some(*value), Some(measured)) => {
            Some(format!("written for {}, now measured: {}", shown(*value), shown(measured)))
        }
        Some(_) => None,
    }
}

#[cfg(test)]
#[path = "ledger_tests.rs"]
pub mod tests;
