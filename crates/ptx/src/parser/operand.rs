// SPDX-License-Identifier: MIT OR Apache-2.0
//! Operands of instructions (PTX ISA, "Instruction Operands").

use super::expr::Value;
use super::{Parse, Parser};
use crate::ast::{Address, AddressBase, Operand, OperandKind};
use crate::diagnostic::Diagnostic;
use crate::lexer::TokenKind;
use crate::words::Opcode;

/// `.x` to `.w`, `.r` to `.a`, and the byte and half-word selectors of video instructions.
fn member(word: &str) -> Option<u8> {
    Some(match word {
        ".x" | ".r" => 0,
        ".y" | ".g" => 1,
        ".z" | ".b" => 2,
        ".w" | ".a" => 3,
        ".b0" => 4,
        ".b1" => 5,
        ".b2" => 6,
        ".b3" => 7,
        ".h0" => 8,
        ".h1" => 9,
        _ => return None,
    })
}

impl Parser<'_> {
    /// One operand; in a `call`, parentheses hold argument lists rather than constants.
    pub(super) fn operand(&mut self, op: Opcode) -> Parse<Operand> {
        let start = self.span();
        let kind = match self.peek() {
            TokenKind::LParen if op == Opcode::Call => {
                OperandKind::Group(self.list(TokenKind::RParen, "`,` or `)`")?)
            }
            _ => self.simple()?,
        };
        let first = Operand { kind, span: self.since(start) };
        if !self.eat(TokenKind::Or) {
            return Ok(first);
        }
        let second_start = self.span();
        let kind = self.simple()?;
        let second = Operand { kind, span: self.since(second_start) };
        Ok(Operand { kind: OperandKind::Pair(Box::new(first), Box::new(second)), span: self.since(start) })
    }

    /// An operand without `|`.
    fn simple(&mut self) -> Parse<OperandKind> {
        match self.peek() {
            TokenKind::Ident if self.word() == "WARP_SZ" => self.immediate(),
            TokenKind::Ident => self.named(),
            TokenKind::LBracket => self.bracket(),
            TokenKind::LBrace => {
                self.open_braces += 1;
                let parts = self.list(TokenKind::RBrace, "`,` or `}`")?;
                self.open_braces -= 1;
                Ok(OperandKind::Vector(parts))
            }
            _ if self.at_constant() => self.immediate(),
            sign @ (TokenKind::Bang | TokenKind::Minus) => {
                self.bump();
                let start = self.span();
                let kind = self.nested(Self::simple)?;
                let inner = Box::new(Operand { kind, span: self.since(start) });
                Ok(if sign == TokenKind::Bang { OperandKind::Not(inner) } else { OperandKind::Neg(inner) })
            }
            _ => Err(self.unexpected("an operand")),
        }
    }

    fn immediate(&mut self) -> Parse<OperandKind> {
        Ok(match self.constant()? {
            Value::Int { bits, .. } => OperandKind::Int(bits),
            Value::F32(bits) => OperandKind::F32(bits),
            Value::F64(value) => OperandKind::F64(value.to_bits()),
        })
    }

    fn named(&mut self) -> Parse<OperandKind> {
        let (name, span) = self.name("a name")?;
        if self.text_of(span) == "_" {
            return Ok(OperandKind::Sink);
        }
        match self.peek() {
            TokenKind::Dotted => match member(self.word()) {
                Some(index) => {
                    self.bump();
                    Ok(OperandKind::Member(name, index))
                }
                None => Err(self.unexpected("a component such as `.x`")),
            },
            TokenKind::Plus | TokenKind::Minus => Ok(OperandKind::NameOffset(name, self.offset()?)),
            TokenKind::LBracket => {
                let error = Diagnostic::error(
                    "ptx-unsupported",
                    self.span(),
                    "array elements are not supported as operands",
                )
                .with_help("write its address: `[array+offset]`, with the offset in bytes");
                Err(self.report(error))
            }
            _ => Ok(OperandKind::Name(name)),
        }
    }

    /// `[a+4]`, `[4096]`, or the several operands of a texture or bulk copy.
    fn bracket(&mut self) -> Parse<OperandKind> {
        let mut parts = self.list(TokenKind::RBracket, "`,` or `]`")?;
        if parts.len() != 1 {
            return Ok(OperandKind::Bracket(parts));
        }
        let address = |base, offset| OperandKind::Address(Address { base, offset });
        Ok(match parts[0].kind {
            OperandKind::Name(name) => address(AddressBase::Name(name), 0),
            OperandKind::NameOffset(name, offset) => address(AddressBase::Name(name), offset),
            OperandKind::Int(bits) => address(AddressBase::Absolute, bits as i64),
            OperandKind::Vector(_) | OperandKind::Member(..) => OperandKind::Bracket(parts),
            _ => {
                let span = parts.swap_remove(0).span;
                return Err(self.error("ptx-syntax", span, "this is not an address"));
            }
        })
    }

    /// Operands with commas between an opening bracket, which is next, and `close`.
    fn list(&mut self, close: TokenKind, expected: &str) -> Parse<Vec<Operand>> {
        self.bump();
        self.nested(|parser| {
            let mut parts = Vec::new();
            if parser.eat(close) {
                return Ok(parts);
            }
            loop {
                let start = parser.span();
                let kind = parser.simple()?;
                parts.push(Operand { kind, span: parser.since(start) });
                if !parser.eat(TokenKind::Comma) {
                    break;
                }
            }
            parser.expect(close, expected)?;
            Ok(parts)
        })
    }
}
