// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the host's processor can do: hot loops are compiled twice, plain and with these instructions.

/// Whether the host has AVX2 and the instructions for bits that the hot loops are compiled with.
pub fn has_bit_instructions() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        let has = std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("bmi1");
        let has = has && std::arch::is_x86_feature_detected!("bmi2");
        has && std::arch::is_x86_feature_detected!("lzcnt") && std::arch::is_x86_feature_detected!("popcnt")
    }
    #[cfg(not(target_arch = "x86_64"))]
    false
}
