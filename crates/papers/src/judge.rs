// SPDX-License-Identifier: MIT OR Apache-2.0
//! Verdicts: one number against one number, the worst of several, and whether seeds agree.
//!
//! A value `holds` when the measurement is within 0.8 to 1.25 of it, or as near as the paper's rounding. Of a share of a whole, what remains
//! has to be as near. A limit holds on its side; an ordering holds when its predicate is true. A value that does not hold keeps its
//! `direction` when the predicate is true; else it `differs`. Numbers are rounded before they are judged, so that the numbers shown explain the verdict.

use serde::Serialize;

use crate::claim::Claim;
use crate::evidence::{Evidence, Sample};
use crate::number::{LEDGER, rounded};
use crate::value::ClaimValue;

/// Ratios of measurement to claim that hold.
pub const NEAR: std::ops::RangeInclusive<f64> = 0.8..=1.25;
/// All of a whole, in percent.
const WHOLE: f64 = 100.0;

/// From the best to the worst.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
pub enum Verdict {
    #[serde(rename = "holds")]
    Holds,
    #[serde(rename = "no data")]
    NoData,
    #[serde(rename = "direction")]
    Direction,
    #[serde(rename = "differs")]
    Differs,
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

/// A measurement compared with the claimed value.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Judged {
    /// The mean over seeds.
    pub measured: Option<f64>,
    /// The least and the most of any seed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spread: Option<(f64, f64)>,
    /// How many seeds it was measured with.
    pub seeds: usize,
    /// Measured over claimed.
    pub ratio: Option<f64>,
    /// Of a share: what remains of the whole, measured over claimed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remaining_ratio: Option<f64>,
    pub verdict: Verdict,
    /// Verdicts of single seeds, where they are not all that of the mean.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub by_seed: Vec<Verdict>,
    /// Workloads that it is based on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workloads: Option<usize>,
}

impl Judged {
    /// The verdict changes within the spread of the seeds.
    pub fn is_unsettled(&self) -> bool {
        !self.by_seed.is_empty()
    }
}

/// What is judged: a claim, or one entry of it, by its own reading or by another.
struct Case<'a> {
    claim: &'a Claim,
    /// Words have none.
    claimed: Option<f64>,
    /// The name of another reading.
    other: Option<&'a str>,
    /// What is measured for it.
    name: String,
}

impl Case<'_> {
    /// Whether the direction is right, by what one seed measured or by the means. Other claims are read in the same way, where they can be.
    fn direction(&self, value: f64, seed: Option<usize>, evidence: &Evidence) -> Option<bool> {
        let find = |name: &str| match seed {
            Some(seed) => evidence.0.get(seed)?.value(name),
            None => evidence.mean(name),
        };
        self.claim.direction.is_true(&|asked| {
            if asked == "each" || asked == self.claim.id {
                return Some(value);
            }
            let same = self.other.and_then(|other| {
                find(&match asked.split_once(':') {
                    Some((id, entry)) => format!("{id}.{other}:{entry}"),
                    None => format!("{asked}.{other}"),
                })
            });
            same.or_else(|| find(asked))
        })
    }
}

fn judge(case: &Case, evidence: &Evidence) -> Judged {
    let Case { claim, claimed, name, .. } = case;
    let claimed = *claimed;
    let Some(sample) = evidence.sample(name) else {
        let unused = claimed.is_some() && claimed == claim.unused;
        return Judged {
            measured: None,
            spread: None,
            seeds: 0,
            ratio: None,
            remaining_ratio: None,
            verdict: if unused { Verdict::Holds } else { Verdict::NoData },
            by_seed: Vec::new(),
            workloads: None,
        };
    };
    let measured = sample.mean();
    let verdict = one(claim, claimed, measured, case.direction(measured, None, evidence));
    let by_seed: Vec<_> = each_seed(evidence, name)
        .map(|(seed, value)| {
            one(claim, claimed, rounded(value, LEDGER), case.direction(value, Some(seed), evidence))
        })
        .collect();
    let same = by_seed.iter().all(|other| *other == verdict);
    Judged {
        measured: Some(measured),
        spread: sample.spread(),
        seeds: sample.values.len(),
        ratio: claimed.and_then(|claimed| ratio(measured, claimed)),
        remaining_ratio: claimed
            .filter(|_| claim.share && claim.limit.is_none())
            .and_then(|claimed| ratio(WHOLE - measured, WHOLE - claimed)),
        verdict,
        by_seed: if same || !has_spread(&sample) { Vec::new() } else { by_seed },
        workloads: sample.workloads,
    }
}

fn has_spread(sample: &Sample) -> bool {
    sample.spread().is_some()
}

fn each_seed<'a>(evidence: &'a Evidence, name: &'a str) -> impl Iterator<Item = (usize, f64)> + 'a {
    evidence.0.iter().enumerate().filter_map(move |(seed, measures)| Some((seed, measures.value(name)?)))
}

fn ratio(measured: f64, claimed: f64) -> Option<f64> {
    (claimed != 0.0).then(|| rounded(measured / claimed, LEDGER))
}

/// The verdict on one measurement.
fn one(claim: &Claim, claimed: Option<f64>, value: f64, direction: Option<bool>) -> Verdict {
    let Some(claimed) = claimed else {
        // Orderings have no number to be near to.
        return match direction {
            Some(true) => Verdict::Holds,
            Some(false) => Verdict::Differs,
            None => Verdict::NoData,
        };
    };
    let fits = match claim.limit {
        Some(limit) => limit.holds(value, claimed),
        // The paper marks it as not used.
        None if claim.unused == Some(claimed) => false,
        None => fits(claim, claimed, value),
    };
    match (fits, direction) {
        (true, _) => Verdict::Holds,
        (false, Some(true)) => Verdict::Direction,
        (false, _) => Verdict::Differs,
    }
}

fn fits(claim: &Claim, claimed: f64, value: f64) -> bool {
    // Twelve digits take the error of the subtraction away.
    let off = rounded(value - claimed, 12);
    let rounding = claim.rounding();
    let rounds = match claim.rounded_down {
        true => (0.0..2.0 * rounding).contains(&off),
        false => off.abs() <= rounding,
    };
    let near = |value: f64, claimed: f64| ratio(value, claimed).is_some_and(|ratio| NEAR.contains(&ratio));
    rounds || near(value, claimed) && (!claim.share || near(WHOLE - value, WHOLE - claimed))
}

/// The claim's own verdict: of a map, the worst of its entries.
fn worst<'a>(entries: impl Iterator<Item = &'a Judged>) -> Verdict {
    entries.map(|judged| judged.verdict).max().unwrap_or(Verdict::NoData)
}

/// The whole of a claim by its own reading, or by another: the value, or the worst of all entries, and these.
pub fn whole(
    claim: &Claim,
    other: Option<&str>,
    evidence: &Evidence,
) -> (Judged, Vec<(String, f64, Judged)>) {
    let id = other.map_or(claim.id.clone(), |other| format!("{}.{other}", claim.id));
    if !matches!(claim.value, ClaimValue::Map(_)) {
        return (
            judge(&Case { claim, claimed: claim.value.number(), other, name: id }, evidence),
            Vec::new(),
        );
    }
    let entries: Vec<_> = claim
        .entries()
        .into_iter()
        .map(|(entry, claimed)| {
            let case = Case { claim, claimed: Some(claimed), other, name: format!("{id}:{entry}") };
            let judged = judge(&case, evidence);
            (entry, claimed, judged)
        })
        .collect();
    let all = || entries.iter().map(|(_, _, judged)| judged);
    let some = all().any(|judged| judged.measured.is_some());
    // With the worst verdict of each seed, the whole changes only if an entry changes for the worse.
    let seeds = all().map(|judged| judged.by_seed.len()).max().unwrap_or_default();
    let verdict = if some { worst(all()) } else { Verdict::NoData };
    let by_seed: Vec<_> = (0..seeds)
        .map(|seed| {
            all()
                .map(|judged| judged.by_seed.get(seed).copied().unwrap_or(judged.verdict))
                .max()
                .unwrap_or(verdict)
        })
        .collect();
    let same = by_seed.iter().all(|other| *other == verdict);
    let judged = Judged {
        measured: None,
        spread: None,
        seeds: all().map(|judged| judged.seeds).max().unwrap_or_default(),
        ratio: None,
        remaining_ratio: None,
        verdict,
        by_seed: if same { Vec::new() } else { by_seed },
        workloads: None,
    };
    (judged, entries)
}
