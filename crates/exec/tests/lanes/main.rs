// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every register-only operation against an independent model: wide integers, `rustc_apfloat`, `libm`.

mod convert;
mod cross;
mod float;
mod imports;
mod integer;
mod model;
mod mufu;
mod support;
