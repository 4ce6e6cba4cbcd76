// SPDX-License-Identifier: MIT OR Apache-2.0
//! Properties that the device reports: limits from its configuration, the rest as hardware of the reported capability has it.

use crate::core::state::Core;

/// Figures that both APIs report.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Limits {
    pub name: String,
    /// Compute capability, 75 for 7.5.
    pub capability: u32,
    pub sms: u32,
    pub threads_per_block: u32,
    pub threads_per_sm: u32,
    pub blocks_per_sm: u32,
    pub registers_per_sm: u32,
    pub shared_per_sm: u32,
    pub shared_per_block: u32,
    pub block: [u32; 3],
    pub grid: [u32; 3],
    pub total_memory: u64,
    pub constant_bytes: u32,
    pub l2_bytes: u32,
    pub core_khz: u32,
    pub memory_khz: u32,
    /// Width of the memory bus in bits.
    pub memory_bits: u32,
    /// Copies that run beside kernels: one each way.
    pub async_engines: u32,
    pub uuid: [u8; 16],
}

impl Core {
    pub fn limits(&self) -> Limits {
        let sm = self.device.sm_limits();
        let config = &self.session.config;
        Limits {
            name: format!("warpwatt {}", self.session.gpu_name),
            capability: self.session.capability,
            sms: sm.sms,
            threads_per_block: sm.block_threads.min(sm.threads),
            threads_per_sm: sm.threads,
            blocks_per_sm: sm.ctas,
            registers_per_sm: sm.registers,
            shared_per_sm: sm.shared_bytes,
            shared_per_block: sm.shared_bytes,
            block: [sm.block_threads, sm.block_threads, 64],
            grid: [i32::MAX as u32, 65535, 65535],
            total_memory: self.device.memory_info().1,
            constant_bytes: 64 << 10,
            l2_bytes: u32::try_from(config.l2_bytes()).unwrap_or(u32::MAX),
            core_khz: config.clock.core_mhz * 1000,
            // As drivers report it for GDDR5: two transfers a clock.
            memory_khz: config.clock.dram_mhz * 2000,
            memory_bits: 8 * config.gpu.partitions * config.dram.channels * config.dram.bus_bytes,
            async_engines: 2,
            uuid: *b"warpwatt-device0",
        }
    }
}
