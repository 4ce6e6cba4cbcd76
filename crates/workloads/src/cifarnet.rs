// SPDX-License-Identifier: MIT OR Apache-2.0
//! Recognises small pictures with a network of three convolutions and two full connections, after CifarNet of the Tango suite.

use crate::check::Check;
use crate::images::photo;
use crate::job::Job;
use crate::layers::{Convolution, Weights, connect, most, pool, rectify};
use crate::rng::Rng;
use crate::{Data, Dim, Fill, Info, Kernel, Known, Size, Workload};
use warpwatt_runtime::{Args, Device, Error};

const WIDE: u32 = 32;
const HIGH: u32 = 8;
/// Threads of a full connection, at least its neurons.
const NEURONS: u32 = 64;
const CLASSES: usize = 9;
// Pixels of a side, a multiple of 4.
const SIDE: Dim = Dim::new("side", [8, 32, 32, 32]);
// An eighth of the maps: 4, 4 and 8 times as many in the convolutions.
const MAPS: Dim = Dim::new("maps", [1, 2, 3, 6]);
const PICTURES: Dim = Dim::new("pictures", [2, 1, 1, 4]);

static INFO: Info = Info {
    name: "cifarnet",
    about: "recognises small pictures",
    domain: "machine learning",
    suite: "Tango",
    program: "CifarNet",
    kernels: &[
        Kernel::after(
            "cifar_conv",
            "ExecuteFirstLayer and two more",
            [32, 32, 1],
            "once a convolution, in one block",
        )
        .but([WIDE, HIGH, 1], "once a convolution"),
        Kernel::after("cifar_pool_most", "pooling1", [32, 32, 1], "once, in one block")
            .but([WIDE, HIGH, 1], "once"),
        Kernel::after(
            "cifar_pool_mean",
            "pooling2 and pooling3",
            [32, 32, 1],
            "once a pooling, in one block",
        )
        .but([WIDE, HIGH, 1], "once a pooling"),
        Kernel::after(
            "cifar_connect",
            "ExecuteFourthLayer and one more",
            [64, 1, 1],
            "once a full connection",
        )
        .block_unknown(),
    ],
    missing: &[],
    order_dependent: false,
    data: Data::Integer,
    dims: &[SIDE, MAPS, PICTURES],
    fill: Fill::Partial("poolings and full connections have few threads: in the network"),
    known: Known::Read,
    shape_from: "a thread a cell; the original has one block of 32 x 32 threads whose threads go through all maps, in double precision; ours has blocks of 32 x 8 and a block of each map, in single precision, so that a GPU is filled. Names of kernels after the first pooling are recalled",
    values_from: "generated photographs of 32 x 32 pixels in three colours, less their mean; weights with the variance that training keeps; nine classes",
    generator: 3,
    source: include_str!("../cuda/cifarnet.cu"),
    ptx: include_str!("../ptx/cifarnet.ptx"),
};

pub struct Cifarnet;

impl Workload for Cifarnet {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn run(&self, dev: &mut Device, ptx: &str, size: Size, seed: u64) -> Result<Check, Error> {
        let (side, maps, count) =
            (SIDE.at(size) as usize, MAPS.at(size) as usize, PICTURES.at(size) as usize);
        let mut rng = Rng::new(seed);
        let pictures: Vec<Vec<f32>> = (0..count)
            .map(|_| {
                (0..3)
                    .flat_map(|_| photo(side, side, &mut rng))
                    .map(|pixel| f32::from(pixel) - 128.0)
                    .collect()
            })
            .collect();
        let net = Net::random(side, maps, &mut rng);

        let mut job = Job::new(dev, &INFO, ptx)?;
        let mut at = job.upload("pictures", &pictures.concat())?;
        let mut now = side;
        for (index, (convolution, layer)) in net.convolutions.iter().enumerate() {
            let weights = job.upload("weights", &layer.weights)?;
            let bias = job.upload("bias", &layer.bias)?;
            let maps = convolution.maps;
            let full = job.zeros::<f32>("maps", count * maps * now * now)?;
            // The first one is rectified after pooling.
            let least = if index == 0 { f32::MIN } else { 0.0 };
            let args = Args::new().ptr(at).ptr(weights).ptr(bias).ptr(full);
            let args = args.i32(now as i32).i32(convolution.inputs as i32).f32(least);
            let grid = (maps as u32, (now as u32).div_ceil(HIGH), count as u32);
            job.launch("cifar_conv", grid, (WIDE, HIGH), args)?;
            at = job.zeros::<f32>("pooled", count * maps * (now / 2) * (now / 2))?;
            let kernel = if index == 0 { "cifar_pool_most" } else { "cifar_pool_mean" };
            let grid = (maps as u32, (now as u32 / 2).div_ceil(HIGH), count as u32);
            job.launch(kernel, grid, (WIDE, HIGH), Args::new().ptr(full).ptr(at).i32(now as i32))?;
            now /= 2;
        }
        let features: Vec<f32> = job.download(at, count * 8 * maps * now * now)?;
        let mut inputs = 8 * maps * now * now;
        for layer in &net.connections {
            let weights = job.upload("weights", &layer.weights)?;
            let bias = job.upload("bias", &layer.bias)?;
            let outputs = layer.bias.len();
            let out = job.zeros::<f32>("neurons", count * outputs)?;
            let args =
                Args::new().ptr(at).ptr(weights).ptr(bias).ptr(out).i32(inputs as i32).i32(outputs as i32);
            job.launch("cifar_connect", count as u32, NEURONS, args)?;
            (at, inputs) = (out, outputs);
        }
        let scores: Vec<f32> = job.download(at, count * CLASSES)?;
        job.finish()?;

        let (want_features, want): (Vec<_>, Vec<_>) =
            pictures.iter().map(|picture| net.read(picture, side)).unzip();
        Ok(Check::exact().output("features", &want_features.concat(), &features).output(
            "scores",
            &want.concat(),
            &scores,
        ))
    }
}

struct Net {
    convolutions: Vec<(Convolution, Weights)>,
    connections: [Weights; 2],
}

impl Net {
    fn random(side: usize, maps: usize, rng: &mut Rng) -> Self {
        let shapes = [(3, 4 * maps), (4 * maps, 4 * maps), (4 * maps, 8 * maps)];
        let convolutions = shapes.map(|(inputs, maps)| {
            let convolution = Convolution { inputs, maps, reach: 5, stride: 1, pad: 2, groups: 1 };
            (convolution, Weights::random(convolution.taps(), maps, rng))
        });
        let features = 8 * maps * (side / 8) * (side / 8);
        let connections = [
            Weights::random(features, NEURONS as usize, rng),
            Weights::random(NEURONS as usize, CLASSES, rng),
        ];
        Net { convolutions: convolutions.into(), connections }
    }

    /// Features after the last pooling, and scores.
    fn read(&self, picture: &[f32], side: usize) -> (Vec<f32>, Vec<f32>) {
        let mean = |cells: &[f32]| cells.iter().fold(0.0, |sum, cell| sum + cell) / cells.len() as f32;
        let (mut values, mut side) = (picture.to_vec(), side);
        for (index, (convolution, layer)) in self.convolutions.iter().enumerate() {
            let sums = convolution.apply(&values, side, layer);
            values = match index {
                0 => rectify(pool(&sums, side, side / 2, most)),
                _ => pool(&rectify(sums), side, side / 2, mean),
            };
            side /= 2;
        }
        let hidden = connect(&values, &self.connections[0]);
        let scores = connect(&hidden, &self.connections[1]);
        (values, scores)
    }
}
