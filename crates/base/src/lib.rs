// SPDX-License-Identifier: MIT OR Apache-2.0
//! What every other crate may use: interned names, source spans, dense typed ids, counters, and the simulator's calendars and clocks.

pub mod calendar;
pub mod clock;
pub mod counters;
mod intern;
mod opaque;
pub mod seed;
mod span;
pub mod suggest;
pub mod wheel;

pub use intern::{Interner, Sym};
pub use opaque::opaque;
pub use seed::SplitMix64;
pub use span::Span;

/// Declares a dense `u32` id, so that an index into one arena cannot be used for another.
#[macro_export]
macro_rules! typed_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub struct $name(pub u32);
        impl $name {
            #[inline(always)]
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
        impl From<usize> for $name {
            fn from(index: usize) -> Self {
                $name(u32::try_from(index).expect("arena index fits 32 bits"))
            }
        }
    };
}
