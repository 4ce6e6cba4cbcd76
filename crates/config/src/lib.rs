// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every parameter of a GPU, declared once: type, default, range, unit, meaning.

mod declare;
mod parameters;
mod value;

pub use declare::{Parameter, Refusal};
pub use parameters::*;
pub use value::{Kind, Value};
