// SPDX-License-Identifier: MIT OR Apache-2.0
//! `compare`: two run records side by side: inputs that differ, cycles, energy, and the counters that changed.

mod difference;
mod inputs;
mod show;

use std::path::Path;

use serde_json::Value;
use warpwatt_results::{Mode, RUN_SCHEMA, RunRecord};

use crate::args::CompareArgs;
use crate::console::{Console, write_result};
use crate::exit::{Exit, Failure};
use crate::job::read_text;

pub use difference::Comparison;
pub use show::text;

pub fn compare(args: &CompareArgs, console: &Console) -> Result<Exit, Failure> {
    let (a, b) = (read(&args.a)?, read(&args.b)?);
    let comparison = Comparison::new(&a, &b, args.top);
    for warning in &comparison.warnings {
        console.warn(warning);
    }
    if let Some(path) = &args.json {
        let text = warpwatt_results::json::to_text(&comparison)
            .map_err(|error| Failure::new(Exit::Internal, error.to_string()))?;
        write_result(path, &text, console)?;
        if path.as_os_str() == "-" {
            return Ok(Exit::Ok);
        }
    }
    if let Some(path) = &args.html {
        let stem = |path: &Path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let page = warpwatt_report::comparison((&stem(&args.a), &a), (&stem(&args.b), &b));
        write_result(path, &page, console)?;
    }
    let name = |path: &Path| path.display().to_string();
    console.result(&show::text(&comparison, (&name(&args.a), &a), (&name(&args.b), &b)));
    Ok(Exit::Ok)
}

/// The record of a timed run.
fn read(path: &Path) -> Result<RunRecord, Failure> {
    const HELP: &str = "`warpwatt run NAME --json FILE` writes a record";
    let name = path.display();
    let bad = |message: String| Failure::new(Exit::BadInput, message);
    let document: Value = serde_json::from_str(&read_text(path)?)
        .map_err(|error| bad(format!("{name} is not a run record: {error}")).help(HELP))?;
    match document.get("schema").and_then(Value::as_str) {
        Some(RUN_SCHEMA) => {}
        Some(other) => {
            let other: String = other.chars().take(60).collect();
            let message = format!("{name} is not a run record: its schema is `{other}`, not `{RUN_SCHEMA}`");
            return Err(bad(message).help(HELP));
        }
        None => return Err(bad(format!("{name} is not a run record: it has no `schema` field")).help(HELP)),
    }
    let record: RunRecord = serde_json::from_value(document).map_err(|error| {
        bad(format!("{name} is not a run record of this version: {error}"))
            .help("run it again with this version")
    })?;
    if record.mode == Mode::Functional {
        return Err(bad(format!("{name} is of a functional run: it has neither cycles nor energy"))
            .help("run it again without `--functional`"));
    }
    Ok(record)
}
