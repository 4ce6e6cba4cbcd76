// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the lines of a partition lie in its memory.
//!
//! Lines take turns over the channels, in an order that `address_hash` takes from the bits above. Inside of a channel a line number reads, from the top: row, upper bank bits, upper column
//! bits, lowest bank bit, lowest column bit. A stretch of lines so alternates between two banks every 256 bytes and uses two rows to the
//! end before it opens others: the layout of the GTX 480 in GPGPU-Sim 3.2.1. The two banks are of different bank groups, which the gap
//! between accesses of one group (`t_ccdl`) asks for, unless the upper bank bits tell the group (`upper_groups`), as there. With `bank_hash`, row bits are folded into the bank, so that arrays at a distance
//! of a power of two do not meet in one bank.

use warpwatt_config::Config;

use crate::address::fold;
use crate::net::LINE_BYTES;

/// Lines that lie side by side in a row before the bank changes: one column bit.
const RUN_BITS: u32 = 1;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DramAddress {
    pub channel: usize,
    pub bank: usize,
    pub row: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mapping {
    channels: u64,
    /// If their number is a power of two: its logarithm.
    channel_shift: Option<u32>,
    channel_hash: bool,
    /// Bits of a line number below the upper bank bits.
    high_shift: u32,
    /// Bank bits below the upper column bits, and above.
    low_bits: u32,
    high_bits: u32,
    /// The bank bits that row bits are folded into.
    hash_mask: u64,
}

impl Mapping {
    pub fn new(config: &Config) -> Mapping {
        let dram = &config.dram;
        let row_lines = u64::from(dram.row_bytes) / LINE_BYTES;
        let bank_bits = dram.banks.ilog2();
        let low_bits = bank_bits.min(1);
        // Of the lines in a row, without the run.
        let column_bits = row_lines.ilog2().saturating_sub(RUN_BITS);
        Mapping {
            channels: u64::from(dram.channels),
            channel_shift: dram.channels.is_power_of_two().then(|| dram.channels.ilog2()),
            channel_hash: dram.address_hash,
            high_shift: RUN_BITS + low_bits + column_bits,
            low_bits,
            high_bits: bank_bits - low_bits,
            hash_mask: if dram.bank_hash { (1 << bank_bits) - 1 } else { 0 },
        }
    }

    /// Where a line of the partition lies.
    #[inline(always)]
    pub fn place(self, line: u64) -> DramAddress {
        let turn = match self.channel_shift {
            Some(shift) => line >> shift,
            None => line / self.channels,
        };
        let start = if self.channel_hash { fold(turn) } else { 0 };
        let channel = match self.channel_shift {
            Some(_) => (line + start) & (self.channels - 1),
            None => (line + start) % self.channels,
        };
        let low = turn >> RUN_BITS & ((1 << self.low_bits) - 1);
        let rest = turn >> self.high_shift;
        let high = rest & ((1 << self.high_bits) - 1);
        let row = rest >> self.high_bits;
        let bank = high << self.low_bits | low;
        let hashed = bank ^ (row ^ row >> (self.low_bits + self.high_bits)) & self.hash_mask;
        DramAddress { channel: channel as usize, bank: hashed as usize, row }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::one_channel;
    use super::*;
    use std::collections::{BTreeMap, BTreeSet};

    #[test]
    fn every_row_holds_its_share_of_lines() {
        for (channels, banks, row_bytes, hash) in
            [(1, 16, 4096, true), (2, 16, 2048, true), (3, 8, 256, false), (1, 1, 1024, true)]
        {
            let mut config = Config::default();
            config.dram.channels = channels;
            config.dram.banks = banks;
            config.dram.row_bytes = row_bytes;
            config.dram.bank_hash = hash;
            let mapping = Mapping::new(&config);
            let mut rows = BTreeMap::new();
            let lines = u64::from(channels * banks * (row_bytes / 128)) * 7;
            for line in 0..lines {
                let DramAddress { channel, bank, row } = mapping.place(line);
                assert!(channel < channels as usize && bank < banks as usize && row < 7);
                *rows.entry((channel, bank, row)).or_insert(0) += 1;
            }
            assert_eq!(rows.len() as u64, lines / u64::from(row_bytes / 128));
            assert!(rows.values().all(|&lines| lines == row_bytes / 128));
        }
    }

    #[test]
    fn neighbouring_runs_lie_in_different_bank_groups() {
        let config = one_channel();
        let mapping = Mapping::new(&config);
        let group = |line| mapping.place(line).bank % config.dram.groups as usize;
        for line in (0..4096).step_by(2) {
            assert_eq!(group(line), group(line + 1));
            if line % 4 == 0 {
                assert_ne!(group(line), group(line + 2));
            }
        }
    }

    #[test]
    fn hashing_spreads_rows_of_one_bank_over_all_banks() {
        let mut config = one_channel();
        let stride = u64::from(config.dram.banks * config.dram.row_bytes / 128);
        let banks = |config: &Config| {
            let mapping = Mapping::new(config);
            (0..16).map(|i| mapping.place(i * stride).bank).collect::<BTreeSet<_>>().len()
        };
        assert_eq!(banks(&config), 16);
        config.dram.bank_hash = false;
        assert_eq!(banks(&config), 1);
    }
}
