// SPDX-License-Identifier: MIT OR Apache-2.0
//! Papers as experiments: the runs that they need, their figures, and the verdicts on their claims.
//!
//! A [`Paper`] names variants: a GPU, a technology and techniques each. Each runs with every workload of the paper's [`Suite`] and several
//! seeds, and leaves a [`PointRecord`]; figures and measures are worked out from those of a seed ([`Findings`]), and the [`Ledger`] puts the
//! measures of all seeds beside the claims (`data`). Nothing here reads, writes or runs anything: the command line does.

pub mod caches;
mod claim;
mod combined;
mod corf;
pub mod e2mc;
mod evidence;
mod figure;
mod judge;
mod larger;
mod ledger;
mod markdown;
mod measure;
mod number;
mod paper;
mod point;
mod predicate;
#[cfg(test)]
mod samples;
mod size;
mod suite;
mod value;
pub mod warped_compression;

pub use claim::{Claim, ClaimError, ClaimKind, Limit, READINGS, Reason, claims};
pub use evidence::{ENOUGH_SEEDS, Evidence, Sample};
pub use figure::{Figure, Series};
pub use judge::{Judged, Verdict};
pub use larger::{at_needed_size, figures_at_needed_size};
pub use ledger::{About, EntryRow, LEDGER_SCHEMA, Ledger, OtherRow, Row, RowReason, Summary};
pub use measure::{Column, Mean, Measure, Measures};
pub use paper::{Findings, PAPERS, Paper, Seeds, Variant, find};
pub use point::{
    KeyParts, POINT_SCHEMA, Point, PointEnergy, PointHost, PointKernel, PointRecord, Points, REQUEST_SCHEMA,
    point_schema, request_schema,
};
pub use predicate::{Predicate, PredicateError};
pub use size::Size;
pub use suite::{Chosen, Program, Suite, suite, suites};
pub use value::ClaimValue;
