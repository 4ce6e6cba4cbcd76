// SPDX-License-Identifier: MIT OR Apache-2.0
//! The form of each figure: which series are bars beside each other, which are parts of one bar, which have a chart of their own. A figure that has no
//! entry here gets a chart for each unit, with bars in groups.

use serde_json::{Map, Value};

use crate::chart::bars::Segment;
use crate::chart::class;
use crate::figure::Figure;

/// One chart of a figure.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Panel {
    pub title: String,
    pub unit: String,
    /// Bars of a group, each with its parts from below.
    pub stacks: Vec<Vec<Segment>>,
    /// Names of the bars, where these have parts.
    pub names: Vec<String>,
}

/// What a chart of a figure is made of. Names of series may end in `*`.
enum Form {
    /// Bars beside each other.
    Groups(&'static str, &'static [&'static str]),
    /// Bars beside each other, of a quantity that grows from one to the next.
    Ordered(&'static str, &'static [&'static str]),
    /// One bar, with these parts.
    Stack(&'static str, &'static [&'static str]),
    /// One bar, whose parts are steps of a scale.
    Steps(&'static str, &'static [&'static str]),
    /// Bars of these names, with all parts `NAME: PART` but those in parentheses.
    Stacks(&'static str, &'static [&'static str]),
}

use Form::{Groups, Ordered, Stack, Stacks, Steps};

const FORMS: &[(&str, &str, &[Form])] = &[
    (
        "warped-compression",
        "fig02",
        &[
            Stacks("distances, undiverged and diverged", &["undiverged", "diverged"]),
            Groups(
                "what the paper's text says of them",
                &["undiverged: not random (claim)", "diverged: random (claim)"],
            ),
        ],
    ),
    (
        "warped-compression",
        "fig03",
        &[
            Groups("undiverged", &["undiverged"]),
            Stack(
                "why lanes are missing",
                &["all lanes", "under a guard", "short blocks", "lanes ended", "split"],
            ),
        ],
    ),
    (
        "warped-compression",
        "fig05",
        &[Stack("", &["<4,0>", "<8,0>", "<8,1>", "<4,1>", "<8,2>", "<4,2>", "<8,4>", "none"])],
    ),
    ("warped-compression", "fig08", &[Groups("", &["undiverged", "diverged"])]),
    (
        "warped-compression",
        "fig09",
        &[
            Stacks("by part", &["without", "gating alone", "with"]),
            Groups("saved", &["saved", "dynamic energy saved", "leakage saved"]),
        ],
    ),
    ("warped-compression", "fig10", &[Groups("", &["with compression", "gating alone"])]),
    (
        "warped-compression",
        "fig12",
        &[
            Groups("", &["undiverged", "diverged"]),
            Groups("diverged over undiverged", &["diverged over undiverged"]),
        ],
    ),
    (
        "warped-compression",
        "fig13",
        &[Groups("time", &["time"]), Groups("added", &["added", "added, cycles with warps"])],
    ),
    ("warped-compression", "fig14", &[Groups("energy", &["GTO", "LRR"]), Groups("saved", &["saved under*"])]),
    (
        "warped-compression",
        "fig15",
        &[
            Groups("ratio", &["<4,0>", "<4,1>", "<4,2>", "all"]),
            Groups("lost with one encoding alone", &["lost with*"]),
        ],
    ),
    (
        "warped-compression",
        "fig16",
        &[
            Groups("all energy", &["<4,0>", "<4,1>", "<4,2>", "all"]),
            Groups("dynamic energy", &["<4,0>, dynamic", "<4,1>, dynamic", "<4,2>, dynamic", "all, dynamic"]),
        ],
    ),
    (
        "warped-compression",
        "fig17",
        &[
            Ordered("energy", &["1 x", "1.5 x", "2 x", "2.5 x"]),
            Ordered("saved", &["1 x: saved", "1.5 x: saved", "2 x: saved", "2.5 x: saved"]),
        ],
    ),
    (
        "warped-compression",
        "fig18",
        &[
            Ordered("energy", &["1 x", "1.5 x", "2 x", "2.5 x"]),
            Ordered("saved", &["1 x: saved", "1.5 x: saved", "2 x: saved", "2.5 x: saved"]),
        ],
    ),
    (
        "warped-compression",
        "fig19",
        &[
            Ordered("energy", &["0 %", "25 %", "50 %", "75 %", "100 %"]),
            Ordered("saved", &["0 %: saved", "25 %: saved", "50 %: saved", "75 %: saved", "100 %: saved"]),
        ],
    ),
    (
        "warped-compression",
        "fig20",
        &[Ordered("time", &["2 cycles", "4 cycles", "8 cycles"]), Groups("added", &["8 cycles: added"])],
    ),
    (
        "warped-compression",
        "fig21",
        &[
            Ordered("time", &["1 cycles", "2 cycles", "4 cycles", "8 cycles"]),
            Groups("added", &["8 cycles: added"]),
        ],
    ),
    (
        "corf",
        "fig02",
        &[Steps("widths", &["1 byte", "2 bytes", "3 bytes", "4 bytes"]), Groups("narrow", &["narrow*"])],
    ),
    (
        "corf",
        "fig04",
        &[
            Groups("potential", &["potential", "first fit"]),
            Groups(
                "instructions of several sources",
                &["instructions of several sources", "reads that these make"],
            ),
        ],
    ),
    ("corf", "fig13", &[Groups("", &["first fit", "CORF", "CORF++"])]),
    ("corf", "fig15", &[Groups("", &["CORF", "CORF++"])]),
    (
        "corf",
        "fig17",
        &[Groups("saved", &["CORF", "CORF++"]), Groups("added", &["CORF: added", "CORF++: added"])],
    ),
    ("corf", "fig18", &[Groups("", &["packing", "both", "CORF++"])]),
    (
        "corf",
        "mechanisms",
        &[
            Groups("gained", &["CORF*", "a bank for each warp alone", "baseline, *"]),
            Groups("gained with 4 SMs", &["4 SMs: *"]),
            Stack("issue slots of the baseline", &["slots lost in the baseline: *"]),
            Groups("how long an instruction holds a collector", &["collector held: *"]),
        ],
    ),
    ("e2mc", "fig01", &[Ordered("", &["*"])]),
    ("e2mc", "fig04a", &[Ordered("", &["*"])]),
    ("e2mc", "fig04b", &[Ordered("", &["*"])]),
    ("e2mc", "fig05a", &[Ordered("", &["*"])]),
    ("e2mc", "fig05b", &[Ordered("", &["*"])]),
    ("e2mc", "fig10a", &[Ordered("", &["*"])]),
    ("e2mc", "fig10b", &[Ordered("", &["*"])]),
    (
        "caches",
        "fig3-2",
        &[Stack(
            "",
            &["L1 data cache", "L2", "constant cache", "texture cache", "shared memory", "instruction cache"],
        )],
    ),
    (
        "caches",
        "fig3-3",
        &[Stack(
            "",
            &["L1 data cache", "L2", "constant cache", "texture cache", "shared memory", "instruction cache"],
        )],
    ),
    ("caches", "fig3-4a", &[Steps("L1 data cache", &["A[*"])]),
    ("caches", "fig3-4b", &[Steps("L2", &["A[*"])]),
    ("caches", "fig3-4c", &[Steps("constant cache", &["A[*"])]),
    ("caches", "fig3-4d", &[Steps("texture cache", &["A[*"])]),
    ("caches", "fig3-4e", &[Steps("shared memory", &["A[*"])]),
    ("caches", "fig3-4f", &[Steps("instruction cache", &["A[*"])]),
    (
        "caches",
        "fig4-2",
        &[
            Ordered(
                "wake-up of two cycles",
                &[
                    "region of 1, 2 cycles",
                    "region of 2, 2 cycles",
                    "region of 4, 2 cycles",
                    "region of 8, 2 cycles",
                    "region of 16, 2 cycles",
                    "region of 32, 2 cycles",
                ],
            ),
            Ordered("wake-up of one cycle", &["region of 1, 1 cycle", "region of 32, 1 cycle"]),
            Groups("time added", &["region of 1, 2 cycles: added", "region of 32, 2 cycles: added"]),
        ],
    ),
    ("caches", "fig4-3a", SAVINGS),
    ("caches", "fig4-3b", SAVINGS),
    ("caches", "fig4-3c", SAVINGS),
    ("caches", "fig4-3d", SAVINGS),
    ("caches", "fig4-3e", SAVINGS),
    (
        "combined",
        "interaction",
        &[
            Groups("energy", &["saved", "sum of the parts", "interaction*"]),
            Groups("time", &["time saved", "time: *"]),
        ],
    ),
];

const SAVINGS: &[Form] = &[Groups("", &["*: static", "*: dynamic", "*: total"])];

/// Maximum number of bars of a group that can be distinguished: one for each colour.
const MOST_BARS: usize = 10;

/// A name against a pattern with at most one `*` at either end.
fn fits(pattern: &str, name: &str) -> bool {
    match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (Some(end), _) => name.ends_with(end),
        (_, Some(start)) => name.starts_with(start),
        _ => pattern == name,
    }
}

/// The charts of a figure; those without any value are left out.
pub fn panels(figure: &Figure) -> Vec<Panel> {
    let form = FORMS.iter().find(|(paper, name, _)| *paper == figure.paper && *name == figure.name);
    let chosen: Vec<_> = form.iter().flat_map(|form| form.2).filter_map(|form| panel(figure, form)).collect();
    if chosen.is_empty() { by_unit(figure) } else { chosen }
}

fn matching(figure: &Figure, patterns: &[&str]) -> Vec<usize> {
    let mut found = Vec::new();
    for pattern in patterns {
        let series = figure.series.iter().enumerate();
        found.extend(series.filter(|(_, series)| fits(pattern, &series.name)).map(|(place, _)| place));
    }
    found
}

fn panel(figure: &Figure, form: &Form) -> Option<Panel> {
    let segment = |series: usize, name: &str, place: usize, of: usize, ordered: bool| Segment {
        series,
        class: class(place, of, ordered),
        name: name.to_owned(),
    };
    let (title, stacks, names) = match form {
        Groups(title, patterns) | Ordered(title, patterns) => {
            let found = matching(figure, patterns);
            let ordered = matches!(form, Ordered(..));
            let each = found.iter().enumerate().map(|(place, series)| {
                vec![segment(*series, &figure.series[*series].name, place, found.len(), ordered)]
            });
            (*title, each.collect::<Vec<_>>(), Vec::new())
        }
        Stack(title, patterns) | Steps(title, patterns) => {
            let found = matching(figure, patterns);
            let ordered = matches!(form, Steps(..));
            let parts = found.iter().enumerate().map(|(place, series)| {
                segment(*series, &figure.series[*series].name, place, found.len(), ordered)
            });
            let parts: Vec<_> = parts.collect();
            (*title, if parts.is_empty() { Vec::new() } else { vec![parts] }, Vec::new())
        }
        Stacks(title, names) => {
            let mut kinds = Vec::<String>::new();
            let mut stacks = Vec::new();
            for name in *names {
                let mut parts = Vec::new();
                for (place, series) in figure.series.iter().enumerate() {
                    let Some((bar, part)) = series.name.split_once(": ") else { continue };
                    if bar != *name || part.ends_with(')') {
                        continue;
                    }
                    let kind = kinds.iter().position(|kind| kind == part).unwrap_or_else(|| {
                        kinds.push(part.to_owned());
                        kinds.len() - 1
                    });
                    parts.push(segment(place, part, kind, 1, false));
                }
                if !parts.is_empty() {
                    stacks.push(parts);
                }
            }
            (*title, stacks, names.iter().map(|name| (*name).to_owned()).collect())
        }
    };
    let first = stacks.first()?.first()?.series;
    let any = stacks.iter().flatten().any(|part| figure.series[part.series].has_values());
    any.then(|| Panel { title: title.to_owned(), unit: figure.series[first].unit.clone(), stacks, names })
}

/// A chart for each unit, of the series that have values, as many as fit.
fn by_unit(figure: &Figure) -> Vec<Panel> {
    let mut panels = Vec::<Panel>::new();
    for (place, series) in figure.series.iter().enumerate().filter(|(_, series)| series.has_values()) {
        let known =
            panels.iter().position(|panel| panel.unit == series.unit && panel.stacks.len() < MOST_BARS);
        let at = known.unwrap_or(panels.len());
        if known.is_none() {
            panels.push(Panel {
                unit: series.unit.clone(),
                title: format!("in {}", unit_name(&series.unit)),
                ..Panel::default()
            });
        }
        let panel = &mut panels[at];
        let class = class(panel.stacks.len(), 1, false);
        panel.stacks.push(vec![Segment { series: place, class, name: series.name.clone() }]);
    }
    if let [only] = &mut panels[..] {
        only.title.clear();
    }
    panels
}

fn unit_name(unit: &str) -> &str {
    match unit {
        "x" => "times",
        "%" => "percent",
        "" => "numbers",
        other => other,
    }
}

/// The entry of a claim with several that a series is about: of caches, by their names.
pub fn entry(series: &str, entries: &Map<String, Value>) -> Option<f64> {
    const NAMES: [(&str, &str); 6] = [
        ("L1 data cache", "l1d"),
        ("L2", "l2"),
        ("constant cache", "constant"),
        ("texture cache", "texture"),
        ("shared memory", "shared"),
        ("instruction cache", "instruction"),
    ];
    let known = NAMES.iter().find(|(name, _)| series.starts_with(name)).map(|(_, key)| *key);
    entries.get(series).or_else(|| entries.get(known?))?.as_f64()
}
