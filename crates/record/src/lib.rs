// SPDX-License-Identifier: MIT OR Apache-2.0
//! From what a device did to the run record: launches of one device as they end (`launch`, `collect`), or of several in other processes that leave
//! parts (`part`, `merge`) under settings that they were given (`settings`), and report their progress (`board`).

mod assemble;
mod board;
mod charged;
mod collect;
mod energy;
mod launch;
mod merge;
mod part;
mod power;
mod settings;
mod sources;
mod techniques;

pub use assemble::assemble;
pub use board::{Board, Progress, Stop};
pub use collect::{Collector, Launches, PER_LAUNCH};
pub use energy::Energies;
pub use launch::{
    Meter, VERSION, Whole, children_usage, copies, diagnostics, kernel, notice_diagnostic, problem, tool,
    usage,
};
pub use merge::merge;
pub use part::{Part, Text, traffic_path};
pub use settings::{Problem, Settings, TechnologyFile, Timing};
pub use sources::sources;
pub use techniques::{CORRUPTED, ChosenTechniques, Corruption, UNNOTICED, unnoticed};

/// Variable of the environment that names the file of settings.
pub const SESSION_VARIABLE: &str = "WARPWATT_SESSION";
/// Files of a session's folder.
pub const SETTINGS_FILE: &str = "session.json";
pub const BOARD_FILE: &str = "board";
/// Made by the first process that uses CUDA.
pub const FIRST_PROCESS: &str = "0001";
