// SPDX-License-Identifier: MIT OR Apache-2.0
//! Registers whose last read is booked, by the cycle in which it is over. Most reads end within a few cycles: those have a bucket for each cycle,
//! later ones a heap. They come out by cycle, register and life, whichever they were in.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Cycles that have a bucket.
const NEAR: u64 = 64;

/// A register dies: in this cycle, at this index of the table, in this life.
pub(super) type Death = (u64, u32, u32);

pub(super) struct Dying {
    /// By cycle modulo `NEAR`, for cycles from `from` on.
    near: [Vec<(u32, u32)>; NEAR as usize],
    /// Buckets that are not empty.
    occupied: u64,
    from: u64,
    far: BinaryHeap<Reverse<Death>>,
}

impl Default for Dying {
    fn default() -> Dying {
        let near = std::array::from_fn(|_| Vec::new());
        Dying { near, occupied: 0, from: 0, far: BinaryHeap::new() }
    }
}

impl Dying {
    #[inline]
    pub fn push(&mut self, death: Death) {
        let (at, index, life) = death;
        if at >= self.from && at - self.from < NEAR {
            let bucket = (at % NEAR) as usize;
            self.near[bucket].push((index, life));
            self.occupied |= 1 << bucket;
        } else {
            self.far.push(Reverse(death));
        }
    }

    /// The next death up to a cycle.
    #[inline]
    pub fn pop(&mut self, now: u64) -> Option<Death> {
        let near = (self.occupied != 0)
            .then(|| {
                self.from + u64::from(self.occupied.rotate_right((self.from % NEAR) as u32).trailing_zeros())
            })
            .filter(|at| *at <= now);
        let far = self.far.peek().map(|Reverse(death)| *death).filter(|(at, ..)| *at <= now);
        if near.is_none() && far.is_none() {
            self.from = self.from.max(now + 1);
            return None;
        }
        self.take(near, far)
    }

    fn take(&mut self, near: Option<u64>, far: Option<Death>) -> Option<Death> {
        let first = near.and_then(|at| {
            let bucket = &self.near[(at % NEAR) as usize];
            let (place, (index, life)) = bucket.iter().enumerate().min_by_key(|(_, death)| **death)?;
            Some((place, (at, *index, *life)))
        });
        match (first, far) {
            (Some((place, death)), far) if far.is_none_or(|far| death <= far) => {
                let bucket = (death.0 % NEAR) as usize;
                self.near[bucket].swap_remove(place);
                if self.near[bucket].is_empty() {
                    self.occupied &= !(1 << bucket);
                }
                Some(death)
            }
            _ => self.far.pop().map(|Reverse(death)| death),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deaths_come_out_as_from_one_heap() {
        let mut seed = 1_u64;
        let mut random = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        };
        let (mut dying, mut plain, mut now) = (Dying::default(), BinaryHeap::new(), 0_u64);
        for _ in 0..20_000 {
            now += random(9) * random(9) * u64::from(random(4) == 0);
            for _ in 0..random(3) {
                // Some are late, a few far ahead.
                let ahead = if random(10) == 0 { random(500) } else { random(20) };
                let death = ((now + ahead).saturating_sub(random(3)), random(40) as u32, random(3) as u32);
                dying.push(death);
                plain.push(Reverse(death));
            }
            while let Some(&Reverse(death)) = plain.peek()
                && death.0 <= now
            {
                assert_eq!(dying.pop(now), plain.pop().map(|Reverse(death)| death));
            }
            assert_eq!(dying.pop(now), None);
        }
    }
}
