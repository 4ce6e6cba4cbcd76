// SPDX-License-Identifier: MIT OR Apache-2.0
//! A text as its directives and items, by their extent alone: items are moved or left out without being changed.

use warpwatt_base::Span;

use crate::lexer::{Token, TokenKind, tokens};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PieceKind {
    /// `.version`, `.target`, `.address_size`, `.file`, `.section`: emitted once for all texts, or not at all.
    Header,
    /// A variable or a function, defined or declared, or anything else.
    Item,
}

pub struct Piece {
    pub kind: PieceKind,
    pub span: Span,
    /// Its tokens.
    pub tokens: Vec<Token>,
}

/// The pieces of a text that has no error outside of functions.
pub fn pieces(text: &str) -> Vec<Piece> {
    let tokens = tokens(text);
    let mut cursor = Cursor { text, tokens: &tokens, at: 0 };
    let mut pieces = Vec::new();
    while cursor.kind() != TokenKind::End {
        let start = cursor.at;
        let kind = cursor.piece();
        // Every piece has a token, so that this ends.
        cursor.at = cursor.at.max(start + 1);
        let inside = &tokens[start..cursor.at.min(tokens.len() - 1)];
        if let (Some(first), Some(last)) = (inside.first(), inside.last()) {
            pieces.push(Piece { kind, span: first.span.to(last.span), tokens: inside.to_vec() });
        }
    }
    pieces
}

struct Cursor<'a> {
    text: &'a str,
    tokens: &'a [Token],
    at: usize,
}

impl Cursor<'_> {
    fn kind(&self) -> TokenKind {
        self.tokens.get(self.at).map_or(TokenKind::End, |token| token.kind)
    }

    fn word(&self) -> &str {
        self.tokens
            .get(self.at)
            .map_or("", |token| &self.text[token.span.start as usize..token.span.end as usize])
    }

    fn eat(&mut self, kind: TokenKind) -> bool {
        let found = self.kind() == kind;
        self.at += usize::from(found);
        found
    }

    fn piece(&mut self) -> PieceKind {
        match self.word() {
            ".version" | ".address_size" => self.at += 2,
            ".target" => {
                self.at += 2;
                while self.eat(TokenKind::Comma) {
                    self.at += 1;
                }
            }
            ".file" => {
                self.at += 3;
                while self.eat(TokenKind::Comma) {
                    self.at += 1;
                }
            }
            ".section" => {
                while !matches!(self.kind(), TokenKind::LBrace | TokenKind::End) {
                    self.at += 1;
                }
                self.braces();
            }
            _ => {
                self.item();
                return PieceKind::Item;
            }
        }
        PieceKind::Header
    }

    /// To the `;` of a declaration or the `}` of a body.
    fn item(&mut self) {
        let mut function = false;
        loop {
            match self.kind() {
                TokenKind::End => return,
                TokenKind::Semicolon => {
                    self.at += 1;
                    return;
                }
                TokenKind::LBrace => {
                    self.braces();
                    // Of a variable, the braces are those of its initialiser.
                    if function {
                        return;
                    }
                }
                TokenKind::Dotted => {
                    let word = self.word();
                    function |= word == ".func" || word == ".entry";
                    let pragma = function && word == ".pragma";
                    self.at += 1;
                    // Its `;` is not the end of the function's header.
                    while pragma
                        && !matches!(self.kind(), TokenKind::End | TokenKind::LBrace)
                        && !self.eat(TokenKind::Semicolon)
                    {
                        self.at += 1;
                    }
                }
                _ => self.at += 1,
            }
        }
    }

    /// From a `{` past its `}`.
    fn braces(&mut self) {
        let mut open = 0u32;
        loop {
            match self.kind() {
                TokenKind::End => return,
                TokenKind::LBrace => open += 1,
                TokenKind::RBrace => open = open.saturating_sub(1),
                _ => {}
            }
            self.at += 1;
            if open == 0 {
                return;
            }
        }
    }
}
