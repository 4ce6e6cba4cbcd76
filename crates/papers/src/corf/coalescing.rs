// SPDX-License-Identifier: MIT OR Apache-2.0
//! Operands that could be read together and those that are: Figures 4, 6, 13 and 14, and the metadata instructions for it, Figure 19.

use super::mix::Mix;
use super::{BASE, BRANCHES, CORF, CORFPP, FIRST_FIT, ONE_BANK, PACKING, PARITY, PERFECT, PROFILE};
use crate::figure::{Figure, Series};
use crate::measure::{Column, Mean, Measures, over};
use crate::paper::Findings;
use crate::point::Points;

/// One counter in percent of another.
fn percent(points: &Points, variant: &str, part: &str, whole: &str) -> Column {
    points.column(variant, |point| over(100.0 * point.count(part)?, point.count(whole)?))
}

const MULTI: &str = "packing.multi_source.count";
const MULTI_READS: &str = "packing.multi_source_reads.count";

/// Instructions of several sources of which two were read by one access.
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
    let first_fit = coalesced(points, FIRST_FIT);
    potential(points, mix, &first_fit, findings);
    pairs(points, findings);
    coalescing(points, mix, &first_fit, findings);
    growth(points, findings);
    savings(points, mix, findings);
    code(points, findings);
}

fn claimed(name: &str, column: &Column, id: &'static str) -> Series {
    Series::new(name, "%", column.clone()).claimed(id)
}

/// Instructions of several sources, and those whose operands fit one entry: Figure 4.
fn potential(points: &Points, mix: &Mix, first_fit: &Column, findings: &mut Findings) {
    let multi = percent(points, PACKING, MULTI, "sm.issued.count");
    let multi_reads = percent(points, PACKING, MULTI_READS, "renaming.lookups.count");
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
    measures.most("corf.potential", &potential, &points.workloads);
    reads_of_sources(points, measures);
    peaks(points, &potential, &both_words, measures);
    findings.figures.push(Figure::new(
        "fig04",
        "Figure 4",
        "Instructions of several register sources whose reads could coalesce",
        &points.workloads,
        vec![
            claimed("potential", &potential, "corf.potential"),
            Series::new("potential, both words", "%", both_words),
            claimed("first fit", first_fit, "corf.coalesced_first_fit"),
            claimed("instructions of several sources", &multi, "corf.multi_source"),
            claimed("reads that these make", &multi_reads, "corf.multi_source_reads"),
        ],
    ));
}

/// Registers read by an instruction of several sources and by one of the others.
fn reads_of_sources(points: &Points, measures: &mut Measures) {
    // With a 64-bit operand as one read, as it is one source.
    let by_operand =
        percent(points, PACKING, "packing.multi_source_operands.count", "packing.operands.count");
    measures.mean("corf.multi_source_reads.by_operand", &by_operand);
    let each = points.column(PACKING, |point| over(point.count(MULTI_READS)?, point.count(MULTI)?));
    let rest = points.column(PACKING, |point| {
        let others = point.count("sm.issued.count")? - point.count(MULTI)?;
        over(point.count("renaming.lookups.count")? - point.count(MULTI_READS)?, others)
    });
    measures.mean("corf.multi_source_reads.each", &each);
    measures.mean("corf.multi_source_reads.rest", &rest);
}

/// The two programs that the text names, with the share of their operands that use all four bytes.
fn peaks(points: &Points, potential: &Column, both_words: &Column, measures: &mut Measures) {
    let full = points.column(PACKING, |point| {
        let width = |width: usize| point.bucket("packing.read_widths.histogram", width);
        over(100.0 * width(3)?, width(0)? + width(1)? + width(2)? + width(3)?)
    });
    for name in ["sad", "gaussian"] {
        let place = points.workloads.iter().position(|workload| workload == name);
        for (id, column) in [(":", potential), (".both_", both_words), (".full_", &full)] {
            let value = place.and_then(|place| column.0[place]);
            measures.of(format!("corf.potential_peaks{id}{name}"), value, usize::from(value.is_some()));
        }
    }
}

/// Registers of pairs that share an entry: Figure 6.
fn pairs(points: &Points, findings: &mut Findings) {
    let packed = percent(points, CORF, "corf.together.count", "corf.partners.count");
    findings.measures.mean("corf.pairs_packed", &packed);
    findings.measures.most("corf.pairs_packed", &packed, &points.workloads);
    findings.figures.push(Figure::new(
        "fig06",
        "Figure 6",
        "Registers of a pair that were placed in their partner's entry",
        &points.workloads,
        vec![claimed("together", &packed, "corf.pairs_packed")],
    ));
}

/// Instructions that read two sources by one access: Figure 13.
fn coalescing(points: &Points, mix: &Mix, first_fit: &Column, findings: &mut Findings) {
    let [corf, corfpp, parity, one_bank] =
        [CORF, CORFPP, PARITY, ONE_BANK].map(|variant| coalesced(points, variant));
    let [profile, profile_sides] = PROFILE.map(|variant| coalesced(points, variant));
    let [perfect, perfect_sides] = PERFECT.map(|variant| coalesced(points, variant));
    let measures = &mut findings.measures;
    measures.mean("corf.coalesced_first_fit", first_fit);
    measures.mean("corf.coalesced", &corf);
    measures.mean("corfpp.coalesced", &corfpp);
    measures.mean("corfpp.coalesced.no_metadata", &parity);
    measures.mean("corf.coalesced_first_fit.one_bank", &one_bank);
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
    findings.figures.push(Figure::new(
        "fig13",
        "Figure 13",
        "Instructions of several sources of which two were read by one access",
        &points.workloads,
        vec![
            claimed("first fit", first_fit, "corf.coalesced_first_fit"),
            claimed("CORF", &corf, "corf.coalesced"),
            claimed("CORF++", &corfpp, "corfpp.coalesced"),
            Series::new("CORF++, odd and even", "%", parity),
            Series::new("CORF, pairs of a profile", "%", profile),
            Series::new("CORF, pairs of the same run", "%", perfect),
            Series::new("CORF++, sides of a profile", "%", profile_sides),
            Series::new("CORF++, sides of the same run", "%", perfect_sides),
            Series::new("first fit, one bank", "%", one_bank),
        ],
    ));
}

/// Writes that move a register because its width grew.
fn growth(points: &Points, findings: &mut Findings) {
    let grown = |variant: &str| percent(points, variant, "packing.grown.count", "rf.writes.count");
    let (packing, corf) = (grown(PACKING), grown(CORF));
    let [packing_branches, corf_branches] = BRANCHES.map(grown);
    let measures = &mut findings.measures;
    measures.mean("corf.size_changes", &packing);
    measures.most("corf.size_changes", &packing, &points.workloads);
    measures.mean("corf.size_changes.released", &corf);
    measures.mean("corf.size_changes.branches", &packing_branches);
    measures.mean("corf.size_changes.released_branches", &corf_branches);
    findings.figures.push(Figure::new(
        "growth",
        "",
        "Writes that move a register because its width grew, of all writes",
        &points.workloads,
        vec![
            claimed("packing", &packing, "corf.size_changes"),
            Series::new("CORF", "%", corf),
            Series::new("packing, no guards for short branches", "%", packing_branches),
            Series::new("CORF, no guards for short branches", "%", corf_branches),
        ],
    ));
}

/// Accesses saved, and why they differ from the instructions that coalesce: Figure 14.
fn savings(points: &Points, mix: &Mix, findings: &mut Findings) {
    let saved = |variant: &str| relative_accesses(points, variant).map(|share| 100.0 * (1.0 - share));
    let per_instruction = |variant: &str, name: &str| {
        points.column(variant, |point| over(point.count(name)?, point.count("sm.issued.count")?))
    };
    let measures = &mut findings.measures;
    let all = per_instruction(BASE, "rf.reads.count").plus(&per_instruction(BASE, "rf.writes.count"));
    measures.mean("corf.accesses.per_instruction", &all);
    for (id, variant) in [("corf.accesses", CORF), ("corfpp.accesses", CORFPP)] {
        mix.measure(measures, id, &saved(variant), Mean::Arithmetic);
        let percent = |name: &str| per_instruction(variant, name).map(|each| 100.0 * each);
        measures.mean(format!("{id}.coalesced"), &percent("packing.coalesced.count"));
        measures.mean(format!("{id}.growth"), &percent("packing.growth_reads.count"));
    }
    findings.figures.push(Figure::new(
        "fig14",
        "Figure 14",
        "Register-file accesses saved",
        &points.workloads,
        vec![Series::new("CORF", "%", saved(CORF)), Series::new("CORF++", "%", saved(CORFPP))],
    ));
}

/// Metadata instructions: Figure 19.
fn code(points: &Points, findings: &mut Findings) {
    let code = percent(points, CORFPP, "corfpp.metadata.count", "corfpp.code.count");
    let code_of_corf = percent(points, CORF, "corf.metadata.count", "corf.code.count");
    findings.measures.mean("corf.code_size", &code);
    findings.measures.mean("corf.code_size.of_corf", &code_of_corf);
    findings.figures.push(Figure::new(
        "fig19",
        "Figure 19",
        "Metadata instructions over static instructions, weighted by warps",
        &points.workloads,
        vec![claimed("CORF++", &code, "corf.code_size"), Series::new("CORF", "%", code_of_corf)],
    ));
}
