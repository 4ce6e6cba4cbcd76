// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where registers lie: the map from warp slot and register to bank and entry.
//!
//! Register `r` of warp slot `s` lies in bank (r + s) mod banks, so that the same register of neighbouring warps is in different banks.

use warpwatt_config::Config;

/// Sums of register and warp slot: the size of a table that is indexed without a check.
const PLACES: usize = 512;

/// Registers that a warp may have.
const REGISTERS: usize = 256;

/// A place in the register file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BankEntry {
    pub bank: u8,
    /// Number in its bank: every slot has as many entries as the registers of a warp at most.
    pub entry: u16,
}

#[derive(Clone)]
pub struct Map {
    banks: u32,
    /// The bank of each sum of register and warp slot, as a bit.
    bank: Box<[u64; PLACES]>,
    all: u64,
}

impl Map {
    pub fn new(config: &Config) -> Map {
        let banks = config.rf.banks;
        Map {
            banks,
            bank: Box::new(std::array::from_fn(|place| 1 << (place as u32 % banks))),
            all: u64::MAX >> (u64::BITS - banks),
        }
    }

    /// The bank of a register as a bit.
    #[inline(always)]
    pub fn bit(&self, slot: usize, register: u8) -> u64 {
        self.bank[(usize::from(register) + slot) % PLACES]
    }

    #[inline(always)]
    pub fn bank(&self, slot: usize, register: u8) -> u8 {
        self.bit(slot, register).trailing_zeros() as u8
    }

    pub fn place(&self, slot: usize, register: u8) -> BankEntry {
        let entries = REGISTERS.div_ceil(self.banks as usize);
        let entry = slot * entries + usize::from(register) / self.banks as usize;
        BankEntry { bank: self.bank(slot, register), entry: entry as u16 }
    }

    /// Whether sets of banks can be turned from slot to slot: their number divides that of the bits of a word.
    pub fn turns(&self) -> bool {
        u64::BITS.is_multiple_of(self.banks)
    }

    /// The bank of a register of warp slot 0 as a set of bits, repeated all over the word.
    pub fn repeated(&self, register: u8) -> u64 {
        let first = u32::from(self.bank(0, register));
        (first..u64::BITS).step_by(self.banks as usize).fold(0, |set, bit| set | 1 << bit)
    }

    /// A set of repeated banks turned to those of a warp slot, and still repeated.
    #[inline(always)]
    pub fn turned_all_over(&self, repeated: u64, slot: usize) -> u64 {
        repeated.rotate_left(slot as u32)
    }

    /// A set of repeated banks turned to those of a warp slot.
    #[inline(always)]
    pub fn turned(&self, repeated: u64, slot: usize) -> u64 {
        self.turned_all_over(repeated, slot) & self.all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turned_sets_name_the_banks_of_the_map() {
        let mut config = Config::default();
        for banks in [1, 2, 4, 8, 16, 32, 64] {
            config.rf.banks = banks;
            let map = Map::new(&config);
            assert!(map.turns());
            for (slot, register) in [(0, 0), (1, 4), (17, 63), (63, 254), (47, 200)] {
                assert_eq!(map.turned(map.repeated(register), slot), 1 << map.bank(slot, register));
            }
        }
    }

    #[test]
    fn no_two_registers_share_an_entry() {
        let mut config = Config::default();
        for banks in [1, 4, 6, 16] {
            config.rf.banks = banks;
            let map = Map::new(&config);
            let mut seen = std::collections::HashSet::new();
            for slot in 0..64 {
                for register in 0..255 {
                    let BankEntry { bank, entry } = map.place(slot, register);
                    assert!(seen.insert((bank, entry)), "{banks} banks, slot {slot}, R{register}");
                }
            }
        }
    }
}
