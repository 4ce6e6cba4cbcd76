// SPDX-License-Identifier: MIT OR Apache-2.0
//! The summary of a run: a line per kernel, its stall reasons, the hottest source lines, the check.

use std::collections::BTreeMap;

use warpwatt_config::Config;
use warpwatt_results::counters::LANES;
use warpwatt_results::{KernelGroup, Line, Mode, Reading, RunRecord, Stalls, Values};

use crate::table::{Table, grouped, shortened};

/// Lines of the source that are shown.
const HOTTEST: usize = 8;
/// Characters shown of a kernel's name and of a source line, at most.
const NAME: usize = 60;
const TEXT: usize = 60;

/// Texts of source lines, by file and line.
pub type Texts = BTreeMap<(String, u32), String>;

/// The launches of one kernel, added up.
#[derive(Default)]
struct Group {
    name: String,
    launches: u64,
    registers: u32,
    shared: u32,
    warps: u64,
    threads: u64,
    /// Of its timed launches.
    timed_launches: u64,
    timed_threads: u64,
    cycles: u64,
    values: Values,
    stalls: Stalls,
}

impl Group {
    fn add(&mut self, kernel: &KernelGroup) {
        self.launches += kernel.launches;
        self.registers = self.registers.max(kernel.registers);
        self.shared = self.shared.max(kernel.shared_bytes);
        self.warps += kernel.warp_instructions;
        self.threads += kernel.thread_instructions;
        if kernel.mode != Mode::Timed {
            return;
        }
        self.timed_launches += kernel.launches;
        self.timed_threads += kernel.thread_instructions;
        self.cycles += kernel.cycles.unwrap_or_default();
        self.values = kernel.counters.clone();
        self.stalls = kernel.stalls.clone().unwrap_or_default();
    }
}

/// By kernel, in order of first launch: those launches of a kernel that were timed and those that were not together.
fn groups(kernels: &[KernelGroup]) -> Vec<Group> {
    let mut groups = Vec::<Group>::new();
    let mut at = BTreeMap::<&str, usize>::new();
    for kernel in kernels {
        let position = *at.entry(&kernel.name).or_insert_with(|| {
            groups.push(Group { name: kernel.demangled.clone(), ..Group::default() });
            groups.len() - 1
        });
        groups[position].add(kernel);
    }
    groups
}

/// The summary of a run of `job`, on the GPU of that name and configuration if it was timed.
pub fn summary(job: &str, document: &RunRecord, gpu: Option<(&str, &Config)>, texts: &Texts) -> String {
    let mut out = match gpu {
        Some((name, config)) => timed(job, document, name, config, texts),
        None => functional(job, document),
    };
    if let Some(check) = &document.check {
        let verdict = if check.passed { "passed" } else { "FAILED" };
        let error = check.max_error.map_or("not finite".to_owned(), short);
        out += &format!(
            "\ncheck {verdict}: {} values compared, largest error {error}, tolerance {}\n",
            grouped(check.compared),
            short(check.tolerance)
        );
    }
    out
}

/// The techniques that are on, as what follows the name of a GPU.
pub fn techniques(on: &[String]) -> String {
    if on.is_empty() { String::new() } else { format!(" with {}", on.join(" and ")) }
}

fn functional(job: &str, document: &RunRecord) -> String {
    let mut table = Table::new(&[
        "kernel",
        "launches",
        "registers",
        "shared bytes",
        "warp instructions",
        "thread instructions",
    ])
    .cut(0)
    .optional(3);
    for group in groups(&document.by_kernel) {
        table.row([
            shortened(&group.name, NAME),
            grouped(group.launches),
            group.registers.to_string(),
            grouped(group.shared.into()),
            grouped(group.warps),
            grouped(group.threads),
        ]);
    }
    let totals = &document.totals;
    table.row([
        "total".to_owned(),
        grouped(totals.launches),
        String::new(),
        String::new(),
        grouped(totals.warp_instructions),
        grouped(totals.thread_instructions),
    ]);
    format!("{job}, functional\n\n{}", table.render())
}

fn timed(job: &str, document: &RunRecord, name: &str, config: &Config, texts: &Texts) -> String {
    let groups = groups(&document.by_kernel);
    let whole = whole(document);
    // The total of one kernel is that kernel, unless launches of it overlapped.
    let overlap = groups.iter().map(|group| group.cycles).sum::<u64>() > whole.cycles;
    let rows: Vec<_> = groups.iter().chain((groups.len() > 1 || overlap).then_some(&whole)).collect();
    let on = techniques(&document.inputs.techniques);
    let mut out = format!("{job}, on {name}{on}: {} SMs at {} MHz\n", config.gpu.sms, config.clock.core_mhz);
    out += &format!("\n{}", times(&rows, config));
    out += &crate::energy::headline(document).unwrap_or_default();
    if overlap {
        out += "kernels overlapped: the total is less than their sum\n";
    }
    out += &legend(&whole.stalls);
    if groups.iter().any(|group| group.timed_launches > 0) {
        out += &format!("\n{}", memory(&rows));
        out += &hottest(document, texts);
    }
    out
}

/// The sums of the record as a line of the tables.
fn whole(document: &RunRecord) -> Group {
    let totals = &document.totals;
    let timed = document.by_kernel.iter().filter(|group| group.mode == Mode::Timed);
    Group {
        name: "total".to_owned(),
        launches: totals.launches,
        timed_launches: timed.clone().map(|group| group.launches).sum(),
        timed_threads: timed.map(|group| group.thread_instructions).sum(),
        cycles: totals.cycles.unwrap_or_default(),
        values: totals.counters.clone(),
        stalls: totals.stalls.clone().unwrap_or_default(),
        ..Group::default()
    }
}

/// How long the kernels took, and what kept schedulers from issuing.
fn times(rows: &[&Group], config: &Config) -> String {
    let mut table =
        Table::new(&["kernel", "launches", "cycles", "time", "IPC", "occupancy", "issued", "waits for"])
            .cut(0)
            .wrap_last();
    for group in rows {
        let launches = match group.launches - group.timed_launches {
            0 => grouped(group.launches),
            functional => format!("{} + {functional} functional", group.timed_launches),
        };
        if group.timed_launches == 0 {
            let name = shortened(&group.name, NAME);
            table.row([name, launches, dash(), dash(), dash(), dash(), dash(), String::new()]);
            continue;
        }
        table.row([
            shortened(&group.name, NAME),
            launches,
            grouped(group.cycles),
            duration(group.cycles as f64 * 1e-6 / f64::from(config.clock.core_mhz)),
            format!("{:.1}", group.timed_threads as f64 / (group.cycles.max(1) as f64)),
            percent(&group.values, "sm.occupancy.ratio"),
            percent(&group.values, "sm.issue_utilisation.ratio"),
            waits(&group.stalls, group.cycles, config),
        ]);
    }
    table.render()
}

/// What the words for waiting mean, as far as they matter to this run.
fn legend(stalls: &Stalls) -> String {
    const MEANING: &[(&str, &str)] = &[
        ("empty", "no warp to issue: launch latency, too few blocks, uneven blocks"),
        ("barrier", "waiting at a barrier, or for other lanes of the warp"),
        ("fence", "a fence waits for stores"),
        ("merge", "atomics or system calls that have not taken effect"),
        ("fetch", "instruction fetch: the next instruction is not in the buffer"),
        ("constant", "miss of a constant operand or kernel parameter"),
        ("memory", "waiting for data from memory"),
        ("dependency", "waiting for the result of an arithmetic instruction"),
        ("unit", "no free operand collector or load/store queue entry"),
    ];
    let all: u64 = stalls.values().sum();
    let counts = |reason: &str| stalls.get(reason).is_some_and(|slots| slots * 10 > all);
    let lines: String = MEANING
        .iter()
        .filter(|(reason, _)| counts(reason))
        .map(|(reason, meaning)| format!("  {reason:<10}  {meaning}\n"))
        .collect();
    if lines.is_empty() { lines } else { format!("\nmain stall reasons\n{lines}") }
}

/// The two or three largest reasons, in percent of the issue slots.
fn waits(stalls: &Stalls, cycles: u64, config: &Config) -> String {
    let slots = cycles as f64 * f64::from(config.gpu.sms * config.sm.schedulers);
    let mut order: Vec<_> = stalls.iter().map(|(reason, count)| (*count as f64 / slots, reason)).collect();
    order.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    let shown: Vec<_> = order
        .iter()
        .take(3)
        .filter(|(share, _)| *share >= 0.01)
        .map(|(share, reason)| format!("{reason} {:.0} %", share * 100.0))
        .collect();
    shown.join(", ")
}

/// What memory did for the kernels; conflicts are cycles lost per access to shared memory.
fn memory(rows: &[&Group]) -> String {
    const COLUMNS: &[(&str, &str)] = &[
        ("lanes", LANES.name),
        ("L1D hits", "l1d.hit.ratio"),
        ("L2 hits", "l2.hit.ratio"),
        ("row hits", "dram.row_hit.ratio"),
        ("conflicts", "shared.conflict.ratio"),
        ("DRAM GB/s", "dram.bandwidth.gbs"),
        ("of peak", "dram.utilisation.ratio"),
    ];
    let titles: Vec<_> = std::iter::once("kernel").chain(COLUMNS.iter().map(|(title, _)| *title)).collect();
    let mut table = Table::new(&titles).cut(0).optional(4);
    for group in rows.iter().filter(|group| group.timed_launches > 0) {
        let cell = |column: usize| match COLUMNS[column] {
            ("lanes" | "DRAM GB/s" | "conflicts", name) => match group.values.get(name) {
                Some(Reading::Ratio(value)) => format!("{value:.1}"),
                _ => dash(),
            },
            (_, name) => percent(&group.values, name),
        };
        let name = shortened(&group.name, NAME);
        table.row([name, cell(0), cell(1), cell(2), cell(3), cell(4), cell(5), cell(6)]);
    }
    table.render()
}

/// Source lines by the issue slots in which they issued or stalled, in percent of all issue slots, as in the table of kernels.
fn hottest(document: &RunRecord, texts: &Texts) -> String {
    let waited = |line: &Line| line.stalls.iter().flatten().map(|(_, slots)| slots).sum::<u64>();
    let slots = |line: &Line| line.warp_instructions + waited(line);
    let totals = &document.totals;
    let all = match totals.counters.get("sm.issue_slots.count") {
        Some(Reading::Count(slots)) => *slots,
        _ => totals.lines.iter().map(slots).sum(),
    };
    // Instructions without a line come after all lines, and slots without a warp last.
    let (mut lines, rest): (Vec<_>, Vec<_>) = document.totals.lines.iter().partition(|line| line.line != 0);
    lines.sort_by_key(|line| std::cmp::Reverse(slots(line)));
    let share = |part: u64| format!("{:.1} %", part as f64 * 100.0 / (all.max(1) as f64));
    let mut table =
        Table::new(&["line", "slots", "issued", "stalled", "mostly for", ""]).left(4).left(5).cut(5);
    for line in lines.into_iter().take(HOTTEST).chain(rest) {
        let worst = line.stalls.iter().flatten().max_by_key(|(_, slots)| **slots);
        let text = texts.get(&(line.file.clone(), line.line)).map_or("", String::as_str);
        table.row([
            match line.line {
                0 => format!("{}, no line", base_name(&line.file)),
                number => format!("{}:{number}", base_name(&line.file)),
            },
            share(slots(line)),
            share(line.warp_instructions),
            share(waited(line)),
            worst.map_or(String::new(), |(reason, _)| reason.clone()),
            shortened(text, TEXT),
        ]);
    }
    if let Some(&empty) = totals.stalls.as_ref().and_then(|stalls| stalls.get("empty")) {
        let reason = "empty".to_owned();
        table.row(["no warp".to_owned(), share(empty), share(0), share(empty), reason, String::new()]);
    }
    format!("\nhottest lines (share of issue slots)\n\n{}", table.render())
}

fn base_name(file: &str) -> &str {
    file.rsplit(['/', '\\']).next().unwrap_or(file)
}

fn dash() -> String {
    "-".to_owned()
}

fn percent(values: &Values, name: &str) -> String {
    match values.get(name) {
        Some(Reading::Ratio(ratio)) => format!("{:.1} %", ratio * 100.0),
        _ => dash(),
    }
}

/// Seconds in the unit that suits them.
pub fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 1e-3 => format!("{:.1} us", s * 1e6),
        s if s < 1.0 => format!("{:.2} ms", s * 1e3),
        s => format!("{s:.2} s"),
    }
}

/// An error or a tolerance: 0, or in scientific notation with the digits that matter.
fn short(value: f64) -> String {
    if value == 0.0 { "0".to_owned() } else { format!("{value:.3e}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_in_a_unit_that_suits_them() {
        assert_eq!(duration(12.34e-6), "12.3 us");
        assert_eq!(duration(0.0123), "12.30 ms");
        assert_eq!(duration(90.0), "90.00 s");
    }

    #[test]
    fn the_largest_reasons_come_first_and_small_ones_not_at_all() {
        let config = Config::default();
        let slots = 100 * u64::from(config.gpu.sms * config.sm.schedulers);
        let stalls = [("memory", slots / 2), ("barrier", slots / 4), ("unit", 1)];
        let stalls = stalls.map(|(reason, count)| (reason.to_owned(), count)).into();
        assert_eq!(waits(&stalls, 100, &config), "memory 50 %, barrier 25 %");
    }
}
