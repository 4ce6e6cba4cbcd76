// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which programs each paper measures, and which of ours stands for each.
//!
//! Not every paper lists all its programs in its text. Where one does not, its suite is completed from the benchmark suites that it
//! names. Programs of the same name may differ: the BFS and LIB of Warped-Compression are those of Bakhoda et al. (ISPASS 2009), its
//! spmv is Parboil's; the scan of E2MC compacts streams, its spmv is SHOC's; the kmeans of the thesis on caches reads through textures.

use std::fmt;
use std::str::FromStr;

/// A paper that can be reproduced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Paper {
    WarpedCompression,
    Corf,
    E2mc,
    Caches,
}

/// A program of a paper's suite.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// As the paper, or the benchmark suite, calls it.
    pub name: &'static str,
    /// Whether the paper's text names it; otherwise it completes the suite.
    pub named: bool,
    /// Our workload of that kind, if there is one.
    pub workload: Option<&'static str>,
}

const fn named(name: &'static str, workload: &'static str) -> Program {
    Program { name, named: true, workload: Some(workload) }
}

const fn chosen(name: &'static str, workload: &'static str) -> Program {
    Program { name, named: false, workload: Some(workload) }
}

const fn named_missing(name: &'static str) -> Program {
    Program { name, named: true, workload: None }
}

const fn chosen_missing(name: &'static str) -> Program {
    Program { name, named: false, workload: None }
}

const WARPED_COMPRESSION: &[Program] = &[
    named("pathfinder", "pathfinder"),
    named("LIB", "lib"),
    named("AES", "aes"),
    named("BFS", "bfs_ispass"),
    named_missing("dwt2d"),
    named("spmv", "spmv_jds"),
    chosen("backprop", "backprop"),
    chosen("gaussian", "gaussian"),
    chosen("hotspot", "hotspot"),
    chosen("lud", "lud"),
    chosen("nw", "nw"),
    chosen("srad_v1", "srad_v1"),
    chosen("kmeans", "kmeans"),
    chosen("sgemm", "sgemm"),
    chosen("stencil", "stencil"),
    chosen_missing("sad"),
    chosen("mri-q", "mri_q"),
    chosen("CP", "cp"),
    chosen("LPS", "lps"),
    chosen("NN", "neural"),
    chosen_missing("RAY"),
    chosen("STO", "sto"),
    chosen("NQU", "nqu"),
];

const CORF: &[Program] = &[
    named("bfs", "bfs"),
    named_missing("b+tree"),
    named("gaussian", "gaussian"),
    named_missing("sad"),
    named("sgemm", "sgemm"),
    named_missing("blackscholes"),
    chosen("backprop", "backprop"),
    chosen("hotspot", "hotspot"),
    chosen("kmeans", "kmeans"),
    chosen("lud", "lud"),
    chosen("nw", "nw"),
    chosen("pathfinder", "pathfinder"),
    chosen("srad_v1", "srad_v1"),
    chosen("histo", "histo"),
    chosen("spmv", "spmv_jds"),
    chosen("stencil", "stencil"),
    chosen("mri-q", "mri_q"),
    chosen("scan", "scan"),
    chosen("transpose", "transpose"),
    chosen_missing("fastWalshTransform"),
    chosen_missing("AlexNet"),
    chosen_missing("CifarNet"),
    chosen_missing("GRU"),
    chosen_missing("LSTM"),
];

const E2MC: &[Program] = &[
    named_missing("convolutionSeparable"),
    named_missing("fastWalshTransform"),
    named("LIB", "lib"),
    named("transpose", "transpose"),
    named_missing("scan"),
    named_missing("PageViewCount"),
    named_missing("PageViewRank"),
    named("backprop", "backprop"),
    named("bfs", "bfs"),
    named_missing("heartwall"),
    named("kmeans", "kmeans"),
    named_missing("mummergpu"),
    named_missing("lonestar-bfs"),
    named_missing("sssp"),
    named_missing("spmv"),
];

const CACHES: &[Program] = &[
    named_missing("cutcp"),
    named("histo", "histo"),
    named_missing("lbm"),
    named_missing("mri-gridding"),
    named("mri-q", "mri_q"),
    named("stencil", "stencil"),
    named_missing("tpacf"),
    named("backprop", "backprop"),
    named("bfs", "bfs"),
    named_missing("cfd"),
    named("gaussian", "gaussian"),
    named("hotspot", "hotspot"),
    named_missing("kmeans"),
    named_missing("lavaMD"),
    named_missing("leukocyte"),
    named("nw", "nw"),
    named_missing("particlefilter"),
    named("pathfinder", "pathfinder"),
    named("srad_v1", "srad_v1"),
    named_missing("srad_v2"),
    named_missing("streamcluster"),
    named_missing("simpleTexture"),
];

impl Paper {
    pub const ALL: [Paper; 4] = [Paper::WarpedCompression, Paper::Corf, Paper::E2mc, Paper::Caches];

    pub fn name(self) -> &'static str {
        match self {
            Paper::WarpedCompression => "warped-compression",
            Paper::Corf => "corf",
            Paper::E2mc => "e2mc",
            Paper::Caches => "caches",
        }
    }

    /// A name for narrow columns.
    pub fn short(self) -> &'static str {
        match self {
            Paper::WarpedCompression => "wc",
            other => other.name(),
        }
    }

    /// The programs that it measures.
    pub fn suite(self) -> &'static [Program] {
        match self {
            Paper::WarpedCompression => WARPED_COMPRESSION,
            Paper::Corf => CORF,
            Paper::E2mc => E2MC,
            Paper::Caches => CACHES,
        }
    }

    /// Whether a workload stands for a program of its suite.
    pub fn measures(self, workload: &str) -> bool {
        self.suite().iter().any(|program| program.workload == Some(workload))
    }
}

impl fmt::Display for Paper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A paper that is none of those that can be reproduced.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no paper `{0}`: the papers are warped-compression, corf, e2mc and caches")]
pub struct UnknownPaper(pub String);

impl FromStr for Paper {
    type Err = UnknownPaper;

    fn from_str(text: &str) -> Result<Self, UnknownPaper> {
        Paper::ALL.into_iter().find(|paper| paper.name() == text).ok_or_else(|| UnknownPaper(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn papers_read_back_from_their_names() {
        for paper in Paper::ALL {
            assert_eq!(paper.name().parse(), Ok(paper));
        }
        assert!("warped".parse::<Paper>().is_err());
    }

    #[test]
    fn suites_name_each_program_once_and_only_workloads_that_exist() {
        for paper in Paper::ALL {
            let names: BTreeSet<_> = paper.suite().iter().map(|program| program.name).collect();
            assert_eq!(names.len(), paper.suite().len(), "{paper}");
            for workload in paper.suite().iter().filter_map(|program| program.workload) {
                assert!(crate::find(workload).is_some(), "{paper}: {workload}");
            }
        }
    }
}
