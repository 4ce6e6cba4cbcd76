// SPDX-License-Identifier: MIT OR Apache-2.0
//! Structures of NVIDIA's headers, as programs pass them: layouts alone, without meaning.

pub mod driver;
pub mod properties;
pub mod runtime;
