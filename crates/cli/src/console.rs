// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is written to the terminal, and how: results to stdout, everything else to stderr, colour and progress only where
//! there is a person to see them.

use std::io::{IsTerminal, Write};
use std::path::Path;

use crate::exit::Failure;

pub struct Console {
    pub quiet: bool,
    pub verbose: u8,
    /// stderr is a terminal that takes colours.
    pub color: bool,
    /// stderr is a terminal.
    pub live: bool,
}

impl Console {
    pub fn new(quiet: bool, verbose: u8) -> Console {
        let live = std::io::stderr().is_terminal();
        let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Console { quiet, verbose, color: live && !plain, live: live && !quiet }
    }

    /// Part of the result. A reader that went away is not an error of ours.
    pub fn result(&self, text: &str) {
        let _ = std::io::stdout().write_all(text.as_bytes());
        let _ = std::io::stdout().flush();
    }

    /// The part of the result that `-q` leaves out.
    pub fn summary(&self, text: &str) {
        if !self.quiet {
            self.result(text);
        }
    }

    /// Something worth knowing about how the result came to be.
    pub fn note(&self, text: &str) {
        if !self.quiet {
            eprintln!("{} {text}", self.paint("note:", "1;36"));
        }
    }

    pub fn detail(&self, text: &str) {
        if self.verbose > 0 {
            eprintln!("{text}");
        }
    }

    pub fn failure(&self, failure: &Failure) {
        if failure.rendered {
            eprintln!("{}", failure.message);
        } else {
            eprintln!("{} {}", self.paint("error:", "1;31"), failure.message);
        }
        if let Some(help) = &failure.help {
            eprintln!("{} {help}", self.paint("help:", "1;32"));
        }
    }

    fn paint(&self, text: &str, code: &str) -> String {
        if self.color { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

/// Writes a result file whole: readers see the old one or the new one. `-` is stdout.
pub fn write_result(target: &Path, text: &str, console: &Console) -> Result<(), Failure> {
    if target == Path::new("-") {
        console.result(text);
        return Ok(());
    }
    let failed = |error: std::io::Error| Failure::io("write", target, &error);
    // Devices and pipes cannot be replaced by renaming.
    if std::fs::metadata(target).is_ok_and(|meta| !meta.is_file()) {
        return std::fs::write(target, text).map_err(failed);
    }
    let mut temporary = target.as_os_str().to_owned();
    temporary.push(format!(".{}.tmp", std::process::id()));
    std::fs::write(&temporary, text).map_err(failed)?;
    std::fs::rename(&temporary, target).map_err(|error| {
        let _ = std::fs::remove_file(&temporary);
        failed(error)
    })
}
