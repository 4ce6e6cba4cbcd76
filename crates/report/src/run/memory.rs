// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory: a flow chart with the bytes that move between levels and the hit rates, and the same as tables.

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

/// Left edges of the columns: SMs, caches, L2, memory.
const SMS: f64 = 2.0;
const CACHES: f64 = 262.0;
const L2: f64 = 560.0;
const MEMORY: f64 = 806.0;
const SMS_WIDTH: f64 = 140.0;
const CACHE_WIDTH: f64 = 158.0;
const L2_WIDTH: f64 = 130.0;
const MEMORY_WIDTH: f64 = 150.0;
/// Height of a cache, and from one to the next.
const HEIGHT: f64 = 64.0;
const STEP: f64 = 84.0;

const _: () = assert!(MEMORY + MEMORY_WIDTH <= WIDTH);

/// Upper edge of a row of caches.
fn row(place: usize) -> f64 {
    10.0 + STEP * place as f64
}

fn chart(scope: &Scope) -> String {
    let mut chart = Chart { svg: Svg::default() };
    boxes(&mut chart, scope);
    arrows(&mut chart, scope);
    let network = (CACHES + CACHE_WIDTH + L2) / 2.0;
    chart.svg.text(network, row(2) - 52.0, "middle", "tick", "network");
    if let Some(energy) = scope.joules_of(&["network"]) {
        chart.svg.text(network, row(2) + 40.0, "middle", "tick", &joules(energy));
    }
    chart
        .svg
        .finish(
            row(3) + HEIGHT + 12.0,
            "Bytes between the levels of memory, with hit rates and energy; the tables below have the same data.",
        )
        .inline()
}

/// A box for each level, with its hit rate and energy.
fn boxes(chart: &mut Chart, scope: &Scope) {
    let ratio = |counter: &str, text: &dyn Fn(f64) -> String| {
        scope.count(counter).map_or("no accesses".to_owned(), text)
    };
    let hit = |counter: &str| ratio(counter, &|ratio| format!("{} hits", percent(ratio)));
    let with = |first: String, components: &[&str]| {
        let energy = scope.joules_of(components).map(joules);
        std::iter::once(first).chain(energy).collect::<Vec<_>>()
    };
    let loads = format!("{} loads, stores", count(scope.or_none("lsu.instructions.count")));
    chart.level((SMS, row(0)), (SMS_WIDTH, 3.0 * STEP + HEIGHT), "SMs", &with(loads, &["pipeline"]));
    let conflicts = ratio("shared.conflict.ratio", &|ratio| format!("{} cycles lost each", digits(ratio, 2)));
    let caches = [
        ("Shared memory", conflicts, "shared memory"),
        ("L1 data cache", hit("l1d.hit.ratio"), "L1 data cache"),
        ("Constant cache", hit("constant.hit.ratio"), "constant cache"),
        ("Texture cache", hit("texture.hit.ratio"), "texture cache"),
    ];
    for (place, (name, rate, component)) in caches.into_iter().enumerate() {
        chart.level((CACHES, row(place)), (CACHE_WIDTH, HEIGHT), name, &with(rate, &[component]));
    }
    let tall = STEP + HEIGHT;
    chart.level((L2, row(1)), (L2_WIDTH, tall), "L2", &with(hit("l2.hit.ratio"), &["L2"]));
    let rows = ratio("dram.row_hit.ratio", &|ratio| format!("{} row hits", percent(ratio)));
    let memory = with(rows, &["memory", "memory interface"]);
    chart.level((MEMORY, row(1)), (MEMORY_WIDTH, tall), "Memory", &memory);
}

/// Arrows between the levels, as thick as the bytes that move.
fn arrows(chart: &mut Chart, scope: &Scope) {
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
    let middle = |place: usize| row(place) + HEIGHT / 2.0;
    let sms = SMS + SMS_WIDTH;
    let between = row(2) - 10.0;
    for (y, from, to, out, back, texts) in [
        (middle(1), sms, CACHES, flows.l1_written, flows.l1_read, ("stored", "in lines")),
        (between, CACHES + CACHE_WIDTH, L2, flows.request, flows.reply, ("sent", "back")),
        (between, L2 + L2_WIDTH, MEMORY, flows.dram_written, flows.dram_read, ("written", "read")),
    ] {
        let (above, below) = (y - 14.0, y + 16.0);
        chart.arrow((from, above), (to, above), out / most, &format!("{} {}", bytes(out), texts.0));
        chart.arrow((to, below), (from, below), back / most, &format!("{} {}", bytes(back), texts.1));
    }
    for (place, moved) in [(0, flows.shared), (2, flows.constant), (3, flows.texture)] {
        chart.arrow((CACHES, middle(place)), (sms, middle(place)), moved / most, &bytes(moved));
    }
}

pub fn html(scope: &Scope) -> String {
    if scope.config.is_none() {
        return "<p class=empty>A functional run has no memory hierarchy.</p>".to_owned();
    }
    format!("<div class=plot>{}</div>{}{}", chart(scope), levels(scope), details(scope))
}

/// A level of memory: its counters of reads and of writes, the ratio of hits, bytes moved, and its components in the energy.
struct Level {
    name: &'static str,
    reads: &'static [&'static str],
    writes: &'static [&'static str],
    hits: Option<&'static str>,
    bytes: fn(&Flows) -> f64,
    components: &'static [&'static str],
}

const LEVELS: [Level; 7] = [
    Level {
        name: "shared memory",
        reads: &["shared.reads.count"],
        writes: &["shared.writes.count"],
        hits: None,
        bytes: |flows| flows.shared,
        components: &["shared memory"],
    },
    Level {
        name: "L1 data cache",
        reads: &["l1d.reads.count"],
        writes: &["l1d.writes.count"],
        hits: Some("l1d.hit.ratio"),
        bytes: |flows| flows.l1_read + flows.l1_written,
        components: &["L1 data cache"],
    },
    Level {
        name: "constant cache",
        reads: &["constant.operands.count", "constant.reads.count"],
        writes: &[],
        hits: Some("constant.hit.ratio"),
        bytes: |flows| flows.constant,
        components: &["constant cache"],
    },
    Level {
        name: "texture cache",
        reads: &["texture.reads.count"],
        writes: &[],
        hits: Some("texture.hit.ratio"),
        bytes: |flows| flows.texture,
        components: &["texture cache"],
    },
    Level {
        name: "network",
        reads: &["noc.request.packets.count"],
        writes: &["noc.reply.packets.count"],
        hits: None,
        bytes: |flows| flows.request + flows.reply,
        components: &["network"],
    },
    Level {
        name: "L2",
        reads: &["l2.reads.count"],
        writes: &["l2.writes.count", "l2.atomics.count"],
        hits: Some("l2.hit.ratio"),
        bytes: |flows| flows.request + flows.reply,
        components: &["L2"],
    },
    Level {
        name: "memory",
        reads: &["dram.reads.count"],
        writes: &["dram.writes.count"],
        hits: Some("dram.row_hit.ratio"),
        bytes: |flows| flows.dram_read + flows.dram_written,
        components: &["memory", "memory interface"],
    },
];

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
    let total = |names: &[&str]| names.iter().fold(0.0, |sum, name| sum + scope.or_none(name));
    for level in &LEVELS {
        let (reads, writes) = (total(level.reads), total(level.writes));
        let moved = (level.bytes)(&flows);
        let energy = scope.joules_of(level.components);
        table.push(vec![
            Cell::text(level.name),
            Cell::Number(count(reads), reads),
            Cell::Number(count(writes), writes),
            Cell::shown(level.hits.and_then(|ratio| scope.count(ratio)), percent),
            Cell::Number(bytes(moved), moved),
            scope.energy_cell(energy),
            Cell::shown(energy.map(|energy| energy / moved).filter(|each| each.is_finite()), joules),
        ]);
    }
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
