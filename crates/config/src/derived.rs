// SPDX-License-Identifier: MIT OR Apache-2.0
//! Figures that follow from parameters. The model uses these, so that each is computed in one place.

use crate::Config;

/// Lines of the L1 data cache and of L2: what one packet or memory transaction is about.
pub const LINE_BYTES: u32 = 128;

impl Config {
    /// The shortest latency between actors, in core cycles: for so long each can run without hearing of the others.
    pub fn epoch(&self) -> u32 {
        self.noc.cycles.min(self.gpu.cta_launch_cycles).min(self.gpu.cta_done_cycles)
    }

    /// On-chip memory that is left to the L1 data cache.
    pub fn l1d_bytes(&self) -> u32 {
        self.sm.onchip_bytes.saturating_sub(self.shared.bytes)
    }

    /// Sets of the L1 data cache.
    pub fn l1d_sets(&self) -> u32 {
        self.l1d_bytes() / (LINE_BYTES * self.l1d.ways)
    }

    /// Device memory in bytes.
    pub fn memory_bytes(&self) -> u64 {
        u64::from(self.gpu.memory_mb) << 20
    }

    /// Shared memory of an SM; with `large_l1`, in the division that prefers L1.
    pub fn shared_bytes(&self, large_l1: bool) -> u32 {
        if large_l1 { self.shared.small_bytes } else { self.shared.bytes }
    }

    /// Whether the division of the on-chip memory that prefers L1 exists, and so much shared memory for a block fits into it.
    pub fn has_large_l1(&self, shared_bytes: u32) -> bool {
        let rest = self.sm.onchip_bytes.saturating_sub(self.shared.small_bytes);
        self.shared.small_bytes != 0
            && shared_bytes <= self.shared.small_bytes
            && rest / (LINE_BYTES * self.l1d.large_ways) != 0
    }

    /// Sets and ways of the L1 data cache; with `large_l1`, in the division that prefers it.
    pub fn l1d_shape(&self, large_l1: bool) -> (u32, u32) {
        let ways = if large_l1 { self.l1d.large_ways } else { self.l1d.ways };
        let bytes = self.sm.onchip_bytes.saturating_sub(self.shared_bytes(large_l1));
        ((bytes / (LINE_BYTES * ways)).max(1), ways)
    }

    /// All L2 slices together.
    pub fn l2_bytes(&self) -> u64 {
        u64::from(self.gpu.partitions)
            * u64::from(self.l2.sets)
            * u64::from(self.l2.ways)
            * u64::from(LINE_BYTES)
    }

    /// L2 cycles in which a slice's data array is busy with a whole line.
    pub fn l2_line_cycles(&self) -> u32 {
        LINE_BYTES.div_ceil(self.l2.port_bytes)
    }

    /// What one access of a memory channel moves.
    pub fn dram_access_bytes(&self) -> u32 {
        self.dram.bus_bytes * self.dram.burst
    }

    /// Command clocks in which an access occupies the data bus.
    pub fn dram_access_clocks(&self) -> u32 {
        self.dram.burst.div_ceil(self.dram.beats)
    }

    /// Accesses that a line takes.
    pub fn dram_line_accesses(&self) -> u32 {
        LINE_BYTES.div_ceil(self.dram_access_bytes())
    }

    /// All data buses together, in bytes per second.
    pub fn dram_peak_bytes_per_second(&self) -> u64 {
        let per_clock = self.gpu.partitions * self.dram.channels * self.dram.bus_bytes * self.dram.beats;
        u64::from(per_clock) * u64::from(self.clock.dram_mhz) * 1_000_000
    }

    /// Single-precision operations of the whole GPU in a second, a fused multiply-add being two.
    pub fn peak_flops(&self) -> u64 {
        let lanes = 32 * self.units.sp.min(self.sm.schedulers);
        2 * u64::from(self.gpu.sms * lanes / self.initiation.fp32)
            * u64::from(self.clock.core_mhz)
            * 1_000_000
    }

    /// Flits of a packet with so many bytes besides its header.
    pub fn flits(&self, payload: u32) -> u32 {
        (self.noc.header_bytes + payload).div_ceil(self.noc.flit_bytes)
    }

    /// Rows of a mesh: SMs and memory partitions lie row by row.
    pub fn mesh_rows(&self) -> u32 {
        (self.gpu.sms + self.gpu.partitions).div_ceil(self.noc.mesh_columns)
    }

    /// Registers of all lanes that a bank of the register file holds.
    pub fn bank_entries(&self) -> u32 {
        (self.sm.registers / 32).div_ceil(self.rf.banks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_of_a_gtx480() {
        let config = Config::default();
        assert_eq!(config.epoch(), 64);
        assert_eq!(config.l1d_sets(), 32);
        assert_eq!((config.l1d_shape(false), config.l1d_shape(true)), ((32, 4), (64, 6)));
        assert!(config.has_large_l1(16384) && !config.has_large_l1(16385));
        assert_eq!(config.l2_bytes(), 768 << 10);
        assert_eq!(config.l2_line_cycles(), 2);
        assert_eq!(
            (config.dram_access_bytes(), config.dram_access_clocks(), config.dram_line_accesses()),
            (32, 2, 4)
        );
        assert_eq!(config.dram_peak_bytes_per_second(), 177_408_000_000);
        assert_eq!(config.peak_flops(), 1_344_000_000_000);
        assert_eq!((config.flits(0), config.flits(24), config.flits(25), config.flits(128)), (1, 1, 2, 5));
        assert_eq!(config.mesh_rows(), 5);
        assert_eq!(config.bank_entries(), 64);
    }
}
