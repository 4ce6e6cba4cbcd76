// SPDX-License-Identifier: MIT OR Apache-2.0
//! The ledger of a paper: a row for each claim, which opens to its reading, other readings, entries and reasons.

use std::fmt::Write;

use serde::Deserialize;
use serde_json::Value;

use crate::html::{escape, prose, slug};
use crate::number::{NONE, optional, shown};

/// Prefix of the schema's name; the fields used here exist in every version.
pub const SCHEMA: &str = "warpwatt.ledger/";

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Ledger {
    pub paper: String,
    pub title: String,
    pub citation: String,
    pub tool: Value,
    pub gpus: Vec<String>,
    pub technologies: Vec<String>,
    pub size: String,
    pub seeds: Vec<u64>,
    pub workloads: Vec<String>,
    pub missing: Vec<String>,
    pub stand_ins: std::collections::BTreeMap<String, String>,
    pub of_suite: bool,
    pub points: u64,
    pub failed: Vec<String>,
    pub summary: Option<Summary>,
    pub rows: Vec<Row>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Summary {
    pub independent: u64,
    pub holds: u64,
    pub direction: u64,
    pub differs: u64,
    pub no_data: u64,
    pub unsettled: u64,
    pub not_counted: u64,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Judged {
    pub measured: Option<f64>,
    pub spread: Option<(f64, f64)>,
    pub ratio: Option<f64>,
    pub remaining_ratio: Option<f64>,
    pub verdict: String,
    pub workloads: Option<u64>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Row {
    pub id: String,
    #[serde(rename = "where")]
    pub place: String,
    pub what: String,
    pub over: String,
    pub kind: String,
    pub paper: Value,
    pub limit: Value,
    pub unit: String,
    pub measured_unit: String,
    #[serde(flatten)]
    pub judged: Judged,
    pub entries: Vec<Entry>,
    pub scaled_below: Option<String>,
    pub reading: String,
    pub judgement: String,
    pub others: Vec<Other>,
    pub direction: String,
    pub direction_holds: Option<bool>,
    pub reasons: Vec<Reason>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Entry {
    pub name: String,
    pub paper: Option<f64>,
    #[serde(flatten)]
    pub judged: Judged,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Other {
    pub name: String,
    pub reading: String,
    #[serde(flatten)]
    pub judged: Judged,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Reason {
    pub text: String,
    pub stale: Option<String>,
    pub shown_by: Option<String>,
}

/// Verdicts in the order of filters.
const VERDICTS: [&str; 4] = ["holds", "direction", "differs", "no data"];

impl Ledger {
    pub fn read(document: &Value) -> Option<Ledger> {
        if !document.get("schema")?.as_str()?.starts_with(SCHEMA) {
            return None;
        }
        serde_json::from_value(document.clone()).ok()
    }

    /// Rows with a verdict.
    pub fn count(&self, verdict: &str) -> usize {
        self.rows.iter().filter(|row| row.judged.verdict == verdict).count()
    }

    pub fn tally(&self) -> String {
        match &self.summary {
            Some(sum) => format!(
                "{} of {} independent claims hold, {} keep their direction only, {} differ, {} have no data",
                sum.holds, sum.independent, sum.direction, sum.differs, sum.no_data
            ),
            None => format!("No tally: {} of 3 seeds", self.seeds.len()),
        }
    }

    /// What was run, in a line.
    pub fn headline(&self) -> String {
        let workloads = match self.of_suite {
            true => format!(
                "{} of the {} programs of its suite",
                self.workloads.len(),
                self.workloads.len() + self.missing.len()
            ),
            false => format!("{} workloads of the user's choice", self.workloads.len()),
        };
        let seeds: Vec<_> = self.seeds.iter().map(u64::to_string).collect();
        format!(
            "{workloads} at size {}, seeds {}, GPU {}, technology {}, {} points",
            self.size,
            seeds.join(", "),
            self.gpus.join(", "),
            self.technologies.join(", "),
            self.points
        )
    }

    /// A bar of verdicts.
    pub fn bar(&self) -> String {
        let mut out = String::from("<span class=tally role=img aria-label=\"");
        let counts: Vec<_> = VERDICTS.iter().map(|verdict| (*verdict, self.count(verdict))).collect();
        let texts: Vec<_> = counts.iter().map(|(verdict, count)| format!("{count} {verdict}")).collect();
        let _ = write!(out, "{}\">", texts.join(", "));
        for (verdict, count) in counts.iter().filter(|(_, count)| *count > 0) {
            let _ = write!(
                out,
                "<span class=\"v-{}\" style=\"flex:{count}\" title=\"{count} {verdict}\">{count}</span>",
                slug(verdict)
            );
        }
        out + "</span>"
    }

    pub fn html(&self) -> String {
        let id = format!("ledger-{}", slug(&self.paper));
        let mut out = String::new();
        let _ = write!(
            out,
            "<div class=tools><label>Filter claims <input type=search data-filter=\"{id}\"></label><fieldset data-verdicts=\"{id}\"><legend>Verdict</legend>"
        );
        for verdict in VERDICTS {
            let _ = write!(
                out,
                "<label><input type=checkbox checked value=\"{verdict}\"> <span class=\"badge v-{}\">{verdict}</span></label>",
                slug(verdict)
            );
        }
        let _ = write!(
            out,
            "</fieldset><button type=button data-open=\"{id}\">Open all</button> <output data-count=\"{id}\">{} rows</output></div>",
            self.rows.len()
        );
        let _ = write!(
            out,
            "<div class=scroll tabindex=0 role=region aria-label=\"Ledger\"><table class=\"sortable ledger\" id=\"{id}\"><caption>Claims of the paper and measurements</caption>\
             <thead><tr><th scope=col><button type=button>claim</button></th><th scope=col><button type=button>what</button></th>\
             <th scope=col><button type=button>where</button></th><th scope=col class=n><button type=button>paper</button></th>\
             <th scope=col class=n><button type=button>measured</button></th><th scope=col class=n title=\"least and most of any seed\"><button type=button>seeds</button></th>\
             <th scope=col class=n title=\"measured over claimed\"><button type=button>ratio</button></th><th scope=col><button type=button>verdict</button></th></tr></thead>"
        );
        for row in &self.rows {
            self.row(&mut out, row);
        }
        out + "</table></div>"
    }

    fn row(&self, out: &mut String, row: &Row) {
        let id = escape(&row.id);
        let judged = &row.judged;
        let measured = match (row.entries.is_empty(), judged.measured) {
            (false, _) => {
                let hold = row.entries.iter().filter(|entry| entry.judged.verdict == "holds").count();
                format!("{hold} of {} entries hold", row.entries.len())
            }
            (true, Some(value)) => format!("{} {}", shown(value), row.measured_unit),
            (true, None) => NONE.to_owned(),
        };
        let key = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
        let verdict = &judged.verdict;
        let flags = self.flags(row);
        let _ = write!(
            out,
            "<tbody id=\"claim-{id}\" data-verdict=\"{}\"><tr><th scope=row><button type=button class=fold aria-expanded=false aria-controls=\"claim-{id}-more\">{id}</button></th>\
             <td>{}{}</td><td>{}</td><td class=n data-v=\"{}\">{}</td><td class=n data-v=\"{}\">{}</td><td class=n>{}</td><td class=n data-v=\"{}\">{}</td>\
             <td data-v=\"{}\"><span class=\"badge v-{}\">{}</span></td></tr>",
            escape(verdict),
            escape(&row.what),
            flags,
            escape(&row.place),
            key(row.paper.as_f64()),
            escape(&self.says(row)),
            key(judged.measured),
            escape(&measured),
            spread(judged),
            key(judged.ratio),
            ratio(judged),
            VERDICTS.iter().position(|name| name == verdict).unwrap_or(9),
            slug(verdict),
            escape(verdict)
        );
        let _ = write!(out, "<tr class=more id=\"claim-{id}-more\" hidden><td colspan=8>");
        let _ = write!(
            out,
            "<p><b>Reading.</b> {} <b>Judged:</b> {}.",
            escape(&row.reading),
            escape(&row.judgement)
        );
        if let Some(holds) = row.direction_holds {
            let _ = write!(out, " <b>Direction</b> {}.", if holds { "holds" } else { "does not hold" });
        }
        out.push_str("</p>");
        for reason in &row.reasons {
            let _ = write!(out, "<p class=reason><b>Reason.</b> {}", prose(&reason.text));
            if let Some(figure) = &reason.shown_by {
                let target = format!("fig-{}-{}", slug(&self.paper), slug(figure));
                let _ = write!(out, " <a href=\"#{target}\">Shown by {}</a>.", escape(figure));
            }
            if let Some(stale) = &reason.stale {
                let _ = write!(out, " <em>May be stale: {}.</em>", escape(stale));
            }
            out.push_str("</p>");
        }
        self.parts(out, row);
        out.push_str("</td></tr></tbody>\n");
    }

    /// Entries and other readings, each with its own verdict.
    fn parts(&self, out: &mut String, row: &Row) {
        let line = |out: &mut String, name: &str, what: &str, paper: Option<f64>, judged: &Judged| {
            let _ = write!(
                out,
                "<tr><td>{}</td><td>{}</td><td class=n>{}</td><td class=n>{}</td><td class=n>{}</td><td class=n>{}</td><td><span class=\"badge v-{}\">{}</span></td></tr>",
                escape(name),
                escape(what),
                optional(paper),
                escape(&judged.measured.map_or(NONE.to_owned(), |value| format!(
                    "{} {}",
                    shown(value),
                    row.measured_unit
                ))),
                spread(judged),
                ratio(judged),
                slug(&judged.verdict),
                escape(&judged.verdict)
            );
        };
        let head = |what: &str| {
            format!(
                "<table><thead><tr><th>{what}</th><th></th><th class=n>paper</th><th class=n>measured</th><th class=n>seeds</th><th class=n>ratio</th><th>verdict</th></tr></thead><tbody>"
            )
        };
        if !row.others.is_empty() {
            let _ = write!(
                out,
                "<p><b>Alternative readings</b>, which do not affect the verdict:</p>{}",
                head("reading")
            );
            row.others.iter().for_each(|other| line(out, &other.name, &other.reading, None, &other.judged));
            out.push_str("</tbody></table>");
        }
        if !row.entries.is_empty() {
            let _ = write!(out, "<details><summary>{} entries</summary>{}", row.entries.len(), head("entry"));
            row.entries.iter().for_each(|entry| line(out, &entry.name, "", entry.paper, &entry.judged));
            out.push_str("</tbody></table></details>");
        }
    }

    /// The paper's value, in short.
    fn says(&self, row: &Row) -> String {
        let limit = match &row.limit {
            Value::String(limit) if limit.contains("below") || limit.contains("less") => "< ",
            Value::String(_) => "≤ ",
            _ => "",
        };
        match &row.paper {
            Value::Number(number) => {
                format!("{limit}{} {}", shown(number.as_f64().unwrap_or(f64::NAN)), row.unit)
            }
            Value::String(text) => text.clone(),
            Value::Object(entries) => format!("{} entries", entries.len()),
            Value::Array(entries) => format!("{} entries", entries.len()),
            Value::Bool(value) => value.to_string(),
            Value::Null => NONE.to_owned(),
        }
    }

    fn flags(&self, row: &Row) -> String {
        let mut flags = Vec::new();
        if !row.kind.is_empty() && row.kind != "measured" {
            flags.push(row.kind.clone());
        }
        match row.judged.workloads {
            Some(some) if some > 0 && (some as usize) < self.workloads.len() && row.entries.is_empty() => {
                flags.push(format!("on {some} of {} workloads", self.workloads.len()));
            }
            _ => {}
        }
        if let Some(size) = &row.scaled_below {
            flags.push(format!("scaled below {size}"));
        }
        flags.iter().map(|flag| format!(" <span class=flag>{}</span>", escape(flag))).collect()
    }
}

fn spread(judged: &Judged) -> String {
    judged.spread.map_or(NONE.to_owned(), |(low, high)| format!("{} – {}", shown(low), shown(high)))
}

/// Of a share, the ratio that is further from 1: its own or that of its complement.
fn ratio(judged: &Judged) -> String {
    let off = |ratio: f64| if ratio > 0.0 { ratio.ln().abs() } else { f64::INFINITY };
    match (judged.ratio, judged.remaining_ratio) {
        (Some(ratio), Some(rest)) if off(rest) > off(ratio) => format!("{} rest", shown(rest)),
        (Some(ratio), _) => shown(ratio),
        (None, _) => NONE.to_owned(),
    }
}
