// SPDX-License-Identifier: MIT OR Apache-2.0
//! A diagnostic (problem, location, advice) and its display.

use annotate_snippets::{AnnotationKind, Level, Origin, Renderer, Snippet};
use warpwatt_base::Span;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Severity {
    Error,
    Warning,
    Note,
}

/// One message about a PTX text. `span` points into the text of the module that it came from.
#[derive(Clone, PartialEq, Eq, Debug)]
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

    pub fn warning(code: &'static str, span: Span, message: impl Into<String>) -> Self {
        Diagnostic { severity: Severity::Warning, ..Self::error(code, span, message) }
    }

    pub fn note(code: &'static str, span: Span, message: impl Into<String>) -> Self {
        Diagnostic { severity: Severity::Note, ..Self::error(code, span, message) }
    }

    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The message with file, line, column, the marked source lines and the advice, for a terminal.
    pub fn render(&self, name: &str, text: &str, color: bool) -> String {
        let level = match self.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
            Severity::Note => Level::NOTE,
        };
        let window = Window::around(text, self.span);
        let snippet = Snippet::source(&text[window.start..window.end])
            .line_start(window.line)
            .annotation(AnnotationKind::Primary.span(window.mark));
        let report = level.primary_title(self.message.as_str()).id(self.code);
        // The renderer counts columns from where the window starts: where that is inside of a line, they are given to it.
        let mut report = if window.cut {
            let (line, column) = line_col(text, self.span);
            report.element(Origin::path(name).line(line).char_column(column)).element(snippet)
        } else {
            report.element(snippet.path(name))
        };
        if let Some(help) = &self.help {
            report = report.element(Level::HELP.message(help.as_str()));
        }
        let renderer = if color { Renderer::styled() } else { Renderer::plain() };
        renderer.render(&[report])
    }
}

/// Line and column of the start of a span, both from 1; columns count characters.
pub fn line_col(text: &str, span: Span) -> (usize, usize) {
    let at = boundary(text, span.start as usize);
    let before = &text[..at];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (before.bytes().filter(|&byte| byte == b'\n').count() + 1, before[line_start..].chars().count() + 1)
}

/// The largest character boundary that is not after `at`.
fn boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// The lines that a span touches, up to a few kilobytes: only they are handed to the renderer, which would otherwise walk
/// megabytes per message.
struct Window {
    start: usize,
    end: usize,
    /// `start` is inside of a line.
    cut: bool,
    /// Number of the first line.
    line: usize,
    /// The span, relative to `start`.
    mark: std::ops::Range<usize>,
}

impl Window {
    /// On each side of the start of the span.
    const MOST_BYTES: usize = 4096;

    fn around(text: &str, span: Span) -> Window {
        let from = boundary(text, span.start as usize);
        let first = boundary(text, from.saturating_sub(Self::MOST_BYTES));
        let last = boundary(text, from + Self::MOST_BYTES).max(from);
        // A message about a whole function shows its first lines.
        let to = boundary(text, span.end as usize).clamp(from, last);
        let line_start = text[first..from].rfind('\n').map(|newline| first + newline + 1);
        let start = line_start.unwrap_or(first);
        let end = text[to..last].find('\n').map_or(last, |newline| to + newline);
        let line = text[..start].bytes().filter(|&byte| byte == b'\n').count() + 1;
        Window { start, end, cut: line_start.is_none() && first > 0, line, mark: from - start..to - start }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns_count_from_one() {
        let text = "ab\ncdé\nf";
        let at = |start| line_col(text, Span::new(start, start));
        assert_eq!(at(0), (1, 1));
        assert_eq!(at(4), (2, 2));
        assert_eq!(at(6), (2, 3), "inside of a character counts as its start");
        assert_eq!(at(99), (3, 2), "past the end is the end");
    }

    #[test]
    fn rendering_survives_spans_outside_of_the_text() {
        let wild = Diagnostic::error("ptx-syntax", Span::new(90, 7), "odd").with_help("none");
        assert!(wild.render("x.ptx", "é", false).contains("odd"));
        assert!(wild.render("x.ptx", "", true).contains("odd"));
    }

    #[test]
    fn long_lines_are_cut_and_keep_their_columns() {
        let text = format!("first\n{}here{}", "é".repeat(10_000), " ".repeat(10_000));
        let at = text.find("here").expect("it is there") as u32;
        let shown =
            Diagnostic::error("ptx-syntax", Span::new(at, at + 4), "odd").render("x.ptx", &text, false);
        assert!(shown.contains("x.ptx:2:10001"), "{shown}");
        assert!(shown.len() < 2000 && shown.contains("here"), "{shown}");
    }
}
