// SPDX-License-Identifier: MIT OR Apache-2.0
//! Points of a paper or a sweep: a table of all of them, and energy against time, with the configurations that no other one beats in both.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use serde_json::Value;

use crate::chart::scatter::{Line, Point as Mark, Scatter};
use crate::chart::svg::WIDTH;
use crate::html::{Cell, Table, escape, folded, slug};
use crate::number::{count, joules, shown, si};

/// One workload run in one way, with one seed.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Point {
    pub workload: String,
    pub size: String,
    pub seed: Option<u64>,
    /// GPU, techniques, technology, and what differs from other points.
    pub configuration: String,
    parameters: BTreeMap<String, String>,
    gpu: String,
    techniques: String,
    technology: String,
    pub cycles: f64,
    pub seconds: f64,
    pub energy_j: f64,
    pub instructions: f64,
}

/// Maximum number of rows of the table of points; the number of others is stated.
const MOST_ROWS: usize = 4000;
/// Workloads that have a chart of their own.
const MOST_CHARTS: usize = 60;

impl Point {
    /// Of a point's file, whatever else it holds.
    pub fn read(document: &Value) -> Option<Point> {
        if !document.get("schema")?.as_str()?.starts_with("warpwatt.point/") {
            return None;
        }
        let inputs = document.get("inputs")?;
        let text =
            |value: &Value, key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let gpu = inputs.get("gpu").cloned().unwrap_or_default();
        let parameters: BTreeMap<String, String> = gpu
            .get("parameters")
            .and_then(|map| serde_json::from_value(map.clone()).ok())
            .unwrap_or_default();
        let cycles = document.get("cycles")?.as_f64()?;
        let mhz: f64 = parameters.get("clock.core_mhz").and_then(|mhz| mhz.parse().ok()).unwrap_or(f64::NAN);
        let techniques = inputs.get("techniques").and_then(Value::as_array).cloned().unwrap_or_default();
        let techniques: Vec<_> = techniques.iter().filter_map(Value::as_str).collect();
        let program = inputs.get("program").and_then(Value::as_array).cloned().unwrap_or_default();
        let program: Vec<_> = program.iter().filter_map(Value::as_str).collect();
        let workload = text(inputs, "workload");
        Some(Point {
            workload: if workload.is_empty() { program.join(" ") } else { workload },
            size: text(inputs, "size"),
            seed: inputs.get("seed").and_then(Value::as_u64),
            configuration: String::new(),
            gpu: text(&gpu, "name"),
            parameters,
            techniques: techniques.join(" + "),
            technology: text(inputs, "technology"),
            cycles,
            seconds: cycles / (mhz * 1e6),
            energy_j: document.get("energy")?.get("total_j")?.as_f64()?,
            instructions: document.get("thread_instructions").and_then(Value::as_f64).unwrap_or(f64::NAN),
        })
    }

    fn is_plain(&self) -> bool {
        self.techniques.is_empty()
    }
}

/// Names configurations by what points differ in.
fn name(points: &mut [Point]) {
    let differs = |of: &dyn Fn(&Point) -> String| points.iter().map(of).collect::<BTreeSet<_>>().len() > 1;
    let (gpus, technologies) =
        (differs(&|point| point.gpu.clone()), differs(&|point| point.technology.clone()));
    let keys: BTreeSet<String> = points.iter().flat_map(|point| point.parameters.keys().cloned()).collect();
    let moving: Vec<String> = keys
        .into_iter()
        .filter(|key| differs(&|point| point.parameters.get(key).cloned().unwrap_or_default()))
        .collect();
    // The value of most points is omitted.
    let mut usual = BTreeMap::<&str, String>::new();
    for key in &moving {
        let mut counts = BTreeMap::<&str, usize>::new();
        for point in points.iter() {
            *counts.entry(point.parameters.get(key).map_or("", String::as_str)).or_default() += 1;
        }
        let most = counts
            .into_iter()
            .max_by_key(|(_, count)| *count)
            .map_or(String::new(), |(value, _)| value.to_owned());
        usual.insert(key, most);
    }
    let names: Vec<String> = points
        .iter()
        .map(|point| {
            let mut parts = Vec::new();
            if gpus {
                parts.push(point.gpu.clone());
            }
            if !point.techniques.is_empty() {
                parts.push(point.techniques.clone());
            }
            for key in &moving {
                let value = point.parameters.get(key).cloned().unwrap_or_default();
                // A GPU of another name has all of its parameters by that name.
                if usual.get(key.as_str()) != Some(&value)
                    && (!gpus || parts.len() <= 1)
                    && moving.len() <= 12
                {
                    parts.push(format!("{key}={value}"));
                }
            }
            if technologies {
                parts.push(point.technology.clone());
            }
            if parts.is_empty() { "as it is".to_owned() } else { parts.join(", ") }
        })
        .collect();
    points.iter_mut().zip(names).for_each(|(point, name)| point.configuration = name);
}

/// One configuration in a plane of time and energy.
#[derive(Clone, PartialEq, Debug)]
struct CostPoint {
    name: String,
    time: f64,
    energy: f64,
    /// No other one takes less of both.
    best: bool,
}

/// Marks the places that no other one is better than in one thing and at least as good in the other.
fn mark(places: &mut [CostPoint]) {
    let all: Vec<(f64, f64)> = places.iter().map(|place| (place.time, place.energy)).collect();
    for (own, place) in places.iter_mut().enumerate() {
        let (time, energy) = all[own];
        place.best = !all.iter().enumerate().any(|(other, at)| {
            other != own && at.0 <= time && at.1 <= energy && (at.0 < time || at.1 < energy)
        });
    }
}

/// Means over seeds of a workload's points, by configuration.
fn of_workload(points: &[Point], workload: &str) -> Vec<CostPoint> {
    let mut sums = BTreeMap::<&str, (f64, f64, f64)>::new();
    for point in points.iter().filter(|point| point.workload == workload) {
        let sum = sums.entry(&point.configuration).or_default();
        *sum = (sum.0 + point.seconds, sum.1 + point.energy_j, sum.2 + 1.0);
    }
    let each = sums.into_iter().map(|(name, (time, energy, number))| CostPoint {
        name: name.to_owned(),
        time: time / number,
        energy: energy / number,
        best: false,
    });
    each.filter(|place| place.time.is_finite() && place.energy.is_finite()).collect()
}

/// Geometric means over workloads, relative to the configuration without techniques that has most points.
fn of_all(points: &[Point], workloads: &[String]) -> Option<(String, Vec<CostPoint>)> {
    let mut plain = BTreeMap::<&str, usize>::new();
    points
        .iter()
        .filter(|point| point.is_plain())
        .for_each(|point| *plain.entry(&point.configuration).or_default() += 1);
    let base = plain.into_iter().max_by_key(|(_, number)| *number)?.0.to_owned();
    let mut logs = BTreeMap::<String, (f64, f64, usize)>::new();
    let mut with_base = 0;
    for workload in workloads {
        let places = of_workload(points, workload);
        let Some(own) = places.iter().find(|place| place.name == base) else { continue };
        with_base += 1;
        for place in &places {
            let sum = logs.entry(place.name.clone()).or_default();
            *sum =
                (sum.0 + (place.time / own.time).ln(), sum.1 + (place.energy / own.energy).ln(), sum.2 + 1);
        }
    }
    // Means of different workloads are not to be compared.
    let each =
        logs.into_iter().filter(|(_, sum)| sum.2 == with_base).map(|(name, (time, energy, number))| {
            CostPoint {
                name,
                time: (time / number as f64).exp(),
                energy: (energy / number as f64).exp(),
                best: false,
            }
        });
    Some((base, each.collect()))
}

fn chart(title: &str, id: &str, mut places: Vec<CostPoint>, units: (&str, &str)) -> String {
    mark(&mut places);
    places.sort_by(|a, b| a.time.total_cmp(&b.time));
    let points = places.iter().enumerate().map(|(row, place)| Mark {
        x: place.time,
        y: place.energy,
        class: if place.best { "c5".to_owned() } else { "c7".to_owned() },
        label: if place.best { place.name.clone() } else { String::new() },
        row,
    });
    let front = places.iter().filter(|place| place.best).map(|place| (place.time, place.energy)).collect();
    let scatter = Scatter {
        title: format!("{title}: energy against time"),
        legend: vec![
            ("c5".to_owned(), "Pareto front".to_owned()),
            ("c7".to_owned(), "other configurations".to_owned()),
        ],
        points: points.collect(),
        lines: vec![Line { class: "front".to_owned(), points: front }],
        x: format!("time [{}]", units.0),
        y: format!("energy [{}]", units.1),
        logarithmic: false,
        width: WIDTH,
        height: 280.0,
    };
    let mut table = Table::new(format!("{title}: configurations")).id(format!("{id}-d")).sortable();
    table = table.text("configuration").number("time").number("energy").text("front");
    let relative = units.0 == "x";
    for place in &places {
        let (time, energy) = match relative {
            true => (shown(place.time), shown(place.energy)),
            false => (si(place.time, "s"), joules(place.energy)),
        };
        table.push(vec![
            Cell::text(place.name.clone()),
            Cell::Number(time, place.time),
            Cell::Number(energy, place.energy),
            Cell::text(if place.best { "on the front" } else { "" }),
        ]);
    }
    format!(
        "<figure class=fig id=\"{id}\"><figcaption>{}</figcaption><div class=plot data-table=\"{id}-d\">{}</div>{}</figure>",
        escape(title),
        scatter.draw().inline(),
        folded("Values", &table.html())
    )
}

/// The part of the page about points. Energies of different technologies are not comparable: each has its own charts.
pub fn html(points: &[Point]) -> String {
    if points.is_empty() {
        return String::new();
    }
    let mut groups = BTreeMap::<String, Vec<Point>>::new();
    points.iter().for_each(|point| groups.entry(point.technology.clone()).or_default().push(point.clone()));
    let mut out = String::from("<section id=points><h2>Points</h2>");
    let several = groups.len() > 1;
    let mut points = Vec::new();
    for (technology, mut group) in groups {
        name(&mut group);
        let key = |point: &Point| (point.workload.clone(), point.configuration.clone(), point.seed);
        group.sort_by_key(key);
        if several {
            let _ = write!(out, "<h3>Technology {}</h3>", escape(&technology));
        }
        let id = if several { format!("pareto-{}", slug(&technology)) } else { "pareto".to_owned() };
        out += &fronts(&id, &group);
        points.extend(group);
    }
    let mut table = Table::new("Points").id("points-d").sortable().filter("Filter points");
    table = table
        .text("workload")
        .text("size")
        .number("seed")
        .text("configuration")
        .number("cycles")
        .number("IPC")
        .number("energy")
        .number("EDP [J s]");
    for point in points.iter().take(MOST_ROWS) {
        table.push(vec![
            Cell::text(point.workload.clone()),
            Cell::text(point.size.clone()),
            Cell::shown(point.seed.map(|seed| seed as f64), count),
            Cell::text(point.configuration.clone()),
            Cell::shown(Some(point.cycles), count),
            Cell::number(Some(point.instructions / point.cycles).filter(|ipc| ipc.is_finite())),
            Cell::shown(Some(point.energy_j), joules),
            Cell::shown(Some(point.energy_j * point.seconds).filter(|edp| edp.is_finite()), |edp| {
                format!("{edp:.3e}")
            }),
        ]);
    }
    let more = points.len().saturating_sub(MOST_ROWS);
    if more > 0 {
        let _ = write!(
            out,
            "<p>{more} points beyond the first {MOST_ROWS} are not listed; the data set has all.</p>"
        );
    }
    out + &table.html() + "</section>"
}

/// Energy against time: of all workloads, and of each.
fn fronts(id: &str, points: &[Point]) -> String {
    let mut out = String::new();
    let workloads: Vec<String> =
        points.iter().map(|point| point.workload.clone()).collect::<BTreeSet<_>>().into_iter().collect();
    if let Some((base, places)) = of_all(points, &workloads)
        && places.len() > 1
    {
        out += &chart(&format!("All workloads: geometric means over `{base}`"), id, places, ("x", "x"));
    }
    let several = |workload: &String| of_workload(points, workload).len() > 1;
    let shown: Vec<_> = workloads.iter().filter(|workload| several(workload)).take(MOST_CHARTS).collect();
    if shown.is_empty() {
        return out;
    }
    let _ = write!(out, "<div class=tools><label>Workload <select data-choose=\"{id}-of\">");
    for (place, workload) in shown.iter().enumerate() {
        let _ = write!(out, "<option value=\"{place}\">{}</option>", escape(workload));
    }
    let _ = write!(out, "</select></label></div><div id=\"{id}-of\">");
    for (place, workload) in shown.iter().enumerate() {
        let hidden = if place > 0 { " hidden" } else { "" };
        let own = format!("{id}-{}-{place}", slug(workload));
        let _ = write!(
            out,
            "<div{hidden}>{}</div>",
            chart(workload, &own, of_workload(points, workload), ("s", "J"))
        );
    }
    out + "</div>"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(time: f64, energy: f64) -> CostPoint {
        CostPoint { name: String::new(), time, energy, best: false }
    }

    #[test]
    fn the_front_is_what_nothing_beats() {
        let mut places = [
            place(1.0, 5.0),
            place(2.0, 3.0),
            place(2.0, 4.0),
            place(3.0, 3.0),
            place(4.0, 1.0),
            place(1.0, 5.0),
        ];
        mark(&mut places);
        assert_eq!(places.map(|place| place.best), [true, true, false, false, true, true]);
    }

    fn point(workload: &str, techniques: &str, mhz: &str, cycles: f64, energy_j: f64) -> Point {
        let parameters = BTreeMap::from([("clock.core_mhz".to_owned(), mhz.to_owned())]);
        Point {
            workload: workload.into(),
            techniques: techniques.into(),
            parameters,
            cycles,
            seconds: cycles * 1e-9,
            energy_j,
            ..Point::default()
        }
    }

    #[test]
    fn configurations_are_named_by_what_differs_and_means_are_of_the_same_workloads() {
        let mut points = vec![
            point("a", "", "700", 100.0, 1.0),
            point("a", "x", "700", 200.0, 0.5),
            point("b", "", "700", 10.0, 4.0),
            point("b", "x", "700", 20.0, 1.0),
            point("b", "", "900", 5.0, 4.0),
        ];
        name(&mut points);
        let names: Vec<_> = points.iter().map(|point| point.configuration.as_str()).collect();
        assert_eq!(names, ["as it is", "x", "as it is", "x", "clock.core_mhz=900"]);
        let (base, places) = of_all(&points, &["a".into(), "b".into()]).expect("there is a plain one");
        assert_eq!(base, "as it is");
        assert_eq!(places.len(), 2, "900 MHz was run on one workload only");
        let x = places.iter().find(|place| place.name == "x").expect("x");
        assert!((x.time - 2.0).abs() < 1e-12 && (x.energy - (0.5f64 * 0.25).sqrt()).abs() < 1e-12, "{x:?}");
    }
}
