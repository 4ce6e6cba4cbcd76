// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compression of the lines that move between L2 and DRAM, at the memory controllers: E2MC (Lal and others, IPDPS 2017), and base-delta-immediate,
//! frequent-pattern compression and C-Pack beside it.
//!
//! ```text
//!  write-back ─► compressor ─► stored form ─► bursts ─► DRAM       sizes ─► metadata cache ◄─► DRAM
//!  fill       ◄─ decompressor (not for raw blocks) ◄─ bursts ◄─ DRAM
//! ```
//!
//! A line keeps its place in memory; what is saved is traffic. The number of bursts of each line is kept as metadata in memory, two bits a line, behind a
//! cache; a line is stored encoded if that saves at least one burst, and raw otherwise. The bits that a line is stored as are made when it is written
//! back or copied by the host, and never anew when it is read: they are kept, and their length decides about the bursts.

pub mod codes;
mod counters;
pub mod e2mc;
mod engine;
mod metadata;
pub mod simple;
mod stored;
#[cfg(test)]
mod tests;
mod unit;

pub use counters::Counters;

use warpwatt_config::Config;

use super::{Balance, Law, TechniqueError};
use crate::partition::LineBytes;
use warpwatt_base::counters::CounterSet;

/// Bytes of a block.
pub const BLOCK: usize = size_of::<LineBytes>();

/// Bytes of an access to memory.
fn granularity(config: &Config) -> u32 {
    config.dram.bus_bytes * config.dram.burst
}

/// Checks the GPU and the size of the metadata cache, for all of these.
fn check(name: &str, metadata_bytes: u32, config: &Config, found: &mut Vec<TechniqueError>) {
    if granularity(config) as usize >= BLOCK {
        found.push(TechniqueError::new(
            format!(
                "`{name}` saves accesses to memory, and a line of {BLOCK} bytes is one access on this GPU"
            ),
            "choose a GPU such as gtx580-e2mc, or lower `dram.bus_bytes`",
        ));
    }
    if metadata_bytes != 0 && (metadata_bytes < 128 || !metadata_bytes.is_power_of_two()) {
        found.push(TechniqueError::new(
            format!("`metadata_bytes` of `{name}` cannot be {metadata_bytes}"),
            "it can be 0, or a power of two from 128 on",
        ));
    }
}

fn balance(_: &dyn CounterSet, balance: &mut Balance) {
    balance.fewer_bursts = true;
}

const LAWS: &[Law] = &[
    Law {
        text: "lines written back are those of L2",
        holds: |run| {
            let own = run.own.of::<Counters>();
            own.is_some_and(|own| own.written + own.written_without_bytes == run.machine.l2.write_backs)
        },
    },
    Law {
        text: "lines read are the misses of L2",
        holds: |run| {
            let own = run.own.of::<Counters>();
            own.is_some_and(|own| own.filled + own.filled_without_bytes == run.machine.l2.misses)
        },
    },
    Law {
        text: "every line moved has a size",
        holds: |run| {
            let own = run.own.of::<Counters>();
            own.is_some_and(|own| own.sizes.iter().sum::<u64>() == own.filled + own.written)
        },
    },
];
