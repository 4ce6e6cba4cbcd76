// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rules: what holds a run back, by its counters, and an estimate of what mending it would gain.
//!
//! A gain in cycles is an estimate by the formula of the rule: usually the issue slots that are lost to the bottleneck. It is too high if another
//! bottleneck takes its place, and too low if warps at a barrier wait for it as well; docs/report.md compares estimates with experiments. The joules of a gain
//! are the static energy of these cycles (static power times their time), and, if the rule names one, the part of dynamic energy that is wasted.

use crate::html::{Cell, Table, escape, prose};
use crate::number::{count, joules, percent, shown, things};

use super::memory::transactions;
use super::scope::Scope;

pub struct Finding {
    pub name: &'static str,
    /// The evidence from the counters.
    pub evidence: String,
    pub advice: &'static str,
    pub formula: &'static str,
    /// Estimated, at most the run's own cycles.
    pub cycles: f64,
    pub joules: Option<f64>,
}

/// A gain that is less than this share of all cycles, and of all energy, is not worth telling.
const WORTH: f64 = 0.02;

/// What applies to a run, the greatest gain first.
pub fn findings(scope: &Scope) -> Vec<Finding> {
    let Some(facts) = Facts::of(scope) else { return Vec::new() };
    let rules = [
        few_blocks,
        launch_latency,
        uncoalesced,
        bank_conflicts,
        divergence,
        row_misses,
        bandwidth,
        latency,
        dependency,
        barriers,
        fetch,
        constants,
        spills,
    ];
    let mut found: Vec<Finding> = rules.iter().filter_map(|rule| rule(scope, &facts)).collect();
    let total = scope.energy.map_or(f64::INFINITY, |energy| energy.total_j);
    found.retain(|finding| {
        finding.cycles > WORTH * facts.cycles || finding.joules.is_some_and(|saved| saved > WORTH * total)
    });
    found.sort_by(|a, b| b.cycles.total_cmp(&a.cycles));
    found
}

/// What several rules need.
struct Facts {
    cycles: f64,
    /// Schedulers of the GPU.
    schedulers: f64,
    /// SM cycles with warps, as a number of SMs that have warps all the time.
    busy_sms: f64,
    sms: f64,
    static_j_per_cycle: Option<f64>,
}

impl Facts {
    fn of(scope: &Scope) -> Option<Facts> {
        let config = scope.config.as_ref()?;
        let cycles = scope.cycles? as f64;
        let sms = f64::from(config.gpu.sms);
        Some(Facts {
            cycles,
            schedulers: sms * f64::from(config.sm.schedulers),
            busy_sms: (scope.count("sm.active.cycles")? / cycles).max(1e-9),
            sms,
            static_j_per_cycle: scope.energy.map(|energy| energy.static_j / cycles),
        })
    }

    /// Cycles of the run that correspond to issue slots, if all schedulers with warps wait equally.
    fn cycles_of(&self, slots: f64) -> f64 {
        (slots / (self.schedulers * self.busy_sms / self.sms)).min(self.cycles)
    }

    fn finding(
        &self,
        name: &'static str,
        cycles: f64,
        dynamic: f64,
        evidence: String,
        advice: &'static str,
        formula: &'static str,
    ) -> Option<Finding> {
        let cycles = cycles.min(self.cycles);
        let sound = cycles.is_finite() && cycles >= 0.0;
        let joules = self.static_j_per_cycle.map(|each| each * cycles + dynamic);
        sound.then_some(Finding { name, evidence, advice, formula, cycles, joules })
    }
}

fn few_blocks(scope: &Scope, facts: &Facts) -> Option<Finding> {
    let config = scope.config.as_ref()?;
    let waits = f64::from(config.gpu.kernel_launch_cycles) * scope.launches as f64;
    let mean = scope.count("sm.active.cycles")? / facts.sms;
    let idle = facts.cycles - waits - mean;
    let share = scope.count("sm.active.ratio")?;
    let evidence = format!(
        "SMs have warps in {} of their cycles: too few blocks, or blocks that take unequal time.",
        percent(share)
    );
    facts.finding(
        "SMs without work",
        idle,
        0.0,
        evidence,
        "Launch more blocks than the GPU holds at a time, or smaller ones; run independent kernels on several streams.",
        "cycles − launches × kernel launch latency − mean over SMs of cycles with warps",
    )
}

fn launch_latency(scope: &Scope, facts: &Facts) -> Option<Finding> {
    let each = f64::from(scope.config.as_ref()?.gpu.kernel_launch_cycles);
    let cycles = each * scope.launches as f64;
    let evidence = format!(
        "{} of {} cycles each until the first block starts.",
        things(scope.launches, "launch", "launches"),
        count(each)
    );
    facts.finding(
        "Launch latency",
        cycles,
        0.0,
        evidence,
        "Give a launch more work, or fuse kernels.",
        "launches × kernel launch latency (what launches overlap is not taken off)",
    )
}

/// The share of lines that accesses would not touch if lanes took neighbouring words.
fn uncoalesced(scope: &Scope, facts: &Facts) -> Option<Finding> {
    let lines = scope.or_none("l1d.reads.count") + scope.or_none("l1d.bypasses.count");
    let lanes = scope.count("l1d.load_lanes.count")?;
    let least = (lanes / 32.0).min(lines);
    let waste = (lines - least) / lines;
    if !waste.is_finite() || waste < 0.1 {
        return None;
    }
    let evidence = format!(
        "Loads touch {} lines where {} would suffice for {} lanes of four bytes; an access touches {} lines on average.",
        count(lines),
        count(least),
        count(lanes),
        transactions(scope).map_or("?".to_owned(), shown)
    );
    let dynamic = waste * scope.dynamic_of(&["L1 data cache", "network", "L2", "memory", "memory interface"]);
    facts.finding(
        "Uncoalesced accesses",
        waste * facts.cycles_of(scope.stall("memory") + scope.stall("unit")),
        dynamic,
        evidence,
        "Let neighbouring threads take neighbouring words; change the layout of structures; stage tiles in shared memory.",
        "share of needless lines × cycles lost to `memory` and `unit`; joules: the same share of the dynamic energy of L1, network, L2 and memory",
    )
}

fn bank_conflicts(scope: &Scope, facts: &Facts) -> Option<Finding> {
    let lost = scope.count("shared.conflict_cycles.cycles")?;
    let accesses = scope.or_none("shared.reads.count")
        + scope.or_none("shared.writes.count")
        + scope.or_none("shared.atomics.count");
    let share = lost / (lost + accesses);
    let waited = facts.cycles_of(scope.stall("memory") + scope.stall("unit"));
    let evidence = format!(
        "{} accesses to shared memory lose {} cycles to bank conflicts.",
        count(accesses),
        count(lost)
    );
    facts.finding(
        "Bank conflicts in shared memory",
        (lost / facts.busy_sms).min(waited),
        if share.is_finite() { share * scope.dynamic_of(&["shared memory"]) } else { 0.0 },
        evidence,
        "Pad rows of tiles by a word, or let lanes take words of different banks.",
        "conflict cycles ÷ SMs with warps, at most the cycles lost to `memory` and `unit`; joules: their share of the dynamic energy of shared memory",
    )
}

fn divergence(scope: &Scope, facts: &Facts) -> Option<Finding> {
    let lanes = scope.count("exec.lanes_per_warp_instruction.ratio")?;
    let waste = 1.0 - lanes / 32.0;
    let issued = scope.count("sm.issued.count")?;
    let evidence = format!(
        "{} of 32 lanes take part in an instruction on average; {} branches divide their warp.",
        shown(lanes),
        count(scope.or_none("exec.divergent_branches.count"))
    );
    facts.finding(
        "Divergent warps",
        waste * facts.cycles_of(issued),
        waste * scope.dynamic_of(&["front end", "pipeline"]),
        evidence,
        "Let threads of a warp take the same branch: sort work by kind, compact the remaining work, use blocks of whole warps.",
        "share of idle lanes × cycles of issue; joules: the same share of the dynamic energy of front end and pipeline",
    )
}

fn row_misses(scope: &Scope, facts: &Facts) -> Option<Finding> {
    let config = scope.config.as_ref()?;
    let misses = scope.count("dram.row_misses.count")?;
    let share = 1.0 - scope.count("dram.row_hit.ratio")?;
    let parallel = f64::from(config.gpu.partitions * config.dram.channels * config.dram.banks);
    let clocks = misses * f64::from(config.dram.t_rp + config.dram.t_rcd) / parallel;
    let cycles = clocks * f64::from(config.clock.core_mhz) / f64::from(config.clock.dram_mhz);
    let waited = facts.cycles_of(scope.stall("memory"));
    let evidence =
        format!("{} of memory accesses open a row first: {} of them.", percent(share), count(misses));
    facts.finding(
        "Row misses in memory",
        cycles.min(waited),
        0.0,
        evidence,
        "Access memory in address order; keep the number of concurrent streams small.",
        "row misses × (tRP + tRCD) ÷ (channels × banks), if all banks open rows at the same time; at most the cycles lost to `memory`",
    )
}

fn bandwidth(scope: &Scope, facts: &Facts) -> Option<Finding> {
    let used = scope.count("dram.utilisation.ratio")?;
    if used < 0.6 {
        return None;
    }
    let waited = facts.cycles_of(scope.stall("memory"));
    let evidence = format!("The memory moves {} of what it can.", percent(used));
    facts.finding(
        "Bandwidth of the memory",
        waited / 2.0,
        scope.dynamic_of(&["memory", "memory interface"]) / 2.0,
        evidence,
        "Move fewer bytes: reuse through shared memory or caches, narrower types, or compression (`--with e2mc`).",
        "for half of the traffic: half of the cycles lost to `memory`, half of the dynamic energy of the memory",
    )
}

/// A reason for stalls that is not the memory's bandwidth.
fn waiting(
    scope: &Scope,
    facts: &Facts,
    (name, reason): (&'static str, &'static str),
    advice: &'static str,
    formula: &'static str,
) -> Option<Finding> {
    let slots = scope.stall(reason);
    let all = scope.slots()? - scope.stall("empty");
    let evidence = format!("{} of issue slots with warps are lost to `{reason}`.", percent(slots / all));
    facts.finding(name, facts.cycles_of(slots), 0.0, evidence, advice, formula)
}

fn latency(scope: &Scope, facts: &Facts) -> Option<Finding> {
    if scope.count("dram.utilisation.ratio").unwrap_or_default() >= 0.6 {
        return None;
    }
    let advice = "Have more warps resident (fewer registers or less shared memory for each), more outstanding loads in each thread, or more hits in L1.";
    waiting(
        scope,
        facts,
        ("Latency of memory", "memory"),
        advice,
        "issue slots lost to `memory` ÷ schedulers with warps",
    )
}

fn dependency(scope: &Scope, facts: &Facts) -> Option<Finding> {
    let advice = "Have more warps resident, or more independent instructions in a thread: unroll, and compute several results.";
    waiting(
        scope,
        facts,
        ("Dependent instructions", "dependency"),
        advice,
        "issue slots lost to `dependency` ÷ schedulers with warps",
    )
}

fn barriers(scope: &Scope, facts: &Facts) -> Option<Finding> {
    let advice =
        "Use smaller blocks, so that others run while one waits; give the warps of a block equal work.";
    waiting(
        scope,
        facts,
        ("Barriers", "barrier"),
        advice,
        "issue slots lost to `barrier` ÷ schedulers with warps",
    )
}

fn fetch(scope: &Scope, facts: &Facts) -> Option<Finding> {
    let advice = "Keep loops small enough for the instruction cache; unroll less. Code that fits is fetched once on each SM: give it more work there.";
    waiting(
        scope,
        facts,
        ("Instruction fetch", "fetch"),
        advice,
        "issue slots lost to `fetch` ÷ schedulers with warps",
    )
}

fn constants(scope: &Scope, facts: &Facts) -> Option<Finding> {
    let advice = "Each launch reads its parameters anew: give a launch more work, or fuse kernels. Keep tables that lanes index differently out of constant memory.";
    waiting(
        scope,
        facts,
        ("Constant operands", "constant"),
        advice,
        "issue slots lost to `constant` ÷ schedulers with warps",
    )
}

fn spills(scope: &Scope, facts: &Facts) -> Option<Finding> {
    let kernel = scope.kernel.filter(|kernel| kernel.local_bytes > 0)?;
    let lines = scope.or_none("l1d.reads.count") + scope.or_none("l1d.writes.count");
    let local = scope.or_none("l1d.write_hits.count") + scope.or_none("l1d.write_backs.count");
    let share = if lines > 0.0 { (2.0 * local / lines).min(1.0) } else { 0.0 };
    let evidence = format!(
        "A thread has {} bytes of local memory; {} lines of it are written.",
        kernel.local_bytes,
        count(local)
    );
    facts.finding(
        "Registers spilled",
        share * facts.cycles_of(scope.stall("memory")),
        share * scope.dynamic_of(&["L1 data cache", "network", "L2"]),
        evidence,
        "Allow more registers (`--max-registers`), or keep fewer values alive.",
        "twice the share of written lines that are local × cycles lost to `memory`; joules: the same share of the dynamic energy of L1, network and L2",
    )
}

pub fn html(scope: &Scope) -> String {
    let found = findings(scope);
    if found.is_empty() {
        return "<p class=empty>No rule applies.</p>".to_owned();
    }
    let mut table = Table::new(format!("Bottlenecks: {}", scope.title))
        .id(format!("{}-rules-d", scope.id))
        .text("bottleneck")
        .text("evidence, and what to do")
        .number("cycles, estimated")
        .number("energy, estimated")
        .text("estimated by")
        .sortable();
    let (cycles, total) =
        (scope.cycles.unwrap_or(1) as f64, scope.energy.map_or(f64::NAN, |energy| energy.total_j));
    for finding in &found {
        let advice = format!("{} <em>{}</em>", prose(&finding.evidence), prose(finding.advice));
        let gain = format!("{} ({})", count(finding.cycles), percent(finding.cycles / cycles));
        table.push(vec![
            Cell::Markup(format!("<b>{}</b>", escape(finding.name)), finding.name.to_owned()),
            Cell::Markup(advice, finding.evidence.clone()),
            Cell::Number(gain, finding.cycles),
            Cell::shown(finding.joules, |saved| format!("{} ({})", joules(saved), percent(saved / total))),
            Cell::Markup(format!("<small>{}</small>", prose(finding.formula)), finding.formula.to_owned()),
        ]);
    }
    format!(
        "<p class=note>Each gain is an estimate for removing this bottleneck alone: less where another one takes its place. Gains do not add up.</p>{}",
        table.html()
    )
}
