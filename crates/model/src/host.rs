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

/// Calls a function that is compiled twice, plain and with the host's instructions for bits and vectors, and chooses by `$has`. What it calls has to be
/// inlined to have them, too. Both copies are functions of their own, so that choosing one takes no stack.
macro_rules! in_two_copies {
    ($has:expr, |$($argument:ident: $type:ty),* $(,)?| -> $result:ty $body:block) => {{
        #[inline(never)]
        fn plain($($argument: $type),*) -> $result $body

        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
        fn with_bit_instructions($($argument: $type),*) -> $result $body

        match $has {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the host was asked whether it has them.
            true => unsafe { with_bit_instructions($($argument),*) },
            _ => plain($($argument),*),
        }
    }};
}
pub(crate) use in_two_copies;
