// SPDX-License-Identifier: MIT OR Apache-2.0
//! PTX text as tokens (PTX ISA, "Source Format", "Identifiers", "Constants").
//!
//! Dotted words (`.b32`, `.shared::cta`, `.2d`) are one token each. Text that is no token becomes one of the `Bad…` kinds, so
//! that the parser reports it in context, for the function that it makes invalid.

use logos::{Lexer, Logos};
use warpwatt_base::Span;

#[derive(Logos, Clone, Copy, PartialEq, Eq, Debug)]
// PTX taken out of a fat binary ends in NUL bytes.
#[logos(skip r"[ \t\r\n\f\x0B\x00]+")]
// Comments, and the lines of DWARF that PTX before 2.0 carries.
#[logos(skip(r"(//|@@[Dd][Ww][Aa][Rr][Ff])[^\n]*", allow_greedy = true))]
#[logos(skip("\u{FEFF}"))]
pub enum TokenKind {
    #[regex(r"[A-Za-z_$][A-Za-z0-9_$]*|%[A-Za-z0-9_$]+")]
    Ident,
    /// `.word`, `.word::word`
    #[regex(r"\.[A-Za-z0-9_$]+(::[A-Za-z0-9_$]+)*")]
    Dotted,
    /// Anything that starts as a number; `parser::expr` distinguishes the forms.
    #[regex(r"[0-9][A-Za-z0-9_$]*")]
    Number,
    /// A number with a point or a signed exponent.
    #[regex(r"[0-9]+\.[0-9]*([eE][+-]?[0-9]+)?|[0-9]+[eE][+-][0-9]+")]
    Decimal,
    #[regex(r#""([^"\\\n]|\\[^\n])*""#)]
    String,
    #[token("(")]
    LParen,
    #[token(")")]
    RParen,
    #[token("[")]
    LBracket,
    #[token("]")]
    RBracket,
    #[token("{")]
    LBrace,
    #[token("}")]
    RBrace,
    #[token(",")]
    Comma,
    #[token(";")]
    Semicolon,
    #[token(":")]
    Colon,
    #[token("@")]
    At,
    #[token("=")]
    Equals,
    #[token("?")]
    Question,
    #[token("!")]
    Bang,
    #[token("~")]
    Tilde,
    #[token("+")]
    Plus,
    #[token("-")]
    Minus,
    #[token("*")]
    Star,
    #[token("/")]
    Slash,
    #[token("%")]
    Percent,
    #[token("<")]
    Less,
    #[token(">")]
    Greater,
    #[token("<=")]
    LessEqual,
    #[token(">=")]
    GreaterEqual,
    #[token("==")]
    EqualEqual,
    #[token("!=")]
    NotEqual,
    #[token("<<")]
    ShiftLeft,
    #[token(">>")]
    ShiftRight,
    #[token("&")]
    And,
    #[token("|")]
    Or,
    #[token("^")]
    Xor,
    #[token("&&")]
    AndAnd,
    #[token("||")]
    OrOr,
    /// An unclosed comment, which extends to the end of the text.
    #[token("/*", block_comment)]
    BadComment,
    /// A string that does not end on its line.
    #[token("\"", rest_of_line)]
    BadString,
    /// A character that PTX has no use for.
    BadText,
    End,
}

fn block_comment(lexer: &mut Lexer<TokenKind>) -> logos::Filter<()> {
    match lexer.remainder().find("*/") {
        Some(at) => {
            lexer.bump(at + 2);
            logos::Filter::Skip
        }
        None => {
            lexer.bump(lexer.remainder().len());
            logos::Filter::Emit(())
        }
    }
}

fn rest_of_line(lexer: &mut Lexer<TokenKind>) {
    let rest = lexer.remainder();
    lexer.bump(rest.find('\n').unwrap_or(rest.len()));
}

#[derive(Clone, Copy, Debug)]
pub struct Token {
    pub kind: TokenKind,
    pub span: Span,
}

/// All tokens of a text of less than 4 GiB, with one [`TokenKind::End`] at the end.
pub fn tokens(text: &str) -> Vec<Token> {
    let mut tokens: Vec<Token> = Vec::with_capacity(text.len() / 4 + 1);
    let mut lexer = TokenKind::lexer(text);
    while let Some(kind) = lexer.next() {
        let range = lexer.span();
        let span = Span::new(range.start as u32, range.end as u32);
        let kind = kind.unwrap_or(TokenKind::BadText);
        // Garbage of any length is one token, hence one message.
        match tokens.last_mut() {
            Some(last) if kind == TokenKind::BadText && last.kind == kind && last.span.end == span.start => {
                last.span.end = span.end;
            }
            _ => tokens.push(Token { kind, span }),
        }
    }
    let end = text.len() as u32;
    tokens.push(Token { kind: TokenKind::End, span: Span::new(end, end) });
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<TokenKind> {
        tokens(text).iter().map(|t| t.kind).collect()
    }

    #[test]
    fn dotted_words_keep_their_colons_and_digits() {
        let text = "ld.global.L2::128B %r1; tex.2d";
        let words: Vec<&str> =
            tokens(text).iter().map(|t| &text[t.span.start as usize..t.span.end as usize]).collect();
        assert_eq!(words, ["ld", ".global", ".L2::128B", "%r1", ";", "tex", ".2d", ""]);
    }

    #[test]
    fn comments_and_dwarf_lines_vanish() {
        assert_eq!(
            kinds("/* a * / b */ x // y\n@@DWARF .byte 1, \"\n;\0"),
            [TokenKind::Ident, TokenKind::Semicolon, TokenKind::End]
        );
    }

    #[test]
    fn numbers_are_whole() {
        assert_eq!(kinds("0x1E-5"), [TokenKind::Number, TokenKind::Minus, TokenKind::Number, TokenKind::End]);
        assert_eq!(
            kinds("1.5e-3 7.8 1e+4 0f3F800000 12U"),
            [
                TokenKind::Decimal,
                TokenKind::Decimal,
                TokenKind::Decimal,
                TokenKind::Number,
                TokenKind::Number,
                TokenKind::End
            ]
        );
    }

    #[test]
    fn unfinished_text_is_one_bad_token() {
        assert_eq!(kinds("a /* b c"), [TokenKind::Ident, TokenKind::BadComment, TokenKind::End]);
        assert_eq!(kinds("\"abc\n;"), [TokenKind::BadString, TokenKind::Semicolon, TokenKind::End]);
        assert_eq!(kinds("é#´ ;"), [TokenKind::BadText, TokenKind::Semicolon, TokenKind::End]);
    }
}
