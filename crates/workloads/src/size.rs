// SPDX-License-Identifier: MIT OR Apache-2.0
//! The four sizes of a workload. They are set by the thread instructions that a run simulates: tiny at most
//! 1 million, small 3 to 20, medium 30 to 60, large 250 to 500.

use std::fmt;
use std::str::FromStr;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Size {
    Tiny,
    Small,
    Medium,
    Large,
}

impl Size {
    pub const ALL: [Size; 4] = [Size::Tiny, Size::Small, Size::Medium, Size::Large];

    pub fn name(self) -> &'static str {
        match self {
            Size::Tiny => "tiny",
            Size::Small => "small",
            Size::Medium => "medium",
            Size::Large => "large",
        }
    }

    /// The fewest and the most thread instructions that a run of this size simulates.
    pub fn thread_instructions(self) -> (u64, u64) {
        match self {
            Size::Tiny => (0, 1_000_000),
            Size::Small => (3_000_000, 20_000_000),
            Size::Medium => (30_000_000, 60_000_000),
            Size::Large => (250_000_000, 500_000_000),
        }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A size that is none of the four.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no size `{0}`: the sizes are tiny, small, medium and large")]
pub struct UnknownSize(pub String);

impl FromStr for Size {
    type Err = UnknownSize;

    fn from_str(text: &str) -> Result<Self, UnknownSize> {
        Size::ALL.into_iter().find(|size| size.name() == text).ok_or_else(|| UnknownSize(text.to_owned()))
    }
}

/// One dimension of a problem, such as its number of rows, at each size.
#[derive(Clone, Copy, Debug)]
pub struct Dim {
    pub name: &'static str,
    values: [u32; 4],
}

impl Dim {
    pub(crate) const fn new(name: &'static str, values: [u32; 4]) -> Self {
        Dim { name, values }
    }

    pub const fn at(&self, size: Size) -> u32 {
        self.values[size as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_reads_back_from_its_name() {
        for size in Size::ALL {
            assert_eq!(size.name().parse(), Ok(size));
        }
        assert_eq!("huge".parse::<Size>(), Err(UnknownSize("huge".into())));
    }
}
