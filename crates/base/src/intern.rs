// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names as small numbers: mangled C++ names run to kilobytes and are compared often.

use std::sync::Arc;

use rustc_hash::FxHashMap;

/// An interned name. Only meaningful together with the [`Interner`] that made it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Sym(pub u32);

#[derive(Clone, Debug, Default)]
pub struct Interner {
    by_name: FxHashMap<Arc<str>, Sym>,
    names: Vec<Arc<str>>,
}

impl Interner {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn intern(&mut self, name: &str) -> Sym {
        if let Some(&sym) = self.by_name.get(name) {
            return sym;
        }
        let sym = Sym(self.names.len() as u32);
        let shared: Arc<str> = name.into();
        self.names.push(shared.clone());
        self.by_name.insert(shared, sym);
        sym
    }

    /// The symbol of a name that was interned before.
    pub fn find(&self, name: &str) -> Option<Sym> {
        self.by_name.get(name).copied()
    }

    pub fn get(&self, sym: Sym) -> &str {
        &self.names[sym.0 as usize]
    }
}
