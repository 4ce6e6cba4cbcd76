// SPDX-License-Identifier: MIT OR Apache-2.0
//! What all caches are made of: tags with replacement, and miss status registers.

mod mshr;
mod tags;

pub use mshr::{Mshr, MshrId};
pub use tags::{Evicted, LineId, State, Tags};
