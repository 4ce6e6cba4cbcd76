// SPDX-License-Identifier: MIT OR Apache-2.0
//! The list of papers, and what each is made of.

use crate::figure::Figure;
use crate::measure::Measures;
use crate::point::Points;
use crate::{caches, combined, corf, e2mc, warped_compression};

/// A paper that can be reproduced.
#[derive(Clone, Copy, Debug)]
pub struct Paper {
    /// As on the command line, and in `data/suites.toml`.
    pub name: &'static str,
    pub title: &'static str,
    pub citation: &'static str,
    /// What the ids of its claims begin with.
    pub prefixes: &'static [&'static str],
    /// A built-in GPU, of all variants that name no other.
    pub gpu: &'static str,
    /// A built-in technology, of all variants that name no other.
    pub technology: &'static str,
    /// Each is run with every workload, once a seed, however many figures use it.
    pub variants: &'static [Variant],
    /// Figures and measures of one seed's points.
    pub evaluate: fn(&Points) -> Findings,
}

/// A way in which workloads are run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Variant {
    pub name: &'static str,
    /// A built-in GPU; otherwise the paper's.
    pub gpu: Option<&'static str>,
    /// A built-in technology; otherwise the paper's.
    pub technology: Option<&'static str>,
    /// Of the GPU, as `key=value`.
    pub settings: &'static [&'static str],
    /// As `--with` takes them. A `{number}` is a length at size large, and scaled with the size.
    pub techniques: &'static [&'static str],
    /// Short branches become guards.
    pub predication: bool,
    pub seeds: Seeds,
    /// It is also run with the programs beside the suite (`compute_bound` in `data/suites.toml`).
    pub beside: bool,
}

/// Which seeds a variant is run with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Seeds {
    /// Claims are judged by it.
    All,
    /// It shows a cause, or completes a figure.
    First,
}

impl Variant {
    /// The paper's GPU without changes, with all seeds.
    pub const fn new(name: &'static str) -> Variant {
        let (settings, techniques): (&[&str], &[&str]) = (&[], &[]);
        Variant {
            name,
            gpu: None,
            technology: None,
            settings,
            techniques,
            predication: true,
            seeds: Seeds::All,
            beside: false,
        }
    }

    pub const fn with(self, techniques: &'static [&'static str]) -> Variant {
        Variant { techniques, ..self }
    }

    pub const fn set(self, settings: &'static [&'static str]) -> Variant {
        Variant { settings, ..self }
    }

    pub const fn on(self, gpu: &'static str, technology: &'static str) -> Variant {
        Variant { gpu: Some(gpu), technology: Some(technology), ..self }
    }

    pub const fn without_predication(self) -> Variant {
        Variant { predication: false, ..self }
    }

    pub const fn first_seed(self) -> Variant {
        Variant { seeds: Seeds::First, ..self }
    }

    pub const fn beside(self) -> Variant {
        Variant { beside: true, ..self }
    }
}

/// Figures and measures computed from the points of a paper.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    pub figures: Vec<Figure>,
    pub measures: Measures,
}

/// All of them, and the experiment with the techniques of all of them.
pub const PAPERS: &[Paper] =
    &[warped_compression::PAPER, corf::PAPER, e2mc::PAPER, caches::PAPER, combined::PAPER];

/// The paper of a name.
pub fn find(name: &str) -> Option<&'static Paper> {
    PAPERS.iter().find(|paper| paper.name == name)
}

impl Paper {
    /// Whether a claim is the paper's.
    pub fn claims(&self, id: &str) -> bool {
        self.prefixes.iter().any(|prefix| id.starts_with(prefix))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variant_can_have_a_gpu_a_technology_and_several_techniques() {
        const MANY: Variant = Variant::new("all")
            .on("gtx580", "gtx480-40nm")
            .set(&["sm.ctas=1"])
            .with(&["a:x={2000}", "b"])
            .without_predication()
            .first_seed();
        assert_eq!((MANY.gpu, MANY.technology), (Some("gtx580"), Some("gtx480-40nm")));
        assert_eq!((MANY.techniques.len(), MANY.seeds, MANY.predication), (2, Seeds::First, false));
        let plain = Variant::new("base");
        assert_eq!((plain.gpu, plain.seeds, plain.predication), (None, Seeds::All, true));
    }
}
