// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernels and functions: header, parameters, performance-tuning directives (PTX ISA, "Kernel and Function Directives",
//! "Performance-Tuning Directives", "Cluster Dimension Directives").

use warpwatt_base::{Span, Sym};

use super::{Parse, Parser};
use crate::ast::{Function, Item, Limits, Stmt, Variable};
use crate::lexer::TokenKind;

const HEADER_DIRECTIVES: &[&str] = &[
    ".maxntid",
    ".reqntid",
    ".maxnreg",
    ".minnctapersm",
    ".maxnctapersm",
    ".noreturn",
    ".pragma",
    ".reqnctapercluster",
    ".explicitcluster",
    ".maxclusterrank",
    ".blocksareclusters",
    ".abi_preserve",
    ".abi_preserve_control",
    ".attribute",
];

impl Parser<'_> {
    /// From the linkage or `.entry`/`.func` to the end of the body or the `;` of a prototype.
    pub(super) fn function(&mut self, items: &mut Vec<Item>) -> Parse<()> {
        let start = self.span();
        let errors = self.errors;
        let linkage = self.linkage();
        let is_kernel = self.word() == ".entry";
        self.bump();
        while self.peek() == TokenKind::Dotted && self.word() == ".attribute" {
            self.attribute()?;
        }
        let returns =
            if !is_kernel && self.peek() == TokenKind::LParen { self.parameters()? } else { Vec::new() };
        let (name, span) = self.name("a function name")?;
        let mut function = Function {
            name,
            span,
            is_kernel,
            linkage,
            returns,
            params: Vec::new(),
            limits: Limits::default(),
            noreturn: false,
            body: None,
            broken: false,
            extent: start,
        };
        if self.header(&mut function).is_err() {
            self.recover_header();
        }
        if self.peek() == TokenKind::LBrace {
            let mut stmts = self.module_registers.clone();
            self.function_body(&mut stmts, span);
            function.body = Some(stmts);
        } else if !self.eat(TokenKind::Semicolon) {
            // A prototype without its `;` before the next item is clear enough to go on, but it is an error.
            self.unexpected("`{` or `;`");
        }
        function.broken = self.errors > errors;
        function.extent = self.since(start);
        items.push(Item::Function(function));
        Ok(())
    }

    fn header(&mut self, function: &mut Function) -> Parse<()> {
        if self.peek() == TokenKind::LParen {
            function.params = self.parameters()?;
        }
        while self.peek() == TokenKind::Dotted && !self.at_function() {
            self.header_directive(function)?;
        }
        Ok(())
    }

    fn header_directive(&mut self, function: &mut Function) -> Parse<()> {
        let limits = &mut function.limits;
        match self.word() {
            ".maxntid" => limits.maxntid = Some(self.dimension_list()?),
            ".reqntid" => limits.reqntid = Some(self.dimension_list()?),
            ".reqnctapercluster" => limits.cluster = Some(self.dimension_list()?),
            ".maxnreg" => limits.maxnreg = Some(self.number_after()?),
            ".minnctapersm" => limits.minnctapersm = Some(self.number_after()?),
            ".maxnctapersm" => limits.maxnctapersm = Some(self.number_after()?),
            // The rank alone does not make a launch use clusters.
            ".maxclusterrank" | ".abi_preserve" | ".abi_preserve_control" => drop(self.number_after()?),
            ".explicitcluster" | ".blocksareclusters" => {
                self.bump();
                limits.cluster.get_or_insert([1, 1, 1]);
            }
            ".noreturn" => {
                self.bump();
                function.noreturn = true;
            }
            ".pragma" => self.pragma(&mut Vec::new())?,
            ".attribute" => drop(self.attribute()?),
            _ => return Err(self.unknown_directive(HEADER_DIRECTIVES)),
        }
        Ok(())
    }

    fn number_after(&mut self) -> Parse<u32> {
        self.bump();
        self.small_integer("a number")
    }

    /// One to three numbers with commas; those left out are 1.
    fn dimension_list(&mut self) -> Parse<[u32; 3]> {
        let mut dims = [1; 3];
        dims[0] = self.number_after()?;
        for dim in &mut dims[1..] {
            if !self.eat(TokenKind::Comma) {
                break;
            }
            *dim = self.small_integer("a number")?;
        }
        Ok(dims)
    }

    /// After a broken header: to the body or the end of the prototype.
    fn recover_header(&mut self) {
        while !matches!(self.peek(), TokenKind::LBrace | TokenKind::Semicolon | TokenKind::End)
            && !self.at_function()
        {
            self.bump();
        }
    }

    /// `label: .callprototype (…) _ (…) .noreturn;` from the directive on.
    pub(super) fn call_prototype(&mut self, label: Sym, start: Span) -> Parse<Stmt> {
        self.bump();
        let first = if self.peek() == TokenKind::LParen { Some(self.parameters()?) } else { None };
        let (returns, params): (Vec<Variable>, Vec<Variable>) = if self.peek() == TokenKind::Ident {
            self.bump();
            let params = if self.peek() == TokenKind::LParen { self.parameters()? } else { Vec::new() };
            (first.unwrap_or_default(), params)
        } else {
            return Err(self.unexpected("`_`"));
        };
        let mut noreturn = false;
        while self.peek() == TokenKind::Dotted {
            match self.word() {
                ".noreturn" => {
                    self.bump();
                    noreturn = true;
                }
                ".abi_preserve" | ".abi_preserve_control" => drop(self.number_after()?),
                _ => return Err(self.unknown_directive(HEADER_DIRECTIVES)),
            }
        }
        let span = self.since(start);
        self.end_of_statement()?;
        Ok(Stmt::CallPrototype { label, returns, params, noreturn, span })
    }
}
