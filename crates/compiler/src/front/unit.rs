// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the functions of one program share while they are lowered: the constant-bank table of globals, shared memory, library calls.

use rustc_hash::FxHashMap;
use warpwatt_base::Span;
use warpwatt_ptx::Diagnostic;
use warpwatt_ptx::ast::Module;

use super::layout::ModuleLayout;
use crate::ir::Opnd;

pub struct Unit<'a> {
    pub module: &'a Module,
    pub layout: &'a ModuleLayout,
    /// Symbols whose addresses are in constant bank 4.
    pub globals: Vec<String>,
    slots: FxHashMap<String, u16>,
    /// Offsets of module-scope shared variables, by their number in the layout.
    pub shared: FxHashMap<u32, u32>,
    /// Offsets of shared variables of functions, by where they are declared.
    pub local_shared: FxHashMap<u32, u32>,
    /// Library functions that are called, by id.
    pub library_calls: Vec<u32>,
    pub barriers: u32,
    pub grid_sync: bool,
    pub diagnostics: Vec<Diagnostic>,
    line_starts: Vec<u32>,
}

impl<'a> Unit<'a> {
    pub fn new(module: &'a Module, layout: &'a ModuleLayout) -> Unit<'a> {
        let line_starts = std::iter::once(0)
            .chain(module.text.bytes().zip(1..).filter(|(b, _)| *b == b'\n').map(|(_, k)| k))
            .collect();
        Unit {
            module,
            layout,
            globals: Vec::new(),
            slots: FxHashMap::default(),
            shared: FxHashMap::default(),
            local_shared: FxHashMap::default(),
            library_calls: Vec::new(),
            barriers: 0,
            grid_sync: false,
            diagnostics: Vec::new(),
            line_starts,
        }
    }

    /// The constant that holds the address of a module variable.
    pub fn global_slot(&mut self, name: &str) -> Opnd {
        let next = 8 * self.globals.len();
        let offset = match self.slots.get(name) {
            Some(&offset) => offset,
            // More symbols than a bank holds cannot be spelt in a text below 4 GiB by one function; the last slot is shared then and reported.
            None => {
                let Ok(offset) = u16::try_from(next) else {
                    self.diagnostics.push(
                        Diagnostic::error(
                            "ptx-limit",
                            Span::default(),
                            "the kernel refers to more than 8192 module variables",
                        )
                        .with_help("combine them into arrays"),
                    );
                    return Opnd::Const { bank: 4, offset: 0 };
                };
                self.slots.insert(name.to_owned(), offset);
                self.globals.push(name.to_owned());
                offset
            }
        };
        Opnd::Const { bank: 4, offset }
    }

    pub fn shared_offset(&self, k: u32) -> u32 {
        self.shared.get(&k).copied().unwrap_or(0)
    }

    /// Line of the PTX text, from 1.
    pub fn line_of(&self, span: Span) -> u32 {
        self.line_starts.partition_point(|&start| start <= span.start) as u32
    }

    pub fn use_barriers(&mut self, count: u32) {
        self.barriers = self.barriers.max(count.min(16));
    }
}
