// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parameters from outside: files, presets, settings, messages, schema, random GPUs.

mod files;
mod fuzz;
mod import;
mod memories;
mod messages;
mod presets;
mod random;
mod schema;
mod sizes;
