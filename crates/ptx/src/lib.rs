// SPDX-License-Identifier: MIT OR Apache-2.0
//! PTX as text: lexer, parser, typed syntax tree, diagnostics.

pub mod ast;
pub mod diagnostic;
pub mod words;

pub use diagnostic::{Diagnostic, Severity};
