// SPDX-License-Identifier: MIT OR Apache-2.0
//! Loops over arrays with the host's wide vectors. They have the same bits without them: every operation is rounded by itself.

/// Has the compiler use wide vectors in a function, which must be inlined.
#[inline(always)]
pub fn wide<R>(work: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the host has the instructions.
        return unsafe { with_avx2(work) };
    }
    work()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn with_avx2<R>(work: impl FnOnce() -> R) -> R {
    work()
}
