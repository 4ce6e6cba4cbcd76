// SPDX-License-Identifier: MIT OR Apache-2.0
//! `report`: a page about runs, papers and sweeps; and the traces and pages that other commands write.

use std::path::Path;

use warpwatt_report::{Error, Input};
use warpwatt_results::RunRecord;

use crate::args::ReportArgs;
use crate::console::{Console, write_bytes, write_result};
use crate::exit::{Exit, Failure};

pub fn report(args: &ReportArgs, console: &Console) -> Result<Exit, Failure> {
    let mut input = Input::default();
    for path in &args.results {
        input.add(path).map_err(failure)?;
    }
    if let Some(folder) = &args.svg {
        let number = warpwatt_report::write_svg(&input, folder).map_err(failure)?;
        console.note(&format!("{number} figures are in {}", folder.display()));
    }
    write_result(&args.out, &warpwatt_report::page(&input), console)?;
    if args.out.as_os_str() != "-" {
        console.result(&format!("{}\n", args.out.display()));
    }
    Ok(Exit::Ok)
}

fn failure(error: Error) -> Failure {
    let exit = if error.is_io() { Exit::Io } else { Exit::BadInput };
    let failure = Failure::new(exit, error.to_string());
    match error.is_io() {
        true => failure,
        false => failure.help(
            "give records of `warpwatt run NAME --json FILE` or `warpwatt exec --json FILE`, and folders of `warpwatt paper --out DIR`",
        ),
    }
}

/// Writes the trace of a run, with a note on what it omits.
pub fn trace(path: &Path, record: &RunRecord, console: &Console) -> Result<(), Failure> {
    write_bytes(path, &warpwatt_report::trace(record))?;
    let (kept, all) = (record.kernels.len() as u64, record.totals.launches);
    if kept < all {
        console.note(&format!("the trace has {kept} of {all} launches; `--per-launch {all}` keeps all"));
    }
    Ok(())
}
