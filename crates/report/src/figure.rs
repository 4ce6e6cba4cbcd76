// SPDX-License-Identifier: MIT OR Apache-2.0
//! Figures of papers: read from their files, drawn in the form that the paper gives them, with the table of their values.

use serde_json::Value;

use crate::chart::bars::Bars;
use crate::chart::svg::Drawing;
use crate::forms::{self, Panel};
use crate::html::{Cell, Table, escape, folded, slug};
use crate::number::{digits, shown};

/// Layout of the files that are read.
pub const SCHEMA: &str = "warpwatt.figure/1";

#[derive(Clone, PartialEq, Debug, Default)]
pub struct Series {
    pub name: String,
    pub unit: String,
    /// By label.
    pub values: Vec<Option<f64>>,
    /// The least and the most of any seed, by label.
    pub spread: Vec<Option<(f64, f64)>>,
    pub mean: Option<f64>,
    pub harmonic: Option<f64>,
    pub geometric: Option<f64>,
    /// The paper's mean, if it is a number.
    pub paper: Option<f64>,
    /// The paper's value, if it is not.
    pub says: Option<String>,
    pub claim: Option<String>,
}

#[derive(Clone, PartialEq, Debug, Default)]
pub struct Figure {
    pub paper: String,
    /// The name of its file.
    pub name: String,
    /// Where it is in the paper.
    pub place: Option<String>,
    pub title: String,
    pub axis: String,
    pub labels: Vec<String>,
    pub series: Vec<Series>,
}

fn text(value: &Value, key: &str) -> String {
    value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// The part of a figure is the last letter of its file's name, if its place in the paper does not name it.
fn with_letter(place: &str, name: &str) -> String {
    let mut end = name.chars().rev();
    match (end.next(), end.next()) {
        (Some(letter), Some(digit))
            if letter.is_ascii_lowercase() && digit.is_ascii_digit() && !place.ends_with(letter) =>
        {
            format!("{place}{letter}")
        }
        _ => place.to_owned(),
    }
}

impl Figure {
    /// Of a figure's document; `None` if it is another one.
    pub fn read(name: &str, document: &Value) -> Option<Figure> {
        if document.get("schema")?.as_str()? != SCHEMA {
            return None;
        }
        let listed = document.get("series")?.as_array()?;
        let mut labels = Vec::<String>::new();
        for values in listed.iter().filter_map(|series| series.get("values")?.as_object()) {
            for label in values.keys().filter(|label| !labels.contains(label)).collect::<Vec<_>>() {
                labels.push(label.clone());
            }
        }
        let series = listed.iter().map(|series| Series::read(series, &labels)).collect();
        Some(Figure {
            paper: text(document, "paper"),
            name: name.to_owned(),
            place: document.get("figure").and_then(Value::as_str).map(|place| with_letter(place, name)),
            title: text(document, "title"),
            axis: text(document, "axis"),
            labels,
            series,
        })
    }

    /// By which a test, or a link, finds it.
    pub fn id(&self) -> String {
        format!("fig-{}-{}", slug(&self.paper), slug(&self.name))
    }

    pub fn heading(&self) -> String {
        match &self.place {
            Some(place) => format!("{place}: {}", self.title),
            None => self.title.clone(),
        }
    }

    /// Means are over workloads; a mean over banks is meaningless.
    fn means(&self) -> bool {
        self.axis == "workload"
    }

    pub fn panels(&self) -> Vec<Panel> {
        forms::panels(self)
    }

    pub fn draw(&self, panel: &Panel) -> Drawing {
        let title = match panel.title.is_empty() {
            true => self.heading(),
            false => format!("{}: {}", self.heading(), panel.title),
        };
        Bars {
            title,
            labels: &self.labels,
            series: &self.series,
            stacks: panel.stacks.clone(),
            names: panel.names.clone(),
            unit: panel.unit.clone(),
            means: self.means(),
        }
        .draw()
    }

    /// Files of its charts: name and content.
    pub fn files(&self) -> Vec<(String, String)> {
        let panels = self.panels();
        let name = |place: usize| match panels.len() {
            1 => format!("{}.svg", self.name),
            _ => format!("{}-{}.svg", self.name, place + 1),
        };
        panels.iter().enumerate().map(|(place, panel)| (name(place), self.draw(panel).file())).collect()
    }

    pub fn html(&self) -> String {
        let id = self.id();
        let mut out =
            format!("<figure class=fig id=\"{id}\" aria-labelledby=\"{id}-t\"><figcaption id=\"{id}-t\">");
        if let Some(place) = &self.place {
            out += &format!("<b>{}</b> ", escape(place));
        }
        out += &format!("{}</figcaption>", escape(&self.title));
        let panels = self.panels();
        for panel in &panels {
            if !panel.title.is_empty() {
                out += &format!("<h5>{}</h5>", escape(&panel.title));
            }
            out += &format!("<div class=plot data-table=\"{id}-d\">{}</div>", self.draw(panel).inline());
        }
        if panels.is_empty() {
            out += "<p class=empty>No workload has a value.</p>";
        }
        out += &self.claims();
        out += &folded("Values", &self.table(&format!("{id}-d")).html());
        out + "</figure>\n"
    }

    /// The paper's means beside ours.
    fn claims(&self) -> String {
        let mut out = String::new();
        for series in &self.series {
            let says = series
                .paper
                .map(|paper| format!("{} {}", shown(paper), series.unit))
                .or_else(|| series.says.clone());
            let (Some(claim), Some(says)) = (&series.claim, says) else { continue };
            let measured = match series.mean {
                Some(mean) => format!("{} {}", shown(mean), series.unit),
                None => "no value".to_owned(),
            };
            out += &format!(
                "<li><a href=\"#claim-{}\">{}</a>: mean {}, the paper {}</li>",
                escape(claim),
                escape(&series.name),
                escape(&measured),
                escape(&says)
            );
        }
        if out.is_empty() { out } else { format!("<ul class=chips>{out}</ul>") }
    }

    /// A row for each label, then mean, the paper's mean, and other means. Rows and columns are those that marks name.
    pub fn table(&self, id: &str) -> Table {
        let mut table = Table::new(format!("Values of {}", self.heading())).id(id).text(self.axis.clone());
        for series in &self.series {
            let unit = if series.unit.is_empty() { String::new() } else { format!(" [{}]", series.unit) };
            table = table.number(format!("{}{unit}", series.name));
        }
        let row = |name: &str, of: &dyn Fn(&Series) -> Option<f64>| {
            let cells = self.series.iter().map(|series| Cell::shown(of(series), |value| digits(value, 4)));
            std::iter::once(Cell::text(name)).chain(cells).collect::<Vec<_>>()
        };
        for (place, label) in self.labels.iter().enumerate() {
            table.push(row(label, &|series| series.values.get(place).copied().flatten()));
        }
        table.push(row("mean", &|series| series.mean));
        if self.series.iter().any(|series| series.paper.is_some()) {
            table.push(row("the paper", &|series| series.paper));
        }
        if self.series.iter().any(|series| series.harmonic.is_some()) {
            table.push(row("harmonic mean", &|series| series.harmonic));
            table.push(row("geometric mean", &|series| series.geometric));
        }
        table
    }
}

impl Series {
    fn read(document: &Value, labels: &[String]) -> Series {
        let number = |key: &str| document.get(key).and_then(Value::as_f64);
        let at = |key: &str, label: &String| document.get(key)?.get(label).cloned();
        let pair = |value: Value| Some((value.get(0)?.as_f64()?, value.get(1)?.as_f64()?));
        let name = text(document, "name");
        let (paper, says) = match document.get("paper") {
            None | Some(Value::Null) => (None, None),
            Some(Value::Object(entries)) => (forms::entry(&name, entries), None),
            Some(Value::String(says)) => (None, Some(says.clone())),
            Some(value) => (value.as_f64(), value.as_f64().is_none().then(|| value.to_string())),
        };
        Series {
            unit: text(document, "unit"),
            values: labels.iter().map(|label| at("values", label)?.as_f64()).collect(),
            spread: labels.iter().map(|label| at("spread", label).and_then(pair)).collect(),
            mean: number("mean"),
            harmonic: number("harmonic_mean"),
            geometric: number("geometric_mean"),
            paper,
            says,
            claim: document.get("claim").and_then(Value::as_str).map(str::to_owned),
            name,
        }
    }

    pub fn has_values(&self) -> bool {
        self.values.iter().any(Option::is_some)
    }
}
