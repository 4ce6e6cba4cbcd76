// SPDX-License-Identifier: MIT OR Apache-2.0
//! Graphs: commands with the order among them, made node by node or captured from streams, and done as often as wanted.

use warpwatt_runtime::Stream;

use crate::core::code::{Code, Result};
use crate::core::launch::Command;
use crate::core::state::Core;

/// All graphs, and the streams that are being captured.
#[derive(Default)]
pub struct Graphs {}

impl Graphs {
    pub fn new() -> Graphs {
        Graphs::default()
    }

    /// Whether what is put into a stream goes into a graph.
    pub fn captures(&self, _stream: Stream) -> bool {
        false
    }

    /// Whether an event was last recorded in a stream that is being captured.
    pub fn holds_event(&self, _event: u64) -> bool {
        false
    }
}

/// Puts a command into the graph that captures its stream.
pub fn capture(_core: &mut Core, _stream: Stream, _command: Command) -> Result<()> {
    Err(Code::ILLEGAL_STATE)
}
