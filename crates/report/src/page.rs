// SPDX-License-Identifier: MIT OR Apache-2.0
//! The page: overview, papers with figures and ledgers, points, runs, comparison; one file with style and script in it, and nothing from elsewhere.

use std::fmt::Write;

use crate::compare;
use crate::html::{Cell, Table, escape, slug};
use crate::input::{Input, Paper};
use crate::number::{count, joules, shown};
use crate::points;
use crate::run;

const STYLE: &str = include_str!("../assets/report.css");
const CHARTS: &str = include_str!("../assets/chart.css");
const SCRIPT: &str = include_str!("../assets/report.js");

/// The whole page. `title` names it.
pub fn html(title: &str, input: &Input) -> String {
    let mut nav = vec![("overview".to_owned(), "Overview".to_owned(), 0)];
    let mut body = overview(input);
    for paper in &input.papers {
        let id = format!("paper-{}", slug(&paper.name));
        nav.push((id.clone(), heading(paper), 0));
        if paper.ledger.is_some() {
            nav.push((format!("{id}-ledger"), "Ledger".to_owned(), 1));
        }
        for figure in &paper.figures {
            let short = figure.place.clone().unwrap_or_else(|| figure.name.replace('-', " "));
            nav.push((figure.id(), short, 1));
        }
        body += &of_paper(&id, paper);
    }
    if !input.points.is_empty() {
        nav.push(("points".to_owned(), "Points and Pareto front".to_owned(), 0));
        body += &points::html(&input.points);
    }
    if let [a, b] = &input.runs[..] {
        nav.push(("compare".to_owned(), "Comparison".to_owned(), 0));
        body += &compare::html("compare", (&a.0, &a.1), (&b.0, &b.1));
    }
    for (place, (file, record)) in input.runs.iter().enumerate() {
        let id = format!("run-{}", place + 1);
        nav.push((id.clone(), run::name(file, record), 0));
        body += &run::html(&id, file, record);
    }
    shell(title, &nav, &body)
}

fn shell(title: &str, nav: &[(String, String, u8)], body: &str) -> String {
    let mut links = String::new();
    for (id, name, level) in nav {
        let _ = write!(links, "<li class=l{level}><a href=\"#{}\">{}</a></li>", escape(id), escape(name));
    }
    let title = escape(title);
    format!(
        "<!doctype html>\n<html lang=en><head><meta charset=utf-8><meta name=viewport content=\"width=device-width, initial-scale=1\">\
         <meta name=generator content=\"warpwatt\"><meta http-equiv=Content-Security-Policy content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">\
         <link rel=icon href=\"data:,\"><title>{title}</title><style>{CHARTS}{STYLE}</style></head>\n<body>\
         <a class=skip href=\"#main\">Skip to the content</a><header><h1>{title}</h1><div class=bar>\
         <button type=button id=theme aria-label=\"Change the theme\">Theme: system</button> <button type=button id=print>Print</button></div></header>\
         <nav id=nav aria-label=Contents><label class=find>Find <input type=search id=find placeholder=\"figure, run\"></label><ul>{links}</ul></nav>\
         <main id=main>{body}</main><div id=tip role=status aria-live=polite hidden></div>\
         <script>{SCRIPT}</script></body></html>\n"
    )
}

fn heading(paper: &Paper) -> String {
    match &paper.ledger {
        Some(ledger) if !ledger.title.is_empty() => ledger.title.clone(),
        _ => paper.name.clone(),
    }
}

fn overview(input: &Input) -> String {
    let mut out = String::from("<section id=overview><h2>Overview</h2>");
    let ledgers: Vec<_> =
        input.papers.iter().filter_map(|paper| paper.ledger.as_ref().map(|ledger| (paper, ledger))).collect();
    if !ledgers.is_empty() {
        out += "<div class=papers>";
        for (paper, ledger) in &ledgers {
            let _ = write!(
                out,
                "<article><h3><a href=\"#paper-{}\">{}</a></h3>{}<p>{}.</p><p class=note>{}.</p></article>",
                slug(&paper.name),
                escape(&ledger.title),
                ledger.bar(),
                escape(&ledger.tally()),
                escape(&ledger.headline())
            );
        }
        out += "</div><p class=note>Bars count all claims by verdict. <span class=\"badge v-holds\">holds</span> within 0.8 to 1.25 of the paper's value, or its rounding, or on the \
                right side of a limit; <span class=\"badge v-direction\">direction</span> the number is off, the claimed effect is present; \
                <span class=\"badge v-differs\">differs</span> the effect is absent; <span class=\"badge v-no-data\">no data</span> nothing was measured. The ledger gives the reason for each number that differs.</p>";
    }
    if !input.runs.is_empty() {
        let mut table = Table::new("Runs").id("runs-d").sortable();
        table = table
            .text("run")
            .text("GPU")
            .text("techniques")
            .number("cycles")
            .number("IPC")
            .number("energy")
            .number("power")
            .text("greatest bottleneck");
        for (place, (file, record)) in input.runs.iter().enumerate() {
            let name = run::name(file, record);
            let gpu = record.inputs.gpu.as_ref().map_or("functional", |gpu| &gpu.name);
            let scope = run::scope::Scope::of_run("", record);
            let worst = run::rules::findings(&scope).first().map_or("", |finding| finding.name);
            table.push(vec![
                Cell::Markup(format!("<a href=\"#run-{}\">{}</a>", place + 1, escape(&name)), name.clone()),
                Cell::text(gpu),
                Cell::text(record.inputs.techniques.join(", ")),
                Cell::shown(record.totals.cycles.map(|cycles| cycles as f64), count),
                Cell::number(record.totals.ipc),
                Cell::shown(record.energy.as_ref().map(|energy| energy.total_j), joules),
                Cell::shown(record.energy.as_ref().map(|energy| energy.average_w), |watts| {
                    format!("{} W", shown(watts))
                }),
                Cell::text(worst),
            ]);
        }
        out += &table.html();
    }
    if !input.points.is_empty() {
        let _ = write!(
            out,
            "<p><a href=\"#points\">{} points</a> are the basis of this page.</p>",
            input.points.len()
        );
    }
    out + "</section>"
}

fn of_paper(id: &str, paper: &Paper) -> String {
    let mut out = format!("<section id=\"{id}\" class=one-paper><h2>{}</h2>", escape(&heading(paper)));
    if let Some(ledger) = &paper.ledger {
        let _ = write!(
            out,
            "<p>{}</p><p class=note>{}. {}.</p>{}",
            escape(&ledger.citation),
            escape(&ledger.headline()),
            escape(&ledger.tally()),
            ledger.bar()
        );
        if !ledger.failed.is_empty() {
            let _ = write!(
                out,
                "<p class=\"told bad\">Without points that failed: {}.</p>",
                escape(&ledger.failed.join(", "))
            );
        }
        if !ledger.missing.is_empty() && ledger.of_suite {
            let _ = write!(
                out,
                "<p class=note>Programs of the suite that are missing: {}.</p>",
                escape(&ledger.missing.join(", "))
            );
        }
        for (workload, why) in &ledger.stand_ins {
            let _ = write!(
                out,
                "<p class=note>{} replaces a program of the suite: {}.</p>",
                escape(workload),
                escape(why)
            );
        }
        let _ = write!(out, "<section id=\"{id}-ledger\"><h3>Ledger</h3>{}</section>", ledger.html());
    }
    if !paper.figures.is_empty() {
        out += "<h3>Figures</h3><p class=note>Bars are means over seeds; lines at them reach from the least to the most of any seed. Ratios that are all near 1 are drawn from 1.</p>";
        for figure in &paper.figures {
            out += &figure.html();
        }
    }
    out + "</section>"
}
