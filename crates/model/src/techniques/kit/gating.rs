// SPDX-License-Identifier: MIT OR Apache-2.0
//! Gating of register-file arrays (Warped-Compression, section 5.3): every entry of an array has a valid bit, an array without a valid entry is off, and it takes some
//! cycles to switch one on. The paper's 32 banks are arrays here: eight make up a bank that serves a register of a warp a cycle.

/// Banks that there may be, and arrays of one.
const BANKS: usize = 64;
pub const ARRAYS: usize = 8;

pub struct Gating {
    /// Off: all arrays are on all the time.
    enabled: bool,
    wake_cycles: u64,
    banks: usize,
    /// By bank and array: valid entries.
    valid: Box<[[u16; ARRAYS]; BANKS]>,
    /// By bank and array: when it can be written, while it is on; since when it is off, while it is off.
    awake: Box<[[u64; ARRAYS]; BANKS]>,
    off_since: Box<[[u64; ARRAYS]; BANKS]>,
    /// By bank: from this cycle on all arrays that are on can be written.
    all_awake: [u64; BANKS],
    /// Cycles off, by array of every fourth bank, as the counter has them.
    pub off: [u64; 32],
    pub wakeups: u64,
}

impl Gating {
    pub fn new(enabled: bool, wake_cycles: u32, banks: u32) -> Gating {
        Gating {
            enabled,
            wake_cycles: u64::from(wake_cycles),
            banks: (banks as usize).min(BANKS),
            valid: Box::new([[0; ARRAYS]; BANKS]),
            awake: Box::new([[0; ARRAYS]; BANKS]),
            off_since: Box::new([[0; ARRAYS]; BANKS]),
            all_awake: [0; BANKS],
            off: [0; 32],
            wakeups: 0,
        }
    }

    /// An entry that is in some arrays comes to others in cycle `at`, and leaves the first now.
    #[inline(always)]
    pub fn exchange(&mut self, bank: usize, old: u8, new: u8, at: u64, now: u64) {
        if old != new {
            self.claim(bank, new & !old, at);
            self.release(bank, old & !new, now);
        }
    }

    /// Entries in these arrays become valid in cycle `at`: those that are off are switched on.
    #[inline]
    pub fn claim(&mut self, bank: usize, arrays: u8, at: u64) {
        for array in members(if self.enabled { arrays } else { 0 }) {
            let valid = &mut self.valid[bank % BANKS][array];
            *valid += 1;
            if *valid == 1 {
                let since = self.off_since[bank % BANKS][array];
                self.off[place(bank, array)] += at.saturating_sub(since);
                let awake = at + self.wake_cycles;
                self.awake[bank % BANKS][array] = awake;
                self.all_awake[bank % BANKS] = self.all_awake[bank % BANKS].max(awake);
                self.wakeups += 1;
            }
        }
    }

    /// Entries in these arrays are no longer valid: those that were the last are switched off.
    #[inline]
    pub fn release(&mut self, bank: usize, arrays: u8, at: u64) {
        for array in members(if self.enabled { arrays } else { 0 }) {
            let valid = &mut self.valid[bank % BANKS][array];
            *valid -= 1;
            if *valid == 0 {
                self.off_since[bank % BANKS][array] = at;
            }
        }
    }

    /// Arrays that are on can be written now.
    pub fn awaken(&mut self, bank: usize, arrays: u8, now: u64) {
        for array in members(arrays) {
            let awake = &mut self.awake[bank % BANKS][array];
            *awake = now.min(*awake);
        }
    }

    /// When all of these arrays, which are on, can be written.
    #[inline]
    pub fn awake(&self, bank: usize, arrays: u8) -> u64 {
        members(arrays).fold(0, |awake, array| awake.max(self.awake[bank % BANKS][array]))
    }

    /// When all of these arrays, which are on, can take what is ready in a cycle.
    #[inline(always)]
    pub fn awake_for(&self, bank: usize, arrays: u8, ready: u64) -> u64 {
        if self.all_awake[bank % BANKS] <= ready { ready } else { self.awake(bank, arrays).max(ready) }
    }

    /// Whether all of these arrays can be read in a cycle. A register that was written keeps its arrays on.
    pub fn can_read(&self, bank: usize, arrays: u8, at: u64) -> bool {
        let on = |array: usize| self.valid[bank % BANKS][array] > 0;
        !self.enabled || members(arrays).all(on) && self.awake(bank, arrays) <= at
    }

    /// Counts the cycles before `now` of arrays that are off.
    pub fn settle(&mut self, now: u64) {
        for bank in 0..if self.enabled { self.banks } else { 0 } {
            for array in 0..ARRAYS {
                let since = &mut self.off_since[bank][array];
                if self.valid[bank][array] == 0 && *since < now {
                    self.off[place(bank, array)] += now - *since;
                    *since = now;
                }
            }
        }
    }
}

/// The arrays of a set, lowest first.
#[inline(always)]
fn members(arrays: u8) -> Members {
    Members(u32::from(arrays))
}

struct Members(u32);

impl Iterator for Members {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        let first = self.0.trailing_zeros() as usize;
        self.0 &= self.0.wrapping_sub(1);
        (first < ARRAYS).then_some(first)
    }
}

fn place(bank: usize, array: usize) -> usize {
    bank % 4 * ARRAYS + array
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_array_is_off_until_its_first_entry_is_valid_and_again_after_its_last() {
        let mut gating = Gating::new(true, 10, 4);
        gating.claim(1, 0b11, 100);
        assert_eq!((gating.awake(1, 0b11), gating.wakeups), (110, 2));
        gating.claim(1, 0b01, 130);
        assert_eq!(gating.awake(1, 0b01), 110, "it is awake already");
        gating.release(1, 0b11, 200);
        assert!(gating.can_read(1, 0b01, 200), "an entry is left");
        assert!(!gating.can_read(1, 0b10, 200));
        gating.release(1, 0b01, 250);
        gating.settle(300);
        assert_eq!(gating.off[8..11], [100 + 50, 100 + 100, 300], "by array of bank 1");
        assert_eq!(gating.off[0], 300, "bank 0 was never on");
        gating.claim(1, 0b01, 300);
        assert_eq!((gating.off[8], gating.awake(1, 0b01), gating.wakeups), (150, 310, 3));
    }

    #[test]
    fn without_gating_nothing_is_ever_off() {
        let mut gating = Gating::new(false, 10, 4);
        gating.claim(0, 0xff, 5);
        gating.release(0, 0xff, 9);
        gating.settle(100);
        assert_eq!((gating.off, gating.wakeups, gating.awake(0, 0xff)), ([0; 32], 0, 0));
        assert!(gating.can_read(0, 0xff, 0));
    }
}
