// SPDX-License-Identifier: MIT OR Apache-2.0
//! The order in which a receiver gets packets: by arrival, then by sender, then as they were sent.
//!
//! Packets of an epoch come sender by sender, each with rising arrivals that lie within a short time. So they are sorted by counting how many
//! arrive in each cycle.

/// Of the number of a sender.
pub const SENDER_BITS: u32 = 12;

/// Cycles between the first and the last arrival up to which packets are counted by cycle.
const SPAN: usize = 256;
/// With fewer packets than these, each is put into its place.
const FEW: usize = 16;

/// The place of a packet in the order, and where it is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Key {
    /// Arrival, then sender.
    rank: u64,
    pub slot: u32,
}

impl Key {
    #[inline(always)]
    pub fn new(arrive: u64, sender: usize, slot: u32) -> Key {
        Key { rank: arrive << SENDER_BITS | sender as u64, slot }
    }

    #[inline(always)]
    pub fn sender(self) -> u32 {
        self.rank as u32 % (1 << SENDER_BITS)
    }

    #[inline(always)]
    fn arrive(self) -> u64 {
        self.rank >> SENDER_BITS
    }
}

#[derive(Clone, Debug, Default)]
pub struct Sorter {
    scratch: Vec<Key>,
}

impl Sorter {
    /// Sorts keys of which the first ones are `sorted`. Keys of the same rank keep their order.
    pub fn sort(&mut self, keys: &mut [Key], sorted: usize) {
        let Some(first) = keys[sorted..].iter().map(|key| key.arrive()).min() else { return };
        // Those that arrive before all new ones stay where they are.
        let late = keys[..sorted].iter().rev().take_while(|key| key.arrive() >= first).count();
        let keys = &mut keys[sorted - late..];
        if keys.len() >= FEW {
            self.sort_by_arrival(keys, first);
        }
        sort_few(keys);
    }

    /// Sorts keys by the cycle of arrival, none of which is before the first, unless these are too far apart.
    fn sort_by_arrival(&mut self, keys: &mut [Key], first: u64) {
        let last = keys.iter().map(|key| key.arrive()).max().unwrap_or(first);
        let span = (last - first) as usize + 1;
        if span > SPAN {
            keys.sort_by_key(|key| key.rank);
            return;
        }
        let mut places = [0u32; SPAN];
        let cycle = |key: &Key| (key.arrive() - first) as usize % SPAN;
        keys.iter().for_each(|key| places[cycle(key)] += 1);
        let mut before = 0;
        for place in &mut places[..span] {
            before += std::mem::replace(place, before);
        }
        self.scratch.clear();
        self.scratch.extend_from_slice(keys);
        for key in &self.scratch {
            let place = &mut places[cycle(key)];
            keys[*place as usize] = *key;
            *place += 1;
        }
    }
}

/// Sorts few keys, or ones that are almost in order.
#[inline(always)]
fn sort_few(keys: &mut [Key]) {
    for i in 1..keys.len() {
        let key = keys[i];
        let mut place = i;
        while place > 0 && keys[place - 1].rank > key.rank {
            keys[place] = keys[place - 1];
            place -= 1;
        }
        keys[place] = key;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpwatt_base::SplitMix64;

    #[test]
    fn packets_are_in_the_order_of_a_stable_sort() {
        let mut random = SplitMix64::new(3);
        let mut sorter = Sorter::default();
        for _ in 0..2000 {
            let span = [4, 60, 255, 256, 5000][random.below(5) as usize];
            let mut arrivals = |count: u32| -> Vec<u64> {
                let count = random.below(count);
                let mut arrivals: Vec<_> = (0..count).map(|_| 1000 + u64::from(random.below(span))).collect();
                arrivals.sort_unstable();
                arrivals
            };
            let mut keys = Vec::new();
            let receive = |sender: usize, arrivals: Vec<u64>, keys: &mut Vec<Key>| {
                for arrive in arrivals {
                    keys.push(Key::new(arrive, sender, keys.len() as u32));
                }
            };
            for sender in 0..4 {
                receive(sender, arrivals(5), &mut keys);
            }
            keys.sort_by_key(|key| key.rank);
            let sorted = keys.len();
            for sender in 0..9 {
                receive(sender, arrivals(9), &mut keys);
            }
            let mut expected = keys.clone();
            expected.sort_by_key(|key| key.rank);
            sorter.sort(&mut keys, sorted);
            assert_eq!(keys, expected);
        }
    }
}
