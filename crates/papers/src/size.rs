// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sizes of workloads, as the papers' data names them, and parameters that are scaled with them.

use serde::{Deserialize, Serialize};

/// A size of workloads.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
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

    pub fn find(name: &str) -> Option<Size> {
        Size::ALL.into_iter().find(|size| size.name() == name)
    }

    /// How many times fewer instructions workloads have than at large, about.
    fn fewer(self) -> u64 {
        match self {
            Size::Tiny => 512,
            Size::Small => 64,
            Size::Medium => 8,
            Size::Large => 1,
        }
    }

    /// A text in which every `{number}` is a length at large, with the length at this size put in; and whether that changed it.
    pub fn scaled(self, text: &str) -> (String, bool) {
        let mut scaled = false;
        let text = crate::claim::filled(text, |number| {
            let length: u64 = number.parse().ok()?;
            scaled |= self.fewer() > 1;
            Some((length / self.fewer()).max(1).to_string())
        });
        (text, scaled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_scaled_below_large() {
        let text = "e2mc:sampling={20000000},ways=4";
        assert_eq!(Size::Large.scaled(text), ("e2mc:sampling=20000000,ways=4".to_owned(), false));
        assert_eq!(Size::Medium.scaled(text), ("e2mc:sampling=2500000,ways=4".to_owned(), true));
        assert_eq!(Size::Tiny.scaled("x={100}"), ("x=1".to_owned(), true), "never nothing");
        assert_eq!(Size::Small.scaled("no length"), ("no length".to_owned(), false));
    }

    #[test]
    fn sizes_have_an_order_and_names() {
        assert!(Size::Tiny < Size::Small && Size::Medium < Size::Large);
        assert_eq!(Size::ALL.map(|size| Size::find(size.name())), Size::ALL.map(Some));
    }
}
