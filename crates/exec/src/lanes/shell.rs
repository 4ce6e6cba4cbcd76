// SPDX-License-Identifier: MIT OR Apache-2.0
//! Instruction-set levels of the host, and the shells that compile each kernel body once per level.
//!
//! A body is an `#[inline(always)]` function without target features; a shell with `#[target_feature]` around it lets the compiler vectorise the
//! same source for the level. Only what plain Rust cannot express (fused multiply-add, collecting sign bits) differs, behind [`Isa`], with equal results.

use warpwatt_isa::Uop;

use super::{Args, Kernel, Row, soft};

/// How much of the host's instruction set the kernels use. Results do not depend on it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Level {
    /// What every host of the architecture has.
    Plain,
    Avx2,
    Avx512,
}

impl Level {
    const ALL: [Level; 3] = [Level::Plain, Level::Avx2, Level::Avx512];

    /// The best level of this host, unless `WARPWATT_ISA` (plain, avx2, avx512) names a lower one.
    pub fn detect() -> Level {
        let available = Level::available();
        let wanted = std::env::var("WARPWATT_ISA").unwrap_or_default();
        let named = available.iter().find(|level| level.name().eq_ignore_ascii_case(&wanted));
        *named.or(available.last()).unwrap_or(&Level::Plain)
    }

    /// The levels this host can run, lowest first.
    pub fn available() -> Vec<Level> {
        Level::ALL.into_iter().filter(|level| level.runs_here()).collect()
    }

    pub fn name(self) -> &'static str {
        match self {
            Level::Plain => "plain",
            Level::Avx2 => "avx2",
            Level::Avx512 => "avx512",
        }
    }

    #[cfg(target_arch = "x86_64")]
    fn runs_here(self) -> bool {
        let avx2 = || {
            is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("fma")
                && is_x86_feature_detected!("f16c")
                && is_x86_feature_detected!("bmi1")
                && is_x86_feature_detected!("bmi2")
                && is_x86_feature_detected!("lzcnt")
                && is_x86_feature_detected!("popcnt")
        };
        match self {
            Level::Plain => true,
            Level::Avx2 => avx2(),
            Level::Avx512 => {
                avx2()
                    && is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512vl")
                    && is_x86_feature_detected!("avx512cd")
            }
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn runs_here(self) -> bool {
        self == Level::Plain
    }
}

/// Operations that differ between levels.
pub(super) trait Isa {
    fn fma32(a: f32, b: f32, c: f32) -> f32;
    fn fma64(a: f64, b: f64, c: f64) -> f64;
    /// Bit i of the result is the top bit of word i.
    fn signs(words: &[u32; 32]) -> u32;
    /// Replaces the words of `dst` that the mask names.
    fn blend(dst: &mut Row, value: &[u32; 32], mask: u32);
}

pub(super) struct Portable;

impl Isa for Portable {
    #[inline(always)]
    fn fma32(a: f32, b: f32, c: f32) -> f32 {
        // The product is exact in f64; rounding the sum to odd there makes the second rounding the only one that counts.
        soft::add_odd(f64::from(a) * f64::from(b), f64::from(c)) as f32
    }

    #[inline(always)]
    fn fma64(a: f64, b: f64, c: f64) -> f64 {
        f64::from_bits(soft::fma64(a.to_bits(), b.to_bits(), c.to_bits(), warpwatt_isa::Round::Rn))
    }

    #[inline(always)]
    fn signs(words: &[u32; 32]) -> u32 {
        let mut mask = 0;
        for (lane, word) in words.iter().enumerate() {
            mask |= word >> 31 << lane;
        }
        mask
    }

    #[inline(always)]
    fn blend(dst: &mut Row, value: &[u32; 32], mask: u32) {
        for lane in 0..32 {
            let keep = (mask >> lane & 1).wrapping_sub(1);
            dst.0[lane] = dst.0[lane] & keep | value[lane] & !keep;
        }
    }
}

/// A host with AVX2 and FMA, or more.
#[cfg(target_arch = "x86_64")]
pub(super) struct Wide;

#[cfg(target_arch = "x86_64")]
impl Isa for Wide {
    #[inline(always)]
    fn fma32(a: f32, b: f32, c: f32) -> f32 {
        use std::arch::x86_64::*;
        // SAFETY: this implementation is only used inside of shells that enable the feature. The intrinsic, unlike `mul_add`, can never become
        // a call of the C library.
        unsafe { _mm_cvtss_f32(_mm_fmadd_ss(_mm_set_ss(a), _mm_set_ss(b), _mm_set_ss(c))) }
    }

    #[inline(always)]
    fn fma64(a: f64, b: f64, c: f64) -> f64 {
        use std::arch::x86_64::*;
        // SAFETY: as above.
        unsafe { _mm_cvtsd_f64(_mm_fmadd_sd(_mm_set_sd(a), _mm_set_sd(b), _mm_set_sd(c))) }
    }

    #[inline(always)]
    fn signs(words: &[u32; 32]) -> u32 {
        use std::arch::x86_64::*;
        let mut mask = 0;
        for part in 0..4 {
            // SAFETY: as above; the array holds four parts of eight words.
            let sign = unsafe {
                let v = _mm256_loadu_si256(words.as_ptr().add(part * 8).cast());
                _mm256_movemask_ps(_mm256_castsi256_ps(v))
            };
            mask |= (sign as u32) << (part * 8);
        }
        mask
    }

    #[inline(always)]
    fn blend(dst: &mut Row, value: &[u32; 32], mask: u32) {
        use super::vectors::TO_THE_TOP;
        use std::arch::x86_64::*;
        // SAFETY: as above.
        let lanes = unsafe { _mm256_set1_epi32(mask.cast_signed()) };
        for part in 0..4 {
            // SAFETY: as above. Each lane's bit is shifted to the top of its word, the only bit that the blend uses. The old value is read as
            // volatile, or else the compiler makes a masked store of it, which costs several times as much.
            unsafe {
                let at = dst.0.as_mut_ptr().add(part * 8).cast::<__m256>();
                let old = at.read_volatile();
                let bits =
                    _mm256_sllv_epi32(lanes, _mm256_load_si256(TO_THE_TOP.0.as_ptr().add(part * 8).cast()));
                let new = _mm256_loadu_ps(value.as_ptr().add(part * 8).cast());
                at.write(_mm256_blendv_ps(old, new, _mm256_castsi256_ps(bits)));
            }
        }
    }
}

/// The body of a kernel, the same for all levels.
pub(super) trait Body {
    /// # Safety
    /// As for [`Kernel`].
    unsafe fn run<L: Isa>(args: &mut Args, uop: &Uop);
}

unsafe fn plain<B: Body>(args: &mut Args, uop: &Uop) {
    // SAFETY: the contract of `Kernel`, passed on to the body; a shell is picked where the host has its features.
    unsafe { B::run::<Portable>(args, uop) }
}

#[cfg(target_arch = "x86_64")]
macro_rules! shell {
    ($name:ident, $features:literal) => {
        #[target_feature(enable = $features)]
        unsafe fn $name<B: Body>(args: &mut Args, uop: &Uop) {
            // SAFETY: the contract of `Kernel`, passed on to the body; a shell is picked where the host has its features.
            unsafe { B::run::<Wide>(args, uop) }
        }
    };
}

#[cfg(target_arch = "x86_64")]
shell!(avx2, "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt");
#[cfg(target_arch = "x86_64")]
shell!(avx512, "avx512f,avx512bw,avx512dq,avx512vl,avx512cd,avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt");

/// The shell of a body at a level.
pub(super) fn pick<B: Body>(level: Level) -> Option<Kernel> {
    Some(match level {
        Level::Plain => plain::<B>,
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => avx2::<B>,
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => avx512::<B>,
        #[cfg(not(target_arch = "x86_64"))]
        _ => plain::<B>,
    })
}

/// Declares a kernel body: a type that [`pick`] takes, with constant parameters for what specialises it.
macro_rules! kernel {
    ($(#[$doc:meta])* $name:ident $(<$(const $p:ident: $t:ty),+>)?, |$level:ident, $args:ident, $uop:ident| $body:block) => {
        $(#[$doc])*
        struct $name $(<$(const $p: $t),+>)?;

        impl $(<$(const $p: $t),+>)? $crate::lanes::shell::Body for $name $(<$($p),+>)? {
            #[inline(always)]
            unsafe fn run<$level: $crate::lanes::shell::Isa>(
                $args: &mut $crate::lanes::Args,
                $uop: &warpwatt_isa::Uop,
            ) {
                // SAFETY: the contract of `Kernel`, passed on to the body; a shell is picked where the host has its features.
                unsafe { $body }
            }
        }
    };
}
pub(super) use kernel;
