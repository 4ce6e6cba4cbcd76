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

/// Clocks from an access on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Gaps {
    /// To the next read and to the next write on the bus.
    bus: [u64; 2],
    /// To the precharge of the bank.
    precharge: u64,
}

/// Timing in command clocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Spec {
    /// Data of one access on the bus.
    pub data: u64,
    /// From read or write to its data.
    pub to_data: [u64; 2],
    /// After a read and after a write.
    gaps: [Gaps; 2],
    /// From an access to the next one of its direction, in another bank group and in the same one.
    pub gap: u64,
    pub group_gap: u64,
    /// After the last access to a row in a direction, it is not closed before one in another bank group could follow.
    pub closes_late: [bool; 2],
    ccdl: u64,
    rrd: u64,
    faw: u64,
    rcd: u64,
    ras: u64,
    rp: u64,
    rc: u64,
    pub refi: u64,
    pub rfc: u64,
}

impl Spec {
    pub fn new(config: &Config) -> Spec {
        let dram = &config.dram;
        let data = u64::from(config.dram_access_clocks());
        let to_data = [u64::from(dram.t_cl), u64::from(dram.t_wl)];
        let data_end = to_data.map(|to_data| to_data + data);
        let same = u64::from(dram.t_ccd).max(data);
        // A write's data follow those of the read on the bus.
        let read_to_write = (data_end[0] + BUS_TURN).saturating_sub(to_data[1]).max(same);
        let write_to_read = (data_end[1] + u64::from(dram.t_cdlr)).max(same);
        let gaps = [
            Gaps { bus: [same, read_to_write], precharge: u64::from(dram.t_rtp) },
            Gaps { bus: [write_to_read, same], precharge: data_end[1] + u64::from(dram.t_wr) },
        ];
        Spec {
            data,
            to_data,
            gaps,
            gap: same,
            closes_late: gaps.map(|gaps| gaps.precharge >= same),
            group_gap: same.max(u64::from(dram.t_ccdl)),
            ccdl: u64::from(dram.t_ccdl),
            rrd: u64::from(dram.t_rrd),
            faw: u64::from(dram.t_faw),
            rcd: u64::from(dram.t_rcd),
            ras: u64::from(dram.t_ras),
            rp: u64::from(dram.t_rp),
            rc: u64::from(dram.t_rc),
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
    /// Number of its group.
    group: u8,
}

#[derive(Clone, Debug)]
pub struct Banks {
    pub spec: Spec,
    /// As many as can be addressed; those that the configuration has not stay closed.
    banks: [Bank; BANKS],
    count: usize,
    /// First clock of an access in each group, and a bit for each bank of it.
    groups: [u64; BANKS],
    group_banks: [u64; BANKS],
    /// The group that was accessed last.
    last_group: usize,
    /// First clock of a read and of a write on the data bus.
    bus: [u64; 2],
    /// First clock of an activation in any bank, by `t_rrd`, and first clock in which each bank by itself may have one.
    activate: u64,
    all_activate: u64,
    /// First clocks after the last four activations by `t_faw`, and which is the oldest.
    window: [u64; 4],
    oldest: usize,
    /// A bit for each bank with an open row.
    open: u64,
}

impl Banks {
    pub fn new(config: &Config) -> Banks {
        let group_mask = config.dram.groups as usize - 1;
        // Bank bits below those that tell the group.
        let group_shift =
            if config.dram.upper_groups { (config.dram.banks / config.dram.groups).ilog2() } else { 0 };
        let banks: [Bank; BANKS] = std::array::from_fn(|bank| {
            let group = (bank >> group_shift & group_mask) as u8;
            Bank { row: CLOSED, column: 0, precharge: 0, activate: 0, fresh: false, group }
        });
        let mut group_banks = [0; BANKS];
        (0..BANKS).for_each(|bank| group_banks[usize::from(banks[bank].group) % BANKS] |= 1 << bank);
        Banks {
            spec: Spec::new(config),
            banks,
            count: config.dram.banks as usize,
            groups: [0; BANKS],
            group_banks,
            last_group: 0,
            bus: [0; 2],
            activate: 0,
            all_activate: 0,
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
        self.ready_from(bank).max(self.bus[direction as usize])
    }

    /// The banks of the group that was accessed last, if none of them can be accessed in a clock.
    #[inline(always)]
    pub fn resting(&self, at: u64) -> u64 {
        if self.groups[self.last_group % BANKS] > at { self.group_banks[self.last_group % BANKS] } else { 0 }
    }

    /// First clock of an access in any bank.
    #[inline(always)]
    pub fn bus_from(&self, direction: Direction) -> u64 {
        self.bus[direction as usize]
    }

    /// First clock in which an open bank may be accessed, as far as the bus allows it.
    #[inline(always)]
    pub fn ready_from(&self, bank: usize) -> u64 {
        let bank = &self.banks[bank % BANKS];
        bank.column.max(self.groups[usize::from(bank.group) % BANKS])
    }

    /// A bit for each bank of the group of a bank.
    #[inline(always)]
    pub fn group_of(&self, bank: usize) -> u64 {
        self.group_banks[usize::from(self.banks[bank % BANKS].group) % BANKS]
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
        bits(self.open).map(|bank| self.banks[bank % BANKS].precharge).max().unwrap_or(0)
    }

    /// First clock of a refresh, when all rows are closed.
    pub fn refresh_from(&self) -> u64 {
        self.all_activate
    }

    /// An access takes the bus. Of several accesses one after the other only the last one need be told.
    #[inline(always)]
    pub fn take_bus(&mut self, at: u64, bank: usize, direction: Direction) {
        let gaps = &self.spec.gaps[direction as usize];
        self.bus = [at + gaps.bus[0], at + gaps.bus[1]];
        self.last_group = usize::from(self.banks[bank % BANKS].group) % BANKS;
    }

    /// Accesses a bank; true if it is the first access since the row was opened. Of several accesses one after the other only the last one of each bank need
    /// be told, in their order.
    #[inline(always)]
    pub fn column(&mut self, at: u64, bank: usize, direction: Direction) -> bool {
        let gaps = &self.spec.gaps[direction as usize];
        let bank = &mut self.banks[bank % BANKS];
        self.groups[usize::from(bank.group) % BANKS] = at + self.spec.ccdl;
        bank.precharge = bank.precharge.max(at + gaps.precharge);
        std::mem::take(&mut bank.fresh)
    }

    pub fn open_row(&mut self, at: u64, bank: usize, row: u64) {
        let spec = &self.spec;
        self.activate = at + spec.rrd;
        self.all_activate = self.all_activate.max(at + spec.rc);
        self.window[self.oldest] = at + spec.faw;
        self.oldest = (self.oldest + 1) % self.window.len();
        self.open |= 1 << bank;
        let bank = &mut self.banks[bank % BANKS];
        *bank = Bank {
            row,
            column: at + spec.rcd,
            precharge: at + spec.ras,
            activate: at + spec.rc,
            fresh: true,
            group: bank.group,
        };
    }

    pub fn close_row(&mut self, at: u64, bank: usize) {
        self.open &= !(1 << bank);
        let bank = &mut self.banks[bank % BANKS];
        bank.row = CLOSED;
        bank.activate = bank.activate.max(at + self.spec.rp);
        self.all_activate = self.all_activate.max(bank.activate);
    }

    pub fn refresh(&mut self, at: u64) {
        for bank in &mut self.banks[..self.count] {
            bank.activate = at + self.spec.rfc;
        }
        self.all_activate = at + self.spec.rfc;
    }
}
