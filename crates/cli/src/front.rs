// SPDX-License-Identifier: MIT OR Apache-2.0
//! What other front ends than the command line use of it. The Python package runs jobs, sweeps and papers by these, so that its numbers and messages are
//! those of the commands.

pub use crate::compare::{Comparison, text as comparison_text};
pub use crate::console::{Console, Listener};
pub use crate::energy::{failure as technology_failure, read as read_technology};
pub use crate::exit::{Exit, Failure};
pub use crate::gpu::{Machine, failure as gpu_failure, read as read_gpu};
pub use crate::job::{Call, Job, Stop, Verdict, compiled, read_text, sources_beside};
pub use crate::paper::reproduce as run_paper;
pub use crate::points::own::started_by;
pub use crate::run::{Measured, Request, Target, job, measure, without_techniques};
pub use crate::session::{describe, describe_functional, quiet_panics};
pub use crate::slurm::cancel as cancel_tasks;
pub use crate::summary::{Texts, summary};
pub use crate::sweep::{
    key_names as sweep_keys, parse as parse_sweep, run as run_sweep, status as sweep_status,
};
