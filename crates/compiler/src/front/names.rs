// SPDX-License-Identifier: MIT OR Apache-2.0
//! What names mean inside of a function: registers, labels, variables, prototypes, in nested scopes
//! (PTX ISA, "Parameterized Variable Names" and the scoping of `{ … }`).

use rustc_hash::FxHashMap;
use warpwatt_base::{Interner, Span, Sym};
use warpwatt_ptx::ast::{Scalar, Stmt};
use warpwatt_ptx::{Diagnostic, suggest};

use crate::ir::{BlockId, Value};

#[derive(Clone, Copy, Debug)]
pub enum Entity<'a> {
    Reg {
        value: Value,
        scalar: Scalar,
    },
    /// `.reg .v4 .f32 v`: consecutive values.
    RegVector {
        first: Value,
        lanes: u8,
        scalar: Scalar,
    },
    Label(BlockId),
    /// Byte offset in shared memory.
    Shared(u32),
    /// Byte offset in the frame's variables.
    Local(u32),
    /// Byte offset in the kernel's parameters.
    KernelParam(u32),
    /// Byte offset in the arguments that this function was given.
    InParam(u32),
    /// A `.param` variable of a call to be made, or a parameter of an inlined function: kept in registers, word by word.
    Words {
        first: Value,
        size: u32,
        align: u32,
    },
    /// `.callprototype`, `.branchtargets`, `.calltargets`.
    Declared(&'a Stmt),
}

/// Registers declared as `%r<n>`.
#[derive(Clone, Copy, Debug)]
struct Range {
    count: u32,
    scalar: Scalar,
    lanes: u8,
}

#[derive(Default)]
struct Scope<'a> {
    names: FxHashMap<Sym, Entity<'a>>,
    ranges: FxHashMap<Sym, Range>,
}

#[derive(Default)]
pub struct Names<'a> {
    scopes: Vec<Scope<'a>>,
}

/// What a name was found to be.
pub enum Found<'a> {
    Entity(Entity<'a>),
    /// A register of a range that has not been used yet: the scope it belongs to, and its type.
    Fresh {
        scope: usize,
        scalar: Scalar,
        lanes: u8,
    },
}

impl<'a> Names<'a> {
    pub fn enter(&mut self) {
        self.scopes.push(Scope::default());
    }

    pub fn leave(&mut self) {
        self.scopes.pop();
    }

    pub fn declare(&mut self, name: Sym, entity: Entity<'a>) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.names.insert(name, entity);
        }
    }

    pub fn declare_in(&mut self, scope: usize, name: Sym, entity: Entity<'a>) {
        self.scopes[scope].names.insert(name, entity);
    }

    pub fn declare_range(&mut self, name: Sym, count: u32, scalar: Scalar, lanes: u8) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.ranges.insert(name, Range { count, scalar, lanes });
        }
    }

    /// Innermost scope first.
    pub fn find(&self, name: Sym, interner: &Interner) -> Option<Found<'a>> {
        let mut stem = None;
        for (k, scope) in self.scopes.iter().enumerate().rev() {
            if let Some(&entity) = scope.names.get(&name) {
                return Some(Found::Entity(entity));
            }
            if scope.ranges.is_empty() {
                continue;
            }
            let (prefix, number) = *stem.get_or_insert_with(|| split(interner.get(name), interner));
            if let (Some(prefix), Some(number)) = (prefix, number)
                && let Some(range) = scope.ranges.get(&prefix)
                && number < range.count
            {
                return Some(Found::Fresh { scope: k, scalar: range.scalar, lanes: range.lanes });
            }
        }
        None
    }

    /// "No such name", with the nearest one that there is.
    pub fn unknown(&self, name: Sym, span: Span, interner: &Interner, more: &[&str]) -> Diagnostic {
        let text = interner.get(name);
        let shown: String = text.chars().take(80).collect();
        let error = Diagnostic::error("ptx-unknown-name", span, format!("`{shown}` is not declared"));
        if let (Some(prefix), Some(number)) = split(text, interner)
            && let Some(range) = self.scopes.iter().rev().find_map(|s| s.ranges.get(&prefix))
        {
            let stem = interner.get(prefix);
            return error.with_help(format!(
                "`{stem}<{}>` declares `{stem}0` to `{stem}{}`; this is number {number}",
                range.count,
                range.count.saturating_sub(1)
            ));
        }
        let mut known: Vec<&str> = more.to_vec();
        known.extend(self.scopes.iter().flat_map(|s| s.names.keys()).map(|&s| interner.get(s)));
        known.sort_unstable();
        match suggest::nearest(text, &known) {
            Some(near) => error.with_help(format!("did you mean `{near}`?")),
            None => error.with_help("declare it before it is used"),
        }
    }
}

/// `%r12` as the symbol of `%r` and 12.
fn split(text: &str, interner: &Interner) -> (Option<Sym>, Option<u32>) {
    let stem = text.trim_end_matches(|c: char| c.is_ascii_digit());
    let digits = &text[stem.len()..];
    if digits.is_empty() || (digits.len() > 1 && digits.starts_with('0')) {
        return (None, None);
    }
    (interner.find(stem), digits.parse().ok())
}
