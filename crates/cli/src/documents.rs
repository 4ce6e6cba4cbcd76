// SPDX-License-Identifier: MIT OR Apache-2.0
//! `completions` and `man`: what shells and manuals need, from the declarations of the arguments.

use clap::CommandFactory;

use crate::args::{Cli, CompletionsArgs, ManArgs};
use crate::console::Console;
use crate::exit::{Exit, Failure};

pub fn completions(args: &CompletionsArgs, console: &Console) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "warpwatt", &mut script);
    console.result(&String::from_utf8_lossy(&script));
    Ok(Exit::Ok)
}

/// A page for the program and one for each command.
pub fn man(args: &ManArgs, console: &Console) -> Result<Exit, Failure> {
    let folder = &args.folder;
    let failed = |error: std::io::Error| Failure::io("write to", folder, &error);
    std::fs::create_dir_all(folder).map_err(failed)?;
    clap_mangen::generate_to(Cli::command(), folder).map_err(failed)?;
    console.note(&format!(
        "manual pages are in {}; `man {}/warpwatt.1` shows the first",
        folder.display(),
        folder.display()
    ));
    Ok(Exit::Ok)
}
