// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sets of actors at the other side of a network, as words of bits with a word on top that says which of them are not empty.

/// Actors that one side of a network can have.
pub const MOST_ACTORS: usize = 64 * 64;

#[derive(Clone, Debug)]
pub(super) struct Set {
    top: u64,
    words: Box<[u64]>,
}

impl Set {
    /// An empty set for so many actors.
    pub fn new(actors: usize) -> Set {
        debug_assert!(actors <= MOST_ACTORS);
        Set { top: 0, words: vec![0; actors.div_ceil(64)].into() }
    }

    #[inline]
    pub fn insert(&mut self, actor: usize) {
        self.words[actor / 64] |= 1 << (actor % 64);
        self.top |= 1 << (actor / 64);
    }

    #[inline]
    pub fn remove(&mut self, actor: usize) {
        let word = &mut self.words[actor / 64];
        *word &= !(1 << (actor % 64));
        if *word == 0 {
            self.top &= !(1 << (actor / 64));
        }
    }

    /// Takes the lowest actor out.
    #[inline]
    pub fn pop(&mut self) -> Option<usize> {
        let lowest = self.iter().next()?;
        self.remove(lowest);
        Some(lowest)
    }

    /// The actors, lowest first.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = usize> {
        bits(self.top).flat_map(|word| bits(self.words[word]).map(move |bit| word * 64 + bit))
    }
}

/// The positions of set bits, lowest first.
fn bits(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = (mask != 0).then(|| mask.trailing_zeros() as usize);
        mask &= mask.wrapping_sub(1);
        bit
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use warpwatt_base::SplitMix64;

    use super::*;

    #[test]
    fn a_set_does_what_a_plain_set_does() {
        for actors in [1, 63, 64, 65, 200, 1024, MOST_ACTORS] {
            let (mut set, mut plain, mut random) = (Set::new(actors), BTreeSet::new(), SplitMix64::new(1));
            for _ in 0..2000 {
                let actor = random.below(actors as u32) as usize;
                match random.below(5) {
                    0 | 1 => {
                        set.insert(actor);
                        plain.insert(actor);
                    }
                    2 | 3 => {
                        set.remove(actor);
                        plain.remove(&actor);
                    }
                    _ => assert_eq!(set.pop(), plain.pop_first()),
                }
                assert!(set.iter().eq(plain.iter().copied()), "{actors} actors");
            }
        }
    }
}
