// SPDX-License-Identifier: MIT OR Apache-2.0
//! Micro-benchmarks whose answers are known: each states by which formula its answer follows from the parameters of the GPU, or who
//! has measured it on the card, and how far off it may be. And what has to hold on every GPU: nothing is lost, no parameter is dead,
//! and how a run is simulated does not show.

mod agree;
mod arithmetic;
mod bench;
mod control;
mod figure;
mod jobs;
mod kernels;
mod known;
mod memory;
mod parameters;
mod shared;
mod streams;
mod table;
mod technique;
