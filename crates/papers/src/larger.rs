// SPDX-License-Identifier: MIT OR Apache-2.0
//! Claims that can be measured as in the paper from a certain size on: which variants they depend on, and how their measures replace scaled ones.

use crate::claim::Claim;
use crate::evidence::Evidence;
use crate::ledger::{About, Ledger, Row};
use crate::measure::Measures;
use crate::paper::{Paper, Variant};
use crate::size::Size;

/// Variants that the scaled ones of a paper are compared with.
const COMPARED: [(&str, &[&str]); 1] =
    [("e2mc", &["base", "bdi", "fpc", "ideal-fpc", "ideal-e2mc16", "e2mc16-1", "e2mc16-4"])];

/// Figures that show only scaled variants and what these are compared with.
const FIGURES: [(&str, &[&str]); 1] = [("e2mc", &["fig04b", "fig11a", "fig11b", "fig12c"])];

/// The figures of a paper drawn from the runs at the larger size, if there are any.
pub fn figures_at_needed_size(paper: &Paper) -> &'static [&'static str] {
    FIGURES.iter().find(|(name, _)| *name == paper.name).map_or(&[], |(_, figures)| figures)
}

/// The variants that claims with a minimum size depend on: those with lengths that are scaled below it, and what these are compared with.
pub fn at_needed_size(paper: &'static Paper) -> Vec<&'static Variant> {
    let scaled = |variant: &Variant| variant.techniques.iter().any(|text| Size::Tiny.scaled(text).1);
    if !paper.variants.iter().any(scaled) {
        return Vec::new();
    }
    let compared = COMPARED.iter().find(|(name, _)| *name == paper.name).map_or(&[][..], |(_, names)| names);
    paper.variants.iter().filter(|variant| scaled(variant) || compared.contains(&variant.name)).collect()
}

/// Whether a measure belongs to a claim, or to an entry of it, that needs a larger size.
fn needs_larger(claim: &Claim, name: &str) -> bool {
    let Some(rest) = name.strip_prefix(claim.id.as_str()) else { return false };
    if !(rest.is_empty() || rest.starts_with('.') || rest.starts_with(':')) {
        return false;
    }
    let entry = rest.split_once(':').map(|(_, entry)| entry);
    claim.min_size.is_some() || entry.is_some_and(|entry| claim.entry_min_size.contains_key(entry))
}

impl Ledger {
    /// Puts measures beside claims; those that need a larger size are judged by what was measured at it. A claim that needs it as a whole is compared
    /// with what else was measured at that size, never with the run's own.
    pub fn with_larger(about: About, claims: &[Claim], evidence: Evidence, larger: &Evidence) -> Ledger {
        let Some(size) = about.larger else { return Ledger::new(about, claims, &evidence) };
        let both = evidence.with_larger(larger, claims);
        let row = |claim: &Claim| {
            if claim.min_size.is_some_and(|least| about.size < least && least <= size) {
                return Row { measured_at: Some(size), ..Row::new(claim, larger, size) };
            }
            let mut row = Row::new(claim, &both, about.size);
            row.measured_at(size);
            row
        };
        let rows = claims.iter().map(row).collect();
        Ledger::of_rows(about, rows)
    }
}

impl Evidence {
    /// Replaces the measures of claims that need a larger size by those of `larger`.
    fn with_larger(self, larger: &Evidence, claims: &[Claim]) -> Evidence {
        let wanted = |name: &str| claims.iter().any(|claim| needs_larger(claim, name));
        let mut measures: Vec<Measures> = self.0;
        for (measures, larger) in measures.iter_mut().zip(&larger.0) {
            measures.take(larger, wanted);
        }
        Evidence(measures)
    }
}

impl Row {
    /// Notes that what needs a larger size was measured at this one.
    fn measured_at(&mut self, size: Size) {
        let mut reached = false;
        for below in std::iter::once(&mut self.scaled_below)
            .chain(self.entries.iter_mut().map(|entry| &mut entry.scaled_below))
        {
            reached |= below.take_if(|least| *least <= size).is_some();
        }
        if reached {
            self.measured_at = Some(size);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims;
    use crate::point::{PointEnergy, PointRecord, Points};
    use crate::samples;

    fn e2mc() -> &'static Paper {
        crate::find("e2mc").expect("a paper")
    }

    /// A run of a hundred lines; numbers differ by variant.
    fn point(variant: usize) -> PointRecord {
        let variant = variant as u64;
        let counters = samples::counters(&[
            ("mc.filled.count", &[100]),
            ("mc.written.count", &[0]),
            ("mc.encoded.bytes", &[6400 + variant]),
            ("mc.filled_bursts.count", &[240 + variant]),
            ("mc.written_bursts.count", &[0]),
        ]);
        let energy = PointEnergy { total_j: 2.0, ..PointEnergy::default() };
        PointRecord { counters, energy, ..samples::point(1000 + variant) }
    }

    fn measures(variants: &[&'static Variant]) -> Measures {
        let mut points = Points::new(vec!["transpose".to_owned()]);
        for (place, variant) in variants.iter().enumerate() {
            points.put(variant.name, "transpose", point(place));
        }
        (e2mc().evaluate)(&points).measures
    }

    #[test]
    fn the_variants_are_enough_for_every_claim_that_needs_a_larger_size() {
        let (all, some) = (e2mc().variants.iter().collect::<Vec<_>>(), at_needed_size(e2mc()));
        assert!(some.len() < all.len() / 2 + 2, "{}", some.len());
        let (all, some) = (measures(&all), measures(&some));
        let claims = claims().expect("they read");
        let mut seen = 0;
        for name in all.names().filter(|name| claims.iter().any(|claim| needs_larger(claim, name))) {
            assert_eq!(some.get(name).is_some(), all.get(name).is_some(), "{name}");
            seen += usize::from(all.get(name).is_some());
        }
        assert!(seen > 10, "{seen}");
        assert!(at_needed_size(crate::find("corf").expect("a paper")).is_empty());
    }

    #[test]
    fn only_what_needs_a_larger_size_is_taken_from_it() {
        let all: Vec<_> = e2mc().variants.iter().collect();
        let claims = claims().expect("they read");
        let scaled = Evidence(vec![measures(&all)]);
        let mut larger = Measures::default();
        for name in ["e2mc.online_raw", "e2mc.energy:online", "e2mc.energy:offline", "e2mc.over_bdi_fpc"] {
            larger.computed(name, 77.0);
        }
        let both = scaled.clone().with_larger(&Evidence(vec![larger]), &claims);
        assert_eq!(both.mean("e2mc.online_raw"), Some(77.0));
        assert_eq!(both.mean("e2mc.energy:online"), Some(77.0));
        assert_eq!(both.mean("e2mc.energy:offline"), scaled.mean("e2mc.energy:offline"));
        let claim = claims.iter().find(|claim| claim.id == "e2mc.online_raw").expect("a claim");
        let mut row = Row::new(claim, &both, Size::Small);
        assert_eq!(row.scaled_below, Some(Size::Large));
        row.measured_at(Size::Large);
        assert_eq!((row.scaled_below, row.measured_at), (None, Some(Size::Large)));
        assert!(row.flags(1).contains(&"measured at large".to_owned()), "{:?}", row.flags(1));
    }

    #[test]
    fn a_claim_at_a_larger_size_is_compared_with_what_was_measured_there() {
        let claims: Vec<_> = claims()
            .expect("they read")
            .into_iter()
            .filter(|claim| claim.id.starts_with("e2mc.online_"))
            .collect();
        let measured = |online: f64, offline: f64| {
            let mut measures = Measures::default();
            measures.computed("e2mc.online_raw", online);
            measures.computed("e2mc.raw_ratio:e2mc16", offline);
            Evidence(vec![measures])
        };
        // Online is below offline at each size, and above it across sizes.
        let (small, large) = (measured(1.1, 1.2), measured(1.3, 1.4));
        let about = crate::ledger::tests::made_up(1).about;
        let about = About { size: Size::Small, larger: Some(Size::Large), ..about };
        let ledger = Ledger::with_larger(about, &claims, small, &large);
        let row = ledger.rows.iter().find(|row| row.id == "e2mc.online_raw").expect("a row");
        assert_eq!((row.judged.measured, row.direction_holds), (Some(1.3), Some(true)));
        assert_eq!((row.scaled_below, row.measured_at), (None, Some(Size::Large)));
    }
}
