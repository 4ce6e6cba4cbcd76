// SPDX-License-Identifier: MIT OR Apache-2.0
//! The banks of a memory channel: which rows are open, and from which command clock on each command may come.
//!
//! All constraints of the `dram` section live here (JEDEC JESD212 names them for GDDR5, JESD79-4 for DDR4, JESD235 for HBM). Whoever picks commands asks for the first clock of
//! each and says what it issued.

use warpwatt_config::Config;

use super::channel::bits;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(usize)]
pub enum Direction {
    Read,
    Write,
}

/// Clocks in which the data bus rests between reading and writing.
const BUS_TURN: u64 = 2;

/// Timing in command clocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Spec {
    /// Data of one access on the bus.
    pub data: u64,
    /// From read or write to its data.
    pub to_data: [u64; 2],
    ccd: u64,
    ccdl: u64,
    rrd: u64,
    faw: u64,
    rcd: u64,
    ras: u64,
    rp: u64,
    rc: u64,
    cdlr: u64,
    wr: u64,
    rtp: u64,
    pub refi: u64,
    pub rfc: u64,
}

impl Spec {
    pub fn new(config: &Config) -> Spec {
        let dram = &config.dram;
        let data = u64::from(config.dram_access_clocks());
        Spec {
            data,
            to_data: [u64::from(dram.t_cl), u64::from(dram.t_wl)],
            ccd: u64::from(dram.t_ccd),
            ccdl: u64::from(dram.t_ccdl),
            rrd: u64::from(dram.t_rrd),
            faw: u64::from(dram.t_faw),
            rcd: u64::from(dram.t_rcd),
            ras: u64::from(dram.t_ras),
            rp: u64::from(dram.t_rp),
            rc: u64::from(dram.t_rc),
            cdlr: u64::from(dram.t_cdlr),
            wr: u64::from(dram.t_wr),
            rtp: u64::from(dram.t_rtp),
            refi: u64::from(dram.t_refi),
            rfc: u64::from(dram.t_rfc),
        }
    }
}

/// The most banks of a channel, and the most groups of them: sets are words of bits.
pub const BANKS: usize = 64;

const CLOSED: u64 = u64::MAX;

#[derive(Clone, Copy, Debug)]
struct Bank {
    row: u64,
    /// First clocks of an access, of a precharge and of an activation, as far as this bank is concerned.
    column: u64,
    precharge: u64,
    activate: u64,
    /// The open row has not been accessed yet.
    fresh: bool,
}

#[derive(Clone, Debug)]
pub struct Banks {
    pub spec: Spec,
    /// As many as can be addressed; those that the configuration has not stay closed.
    banks: Box<[Bank; BANKS]>,
    count: usize,
    /// First clock of an access in each group, and a bit for each bank of it.
    groups: [u64; BANKS],
    group_banks: Box<[u64; BANKS]>,
    group_mask: usize,
    /// Bank bits below those that tell the group.
    group_shift: u32,
    /// A bit for each bank and for each group whose first clock of an access may lie ahead. Of the others it has passed.
    ahead: u64,
    groups_ahead: u64,
    /// First clock of a read and of a write on the data bus.
    bus: [u64; 2],
    /// First clock of an activation in any bank, by `t_rrd`.
    activate: u64,
    /// First clocks after the last four activations by `t_faw`, and which is the oldest.
    window: [u64; 4],
    oldest: usize,
    /// A bit for each bank with an open row.
    open: u64,
}

impl Banks {
    pub fn new(config: &Config) -> Banks {
        let closed = Bank { row: CLOSED, column: 0, precharge: 0, activate: 0, fresh: false };
        let group_mask = config.dram.groups as usize - 1;
        let group_shift =
            if config.dram.upper_groups { (config.dram.banks / config.dram.groups).ilog2() } else { 0 };
        let mut group_banks = Box::new([0; BANKS]);
        (0..BANKS).for_each(|bank| group_banks[(bank >> group_shift & group_mask) % BANKS] |= 1 << bank);
        Banks {
            spec: Spec::new(config),
            banks: Box::new([closed; BANKS]),
            count: config.dram.banks as usize,
            groups: [0; BANKS],
            group_banks,
            group_mask,
            group_shift,
            ahead: 0,
            groups_ahead: 0,
            bus: [0; 2],
            activate: 0,
            window: [0; 4],
            oldest: 0,
            open: 0,
        }
    }

    /// A bit for each bank with an open row.
    #[inline(always)]
    pub fn open(&self) -> u64 {
        self.open
    }

    #[inline(always)]
    pub fn is_open(&self, bank: usize, row: u64) -> bool {
        self.banks[bank % BANKS].row == row
    }

    /// First clock in which an open bank may be accessed.
    #[inline(always)]
    pub fn column_from(&self, bank: usize, direction: Direction) -> u64 {
        let group = self.groups[(bank >> self.group_shift & self.group_mask) % BANKS];
        self.banks[bank % BANKS].column.max(group).max(self.bus[direction as usize])
    }

    /// Banks that cannot be accessed in clock `at` even if the bus is free. No command comes before `now`, which never decreases.
    #[inline(always)]
    pub fn blocked(&mut self, now: u64, at: u64) -> u64 {
        let mut blocked = 0;
        for bank in bits(self.ahead) {
            let from = self.banks[bank % BANKS].column;
            blocked |= u64::from(from > at) << bank;
            self.ahead &= !(u64::from(from <= now) << bank);
        }
        for group in bits(self.groups_ahead) {
            let from = self.groups[group % BANKS];
            blocked |= if from > at { self.group_banks[group % BANKS] } else { 0 };
            self.groups_ahead &= !(u64::from(from <= now) << group);
        }
        blocked
    }

    /// First clock of an access in any bank.
    #[inline(always)]
    pub fn bus_from(&self, direction: Direction) -> u64 {
        self.bus[direction as usize]
    }

    #[inline(always)]
    pub fn precharge_from(&self, bank: usize) -> u64 {
        self.banks[bank % BANKS].precharge
    }

    #[inline(always)]
    pub fn activate_from(&self, bank: usize) -> u64 {
        self.banks[bank % BANKS].activate.max(self.any_activate_from())
    }

    /// First clock of an activation in any bank.
    #[inline(always)]
    pub fn any_activate_from(&self) -> u64 {
        self.activate.max(self.window[self.oldest])
    }

    /// First clock in which all rows can be closed.
    pub fn precharge_all_from(&self) -> u64 {
        self.banks[..self.count]
            .iter()
            .filter(|bank| bank.row != CLOSED)
            .map(|bank| bank.precharge)
            .max()
            .unwrap_or(0)
    }

    /// First clock of a refresh, when all rows are closed.
    pub fn refresh_from(&self) -> u64 {
        self.banks[..self.count].iter().map(|bank| bank.activate).max().unwrap_or(0)
    }

    /// Accesses a bank; true if it is the first access since the row was opened.
    #[inline(always)]
    pub fn column(&mut self, at: u64, bank: usize, direction: Direction) -> bool {
        let spec = &self.spec;
        let gap = spec.ccd.max(spec.data);
        let data_end = at + spec.to_data[direction as usize] + spec.data;
        let (same, other, precharge) = match direction {
            // The write's data follows the read's on the bus.
            Direction::Read => (
                0,
                (data_end + BUS_TURN).saturating_sub(spec.to_data[Direction::Write as usize]),
                at + spec.rtp,
            ),
            Direction::Write => (1, data_end + spec.cdlr, data_end + spec.wr),
        };
        self.bus[same] = at + gap;
        self.bus[1 - same] = other.max(at + gap);
        let group = (bank >> self.group_shift & self.group_mask) % BANKS;
        self.groups[group] = at + spec.ccdl;
        self.groups_ahead |= 1 << group;
        let bank = &mut self.banks[bank % BANKS];
        bank.precharge = bank.precharge.max(precharge);
        std::mem::take(&mut bank.fresh)
    }

    pub fn open_row(&mut self, at: u64, bank: usize, row: u64) {
        let spec = &self.spec;
        self.activate = at + spec.rrd;
        self.window[self.oldest] = at + spec.faw;
        self.oldest = (self.oldest + 1) % self.window.len();
        self.open |= 1 << bank;
        self.ahead |= 1 << bank;
        self.banks[bank % BANKS] = Bank {
            row,
            column: at + spec.rcd,
            precharge: at + spec.ras,
            activate: at + spec.rc,
            fresh: true,
        };
    }

    pub fn close_row(&mut self, at: u64, bank: usize) {
        self.open &= !(1 << bank);
        let bank = &mut self.banks[bank % BANKS];
        bank.row = CLOSED;
        bank.activate = bank.activate.max(at + self.spec.rp);
    }

    pub fn refresh(&mut self, at: u64) {
        for bank in &mut self.banks[..self.count] {
            bank.activate = at + self.spec.rfc;
        }
    }
}
