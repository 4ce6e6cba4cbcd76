// SPDX-License-Identifier: MIT OR Apache-2.0
//! Papers as experiments: which runs they need, what their figures are made of, and what their claims come to here.
//!
//! A [`Paper`] names variants of a GPU. Each runs with every workload and leaves a [`PointRecord`]; figures and measures are worked out
//! from all of them ([`Findings`]), and the [`Ledger`] puts measures beside claims (`data/claims.toml`). Nothing here reads, writes or runs
//! anything: the command line does.

mod claim;
mod figure;
mod ledger;
mod markdown;
mod measure;
mod number;
mod paper;
mod point;
mod predicate;
pub mod warped_compression;

pub use claim::{Bound, Claim, ClaimError, ClaimKind, ClaimValue, claims};
pub use figure::{Figure, Series};
pub use ledger::{About, LEDGER_SCHEMA, Ledger, Row, Summary, Verdict};
pub use measure::{Column, Measure, Measures};
pub use paper::{Findings, PAPERS, Paper, Variant, find};
pub use point::{KeyParts, POINT_SCHEMA, Point, PointEnergy, PointHost, PointRecord, Points};
pub use predicate::{Predicate, PredicateError};
