// SPDX-License-Identifier: MIT OR Apache-2.0
//! References that the compiler knows nothing about.

/// The same reference, but the compiler does not know that: it computes no addresses from it ahead of a loop.
///
/// For short loops in large functions. There are no registers left for such addresses, so that they are kept on the stack, and computing and
/// loading them costs more than they save.
#[inline(always)]
pub fn opaque<T>(value: &mut T) -> &mut T {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    {
        let mut pointer: *mut T = value;
        // SAFETY: no instruction is executed, and the pointer is that of the reference, which is not used in the meantime.
        #[expect(clippy::pointers_in_nomem_asm_block, reason = "nothing is accessed through it")]
        unsafe {
            core::arch::asm!("/* {0} */", inout(reg) pointer, options(nomem, nostack, preserves_flags));
            &mut *pointer
        }
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_same() {
        let mut number = 1;
        *opaque(&mut number) += 1;
        assert_eq!(number, 2);
    }
}
