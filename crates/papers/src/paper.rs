// SPDX-License-Identifier: MIT OR Apache-2.0
//! The list of papers, and what each is made of.

use crate::figure::Figure;
use crate::measure::Measures;
use crate::point::Points;
use crate::warped_compression;

/// A paper that can be done again.
#[derive(Clone, Copy, Debug)]
pub struct Paper {
    /// As on the command line.
    pub name: &'static str,
    pub title: &'static str,
    pub citation: &'static str,
    /// What the ids of its claims begin with.
    pub prefix: &'static str,
    /// A built-in GPU.
    pub gpu: &'static str,
    /// A built-in technology.
    pub technology: &'static str,
    /// Each is run with every workload, once, however many figures use it.
    pub variants: &'static [Variant],
    pub evaluate: fn(&Points) -> Findings,
}

/// A way in which workloads are run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Variant {
    pub name: &'static str,
    /// Of the GPU, as `key=value`.
    pub settings: &'static [&'static str],
    /// As `--with` takes it.
    pub technique: Option<&'static str>,
}

/// What the points of a paper come to.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    pub figures: Vec<Figure>,
    pub measures: Measures,
}

/// All of them.
pub const PAPERS: &[Paper] = &[warped_compression::PAPER];

/// The paper of a name.
pub fn find(name: &str) -> Option<&'static Paper> {
    PAPERS.iter().find(|paper| paper.name == name)
}
