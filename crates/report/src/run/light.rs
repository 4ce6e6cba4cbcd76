// SPDX-License-Identifier: MIT OR Apache-2.0
//! Speed of light: utilisation of the parts of the GPU, and two rooflines, of time and of energy.
//!
//! Rooflines are in thread instructions, as the instruction roofline of Ding and Williams, so that kernels without floating-point arithmetic have one too. The
//! roof of energy follows Choi, Bedard, Fowler and Vuduc, "A roofline model of energy", IPDPS 2013: energy of an operation, of a byte, and static power
//! over the time that the roofline of time gives; the three are those of this run.

use crate::chart::rows::{Row, Rows};
use crate::chart::scatter::{Line, Point, Scatter};
use crate::html::{Cell, Table, folded};
use crate::number::{percent, shown, si};

use super::scope::Scope;

/// A part of the GPU: name, share of its peak, energy.
fn throughputs(scope: &Scope) -> Vec<(&'static str, f64, Option<f64>)> {
    let mut parts = Vec::new();
    let mut put = |name, share: Option<f64>, components: &[&str]| {
        if let Some(share) = share.filter(|share| share.is_finite()) {
            parts.push((name, share, scope.joules_of(components)));
        }
    };
    let busy = |counter: &str, units: f64| {
        let cycles = scope.count("sm.cycles.cycles").filter(|cycles| *cycles > 0.0)?;
        Some(scope.count(counter)? / (cycles * units))
    };
    let config = scope.config.clone().unwrap_or_default();
    put("issue slots", scope.count("sm.issue_utilisation.ratio"), &["front end", "pipeline"]);
    put(
        "integer and single-precision units",
        busy("units.sp_busy.cycles", config.units.sp.into()),
        &["execution units"],
    );
    put("special function units", busy("units.sfu_busy.cycles", config.units.sfu.into()), &[]);
    put("double-precision units", busy("units.fp64_busy.cycles", config.units.fp64.into()), &[]);
    put(
        "load and store units",
        busy("lsu.busy.cycles", config.units.ldst.into()),
        &["shared memory", "L1 data cache"],
    );
    put("network, to L2", scope.count("noc.request.utilisation.ratio"), &["network"]);
    put("network, from L2", scope.count("noc.reply.utilisation.ratio"), &[]);
    let slices = scope.cycles.map(|cycles| {
        let clocks = cycles as f64 * f64::from(config.clock.l2_mhz) / f64::from(config.clock.core_mhz);
        clocks * f64::from(config.gpu.partitions)
    });
    let l2 = slices.and_then(|clocks| Some(scope.count("l2.array_busy.clocks")? / clocks));
    put("L2 data arrays", l2, &["L2"]);
    put("memory", scope.count("dram.utilisation.ratio"), &["memory", "memory interface"]);
    parts
}

pub fn html(scope: &Scope) -> String {
    let parts = throughputs(scope);
    if parts.is_empty() {
        return "<p class=empty>A functional run has no time.</p>".to_owned();
    }
    let id = format!("{}-light", scope.id);
    let rows = parts.iter().map(|(name, share, _)| Row {
        name: (*name).to_owned(),
        parts: vec![("c0".to_owned(), *share)],
        text: percent(*share),
    });
    let rows = Rows {
        title: "Utilisation of each part".to_owned(),
        legend: Vec::new(),
        rows: rows.collect(),
        most: Some(1.0),
    };
    let mut table = Table::new("Throughput of parts of the GPU")
        .id(format!("{id}-d"))
        .text("part")
        .number("share of its peak")
        .number("energy");
    for (name, share, energy) in &parts {
        table.push(vec![
            Cell::text(*name),
            Cell::Number(percent(*share), *share),
            scope.energy_cell(*energy),
        ]);
    }
    let mut out =
        format!("<div class=plot data-table=\"{id}-d\">{}</div>{}", rows.draw().inline(), table.html());
    if let Some(roofs) = Roofs::of(scope) {
        out += &roofs.html(scope, &id);
    }
    out
}

/// What the rooflines are made of.
struct Roofs {
    operations: f64,
    bytes: f64,
    seconds: f64,
    joules: Option<(f64, f64, f64)>,
    peak: f64,
    bandwidth: f64,
}

impl Roofs {
    fn of(scope: &Scope) -> Option<Roofs> {
        let config = scope.config.as_ref()?;
        let lanes = f64::from(config.gpu.sms) * f64::from(config.sm.schedulers) * 32.0;
        let bytes = scope.dram_bytes().filter(|bytes| *bytes > 0.0)?;
        let energy = scope.energy.map(|energy| {
            let memory = scope.dynamic_of(&["memory", "memory interface", "memory compression"]);
            (energy.dynamic_j - memory, memory, energy.static_j)
        });
        Some(Roofs {
            operations: scope.thread_instructions as f64,
            bytes,
            seconds: scope.seconds()?,
            joules: energy,
            peak: lanes * f64::from(config.clock.core_mhz) * 1e6,
            bandwidth: config.dram_peak_bytes_per_second() as f64,
        })
    }

    fn intensity(&self) -> f64 {
        self.operations / self.bytes
    }

    /// Operations in a second at most, at an intensity.
    fn roof(&self, intensity: f64) -> f64 {
        self.peak.min(self.bandwidth * intensity)
    }

    /// Operations for a joule at most, at an intensity: at the roof of time, with this run's energy of an operation, of a byte and of a second.
    fn energy_roof(&self, intensity: f64) -> Option<f64> {
        let (compute, memory, fixed) = self.joules?;
        let operation = compute / self.operations;
        let byte = memory / self.bytes;
        let power = fixed / self.seconds;
        Some(1.0 / (operation + byte / intensity + power / self.roof(intensity)))
    }

    fn html(&self, scope: &Scope, id: &str) -> String {
        let own = self.intensity();
        let balance = self.peak / self.bandwidth;
        let (low, high) = (own.min(balance) / 8.0, own.max(balance) * 8.0);
        let steps = 64;
        let xs: Vec<f64> =
            (0..=steps).map(|step| low * (high / low).powf(f64::from(step) / f64::from(steps))).collect();
        let reached = self.operations / self.seconds;
        let mut table = Table::new("Rooflines")
            .id(format!("{id}-r-d"))
            .text("")
            .number("instructions per byte")
            .number("reached")
            .number("roof")
            .number("of the roof");
        let row = |name: &str, reached: f64, roof: f64, unit: &str| {
            vec![
                Cell::text(name),
                Cell::number(Some(own)),
                Cell::Number(si(reached, unit), reached),
                Cell::Number(si(roof, unit), roof),
                Cell::Number(percent(reached / roof), reached / roof),
            ]
        };
        table.push(row("time", reached, self.roof(own), "instr/s"));
        let draw = |title: &str, y: &str, line: Vec<(f64, f64)>, reached: f64, row: usize| {
            let bound = if own < balance { "memory" } else { "issue" };
            let scatter = Scatter {
                title: format!(
                    "{title}: {} thread instructions per byte, below the roof of {bound}",
                    shown(own)
                ),
                legend: vec![("c0".to_owned(), "this run".to_owned()), ("c7".to_owned(), "roof".to_owned())],
                points: vec![Point {
                    x: own,
                    y: reached,
                    class: "c0".to_owned(),
                    label: format!("{} of the roof", percent(reached / line_at(&line, own))),
                    row,
                }],
                lines: vec![Line { class: "roof".to_owned(), points: line }],
                x: "thread instructions per byte of memory".to_owned(),
                y: y.to_owned(),
                logarithmic: true,
                width: 470.0,
                height: 190.0,
            };
            format!(
                "<figure class=fig><figcaption>{title}</figcaption><div class=plot data-table=\"{id}-r-d\">{}</div></figure>",
                scatter.draw().inline()
            )
        };
        let line = xs.iter().map(|x| (*x, self.roof(*x))).collect();
        let mut out = draw("Roofline of time", "thread instructions per second", line, reached, 0);
        if let (Some(energy), Some(roof)) = (scope.energy, self.energy_roof(own)) {
            let reached = self.operations / energy.total_j;
            let line = xs.iter().filter_map(|x| Some((*x, self.energy_roof(*x)?))).collect();
            out += &draw("Roofline of energy", "thread instructions per joule", line, reached, 1);
            table.push(row("energy", reached, roof, "instr/J"));
        }
        format!("<div class=pair>{out}</div>{}", folded("Values", &table.html()))
    }
}

/// The value of a line at the nearest of its places.
fn line_at(line: &[(f64, f64)], x: f64) -> f64 {
    let near = line.iter().min_by(|a, b| (a.0 / x).ln().abs().total_cmp(&(b.0 / x).ln().abs()));
    near.map_or(f64::NAN, |at| at.1)
}
