// SPDX-License-Identifier: MIT OR Apache-2.0
//! The statements of a function body, and how parsing continues after an invalid one (PTX ISA, "Statements").

use smallvec::SmallVec;
use warpwatt_base::{Span, Sym};

use super::declare::space;
use super::{Parse, Parser, shorten};
use crate::ast::{Guard, Instr, Loc, Stmt};
use crate::diagnostic::Diagnostic;
use crate::lexer::TokenKind;
use crate::words::{Mod, Opcode};

const DIRECTIVES: &[&str] = &[
    ".reg",
    ".local",
    ".shared",
    ".param",
    ".global",
    ".const",
    ".loc",
    ".pragma",
    ".callprototype",
    ".calltargets",
    ".branchtargets",
    ".section",
    ".file",
    ".extern",
];

impl Parser<'_> {
    /// `{ … }`. The end of the text or the start of another function ends it too, with an error at the name.
    pub(super) fn function_body(&mut self, stmts: &mut Vec<Stmt>, name: Span) {
        self.bump();
        self.statements(stmts);
        if !self.eat(TokenKind::RBrace) {
            let help = if self.at_end() {
                "the file seems to be truncated"
            } else {
                "a `}` is missing before the next function"
            };
            let function = shorten(self.text_of(name));
            let error =
                Diagnostic::error("ptx-syntax", name, format!("the body of `{function}` is not closed"));
            self.report(error.with_help(help));
        }
    }

    /// Up to the `}`, the end, or another function.
    fn statements(&mut self, stmts: &mut Vec<Stmt>) {
        while !matches!(self.peek(), TokenKind::RBrace | TokenKind::End) && !self.at_function() {
            let before = self.at;
            self.open_braces = 0;
            if self.statement(stmts).is_err() {
                self.recover_statement(before);
            }
        }
    }

    fn statement(&mut self, stmts: &mut Vec<Stmt>) -> Parse<()> {
        match self.peek() {
            TokenKind::Ident if self.peek_second() == TokenKind::Colon => self.labelled(stmts),
            TokenKind::Ident | TokenKind::At => {
                let instr = self.instruction()?;
                stmts.push(Stmt::Instr(instr));
                Ok(())
            }
            TokenKind::Dotted => self.directive(stmts),
            TokenKind::Semicolon => {
                self.bump();
                Ok(())
            }
            TokenKind::LBrace => self.block(stmts),
            _ => Err(self.unexpected("an instruction, a label or a directive")),
        }
    }

    fn block(&mut self, stmts: &mut Vec<Stmt>) -> Parse<()> {
        let start = self.span();
        let nested = self.nested(|parser| {
            parser.bump();
            let mut inner = Vec::new();
            parser.statements(&mut inner);
            Ok(inner)
        });
        let Ok(inner) = nested else {
            self.skip_braces();
            return Ok(());
        };
        stmts.push(Stmt::Block(inner));
        // At the end of the text or at a function, the missing brace is reported for the body.
        if !self.eat(TokenKind::RBrace) && !self.at_end() && !self.at_function() {
            return Err(self.error("ptx-syntax", start, "this block is not closed"));
        }
        Ok(())
    }

    /// Passes over a `{…}` without looking into it.
    fn skip_braces(&mut self) {
        let mut open = 0u32;
        while !self.at_end() && !self.at_function() {
            match self.bump().kind {
                TokenKind::LBrace => open += 1,
                TokenKind::RBrace if open > 1 => open -= 1,
                TokenKind::RBrace => return,
                _ => {}
            }
        }
    }

    fn labelled(&mut self, stmts: &mut Vec<Stmt>) -> Parse<()> {
        let (label, span) = self.name("a label")?;
        self.bump();
        let stmt = match self.word() {
            ".callprototype" => self.call_prototype(label, span)?,
            ".branchtargets" => {
                let targets = self.target_names()?;
                Stmt::BranchTargets { label, targets, span: self.since(span) }
            }
            ".calltargets" => {
                let targets = self.target_names()?;
                Stmt::CallTargets { label, targets, span: self.since(span) }
            }
            _ => Stmt::Label(label, span),
        };
        stmts.push(stmt);
        Ok(())
    }

    fn target_names(&mut self) -> Parse<Vec<Sym>> {
        self.bump();
        let mut names = Vec::new();
        loop {
            let (name, span) = self.name("a label or function")?;
            // `L<4>` stands for L0 to L3.
            if self.eat(TokenKind::Less) {
                let count = self.plain_integer("a count")?;
                if count > 1 << 16 {
                    return Err(self.error("ptx-limit", span, "too many targets"));
                }
                self.expect(TokenKind::Greater, "`>`")?;
                let stem = self.text_of(span);
                names.extend((0..count).map(|index| self.names.intern(&format!("{stem}{index}"))));
            } else {
                names.push(name);
            }
            if !self.eat(TokenKind::Comma) {
                self.end_of_statement()?;
                return Ok(names);
            }
        }
    }

    fn directive(&mut self, stmts: &mut Vec<Stmt>) -> Parse<()> {
        let word = self.word();
        match word {
            ".reg" => self.registers(stmts),
            ".loc" => {
                let loc = self.location()?;
                stmts.push(Stmt::Loc(loc));
                Ok(())
            }
            ".pragma" => self.pragma(stmts),
            ".section" => self.section(),
            ".callprototype" | ".calltargets" | ".branchtargets" => {
                let error = Diagnostic::error("ptx-syntax", self.span(), format!("`{word}` needs a label"));
                Err(self.report(error.with_help(format!("write `name: {word} …`"))))
            }
            ".visible" | ".extern" | ".weak" | ".common" => {
                let linkage = self.linkage();
                self.body_variables(linkage, stmts)
            }
            _ if space(word).is_some() => self.body_variables(crate::ast::Linkage::Local, stmts),
            _ => Err(self.unknown_directive(DIRECTIVES)),
        }
    }

    fn body_variables(&mut self, linkage: crate::ast::Linkage, stmts: &mut Vec<Stmt>) -> Parse<()> {
        if space(self.word()).is_none() {
            return Err(self.unexpected("a state space such as `.shared`"));
        }
        let mut variables = Vec::new();
        let result = self.variables(linkage, &mut variables);
        stmts.extend(variables.into_iter().map(Stmt::Var));
        result
    }

    /// `.pragma "a", "b";`
    pub(super) fn pragma(&mut self, stmts: &mut Vec<Stmt>) -> Parse<()> {
        self.bump();
        loop {
            let token = self.expect(TokenKind::String, "a string")?;
            let quoted = self.text_of(token.span);
            stmts.push(Stmt::Pragma(quoted[1..quoted.len() - 1].to_owned(), token.span));
            if !self.eat(TokenKind::Comma) {
                return self.end_of_statement();
            }
        }
    }

    /// `.loc 1 23 5, function_name label+4, inlined_at 1 45 3`
    pub(super) fn location(&mut self) -> Parse<Loc> {
        self.bump();
        let (file, line, column) = self.position()?;
        let mut loc = Loc { file, line, column, inlined_at: None };
        while self.eat(TokenKind::Comma) {
            let (_, span) = self.name("`function_name` or `inlined_at`")?;
            match self.text_of(span) {
                "function_name" => {
                    self.name("a label")?;
                    self.offset()?;
                }
                "inlined_at" => loc.inlined_at = Some(self.position()?),
                other => {
                    let message =
                        format!("expected `function_name` or `inlined_at`, found `{}`", shorten(other));
                    return Err(self.error("ptx-syntax", span, message));
                }
            }
        }
        Ok(loc)
    }

    fn position(&mut self) -> Parse<(u32, u32, u32)> {
        Ok((
            self.plain_integer("a file number")?,
            self.plain_integer("a line number")?,
            self.plain_integer("a column number")?,
        ))
    }

    /// The `;`. When it is missing at the end of a line, the next line is a separate statement.
    pub(super) fn end_of_statement(&mut self) -> Parse<()> {
        if self.eat(TokenKind::Semicolon) {
            return Ok(());
        }
        let next_line = self.starts_line()
            && matches!(
                self.peek(),
                TokenKind::Ident | TokenKind::Dotted | TokenKind::At | TokenKind::RBrace
            );
        let expected = if next_line || self.peek() == TokenKind::RBrace { "`;`" } else { "`,` or `;`" };
        let reported = self.unexpected(expected);
        if next_line { Ok(()) } else { Err(reported) }
    }

    fn instruction(&mut self) -> Parse<Instr> {
        let start = self.span();
        let guard = if self.eat(TokenKind::At) {
            let negated = self.eat(TokenKind::Bang);
            let (pred, _) = self.name("a predicate")?;
            Some(Guard { pred, negated })
        } else {
            None
        };
        let (name, span) = self.name("an instruction")?;
        let op = match Opcode::parse(self.text_of(span)) {
            Some(op) => op,
            None => {
                self.unknown_instruction(span);
                Opcode::Unknown(name)
            }
        };
        let mut mods: SmallVec<[Mod; 6]> = SmallVec::new();
        while self.peek() == TokenKind::Dotted {
            let span = self.bump().span;
            let word = &self.text_of(span)[1..];
            mods.push(Mod::parse(word).unwrap_or_else(|| Mod::Other(self.names.intern(word))));
        }
        let mut operands = SmallVec::new();
        if !self.ends_instruction(op) {
            loop {
                operands.push(self.operand(op)?);
                if !self.eat(TokenKind::Comma) {
                    break;
                }
            }
        }
        let span = self.since(start);
        self.end_of_statement()?;
        Ok(Instr { span, guard, op, mods, operands })
    }

    /// Whether no operand follows: at the `;`, or where it is missing. The function of a `call` may be named like an
    /// instruction and stand on the next line.
    fn ends_instruction(&self, op: Opcode) -> bool {
        matches!(self.peek(), TokenKind::Semicolon | TokenKind::RBrace | TokenKind::End)
            || (op != Opcode::Call && self.starts_line() && self.reads_like_statement())
    }

    fn unknown_instruction(&mut self, span: Span) {
        let word = self.text_of(span);
        let message = format!("unknown instruction `{}`", shorten(word));
        let error = Diagnostic::error("ptx-unknown-instruction", span, message);
        let error = match self.suggestion(word, Opcode::ALL) {
            Some(near) => error.with_help(format!("did you mean `{near}`?")),
            None => error.with_help(
                "PTX is supported up to version 9.4; a kernel that uses this instruction cannot be launched",
            ),
        };
        self.report(error);
    }

    /// Skips to where the next statement can start: after a `;`, or before a `}` that is not a vector's, a function, or a
    /// line that reads like a statement. At least one token after `start` is taken, unless it is one of those braces.
    fn recover_statement(&mut self, start: usize) {
        while !self.at_end() && !self.at_function() {
            if self.at > start && self.starts_line() && self.reads_like_statement() {
                return;
            }
            match self.peek() {
                TokenKind::RBrace if self.open_braces == 0 => return,
                TokenKind::RBrace => self.open_braces -= 1,
                TokenKind::LBrace => self.open_braces += 1,
                _ => {}
            }
            if self.bump().kind == TokenKind::Semicolon {
                return;
            }
        }
    }

    fn reads_like_statement(&self) -> bool {
        match self.peek() {
            TokenKind::Ident => {
                self.peek_second() == TokenKind::Colon || Opcode::parse(self.word()).is_some()
            }
            TokenKind::At => true,
            TokenKind::Dotted => DIRECTIVES.contains(&self.word()),
            _ => false,
        }
    }
}
