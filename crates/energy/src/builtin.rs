// SPDX-License-Identifier: MIT OR Apache-2.0
//! The built-in technologies, each a file of its own.

/// A built-in technology file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TechnologyText {
    pub name: &'static str,
    pub text: &'static str,
}

macro_rules! technologies {
    ($($name:literal,)*) => {
        /// All of them; each inherits from one before it.
        pub const TECHNOLOGIES: &[TechnologyText] =
            &[$(TechnologyText { name: $name, text: include_str!(concat!("../technologies/", $name, ".toml")) },)*];
    };
}

technologies! {
    "gtx480-40nm",
    "gpuwattch-40nm",
    "wc45",
    "corf40",
    "thesis32",
    "e2mc32",
    "combined-40nm",
}

/// The default technology.
pub const DEFAULT: &str = "gtx480-40nm";
