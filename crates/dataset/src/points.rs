// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tables of points: `points` and `kernels` with a column for each counter, `energy` by structure, `histograms` by place.

use std::collections::{BTreeMap, BTreeSet};

use warpwatt_papers::{Point, PointKernel, PointRecord};
use warpwatt_results::{Reading, Values};

use crate::table::{Column, Table};

/// A point that was measured, and what it is part of. One that several experiments share stands in the tables once for each.
pub struct Measured<'a> {
    /// The paper, or the sweep.
    pub experiment: &'a str,
    /// The variant of the paper, or the configuration of the sweep.
    pub configuration: &'a str,
    pub point: &'a Point,
    pub record: &'a PointRecord,
    /// Parameters that a sweep goes through, with their values here.
    pub parameters: &'a BTreeMap<String, String>,
}

/// Columns that depend on what is measured. They have to be known before the first row is written.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Columns {
    /// Parameters that a sweep goes through.
    parameters: BTreeSet<String>,
    /// Counters of points, and whether they are ratios; histograms have a table of their own.
    points: BTreeMap<String, bool>,
    /// Counters of kernels.
    kernels: BTreeMap<String, bool>,
}

impl Columns {
    /// Adds the counters of a point.
    pub fn learn(&mut self, record: &PointRecord) {
        learn(&mut self.points, &record.counters);
        record.kernels.iter().for_each(|kernel| learn(&mut self.kernels, &kernel.counters));
    }

    /// Adds parameters of a configuration.
    pub fn add_parameters<'a>(&mut self, names: impl Iterator<Item = &'a String>) {
        for name in names {
            if !self.parameters.contains(name) {
                self.parameters.insert(name.clone());
            }
        }
    }
}

/// A counter that is a ratio anywhere is one everywhere.
fn learn(names: &mut BTreeMap<String, bool>, values: &Values) {
    for (name, reading) in values {
        let ratio = match reading {
            Reading::Count(_) => false,
            Reading::Ratio(_) => true,
            Reading::Histogram(_) => continue,
        };
        match names.get_mut(name) {
            Some(known) => *known |= ratio,
            None => drop(names.insert(name.clone(), ratio)),
        }
    }
}

/// The tables of these points, in the order of the points, with the columns of all points.
pub fn tables(points: &[Measured], columns: &Columns) -> [Table; 4] {
    let per_kernel: Vec<(&Measured, &PointKernel)> = points
        .iter()
        .flat_map(|point| point.record.kernels.iter().map(move |kernel| (point, kernel)))
        .collect();
    [whole(points, columns), kernels(&per_kernel, columns), energy(points), histograms(points)]
}

/// Columns that say which point a row is about.
fn identity<'a>(rows: &[&'a Measured<'a>]) -> Vec<Column> {
    let text = |name: &str, of: &dyn Fn(&Measured) -> Option<String>| {
        Column::text(name, rows.iter().map(|row| of(row)))
    };
    vec![
        text("experiment", &|row| Some(row.experiment.to_owned())),
        text("configuration", &|row| Some(row.configuration.to_owned())),
        text("subject", &|row| {
            let inputs = &row.record.inputs;
            Some(match (&inputs.workload, &inputs.program) {
                (Some(workload), _) => workload.clone(),
                (None, program) => program.as_deref().unwrap_or_default().join(" "),
            })
        }),
        text("size", &|row| row.record.inputs.size.clone()),
        Column::count("seed", rows.iter().map(|row| row.record.inputs.seed)),
        text("gpu", &|row| Some(row.record.inputs.gpu.as_ref()?.name.clone())),
        text("settings", &|row| Some(row.point.settings.join(" "))),
        text("techniques", &|row| Some(row.record.inputs.techniques.join(" "))),
        text("technology", &|row| row.record.inputs.technology.clone()),
        text("key", &|row| Some(row.record.key.clone())),
    ]
}

/// One column for each parameter.
fn parameters<'a>(rows: &[&'a Measured<'a>], names: &BTreeSet<String>) -> Vec<Column> {
    let column = |name: &String| {
        Column::text(format!("param.{name}"), rows.iter().map(|row| row.parameters.get(name)))
    };
    names.iter().map(column).collect()
}

/// One column for each counter that any row has.
pub(crate) fn counters<'a>(rows: impl Iterator<Item = &'a Values> + Clone) -> Vec<Column> {
    let mut names = BTreeMap::new();
    rows.clone().for_each(|values| learn(&mut names, values));
    of_counters(rows, &names)
}

/// One column for each of these counters.
fn of_counters<'a>(
    rows: impl Iterator<Item = &'a Values> + Clone,
    names: &BTreeMap<String, bool>,
) -> Vec<Column> {
    let column = |(name, ratio): (&String, &bool)| match ratio {
        false => Column::count(
            name,
            rows.clone().map(|values| match values.get(name) {
                Some(Reading::Count(count)) => Some(*count),
                _ => None,
            }),
        ),
        true => Column::real(
            name,
            rows.clone().map(|values| match values.get(name) {
                Some(Reading::Ratio(ratio)) => Some(*ratio),
                Some(Reading::Count(count)) => Some(*count as f64),
                _ => None,
            }),
        ),
    };
    names.iter().map(column).collect()
}

pub(crate) fn rate(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

fn whole(points: &[Measured], known: &Columns) -> Table {
    let rows: Vec<&Measured> = points.iter().collect();
    let mut columns = identity(&rows);
    columns.extend(parameters(&rows, &known.parameters));
    let records = || points.iter().map(|point| point.record);
    columns.extend([
        Column::count("cycles", records().map(|record| Some(record.cycles))),
        Column::real("seconds", records().map(PointRecord::seconds)),
        Column::count("warp_instructions", records().map(|record| Some(record.warp_instructions))),
        Column::count("thread_instructions", records().map(|record| Some(record.thread_instructions))),
        Column::real("ipc", records().map(|record| rate(record.thread_instructions, record.cycles))),
        Column::real("energy_j", records().map(|record| Some(record.energy.total_j))),
        Column::real("dynamic_j", records().map(|record| Some(record.energy.dynamic_j))),
        Column::real("static_j", records().map(|record| Some(record.energy.static_j))),
    ]);
    columns.extend(of_counters(records().map(|record| &record.counters), &known.points));
    Table { name: "points", columns }
}

fn kernels(per_kernel: &[(&Measured, &PointKernel)], known: &Columns) -> Table {
    let rows: Vec<&Measured> = per_kernel.iter().map(|(point, _)| *point).collect();
    let mut columns = identity(&rows);
    columns.extend(parameters(&rows, &known.parameters));
    let kernels = || per_kernel.iter().map(|(_, kernel)| *kernel);
    columns.extend([
        Column::text("kernel", kernels().map(|kernel| Some(&kernel.demangled))),
        Column::count("launches", kernels().map(|kernel| Some(kernel.launches))),
        Column::count("registers", kernels().map(|kernel| Some(u64::from(kernel.registers)))),
        Column::count("shared_bytes", kernels().map(|kernel| Some(u64::from(kernel.shared_bytes)))),
        Column::count("cycles", kernels().map(|kernel| Some(kernel.cycles))),
        Column::count("warp_instructions", kernels().map(|kernel| Some(kernel.warp_instructions))),
        Column::count("thread_instructions", kernels().map(|kernel| Some(kernel.thread_instructions))),
        Column::real("ipc", kernels().map(|kernel| rate(kernel.thread_instructions, kernel.cycles))),
        Column::real("energy_j", kernels().map(|kernel| Some(kernel.energy.total_j))),
        Column::real("dynamic_j", kernels().map(|kernel| Some(kernel.energy.dynamic_j))),
        Column::real("static_j", kernels().map(|kernel| Some(kernel.energy.static_j))),
        Column::real("average_w", kernels().map(|kernel| Some(kernel.energy.average_w))),
    ]);
    columns.extend(of_counters(kernels().map(|kernel| &kernel.counters), &known.kernels));
    Table { name: "kernels", columns }
}

fn energy(points: &[Measured]) -> Table {
    let rows: Vec<_> = points
        .iter()
        .flat_map(|point| point.record.energy.structures.iter().map(move |structure| (point, structure)))
        .collect();
    let mut columns = identity(&rows.iter().map(|(point, _)| *point).collect::<Vec<_>>());
    let structures = || rows.iter().map(|(_, structure)| *structure);
    columns.extend([
        Column::text("component", structures().map(|structure| Some(&structure.component))),
        Column::text("structure", structures().map(|structure| Some(&structure.name))),
        Column::real("dynamic_j", structures().map(|structure| Some(structure.dynamic_j))),
        Column::real("static_j", structures().map(|structure| Some(structure.static_j))),
        Column::real("area_mm2", structures().map(|structure| structure.area_mm2)),
    ]);
    Table { name: "energy", columns }
}

/// Places that are not 0.
fn histograms(points: &[Measured]) -> Table {
    let mut rows: Vec<(&Measured, &str, usize, u64)> = Vec::new();
    for point in points {
        for (name, reading) in &point.record.counters {
            let Reading::Histogram(buckets) = reading else { continue };
            let places = buckets.iter().enumerate().filter(|(_, count)| **count > 0);
            rows.extend(places.map(|(place, count)| (point, name.as_str(), place, *count)));
        }
    }
    let text = |name: &str, of: fn(&Measured) -> String| {
        Column::text(name, rows.iter().map(|(point, ..)| Some(of(point))))
    };
    let columns = vec![
        text("experiment", |point| point.experiment.to_owned()),
        text("configuration", |point| point.configuration.to_owned()),
        text("key", |point| point.record.key.clone()),
        Column::text("counter", rows.iter().map(|(_, name, ..)| Some(*name))),
        Column::count("place", rows.iter().map(|(_, _, place, _)| Some(*place as u64))),
        Column::count("count", rows.iter().map(|(.., count)| Some(*count))),
    ];
    Table { name: "histograms", columns }
}
