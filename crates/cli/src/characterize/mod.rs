// SPDX-License-Identifier: MIT OR Apache-2.0
//! `characterize`: what workloads are like, measured by timed runs on the GPUs that the papers' experiments use.

mod caches;
mod execution;
mod runs;
mod sheet;
mod values;

use std::path::Path;

use serde_json::{Value, json};
use warpwatt_workloads::Workload;

use crate::args::CharacterizeArgs;
use crate::console::{Console, write_result};
use crate::exit::{Exit, Failure};
use crate::interrupt;
use crate::list::find_workload;
use crate::run::cores;
use runs::{Measured, VARIANTS};
use sheet::Sheet;

const SCHEMA: &str = "warpwatt.characterize/1";
const TITLE: &str = "Measured properties of workloads";

pub fn characterize(args: &CharacterizeArgs, console: &Console) -> Result<Exit, Failure> {
    let workloads: Vec<&'static dyn Workload> = match args.workloads.len() {
        0 => warpwatt_workloads::all().to_vec(),
        _ => args.workloads.iter().map(|name| find_workload(name.trim())).collect::<Result<_, _>>()?,
    };
    let flag = interrupt::flag();
    let jobs = args.jobs.unwrap_or_else(cores);
    let Some(measured) = runs::run_all(&workloads, args.size, args.seed, jobs, &flag, console)? else {
        let message = "interrupted; the figures of a workload need all of its runs".to_owned();
        return Err(Failure::new(Exit::Interrupted, message));
    };
    let sheets = sheets(&measured)?;
    if let Some(path) = &args.markdown {
        write_result(path, &markdown(args, &sheets), console)?;
    }
    if let Some(path) = &args.json {
        let text = warpwatt_results::json::to_text(&document(args, &sheets))
            .map_err(|error| Failure::new(Exit::Internal, error.to_string()))?;
        write_result(path, &text, console)?;
    }
    let on_stdout = |path: &Option<std::path::PathBuf>| path.as_deref() == Some(Path::new("-"));
    if !on_stdout(&args.json) && !on_stdout(&args.markdown) {
        for sheet in &sheets {
            console.result(&sheet.to_text());
        }
    }
    Ok(Exit::Ok)
}

/// The tables, each with a row for every workload.
fn sheets(measured: &[Measured]) -> Result<Vec<Sheet>, Failure> {
    Ok(vec![
        execution::mix(measured),
        execution::machine(measured)?,
        execution::bandwidth(measured),
        values::widths(measured),
        values::similarity(measured),
        caches::utilization(measured)?,
    ])
}

fn command(args: &CharacterizeArgs) -> String {
    let names = if args.workloads.is_empty() {
        String::new()
    } else {
        format!(" --workloads {}", args.workloads.join(","))
    };
    format!("warpwatt characterize --size {} --seed {}{names}", args.size, args.seed)
}

fn markdown(args: &CharacterizeArgs, sheets: &[Sheet]) -> String {
    let mut text = format!("# {TITLE}\n\nWritten by `{} --markdown FILE`.\n", command(args));
    text.extend(sheets.iter().map(|sheet| format!("\n{}", sheet.to_markdown())));
    text
}

fn document(args: &CharacterizeArgs, sheets: &[Sheet]) -> Value {
    let runs = VARIANTS.iter().map(|variant| {
        json!({
            "name": variant.name,
            "gpu": variant.gpu,
            "memory_clock": variant.memory_clock,
            "techniques": variant.techniques,
        })
    });
    json!({
        "schema": SCHEMA,
        "tool": warpwatt_record::tool(),
        "size": args.size.to_string(),
        "seed": args.seed,
        "runs": runs.collect::<Vec<_>>(),
        "tables": sheets.iter().map(Sheet::document).collect::<Vec<_>>(),
    })
}
