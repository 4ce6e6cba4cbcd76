// SPDX-License-Identifier: MIT OR Apache-2.0
//! The pages of a run: the whole of it, and the longest launch of each of its kernels, in Nsight Compute's order of sections, with energy everywhere.

pub mod compute;
mod energy;
mod launch;
mod light;
mod memory;
mod metrics;
pub mod rules;
pub mod scope;
mod source;

use warpwatt_results::{Kernel, Mode, RunRecord, Severity, Status};

use crate::html::{Cell, Table, escape};
use crate::number::{count, joules, percent, shown, si, things};
use scope::Scope;

/// Launches that have sections of their own; the others are in the table of kernels.
const MOST_LAUNCHES: usize = 6;

/// What a run is called.
pub fn name(file: &str, record: &RunRecord) -> String {
    let inputs = &record.inputs;
    let what = match (&inputs.workload, &inputs.program) {
        (Some(workload), _) => format!("{workload}@{}", inputs.size.as_deref().unwrap_or("?")),
        (None, Some(program)) => program.join(" "),
        _ => "launch file".to_owned(),
    };
    let known = what.split('@').next() == Some(file);
    let mut name = if known { what } else { format!("{file}: {what}") };
    if !inputs.techniques.is_empty() {
        name += &format!(" with {}", inputs.techniques.join(", "));
    }
    name
}

/// The launches that are shown in detail: the longest of each kernel, of the kernels that took longest.
fn chosen(record: &RunRecord) -> Vec<&Kernel> {
    let mut longest = Vec::<&Kernel>::new();
    for kernel in record.kernels.iter().filter(|kernel| kernel.mode == Mode::Timed) {
        match longest.iter_mut().find(|known| known.name == kernel.name) {
            Some(known) if known.cycles < kernel.cycles => *known = kernel,
            Some(_) => {}
            None => longest.push(kernel),
        }
    }
    longest.sort_by_key(|kernel| std::cmp::Reverse(kernel.cycles));
    longest.truncate(MOST_LAUNCHES);
    longest
}

pub fn html(id: &str, file: &str, record: &RunRecord) -> String {
    let mut out =
        format!("<section id=\"{id}\" class=run><h2>{}</h2>{}", escape(&name(file, record)), about(record));
    for diagnostic in record.diagnostics.iter().take(20) {
        let class = if diagnostic.severity == Severity::Error { "bad" } else { "warn" };
        out += &format!(
            "<p class=\"told {class}\"><b>{}</b> {}</p>",
            escape(&diagnostic.code),
            escape(&diagnostic.message)
        );
    }
    let launches = chosen(record);
    let only = match &launches[..] {
        [only] if record.totals.launches == 1 => Some(*only),
        _ => None,
    };
    // A run of one launch is shown as that launch, which has more data.
    let whole = only.map_or_else(|| Scope::of_run(id, record), |kernel| Scope::of_launch(id, record, kernel));
    out += &sections(&whole, record, true);
    if only.is_none() {
        out += &kernels(id, record);
        for kernel in launches {
            let scope = Scope::of_launch(id, record, kernel);
            out += &format!(
                "<details class=launch id=\"{}\"><summary><h3>{}</h3><span>{} cycles, {}</span></summary>{}</details>",
                scope.id,
                escape(&scope.title),
                scope.cycles.map_or("–".to_owned(), |cycles| count(cycles as f64)),
                scope.energy.map_or("no energy".to_owned(), |energy| joules(energy.total_j)),
                sections(&scope, record, false)
            );
        }
    }
    out + "</section>"
}

/// Cards at the head of a run.
fn about(record: &RunRecord) -> String {
    let totals = &record.totals;
    let mut cards = Vec::new();
    let mut card = |name: &str, value: String, more: String| cards.push((name.to_owned(), value, more));
    let hertz = scope::config(record).map(|config| f64::from(config.clock.core_mhz) * 1e6);
    if let Some(cycles) = totals.cycles {
        let time = hertz.map_or(String::new(), |hertz| si(cycles as f64 / hertz, "s"));
        card("cycles", count(cycles as f64), time);
    }
    if let Some(energy) = &record.energy {
        card(
            "energy",
            joules(energy.total_j),
            format!("{} dynamic", percent(energy.dynamic_j / energy.total_j)),
        );
        card("power", format!("{} W", shown(energy.average_w)), "on average".to_owned());
    }
    if let Some(ipc) = totals.ipc {
        card("thread instructions per cycle", shown(ipc), String::new());
    }
    card("warp instructions", count(totals.warp_instructions as f64), String::new());
    card(
        "launches",
        count(totals.launches as f64),
        things(record.by_kernel.len() as u64, "kernel", "kernels"),
    );
    let status = match record.status {
        Status::Complete => "complete",
        Status::Partial => "partial",
        Status::Failed => "failed",
    };
    let check = record.check.as_ref().map_or(String::new(), |check| {
        format!(
            "{} values compared: {}",
            count(check.compared as f64),
            if check.passed { "as the reference" } else { "not as the reference" }
        )
    });
    card("status", status.to_owned(), check);
    let inputs = &record.inputs;
    let gpu = inputs.gpu.as_ref().map_or("functional", |gpu| &gpu.name);
    let technology = inputs.technology.as_deref().unwrap_or("none");
    let mut out = String::from("<dl class=cards>");
    for (name, value, more) in cards {
        out += &format!(
            "<div><dt>{}</dt><dd>{}</dd><dd class=more>{}</dd></div>",
            escape(&name),
            escape(&value),
            escape(&more)
        );
    }
    out + &format!(
        "</dl><p class=note>GPU {}, technology {}, techniques: {}; warpwatt {} (commit {}, model {}).</p>",
        escape(gpu),
        escape(technology),
        escape(&if inputs.techniques.is_empty() { "none".to_owned() } else { inputs.techniques.join(", ") }),
        escape(&record.tool.version),
        escape(&record.tool.commit),
        record.tool.model_version
    )
}

/// Sections, in Nsight Compute's order. The source view is that of the whole run.
fn sections(scope: &Scope, record: &RunRecord, whole: bool) -> String {
    let power = energy::power(scope, record.energy.as_ref().and_then(|energy| energy.power.as_ref()));
    let no_power = || "<p class=empty>`--interval CYCLES` records it.</p>".to_owned();
    let mut parts: Vec<(&str, &str, String)> = vec![
        ("rules", "Bottlenecks", rules::html(scope)),
        ("sol", "Speed of light", light::html(scope)),
        ("compute", "Compute", compute::workload(scope)),
        ("memory", "Memory", memory::html(scope)),
        ("schedulers", "Schedulers", compute::schedulers(scope)),
        ("states", "Warp states", compute::states(scope)),
        ("instructions", "Instructions", compute::instructions(scope)),
        ("launch", "Launch", launch::launch(scope)),
        ("occupancy", "Occupancy", launch::occupancy(scope)),
        ("sms", "Distribution over SMs", launch::sms(scope)),
        ("energy", "Energy", energy::breakdown(scope)),
        ("power", "Power over time", power.unwrap_or_else(no_power)),
    ];
    if whole {
        parts.push(("source", "Source", source::html(scope, record)));
    }
    let mut nav = format!("<nav class=sections aria-label=\"Sections of {}\">", escape(&scope.title));
    let mut out = String::new();
    for (key, title, content) in parts {
        let id = format!("{}-{key}", scope.id);
        nav += &format!("<a href=\"#s-{id}\">{title}</a> ");
        out += &format!(
            "<section class=part id=\"s-{id}\" data-section={key}><h4>{title}</h4>{content}</section>"
        );
    }
    nav + "</nav>" + &out
}

/// All kernels of a run, with the sums of their launches.
fn kernels(id: &str, record: &RunRecord) -> String {
    let mut table = Table::new("Kernels").id(format!("{id}-kernels")).sortable().filter("Filter kernels");
    table = table
        .text("kernel")
        .number("launches")
        .number("cycles")
        .number("share")
        .number("IPC")
        .number("warp instructions")
        .number("registers")
        .number("energy")
        .number("power");
    let all: f64 = record.by_kernel.iter().filter_map(|group| group.cycles).sum::<u64>() as f64;
    for group in &record.by_kernel {
        let cycles = group.cycles.map(|cycles| cycles as f64);
        table.push(vec![
            Cell::text(group.demangled.clone()),
            Cell::shown(Some(group.launches as f64), count),
            Cell::shown(cycles, count),
            Cell::shown(cycles.map(|cycles| cycles / all).filter(|share| share.is_finite()), percent),
            Cell::number(group.ipc),
            Cell::shown(Some(group.warp_instructions as f64), count),
            Cell::shown(Some(group.registers.into()), count),
            Cell::shown(group.energy.map(|energy| energy.total_j), joules),
            Cell::shown(group.energy.map(|energy| energy.average_w), |watts| format!("{} W", shown(watts))),
        ]);
    }
    let mut out = format!("<section class=part id=\"s-{id}-kernels\"><h4>Kernels</h4>{}", table.html());
    if record.kernels.len() > 1 {
        let mut table = Table::new("Launches in detail")
            .id(format!("{id}-launches"))
            .sortable()
            .filter("Filter launches");
        table = table
            .number("launch")
            .text("kernel")
            .text("grid")
            .text("block")
            .number("start")
            .number("cycles")
            .number("IPC")
            .number("energy");
        for kernel in &record.kernels {
            let extent = |extent: [u32; 3]| format!("{} × {} × {}", extent[0], extent[1], extent[2]);
            table.push(vec![
                Cell::shown(Some(kernel.index as f64), count),
                Cell::text(kernel.demangled.clone()),
                Cell::text(extent(kernel.grid)),
                Cell::text(extent(kernel.block)),
                Cell::shown(kernel.start_cycle.map(|cycle| cycle as f64), count),
                Cell::shown(kernel.cycles.map(|cycles| cycles as f64), count),
                Cell::number(kernel.ipc),
                Cell::shown(kernel.energy.as_ref().map(|energy| energy.total_j), joules),
            ]);
        }
        let title = format!("{} in detail", things(record.kernels.len() as u64, "launch", "launches"));
        out += &crate::html::folded(&title, &table.html());
    }
    out + "</section>"
}
