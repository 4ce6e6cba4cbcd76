// SPDX-License-Identifier: MIT OR Apache-2.0
//! The module: its directives and items, and how parsing continues after an invalid one (PTX ISA, "Directives").

use super::declare::{linkage, space};
use super::{NEWEST_VERSION, Parse, Parser, shorten};
use crate::ast::{Item, Linkage, Module, SourceFile, Target};
use crate::diagnostic::Diagnostic;
use crate::lexer::TokenKind;

/// Every function copies these declarations, so that their number bounds what a small text can make of itself.
const MOST_MODULE_REGISTERS: usize = 64;

const DIRECTIVES: &[&str] = &[
    ".version",
    ".target",
    ".address_size",
    ".file",
    ".section",
    ".pragma",
    ".alias",
    ".entry",
    ".func",
    ".global",
    ".const",
    ".shared",
    ".local",
    ".tex",
    ".visible",
    ".extern",
    ".weak",
    ".common",
];

impl Parser<'_> {
    pub(super) fn module(&mut self, mut module: Module) -> Module {
        if !self.starts_with_version() && self.peek() != TokenKind::Dotted {
            self.recover_item(0);
        }
        while !self.at_end() {
            let before = self.at;
            self.open_braces = 0;
            if self.item(&mut module).is_err() {
                self.recover_item(before);
            }
        }
        module
    }

    /// Every module starts with `.version`; without it the rest is parsed nevertheless.
    fn starts_with_version(&mut self) -> bool {
        if self.peek() == TokenKind::Dotted && self.word() == ".version" {
            return true;
        }
        let error = Diagnostic::error("ptx-version", self.span(), "a PTX module starts with `.version`")
            .with_help("add lines such as `.version 7.8`, `.target sm_75` and `.address_size 64`; is this a PTX file?");
        self.report(error);
        false
    }

    fn item(&mut self, module: &mut Module) -> Parse<()> {
        match self.peek() {
            TokenKind::Dotted => {}
            TokenKind::Semicolon => {
                self.bump();
                return Ok(());
            }
            TokenKind::RBrace => {
                let span = self.bump().span;
                let error = Diagnostic::error("ptx-syntax", span, "unmatched `}`")
                    .with_help("a `{` is missing above");
                self.report(error);
                return Ok(());
            }
            _ => return Err(self.unexpected("a directive such as `.entry` or `.global`")),
        }
        let word = self.word();
        match word {
            ".version" => self.version(module),
            ".target" => self.target(&mut module.target),
            ".address_size" => self.address_size(module),
            ".file" => self.file(&mut module.files),
            ".section" => self.section(),
            ".pragma" => self.pragma(&mut Vec::new()),
            ".loc" => self.location().map(drop),
            ".alias" => self.alias(&mut module.items),
            ".reg" => self.module_registers(),
            _ if self.at_function() => self.function(&mut module.items),
            _ if space(word).is_some() || linkage(word).is_some() => self.module_variables(&mut module.items),
            _ => Err(self.unknown_directive(DIRECTIVES)),
        }
    }

    pub(super) fn unknown_directive(&mut self, known: &[&'static str]) -> super::Reported {
        let word = self.word();
        let message = format!("unknown directive `{}`", shorten(word));
        let error = Diagnostic::error("ptx-unknown-directive", self.span(), message);
        let error = match self.suggestion(word, known) {
            Some(near) => error.with_help(format!("did you mean `{near}`?")),
            None => error.with_help("it is ignored; please report it if a compiler emitted it"),
        };
        self.report(error)
    }

    fn version(&mut self, module: &mut Module) -> Parse<()> {
        self.bump();
        let token = self.expect(TokenKind::Decimal, "a version such as `7.8`")?;
        let text = self.text_of(token.span);
        let parts = text.split_once('.').map(|(major, minor)| (major.parse(), minor.parse()));
        let Some((Ok(major), Ok(minor))) = parts else {
            return Err(self.error(
                "ptx-version",
                token.span,
                format!("invalid PTX version `{}`", shorten(text)),
            ));
        };
        module.version = (major, minor);
        if module.version > NEWEST_VERSION {
            let (newest_major, newest_minor) = NEWEST_VERSION;
            let message = format!(
                "PTX {major}.{minor} is newer than {newest_major}.{newest_minor}, the newest supported version"
            );
            let warning = Diagnostic::warning("ptx-version", token.span, message);
            self.push(warning.with_help("it is parsed by the rules of the newest supported version"));
        }
        Ok(())
    }

    /// `.target sm_75, debug`
    fn target(&mut self, target: &mut Target) -> Parse<()> {
        self.bump();
        loop {
            let (name, span) = self.name("a target such as `sm_75`")?;
            let text = self.text_of(span);
            match text.strip_prefix("sm_").or_else(|| text.strip_prefix("compute_")) {
                None => target.options.push(name),
                Some(digits) => {
                    let plain = digits.trim_end_matches(['a', 'f']);
                    let Ok(sm) = plain.parse() else {
                        return Err(self.error(
                            "ptx-syntax",
                            span,
                            format!("invalid target `{}`", shorten(text)),
                        ));
                    };
                    target.sm = sm;
                    target.suffix = digits[plain.len()..].chars().next();
                }
            }
            if !self.eat(TokenKind::Comma) {
                return Ok(());
            }
        }
    }

    fn address_size(&mut self, module: &mut Module) -> Parse<()> {
        self.bump();
        let span = self.span();
        match self.plain_integer("32 or 64")? {
            bits @ (32 | 64) => module.address_size = bits,
            _ => return Err(self.error("ptx-syntax", span, "the address size must be 32 or 64")),
        }
        Ok(())
    }

    /// `.file 1 "name"` with an optional time stamp and size.
    pub(super) fn file(&mut self, files: &mut Vec<SourceFile>) -> Parse<()> {
        self.bump();
        let index = self.plain_integer("a file number")?;
        let name = self.expect(TokenKind::String, "a file name in quotes")?;
        while self.eat(TokenKind::Comma) {
            self.integer("a time stamp or size")?;
        }
        files.push(SourceFile { index, name: self.text_of(name.span).trim_matches('"').to_owned() });
        Ok(())
    }

    /// `.section name { … }`: debugging information for other tools, passed over whole.
    pub(super) fn section(&mut self) -> Parse<()> {
        let start = self.bump().span;
        while matches!(self.peek(), TokenKind::Dotted | TokenKind::Ident) {
            self.bump();
        }
        self.expect(TokenKind::LBrace, "`{`")?;
        let mut open = 1u32;
        while open > 0 {
            match self.peek() {
                TokenKind::LBrace => open += 1,
                TokenKind::RBrace => open -= 1,
                TokenKind::End => {
                    let error = Diagnostic::error("ptx-syntax", start, "this section is not closed");
                    return Err(self.report(error.with_help("the file seems to be truncated")));
                }
                _ if self.at_function() => {
                    let error = Diagnostic::error("ptx-syntax", start, "this section is not closed");
                    return Err(self.report(error.with_help("close it with `}`")));
                }
                _ => {}
            }
            self.bump();
        }
        Ok(())
    }

    fn alias(&mut self, items: &mut Vec<Item>) -> Parse<()> {
        let start = self.bump().span;
        let (new, _) = self.name("a function")?;
        self.expect(TokenKind::Comma, "`,`")?;
        let (old, _) = self.name("a function")?;
        let span = self.since(start);
        self.end_of_statement()?;
        items.push(Item::Alias { new, old, span });
        Ok(())
    }

    fn module_variables(&mut self, items: &mut Vec<Item>) -> Parse<()> {
        let linkage = self.linkage();
        let mut variables = Vec::new();
        if space(self.word()).is_none() {
            return Err(self.unexpected("`.entry`, `.func` or a state space such as `.global`"));
        }
        let result = self.variables(linkage, &mut variables);
        items.extend(variables.into_iter().map(Item::Var));
        result
    }

    fn module_registers(&mut self) -> Parse<()> {
        let start = self.span();
        if self.module_registers.is_empty() {
            let warning =
                Diagnostic::warning("ptx-module-registers", start, "registers declared at module scope");
            self.push(
                warning.with_help("each function gets its own copy: values do not survive a call or return"),
            );
        }
        let mut found = Vec::new();
        let result = self.registers(&mut found);
        if self.module_registers.len() + found.len() > MOST_MODULE_REGISTERS {
            let message = format!("more than {MOST_MODULE_REGISTERS} register declarations at module scope");
            return Err(self.error("ptx-limit", start, message));
        }
        self.module_registers.append(&mut found);
        result
    }

    /// `.visible`, `.extern`, `.weak` or `.common`, if there.
    pub(super) fn linkage(&mut self) -> Linkage {
        let mut found = Linkage::Local;
        while let Some(linkage) = linkage(self.word()) {
            self.bump();
            found = linkage;
        }
        found
    }

    /// Skips to where the next item can start: after a `;` or a closed `{…}`, or before a function.
    /// At least one token after `start` is taken.
    fn recover_item(&mut self, start: usize) {
        let mut open = self.open_braces;
        while !self.at_end() && (self.at == start || !self.at_function()) {
            if open == 0
                && self.at > start
                && self.starts_line()
                && self.peek() == TokenKind::Dotted
                && DIRECTIVES.contains(&self.word())
            {
                return;
            }
            match self.bump().kind {
                TokenKind::LBrace => open += 1,
                TokenKind::RBrace if open > 1 => open -= 1,
                // The end of a list of initial values; its `;` follows.
                TokenKind::RBrace if self.peek() == TokenKind::Semicolon => open = 0,
                TokenKind::RBrace => return,
                TokenKind::Semicolon if open == 0 => return,
                _ => {}
            }
        }
    }
}
