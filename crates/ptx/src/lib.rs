// SPDX-License-Identifier: MIT OR Apache-2.0
//! PTX as text: lexer, parser, typed syntax tree, printer, diagnostics.
//!
//! [`parse`] always gives a tree. What it could not parse is reported by diagnostics; a function that contains an error is marked
//! [`broken`](ast::Function::broken), and the rest of the module stays usable.

pub mod ast;
pub mod diagnostic;
mod lexer;
mod link;
mod parser;
pub mod print;
pub mod words;

pub use diagnostic::{Diagnostic, Severity, line_col};
pub use link::link;
pub use parser::{Parsed, parse};
pub use warpwatt_base::suggest;
