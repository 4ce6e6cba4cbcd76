// SPDX-License-Identifier: MIT OR Apache-2.0
//! Standards of memory as data: what a GPU file gets by `memory = "hbm2-2000"`. Each file has the clock, the geometry of a channel and the timing
//! of one speed grade; how many channels a GPU has, and what its controllers do, stays with the GPU.

/// A built-in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Memory {
    pub name: &'static str,
    pub text: &'static str,
}

macro_rules! memories {
    ($($name:literal,)*) => {
        pub const MEMORIES: &[Memory] =
            &[$(Memory { name: $name, text: include_str!(concat!("../memories/", $name, ".toml")) },)*];
    };
}

memories! {
    "gddr5-3700",
    "ddr4-2400",
    "hbm2-2000",
}
