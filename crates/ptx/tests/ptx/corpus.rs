// SPDX-License-Identifier: MIT OR Apache-2.0
//! What real compilers write is read without a word, and printing it gives the same tree again.

use crate::common::{corpus, tree};
use warpwatt_ptx::ast::{Function, Instr, Item, Stmt};
use warpwatt_ptx::words::Opcode;
use warpwatt_ptx::{parse, print};

fn functions(items: &[Item]) -> impl Iterator<Item = &Function> {
    items.iter().filter_map(|item| match item {
        Item::Function(function) => Some(function),
        _ => None,
    })
}

fn instructions<'a>(stmts: &'a [Stmt], visit: &mut impl FnMut(&'a Instr)) {
    for stmt in stmts {
        match stmt {
            Stmt::Instr(instr) => visit(instr),
            Stmt::Block(inner) => instructions(inner, visit),
            _ => {}
        }
    }
}

#[test]
fn compilers_are_understood() {
    for (name, text) in corpus() {
        let parsed = parse(&name, &text);
        let messages: Vec<String> =
            parsed.diagnostics.iter().map(|d| d.render(&name, &text, false)).collect();
        assert!(messages.is_empty(), "{}", messages.join("\n"));
        let module = &parsed.module;
        assert!(module.version >= (5, 0) && module.target.sm >= 35, "{name}: {:?}", module.version);
        // `.entry` and `.func` at the start of a line or after a linkage directive: one function each.
        let declared = text
            .lines()
            .filter(|line| {
                let line = line
                    .trim_start_matches(".visible ")
                    .trim_start_matches(".extern ")
                    .trim_start_matches(".weak ");
                line.starts_with(".entry") || line.starts_with(".func")
            })
            .count();
        assert_eq!(functions(&module.items).count(), declared, "{name}");
        assert!(functions(&module.items).all(|function| !function.broken), "{name}");
    }
}

#[test]
fn every_instruction_is_kept() {
    for (name, text) in corpus() {
        let module = parse(&name, &text).module;
        let mut kept = 0;
        for function in functions(&module.items) {
            instructions(function.body.as_deref().unwrap_or_default(), &mut |instr| {
                assert!(!matches!(instr.op, Opcode::Unknown(_)), "{name}");
                let written = &text[instr.span.start as usize..instr.span.end as usize];
                let op = instr.op.text().expect("known");
                assert!(written.contains(op) && !written.contains(';'), "{name}: `{written}` is {op}");
                kept += 1;
            });
        }
        // Outside of debugging sections a `;` ends an instruction or a declaration, and `ret` is in every function.
        let returns = text.matches("\tret;").count();
        assert!(kept >= returns && kept > 0, "{name}: {kept} instructions, {returns} returns");
    }
}

#[test]
fn printing_gives_the_same_tree() {
    for (name, text) in corpus() {
        let first = parse(&name, &text).module;
        let printed = print::module(&first);
        let again = parse(&name, &printed);
        let messages: Vec<String> =
            again.diagnostics.iter().map(|d| d.render(&name, &printed, false)).collect();
        assert!(messages.is_empty(), "{}", messages.join("\n"));
        assert_eq!(tree(&first), tree(&again.module), "{name}");
        assert_eq!(printed, print::module(&again.module), "{name}");
    }
}
