// SPDX-License-Identifier: MIT OR Apache-2.0
//! Launch, occupancy, and how work was distributed over the SMs.

use crate::chart::class;
use crate::chart::rows::{Row, Rows};
use crate::html::{Cell, Table};
use crate::number::{bytes, count, joules, percent};

use super::compute::resident;
use super::metrics::Metrics;
use super::scope::Scope;

pub fn launch(scope: &Scope) -> String {
    let mut metrics = Metrics::new(scope, "Launch");
    let total = scope.energy.map(|energy| energy.total_j);
    metrics.number("launches", Some(scope.launches as f64), "", total);
    if let Some(kernel) = scope.kernel {
        let volume = |extent: [u32; 3]| extent.iter().map(|side| f64::from(*side)).product::<f64>();
        let extent = |extent: [u32; 3]| format!("{} × {} × {}", extent[0], extent[1], extent[2]);
        let (blocks, threads) = (volume(kernel.grid), volume(kernel.block));
        let each = |parts: f64| total.map(|total| total / parts).filter(|each| each.is_finite());
        metrics
            .row("grid", Some(extent(kernel.grid)), None)
            .row("block", Some(extent(kernel.block)), None)
            .row("blocks; energy of one", Some(count(blocks)), each(blocks))
            .row("threads; energy of one", Some(count(blocks * threads)), each(blocks * threads))
            .number("registers of a thread", Some(kernel.registers.into()), "", None)
            .row("shared memory of a block", Some(bytes(kernel.shared_bytes.into())), None)
            .row("local memory of a thread", Some(bytes(kernel.local_bytes.into())), None)
            .number("stream", Some(kernel.stream.into()), "", None);
        if let Some(start) = kernel.start_cycle {
            metrics.row("start", Some(format!("cycle {}", count(start as f64))), None);
        }
    }
    if let (Some(cycles), Some(seconds)) = (scope.cycles, scope.seconds()) {
        let time = format!("{} cycles, {}", count(cycles as f64), crate::number::si(seconds, "s"));
        metrics.row("time", Some(time), scope.energy.map(|energy| energy.static_j));
    }
    metrics.html()
}

/// Blocks that an SM can hold, by what limits them.
fn limits(scope: &Scope) -> Vec<(&'static str, f64)> {
    let (Some(kernel), Some(config)) = (scope.kernel, &scope.config) else { return Vec::new() };
    let threads: f64 = kernel.block.iter().map(|side| f64::from(*side)).product();
    let warps = (threads / 32.0).ceil().max(1.0);
    let unit = f64::from(config.sm.register_unit.max(1));
    let registers = (f64::from(kernel.registers) * 32.0 / unit).ceil() * unit * warps;
    let shared = f64::from(kernel.shared_bytes.next_multiple_of(128));
    let most =
        |room: u32, need: f64| if need > 0.0 { (f64::from(room) / need).floor() } else { f64::INFINITY };
    vec![
        ("block slots", f64::from(config.sm.ctas)),
        ("warps", most(config.sm.warps, warps)),
        ("threads", most(config.sm.threads, threads)),
        ("registers", most(config.sm.registers, registers)),
        ("shared memory", most(config.shared.bytes, shared)),
    ]
}

pub fn occupancy(scope: &Scope) -> String {
    let mut metrics = Metrics::new(scope, "Occupancy");
    let limits = limits(scope);
    if let Some(least) = limits.iter().map(|limit| limit.1).reduce(f64::min) {
        for (name, blocks) in limits.iter().filter(|limit| limit.1.is_finite()) {
            let tight = if *blocks == least { "blocks, the limit" } else { "blocks" };
            metrics.row(&format!("an SM holds by {name}"), Some(format!("{} {tight}", count(*blocks))), None);
        }
        if let (Some(kernel), Some(config)) = (scope.kernel, &scope.config) {
            let threads: f64 = kernel.block.iter().map(|side| f64::from(*side)).product();
            let share = least * (threads / 32.0).ceil() / f64::from(config.sm.warps);
            metrics.row("possible occupancy", Some(percent(share.min(1.0))), None);
        }
    }
    let fixed = |share: Option<f64>| Some(scope.energy?.static_j * share?);
    let active = scope.count("sm.active.ratio");
    metrics
        .percent("occupancy, while an SM has warps", "sm.occupancy.ratio", None)
        .number(
            "resident warps of an SM, while it has any",
            resident(scope),
            "",
            scope.joules_of(&["register file", "register banks"]),
        )
        .row("time with warps, of all SMs", active.map(percent), fixed(active))
        .row(
            "time without",
            active.map(|active| percent(1.0 - active)),
            fixed(active.map(|active| 1.0 - active)),
        )
        .row("SMs that idle", None, scope.joules_of(&["idle SMs"]));
    metrics.html()
}

/// A bar for each SM: issued, waiting, without warps.
pub fn sms(scope: &Scope) -> String {
    let Some(sms) = scope.kernel.and_then(|kernel| kernel.sms.as_ref()) else {
        return "<p class=empty>Only launches in detail have these data: see below, and <code>--per-launch</code>.</p>"
            .to_owned();
    };
    let id = format!("{}-sms", scope.id);
    let per_sm = scope.energy.and_then(|energy| energy.per_sm.as_ref());
    let names = ["issued", "stalled", "without warps"];
    let mut table = Table::new("SMs")
        .id(format!("{id}-d"))
        .text("SM")
        .number(names[0])
        .number(names[1])
        .number(names[2])
        .number("active cycles")
        .number("energy")
        .sortable();
    let mut rows = Vec::new();
    for (place, issued) in sms.issued.iter().enumerate() {
        let of = |reason: &str| {
            sms.stalls.get(reason).and_then(|column| column.get(place)).copied().unwrap_or_default() as f64
        };
        let all: f64 = sms.stalls.keys().map(|reason| of(reason)).sum();
        let (issued, empty) = (*issued as f64, of("empty"));
        let stalled = all - empty;
        let energy =
            per_sm.and_then(|columns| Some(columns.dynamic_j.get(place)? + columns.static_j.get(place)?));
        let parts =
            [issued, stalled, empty].iter().enumerate().map(|(part, value)| (colour(part), *value)).collect();
        rows.push(Row { name: format!("SM {place}"), parts, text: energy.map_or(String::new(), joules) });
        let active = sms.active_cycles.get(place).map(|cycles| *cycles as f64);
        table.push(vec![
            Cell::text(format!("SM {place}")),
            Cell::shown(Some(issued), count),
            Cell::shown(Some(stalled), count),
            Cell::shown(Some(empty), count),
            Cell::shown(active, count),
            scope.energy_cell(energy),
        ]);
    }
    if let Some(shared) = per_sm.map(|columns| columns.shared_j) {
        let mut row = vec![Cell::text("what SMs share")];
        row.extend((0..4).map(|_| Cell::Nothing));
        row.push(scope.energy_cell(Some(shared)));
        table.push(row);
    }
    let legend = names.iter().enumerate().map(|(part, name)| (colour(part), (*name).to_owned())).collect();
    let rows = Rows { title: "Issue slots of each SM".to_owned(), legend, rows, most: None };
    format!(
        "<p class=note>Issue slots of each SM, with its energy. {}</p><div class=plot data-table=\"{id}-d\">{}</div>{}",
        balance(&sms.issued),
        rows.draw().inline(),
        crate::html::folded("Values", &table.html())
    )
}

fn colour(part: usize) -> String {
    match part {
        0 => "c9".to_owned(),
        1 => "c5".to_owned(),
        _ => class(7, 1, false),
    }
}

/// How even the work is.
fn balance(issued: &[u64]) -> String {
    let (most, sum) =
        (issued.iter().max().copied().unwrap_or_default() as f64, issued.iter().sum::<u64>() as f64);
    let mean = sum / issued.len().max(1) as f64;
    if mean > 0.0 {
        format!("The busiest SM issued {} times the mean.", crate::number::shown(most / mean))
    } else {
        String::new()
    }
}
