// SPDX-License-Identifier: MIT OR Apache-2.0
//! The ledger as a page.

use std::fmt::Write;

use crate::ledger::Ledger;

impl Ledger {
    /// The page, with the same numbers as the document.
    pub fn to_markdown(&self) -> String {
        let about = &self.about;
        let mut page = format!("# {}\n\n{}\n\n{}.\n", about.title, about.citation, self.headline());
        let _ = writeln!(
            page,
            "warpwatt {} (commit {}, model {}), {} points. {}.",
            about.tool.version,
            about.tool.commit,
            about.tool.model_version,
            about.points,
            self.tally()
        );
        if !about.failed.is_empty() {
            let _ = writeln!(page, "\nWithout points that failed: {}.", about.failed.join(", "));
        }
        page.push_str(
            "\n`holds`: within 0.8 to 1.25 of the paper's value, or within the claim's tolerance or bound, or an ordering that is there. \
             `direction`: the number is off, what the claim is about is there. `differs`: it is not.\n\n",
        );
        page.push_str("| claim | what | where | paper | measured | ratio | verdict |\n|---|---|---|---:|---:|---:|---|\n");
        for row in &self.rows {
            let measured = match row.workloads {
                Some(workloads) if row.measured.is_some() && workloads != about.workloads.len() => {
                    format!("{} ({workloads} workloads)", row.shown_measured())
                }
                _ => row.shown_measured(),
            };
            let _ = writeln!(
                page,
                "| `{}` | {} | {} | {} | {measured} | {} | {} |",
                row.id,
                row.what.replace('<', "\\<"),
                row.place,
                row.shown_paper().replace('<', "\\<"),
                row.shown_ratio(),
                row.verdict.name(),
            );
        }
        let readings = self.rows.iter().filter_map(|row| Some((&row.id, row.reading.clone()?)));
        section(&mut page, "How claims are read", readings);
        let remarks = self.rows.iter().filter_map(|row| Some((&row.id, row.remark()?)));
        section(&mut page, "Where numbers are off", remarks);
        page
    }
}

/// Paragraphs about claims under a heading, if there are any.
fn section<'a>(page: &mut String, heading: &str, paragraphs: impl Iterator<Item = (&'a String, String)>) {
    for (number, (id, text)) in paragraphs.enumerate() {
        if number == 0 {
            let _ = writeln!(page, "\n## {heading}");
        }
        let _ = writeln!(page, "\n**`{id}`**: {text}");
    }
}
