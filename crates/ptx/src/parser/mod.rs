// SPDX-License-Identifier: MIT OR Apache-2.0
//! Recursive-descent parser from tokens to the tree (PTX ISA, "Syntax", "Directives", "Instruction Set").
//!
//! It parses every text to its end: an error is reported once, and the parser continues at the next statement or item. Nesting is
//! bounded, every loop consumes a token per iteration, so that any text takes linear time and bounded stack.

mod body;
mod declare;
mod expr;
mod function;
mod initialise;
mod module;
mod operand;

pub(crate) use declare::SCALARS;
use warpwatt_base::{Interner, Span, Sym};

use crate::ast::{Module, Stmt, Target};
use crate::diagnostic::Diagnostic;
use crate::lexer::{Token, TokenKind, tokens};
use crate::suggest;

/// Deepest nesting of blocks, vectors, initialisers and parentheses. Compilers stay below ten.
const MOST_NESTED: u32 = 100;
/// Messages kept of one text; the rest is counted.
const MOST_DIAGNOSTICS: usize = 100;
/// The newest supported PTX version; later versions are parsed with a warning.
const NEWEST_VERSION: (u32, u32) = (9, 4);

/// What [`parse`] gives.
#[derive(Clone, Debug)]
pub struct Parsed {
    pub module: Module,
    /// In the order of the text.
    pub diagnostics: Vec<Diagnostic>,
}

/// Reads a PTX module. Never fails: errors are in [`Parsed::diagnostics`].
pub fn parse(name: &str, text: &str) -> Parsed {
    let module = Module {
        name: name.to_owned(),
        text: text.to_owned(),
        names: Interner::new(),
        version: (0, 0),
        target: Target::default(),
        address_size: 64,
        files: Vec::new(),
        items: Vec::new(),
    };
    if u32::try_from(text.len()).is_err() {
        let problem =
            Diagnostic::error("ptx-limit", Span::default(), "a PTX module of 4 GiB or more cannot be read");
        return Parsed { module: Module { text: String::new(), ..module }, diagnostics: vec![problem] };
    }
    let mut parser = Parser {
        text,
        tokens: tokens(text),
        at: 0,
        names: Interner::new(),
        diagnostics: Vec::new(),
        errors: 0,
        not_shown: 0,
        depth: 0,
        open_braces: 0,
        module_registers: Vec::new(),
    };
    let mut module = parser.module(module);
    module.names = parser.names;
    if parser.not_shown > 0 {
        let end = Span::new(text.len() as u32, text.len() as u32);
        let message = format!("{} more messages about this module are not shown", parser.not_shown);
        parser.diagnostics.push(
            Diagnostic::note("ptx-too-many", end, message).with_help("fix the first ones and try again"),
        );
    }
    Parsed { module, diagnostics: parser.diagnostics }
}

/// The error has been reported; the caller recovers.
#[derive(Debug)]
struct Reported;

type Parse<T> = Result<T, Reported>;

struct Parser<'t> {
    text: &'t str,
    tokens: Vec<Token>,
    at: usize,
    names: Interner,
    diagnostics: Vec<Diagnostic>,
    /// Errors so far, shown or not: a function in which this grows is broken.
    errors: usize,
    not_shown: usize,
    depth: u32,
    /// Braces of vectors opened and not yet closed in the current statement: recovery must not take their `}` for the end
    /// of a block.
    open_braces: u32,
    /// Registers declared outside of functions, as PTX before 3.0 allows: every function gets them as its own.
    module_registers: Vec<Stmt>,
}

impl<'t> Parser<'t> {
    fn peek(&self) -> TokenKind {
        self.tokens[self.at].kind
    }

    /// The kind of the token after the next one.
    fn peek_second(&self) -> TokenKind {
        self.tokens.get(self.at + 1).map_or(TokenKind::End, |token| token.kind)
    }

    fn span(&self) -> Span {
        self.tokens[self.at].span
    }

    /// The span of the token consumed last.
    fn last_span(&self) -> Span {
        if self.at == 0 { Span::default() } else { self.tokens[self.at - 1].span }
    }

    fn since(&self, start: Span) -> Span {
        start.to(self.last_span())
    }

    fn text_of(&self, span: Span) -> &'t str {
        &self.text[span.start as usize..span.end as usize]
    }

    /// The text of the next token.
    fn word(&self) -> &'t str {
        self.text_of(self.span())
    }

    fn at_end(&self) -> bool {
        self.peek() == TokenKind::End
    }

    /// Takes the next token; the last one, `End`, stays.
    fn bump(&mut self) -> Token {
        let token = self.tokens[self.at];
        if token.kind != TokenKind::End {
            self.at += 1;
        }
        token
    }

    fn eat(&mut self, kind: TokenKind) -> bool {
        let found = self.peek() == kind;
        if found {
            self.bump();
        }
        found
    }

    fn expect(&mut self, kind: TokenKind, what: &str) -> Parse<Token> {
        if self.peek() == kind { Ok(self.bump()) } else { Err(self.unexpected(what)) }
    }

    /// Takes the next token if it is this dotted word.
    fn eat_dotted(&mut self, word: &str) -> bool {
        let found = self.peek() == TokenKind::Dotted && self.word() == word;
        if found {
            self.bump();
        }
        found
    }

    fn name(&mut self, what: &str) -> Parse<(Sym, Span)> {
        let token = self.expect(TokenKind::Ident, what)?;
        Ok((self.intern(token.span), token.span))
    }

    fn intern(&mut self, span: Span) -> Sym {
        let text = self.text_of(span);
        self.names.intern(text)
    }

    /// Whether the next token is the first of its line.
    fn starts_line(&self) -> bool {
        let from = self.last_span().end as usize;
        self.text.as_bytes()[from..self.span().start as usize].contains(&b'\n')
    }

    fn push(&mut self, diagnostic: Diagnostic) {
        if self.diagnostics.len() < MOST_DIAGNOSTICS {
            self.diagnostics.push(diagnostic);
        } else {
            self.not_shown += 1;
        }
    }

    fn report(&mut self, error: Diagnostic) -> Reported {
        self.errors += 1;
        self.push(error);
        Reported
    }

    fn error(&mut self, code: &'static str, span: Span, message: impl Into<String>) -> Reported {
        self.report(Diagnostic::error(code, span, message))
    }

    /// Reports that the next token is not what was expected.
    fn unexpected(&mut self, expected: &str) -> Reported {
        let span = self.span();
        let error = match self.peek() {
            TokenKind::End => {
                Diagnostic::error("ptx-syntax", span, format!("unexpected end of file: expected {expected}"))
                    .with_help("the file seems to be truncated")
            }
            TokenKind::BadComment => Diagnostic::error(
                "ptx-syntax",
                Span::new(span.start, span.start + 2),
                "this comment is not closed",
            )
            .with_help("close it with `*/`"),
            TokenKind::BadString => {
                Diagnostic::error("ptx-syntax", span, "this string is not closed on its line")
                    .with_help("close it with `\"`")
            }
            TokenKind::BadText => Diagnostic::error("ptx-syntax", span, "this is not PTX")
                .with_help(format!("expected {expected} here")),
            // What is missing is missing after the token before, not at the start of some later line.
            _ if self.starts_line() && self.at > 0 => {
                let end = self.last_span().end;
                Diagnostic::error(
                    "ptx-syntax",
                    Span::new(end.saturating_sub(1), end),
                    format!("expected {expected} after this"),
                )
            }
            _ => {
                let found = shorten(self.word());
                Diagnostic::error("ptx-syntax", span, format!("expected {expected}, found `{found}`"))
            }
        };
        self.report(error)
    }

    /// Runs `parse` one level deeper, or reports that there are too many levels.
    fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<T> {
        if self.depth >= MOST_NESTED {
            let span = self.span();
            let error =
                Diagnostic::error("ptx-limit", span, format!("nested more than {MOST_NESTED} levels deep"));
            return Err(self.report(error.with_help("flatten the nesting: no compiler emits this")));
        }
        self.depth += 1;
        let result = parse(self);
        self.depth -= 1;
        result
    }

    /// Whether a function starts here: `.entry` and `.func` never occur inside of one.
    fn at_function(&self) -> bool {
        // One linkage directive is usual; looking past any number of them would make recovery quadratic.
        for token in self.tokens[self.at..].iter().take(3) {
            if token.kind != TokenKind::Dotted {
                return false;
            }
            match self.text_of(token.span) {
                ".entry" | ".func" => return true,
                ".visible" | ".extern" | ".weak" | ".common" => {}
                _ => return false,
            }
        }
        false
    }

    /// The known word that a misspelt one is nearest to. Not worth the time once messages are only counted.
    fn suggestion(&self, word: &str, known: &[&'static str]) -> Option<&'static str> {
        if self.diagnostics.len() < MOST_DIAGNOSTICS { suggest::nearest(word, known) } else { None }
    }
}

/// Mangled names run to kilobytes; a message shows their beginning.
fn shorten(word: &str) -> String {
    const MOST: usize = 60;
    if word.chars().count() <= MOST {
        return word.to_owned();
    }
    let head: String = word.chars().take(MOST).collect();
    format!("{head}…")
}
