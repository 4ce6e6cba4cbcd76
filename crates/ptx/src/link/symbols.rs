// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which text's definition is used for a name, which are left out, and what has to be renamed.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use warpwatt_base::Span;

use super::Unit;
use crate::ast::{Item, Linkage, Space, Variable};
use crate::diagnostic::Diagnostic;

/// What changes in one text.
#[derive(Default)]
pub struct Plan {
    /// Declarations and definitions to be left out, by the start of their names.
    pub dropped: HashSet<u32>,
    pub renamed: HashMap<String, String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Strength {
    /// `.visible`, and kernels, which the host finds by their names.
    Strong,
    Weak,
    /// `.common`: the largest one is taken.
    Common(u64),
    /// Declared to be elsewhere; the alignment counts for dynamic shared memory, which is nowhere else.
    Extern(u32),
    Private,
}

struct Symbol {
    unit: usize,
    span: Span,
    strength: Strength,
}

/// What to do with every text.
pub fn resolve(units: &[Unit], errors: &mut Vec<Diagnostic>) -> Vec<Plan> {
    let mut plans: Vec<Plan> = units.iter().map(|_| Plan::default()).collect();
    let mut symbols = BTreeMap::<&str, Vec<Symbol>>::new();
    for (number, unit) in units.iter().enumerate() {
        collect(unit, number, &mut symbols);
    }
    let mut taken: BTreeSet<String> = units.iter().flat_map(words).collect();
    for (name, found) in symbols {
        share(name, &found, units, &mut plans, errors);
        separate(name, &found, &mut plans, &mut taken);
    }
    plans
}

fn collect<'a>(unit: &'a Unit, number: usize, symbols: &mut BTreeMap<&'a str, Vec<Symbol>>) {
    let mut put = |name, span, strength| {
        let name: &'a str = unit.module.names.get(name);
        symbols.entry(name).or_default().push(Symbol { unit: number, span, strength });
    };
    for item in &unit.module.items {
        match item {
            Item::Var(variable) => {
                let strength = match variable.linkage {
                    Linkage::Visible => Strength::Strong,
                    Linkage::Weak => Strength::Weak,
                    Linkage::Common => Strength::Common(bytes(variable)),
                    Linkage::Extern => Strength::Extern(variable.align.unwrap_or(1)),
                    // Dynamic shared memory in the old way: an array without a size.
                    Linkage::Local
                        if variable.space == Space::Shared && variable.dims.first() == Some(&None) =>
                    {
                        Strength::Extern(variable.align.unwrap_or(1))
                    }
                    Linkage::Local => Strength::Private,
                };
                put(variable.name, variable.span, strength);
            }
            Item::Function(function) => {
                let strength = match (function.linkage, &function.body) {
                    (Linkage::Local, _) => Strength::Private,
                    (Linkage::Extern, _) | (_, None) => Strength::Extern(1),
                    (Linkage::Weak, Some(_)) => Strength::Weak,
                    (Linkage::Visible | Linkage::Common, Some(_)) => Strength::Strong,
                };
                put(function.name, function.span, strength);
            }
            Item::Alias { new, span, .. } => put(*new, *span, Strength::Private),
        }
    }
}

/// Approximate size of a variable, sufficient to compare two.
fn bytes(variable: &Variable) -> u64 {
    let elements = variable.dims.iter().map(|dim| dim.unwrap_or(0)).fold(1, u64::saturating_mul);
    elements.saturating_mul(u64::from(variable.ty.lanes))
}

/// Settles which of the definitions that texts share is taken, and drops the others.
fn share(name: &str, found: &[Symbol], units: &[Unit], plans: &mut [Plan], errors: &mut Vec<Diagnostic>) {
    let strong: Vec<&Symbol> = found.iter().filter(|symbol| symbol.strength == Strength::Strong).collect();
    if let [first, second, ..] = strong[..] {
        let (one, two) = (units[first.unit].place(first.span), units[second.unit].place(second.span));
        let shown: String = name.chars().take(200).collect();
        let message = format!("`{shown}` is defined twice: in {one} and in {two}");
        errors.push(
            Diagnostic::error("ptx-link", second.span, message).with_help(
                "define it in one of them and declare it `extern` in the other, or make it `static`",
            ),
        );
        return;
    }
    // The first of the strongest: strong, weak, the largest common one, the declaration with the largest alignment.
    let rank = |symbol: &&Symbol| match symbol.strength {
        Strength::Strong => (3, 0),
        Strength::Weak => (2, 0),
        Strength::Common(bytes) => (1, bytes),
        Strength::Extern(align) => (0, u64::from(align)),
        Strength::Private => (-1, 0),
    };
    let shared = || found.iter().filter(|symbol| symbol.strength != Strength::Private);
    let Some(best) = shared().rev().max_by_key(rank) else { return };
    for symbol in shared().filter(|symbol| !std::ptr::eq(*symbol, best)) {
        // A prototype ahead of the definition in its own text stays, as do repeated ones: they are no link's business.
        let prototype = symbol.strength == Strength::Extern(1);
        // One that promises other results than the definition gives stays for its callers, which go by it, as with nvlink.
        let differs = || results(&units[symbol.unit], symbol) != results(&units[best.unit], best);
        if !prototype || (symbol.unit != best.unit && !differs()) {
            plans[symbol.unit].dropped.insert(symbol.span.start);
        }
    }
}

/// How many results a function gives; `None` for a variable.
fn results(unit: &Unit, symbol: &Symbol) -> Option<usize> {
    unit.module.items.iter().find_map(|item| match item {
        Item::Function(function) if function.span == symbol.span => Some(function.returns.len()),
        _ => None,
    })
}

/// Gives private names that are in use elsewhere new ones.
fn separate(name: &str, found: &[Symbol], plans: &mut [Plan], taken: &mut BTreeSet<String>) {
    let public = found.iter().any(|symbol| symbol.strength != Strength::Private);
    let mut owners: Vec<usize> = found
        .iter()
        .filter(|symbol| symbol.strength == Strength::Private)
        .map(|symbol| symbol.unit)
        .collect();
    owners.dedup();
    // The first keeps its name unless it is the name of a public symbol.
    for unit in owners.into_iter().skip(usize::from(!public)) {
        // Within one text, the name is one thing, private or not.
        if found.iter().any(|symbol| symbol.unit == unit && symbol.strength != Strength::Private) {
            continue;
        }
        let fresh = (unit..).map(|number| format!("{name}__{number}")).find(|fresh| !taken.contains(fresh));
        let fresh = fresh.unwrap_or_default();
        taken.insert(fresh.clone());
        plans[unit].renamed.insert(name.to_owned(), fresh);
    }
}

/// All names in a text.
fn words<'a>(unit: &'a Unit) -> impl Iterator<Item = String> + use<'a> {
    let tokens = unit.pieces.iter().flat_map(|piece| &piece.tokens);
    let names = tokens.filter(|token| token.kind == crate::lexer::TokenKind::Ident);
    names.map(|token| unit.text[token.span.start as usize..token.span.end as usize].to_owned())
}
