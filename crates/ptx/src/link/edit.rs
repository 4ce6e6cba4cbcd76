// SPDX-License-Identifier: MIT OR Apache-2.0
//! A text with what linking changes in it: pieces left out, names replaced, files numbered anew.

use std::collections::HashMap;
use std::fmt::Write;

use super::Unit;
use super::split::{Piece, PieceKind};
use super::symbols::Plan;
use crate::ast::Item;
use crate::lexer::{Token, TokenKind};

/// The files of all texts, numbered from 1.
#[derive(Default)]
pub struct Files {
    numbers: HashMap<String, u32>,
    names: Vec<String>,
}

impl Files {
    fn number(&mut self, name: &str) -> u32 {
        *self.numbers.entry(name.to_owned()).or_insert_with(|| {
            self.names.push(name.to_owned());
            self.names.len() as u32
        })
    }

    pub fn write(&self, out: &mut String) {
        for (name, number) in self.names.iter().zip(1..) {
            let _ = writeln!(out, ".file {number} \"{name}\"");
        }
    }
}

/// The items of a text as they are in the linked one.
pub fn body(unit: &Unit, plan: &Plan, files: &mut Files) -> String {
    let numbers: HashMap<u32, u32> =
        unit.module.files.iter().map(|file| (file.index, files.number(&file.name))).collect();
    let dropped = dropped(unit, plan);
    let mut editor = Editor { text: unit.text, out: String::with_capacity(unit.text.len()), done: 0 };
    for (piece, dropped) in unit.pieces.iter().zip(dropped) {
        if piece.kind == PieceKind::Header || dropped {
            editor.replace(piece.span.start, piece.span.end, "");
        } else {
            editor.piece(piece, plan, &numbers);
        }
    }
    editor.finish()
}

/// Which pieces declare nothing that is left.
fn dropped(unit: &Unit, plan: &Plan) -> Vec<bool> {
    let mut names = vec![(0, 0); unit.pieces.len()];
    for item in &unit.module.items {
        let span = match item {
            Item::Var(variable) => variable.span,
            Item::Function(function) => function.span,
            Item::Alias { span, .. } => *span,
        };
        let at = unit.pieces.partition_point(|piece| piece.span.end <= span.start);
        if let Some((all, gone)) = names.get_mut(at) {
            *all += 1;
            *gone += u32::from(plan.dropped.contains(&span.start));
        }
    }
    names.into_iter().map(|(all, gone)| all > 0 && all == gone).collect()
}

struct Editor<'a> {
    text: &'a str,
    out: String,
    /// Up to where the text is copied.
    done: usize,
}

impl Editor<'_> {
    fn replace(&mut self, start: u32, end: u32, with: &str) {
        self.out.push_str(&self.text[self.done..start as usize]);
        self.out.push_str(with);
        self.done = end as usize;
    }

    fn word(&self, token: &Token) -> &str {
        &self.text[token.span.start as usize..token.span.end as usize]
    }

    fn piece(&mut self, piece: &Piece, plan: &Plan, files: &HashMap<u32, u32>) {
        let tokens = &piece.tokens;
        let function = tokens.iter().any(|token| matches!(self.word(token), ".func" | ".entry"));
        // Where an instruction starts, a word is an operation and no name, whatever names there are: `min`, `exit`, `bar`.
        let (mut at_start, mut guard) = (false, false);
        // Whether each open brace is that of a block, not of a vector or initialiser.
        let mut braces = Vec::new();
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            at += 1;
            match token.kind {
                TokenKind::Dotted if self.word(token) == ".loc" => {
                    at = self.location(tokens, at, files);
                    at_start = true;
                }
                TokenKind::Ident => {
                    let label = tokens.get(at).is_some_and(|next| next.kind == TokenKind::Colon);
                    if !at_start || guard || label {
                        self.rename(token, plan);
                    }
                    (at_start, guard) = (guard, false);
                }
                TokenKind::LBrace => {
                    let block = at_start || (function && braces.is_empty());
                    braces.push(block);
                    (at_start, guard) = (block, false);
                }
                TokenKind::RBrace => (at_start, guard) = (braces.pop().unwrap_or(true), false),
                TokenKind::Semicolon | TokenKind::Colon => (at_start, guard) = (true, false),
                // `@p`, `@!p`: the operation comes after.
                TokenKind::At => (at_start, guard) = (true, true),
                TokenKind::Bang if guard => {}
                _ => (at_start, guard) = (false, false),
            }
        }
    }

    fn rename(&mut self, token: &Token, plan: &Plan) {
        if let Some(fresh) = plan.renamed.get(self.word(token)) {
            self.replace(token.span.start, token.span.end, fresh);
        }
    }

    /// Numbers the files of a `.loc`, which has no `;` at its end: `.loc file line column`, and for code that was inlined
    /// `, function_name label + offset, inlined_at file line column`. Returns where it ends.
    fn location(&mut self, tokens: &[Token], mut at: usize, files: &HashMap<u32, u32>) -> usize {
        let kind = |at: usize| tokens.get(at).map_or(TokenKind::End, |token| token.kind);
        let mut numbers = 0;
        loop {
            match kind(at) {
                TokenKind::Number if numbers < 3 => {
                    if numbers == 0 {
                        self.renumber(&tokens[at], files);
                    }
                    numbers += 1;
                }
                TokenKind::Comma if kind(at + 1) == TokenKind::Ident => {
                    numbers = match self.word(&tokens[at + 1]) {
                        "inlined_at" => 0,
                        "function_name" => {
                            at += 1;
                            3
                        }
                        _ => return at,
                    };
                    at += 1;
                }
                TokenKind::Plus if kind(at + 1) == TokenKind::Number => at += 1,
                _ => return at,
            }
            at += 1;
        }
    }

    fn renumber(&mut self, token: &Token, files: &HashMap<u32, u32>) {
        let number = self.word(token).parse().ok().and_then(|number: u32| files.get(&number));
        if let Some(number) = number {
            self.replace(token.span.start, token.span.end, &number.to_string());
        }
    }

    fn finish(mut self) -> String {
        self.out.push_str(&self.text[self.done..]);
        self.out
    }
}
