// SPDX-License-Identifier: MIT OR Apache-2.0
//! A comparison as tables, as wide as the terminal.

use warpwatt_results::RunRecord;

use super::difference::{Comparison, EnergyPair, Pair, Single};
use super::inputs::work;
use crate::energy::{joules, watts};
use crate::summary::{duration, techniques};
use crate::table::{Table, grouped, paragraph, shortened, width};

pub fn text(comparison: &Comparison, a: (&str, &RunRecord), b: (&str, &RunRecord)) -> String {
    let mut out = format!("A  {}\n{}", a.0, paragraph(&made_with(a.1), 3));
    out += &format!("B  {}\n{}", b.0, paragraph(&made_with(b.1), 3));
    out += &match comparison.inputs.is_empty() {
        true => "\nthe inputs are identical\n".to_owned(),
        false => format!("\n{}", inputs(comparison)),
    };
    out += &format!("\n{}", figures(comparison));
    if comparison.kernels.len() > 1 {
        out += &format!("\n{}", kernels(comparison));
    }
    if let Some(energy) = &comparison.energy {
        out += &energies(energy);
    }
    out += &counters(comparison);
    out += &singles("A", &comparison.only_a);
    out += &singles("B", &comparison.only_b);
    out
}

fn made_with(record: &RunRecord) -> String {
    let inputs = &record.inputs;
    let gpu = inputs.gpu.as_ref().map_or(String::new(), |gpu| format!(", on {}", gpu.name));
    let technology = inputs.technology.as_ref().map_or(String::new(), |name| format!(", {name}"));
    format!("{}{gpu}{}{technology}", work(inputs), techniques(&inputs.techniques))
}

fn inputs(comparison: &Comparison) -> String {
    const HEADING: &str = "difference";
    let mut table = Table::new(&[HEADING, "A", "B"]).left(1).left(2);
    let names = comparison.inputs.iter().map(|differs| differs.what.chars().count());
    // Two columns share what names leave, with two spaces before each.
    let most = width().saturating_sub(names.fold(HEADING.len(), usize::max) + 4) / 2;
    for differs in &comparison.inputs {
        let shown = |value: &str| match (differs.what.as_str(), value) {
            ("PTX" | "launch file", hash) => hash.chars().take(12).collect(),
            (_, "") => "none".to_owned(),
            (_, value) => shortened(value, most),
        };
        table.row([differs.what.clone(), shown(&differs.a), shown(&differs.b)]);
    }
    table.render()
}

fn figures(comparison: &Comparison) -> String {
    let mut table = Table::new(&["", "A", "B", "difference", "ratio"]);
    let mut row = |name: &str, pair: Option<Pair>, show: &dyn Fn(f64) -> String| {
        let Some(pair) = pair else { return };
        table.row([
            name.to_owned(),
            show(pair.a),
            show(pair.b),
            signed(pair.difference(), show),
            ratio(pair),
        ]);
    };
    row("cycles", Some(comparison.cycles), &count);
    row("time", comparison.seconds, &duration);
    row("warp instructions", Some(comparison.warp_instructions), &count);
    row("IPC", comparison.ipc, &|ipc| format!("{ipc:.2}"));
    let energy = comparison.energy.as_ref();
    row("energy", energy.map(|energy| energy.total_j), &joules);
    row("power", energy.map(|energy| energy.average_w), &watts);
    row("energy-delay, J s", energy.map(|energy| energy.edp_js), &|value| format!("{value:.3e}"));
    table.render()
}

fn kernels(comparison: &Comparison) -> String {
    let mut table = Table::new(&["kernel", "launches", "cycles A", "cycles B", "difference", "ratio"]).cut(0);
    for kernel in &comparison.kernels {
        let launches = match (kernel.launches.a, kernel.launches.b) {
            (a, b) if a == b => count(a),
            (a, b) => format!("{} and {}", count(a), count(b)),
        };
        table.row([
            kernel.name.clone(),
            launches,
            count(kernel.cycles.a),
            count(kernel.cycles.b),
            signed(kernel.cycles.difference(), &count),
            ratio(kernel.cycles),
        ]);
    }
    table.render()
}

/// All in one unit, so that numbers can be compared at a glance.
fn energies(energy: &EnergyPair) -> String {
    let most = energy.total_j.a.max(energy.total_j.b);
    let units = [(1.0, "J"), (1e-3, "mJ"), (1e-6, "uJ"), (1e-9, "nJ")];
    let (size, unit) = units.into_iter().find(|(size, _)| most >= *size).unwrap_or((1e-12, "pJ"));
    // Seven characters.
    let digits = if most >= 100.0 * size { 3 } else { 4 };
    let show = |joules: f64| format!("{:.digits$}", joules / size);
    let mut table =
        Table::new(&["component", "dyn. A", "B", "static A", "B", "total A", "B", "change", "ratio"])
            .cut(0)
            .optional(8);
    let mut row = |name: &str, dynamic: Pair, still: Pair, both: Pair| {
        table.row([
            name.to_owned(),
            show(dynamic.a),
            show(dynamic.b),
            show(still.a),
            show(still.b),
            show(both.a),
            show(both.b),
            signed(both.difference(), &show),
            ratio(both),
        ]);
    };
    for part in &energy.components {
        row(&part.name, part.dynamic_j, part.static_j, part.total_j);
    }
    row("total", energy.dynamic_j, energy.static_j, energy.total_j);
    format!("\nenergy in {unit}\n\n{}", table.render())
}

fn counters(comparison: &Comparison) -> String {
    if comparison.counters.is_empty() {
        return match comparison.counters_left_out {
            0 => "\nno counter changed\n".to_owned(),
            _ => String::new(),
        };
    }
    let mut table = Table::new(&["counter", "A", "B", "difference", "ratio"]).cut(0);
    for counter in &comparison.counters {
        table.row([
            counter.name.clone(),
            count(counter.count.a),
            count(counter.count.b),
            signed(counter.count.difference(), &count),
            ratio(counter.count),
        ]);
    }
    let more = match comparison.counters_left_out {
        0 => String::new(),
        left_out => format!("{left_out} more changed: `--top N` lists them\n"),
    };
    format!("\ncounters that changed most\n\n{}{more}", table.render())
}

fn singles(name: &str, list: &[Single]) -> String {
    if list.is_empty() {
        return String::new();
    }
    let mut table = Table::new(&["counter", name]);
    for single in list {
        table.row([single.name.clone(), grouped(single.count)]);
    }
    format!("\nonly in {name}\n\n{}", table.render())
}

fn count(value: f64) -> String {
    let digits = grouped(value.abs() as u64);
    if value < 0.0 { format!("-{digits}") } else { digits }
}

fn signed(value: f64, show: &dyn Fn(f64) -> String) -> String {
    let text = show(value.abs());
    // What is too small to be seen is no difference.
    match text.contains(|c: char| ('1'..='9').contains(&c)) {
        true => format!("{}{text}", if value < 0.0 { "-" } else { "+" }),
        false => "0".to_owned(),
    }
}

fn ratio(pair: Pair) -> String {
    pair.ratio().map_or("-".to_owned(), |ratio| format!("{ratio:.3}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_have_a_sign_and_ratios_need_something_to_be_of() {
        assert_eq!(signed(1234.0, &count), "+1 234");
        assert_eq!(signed(-2.5e-3, &joules), "-2.50 mJ");
        assert_eq!(signed(0.0, &count), "0");
        assert_eq!(signed(-1e-9, &duration), "0");
        assert_eq!(ratio(Pair::new(0.0, 3.0)), "-");
        assert_eq!(ratio(Pair::new(4.0, 3.0)), "0.750");
    }
}
