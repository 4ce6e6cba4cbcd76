// SPDX-License-Identifier: MIT OR Apache-2.0
//! The ledger on the terminal, and points that failed.

use std::path::Path;

use warpwatt_papers::Ledger;

use super::folder;
use super::plan::Plan;
use crate::console::Console;
use crate::table::{Table, wrapped};

/// Columns that remarks take.
const WIDTH: usize = 100;
/// Failed points that are told one by one; the log has all of them.
const TOLD: usize = 10;

pub fn print(ledger: &Ledger, out: &Path, console: &Console) {
    let mut table = Table::new(&["claim", "paper", "measured", "ratio", "verdict"]).left(4);
    for row in &ledger.rows {
        table.row([
            row.id.clone(),
            row.shown_paper(),
            row.shown_measured(),
            row.shown_ratio(),
            row.verdict.name().to_owned(),
        ]);
    }
    console.summary(&format!("{}\n", wrapped(&ledger.headline(), 0, WIDTH)));
    console.result(&table.render());
    let mut text = format!("\n{}\n", ledger.tally());
    for row in &ledger.rows {
        let remarks: Vec<_> = row.reading.clone().into_iter().chain(row.remark()).collect();
        if !remarks.is_empty() {
            text += &format!("\n{}: {}\n", row.id, row.what);
        }
        for remark in remarks {
            text += &wrapped(&remark, 2, WIDTH);
        }
    }
    text += &format!(
        "\nledger: {}, ledger.json; figures: {}; points: {}\n",
        out.join("ledger.md").display(),
        out.join(folder::FIGURES).display(),
        out.join(folder::POINTS).display()
    );
    console.summary(&text);
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
