// SPDX-License-Identifier: MIT OR Apache-2.0
//! Recognises a picture with a network after AlexNet, as in the Tango suite: five convolutions, of which some have two groups, two
//! normalisations, three poolings and three full connections.

use crate::check::Check;
use crate::fused::fma;
use crate::images::photo;
use crate::job::Job;
use crate::layers::{Convolution, Weights, connect, most, pool, rectify};
use crate::rng::Rng;
use crate::{Data, Dim, Fill, Info, Kernel, Known, Size, Workload};
use warpwatt_runtime::{Args, Device, DevicePtr, Error};

const TILE: u32 = 16;
const BLOCK: u32 = 64;
// Pixels of a side of the picture; the original has 227.
const SIDE: Dim = Dim::new("side", [35, 55, 71, 135]);
// A thirty-second of the maps: 3, 8, 12, 12 and 8 times as many in the convolutions.
const MAPS: Dim = Dim::new("maps", [1, 3, 4, 7]);
// Cells of a side that the first convolution reaches; the original's are the larger.
const REACH: Dim = Dim::new("reach", [5, 11, 11, 11]);

static INFO: Info = Info {
    name: "alexnet",
    about: "recognises a picture",
    domain: "machine learning",
    suite: "Tango",
    program: "AlexNet",
    kernels: &[
        Kernel::after(
            "alex_conv",
            "executeFirstLayer and others",
            [32, 32, 1],
            "once a convolution, a part of a map each",
        )
        .but([TILE, TILE, 1], "once a convolution"),
        Kernel::after("alex_norm", "executelrnNorm", [32, 32, 1], "once a normalisation")
            .block_unknown()
            .but([TILE, TILE, 1], "once a normalisation"),
        Kernel::after("alex_pool", "executepooling", [32, 32, 1], "once a pooling")
            .block_unknown()
            .but([TILE, TILE, 1], "once a pooling"),
        Kernel::after("alex_connect", "executeFC", [1, 1, 1], "once a full connection")
            .block_unknown()
            .but([BLOCK, 1, 1], "once a full connection"),
    ],
    missing: &["softmax, which does not change what is recognised"],
    order_dependent: false,
    data: Data::Integer,
    dims: &[SIDE, MAPS, REACH],
    fill: Fill::Partial("the later layers have small maps, full connections few neurons: in the network"),
    known: Known::Recalled,
    shape_from: "a block a map, a thread a cell, as in Tango, whose first convolution has 96 blocks of 32 x 32 threads and three more for the edges of the map (read in a public copy; the names of the other kernels are recalled); ours has squares of 16 x 16. Picture and number of maps are scaled down together",
    values_from: "a generated photograph, less its mean; weights with the variance that training keeps",
    generator: 3,
    source: include_str!("../cuda/alexnet.cu"),
    ptx: include_str!("../ptx/alexnet.ptx"),
};

pub struct Alexnet;

impl Workload for Alexnet {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn run(&self, dev: &mut Device, ptx: &str, size: Size, seed: u64) -> Result<Check, Error> {
        let net = Net::random(SIDE.at(size) as usize, MAPS.at(size) as usize, REACH.at(size) as usize, seed);
        let mut job = Job::new(dev, &INFO, ptx)?;
        let (features, scores) = net.launch(&mut job)?;
        job.finish()?;
        let (want_features, want_scores) = net.reference();
        Ok(Check::exact().output("features", &want_features, &features).output(
            "scores",
            &want_scores,
            &scores,
        ))
    }
}

struct Net {
    side: usize,
    picture: Vec<f32>,
    convolutions: Vec<(Convolution, Weights)>,
    connections: Vec<Weights>,
}

/// Cells of a side after pooling.
fn pooled(side: usize) -> usize {
    (side - 3) / 2 + 1
}

impl Net {
    fn random(side: usize, maps: usize, reach: usize, seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let picture = (0..3).flat_map(|_| photo(side, side, &mut rng)).map(|pixel| f32::from(pixel) - 128.0);
        let picture = picture.collect();
        let shapes = [
            (3, 3 * maps, reach, 4, 0, 1),
            (3 * maps, 8 * maps, 5, 1, 2, 1),
            (8 * maps, 12 * maps, 3, 1, 1, 1),
            (12 * maps, 12 * maps, 3, 1, 1, 2),
            (12 * maps, 8 * maps, 3, 1, 1, 2),
        ];
        let convolutions: Vec<(Convolution, Weights)> = shapes
            .into_iter()
            .map(|(inputs, maps, reach, stride, pad, groups)| {
                let convolution = Convolution { inputs, maps, reach, stride, pad, groups };
                let weights = Weights::random(convolution.taps(), maps, &mut rng);
                (convolution, weights)
            })
            .collect();
        let after = convolutions.iter().enumerate().fold(side, |side, (at, (convolution, _))| {
            let side = convolution.out_side(side);
            if at < 2 { pooled(side) } else { side }
        });
        let features = 8 * maps * after * after;
        let sizes = [features, 64 * maps, 64 * maps, 31 * maps];
        let connections = sizes.windows(2).map(|pair| Weights::random(pair[0], pair[1], &mut rng)).collect();
        Net { side, picture, convolutions, connections }
    }

    /// Features of the last convolution, and scores of all classes.
    fn launch(&self, job: &mut Job<'_>) -> Result<(Vec<f32>, Vec<f32>), Error> {
        let mut at = job.upload("picture", &self.picture)?;
        let (mut side, mut maps) = (self.side, 3);
        let grid = |maps: usize, side: usize| {
            let tiles = (side as u32).div_ceil(TILE);
            (maps as u32, tiles, tiles)
        };
        for (index, (convolution, layer)) in self.convolutions.iter().enumerate() {
            let weights = job.upload("weights", &layer.weights)?;
            let bias = job.upload("bias", &layer.bias)?;
            let out_side = convolution.out_side(side);
            maps = convolution.maps;
            let out = job.zeros::<f32>("maps", maps * out_side * out_side)?;
            let args =
                Args::new().ptr(at).ptr(weights).ptr(bias).ptr(out).i32(side as i32).i32(out_side as i32);
            let groups = convolution.groups;
            let args = args.i32((convolution.inputs / groups) as i32).i32((maps / groups) as i32);
            let args =
                args.i32(convolution.reach as i32).i32(convolution.stride as i32).i32(convolution.pad as i32);
            job.launch("alex_conv", grid(maps, out_side), (TILE, TILE), args)?;
            (at, side) = (out, out_side);
            if index < 2 {
                let normed = job.zeros::<f32>("normalised", maps * side * side)?;
                let args = Args::new().ptr(at).ptr(normed).i32(side as i32).i32(maps as i32);
                job.launch("alex_norm", grid(maps, side), (TILE, TILE), args)?;
                let small = pooled(side);
                at = job.zeros::<f32>("pooled", maps * small * small)?;
                let args = Args::new().ptr(normed).ptr(at).i32(side as i32).i32(small as i32);
                job.launch("alex_pool", grid(maps, small), (TILE, TILE), args)?;
                side = small;
            }
        }
        let features: Vec<f32> = job.download(at, maps * side * side)?;
        let mut inputs = features.len();
        for (index, layer) in self.connections.iter().enumerate() {
            let last = index + 1 == self.connections.len();
            at = self.connection(job, at, inputs, layer, if last { f32::MIN } else { 0.0 })?;
            inputs = layer.bias.len();
        }
        Ok((features, job.download(at, inputs)?))
    }

    fn connection(
        &self,
        job: &mut Job<'_>,
        input: DevicePtr,
        inputs: usize,
        layer: &Weights,
        least: f32,
    ) -> Result<DevicePtr, Error> {
        let weights = job.upload("weights", &layer.weights)?;
        let bias = job.upload("bias", &layer.bias)?;
        let outputs = layer.bias.len();
        let out = job.zeros::<f32>("neurons", outputs)?;
        let args = Args::new().ptr(input).ptr(weights).ptr(bias).ptr(out);
        let args = args.i32(inputs as i32).i32(outputs as i32).f32(least);
        job.launch("alex_connect", (outputs as u32).div_ceil(BLOCK), BLOCK, args)?;
        Ok(out)
    }

    fn reference(&self) -> (Vec<f32>, Vec<f32>) {
        let (mut values, mut side) = (self.picture.clone(), self.side);
        for (index, (convolution, layer)) in self.convolutions.iter().enumerate() {
            values = rectify(convolution.apply(&values, side, layer));
            side = convolution.out_side(side);
            if index < 2 {
                values = pool(&normalise(&values, side * side), side, pooled(side), most);
                side = pooled(side);
            }
        }
        let features = values;
        let mut values = features.clone();
        for (index, layer) in self.connections.iter().enumerate() {
            values = connect(&values, layer);
            if index + 1 < self.connections.len() {
                values = rectify(values);
            }
        }
        (features, values)
    }
}

fn normalise(values: &[f32], cells: usize) -> Vec<f32> {
    let maps = values.len() / cells;
    let one = |at: usize| {
        let (map, cell) = (at / cells, at % cells);
        let near = map.saturating_sub(2)..(map + 3).min(maps);
        let sum = near.map(|m| values[m * cells + cell]).fold(0.0, |sum, value| fma(value, value, sum));
        let root = fma(2e-5, sum, 1.0).sqrt();
        values[at] / (root * root.sqrt())
    };
    (0..values.len()).map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normalisation_weighs_by_the_neighbours() {
        let alone = normalise(&[0.0, 0.0, 100.0, 0.0, 0.0, 0.0], 1);
        let expected = 100.0 / libm::pow(1.2, 0.75);
        assert!((f64::from(alone[2]) - expected).abs() < 1e-4, "{alone:?}");
        assert!(normalise(&[100.0, 100.0], 1)[0] < alone[2]);
    }
}
