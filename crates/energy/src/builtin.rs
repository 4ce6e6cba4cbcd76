// SPDX-License-Identifier: MIT OR Apache-2.0
//! The built-in technologies, each a file of its own.

use std::borrow::Cow;

use crate::spanned::Spanned;
use crate::technology::Access::*;
use crate::technology::Amount::*;
use crate::technology::*;

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

        /// What is in them, read by the build script.
        pub(crate) static FILES: &[File] = &[$(include!(concat!(env!("OUT_DIR"), "/", $name, ".rs")),)*];
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_build_script_read_is_what_the_files_say() {
        for (technology, file) in TECHNOLOGIES.iter().zip(FILES) {
            assert_eq!(toml::from_str::<File>(technology.text).as_ref(), Ok(file), "{}", technology.name);
        }
    }
}
