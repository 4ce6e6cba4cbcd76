// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory: a flow chart with the bytes that move between levels and how much of them is found, and the same as tables.

use crate::chart::svg::{Svg, WIDTH};
use crate::html::{Cell, Table};
use crate::number::{bytes, count, digits, joules, percent};

use super::metrics::Metrics;
use super::scope::Scope;

/// Bytes of a line of the L1 data cache and of L2.
const LINE: f64 = 128.0;

/// What moves between levels, in bytes.
struct Flows {
    l1_read: f64,
    l1_written: f64,
    shared: f64,
    constant: f64,
    texture: f64,
    request: f64,
    reply: f64,
    dram_read: f64,
    dram_written: f64,
}

impl Flows {
    fn of(scope: &Scope) -> Flows {
        let access = scope.config.as_ref().map_or(32.0, |config| f64::from(config.dram_access_bytes()));
        let lines = |counter: &str, bytes: f64| scope.or_none(counter) * bytes;
        let size = |of: fn(&warpwatt_config::Config) -> u32| {
            scope.config.as_ref().map_or(LINE, |config| f64::from(of(config)))
        };
        Flows {
            l1_read: lines("l1d.reads.count", LINE),
            l1_written: scope.or_none("l1d.written.bytes"),
            // A lane of an access takes a word.
            shared: lines("shared.lanes.count", 4.0),
            constant: (scope.or_none("constant.operands.count") + scope.or_none("constant.reads.count"))
                * 4.0,
            texture: lines("texture.reads.count", size(|config| config.texture.line_bytes)),
            request: scope.or_none("noc.request.payload.bytes"),
            reply: scope.or_none("noc.reply.payload.bytes"),
            dram_read: lines("dram.reads.count", access),
            dram_written: lines("dram.writes.count", access),
        }
    }
}

struct Chart {
    svg: Svg,
}

impl Chart {
    fn level(&mut self, (x, y): (f64, f64), (width, height): (f64, f64), name: &str, lines: &[String]) {
        self.svg.rect(x, y, width, height, "class=\"box\" rx=\"6\"");
        self.svg.text(x + width / 2.0, y + 18.0, "middle", "label strong", name);
        for (place, text) in lines.iter().enumerate() {
            self.svg.text(x + width / 2.0, y + 34.0 + 14.0 * place as f64, "middle", "tick", text);
        }
    }

    /// What flows, by an arrow whose width grows with its share of the greatest flow.
    fn arrow(&mut self, from: (f64, f64), to: (f64, f64), share: f64, text: &str) {
        let width = 1.5 + 7.0 * share.clamp(0.0, 1.0).sqrt();
        let ahead = (to.0 - from.0).signum();
        let (tip, half) = (7.0 + width / 2.0, width / 2.0);
        let neck = to.0 - ahead * tip;
        let class = if share > 0.0 { "flow" } else { "flow none" };
        let points = [
            (from.0, from.1 - half),
            (neck, to.1 - half),
            (neck, to.1 - half - 4.0),
            (to.0, to.1),
            (neck, to.1 + half + 4.0),
            (neck, to.1 + half),
            (from.0, from.1 + half),
        ];
        self.svg.path(&points, class, true);
        self.svg.text((from.0 + to.0) / 2.0, from.1 - half - 4.0, "middle", "tick", text);
    }
}

fn chart(scope: &Scope) -> String {
    let flows = Flows::of(scope);
    let all = [
        flows.l1_read,
        flows.l1_written,
        flows.shared,
        flows.constant,
        flows.texture,
        flows.request,
        flows.reply,
        flows.dram_read,
        flows.dram_written,
    ];
    let most = all.iter().copied().fold(1.0, f64::max);
    let mut chart = Chart { svg: Svg::default() };
    let hit = |counter: &str| {
        scope.count(counter).map_or("no accesses".to_owned(), |ratio| format!("{} hits", percent(ratio)))
    };
    let energy = |components: &[&str]| scope.joules_of(components).map(joules).into_iter();
    let with = |first: String, components: &[&str]| {
        std::iter::once(first).chain(energy(components)).collect::<Vec<_>>()
    };
    let height = 64.0;
    let row = |place: usize| 10.0 + 84.0 * place as f64;
    let (kernel, caches, slice, memory) = (2.0, 262.0, 560.0, 806.0);
    let size = (158.0, height);
    let conflicts = scope
        .count("shared.conflict.ratio")
        .map_or("no accesses".to_owned(), |ratio| format!("{} cycles lost each", digits(ratio, 2)));
    chart.level(
        (kernel, row(0)),
        (140.0, 84.0 * 3.0 + height),
        "SMs",
        &with(format!("{} loads, stores", count(scope.or_none("lsu.instructions.count"))), &["pipeline"]),
    );
    chart.level((caches, row(0)), size, "Shared memory", &with(conflicts, &["shared memory"]));
    chart.level((caches, row(1)), size, "L1 data cache", &with(hit("l1d.hit.ratio"), &["L1 data cache"]));
    chart.level(
        (caches, row(2)),
        size,
        "Constant cache",
        &with(hit("constant.hit.ratio"), &["constant cache"]),
    );
    chart.level((caches, row(3)), size, "Texture cache", &with(hit("texture.hit.ratio"), &["texture cache"]));
    chart.level((slice, row(1)), (130.0, 84.0 + height), "L2", &with(hit("l2.hit.ratio"), &["L2"]));
    let rows = scope
        .count("dram.row_hit.ratio")
        .map_or("no accesses".to_owned(), |ratio| format!("{} row hits", percent(ratio)));
    chart.level(
        (memory, row(1)),
        (150.0, 84.0 + height),
        "Memory",
        &with(rows, &["memory", "memory interface"]),
    );
    let middle = |place: usize| row(place) + height / 2.0;
    let (left, right) = (kernel + 140.0, caches);
    let mut two_ways = |y: f64, span: (f64, f64), out: f64, back: f64, texts: (&str, &str)| {
        chart.arrow(
            (span.0, y - 14.0),
            (span.1, y - 14.0),
            out / most,
            &format!("{} {}", bytes(out), texts.0),
        );
        chart.arrow(
            (span.1, y + 16.0),
            (span.0, y + 16.0),
            back / most,
            &format!("{} {}", bytes(back), texts.1),
        );
    };
    two_ways(middle(1), (left, right), flows.l1_written, flows.l1_read, ("stored", "in lines"));
    two_ways(row(2) - 10.0, (caches + 158.0, slice), flows.request, flows.reply, ("sent", "back"));
    two_ways(
        row(2) - 10.0,
        (slice + 130.0, memory),
        flows.dram_written,
        flows.dram_read,
        ("written", "read"),
    );
    for (place, moved) in [(0, flows.shared), (2, flows.constant), (3, flows.texture)] {
        chart.arrow((right, middle(place)), (left, middle(place)), moved / most, &bytes(moved));
    }
    chart.svg.text((caches + 158.0 + slice) / 2.0, row(2) - 52.0, "middle", "tick", "network");
    if let Some(network) = scope.joules_of(&["network"]) {
        chart.svg.text((caches + 158.0 + slice) / 2.0, row(2) + 40.0, "middle", "tick", &joules(network));
    }
    debug_assert!(memory + 150.0 <= WIDTH);
    chart
        .svg
        .finish(
            row(3) + height + 12.0,
            "Bytes between the levels of memory, with hit rates and energy; the tables below have the same data.",
        )
        .inline()
}

pub fn html(scope: &Scope) -> String {
    if scope.config.is_none() {
        return "<p class=empty>A functional run has no memory hierarchy.</p>".to_owned();
    }
    format!("<div class=plot>{}</div>{}{}", chart(scope), levels(scope), details(scope))
}

/// A row for each level.
fn levels(scope: &Scope) -> String {
    let flows = Flows::of(scope);
    let mut table = Table::new(format!("Levels of memory: {}", scope.title))
        .text("level")
        .number("reads")
        .number("writes")
        .number("hit rate")
        .number("bytes")
        .number("energy")
        .number("energy of a byte");
    let total = |names: &[&str]| names.iter().map(|name| scope.or_none(name)).sum::<f64>();
    let mut row =
        |name: &str, reads: f64, writes: f64, hits: Option<f64>, moved: f64, components: &[&str]| {
            let energy = scope.joules_of(components);
            table.push(vec![
                Cell::text(name),
                Cell::Number(count(reads), reads),
                Cell::Number(count(writes), writes),
                Cell::shown(hits, percent),
                Cell::Number(bytes(moved), moved),
                scope.energy_cell(energy),
                Cell::shown(energy.map(|energy| energy / moved).filter(|each| each.is_finite()), joules),
            ]);
        };
    row(
        "shared memory",
        total(&["shared.reads.count"]),
        total(&["shared.writes.count"]),
        None,
        flows.shared,
        &["shared memory"],
    );
    row(
        "L1 data cache",
        total(&["l1d.reads.count"]),
        total(&["l1d.writes.count"]),
        scope.count("l1d.hit.ratio"),
        flows.l1_read + flows.l1_written,
        &["L1 data cache"],
    );
    row(
        "constant cache",
        total(&["constant.operands.count", "constant.reads.count"]),
        0.0,
        scope.count("constant.hit.ratio"),
        flows.constant,
        &["constant cache"],
    );
    row(
        "texture cache",
        total(&["texture.reads.count"]),
        0.0,
        scope.count("texture.hit.ratio"),
        flows.texture,
        &["texture cache"],
    );
    row(
        "network",
        total(&["noc.request.packets.count"]),
        total(&["noc.reply.packets.count"]),
        None,
        flows.request + flows.reply,
        &["network"],
    );
    row(
        "L2",
        total(&["l2.reads.count"]),
        total(&["l2.writes.count", "l2.atomics.count"]),
        scope.count("l2.hit.ratio"),
        flows.request + flows.reply,
        &["L2"],
    );
    row(
        "memory",
        total(&["dram.reads.count"]),
        total(&["dram.writes.count"]),
        scope.count("dram.row_hit.ratio"),
        flows.dram_read + flows.dram_written,
        &["memory", "memory interface"],
    );
    table.html()
}

fn details(scope: &Scope) -> String {
    let mut metrics = Metrics::new(scope, "Memory in detail");
    let memory = scope.joules_of(&["memory", "memory interface"]);
    metrics
        .number("bandwidth of the memory", scope.count("dram.bandwidth.gbs"), "GB/s", memory)
        .percent("of its peak", "dram.utilisation.ratio", None)
        .count("rows opened", "dram.activates.count", None)
        .count("switches between reads and writes", "dram.turnarounds.count", None)
        .number("lines of an L1 access", transactions(scope), "", scope.joules_of(&["L1 data cache"]))
        .count("cycles that the load and store unit was blocked", "lsu.blocked.cycles", None)
        .count("L1: waits for miss registers", "l1d.fail_mshrs.cycles", None)
        .count("L1: waits for the network", "l1d.network.cycles", None)
        .count("L2: waits for the data array", "l2.blocked_array.clocks", None)
        .count("L2: waits for the memory", "l2.blocked_memory.clocks", None)
        .count("lines written back from L2", "l2.write_backs.count", None)
        .count(
            "shared memory: conflict cycles",
            "shared.conflict_cycles.cycles",
            scope.joules_of(&["shared memory"]),
        )
        .row("compression of memory", None, scope.joules_of(&["memory compression"]));
    metrics.html()
}

/// Lines that a load or store touches on average, from the histogram of transactions, which begins with one line.
pub fn transactions(scope: &Scope) -> Option<f64> {
    let histogram = scope.histogram("lsu.transactions_per_instruction.histogram");
    let number: u64 = histogram.iter().sum();
    let sum: u64 = histogram.iter().enumerate().map(|(place, count)| (place as u64 + 1) * count).sum();
    (number > 0).then(|| sum as f64 / number as f64)
}
