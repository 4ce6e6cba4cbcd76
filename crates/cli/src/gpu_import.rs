// SPDX-License-Identifier: MIT OR Apache-2.0
//! `gpu import`: a configuration of GPGPU-Sim as a GPU file.

use warpwatt_config::Unmapped;

use crate::args::ImportArgs;
use crate::console::{Console, write_result};
use crate::exit::{Exit, Failure};
use crate::job::read_text;

pub fn import(args: &ImportArgs, console: &Console) -> Result<Exit, Failure> {
    let text = read_text(&args.file)?;
    let named = args.out.as_deref().unwrap_or(&args.file);
    let name = named.file_stem().map_or_else(|| "imported".into(), |stem| stem.to_string_lossy());
    let imported = warpwatt_config::import(&text, &name).map_err(|reason| {
        Failure::new(Exit::BadInput, format!("{} cannot be imported: {reason}", args.file.display()))
            .help("give the gpgpusim.config of GPGPU-Sim 3.x or 4.x")
    })?;
    match &args.out {
        Some(path) => write_result(path, &imported.toml, console)?,
        None => console.result(&imported.toml),
    }
    let shown = args.file.display();
    for Unmapped { line, option, reason } in &imported.unmapped {
        console.note(&format!("{shown}:{line}: {option}: {reason}"));
    }
    let left = imported.unmapped.len();
    console.note(&format!("{} options were imported, {left} were not; the file lists them", imported.mapped));
    Ok(Exit::Ok)
}
