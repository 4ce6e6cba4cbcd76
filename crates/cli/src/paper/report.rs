// SPDX-License-Identifier: MIT OR Apache-2.0
//! The ledger on the terminal, and points that failed.

use std::path::Path;

use serde_json::Value;
use warpwatt_papers::{Judged, Ledger, Row};

use crate::console::Console;
use crate::points::folder;
use crate::table::{Table, paragraph};

/// The ledger; of an experiment without claims, its combinations.
pub fn print(ledger: &Ledger, figures: &[(String, Value)], console: &Console) {
    console.summary(&format!("{}\n", paragraph(&ledger.headline(), 0)));
    match ledger.rows.is_empty() {
        true => console.result(&combinations(figures)),
        false => console.result(&table(ledger)),
    }
    console.summary(&format!("\n{}{}\n", paragraph(&ledger.tally(), 0), remarks(&ledger.rows)));
}

/// Where everything is.
pub fn files(ledgers: &[&Ledger], out: &Path, console: &Console) {
    let place = |ledger: &Ledger| match ledgers.len() {
        1 => out.to_owned(),
        _ => out.join(&ledger.about.paper),
    };
    let mut text = String::new();
    for ledger in ledgers {
        text += &format!(
            "ledger of {}: {}, ledger.json, figures/\n",
            ledger.about.paper,
            place(ledger).join("ledger.md").display()
        );
    }
    text += &format!(
        "points: {}; tables: {}\n",
        out.join(folder::POINTS).display(),
        out.join(folder::DATA).display()
    );
    text += "readings and rules of the claims: ledger.md, or `warpwatt list claims`\n";
    console.summary(&text);
}

/// Savings of combinations, and the components in which their parts interact.
pub fn combinations(figures: &[(String, Value)]) -> String {
    let mut text = String::new();
    for (name, figure) in figures {
        let title = format!("{}, in percent", figure["title"].as_str().unwrap_or_default());
        if name.ends_with("-interaction") {
            text += &format!("{}{}", paragraph(&title, 0), by_combination(figure));
        } else if name.contains("-components-") {
            text += &format!("\n{}", paragraph(&format!("{title}: {}", interactions(figure)), 0));
        }
    }
    text
}

/// Columns of the figure of interactions that fit a line.
const SHOWN: [(&str, &str); 8] = [
    ("saved", "saved"),
    ("sum of the parts", "sum of parts"),
    ("interaction", "interaction"),
    ("interaction: dynamic", "dynamic"),
    ("interaction: static", "static"),
    ("interaction: by time", "by time"),
    ("time saved", "time saved"),
    ("time: sum", "time sum"),
];

/// A row for each combination.
fn by_combination(figure: &Value) -> String {
    let all: Vec<_> = figure["series"].as_array().into_iter().flatten().collect();
    let columns: Vec<_> = ["combination"].into_iter().chain(SHOWN.map(|(_, shown)| shown)).collect();
    let series = SHOWN.map(|(name, _)| all.iter().find(|series| series["name"] == name));
    let labels = all.first().and_then(|series| series["values"].as_object()).into_iter().flatten();
    let mut table = Table::new(&columns).hang_first().optional(4).optional(5).optional(6);
    for (label, _) in labels {
        let shown = |series: &Option<&&Value>| {
            let value = series.and_then(|series| series["values"][label].as_f64());
            value.map_or("no data".to_owned(), |value| format!("{value:.2}"))
        };
        table.cells(std::iter::once(label.clone()).chain(series.iter().map(shown)).collect());
    }
    table.render()
}

/// Components whose interaction is largest.
const LARGEST: usize = 4;

/// Components in which what is saved together differs most from the sum of the parts.
fn interactions(figure: &Value) -> String {
    let all = figure["series"].as_array().into_iter().flatten();
    let interaction = all.clone().find(|series| series["name"] == "interaction");
    let values = interaction.and_then(|series| series["values"].as_object()).into_iter().flatten();
    let mut found: Vec<_> =
        values.filter_map(|(component, value)| Some((component, value.as_f64()?))).collect();
    found.sort_by(|one, other| other.1.abs().total_cmp(&one.1.abs()));
    let shown = |(component, value): &(&String, f64)| {
        let alone = all.clone().filter_map(|series| {
            let part = series["name"].as_str()?.strip_suffix(" alone")?;
            let saved = series["values"][component.as_str()].as_f64()?;
            (saved.abs() >= 0.005).then(|| format!("{part} {saved:.2}"))
        });
        let alone: Vec<_> = alone.collect();
        format!("{component} {value:+.2} (alone: {})", alone.join(", "))
    };
    let largest: Vec<_> = found.iter().take(LARGEST).map(shown).collect();
    format!("together minus the sum of the parts, {}", largest.join("; "))
}

fn table(ledger: &Ledger) -> String {
    let all = ledger.about.workloads.len();
    let columns = ["claim", "paper", "measured", "seeds", "ratio", "verdict", ""];
    let mut table = Table::new(&columns).left(5).hang_first().fold(1).fold(2).optional(3).last_below();
    for row in &ledger.rows {
        let mut line = |name: String, paper: String, measured: String, judged: &Judged, flags: String| {
            let verdict = judged.verdict.name().to_owned();
            table.row([name, paper, measured, judged.shown_spread(), judged.shown_ratio(), verdict, flags]);
        };
        let flags = row.flags(all).join("; ");
        line(row.id.clone(), row.shown_paper(), row.shown_measured(), &row.judged, flags);
        for entry in &row.entries {
            let measured = entry.judged.shown(&row.measured_unit);
            let paper = format!("{} {}", entry.paper, row.unit);
            let scaled =
                entry.scaled_below.map_or(String::new(), |size| format!("scaled below {}", size.name()));
            line(format!("  {}", entry.name), paper, measured, &entry.judged, scaled);
        }
        for other in row.notable_others() {
            let measured = other.judged.shown(&row.measured_unit);
            line(format!("  or {}", other.name), String::new(), measured, &other.judged, String::new());
        }
    }
    table.render()
}

/// Reasons for what does not hold, claim by claim.
fn remarks(rows: &[Row]) -> String {
    let mut text = String::new();
    for row in rows.iter().filter(|row| row.needs_a_reason()) {
        text += &format!("\n{}", paragraph(&format!("{}: {}", row.id, row.what), 0));
        for remark in row.remarks() {
            text += &paragraph(&remark, 2);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use warpwatt_papers::{About, Column, Evidence, Measures, Size};

    use super::*;

    fn ledger() -> Ledger {
        let about = About {
            paper: "warped-compression".to_owned(),
            title: "Warped-Compression".to_owned(),
            citation: String::new(),
            tool: warpwatt_record::tool(),
            simulated_by: None,
            gpus: vec!["gtx480-wc".to_owned()],
            gpu_sha256: String::new(),
            technologies: vec!["wc45".to_owned()],
            size: Size::Tiny,
            seeds: vec![1],
            workloads: ["bfs", "lib"].map(str::to_owned).into(),
            of_suite: false,
            missing: Vec::new(),
            stand_ins: Default::default(),
            quick_of: None,
            larger: None,
            points: 36,
            failed: Vec::new(),
        };
        let mut measures = Measures::default();
        for (name, value) in [("wc.rf_energy", 48.0), ("wc.rf_energy.against_gating", 23.0)] {
            measures.mean(name, &Column(vec![Some(value), Some(value)]));
        }
        measures.mean("wc.ratio_divergent", &Column(vec![Some(1.3), None]));
        let claims = warpwatt_papers::claims().expect("claims");
        let claims: Vec<_> = claims.into_iter().filter(|claim| claim.id.starts_with("wc.")).collect();
        Ledger::new(about, &claims, &Evidence(vec![measures]))
    }

    #[test]
    fn a_row_says_on_what_it_stands_and_has_other_readings_below() {
        let table = table(&ledger());
        let lines: Vec<_> = table.lines().collect();
        let at = |id: &str| lines.iter().position(|line| line.split(' ').next() == Some(id)).expect("a row");
        assert_eq!(lines[at("wc.ratio_divergent") + 1], "    on 1 of 2 workloads", "{table}");
        assert!(lines[at("wc.rf_energy")].ends_with("  direction"), "{table}");
        assert_eq!(lines[at("wc.rf_energy") + 1], "    reason is stale", "{table}");
        let other = lines[at("wc.rf_energy") + 2];
        assert!(other.starts_with("  or against_gating") && other.ends_with("holds"), "{table}");
        assert!(lines[at("wc.slowdown")].ends_with("no data"), "{table}");
    }

    #[test]
    fn reasons_are_told_within_a_hundred_columns() {
        let text = remarks(&ledger().rows);
        assert!(text.contains("\nwc.rf_energy: register-file energy saved"), "{text}");
        assert!(text.contains("(figures/gating.json)"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    }
}
