// SPDX-License-Identifier: MIT OR Apache-2.0
//! What techniques share: unit pipelines and queues, gating by intervals, shadows of what is stored, changes to a program.

pub mod gating;
pub mod lines;
pub mod pipeline;
pub mod queue;
pub mod regions;
pub mod rewrite;
pub mod rows;
