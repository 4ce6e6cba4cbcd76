// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tables of one run record: its kernels and launches with a column for each counter and each reason of a stall, its source lines, its counters, where its
//! energy went, and what was sampled over time.

use std::collections::{BTreeMap, BTreeSet};

use warpwatt_results::{Mode, Reading, RunRecord, Stalls};

use crate::points::counters;
use crate::table::{Column, Table};

/// The tables of a record.
pub struct RunTables<'r>(pub &'r RunRecord);

impl RunTables<'_> {
    /// A row for each kernel: its launches added up.
    pub fn kernels(&self) -> Table {
        let groups = || self.0.by_kernel.iter();
        let mut columns = vec![
            Column::text("kernel", groups().map(|group| Some(&group.demangled))),
            Column::text("mode", groups().map(|group| Some(mode(group.mode)))),
            Column::count("launches", groups().map(|group| Some(group.launches))),
            Column::count("registers", groups().map(|group| Some(group.registers.into()))),
            Column::count("shared_bytes", groups().map(|group| Some(group.shared_bytes.into()))),
            Column::count("local_bytes", groups().map(|group| Some(group.local_bytes.into()))),
            Column::count("cycles", groups().map(|group| group.cycles)),
            Column::count("warp_instructions", groups().map(|group| Some(group.warp_instructions))),
            Column::count("thread_instructions", groups().map(|group| Some(group.thread_instructions))),
            Column::real("ipc", groups().map(|group| group.ipc)),
            Column::real("energy_j", groups().map(|group| Some(group.energy?.total_j))),
            Column::real("dynamic_j", groups().map(|group| Some(group.energy?.dynamic_j))),
            Column::real("static_j", groups().map(|group| Some(group.energy?.static_j))),
            Column::real("average_w", groups().map(|group| Some(group.energy?.average_w))),
        ];
        columns.extend(stalls(groups().map(|group| group.stalls.as_ref())));
        columns.extend(counters(groups().map(|group| &group.counters)));
        Table { name: "kernels", columns }
    }

    /// A row for each launch that the record has in detail.
    pub fn launches(&self) -> Table {
        let launches = || self.0.kernels.iter();
        let extent = |name: &str, of: &dyn Fn(usize) -> u64| {
            Column::count(name, (0..self.0.kernels.len()).map(|row| Some(of(row))))
        };
        let mut columns = vec![
            Column::count("launch", launches().map(|launch| Some(launch.index))),
            Column::text("kernel", launches().map(|launch| Some(&launch.demangled))),
            Column::text("mode", launches().map(|launch| Some(mode(launch.mode)))),
        ];
        for (axis, letter) in ["x", "y", "z"].into_iter().enumerate() {
            columns.push(extent(&format!("grid_{letter}"), &|row| self.0.kernels[row].grid[axis].into()));
        }
        for (axis, letter) in ["x", "y", "z"].into_iter().enumerate() {
            columns.push(extent(&format!("block_{letter}"), &|row| self.0.kernels[row].block[axis].into()));
        }
        columns.extend([
            Column::count("registers", launches().map(|launch| Some(launch.registers.into()))),
            Column::count("shared_bytes", launches().map(|launch| Some(launch.shared_bytes.into()))),
            Column::count("local_bytes", launches().map(|launch| Some(launch.local_bytes.into()))),
            Column::count("start_cycle", launches().map(|launch| launch.start_cycle)),
            Column::count("cycles", launches().map(|launch| launch.cycles)),
            Column::count("warp_instructions", launches().map(|launch| Some(launch.warp_instructions))),
            Column::count("thread_instructions", launches().map(|launch| Some(launch.thread_instructions))),
            Column::real("ipc", launches().map(|launch| launch.ipc)),
            Column::real("energy_j", launches().map(|launch| Some(launch.energy.as_ref()?.total_j))),
            Column::real("average_w", launches().map(|launch| Some(launch.energy.as_ref()?.average_w))),
        ]);
        columns.extend(stalls(launches().map(|launch| launch.stalls.as_ref())));
        columns.extend(counters(launches().map(|launch| &launch.counters)));
        Table { name: "launches", columns }
    }

    /// A row for each source line, over all launches.
    pub fn lines(&self) -> Table {
        let record = self.0;
        let lines = || record.totals.lines.iter();
        let text = |file: &str, line: u32| record.sources.get(file)?.get(&line);
        let per_line = record.energy.iter().flat_map(|energy| &energy.per_line);
        let energy: BTreeMap<_, _> = per_line.map(|line| ((line.file.as_str(), line.line), line)).collect();
        let of = |file: &str, line: u32| energy.get(&(file, line)).copied();
        let mut columns = vec![
            Column::text("file", lines().map(|line| Some(&line.file))),
            Column::count("line", lines().map(|line| Some(line.line.into()))),
            Column::text("text", lines().map(|line| text(&line.file, line.line))),
            Column::count("warp_instructions", lines().map(|line| Some(line.warp_instructions))),
            Column::count("thread_instructions", lines().map(|line| Some(line.thread_instructions))),
            Column::real("energy_j", lines().map(|line| Some(of(&line.file, line.line)?.energy_j))),
            Column::real("dynamic_j", lines().map(|line| Some(of(&line.file, line.line)?.dynamic_j))),
            Column::real("time_share", lines().map(|line| Some(of(&line.file, line.line)?.time_share))),
        ];
        columns.extend(stalls(lines().map(|line| line.stalls.as_ref())));
        Table { name: "lines", columns }
    }

    /// A row for each counter of the whole run that is a number.
    pub fn counters(&self) -> Table {
        let numbers = || {
            let all = self.0.totals.counters.iter();
            all.filter(|(_, reading)| !matches!(reading, Reading::Histogram(_)))
        };
        let value = |reading: &Reading| match reading {
            Reading::Count(count) => Some(*count as f64),
            Reading::Ratio(ratio) => Some(*ratio),
            Reading::Histogram(_) => None,
        };
        let count = |reading: &Reading| if let Reading::Count(count) = reading { Some(*count) } else { None };
        let columns = vec![
            Column::text("counter", numbers().map(|(name, _)| Some(name))),
            Column::count("count", numbers().map(|(_, reading)| count(reading))),
            Column::real("value", numbers().map(|(_, reading)| value(reading))),
        ];
        Table { name: "counters", columns }
    }

    /// A row for each place of a histogram of the whole run that is not 0.
    pub fn histograms(&self) -> Table {
        let mut rows = Vec::new();
        for (name, reading) in &self.0.totals.counters {
            let Reading::Histogram(buckets) = reading else { continue };
            let places = (0_u64..).zip(buckets).filter(|(_, count)| **count > 0);
            rows.extend(places.map(|(place, count)| (name, place, *count)));
        }
        let columns = vec![
            Column::text("counter", rows.iter().map(|(name, ..)| Some(name))),
            Column::count("place", rows.iter().map(|(_, place, _)| Some(*place))),
            Column::count("count", rows.iter().map(|(.., count)| Some(*count))),
        ];
        Table { name: "histograms", columns }
    }

    /// A row for each structure of the technology.
    pub fn energy(&self) -> Table {
        let structures = || self.0.energy.iter().flat_map(|energy| &energy.structures);
        let columns = vec![
            Column::text("component", structures().map(|structure| Some(&structure.component))),
            Column::text("structure", structures().map(|structure| Some(&structure.name))),
            Column::real("dynamic_j", structures().map(|structure| Some(structure.dynamic_j))),
            Column::real("static_j", structures().map(|structure| Some(structure.static_j))),
            Column::real("total_j", structures().map(|one| Some(one.dynamic_j + one.static_j))),
            Column::real("area_mm2", structures().map(|structure| structure.area_mm2)),
        ];
        Table { name: "energy", columns }
    }

    /// A row for each interval of each launch that the record has in detail, with a column for each counter that was sampled.
    pub fn series(&self) -> Table {
        let launches = || self.0.kernels.iter().filter_map(|launch| Some((launch, launch.series.as_ref()?)));
        let length =
            |series: &BTreeMap<String, Vec<Reading>>| series.values().map(Vec::len).max().unwrap_or(0);
        let mut rows = Vec::new();
        for (launch, series) in launches() {
            rows.extend((0..length(series)).map(|place| (launch, series, place)));
        }
        let mut columns = vec![
            Column::count("launch", rows.iter().map(|(launch, ..)| Some(launch.index))),
            Column::text("kernel", rows.iter().map(|(launch, ..)| Some(&launch.demangled))),
        ];
        let mut names: BTreeMap<&str, bool> = BTreeMap::new();
        for (name, readings) in launches().flat_map(|(_, series)| series) {
            let ratio = readings.iter().any(|reading| matches!(reading, Reading::Ratio(_)));
            *names.entry(name).or_default() |= ratio;
        }
        // When an interval ended stands first.
        let mut order: Vec<_> = names.into_iter().collect();
        order.sort_by_key(|(name, _)| *name != "cycle");
        for (name, ratio) in order {
            let cell = |series: &BTreeMap<String, Vec<Reading>>, place: usize| {
                series.get(name).and_then(|readings| readings.get(place)).cloned()
            };
            let cells = rows.iter().map(|(_, series, place)| cell(series, *place));
            columns.push(match ratio {
                true => Column::real(
                    name,
                    cells.map(|reading| match reading? {
                        Reading::Count(count) => Some(count as f64),
                        Reading::Ratio(ratio) => Some(ratio),
                        Reading::Histogram(_) => None,
                    }),
                ),
                false => Column::count(
                    name,
                    cells.map(|reading| match reading? {
                        Reading::Count(count) => Some(count),
                        _ => None,
                    }),
                ),
            });
        }
        Table { name: "series", columns }
    }

    /// A row for each interval of the run, with the power of each component.
    pub fn power(&self) -> Table {
        let power = self.0.energy.as_ref().and_then(|energy| energy.power.clone()).unwrap_or_default();
        let mut columns = vec![
            Column::count("start_cycle", power.start_cycle.iter().map(|cycle| Some(*cycle))),
            Column::count("end_cycle", power.end_cycle.iter().map(|cycle| Some(*cycle))),
            Column::real("total_w", power.total_w.iter().map(|watts| Some(*watts))),
        ];
        for (name, watts) in &power.components_w {
            columns.push(Column::real(format!("{name}_w"), watts.iter().map(|watts| Some(*watts))));
        }
        Table { name: "power", columns }
    }
}

fn mode(mode: Mode) -> &'static str {
    match mode {
        Mode::Functional => "functional",
        Mode::Timed => "timed",
    }
}

/// A column for each reason that any row has.
fn stalls<'a>(rows: impl Iterator<Item = Option<&'a Stalls>> + Clone) -> Vec<Column> {
    let names: BTreeSet<_> = rows.clone().flatten().flat_map(Stalls::keys).collect();
    let column = |name: &String| {
        let cells = rows.clone().map(|row| Some(row?.get(name).copied().unwrap_or_default()));
        Column::count(format!("stall.{name}"), cells)
    };
    names.into_iter().map(column).collect()
}
