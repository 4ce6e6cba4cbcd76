// SPDX-License-Identifier: MIT OR Apache-2.0
//! A diagnostic: what is wrong, where, and what to do.

use warpwatt_base::Span;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Severity {
    Error,
    Warning,
    Note,
}

/// One message about a PTX text. `span` points into the text of the module that it came from.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    /// Stable short code such as `ptx-syntax` or `ptx-unsupported`.
    pub code: &'static str,
    pub severity: Severity,
    pub span: Span,
    pub message: String,
    /// What the user can do about it.
    pub help: Option<String>,
}

impl Diagnostic {
    pub fn error(code: &'static str, span: Span, message: impl Into<String>) -> Self {
        Diagnostic { code, severity: Severity::Error, span, message: message.into(), help: None }
    }

    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}
