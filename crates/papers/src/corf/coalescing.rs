// SPDX-License-Identifier: MIT OR Apache-2.0
//! What could come together, and what does: Figures 4, 6, 13 and 14, and the code that it takes, Figure 19.

use super::mix::Mix;
use super::{BASE, BRANCHES, CORF, CORFPP, FIRST_FIT, ONE_BANK, PACKING, PARITY, PERFECT, PROFILE};
use crate::figure::{Figure, Series};
use crate::measure::{Column, Mean, over};
use crate::paper::Findings;
use crate::point::Points;

/// One counter in percent of another.
fn percent(points: &Points, variant: &str, part: &str, whole: &str) -> Column {
    points.column(variant, |point| over(100.0 * point.count(part)?, point.count(whole)?))
}

const MULTI: &str = "packing.multi_source.count";

/// Instructions of several sources of which two came together.
fn coalesced(points: &Points, variant: &str) -> Column {
    percent(points, variant, "packing.coalesced_instructions.count", MULTI)
}

/// Accesses to entries, of reads and writes.
fn accesses(points: &Points, variant: &str) -> Column {
    points.column(variant, |point| Some(point.count("rf.reads.count")? + point.count("rf.writes.count")?))
}

/// Accesses over those without the technique.
pub fn relative_accesses(points: &Points, variant: &str) -> Column {
    accesses(points, variant).over(&accesses(points, BASE))
}

pub fn evaluate(points: &Points, mix: &Mix, findings: &mut Findings) {
    let multi = percent(points, PACKING, MULTI, "sm.issued.count");
    let multi_reads = percent(points, PACKING, "packing.multi_source_reads.count", "renaming.lookups.count");
    let potential = percent(points, PACKING, "packing.potential.count", MULTI);
    let both_words = percent(points, PACKING, "packing.potential_both.count", MULTI);
    let measures = &mut findings.measures;
    measures.mean("corf.multi_source", &multi);
    measures.mean("corf.multi_source_reads", &multi_reads);
    measures.mean("corf.potential", &potential);
    measures.mean("corf.potential.both_words", &both_words);
    measures.by_class("corf.potential.classes", &potential, Mean::Arithmetic, &mix.classes);
    let wide = percent(points, PACKING, "packing.multi_source_wide.count", MULTI);
    measures.mean("corf.potential.wide", &wide);
    // With a 64-bit operand as one read, as it is one source.
    let by_operand =
        percent(points, PACKING, "packing.multi_source_operands.count", "packing.operands.count");
    measures.mean("corf.multi_source_reads.by_operand", &by_operand);
    // Registers that an instruction of several sources reads, and one of the others.
    let reads = "packing.multi_source_reads.count";
    let each = points.column(PACKING, |point| over(point.count(reads)?, point.count(MULTI)?));
    let rest = points.column(PACKING, |point| {
        let others = point.count("sm.issued.count")? - point.count(MULTI)?;
        over(point.count("renaming.lookups.count")? - point.count(reads)?, others)
    });
    measures.mean("corf.multi_source_reads.each", &each);
    measures.mean("corf.multi_source_reads.rest", &rest);
    measures.most("corf.potential", &potential, &points.workloads);
    let full = points.column(PACKING, |point| {
        let width = |width: usize| point.bucket("packing.read_widths.histogram", width);
        over(100.0 * width(3)?, width(0)? + width(1)? + width(2)? + width(3)?)
    });
    for name in ["sad", "gaussian"] {
        let place = points.workloads.iter().position(|workload| workload == name);
        let value = place.and_then(|place| potential.0[place]);
        measures.of(format!("corf.potential_peaks:{name}"), value, usize::from(value.is_some()));
        let both = place.and_then(|place| both_words.0[place]);
        measures.of(format!("corf.potential_peaks.both_{name}"), both, usize::from(both.is_some()));
        let full = place.and_then(|place| full.0[place]);
        measures.of(format!("corf.potential_peaks.full_{name}"), full, usize::from(full.is_some()));
    }
    let [first_fit, corf, corfpp, parity] =
        [FIRST_FIT, CORF, CORFPP, PARITY].map(|variant| coalesced(points, variant));
    measures.mean("corf.coalesced_first_fit", &first_fit);
    measures.mean("corf.coalesced", &corf);
    measures.mean("corfpp.coalesced", &corfpp);
    measures.mean("corfpp.coalesced.no_metadata", &parity);
    let one_bank = coalesced(points, ONE_BANK);
    measures.mean("corf.coalesced_first_fit.one_bank", &one_bank);
    let [profile, profile_sides] = PROFILE.map(|variant| coalesced(points, variant));
    let [perfect, perfect_sides] = PERFECT.map(|variant| coalesced(points, variant));
    for (id, variant, column, profile, perfect) in [
        ("corf.coalesced", CORF, &corf, &profile, &perfect),
        ("corfpp.coalesced", CORFPP, &corfpp, &profile_sides, &perfect_sides),
    ] {
        measures.most(id, column, &points.workloads);
        measures.mean(format!("{id}.profile"), profile);
        measures.mean(format!("{id}.perfect"), perfect);
        let lower = percent(points, variant, "packing.coalesced_lower.count", MULTI);
        measures.mean(format!("{id}.lower_words"), &lower);
        measures.by_class(&format!("{id}.classes"), column, Mean::Arithmetic, &mix.classes);
    }
    let packed = percent(points, CORF, "corf.together.count", "corf.partners.count");
    measures.mean("corf.pairs_packed", &packed);
    measures.most("corf.pairs_packed", &packed, &points.workloads);
    let changes = percent(points, PACKING, "packing.grown.count", "rf.writes.count");
    measures.mean("corf.size_changes", &changes);
    measures.most("corf.size_changes", &changes, &points.workloads);
    let grown = |variant: &str| percent(points, variant, "packing.grown.count", "rf.writes.count");
    measures.mean("corf.size_changes.released", &grown(CORF));
    measures.mean("corf.size_changes.branches", &grown(BRANCHES[0]));
    measures.mean("corf.size_changes.released_branches", &grown(BRANCHES[1]));
    let code = percent(points, CORFPP, "corfpp.metadata.count", "corfpp.code.count");
    let code_of_corf = percent(points, CORF, "corf.metadata.count", "corf.code.count");
    measures.mean("corf.code_size", &code);
    measures.mean("corf.code_size.of_corf", &code_of_corf);
    let saved = |variant: &str| relative_accesses(points, variant).map(|share| 100.0 * (1.0 - share));
    mix.measure(measures, "corf.accesses", &saved(CORF), Mean::Arithmetic);
    mix.measure(measures, "corfpp.accesses", &saved(CORFPP), Mean::Arithmetic);

    // Where the difference between instructions that coalesce and accesses that are saved comes from.
    let per_instruction = |variant: &str, name: &str| {
        points.column(variant, |point| over(point.count(name)?, point.count("sm.issued.count")?))
    };
    let all = per_instruction(BASE, "rf.reads.count").plus(&per_instruction(BASE, "rf.writes.count"));
    measures.mean("corf.accesses.per_instruction", &all);
    for (id, variant) in [("corf.accesses", CORF), ("corfpp.accesses", CORFPP)] {
        let percent = |name: &str| per_instruction(variant, name).map(|each| 100.0 * each);
        measures.mean(format!("{id}.coalesced"), &percent("packing.coalesced.count"));
        measures.mean(format!("{id}.growth"), &percent("packing.growth_reads.count"));
    }

    let mut figure = |name, place, title, series| {
        findings.figures.push(Figure::new(name, place, title, &points.workloads, series));
    };
    let claimed = |name: &str, column: &Column, id| Series::new(name, "%", column.clone()).claimed(id);
    figure(
        "fig04",
        "Figure 4",
        "Instructions of several register sources whose reads could coalesce",
        vec![
            claimed("potential", &potential, "corf.potential"),
            Series::new("potential, both words", "%", both_words),
            claimed("first fit", &first_fit, "corf.coalesced_first_fit"),
            claimed("instructions of several sources", &multi, "corf.multi_source"),
            claimed("reads that these make", &multi_reads, "corf.multi_source_reads"),
        ],
    );
    figure(
        "fig06",
        "Figure 6",
        "Registers of a pair that were placed in their partner's entry",
        vec![claimed("together", &packed, "corf.pairs_packed")],
    );
    figure(
        "fig13",
        "Figure 13",
        "Instructions of several sources of which two were read by one access",
        vec![
            claimed("first fit", &first_fit, "corf.coalesced_first_fit"),
            claimed("CORF", &corf, "corf.coalesced"),
            claimed("CORF++", &corfpp, "corfpp.coalesced"),
            Series::new("CORF++, odd and even", "%", parity),
            Series::new("CORF, pairs of a profile", "%", profile),
            Series::new("CORF, pairs of the same run", "%", perfect),
            Series::new("CORF++, sides of a profile", "%", profile_sides),
            Series::new("CORF++, sides of the same run", "%", perfect_sides),
            Series::new("first fit, one bank", "%", one_bank),
        ],
    );
    figure(
        "growth",
        "",
        "Writes that move a register because its width grew, of all writes",
        vec![
            claimed("packing", &changes, "corf.size_changes"),
            Series::new("CORF", "%", grown(CORF)),
            Series::new("packing, no guards for short branches", "%", grown(BRANCHES[0])),
            Series::new("CORF, no guards for short branches", "%", grown(BRANCHES[1])),
        ],
    );
    figure(
        "fig14",
        "Figure 14",
        "Register-file accesses saved",
        vec![Series::new("CORF", "%", saved(CORF)), Series::new("CORF++", "%", saved(CORFPP))],
    );
    figure(
        "fig19",
        "Figure 19",
        "Metadata instructions over static instructions, weighted by warps",
        vec![claimed("CORF++", &code, "corf.code_size"), Series::new("CORF", "%", code_of_corf)],
    );
}
