// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compute, schedulers, warp states and instructions: what issued, what did not and why, and what it cost.

use crate::chart::rows::{Row, Rows};
use crate::html::{Cell, Table, escape};
use crate::number::{count, percent, shown};

use super::metrics::Metrics;
use super::scope::Scope;

/// Use of the execution units and of the register file.
pub fn workload(scope: &Scope) -> String {
    let mut metrics = Metrics::new(scope, "Compute");
    let units = scope.joules_of(&["execution units"]);
    metrics
        .number("thread instructions per cycle", scope.ipc, "", None)
        .number("warp instructions per cycle and SM", ratio_per_sm(scope), "", None)
        .count("on integer and single-precision units", "units.sp.count", units)
        .count("on special function units", "units.sfu.count", None)
        .count("on double-precision units", "units.fp64.count", None)
        .count("to the memory unit", "units.memory.count", None)
        .count("cycles waited for a unit", "units.waits.cycles", None)
        .count(
            "register operands read",
            "rf.reads.count",
            scope.joules_of(&["register file", "register banks", "register wires"]),
        )
        .count("register results written", "rf.writes.count", None)
        .number("cycles waited for a bank, per operand", scope.count("rf.read_conflict.ratio"), "", None)
        .row("pipeline", None, scope.joules_of(&["pipeline"]))
        .row("logic of SMs", None, scope.joules_of(&["SM logic", "idle SMs"]));
    metrics.html()
}

fn ratio_per_sm(scope: &Scope) -> Option<f64> {
    let config = scope.config.as_ref()?;
    Some(scope.warp_instructions as f64 / (scope.cycles? as f64 * f64::from(config.gpu.sms)))
}

pub fn schedulers(scope: &Scope) -> String {
    let mut metrics = Metrics::new(scope, "Schedulers");
    let share = |part: &str| Some(percent(scope.count(part)? / scope.slots()?));
    metrics
        .count(
            "issue slots: cycles times schedulers",
            "sm.issue_slots.count",
            scope.energy.map(|energy| energy.total_j),
        )
        .row(
            "that issued an instruction",
            share("sm.issued.count"),
            scope.joules_of(&["front end", "pipeline"]),
        )
        .row("that issued an instruction of a technique", share("sm.injected.count"), None)
        .row(
            "without warps",
            scope.slots().map(|slots| percent(scope.stall("empty") / slots)),
            scope.joules_of(&["idle SMs"]),
        )
        .number("resident warps of an SM, while it has any", resident(scope), "", None)
        .percent("instruction cache hits", "icache.hit.ratio", None)
        .count("instructions thrown away at jumps", "icache.flushed.count", None);
    metrics.html()
}

pub fn resident(scope: &Scope) -> Option<f64> {
    Some(
        scope.count("sm.resident_warps.cycles")?
            / scope.count("sm.active.cycles").filter(|cycles| *cycles > 0.0)?,
    )
}

/// What reasons mean, and what helps.
pub const REASONS: [(&str, &str, &str); 9] = [
    ("memory", "waiting for values from memory", "c5"),
    ("dependency", "waiting for computed values", "c0"),
    ("barrier", "at barriers, or lanes waiting for others of their warp", "c4"),
    ("unit", "no operand collector or memory queue entry free", "c1"),
    ("fetch", "the next instruction was not fetched yet", "c2"),
    ("constant", "misses of constant operands", "c3"),
    ("merge", "until atomics or system calls take effect", "c6"),
    ("fence", "a fence waits for stores", "c8"),
    ("empty", "schedulers without warps", "c7"),
];

/// Issue slots: issued, or by stall reason. Static energy is proportional to time: a slot has its share of it.
pub fn states(scope: &Scope) -> String {
    let (Some(slots), Some(_)) = (scope.slots(), scope.stalls) else {
        return "<p class=empty>A functional run has no time.</p>".to_owned();
    };
    let id = format!("{}-states", scope.id);
    let fixed = scope.energy.map(|energy| energy.static_j);
    let issued = scope.or_none("sm.issued.count") + scope.or_none("sm.injected.count");
    let all = std::iter::once(("issued", "an instruction issued", "c9", issued))
        .chain(REASONS.iter().map(|(name, what, class)| (*name, *what, *class, scope.stall(name))));
    let mut table = Table::new("Issue slots: issued, or by stall reason")
        .id(format!("{id}-d"))
        .text("state")
        .number("slots")
        .number("share")
        .number("energy of that time")
        .text("meaning")
        .sortable();
    let mut rows = Vec::new();
    for (name, what, class, number) in all.filter(|(.., number)| *number > 0.0) {
        let share = number / slots;
        rows.push(Row {
            name: name.to_owned(),
            parts: vec![(class.to_owned(), share)],
            text: percent(share),
        });
        table.push(vec![
            Cell::text(name),
            Cell::Number(count(number), number),
            Cell::Number(percent(share), share),
            scope.energy_cell(fixed.map(|fixed| fixed * share)),
            Cell::text(what),
        ]);
    }
    let rows = Rows {
        title: "Issue slots: issued, or by stall reason".to_owned(),
        legend: Vec::new(),
        rows,
        most: None,
    };
    format!(
        "<p class=note>Energy: static energy, divided by the share of issue slots.</p><div class=plot data-table=\"{id}-d\">{}</div>{}",
        rows.draw().inline(),
        table.html()
    )
}

/// Instructions by kind, with the energy of each.
pub fn instructions(scope: &Scope) -> String {
    let mut table = Table::new(format!("Instructions by kind: {}", scope.title))
        .id(format!("{}-kinds", scope.id))
        .text("kind")
        .number("warp instructions")
        .number("share")
        .number("lanes")
        .number("energy")
        .number("energy of one")
        .sortable();
    let total: f64 = scope.warp_instructions as f64;
    for name in
        scope.counters.keys().filter(|name| name.starts_with("ops.") && !name.ends_with(".lanes.count"))
    {
        let kind = name.trim_start_matches("ops.").trim_end_matches(".count");
        let number = scope.or_none(name);
        if number == 0.0 {
            continue;
        }
        let lanes = scope.count(&format!("ops.{kind}.lanes.count")).map(|lanes| lanes / number);
        let energy = scope.class_j(kind);
        table.push(vec![
            Cell::text(kind.replace('_', " ")),
            Cell::Number(count(number), number),
            Cell::Number(percent(number / total), number / total),
            Cell::number(lanes),
            scope.energy_cell(energy),
            Cell::shown(energy.map(|energy| energy / number), crate::number::joules),
        ]);
    }
    let lanes = scope.count("exec.lanes_per_warp_instruction.ratio").map_or(String::new(), shown);
    let divergent = scope.count("exec.divergent_branches.count").map_or(String::new(), count);
    let summary = format!(
        "<p class=note>{} warp instructions, {} lanes each on average, {} divergent branches.</p>",
        count(total),
        escape(&lanes),
        escape(&divergent)
    );
    if table.is_empty() { summary } else { summary + &table.html() }
}
