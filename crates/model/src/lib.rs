// SPDX-License-Identifier: MIT OR Apache-2.0
//! The timed GPU: when things happen. What they compute is `exec`'s business.

pub mod address;
pub mod cache;
pub mod net;
