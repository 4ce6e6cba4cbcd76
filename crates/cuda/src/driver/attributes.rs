// SPDX-License-Identifier: MIT OR Apache-2.0
//! Attributes of the device by number: `CUdevice_attribute`, whose numbers `cudaDeviceAttr` shares.
//!
//! What the configured GPU decides comes from its limits; sizes of textures are those of hardware of the reported capability;
//! what we do not do is 0.

use crate::core::info::Limits;
use crate::core::memory::PITCH_ALIGNMENT;
use crate::core::{Code, Result};

/// One past the last attribute of CUDA 13.4.
const END: i32 = 162;

/// Attributes that have one value for every GPU.
const CONSTANT: &[(i32, i32)] = &[
    (10, 32),       // warp size
    (11, i32::MAX), // max pitch
    (14, 512),      // texture alignment
    (15, 1),        // copies overlap kernels
    (17, 0),        // no time limit on kernels
    (18, 0),        // not integrated
    (19, 1),        // maps host memory
    (20, 0),        // compute mode default
    (21, 131072),   // 1D texture
    (22, 131072),   // 2D texture
    (23, 65536),
    (24, 16384), // 3D texture
    (25, 16384),
    (26, 16384),
    (27, 32768), // 2D layered texture
    (28, 32768),
    (29, 2048),
    (30, 512),   // surface alignment
    (31, 1),     // concurrent kernels
    (32, 0),     // no ECC
    (33, 1),     // PCI bus
    (34, 0),     // PCI device
    (35, 0),     // no TCC driver
    (41, 1),     // unified addressing
    (42, 32768), // 1D layered texture
    (43, 2048),
    (44, 1), // gather
    (45, 32768),
    (46, 32768),
    (47, 8192), // 3D texture, alternate
    (48, 8192),
    (49, 32768),
    (50, 0),     // PCI domain
    (51, 32),    // texture pitch alignment
    (52, 32768), // cube map
    (53, 32768),
    (54, 2046),
    (55, 32768),  // 1D surface
    (56, 131072), // 2D surface
    (57, 65536),
    (58, 16384), // 3D surface
    (59, 16384),
    (60, 16384),
    (61, 32768), // 1D layered surface
    (62, 2048),
    (63, 32768), // 2D layered surface
    (64, 32768),
    (65, 2048),
    (66, 32768), // cube map surface
    (67, 32768),
    (68, 2046),
    (69, 1 << 28), // 1D linear texture
    (70, 131072),  // 2D linear texture
    (71, 65000),
    (72, 2097120),
    (73, 32768), // mipmapped 2D texture
    (74, 32768),
    (77, 32768), // mipmapped 1D texture
    (78, 1),     // stream priorities
    (79, 1),     // L1 caches globals
    (80, 1),     // L1 caches locals
    (83, 1),     // managed memory
    (87, 2),     // single to double precision
    (89, 1),     // the host may use managed memory while kernels run
    (90, 1),     // preemption
    (91, 1),     // registered memory has the host's address
    (95, 1),     // cooperative launch
    (99, 1),     // registration of host memory
    (101, 1),    // the host reads managed memory directly
    (113, 1),    // registration of read-only memory
    (115, 1),    // memory pools
    (126, 1),    // memory synchronisation domains
    (131, -1),   // no NUMA node
    (134, -1),
];

/// The value of an attribute; 0 for all that we do not have.
pub fn attribute(limits: &Limits, number: i32) -> Result<i32> {
    let small = |value: u64| i32::try_from(value).unwrap_or(i32::MAX);
    Ok(match number {
        1 => small(limits.threads_per_block.into()),
        2..=4 => small(limits.block[number as usize - 2].into()),
        5..=7 => small(limits.grid[number as usize - 5].into()),
        8 | 97 => small(limits.shared_per_block.into()),
        9 => small(limits.constant_bytes.into()),
        12 | 82 => small(limits.registers_per_sm.into()),
        13 => small(limits.core_khz.into()),
        16 => small(limits.sms.into()),
        36 => small(limits.memory_khz.into()),
        37 => small(limits.memory_bits.into()),
        38 => small(limits.l2_bytes.into()),
        39 => small(limits.threads_per_sm.into()),
        40 => small(limits.async_engines.into()),
        75 => small((limits.capability / 10).into()),
        76 => small((limits.capability % 10).into()),
        81 => small(limits.shared_per_sm.into()),
        106 => small(limits.blocks_per_sm.into()),
        _ if (1..END).contains(&number) => match CONSTANT.binary_search_by_key(&number, |row| row.0) {
            Ok(place) => CONSTANT[place].1,
            Err(_) => 0,
        },
        _ => return Err(Code::INVALID_VALUE),
    })
}

/// Widest linear 1D texture in elements of `bytes` bytes.
pub fn linear_texture_width(bytes: u64) -> u64 {
    (1 << 28) / bytes.max(1).div_ceil(4)
}

/// Alignment of rows of pitched memory that the attributes promise is kept.
const _: () = assert!(PITCH_ALIGNMENT.is_multiple_of(32));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_are_sorted_and_known() {
        assert!(CONSTANT.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert!(CONSTANT.iter().all(|row| (1..END).contains(&row.0)));
    }
}
