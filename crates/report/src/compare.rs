// SPDX-License-Identifier: MIT OR Apache-2.0
//! Comparison of two runs: inputs, time and energy by component and stall reason, and the counters and lines that changed.

use std::collections::BTreeMap;

use warpwatt_results::{Reading, RunRecord};

use crate::chart::rows::{Row, Rows};
use crate::html::{Cell, Table, escape, folded};
use crate::number::{change, count, joules, percent, shown, si, signed_percent};
use crate::run;

/// Counters that are listed, those that moved most first.
const MOST_COUNTERS: usize = 400;

pub fn html(id: &str, a: (&str, &RunRecord), b: (&str, &RunRecord)) -> String {
    let mut out = format!(
        "<section id=\"{id}\" class=compare><h2>Comparison</h2><p class=note><b>A</b> {}<br><b>B</b> {}</p>",
        escape(&run::name(a.0, a.1)),
        escape(&run::name(b.0, b.1))
    );
    let (a, b) = (a.1, b.1);
    out += &inputs(id, a, b);
    out += &headline(id, a, b);
    out += &paired(id, "energy", "Energy by component", &components(a), &components(b), joules);
    out += &paired(id, "states", "Issue slots: issued, or by stall reason", &slots(a), &slots(b), count);
    out += &kernels(id, a, b);
    out += &counters(id, a, b);
    out += &lines(id, a, b);
    out + "</section>"
}

fn table(id: &str, key: &str, caption: &str, first: &str) -> Table {
    Table::new(caption)
        .id(format!("{id}-{key}-d"))
        .sortable()
        .text(first)
        .number("A")
        .number("B")
        .number("B − A")
        .number("change")
}

fn row(name: Cell, a: Option<f64>, b: Option<f64>, how: impl Fn(f64) -> String) -> Vec<Cell> {
    let difference = a.zip(b).map(|(a, b)| b - a);
    let moved = a.zip(b).and_then(|(a, b)| change(a, b));
    vec![
        name,
        Cell::shown(a, &how),
        Cell::shown(b, &how),
        Cell::shown(difference, &how),
        Cell::shown(moved, signed_percent),
    ]
}

fn inputs(id: &str, a: &RunRecord, b: &RunRecord) -> String {
    let facts = |record: &RunRecord| {
        let inputs = &record.inputs;
        let mut facts = BTreeMap::new();
        facts.insert("run".to_owned(), run::name("", record).trim_start_matches(": ").to_owned());
        facts.insert("techniques".to_owned(), inputs.techniques.join(", "));
        facts.insert("technology".to_owned(), inputs.technology.clone().unwrap_or_default());
        facts.insert("seed".to_owned(), inputs.seed.map(|seed| seed.to_string()).unwrap_or_default());
        facts.insert("model version".to_owned(), record.tool.model_version.to_string());
        facts.insert("commit".to_owned(), record.tool.commit.clone());
        if let Some(gpu) = &inputs.gpu {
            facts.insert("GPU".to_owned(), gpu.name.clone());
            facts.extend(gpu.parameters.clone());
        }
        facts
    };
    let (a, b) = (facts(a), facts(b));
    let mut table =
        Table::new("Inputs that differ").id(format!("{id}-inputs-d")).text("input").text("A").text("B");
    let mut keys: Vec<_> = a.keys().chain(b.keys()).collect();
    keys.sort();
    keys.dedup();
    for key in keys {
        let of = |facts: &BTreeMap<String, String>| facts.get(key).cloned().unwrap_or_default();
        if of(&a) != of(&b) {
            table.push(vec![Cell::text(key.clone()), Cell::text(of(&a)), Cell::text(of(&b))]);
        }
    }
    match table.is_empty() {
        true => "<p class=note>The inputs are identical.</p>".to_owned(),
        false => format!("<h4>Inputs that differ</h4>{}", table.html()),
    }
}

fn headline(id: &str, a: &RunRecord, b: &RunRecord) -> String {
    let mut table = table(id, "head", "Time and energy", "");
    let mut put = |name: &str, of: &dyn Fn(&RunRecord) -> Option<f64>, how: &dyn Fn(f64) -> String| {
        table.push(row(Cell::text(name), of(a), of(b), how));
    };
    let seconds = |record: &RunRecord| {
        let hertz = f64::from(run::scope::config(record)?.clock.core_mhz) * 1e6;
        Some(record.totals.cycles? as f64 / hertz)
    };
    put("cycles", &|record| record.totals.cycles.map(|cycles| cycles as f64), &count);
    put("time", &seconds, &|value| si(value, "s"));
    put("thread instructions per cycle", &|record| record.totals.ipc, &shown);
    put("warp instructions", &|record| Some(record.totals.warp_instructions as f64), &count);
    put("energy", &|record| record.energy.as_ref().map(|energy| energy.total_j), &joules);
    put("dynamic energy", &|record| record.energy.as_ref().map(|energy| energy.dynamic_j), &joules);
    put("static energy", &|record| record.energy.as_ref().map(|energy| energy.static_j), &joules);
    put("power", &|record| record.energy.as_ref().map(|energy| energy.average_w), &|value| {
        format!("{} W", shown(value))
    });
    put("energy-delay product", &|record| record.energy.as_ref().map(|energy| energy.edp_js), &|value| {
        si(value, "J s")
    });
    format!("<h4>Time and energy</h4>{}", table.html())
}

fn components(record: &RunRecord) -> Vec<(String, f64)> {
    let parts = record.energy.iter().flat_map(|energy| &energy.components);
    parts.map(|part| (part.name.clone(), part.dynamic_j + part.static_j)).collect()
}

fn slots(record: &RunRecord) -> Vec<(String, f64)> {
    let issued = match record.totals.counters.get("sm.issued.count") {
        Some(Reading::Count(issued)) => Some(("issued".to_owned(), *issued as f64)),
        _ => None,
    };
    let stalls = record.totals.stalls.iter().flatten().map(|(name, slots)| (name.clone(), *slots as f64));
    issued.into_iter().chain(stalls).collect()
}

/// Two bars for each name, and the table.
fn paired(
    id: &str,
    key: &str,
    title: &str,
    a: &[(String, f64)],
    b: &[(String, f64)],
    how: fn(f64) -> String,
) -> String {
    let mut names: Vec<&String> = a.iter().chain(b).map(|(name, _)| name).collect();
    let mut seen = Vec::new();
    names.retain(|name| {
        !seen.contains(name) && {
            seen.push(*name);
            true
        }
    });
    let of = |list: &[(String, f64)], name: &String| {
        list.iter().find(|(own, _)| own == name).map(|(_, value)| *value)
    };
    let mut table = table(id, key, title, "");
    let mut rows = Vec::new();
    for name in names {
        let (one, other) = (of(a, name), of(b, name));
        if one.unwrap_or_default() == 0.0 && other.unwrap_or_default() == 0.0 {
            continue;
        }
        let moved = one
            .zip(other)
            .and_then(|(one, other)| change(one, other))
            .map_or(String::new(), |moved| format!(", {}", signed_percent(moved)));
        rows.push(Row {
            name: format!("{name}, A"),
            parts: vec![("c7".to_owned(), one.unwrap_or_default())],
            text: one.map_or(String::new(), how),
        });
        rows.push(Row {
            name: "B".to_owned(),
            parts: vec![("c0".to_owned(), other.unwrap_or_default())],
            text: format!("{}{moved}", other.map_or(String::new(), how)),
        });
        table.push(row(Cell::text(name.clone()), one, other, how));
    }
    if rows.is_empty() {
        return String::new();
    }
    let legend = vec![("c7".to_owned(), "A".to_owned()), ("c0".to_owned(), "B".to_owned())];
    let rows = Rows { title: title.to_owned(), legend, rows, most: None };
    format!(
        "<h4>{title}</h4><figure class=fig id=\"{id}-{key}\"><div class=plot>{}</div>{}</figure>",
        rows.draw().inline(),
        folded("Values", &table.html())
    )
}

fn kernels(id: &str, a: &RunRecord, b: &RunRecord) -> String {
    let mut table = Table::new("Kernels").id(format!("{id}-kernels-d")).sortable();
    table = table
        .text("kernel")
        .number("cycles A")
        .number("cycles B")
        .number("change")
        .number("energy A")
        .number("energy B")
        .number("change of energy");
    for one in &a.by_kernel {
        let Some(other) = b.by_kernel.iter().find(|other| other.name == one.name && other.mode == one.mode)
        else {
            continue;
        };
        let cycles = (one.cycles.map(|cycles| cycles as f64), other.cycles.map(|cycles| cycles as f64));
        let energy = (one.energy.map(|energy| energy.total_j), other.energy.map(|energy| energy.total_j));
        let moved = |(one, other): (Option<f64>, Option<f64>)| {
            one.zip(other).and_then(|(one, other)| change(one, other))
        };
        table.push(vec![
            Cell::text(one.demangled.clone()),
            Cell::shown(cycles.0, count),
            Cell::shown(cycles.1, count),
            Cell::shown(moved(cycles), signed_percent),
            Cell::shown(energy.0, joules),
            Cell::shown(energy.1, joules),
            Cell::shown(moved(energy), signed_percent),
        ]);
    }
    if table.is_empty() { String::new() } else { format!("<h4>Kernels</h4>{}", table.html()) }
}

fn counters(id: &str, a: &RunRecord, b: &RunRecord) -> String {
    let number = |reading: Option<&Reading>| match reading? {
        Reading::Count(count) => Some(*count as f64),
        Reading::Ratio(ratio) => Some(*ratio).filter(|ratio| ratio.is_finite()),
        Reading::Histogram(_) => None,
    };
    let (ours, theirs) = (&a.totals.counters, &b.totals.counters);
    let mut moved = Vec::new();
    for name in ours.keys().chain(theirs.keys().filter(|name| !ours.contains_key(*name))) {
        let (one, other) = (number(ours.get(name)), number(theirs.get(name)));
        if one.is_none() && other.is_none() || one == other {
            continue;
        }
        let weight =
            one.zip(other).and_then(|(one, other)| change(one, other)).map_or(f64::INFINITY, f64::abs);
        moved.push((weight, name, one, other));
    }
    moved.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    let listed = moved.len();
    let mut table = table(id, "counters", "Counters that changed", "counter").filter("Filter counters");
    for (_, name, one, other) in moved.into_iter().take(MOST_COUNTERS) {
        table.push(row(Cell::text(name.clone()), one, other, shown));
    }
    match table.is_empty() {
        true => "<p class=note>All counters are equal.</p>".to_owned(),
        false => format!("<h4>Counters that changed: {listed}</h4>{}", table.html()),
    }
}

fn lines(id: &str, a: &RunRecord, b: &RunRecord) -> String {
    type Spent<'a> = BTreeMap<(&'a str, u32), (f64, f64)>;
    fn spent(record: &RunRecord) -> Spent<'_> {
        let lines = record.energy.iter().flat_map(|energy| &energy.per_line);
        lines.map(|line| ((line.file.as_str(), line.line), (line.time_share, line.energy_j))).collect()
    }
    let (one, other) = (spent(a), spent(b));
    let mut table = Table::new("Lines").id(format!("{id}-lines-d")).sortable().filter("Filter lines");
    table = table
        .text("line")
        .text("source")
        .number("time A")
        .number("time B")
        .number("energy A")
        .number("energy B")
        .number("change of energy");
    let mut keys: Vec<_> = one.keys().chain(other.keys().filter(|key| !one.contains_key(*key))).collect();
    let joules_of = |key: &(&str, u32)| {
        one.get(key).map_or(0.0, |spent| spent.1).max(other.get(key).map_or(0.0, |spent| spent.1))
    };
    keys.sort_by(|a, b| joules_of(b).total_cmp(&joules_of(a)));
    for key in keys.into_iter().take(200) {
        let text = |record: &RunRecord| {
            record.sources.get(key.0).and_then(|texts| texts.get(&key.1)).map(|text| text.trim().to_owned())
        };
        let (ours, theirs) = (one.get(key), other.get(key));
        let moved = ours.zip(theirs).and_then(|(ours, theirs)| change(ours.1, theirs.1));
        table.push(vec![
            Cell::text(format!("{}:{}", key.0, key.1)),
            Cell::Markup(
                format!("<code>{}</code>", escape(&text(b).or_else(|| text(a)).unwrap_or_default())),
                String::new(),
            ),
            Cell::shown(ours.map(|spent| spent.0), percent),
            Cell::shown(theirs.map(|spent| spent.0), percent),
            Cell::shown(ours.map(|spent| spent.1), joules),
            Cell::shown(theirs.map(|spent| spent.1), joules),
            Cell::shown(moved, signed_percent),
        ]);
    }
    if table.is_empty() { String::new() } else { format!("<h4>Lines</h4>{}", table.html()) }
}
