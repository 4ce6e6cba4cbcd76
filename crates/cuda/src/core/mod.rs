// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the two APIs have in common, in Rust's terms: the one device of the process and everything a program may hold of it.
//!
//! [`with`] is the only way in. It locks the device, makes it at the first call, and refuses calls that cannot work: after a fork,
//! from inside of a host function, after a fault. Everything asynchronous is queued on the device ([`warpwatt_runtime::Device`]);
//! whatever lets the host see a result runs the queue first ([`Core::finish`]).

pub mod code;
pub mod code_names;
pub mod copy;
pub mod graph;
pub mod handle;
pub mod info;
pub mod launch;
pub mod memory;
pub mod module;
pub mod signals;
pub mod state;
pub mod stream;
pub mod texture;
pub mod worker;

pub use code::{Code, Result};
pub use state::{Core, with, with_faulted};
