// SPDX-License-Identifier: MIT OR Apache-2.0
//! Codes from a profile that was collected beforehand: they are the same at all controllers, so they are made once.

use std::sync::{Arc, Mutex, PoisonError};

use warpwatt_codecs::huffman::{Frequencies, Huffman, SymbolBits};
use warpwatt_codecs::profile::Profile;

/// What codes are made of: a profile, and how.
#[derive(Clone, Debug)]
struct Recipe {
    symbols: Option<Arc<Profile>>,
    width: SymbolBits,
    values: usize,
    ways: usize,
}

impl Recipe {
    /// Whether another one gives the same codes for sure: of the same profile, not one that has the same contents.
    fn is(&self, other: &Recipe) -> bool {
        let same_symbols = match (&self.symbols, &other.symbols) {
            (Some(ours), Some(theirs)) => Arc::ptr_eq(ours, theirs),
            (ours, theirs) => ours.is_none() && theirs.is_none(),
        };
        same_symbols && (self.width, self.values, self.ways) == (other.width, other.values, other.ways)
    }

    fn make(&self) -> Huffman {
        match &self.symbols {
            Some(symbols) => Huffman::new(symbols.of_width(self.width), self.values, self.ways),
            None => Huffman::new(&Frequencies::new(self.width), self.values, self.ways),
        }
    }
}

/// The codes that were made last, and of what. They say nothing about a choice of techniques that its settings do not, so they make no difference
/// between two of them.
#[derive(Clone, Debug, Default)]
pub struct Codes(Arc<Mutex<Option<Made>>>);

/// Codes, and what they were made of.
type Made = (Recipe, Arc<Huffman>);

impl PartialEq for Codes {
    fn eq(&self, _: &Codes) -> bool {
        true
    }
}

impl Eq for Codes {}

impl Codes {
    /// Codes from a profile, or without any values if there is none.
    pub fn of(
        &self,
        symbols: Option<&Arc<Profile>>,
        width: SymbolBits,
        values: usize,
        ways: usize,
    ) -> Arc<Huffman> {
        let recipe = Recipe { symbols: symbols.cloned(), width, values, ways };
        let mut made = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, codes)) = &*made
            && of.is(&recipe)
        {
            return codes.clone();
        }
        let codes = Arc::new(recipe.make());
        *made = Some((recipe, codes.clone()));
        codes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpwatt_codecs::profile::Collected;

    #[test]
    fn the_same_codes_are_made_once_and_others_anew() {
        let codes = Codes::default();
        let profile = |word: u32| {
            let mut profile = Profile::new(Collected::LoadsStores, "words");
            (0..9).for_each(|_| profile.add_word(word));
            Arc::new(profile)
        };
        let (one, other) = (profile(7), profile(9));
        let first = codes.of(Some(&one), SymbolBits::Sixteen, 1024, 4);
        assert!(Arc::ptr_eq(&first, &codes.of(Some(&one), SymbolBits::Sixteen, 1024, 4)));
        let has = |codes: &Huffman, symbol: u32| codes.word(0, symbol).is_some();
        assert!(has(&first, 7) && !has(&first, 9));
        let second = codes.of(Some(&other), SymbolBits::Sixteen, 1024, 4);
        assert!(has(&second, 9) && !has(&second, 7));
        assert_eq!(codes.of(Some(&other), SymbolBits::ThirtyTwo, 1024, 4).width(), SymbolBits::ThirtyTwo);
        assert!(!has(&codes.of(None, SymbolBits::Sixteen, 1024, 4), 9));
    }
}
