// SPDX-License-Identifier: MIT OR Apache-2.0
//! `schema`: the JSON schemas of our file formats.

use crate::args::{Format, SchemaArgs};
use crate::console::Console;
use crate::exit::{Exit, Failure};

pub fn schema(args: &SchemaArgs, console: &Console) -> Result<Exit, Failure> {
    let schema = match args.format {
        Format::Run => warpwatt_results::run_schema(),
        Format::Gpu => warpwatt_config::gpu_schema(),
        Format::Launch => crate::launch::launch_schema(),
        Format::Technology => warpwatt_energy::technology_schema(),
        Format::Sweep => crate::sweep::schema(),
        Format::Request => warpwatt_papers::request_schema(),
        Format::Point => warpwatt_papers::point_schema(),
    };
    let text =
        serde_json::to_string_pretty(&schema).map_err(|e| Failure::new(Exit::Internal, e.to_string()))?;
    console.result(&(text + "\n"));
    Ok(Exit::Ok)
}
