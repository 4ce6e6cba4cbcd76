// SPDX-License-Identifier: MIT OR Apache-2.0
//! K-means clustering with the points read through a texture and the centres in constant memory, as Rodinia's kmeans does: inputs and
//! reference are those of `kmeans`.

use crate::check::Check;
use crate::job::{FLOAT, Job};
use crate::kmeans::{CENTRES, FEATURES, means, records, reference};
use crate::{Data, Dim, Fill, Info, Kernel, Known, Size, Workload};
use warpwatt_runtime::{Args, Device, Error};

const BLOCK: u32 = 256;
const POINTS: Dim = Dim::new("points", [276, 3_800, 7_600, 38_300]);
const ROUNDS: Dim = Dim::new("rounds", [2, 2, 3, 6]);

static INFO: Info = Info {
    name: "kmeans_texture",
    about: "clusters through textures",
    domain: "data mining",
    suite: "Rodinia",
    program: "kmeans",
    kernels: &[
        Kernel::after("kmeans_texture_invert", "invert_mapping", [256, 1, 1], "once"),
        Kernel::after("kmeans_texture_assign", "kmeansPoint", [256, 1, 1], "once a round"),
    ],
    missing: &[],
    order_dependent: false,
    data: Data::Float,
    dims: &[POINTS, ROUNDS],
    fill: Fill::Full,
    known: Known::Recalled,
    shape_from: "Rodinia's block of 256 threads, a point a thread, features through a texture of floats, centres in constant memory",
    values_from: "34 features with the ranges of the KDD Cup 1999 network data that Rodinia uses",
    generator: 3,
    source: include_str!("../cuda/kmeans_texture.cu"),
    ptx: include_str!("../ptx/kmeans_texture.ptx"),
};

pub struct KmeansTexture;

impl Workload for KmeansTexture {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn run(&self, dev: &mut Device, ptx: &str, size: Size, seed: u64) -> Result<Check, Error> {
        let (points, rounds) = (POINTS.at(size), ROUNDS.at(size));
        let count = points as usize;
        let data = records(count, seed);
        let grid = points.div_ceil(BLOCK);

        let mut job = Job::new(dev, &INFO, ptx)?;
        let by_point = job.upload("points", &data)?;
        let by_feature = job.zeros::<f32>("features", data.len())?;
        let texture = job.linear_texture(by_feature, 4 * data.len(), FLOAT);
        let membership = job.zeros::<i32>("membership", count)?;
        let distance = job.zeros::<f32>("distance", count)?;
        let args = Args::new().ptr(by_point).ptr(by_feature).i32(points as i32);
        job.launch("kmeans_texture_invert", grid, BLOCK, args)?;
        let mut centres = data[..CENTRES * FEATURES].to_vec();
        let mut nearest = Vec::new();
        for _ in 0..rounds {
            job.write_symbol("centres", &centres)?;
            let args = Args::new().u64(texture).i32(points as i32).i32(CENTRES as i32);
            job.launch("kmeans_texture_assign", grid, BLOCK, args.ptr(membership).ptr(distance))?;
            nearest = job.download(membership, count)?;
            centres = means(&data, &nearest);
        }
        let distances = job.download(distance, count)?;
        job.finish()?;

        let (want_nearest, want_distances, want_centres) = reference(&data, rounds);
        Ok(Check::exact()
            .output("membership", &want_nearest, &nearest)
            .output("distance", &want_distances, &distances)
            .output("centres", &want_centres, &centres))
    }
}
