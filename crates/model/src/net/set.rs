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
        if self.top == 0 {
            return None;
        }
        let word = self.top.trailing_zeros() as usize;
        let lowest = word * 64 + self.words[word].trailing_zeros() as usize;
        self.remove(lowest);
        Some(lowest)
    }

    /// Shows the actors, lowest first.
    #[inline(always)]
    pub fn for_each(&self, mut show: impl FnMut(usize)) {
        let mut top = self.top;
        while top != 0 {
            let word = top.trailing_zeros() as usize;
            top &= top - 1;
            let mut actors = self.words[word];
            while actors != 0 {
                show(word * 64 + actors.trailing_zeros() as usize);
                actors &= actors - 1;
            }
        }
    }
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
                let mut members = Vec::new();
                set.for_each(|actor| members.push(actor));
                assert!(members.iter().eq(&plain), "{actors} actors");
            }
        }
    }
}
