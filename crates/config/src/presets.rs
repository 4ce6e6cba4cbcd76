// SPDX-License-Identifier: MIT OR Apache-2.0
//! The built-in GPUs: two cards as measured, and the machines that papers simulated. Each is a GPU file of its own.

/// A built-in GPU file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Preset {
    pub name: &'static str,
    pub text: &'static str,
}

macro_rules! presets {
    ($($name:literal,)*) => {
        /// All of them; each inherits from one before it.
        pub const PRESETS: &[Preset] =
            &[$(Preset { name: $name, text: include_str!(concat!("../presets/", $name, ".toml")) },)*];
    };
}

presets! {
    "gtx480",
    "gtx580",
    "gtx480-gpgpusim",
    "gtx480-wc",
    "gtx480-corf",
    "gtx580-e2mc",
    "gtx480-thesis",
    "gtx480-combined",
}
