// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the tests of several crates share: what has to add up in every launch, the settings that programs run with, and golden files.

pub mod conserve;
pub mod golden;
pub mod ways;
