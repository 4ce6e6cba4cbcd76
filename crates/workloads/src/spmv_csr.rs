// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sparse matrix by vector from compressed rows, a thread a row and a warp a row, after SHOC's spmv.

use crate::check::Check;
use crate::fused::{add_pairs, dot};
use crate::job::{FLOAT, Job};
use crate::rng::Rng;
use crate::{Data, Dim, Fill, Info, Kernel, Known, Size, Workload};
use warpwatt_runtime::{Args, Device, Error};

const BLOCK: u32 = 128;
const ROWS: Dim = Dim::new("rows", [130, 3_840, 7_680, 23_040]);
// Elements of a row in the mean.
const DENSITY: Dim = Dim::new("elements", [24, 40, 130, 430]);

static INFO: Info = Info {
    name: "spmv_csr",
    about: "sparse rows by vector",
    domain: "linear algebra",
    suite: "SHOC",
    program: "Spmv",
    kernels: &[
        Kernel::after("spmv_scalar", "spmv_csr_scalar_kernel", [128, 1, 1], "once"),
        Kernel::after("spmv_vector", "spmv_csr_vector_kernel", [128, 1, 1], "once"),
    ],
    missing: &["spmv_ellpackr_kernel, which reads another form of the matrix"],
    order_dependent: false,
    data: Data::Integer,
    dims: &[ROWS, DENSITY],
    fill: Fill::Full,
    known: Known::Recalled,
    shape_from: "blocks of 128 threads, a thread a row and a warp a row, the vector through a texture, as SHOC's",
    values_from: "one element in a hundred places of SHOC's random matrix, here as many as the size says in random columns, from 0 to 10",
    generator: 3,
    source: include_str!("../cuda/spmv_csr.cu"),
    ptx: include_str!("../ptx/spmv_csr.ptx"),
};

pub struct SpmvCsr;

impl Workload for SpmvCsr {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn run(&self, dev: &mut Device, ptx: &str, size: Size, seed: u64) -> Result<Check, Error> {
        let (rows, density) = (ROWS.at(size), DENSITY.at(size));
        let mut rng = Rng::new(seed);
        let mut starts = vec![0i32];
        let mut columns = Vec::new();
        for _ in 0..rows {
            let mut row: Vec<i32> =
                (0..density / 2 + rng.below(density)).map(|_| rng.below(rows) as i32).collect();
            row.sort_unstable();
            row.dedup();
            columns.append(&mut row);
            starts.push(columns.len() as i32);
        }
        let values = rng.floats(columns.len(), 0.0, 10.0);
        let vector = rng.floats(rows as usize, 0.0, 10.0);

        let mut job = Job::new(dev, &INFO, ptx)?;
        let from = job.upload("vector", &vector)?;
        let texture = job.linear_texture(from, 4 * vector.len(), FLOAT);
        let args = Args::new()
            .ptr(job.upload("values", &values)?)
            .ptr(job.upload("columns", &columns)?)
            .ptr(job.upload("starts", &starts)?)
            .i32(rows as i32)
            .u64(texture);
        let scalar = job.zeros::<f32>("scalar", rows as usize)?;
        let warped = job.zeros::<f32>("warped", rows as usize)?;
        job.launch("spmv_scalar", rows.div_ceil(BLOCK), BLOCK, args.clone().ptr(scalar))?;
        job.launch("spmv_vector", rows.div_ceil(BLOCK / 32), BLOCK, args.ptr(warped))?;
        let scalar: Vec<f32> = job.download(scalar, rows as usize)?;
        let warped: Vec<f32> = job.download(warped, rows as usize)?;
        job.finish()?;

        let row = |row: &[i32]| row[0] as usize..row[1] as usize;
        let factors: Vec<f32> = columns.iter().map(|column| vector[*column as usize]).collect();
        let product = |pair: &[i32]| dot(0.0, &values[row(pair)], &factors[row(pair)]);
        let want: Vec<f32> = starts.windows(2).map(product).collect();
        let by_warp = |pair: &[i32]| {
            let mut sums = [0.0; 32];
            for (values, factors) in values[row(pair)].chunks(32).zip(factors[row(pair)].chunks(32)) {
                add_pairs(&mut sums, values, factors);
            }
            for reach in [16, 8, 4, 2, 1] {
                for at in 0..reach {
                    sums[at] += sums[at + reach];
                }
            }
            sums[0]
        };
        let want_warped: Vec<f32> = starts.windows(2).map(by_warp).collect();
        Ok(Check::exact().output("scalar", &want, &scalar).output("warped", &want_warped, &warped))
    }
}
