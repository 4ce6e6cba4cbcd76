// SPDX-License-Identifier: MIT OR Apache-2.0
//! Probes: techniques that do one thing at one site, with an effect that can be worked out beforehand. They prove that the sites work, and are
//! there in test builds only.

pub mod delay;
pub mod insert;
pub mod limit;
pub mod merge;
pub mod release;
pub mod rename;
pub mod shorten;
pub mod twin;
