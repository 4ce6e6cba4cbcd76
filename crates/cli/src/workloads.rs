// SPDX-License-Identifier: MIT OR Apache-2.0
//! `list workloads`: the table of workloads, the suite of a paper, or all that is known about one workload.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use warpwatt_papers::{Chosen, Suite};
use warpwatt_runtime::Device;
use warpwatt_workloads::{Fill, Info, Kernel, Size, Workload};

use crate::args::ListArgs;
use crate::console::{Console, write_result};
use crate::exit::{Exit, Failure};
use crate::list::find_workload;
use crate::table::{Table, paragraph};

const NOTHING: &str = "-";

/// The suites of all papers, and our workloads in them.
pub struct Suites(BTreeMap<String, Suite>);

impl Suites {
    pub fn read() -> Result<Self, Failure> {
        let suites = warpwatt_papers::suites();
        Ok(Suites(suites.map_err(|error| Failure::new(Exit::Internal, error.to_string()))?))
    }

    /// What there is of a paper's suite.
    pub fn chosen(&self, paper: &str) -> Chosen {
        self.0.get(paper).map(|suite| suite.choose(&names())).unwrap_or_default()
    }

    /// The papers that measure a workload. An experiment of ours, which has no claims, is none.
    fn papers(&self, info: &Info) -> Vec<&str> {
        let measures = |suite: &Suite| suite.choose(&names()).workloads.iter().any(|name| name == info.name);
        let claims = |name: &str| warpwatt_papers::find(name).is_none_or(|paper| !paper.prefixes.is_empty());
        let papers = self.0.iter().filter(|(name, suite)| claims(name) && measures(suite));
        papers.map(|(paper, _)| paper.as_str()).collect()
    }
}

fn names() -> Vec<&'static str> {
    warpwatt_workloads::all().iter().map(|workload| workload.info().name).collect()
}

pub fn list(args: &ListArgs, console: &Console) -> Result<Exit, Failure> {
    let suites = Suites::read()?;
    if let Some(path) = &args.json {
        let text = serde_json::to_string_pretty(&as_json(&suites, args.paper.as_deref()))
            .map_err(|e| Failure::new(Exit::Internal, e.to_string()))?;
        write_result(path, &(text + "\n"), console)?;
        return Ok(Exit::Ok);
    }
    let text = match (&args.show, &args.paper) {
        (Some(name), _) => entry(&suites, find_workload(name)?.info())?,
        (None, Some(paper)) => suite(&suites, paper),
        (None, None) => {
            table(&suites)
                + "\n"
                + &paragraph(
                    "Sizes by thread instructions: tiny at most 1 M, small 3 to 20 M, medium 30 to 60 M, large 250 to 500 M. \
                     `warpwatt list workloads --show NAME` shows the details of one of them, `warpwatt run NAME@SIZE` runs it.",
                    0,
                )
        }
    };
    console.result(&text);
    Ok(Exit::Ok)
}

fn table(suites: &Suites) -> String {
    let mut table = Table::new(&["workload", "suite", "data", "papers", "what it computes"]).wrap_last();
    for column in 1..=3 {
        table = table.left(column);
    }
    for workload in warpwatt_workloads::all() {
        let info = workload.info();
        let papers: Vec<_> = suites.papers(info).into_iter().map(short).collect();
        table
            .row([info.name, info.suite, info.data.name(), &papers.join(" "), info.about].map(str::to_owned));
    }
    table.render()
}

/// A paper's name for narrow columns.
fn short(paper: &str) -> &str {
    if paper == "warped-compression" { "wc" } else { paper }
}

/// The programs of a paper and the workload for each, and how many are missing.
fn suite(suites: &Suites, paper: &str) -> String {
    let Some(suite) = suites.0.get(paper) else { return String::new() };
    let table_of_ours = names();
    let mut table = Table::new(&["program", "workload", "data", "what it computes"]).wrap_last();
    for column in 1..=2 {
        table = table.left(column);
    }
    for program in &suite.programs {
        let ours = program.workload(&table_of_ours);
        let info = ours.and_then(warpwatt_workloads::find).map(|workload| workload.info());
        let mark = if program.named { "" } else { " *" };
        let cells = match info {
            Some(info) => [info.name, info.data.name(), info.about],
            None => [NOTHING, NOTHING, "missing"],
        };
        let [workload, data, about] = cells.map(str::to_owned);
        table.row([format!("{}{mark}", program.name), workload, data, about]);
    }
    let all = suite.programs.len();
    let chosen = suites.chosen(paper);
    let there = all - chosen.missing.len();
    let mut counted = format!("{there} of {all} programs of {paper}");
    if suite.programs.iter().any(|program| !program.named) {
        counted += "; * completes the suite, the paper's text does not name it";
    }
    let mut text = table.render() + "\n" + &paragraph(&counted, 0);
    for (workload, why) in &chosen.stand_ins {
        text += &paragraph(&format!("{workload} replaces a program of the suite: {why}"), 0);
    }
    if !chosen.compute_bound.is_empty() {
        let names = chosen.compute_bound.join(", ");
        text += &paragraph(&format!("also compute-bound: {names}"), 0);
    }
    text
}

/// All about one workload. Its kernels are compiled for this.
fn entry(suites: &Suites, info: &Info) -> Result<String, Failure> {
    let mut text = format!("{}: {} ({}, {} data)\n", info.name, info.about, info.domain, info.data.name());
    text += &format!("after {} of {}\n", info.program, info.suite);
    let papers = suites.papers(info);
    if !papers.is_empty() {
        text += &format!("measured by {}\n", papers.join(", "));
    }
    if info.order_dependent {
        text += "the work of threads depends on the order of stores and atomics, the outputs do not\n";
    }
    let mut sizes = Table::new(&["size", "tiny", "small", "medium", "large"]);
    for dim in info.dims {
        let at = |size| dim.at(size).to_string();
        let [tiny, small, medium, large] = Size::ALL.map(at);
        sizes.row([dim.name.to_owned(), tiny, small, medium, large]);
    }
    text += &format!("\n{}", sizes.render());

    let mut kernels =
        Table::new(&["kernel", "block", "registers", "shared bytes", "launches"]).cut(0).left(1).wrap_last();
    for (kernel, (registers, shared)) in info.kernels.iter().zip(compiled(info)?) {
        let block = block(Some(kernel.block));
        let row = [kernel.name.to_owned(), block, registers.to_string(), shared.to_string()];
        kernels.row([row[0].clone(), row[1].clone(), row[2].clone(), row[3].clone(), kernel.launches.into()]);
        if let Some(original) = &kernel.original {
            kernels.row([
                format!("  original: {}", original.name),
                self::block(original.block),
                number(original.registers),
                number(original.shared_bytes),
                original.launches.to_owned(),
            ]);
        }
    }
    text += &format!("\n{}", kernels.render());
    text += &paragraph(&format!("original's kernels: {}", info.known.text()), 0);
    for missing in info.missing {
        text += &paragraph(&format!("missing: {missing}"), 0);
    }
    text += &format!("\nshape of launches\n{}", paragraph(info.shape_from, 2));
    text += &format!("values of inputs\n{}", paragraph(info.values_from, 2));
    text += &format!("  version {} of their generator\n", info.generator);
    text += "SMs with warps at medium size\n";
    text += &match info.fill {
        Fill::Full => paragraph("at least 90 % of the cycles of its kernels", 2),
        Fill::Partial(why) => paragraph(why, 2),
    };
    Ok(text)
}

/// Registers a thread and static shared memory of each kernel, as our compiler makes them.
fn compiled(info: &Info) -> Result<Vec<(u32, u32)>, Failure> {
    let failed = |error| Failure::device(&error, false);
    let mut device = Device::new().map_err(failed)?;
    let module = device.load_module(&format!("{}.ptx", info.name), info.ptx).map_err(failed)?;
    let one = |kernel: &Kernel| {
        let program = device.compile(module, kernel.name, false).map_err(failed)?.program;
        Ok((program.registers, program.shared_bytes))
    };
    info.kernels.iter().map(one).collect()
}

fn block(block: Option<[u32; 3]>) -> String {
    match block {
        Some([x, 1, 1]) => x.to_string(),
        Some([x, y, 1]) => format!("{x} x {y}"),
        Some([x, y, z]) => format!("{x} x {y} x {z}"),
        None => NOTHING.to_owned(),
    }
}

fn number(number: Option<u32>) -> String {
    number.map_or(NOTHING.to_owned(), |number| number.to_string())
}

fn as_json(suites: &Suites, paper: Option<&str>) -> Value {
    let kernel = |kernel: &Kernel| {
        json!({
            "name": kernel.name,
            "block": kernel.block,
            "launches": kernel.launches,
            "original": kernel.original.as_ref().map(|original| json!({
                "name": original.name,
                "block": original.block,
                "launches": original.launches,
                "registers": original.registers,
                "shared_bytes": original.shared_bytes,
            })),
        })
    };
    let one = |workload: &&dyn Workload| {
        let info = workload.info();
        let sizes: serde_json::Map<_, _> = Size::ALL
            .iter()
            .map(|size| {
                let dims: serde_json::Map<_, _> =
                    info.dims.iter().map(|dim| (dim.name.to_owned(), dim.at(*size).into())).collect();
                (size.to_string(), dims.into())
            })
            .collect();
        json!({
            "name": info.name,
            "about": info.about,
            "domain": info.domain,
            "suite": info.suite,
            "program": info.program,
            "papers": suites.papers(info),
            "kernels": info.kernels.iter().map(kernel).collect::<Vec<_>>(),
            "missing_kernels": info.missing,
            "original_kernels_are": info.known.text(),
            "order_dependent": info.order_dependent,
            "data": info.data.name(),
            "full": info.fill == Fill::Full,
            "not_full_because": match info.fill { Fill::Full => None, Fill::Partial(why) => Some(why) },
            "shape_from": info.shape_from,
            "values_from": info.values_from,
            "generator": info.generator,
            "sizes": sizes,
        })
    };
    let chosen = paper.map(|paper| suites.chosen(paper));
    let wanted = |workload: &&&dyn Workload| {
        chosen.as_ref().is_none_or(|chosen| chosen.workloads.iter().any(|name| name == workload.info().name))
    };
    let mut list =
        json!({ "workloads": warpwatt_workloads::all().iter().filter(wanted).map(one).collect::<Vec<_>>() });
    if let Some(chosen) = chosen {
        list["missing"] = chosen.missing.into();
        list["stand_ins"] = json!(chosen.stand_ins);
        list["compute_bound"] = chosen.compute_bound.into();
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_fit_a_hundred_columns() {
        let suites = Suites::read().expect("they read");
        let texts = suites.0.keys().map(|paper| suite(&suites, paper)).chain([table(&suites)]);
        for text in texts {
            let wide = text.lines().find(|line| line.chars().count() > 100);
            assert_eq!(wide, None);
        }
    }

    #[test]
    fn a_workload_that_stands_in_for_another_program_says_why() {
        let suites = Suites::read().expect("they read");
        let ours = names();
        for (paper, suite) in &suites.0 {
            for program in &suite.programs {
                let place =
                    program.workload(&ours).and_then(|name| program.ours.iter().position(|o| o == name));
                let stands_in = place.is_some_and(|place| place > 0);
                assert!(!stands_in || program.stands_in.is_some(), "{paper}: {}", program.name);
            }
        }
    }

    #[test]
    fn programs_beside_a_suite_are_ours_and_not_in_it() {
        let suites = Suites::read().expect("they read");
        for (paper, suite) in &suites.0 {
            for name in &suite.compute_bound {
                let in_suite = suite.programs.iter().any(|program| program.ours.contains(name));
                assert!(names().contains(&name.as_str()) && !in_suite, "{paper}: {name}");
            }
        }
    }
}
