// SPDX-License-Identifier: MIT OR Apache-2.0
//! Declarations: types, variables, parameters, registers (PTX ISA, "State Spaces, Types, and Variables").

use warpwatt_base::{Span, Sym};

use super::{Parse, Parser};
use crate::ast::{Linkage, Pointee, RegDecl, Scalar, Space, Stmt, Type, Variable};
use crate::diagnostic::Diagnostic;
use crate::lexer::TokenKind;

/// Names of one `%r<n>`: no compiler emits more, and each name takes memory.
const MOST_REGISTERS: u32 = 1 << 20;

pub(super) fn space(word: &str) -> Option<Space> {
    Some(match word {
        ".reg" => Space::Reg,
        ".sreg" => Space::Sreg,
        ".const" => Space::Const,
        ".global" => Space::Global,
        ".local" => Space::Local,
        ".param" => Space::Param,
        ".shared" => Space::Shared,
        ".tex" => Space::Tex,
        _ => return None,
    })
}

pub(super) fn linkage(word: &str) -> Option<Linkage> {
    Some(match word {
        ".visible" => Linkage::Visible,
        ".extern" => Linkage::Extern,
        ".weak" => Linkage::Weak,
        ".common" => Linkage::Common,
        _ => return None,
    })
}

/// Every type and the word for it.
pub(crate) const SCALARS: &[(&str, Scalar)] = &[
    (".u8", Scalar::U8),
    (".u16", Scalar::U16),
    (".u32", Scalar::U32),
    (".u64", Scalar::U64),
    (".s8", Scalar::S8),
    (".s16", Scalar::S16),
    (".s32", Scalar::S32),
    (".s64", Scalar::S64),
    (".b8", Scalar::B8),
    (".b16", Scalar::B16),
    (".b32", Scalar::B32),
    (".b64", Scalar::B64),
    (".b128", Scalar::B128),
    (".f16", Scalar::F16),
    (".f16x2", Scalar::F16x2),
    (".bf16", Scalar::Bf16),
    (".bf16x2", Scalar::Bf16x2),
    (".tf32", Scalar::Tf32),
    (".f32", Scalar::F32),
    (".f64", Scalar::F64),
    (".e4m3", Scalar::E4m3),
    (".e5m2", Scalar::E5m2),
    (".e4m3x2", Scalar::E4m3x2),
    (".e5m2x2", Scalar::E5m2x2),
    (".pred", Scalar::Pred),
    (".texref", Scalar::Texref),
    (".samplerref", Scalar::Samplerref),
    (".surfref", Scalar::Surfref),
];

fn scalar(word: &str) -> Option<Scalar> {
    SCALARS.iter().find(|(text, _)| *text == word).map(|&(_, scalar)| scalar)
}

/// The modifiers between the state space and the names.
struct Attributes {
    align: Option<u32>,
    ty: Type,
    pointee: Option<Pointee>,
    managed: bool,
}

impl Parser<'_> {
    /// After the state space: `.align 4 .v2 .f32 .ptr .global .align 8`, in any order that compilers write.
    fn attributes(&mut self, in_space: Space) -> Parse<Attributes> {
        let mut found = Attributes {
            align: None,
            ty: Type { scalar: Scalar::B8, lanes: 1 },
            pointee: None,
            managed: false,
        };
        let mut typed = false;
        while self.peek() == TokenKind::Dotted {
            let word = self.word();
            if let Some(scalar) = scalar(word) {
                self.bump();
                found.ty.scalar = scalar;
                typed = true;
            } else if let Some(space) = found.pointee.as_ref().and_then(|_| space(word)) {
                self.bump();
                found.pointee = found.pointee.map(|pointee| Pointee { space: Some(space), ..pointee });
            } else {
                match word {
                    ".v2" | ".v4" | ".v8" => found.ty.lanes = word.as_bytes()[2] - b'0',
                    ".ptr" => found.pointee = Some(Pointee { space: None, align: None }),
                    ".align" => {
                        self.bump();
                        let align = Some(self.alignment()?);
                        match &mut found.pointee {
                            Some(pointee) => pointee.align = align,
                            None => found.align = align,
                        }
                        continue;
                    }
                    ".attribute" => {
                        found.managed |= self.attribute()?;
                        continue;
                    }
                    _ => return Err(self.unknown_type(word)),
                }
                self.bump();
            }
        }
        // The deprecated `.tex` space had its type implied at times; everything else names one.
        if !typed && in_space != Space::Tex {
            return Err(self.unexpected("a type such as `.b32`"));
        }
        Ok(found)
    }

    fn unknown_type(&mut self, word: &str) -> super::Reported {
        let known: Vec<&'static str> =
            SCALARS.iter().map(|&(text, _)| text).chain([".align", ".ptr", ".v2", ".v4"]).collect();
        let mut error = Diagnostic::error(
            "ptx-unknown-type",
            self.span(),
            format!("`{word}` is not the type of a variable"),
        );
        if let Some(near) = self.suggestion(word, &known) {
            error = error.with_help(format!("did you mean `{near}`?"));
        }
        self.report(error)
    }

    fn alignment(&mut self) -> Parse<u32> {
        let span = self.span();
        let align = self.plain_integer("an alignment")?;
        if !align.is_power_of_two() {
            return Err(self.error("ptx-syntax", span, "an alignment must be a power of two"));
        }
        Ok(align)
    }

    /// `.attribute(.managed)`, `.attribute(.unified(1, 2))`: whether it contains `.managed`.
    pub(super) fn attribute(&mut self) -> Parse<bool> {
        self.bump();
        self.expect(TokenKind::LParen, "`(`")?;
        let mut managed = false;
        let mut open = 1;
        while open > 0 {
            match self.peek() {
                TokenKind::LParen => open += 1,
                TokenKind::RParen => open -= 1,
                TokenKind::Dotted => managed |= self.word() == ".managed",
                TokenKind::Comma | TokenKind::Number => {}
                _ => return Err(self.unexpected("`)`")),
            }
            self.bump();
        }
        Ok(managed)
    }

    /// One declared name with its dimensions.
    fn declarator(&mut self, space: Space, linkage: Linkage, attributes: &Attributes) -> Parse<Variable> {
        let (name, span) = self.name("a name")?;
        Ok(Variable {
            name,
            span,
            linkage,
            space,
            align: attributes.align,
            ty: attributes.ty,
            dims: self.dimensions()?,
            init: None,
            pointee: attributes.pointee,
            managed: attributes.managed,
        })
    }

    fn dimensions(&mut self) -> Parse<Vec<Option<u64>>> {
        let mut dims = Vec::new();
        while self.eat(TokenKind::LBracket) {
            let size =
                if self.peek() == TokenKind::RBracket { None } else { Some(self.integer("an array size")?) };
            self.expect(TokenKind::RBracket, "`]`")?;
            dims.push(size);
        }
        Ok(dims)
    }

    /// `.global .align 4 .u32 a[4] = {1, 2}, b;` from the state space on.
    pub(super) fn variables(&mut self, linkage: Linkage, found: &mut Vec<Variable>) -> Parse<()> {
        let token = self.bump();
        let Some(space) = space(self.text_of(token.span)) else {
            return Err(self.error("ptx-syntax", token.span, "expected a state space such as `.global`"));
        };
        // `.const[3]`: the bank of PTX 1 and 2, where it is deprecated.
        if space == Space::Const && self.eat(TokenKind::LBracket) {
            self.integer("a constant bank")?;
            self.expect(TokenKind::RBracket, "`]`")?;
        }
        let attributes = self.attributes(space)?;
        loop {
            let mut variable = self.declarator(space, linkage, &attributes)?;
            if self.eat(TokenKind::Equals) {
                variable.init = Some(self.initialiser()?);
            }
            found.push(variable);
            if !self.eat(TokenKind::Comma) {
                return self.end_of_statement();
            }
        }
    }

    /// `(.param .b32 a, .reg .f64 b)`, after nothing; an empty list is fine.
    pub(super) fn parameters(&mut self) -> Parse<Vec<Variable>> {
        self.expect(TokenKind::LParen, "`(`")?;
        let mut params = Vec::new();
        if self.eat(TokenKind::RParen) {
            return Ok(params);
        }
        loop {
            let space = match self.word() {
                ".param" => Space::Param,
                ".reg" => Space::Reg,
                _ if self.peek() == TokenKind::Dotted => {
                    return Err(self.unknown_directive(&[".param", ".reg"]));
                }
                _ => return Err(self.unexpected("a parameter (`.param` or `.reg`)")),
            };
            self.bump();
            let attributes = self.attributes(space)?;
            params.push(self.declarator(space, Linkage::Local, &attributes)?);
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        self.expect(TokenKind::RParen, "`,` or `)`")?;
        Ok(params)
    }

    /// `.reg .b32 %r<10>, a;`
    pub(super) fn registers(&mut self, stmts: &mut Vec<Stmt>) -> Parse<()> {
        self.bump();
        let attributes = self.attributes(Space::Reg)?;
        loop {
            let (name, span) = self.name("a register name")?;
            let count = if self.eat(TokenKind::Less) { Some(self.register_count(name, span)?) } else { None };
            stmts.push(Stmt::Reg(RegDecl { name, count, ty: attributes.ty, span }));
            if !self.eat(TokenKind::Comma) {
                return self.end_of_statement();
            }
        }
    }

    fn register_count(&mut self, name: Sym, name_span: Span) -> Parse<u32> {
        let span = self.span();
        let count = self.plain_integer("a register count")?;
        if count > MOST_REGISTERS {
            let name = super::shorten(self.names.get(name));
            let error =
                Diagnostic::error("ptx-limit", name_span.to(span), format!("`{name}` has {count} registers"))
                    .with_help(format!("at most {MOST_REGISTERS} registers of one name are supported"));
            return Err(self.report(error));
        }
        self.expect(TokenKind::Greater, "`>`")?;
        Ok(count)
    }
}
