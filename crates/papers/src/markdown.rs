// SPDX-License-Identifier: MIT OR Apache-2.0
//! The ledger as a page.

use std::fmt::Write;

use crate::judge::Judged;
use crate::ledger::{Ledger, Row};
use crate::number::shown;

impl Ledger {
    /// The page, with the same numbers as the document.
    pub fn to_markdown(&self) -> String {
        let about = &self.about;
        let mut page = format!("# {}\n\n{}\n\n{}.\n", about.title, about.citation, self.headline());
        let _ = writeln!(
            page,
            "warpwatt {} (commit {}, model {}), {} points{}. {}.",
            about.tool.version,
            about.tool.commit,
            about.tool.model_version,
            about.points,
            about
                .simulated_by
                .as_ref()
                .map_or(String::new(), |tool| format!(" simulated by commit {}", tool.commit)),
            self.tally()
        );
        if !about.failed.is_empty() {
            let _ = writeln!(page, "\nWithout points that failed: {}.", about.failed.join(", "));
        }
        let _ = writeln!(page, "\nWorkloads: {}.", about.workloads.join(", "));
        if !about.missing.is_empty() && about.of_suite {
            let _ = writeln!(page, "Programs of the suite that are missing: {}.", about.missing.join(", "));
        }
        for (workload, why) in &about.stand_ins {
            let _ = writeln!(page, "{workload} replaces a program of the suite: {why}.");
        }
        if self.rows.is_empty() {
            return page;
        }
        page.push_str(
            "\n`holds`: within 0.8 to 1.25 of the paper's value (of a share, also 100 minus its value), or within the paper's rounding, or on the right side of a limit, or an ordering that is observed. `direction`: the number is off, but the claimed effect is present. `differs`: it is absent. The verdict follows the reading given below; lines that begin with \"or\" are other readings.\n\n",
        );
        page.push_str("| claim | what | where | paper | measured | seeds | ratio | verdict | |\n|---|---|---|---:|---:|---:|---:|---|---|\n");
        for row in &self.rows {
            self.add_row(&mut page, row);
        }
        page.push_str("\n## How claims are read and judged\n");
        for row in &self.rows {
            let _ = writeln!(
                page,
                "\n**`{}`** ({}): {} Judged: {}.",
                row.id,
                row.kind.name(),
                row.reading,
                row.judgement
            );
        }
        let remarks = self.rows.iter().filter(|row| row.needs_a_reason());
        for (number, row) in remarks.enumerate() {
            if number == 0 {
                page.push_str("\n## Where numbers are off\n");
            }
            let _ = writeln!(page, "\n**`{}`**: {}", row.id, row.remarks().join(" "));
        }
        page
    }

    fn add_row(&self, page: &mut String, row: &Row) {
        let mut line = |first: String,
                        what: &str,
                        place: &str,
                        paper: &str,
                        measured: &str,
                        judged: &Judged,
                        flags: &str| {
            let _ = writeln!(
                page,
                "| {first} | {} | {place} | {} | {measured} | {} | {} | {} | {flags} |",
                what.replace('<', "\\<"),
                paper.replace('<', "\\<"),
                judged.shown_spread(),
                judged.shown_ratio(),
                judged.verdict.name(),
            );
        };
        let flags = row.flags(self.about.workloads.len()).join("; ");
        let id = format!("`{}`", row.id);
        line(id, &row.what, &row.place, &row.shown_paper(), &row.shown_measured(), &row.judged, &flags);
        for entry in &row.entries {
            let scaled =
                entry.scaled_below.map_or(String::new(), |size| format!("scaled below {}", size.name()));
            let measured = entry.judged.shown(&row.measured_unit);
            line(
                format!("entry {}", entry.name),
                "",
                "",
                &shown(entry.paper),
                &measured,
                &entry.judged,
                &scaled,
            );
        }
        for other in row.notable_others() {
            let measured = match row.entries.is_empty() {
                true => other.judged.shown(&row.measured_unit),
                false => "-".to_owned(),
            };
            line(format!("or {}", other.name), &other.reading, "", "", &measured, &other.judged, "");
        }
    }
}
