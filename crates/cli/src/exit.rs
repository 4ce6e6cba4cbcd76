// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a command ends: the exit codes, and failures with their messages.

use std::path::Path;

use warpwatt_record::CORRUPTED;
use warpwatt_runtime::{Class, Error};

/// Exit codes of the process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Exit {
    Ok = 0,
    CheckFailed = 1,
    Usage = 2,
    /// Bad PTX, launch or profile file.
    BadInput = 3,
    /// The simulated program faulted.
    Fault = 4,
    /// A limit was reached; partial results are written.
    Limit = 5,
    /// A bug of ours.
    Internal = 70,
    Io = 74,
    Interrupted = 130,
}

impl From<Class> for Exit {
    fn from(class: Class) -> Exit {
        match class {
            Class::BadInput => Exit::BadInput,
            Class::Fault => Exit::Fault,
            Class::Limit => Exit::Limit,
            Class::Interrupted => Exit::Interrupted,
            Class::Internal => Exit::Internal,
        }
    }
}

/// Why a command failed.
#[derive(Clone, Debug)]
pub struct Failure {
    pub exit: Exit,
    /// Headline, plain.
    pub message: String,
    pub help: Option<String>,
    /// The message is already a complete rendering, with its own headlines.
    pub rendered: bool,
}

/// One of several things that are wrong, and what to do about it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UsageProblem {
    pub message: String,
    pub help: String,
}

impl Failure {
    pub fn new(exit: Exit, message: impl Into<String>) -> Failure {
        Failure { exit, message: message.into(), help: None, rendered: false }
    }

    pub fn usage(message: impl Into<String>) -> Failure {
        Failure::new(Exit::Usage, message)
    }

    pub fn io(verb: &str, path: &Path, error: &std::io::Error) -> Failure {
        Failure::new(Exit::Io, format!("cannot {verb} {}: {error}", path.display()))
    }

    pub fn rendered(exit: Exit, message: impl Into<String>) -> Failure {
        Failure { rendered: true, ..Failure::new(exit, message) }
    }

    /// All problems of a request, each with advice.
    pub fn several(mut problems: Vec<UsageProblem>) -> Failure {
        if problems.len() == 1
            && let Some(UsageProblem { message, help }) = problems.pop()
        {
            return Failure::usage(message).help(help);
        }
        let lines = problems.iter().map(|told| format!("error: {}\nhelp: {}", told.message, told.help));
        Failure::rendered(Exit::Usage, lines.collect::<Vec<_>>().join("\n"))
    }

    pub fn help(mut self, help: impl Into<String>) -> Failure {
        self.help = Some(help.into());
        self
    }

    /// The device's message, with its diagnostics coloured or not.
    pub fn device(error: &Error, color: bool) -> Failure {
        // A value that a technique corrupted is not a fault of the program.
        let exit = if error.code() == CORRUPTED { Exit::CheckFailed } else { Exit::from(error.class()) };
        let failure = match error {
            Error::Ptx(refusal) => Failure::rendered(exit, refusal.render(color)),
            other => Failure::new(exit, other.to_string()),
        };
        Failure { help: error.help().map(str::to_owned), ..failure }
    }
}
