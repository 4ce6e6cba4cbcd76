// SPDX-License-Identifier: MIT OR Apache-2.0
//! `point`: runs one point, one file in and one file out, for a cluster or a script that divides points among machines.

use std::path::Path;

use warpwatt_papers::{Point, PointRecord, REQUEST_SCHEMA};

use super::internal;
use super::run::{self, Missing};
use super::task::Planner;
use crate::args::PointArgs;
use crate::console::{Console, write_result};
use crate::exit::{Exit, Failure};
use crate::interrupt;
use crate::job::read_text;
use crate::profile::Known;

pub fn point(args: &PointArgs, console: &Console) -> Result<Exit, Failure> {
    let point = read(&args.input)?;
    let task = Planner::new()?.task(point.subject(), point)?;
    let there = std::fs::read_to_string(&args.output).ok();
    if there.and_then(|text| PointRecord::read(&text, &task.key)).is_some() {
        console.note(&format!("{} has this point already: it is not run again", args.output.display()));
        return Ok(Exit::Ok);
    }
    let record = run::run(&task, &Known::new(true), &interrupt::flag()).map_err(|missing| match missing {
        Missing::Interrupted => Failure::new(Exit::Interrupted, "interrupted: nothing is written"),
        Missing::Failed(reason) => Failure::new(Exit::CheckFailed, format!("{} failed: {reason}", task.name))
            .help(format!("to run it with all messages: {}", task.point.command())),
    })?;
    let text = warpwatt_results::json::to_text(&record).map_err(internal)?;
    write_result(&args.output, &text, console)?;
    Ok(Exit::Ok)
}

fn read(path: &Path) -> Result<Point, Failure> {
    let text = read_text(path)?;
    let help =
        "`warpwatt schema request` prints its schema; `warpwatt sweep FILE.toml --requests` writes some";
    let point: Point = serde_json::from_str(&text).map_err(|error| {
        Failure::new(Exit::BadInput, format!("{} cannot be used: {error}", path.display())).help(help)
    })?;
    if point.schema != REQUEST_SCHEMA {
        let message = format!("{} is `{}`, not `{REQUEST_SCHEMA}`", path.display(), point.schema);
        return Err(Failure::new(Exit::BadInput, message).help(help));
    }
    Ok(point)
}
