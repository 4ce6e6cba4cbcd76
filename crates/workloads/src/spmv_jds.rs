// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sparse matrix times vector in jagged diagonal storage, after Parboil's spmv. The matrices are made in the likeness of the stiffness
//! matrices (bcsstk18 and its kin) that Parboil reads: symmetric places near the diagonal, rows of very different length.

use crate::check::Check;
use crate::fused::fma;
use crate::job::Job;
use crate::rng::Rng;
use crate::{Data, Dim, Fill, Info, Kernel, Known, Size, Workload};
use warpwatt_runtime::{Args, Device, Error};

const BLOCK: u32 = 192;
/// Rows that share a depth: their shorter ones are filled up with zeros.
const GROUP: usize = 32;
const ROWS: Dim = Dim::new("rows", [701, 11_520, 46_080, 92_160]);
const ROUNDS: Dim = Dim::new("rounds", [2, 2, 5, 20]);
const DEEPEST: usize = 49;
/// Columns on each side of the diagonal that have entries.
const BAND: usize = 400;

static INFO: Info = Info {
    name: "spmv_jds",
    about: "sparse matrix times vector",
    domain: "linear algebra",
    suite: "Parboil",
    program: "spmv",
    kernels: &[Kernel::after("spmv_jds", "spmv_jds", [BLOCK, 1, 1], "once a round, 50 rounds")
        .but([BLOCK, 1, 1], "once a round")
        .block_unknown()],
    missing: &[],
    order_dependent: false,
    data: Data::Mixed,
    dims: &[ROWS, ROUNDS],
    fill: Fill::Full,
    known: Known::Recalled,
    shape_from: "a thread a row, rows in order of length, starts of diagonals and depths of groups in constant memory. Parboil's host computes the block from the device; 192 threads fill a Fermi SM",
    values_from: "rows of 1 to 49 entries, 12 in the mean, near the diagonal, magnitudes over several powers of ten with both signs, as in stiffness matrices of structures; the vector is uniform from 0 to 1",
    generator: 3,
    source: include_str!("../cuda/spmv_jds.cu"),
    ptx: include_str!("../ptx/spmv_jds.ptx"),
};

pub struct SpmvJds;

impl Workload for SpmvJds {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn run(&self, dev: &mut Device, ptx: &str, size: Size, seed: u64) -> Result<Check, Error> {
        let rows = ROWS.at(size);
        let mut rng = Rng::new(seed);
        let matrix = matrix(rows as usize, &mut rng);
        let x = rng.floats(rows as usize, 0.0, 1.0);
        let jagged = Jagged::new(&matrix);

        let mut job = Job::new(dev, &INFO, ptx)?;
        job.write_symbol("diagonal_start", &jagged.starts)?;
        job.write_symbol("group_depth", &jagged.depths)?;
        let data = job.upload("data", &jagged.data)?;
        let columns = job.upload("columns", &jagged.columns)?;
        let row_of = job.upload("rows", &jagged.row_of)?;
        let vector = job.upload("x", &x)?;
        let out = job.zeros::<f32>("product", rows as usize)?;
        for _ in 0..ROUNDS.at(size) {
            let args = Args::new().ptr(out).ptr(data).ptr(columns).ptr(row_of).ptr(vector).i32(rows as i32);
            job.launch("spmv_jds", rows.div_ceil(BLOCK), BLOCK, args)?;
        }
        let product = job.download(out, rows as usize)?;
        job.finish()?;

        let expected: Vec<f32> = matrix
            .iter()
            .map(|row| row.iter().fold(0.0, |sum, (column, value)| fma(*value, x[*column], sum)))
            .collect();
        Ok(Check::exact().output("product", &expected, &product))
    }
}

/// Columns and values of each row.
type Rows = Vec<Vec<(usize, f32)>>;

fn matrix(rows: usize, rng: &mut Rng) -> Rows {
    let band = BAND.min(rows - 1) as i32;
    (0..rows)
        .map(|row| {
            // Elements of a mesh come in clusters of like length.
            let mean = if rng.below(4) == 0 { 22.0 } else { 8.0 };
            let length = (mean + 0.45 * mean * rng.bell()).clamp(1.0, DEEPEST as f32) as usize;
            let length = length.min(rows);
            // A bit for each column of the band, whose first may lie before the matrix.
            let first = row as i32 - band;
            let mut taken = [0u64; (2 * BAND + 1).div_ceil(64)];
            let mut take = |column: i32| {
                let at = (column - first) as usize;
                let is_new = taken[at / 64] >> (at % 64) & 1 == 0;
                taken[at / 64] |= 1 << (at % 64);
                usize::from(is_new)
            };
            let mut count = take(row as i32);
            while count < length {
                let near = row as i32 + rng.int(-band, band + 1);
                count += take(near.clamp(0, rows as i32 - 1));
            }
            let mut entries = Vec::with_capacity(length);
            for (at, mut bits) in taken.into_iter().enumerate() {
                while bits != 0 {
                    let column = (first + 64 * at as i32 + bits.trailing_zeros() as i32) as usize;
                    bits &= bits - 1;
                    let magnitude = libm::expf(2.3 * rng.float(-2.0, 4.0));
                    let scale = if column == row { 20.0 } else { rng.unit() - 0.5 };
                    entries.push((column, scale * magnitude));
                }
            }
            entries
        })
        .collect()
}

struct Jagged {
    starts: Vec<i32>,
    depths: Vec<i32>,
    data: Vec<f32>,
    columns: Vec<i32>,
    row_of: Vec<i32>,
}

impl Jagged {
    fn new(matrix: &Rows) -> Self {
        let mut order: Vec<usize> = (0..matrix.len()).collect();
        order.sort_by_key(|row| std::cmp::Reverse(matrix[*row].len()));
        let depths: Vec<usize> = order.chunks(GROUP).map(|group| matrix[group[0]].len()).collect();
        let (mut starts, mut data, mut columns) = (Vec::new(), Vec::new(), Vec::new());
        for depth in 0..depths[0] {
            starts.push(data.len() as i32);
            let groups = depths.iter().filter(|deep| **deep > depth).count();
            for row in order.iter().take(groups * GROUP) {
                let (column, value) = matrix[*row].get(depth).copied().unwrap_or_default();
                data.push(value);
                columns.push(column as i32);
            }
        }
        Jagged {
            starts,
            depths: depths.into_iter().map(|depth| depth as i32).collect(),
            data,
            columns,
            row_of: order.into_iter().map(|row| row as i32).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn storage_holds_every_entry_once() {
        let matrix = matrix(300, &mut Rng::new(4));
        let jagged = Jagged::new(&matrix);
        let entries: usize = matrix.iter().map(Vec::len).sum();
        assert_eq!(jagged.data.iter().filter(|value| **value != 0.0).count(), entries);
        assert!(jagged.depths.windows(2).all(|pair| pair[0] >= pair[1]));
        for (sorted, row) in jagged.row_of.iter().enumerate() {
            let second = matrix[*row as usize].get(1).map_or(0.0, |entry| entry.1);
            if jagged.depths[sorted / GROUP] > 1 {
                assert_eq!(jagged.data[jagged.starts[1] as usize + sorted], second);
            }
        }
    }

    #[test]
    fn rows_are_of_very_different_length() {
        let matrix = matrix(5_000, &mut Rng::new(1));
        let mean = matrix.iter().map(Vec::len).sum::<usize>() as f64 / 5_000.0;
        assert!((10.0..14.0).contains(&mean), "{mean} entries a row");
        assert!(matrix.iter().any(|row| row.len() < 3) && matrix.iter().any(|row| row.len() > 40));
    }
}
