// SPDX-License-Identifier: MIT OR Apache-2.0
//! Initialisers of variables: numbers, addresses of variables and functions, nested lists, texture and sampler fields
//! (PTX ISA, "Variables: Initializers").

use warpwatt_base::Span;

use super::expr::Value;
use super::{Parse, Parser};
use crate::ast::Init;
use crate::diagnostic::Diagnostic;
use crate::lexer::TokenKind;

impl Parser<'_> {
    pub(super) fn initialiser(&mut self) -> Parse<Init> {
        match self.peek() {
            TokenKind::LBrace => {
                self.bump();
                self.open_braces += 1;
                let list = self.nested(Self::initialiser_list)?;
                self.open_braces -= 1;
                Ok(list)
            }
            TokenKind::Ident if self.peek_second() == TokenKind::Equals => {
                let (name, _) = self.name("a field")?;
                self.bump();
                let value = Box::new(self.nested(Self::initialiser)?);
                Ok(Init::Field { name, value })
            }
            // `0xFF00(symbol)`: one byte of an address, chosen by a mask.
            TokenKind::Number if self.peek_second() == TokenKind::LParen => {
                let start = self.span();
                let Value::Int { bits: mask, .. } = self.literal()? else {
                    return Err(self.error("ptx-syntax", start, "the mask of an address must be an integer"));
                };
                self.bump();
                let symbol = self.symbol(Some(mask), start)?;
                self.expect(TokenKind::RParen, "`)`")?;
                Ok(symbol)
            }
            TokenKind::Ident if self.word() != "WARP_SZ" => self.symbol(None, self.span()),
            TokenKind::String => {
                let error = Diagnostic::error(
                    "ptx-unsupported",
                    self.span(),
                    "a string cannot initialise a variable",
                )
                .with_help("write its bytes: `{104, 105, 0}`");
                Err(self.report(error))
            }
            _ if self.at_constant() => Ok(match self.constant()? {
                Value::Int { bits, .. } => Init::Int(bits),
                Value::F32(bits) => Init::F32(bits),
                Value::F64(value) => Init::F64(value.to_bits()),
            }),
            _ => Err(self.unexpected("an initial value")),
        }
    }

    /// After `{`, up to and with `}`. A comma before the `}` is accepted.
    fn initialiser_list(&mut self) -> Parse<Init> {
        let mut list = Vec::new();
        while self.peek() != TokenKind::RBrace {
            list.push(self.initialiser()?);
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        self.expect(TokenKind::RBrace, "`,` or `}`")?;
        Ok(Init::List(list))
    }

    /// `name`, `name + 4`, `generic(name) + 4`, `generic(name + 4)`.
    fn symbol(&mut self, mask: Option<u64>, start: Span) -> Parse<Init> {
        let generic = self.word() == "generic" && self.peek_second() == TokenKind::LParen;
        if generic {
            self.bump();
            self.bump();
        }
        let (name, _) = self.name("a variable or function")?;
        let mut addend = self.offset()?;
        if generic {
            self.expect(TokenKind::RParen, "`)`")?;
            addend = addend.wrapping_add(self.offset()?);
        }
        Ok(Init::Symbol { name, addend, generic, mask, span: self.since(start) })
    }
}
