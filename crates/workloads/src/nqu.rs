// SPDX-License-Identifier: MIT OR Apache-2.0
//! N queens by backtracking, after NQU of Bakhoda et al. (ISPASS 2009): the host sets the first rows, a thread completes each
//! beginning. Ours solves several boards with a few blocked squares, so that seeds differ and sizes can be chosen.

use crate::check::Check;
use crate::job::Job;
use crate::rng::Rng;
use crate::{Data, Dim, Fill, Info, Kernel, Known, Size, Workload};
use warpwatt_runtime::{Args, Device, Error};

const BLOCK: u32 = 96;
/// Rows that the host sets.
const BEGUN: u32 = 3;
const ROWS: Dim = Dim::new("rows", [8, 9, 9, 10]);
const BOARDS: Dim = Dim::new("boards", [5, 40, 180, 330]);
/// Squares that are blocked on a board.
const BLOCKED: usize = 4;

static INFO: Info = Info {
    name: "nqu",
    about: "queens on blocked boards",
    domain: "search",
    suite: "ISPASS",
    program: "NQU",
    kernels: &[Kernel::after("nqu_count", "solve_nqueen_cuda_kernel", [96, 1, 1], "once")],
    missing: &[],
    order_dependent: false,
    data: Data::Integer,
    dims: &[ROWS, BOARDS],
    fill: Fill::Full,
    known: Known::Recalled,
    shape_from: "a beginning a thread in blocks of 96, the stacks of all threads in shared memory (Bakhoda et al., Table I: 256 blocks of 96)",
    values_from: "all beginnings of three rows on boards of 10 x 10, the original's size, at large and of 9 x 9 at lesser sizes, with four blocked squares each that the seed chooses",
    generator: 3,
    source: include_str!("../cuda/nqu.cu"),
    ptx: include_str!("../ptx/nqu.ptx"),
};

pub struct Nqu;

impl Workload for Nqu {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn run(&self, dev: &mut Device, ptx: &str, size: Size, seed: u64) -> Result<Check, Error> {
        let rows = ROWS.at(size);
        let mut rng = Rng::new(seed);
        let boards: Vec<Board> = (0..BOARDS.at(size)).map(|_| Board::random(rows, &mut rng)).collect();
        let mut begun = Vec::new();
        for (index, board) in boards.iter().enumerate() {
            board.begin(0, [0; 3], index as u32, &mut begun);
        }
        let tasks = begun.len() as u32;
        let blocked: Vec<u32> = boards.iter().flat_map(|board| board.blocked.iter().copied()).collect();

        let mut job = Job::new(dev, &INFO, ptx)?;
        let squares = job.upload("blocked", &blocked)?;
        let beginnings = job.upload("begun", &begun.concat())?;
        let blocks = tasks.div_ceil(BLOCK);
        let found = job.zeros::<u32>("found", blocks as usize)?;
        let args = Args::new().ptr(squares).ptr(beginnings).i32(tasks as i32);
        let args = args.i32(rows as i32).i32(BEGUN as i32).ptr(found);
        job.launch("nqu_count", blocks, BLOCK, args)?;
        let found: Vec<u32> = job.download(found, blocks as usize)?;
        job.finish()?;

        let expected: Vec<u32> = begun
            .chunks(BLOCK as usize)
            .map(|block| {
                block.iter().map(|[c, l, r, b]| boards[*b as usize].count(BEGUN, [*c, *l, *r])).sum()
            })
            .collect();
        Ok(Check::exact().output("found", &expected, &found))
    }
}

/// The squares of each row that no queen may take.
struct Board {
    blocked: Vec<u32>,
}

impl Board {
    fn random(rows: u32, rng: &mut Rng) -> Self {
        let mut blocked = vec![0; rows as usize];
        for _ in 0..BLOCKED {
            blocked[rng.below(rows) as usize] |= 1 << rng.below(rows);
        }
        Board { blocked }
    }

    /// What a queen on a square of a row adds to columns and diagonals under attack, for all free squares.
    fn next(&self, row: u32, [columns, left, right]: [u32; 3]) -> impl Iterator<Item = [u32; 3]> {
        let attacked = columns | left | right | self.blocked[row as usize];
        let mut free = !attacked & ((1 << self.blocked.len()) - 1);
        std::iter::from_fn(move || {
            let queen = free & free.wrapping_neg();
            free ^= queen;
            (queen != 0).then_some([columns | queen, (left | queen) << 1, (right | queen) >> 1])
        })
    }

    /// All ways to set the first rows.
    fn begin(&self, row: u32, attacks: [u32; 3], index: u32, begun: &mut Vec<[u32; 4]>) {
        for [c, l, r] in self.next(row, attacks) {
            match row + 1 {
                BEGUN => begun.push([c, l, r, index]),
                row => self.begin(row, [c, l, r], index, begun),
            }
        }
    }

    /// Ways to complete a board from this row on.
    fn count(&self, row: u32, attacks: [u32; 3]) -> u32 {
        if row as usize == self.blocked.len() {
            return 1;
        }
        self.next(row, attacks).map(|attacks| self.count(row + 1, attacks)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_boards_have_the_known_numbers_of_solutions() {
        for (rows, solutions) in [(4, 2), (6, 4), (8, 92)] {
            assert_eq!(Board { blocked: vec![0; rows] }.count(0, [0; 3]), solutions);
        }
        let mut begun = Vec::new();
        Board { blocked: vec![0; 8] }.begin(0, [0; 3], 7, &mut begun);
        assert_eq!(begun.len(), 140);
        assert!(begun.iter().all(|task| task[3] == 7));
    }
}
