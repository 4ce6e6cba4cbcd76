// SPDX-License-Identifier: MIT OR Apache-2.0
//! Everything that can go wrong on a device, as values. Each has a [`Class`], which decides how a program that uses the
//! device should end.

use std::fmt;
use std::sync::Arc;

use warpwatt_ptx::{Diagnostic, Severity, line_col};

use crate::report::FaultReport;
use crate::types::DevicePtr;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The PTX text cannot be used, or a kernel in it cannot be compiled.
    #[error("{0}")]
    Ptx(Box<Refusal>),
    #[error("module `{module}` has no kernel `{name}`{hint}")]
    UnknownKernel { module: String, name: String, hint: String },
    #[error("module `{module}` has no variable `{name}`{hint}")]
    UnknownSymbol { module: String, name: String, hint: String },
    #[error("there is no module {0} on this device")]
    UnknownModule(u32),
    /// A stream or event that was never created, or was destroyed.
    #[error("there is no {what} {number} on this device")]
    Handle { what: &'static str, number: u32 },
    /// The launch requests something that the kernel or the machine does not allow.
    #[error("cannot launch `{kernel}`: {reason}")]
    Launch { kernel: String, reason: String },
    /// The timed GPU cannot be built as configured.
    #[error("{0}")]
    Config(String),
    #[error("out of device memory: {0}")]
    OutOfMemory(String),
    /// A host-side access or `free` that no allocation allows.
    #[error("{what} of {bytes} bytes at {at}: {reason}")]
    Pointer { what: &'static str, at: DevicePtr, bytes: u64, reason: String },
    /// The simulated program did something that the machine answers with a fault.
    #[error("{0}")]
    Fault(Box<FaultReport>),
    /// A technique gave back other bytes to a copy than it was given.
    #[error("a copy returned other bytes than a technique had stored: {0}")]
    Corrupted(String),
    #[error("`{kernel}` was stopped at the limit of {limit} {unit} (`{flag}`)")]
    Limit { kernel: String, limit: u64, unit: &'static str, flag: &'static str },
    #[error("`{kernel}` was interrupted")]
    Interrupted { kernel: String },
    /// The run was configured to stop before this launch; see [`crate::Options::stop_before_launch`].
    #[error("stopped before launch {0}, as requested")]
    StoppedBefore(u64),
    #[error("internal error: {0}")]
    Internal(String),
}

/// What kind of end an error means for a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// The PTX or the launch is not usable.
    BadInput,
    /// The simulated program failed.
    Fault,
    Limit,
    Interrupted,
    /// A bug of ours.
    Internal,
}

impl Error {
    pub fn class(&self) -> Class {
        match self {
            Error::Ptx(_)
            | Error::UnknownKernel { .. }
            | Error::UnknownSymbol { .. }
            | Error::UnknownModule(_)
            | Error::Handle { .. }
            | Error::Launch { .. }
            | Error::Config(_)
            | Error::OutOfMemory(_)
            | Error::Pointer { .. } => Class::BadInput,
            Error::Fault(_) | Error::Corrupted(_) => Class::Fault,
            Error::Limit { .. } => Class::Limit,
            Error::Interrupted { .. } | Error::StoppedBefore(_) => Class::Interrupted,
            Error::Internal(_) => Class::Internal,
        }
    }

    /// A stable short name, as used in machine-readable results.
    pub fn code(&self) -> &'static str {
        match self {
            Error::Ptx(_) => "ptx",
            Error::UnknownKernel { .. } => "unknown-kernel",
            Error::UnknownSymbol { .. } => "unknown-symbol",
            Error::UnknownModule(_) => "unknown-module",
            Error::Handle { .. } => "handle",
            Error::Launch { .. } => "launch",
            Error::Config(_) => "config",
            Error::OutOfMemory(_) => "out-of-memory",
            Error::Pointer { .. } => "pointer",
            Error::Fault(report) => report.code,
            Error::Corrupted(_) => "corrupted",
            Error::Limit { .. } => "limit",
            Error::Interrupted { .. } => "interrupted",
            Error::StoppedBefore(_) => "stopped",
            Error::Internal(_) => "internal",
        }
    }

    /// Advice that is not part of the message.
    pub fn help(&self) -> Option<&str> {
        match self {
            Error::Fault(report) => Some(&report.help),
            _ => None,
        }
    }
}

/// A PTX text, or a kernel of it, that is refused, with all the reasons.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// The kernel that was to be launched; `None` when the module as a whole was refused.
    pub kernel: Option<String>,
    /// Name of the PTX text.
    pub file: String,
    pub text: Arc<str>,
    pub diagnostics: Vec<Diagnostic>,
}

/// One diagnostic with its place resolved, ready for a machine-readable result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    pub code: &'static str,
    pub severity: &'static str,
    pub file: String,
    pub line: u32,
    pub column: u32,
    pub message: String,
    pub help: Option<String>,
}

impl Refusal {
    /// All diagnostics with the source they point at.
    pub fn render(&self, color: bool) -> String {
        let mut out = String::new();
        for diagnostic in &self.diagnostics {
            out.push_str(&diagnostic.render(&self.file, &self.text, color));
            out.push_str("\n\n");
        }
        out.push_str(&self.summary());
        out
    }

    pub fn problems(&self) -> Vec<Problem> {
        problems(&self.file, &self.text, &self.diagnostics)
    }

    fn summary(&self) -> String {
        let errors = self.diagnostics.iter().filter(|d| d.severity == Severity::Error).count();
        let errors = format!("{errors} error{}", if errors == 1 { "" } else { "s" });
        match &self.kernel {
            Some(kernel) => format!("kernel `{kernel}` of {} cannot be compiled: {errors}", self.file),
            None => format!("{} cannot be used: {errors}", self.file),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(false))
    }
}

/// Diagnostics of one text with their lines and columns.
pub fn problems(file: &str, text: &str, diagnostics: &[Diagnostic]) -> Vec<Problem> {
    diagnostics
        .iter()
        .map(|diagnostic| {
            let (line, column) = line_col(text, diagnostic.span);
            Problem {
                code: diagnostic.code,
                severity: match diagnostic.severity {
                    Severity::Error => "error",
                    Severity::Warning => "warning",
                    Severity::Note => "note",
                },
                file: file.to_owned(),
                line: line as u32,
                column: column as u32,
                message: diagnostic.message.clone(),
                help: diagnostic.help.clone(),
            }
        })
        .collect()
}
