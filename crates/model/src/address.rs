// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where things lie in the memory that L2 and DRAM serve. Global memory is at its guest addresses; local memory, constants and code
//! lie above it, where no allocation is.

use warpwatt_config::Config;

const LOCAL: u64 = 0x200_0000_0000;
const CONSTANT: u64 = 0x300_0000_0000;
const CODE: u64 = 0x400_0000_0000;

/// Local memory of a warp slot: `bytes` per lane, words of the 32 lanes side by side.
pub fn local_base(sm: u32, warp_slot: u32, bytes: u32) -> u64 {
    LOCAL + (u64::from(sm) * 64 + u64::from(warp_slot)) * u64::from(bytes.next_multiple_of(4)) * 32
}

/// A byte of a lane's local memory.
pub fn local(base: u64, lane: u32, offset: u32) -> u64 {
    base + u64::from(offset / 4) * 128 + u64::from(lane) * 4 + u64::from(offset % 4)
}

/// A byte of a constant bank of a kernel.
pub fn constant(kernel: u32, bank: u8, offset: u32) -> u64 {
    CONSTANT + (u64::from(kernel) << 24) + (u64::from(bank) << 20) + u64::from(offset)
}

/// Whether an address is one of a constant bank.
pub fn is_constant(address: u64) -> bool {
    (CONSTANT..CODE).contains(&address)
}

/// An instruction of a kernel's code.
pub fn code(kernel: u32, pc: u32, instruction_bytes: u32) -> u64 {
    CODE + (u64::from(kernel) << 24) + u64::from(pc) * u64::from(instruction_bytes)
}

/// Folds the bits of a number into the lowest few. Numbers at equal distances give all values alike.
#[inline(always)]
pub fn fold(number: u64) -> u64 {
    let number = number ^ number >> 20;
    let number = number ^ number >> 10;
    (number ^ number >> 5 ^ number >> 3) & 31
}

/// Divides by a number that stays the same, with a multiplication, which takes the host less time. Exact for numbers up to 2^52 and divisors
/// up to 4096.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Divisor {
    divisor: u64,
    /// 2^64 by the divisor, rounded up; 0 for 1.
    reciprocal: u64,
}

impl Divisor {
    fn new(divisor: u64) -> Divisor {
        Divisor { divisor, reciprocal: (u64::MAX / divisor).wrapping_add(1) }
    }

    #[inline(always)]
    fn divide(self, number: u64) -> u64 {
        if self.reciprocal == 0 {
            return number;
        }
        ((u128::from(number) * u128::from(self.reciprocal)) >> 64) as u64
    }

    #[inline(always)]
    fn rest(self, number: u64) -> u64 {
        number - self.divide(number) * self.divisor
    }
}

/// How addresses are spread over memory partitions: a stretch each, in turn. With `dram.address_hash`, the turn starts with another
/// partition each time, by the bits above.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Interleave {
    partitions: Divisor,
    shift: u32,
    hash: bool,
}

impl Interleave {
    pub fn new(config: &Config) -> Interleave {
        Interleave {
            partitions: Divisor::new(config.gpu.partitions.into()),
            shift: config.dram.interleave_bytes.trailing_zeros(),
            hash: config.dram.address_hash,
        }
    }

    /// By how many partitions a turn is shifted.
    #[inline(always)]
    fn start(self, turn: u64) -> u64 {
        if self.hash { fold(turn) } else { 0 }
    }

    #[inline(always)]
    pub fn partition(self, address: u64) -> usize {
        let stretch = address >> self.shift;
        self.partitions.rest(stretch + self.start(self.partitions.divide(stretch))) as usize
    }

    /// The address inside of its partition, without the holes that belong to the others.
    #[inline(always)]
    pub fn local(self, address: u64) -> u64 {
        let stretch = self.partitions.divide(address >> self.shift);
        (stretch << self.shift) | address & ((1 << self.shift) - 1)
    }

    /// The address that `local` came from.
    pub fn global(self, partition: usize, local: u64) -> u64 {
        let turn = local >> self.shift;
        let partitions = self.partitions.divisor;
        let back = self.start(turn) % partitions;
        let stretch = turn * partitions + (partition as u64 + partitions - back) % partitions;
        (stretch << self.shift) | local & ((1 << self.shift) - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn multiplying_by_a_reciprocal_divides() {
        let mut random = warpwatt_base::SplitMix64::new(3);
        for divisor in (1..=40).chain([1000, 4095, 4096]) {
            let by = Divisor::new(divisor);
            let near = (1..50).flat_map(|turn| [turn * divisor - 1, turn * divisor]);
            let far = (0..200).map(|i| random.next_u64() >> (12 + i % 40));
            for number in near.chain(far).chain([0, 1 << 52, (1 << 52) / divisor * divisor]) {
                assert_eq!((by.divide(number), by.rest(number)), (number / divisor, number % divisor));
            }
        }
    }

    #[test]
    fn every_address_has_its_place_in_one_partition() {
        for hash in [false, true] {
            let mut config = Config::default();
            config.dram.address_hash = hash;
            let interleave = Interleave::new(&config);
            let mut seen = std::collections::BTreeSet::new();
            for address in (0..1 << 16).step_by(64) {
                let (partition, local) = (interleave.partition(address), interleave.local(address));
                assert!(seen.insert((partition, local)));
                assert_eq!(interleave.global(partition, local), address);
            }
        }
    }

    #[test]
    fn addresses_at_any_distance_are_spread_over_all_partitions() {
        let interleave = Interleave::new(&Config::default());
        for distance in (8..26).map(|bits| 1u64 << bits).chain([60 << 10, 120 << 10, 6 << 16]) {
            let mut found = [0; 6];
            (0..600).for_each(|i| found[interleave.partition(i * distance)] += 1);
            assert!(found.iter().all(|&count| (50..150).contains(&count)), "{distance}: {found:?}");
        }
    }
}
