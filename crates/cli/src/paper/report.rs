// SPDX-License-Identifier: MIT OR Apache-2.0
//! The ledger on the terminal, and points that failed.

use std::path::Path;

use warpwatt_papers::{Ledger, Row};

use super::folder;
use super::plan::Plan;
use crate::console::Console;
use crate::table::{Table, wrapped};

/// Columns that remarks take.
const WIDTH: usize = 100;
/// Failed points that are told one by one; the log has all of them.
const TOLD: usize = 10;

pub fn print(ledger: &Ledger, out: &Path, console: &Console) {
    console.summary(&format!("{}\n", wrapped(&ledger.headline(), 0, WIDTH)));
    console.result(&table(ledger));
    let mut text = format!("\n{}{}", wrapped(&ledger.tally(), 0, WIDTH), remarks(&ledger.rows));
    text += &format!(
        "\nledger: {}, ledger.json; figures: {}; points: {}\n",
        out.join("ledger.md").display(),
        out.join(folder::FIGURES).display(),
        out.join(folder::POINTS).display()
    );
    console.summary(&text);
}

fn table(ledger: &Ledger) -> String {
    let all = ledger.about.workloads.len();
    let mut table = Table::new(&["claim", "paper", "measured", "ratio", "verdict", ""]).left(4).left(5);
    for row in &ledger.rows {
        // A mean of fewer than there are is worth less.
        let fewer = row.workloads.filter(|workloads| row.measured.is_some() && *workloads != all);
        table.row([
            row.id.clone(),
            row.shown_paper(),
            row.shown_measured(),
            row.shown_ratio(),
            row.verdict.name().to_owned(),
            fewer.map_or(String::new(), |some| format!("on {some} of {all} workloads")),
        ]);
    }
    table.render()
}

/// What is to be said about claims, those together of which the same is to be said.
fn remarks(rows: &[Row]) -> String {
    let mut told: Vec<(Vec<&Row>, Vec<String>)> = Vec::new();
    for row in rows {
        let remarks: Vec<_> = row.reading.clone().into_iter().chain(row.remark()).collect();
        match told.iter_mut().find(|(_, others)| *others == remarks) {
            _ if remarks.is_empty() => {}
            Some((rows, _)) => rows.push(row),
            None => told.push((vec![row], remarks)),
        }
    }
    let mut text = String::new();
    for (rows, remarks) in told {
        let heading = match rows[..] {
            [row] => format!("{}: {}", row.id, row.what),
            _ => rows.iter().map(|row| row.id.as_str()).collect::<Vec<_>>().join(", "),
        };
        text += &format!("\n{}", wrapped(&heading, 0, WIDTH));
        for remark in remarks {
            text += &wrapped(&remark, 2, WIDTH);
        }
    }
    text
}

/// Says which points failed, and how to run them alone.
pub fn failures(plan: &Plan, failed: &[(usize, String)], console: &Console) {
    for (task, reason) in failed.iter().take(TOLD) {
        let task = &plan.tasks[*task];
        console.warn(&format!("{} failed: {reason}\n  {}", task.name(), task.point.command()));
    }
    if failed.len() > TOLD {
        console.warn(&format!("{} more failed", failed.len() - TOLD));
    }
}

#[cfg(test)]
mod tests {
    use warpwatt_papers::{About, Column, Measures};

    use super::*;

    fn ledger() -> Ledger {
        let about = About {
            paper: "warped-compression".to_owned(),
            title: "Warped-Compression".to_owned(),
            citation: String::new(),
            tool: warpwatt_record::tool(),
            gpu: "gtx480-wc".to_owned(),
            gpu_sha256: String::new(),
            technology: "wc45".to_owned(),
            size: "tiny".to_owned(),
            seed: 1,
            workloads: ["bfs", "lib"].map(str::to_owned).into(),
            of_workloads: 14,
            points: 36,
            failed: Vec::new(),
        };
        let mut measures = Measures::default();
        for id in ["wc.rf_energy", "wc.rf_energy_lrr", "wc.rf_energy_wire_100"] {
            measures.mean(id, &Column(vec![Some(28.0), Some(28.0)]));
        }
        measures.mean("wc.ratio_divergent", &Column(vec![Some(1.3), None]));
        Ledger::new(about, &warpwatt_papers::claims().expect("claims"), &measures)
    }

    #[test]
    fn a_row_says_when_it_stands_on_fewer_workloads() {
        let table = table(&ledger());
        let line = |id: &str| table.lines().find(|line| line.split(' ').next() == Some(id)).expect("a row");
        assert!(line("wc.ratio_divergent").ends_with("  holds    on 1 of 2 workloads"), "{table}");
        assert!(line("wc.rf_energy").ends_with("  holds"), "{table}");
        assert!(line("wc.slowdown").ends_with("no data"), "{table}");
    }

    #[test]
    fn the_same_is_said_once_and_within_a_hundred_columns() {
        let text = remarks(&ledger().rows);
        let together =
            "\nwc.rf_energy_lrr, wc.rf_energy_codec_2_5x, wc.rf_energy_access_2_5x, wc.rf_energy_wire_100\n";
        assert!(text.contains(together), "{text}");
        assert!(text.contains("\nwc.rf_energy: energy of the register file saved"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
    }
}
