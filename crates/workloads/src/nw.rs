// SPDX-License-Identifier: MIT OR Apache-2.0
//! Needleman-Wunsch alignment over diagonals of 16 x 16 tiles, after Rodinia's nw. Matches score as in BLOSUM62
//! (Henikoff and Henikoff, PNAS 1992).

use crate::check::Check;
use crate::job::Job;
use crate::rng::Rng;
use crate::wide::wide;
use crate::{Data, Dim, Fill, Info, Kernel, Known, Size, Workload};
use warpwatt_runtime::{Args, Device, Error};

const SIDE: u32 = 16;
/// Multiples of the tile's side.
const LENGTH: Dim = Dim::new("length", [112, 336, 1_008, 2_896]);
const PENALTY: i32 = 10;

/// Scores between the amino acids A R N D C Q E G H I L K M F P S T W Y V, below the diagonal.
const BLOSUM62: [&[i32]; 20] = [
    &[4],
    &[-1, 5],
    &[-2, 0, 6],
    &[-2, -2, 1, 6],
    &[0, -3, -3, -3, 9],
    &[-1, 1, 0, 0, -3, 5],
    &[-1, 0, 0, 2, -4, 2, 5],
    &[0, -2, 0, -1, -3, -2, -2, 6],
    &[-2, 0, 1, -1, -3, 0, 0, -2, 8],
    &[-1, -3, -3, -3, -1, -3, -3, -4, -3, 4],
    &[-1, -2, -3, -4, -1, -2, -3, -4, -3, 2, 4],
    &[-1, 2, 0, -1, -3, 1, 1, -2, -1, -3, -2, 5],
    &[-1, -1, -2, -3, -1, 0, -2, -3, -2, 1, 2, -1, 5],
    &[-2, -3, -3, -3, -2, -3, -3, -3, -1, 0, 0, -3, 0, 6],
    &[-1, -2, -2, -1, -3, -1, -1, -2, -2, -3, -3, -1, -2, -4, 7],
    &[1, -1, 1, 0, -1, 0, 0, 0, -1, -2, -2, 0, -1, -2, -1, 4],
    &[0, -1, 0, -1, -1, -1, -1, -2, -2, -1, -1, -1, -1, -2, -1, 1, 5],
    &[-3, -3, -4, -4, -2, -2, -3, -2, -2, -3, -2, -3, -1, 1, -4, -3, -2, 11],
    &[-2, -2, -2, -3, -2, -1, -2, -3, 2, -1, -1, -2, -1, 3, -3, -2, -2, 2, 7],
    &[0, -3, -3, -3, -1, -2, -2, -3, -3, 3, 1, -2, 1, -1, -2, -2, 0, -3, -1, 4],
];

static INFO: Info = Info {
    name: "nw",
    about: "aligns two sequences",
    domain: "bioinformatics",
    suite: "Rodinia",
    program: "nw",
    kernels: &[
        Kernel::after("nw_upper", "needle_cuda_shared_1", [16, 1, 1], "once a diagonal").shared(2180),
        Kernel::after("nw_lower", "needle_cuda_shared_2", [16, 1, 1], "once a diagonal").shared(2180),
    ],
    missing: &[],
    order_dependent: false,
    data: Data::Integer,
    dims: &[LENGTH],
    fill: Fill::Partial("diagonals of tiles grow from one to many and shrink again: in the algorithm"),
    known: Known::Read,
    shape_from: "Rodinia's 16 threads for a tile of 16 x 16",
    values_from: "sequences of amino acids scored by BLOSUM62, as Rodinia's",
    generator: 3,
    source: include_str!("../cuda/nw.cu"),
    ptx: include_str!("../ptx/nw.ptx"),
};

pub struct Nw;

impl Workload for Nw {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn run(&self, dev: &mut Device, ptx: &str, size: Size, seed: u64) -> Result<Check, Error> {
        let length = LENGTH.at(size);
        let cols = length + 1;
        let matches = matches(length as usize, seed);
        let empty = edges(length as usize);

        let mut job = Job::new(dev, &INFO, ptx)?;
        let reference_ptr = job.upload("reference", &matches)?;
        let scores = job.upload("scores", &empty)?;
        let tiles = length / SIDE;
        for diagonal in 1..=tiles {
            let args =
                Args::new().ptr(reference_ptr).ptr(scores).i32(cols as i32).i32(PENALTY).i32(diagonal as i32);
            job.launch("nw_upper", diagonal, SIDE, args)?;
        }
        for diagonal in (1..tiles).rev() {
            let args = Args::new()
                .ptr(reference_ptr)
                .ptr(scores)
                .i32(cols as i32)
                .i32(PENALTY)
                .i32(diagonal as i32)
                .i32(tiles as i32);
            job.launch("nw_lower", diagonal, SIDE, args)?;
        }
        let got = job.download(scores, empty.len())?;
        job.finish()?;

        Ok(Check::exact().output("scores", &reference(&matches, empty, cols as usize), &got))
    }
}

fn blosum62(a: usize, b: usize) -> i32 {
    BLOSUM62[a.max(b)][a.min(b)]
}

/// The score of matching each pair of residues of two random sequences, with an unused first row and column.
fn matches(length: usize, seed: u64) -> Vec<i32> {
    let mut rng = Rng::new(seed);
    let mut sequence = || (0..length).map(|_| rng.below(20) as u8).collect::<Vec<_>>();
    let (down, across) = (sequence(), sequence());
    // By residue: what it scores with each, in as many places as a masked number has values.
    let scores = std::array::from_fn::<_, 32, _>(|a| {
        std::array::from_fn::<_, 32, _>(|b| if a.max(b) < BLOSUM62.len() { blosum62(a, b) } else { 0 })
    });
    let mut matches = Vec::with_capacity((length + 1) * (length + 1));
    matches.resize(length + 1, 0);
    for a in &down {
        let scores = &scores[usize::from(a % 32)];
        matches.push(0);
        matches.extend(across.iter().map(|b| scores[usize::from(b % 32)]));
    }
    matches
}

/// The score matrix with its first row and column filled: gaps only.
fn edges(length: usize) -> Vec<i32> {
    let mut scores = vec![0; (length + 1) * (length + 1)];
    for gap in 0..=length {
        scores[gap] = -PENALTY * gap as i32;
        scores[gap * (length + 1)] = -PENALTY * gap as i32;
    }
    scores
}

fn reference(matches: &[i32], mut scores: Vec<i32>, cols: usize) -> Vec<i32> {
    for (y, matches) in matches.chunks_exact(cols).enumerate().skip(1) {
        let (above, row) = scores[(y - 1) * cols..][..2 * cols].split_at_mut(cols);
        wide(|| best_from_above(above, matches, row));
        let mut left = row[0];
        for score in &mut row[1..] {
            left = (left - PENALTY).max(*score);
            *score = left;
        }
    }
    scores
}

/// The best scores of a row but for gaps within it: these depend on each other, all others do not.
#[inline(always)]
fn best_from_above(above: &[i32], matches: &[i32], row: &mut [i32]) {
    let above = above.iter().zip(&above[1..]);
    for ((score, (diagonal, up)), with) in row[1..].iter_mut().zip(above).zip(&matches[1..]) {
        *score = (diagonal + with).max(up - PENALTY);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The best score over all alignments of the first `y` and `x` residues.
    fn best(matches: &[i32], cols: usize, y: usize, x: usize) -> i32 {
        if y == 0 || x == 0 {
            return -PENALTY * (y + x) as i32;
        }
        (best(matches, cols, y - 1, x - 1) + matches[y * cols + x])
            .max(best(matches, cols, y - 1, x) - PENALTY)
            .max(best(matches, cols, y, x - 1) - PENALTY)
    }

    #[test]
    fn reference_finds_the_best_of_all_alignments() {
        let matches = matches(6, 2);
        let scores = reference(&matches, edges(6), 7);
        for y in 0..=6 {
            for x in 0..=6 {
                assert_eq!(scores[y * 7 + x], best(&matches, 7, y, x));
            }
        }
    }

    #[test]
    fn every_residue_matches_itself_best() {
        for (a, row) in BLOSUM62.iter().enumerate() {
            assert_eq!(row.len(), a + 1);
            assert!((0..20).all(|b| a == b || blosum62(a, b) < blosum62(a, a)));
        }
    }
}
