// SPDX-License-Identifier: MIT OR Apache-2.0
//! Layers of convolutional networks: generated weights, and references that add in the order of the kernels.

use std::ops::Range;

use crate::fused::{Fused, dot, with_fused};
use crate::rng::Rng;

/// A convolution: `maps` maps of results from squares of `reach` cells, of `inputs` maps each.
#[derive(Clone, Copy)]
pub struct Convolution {
    pub inputs: usize,
    pub maps: usize,
    pub reach: usize,
    pub stride: usize,
    pub pad: usize,
    /// Groups that inputs and results are divided into; a group of results sees one of inputs.
    pub groups: usize,
}

/// Weights and biases of a layer.
pub struct Weights {
    pub weights: Vec<f32>,
    pub bias: Vec<f32>,
}

impl Weights {
    /// As training starts from and mostly leaves them: roughly normal, with a variance of two by the number of inputs (He et al.,
    /// "Delving deep into rectifiers", 2015), and small biases.
    pub fn random(inputs: usize, outputs: usize, rng: &mut Rng) -> Self {
        let spread = (2.0 / inputs as f32).sqrt();
        let weights = rng.bells(inputs * outputs).into_iter().map(|weight| spread * weight).collect();
        Weights { weights, bias: rng.floats(outputs, -0.1, 0.1) }
    }
}

impl Convolution {
    /// Inputs of one result.
    pub fn taps(&self) -> usize {
        self.inputs / self.groups * self.reach * self.reach
    }

    pub fn out_side(&self, side: usize) -> usize {
        (side + 2 * self.pad - self.reach) / self.stride + 1
    }

    /// Sums of all results before rectification.
    pub fn apply(&self, input: &[f32], side: usize, layer: &Weights) -> Vec<f32> {
        let out_side = self.out_side(side);
        let in_group = self.inputs / self.groups;
        let columns = self.columns(side);
        let mut out = Vec::with_capacity(self.maps * out_side * out_side);
        for map in 0..self.maps {
            let first = map / (self.maps / self.groups) * in_group;
            let taps = &layer.weights[map * self.taps()..][..self.taps()];
            for y in 0..out_side {
                let mut sums = vec![layer.bias[map]; out_side];
                for (at, taps) in taps.chunks_exact(self.reach).enumerate() {
                    let (m, i) = (at / self.reach, at % self.reach);
                    let row = (y * self.stride + i).wrapping_sub(self.pad);
                    if row < side {
                        let cells = &input[((first + m) * side + row) * side..][..side];
                        add_taps(&mut sums, taps, &columns, cells, self.stride);
                    }
                }
                out.extend(sums);
            }
        }
        out
    }

    /// For the taps of a row: the results whose cell lies in a row of as many cells, and the first such cell.
    fn columns(&self, side: usize) -> Vec<(Range<usize>, usize)> {
        let column = |j: usize| {
            let first = self.pad.saturating_sub(j).div_ceil(self.stride);
            let end = (side + self.pad).saturating_sub(j).div_ceil(self.stride).min(self.out_side(side));
            (first..end.max(first), (first * self.stride + j - self.pad).min(side))
        };
        (0..self.reach).map(column).collect()
    }
}

with_fused! {
    /// Adds the products of a row of taps with a row of cells to a row of results.
    fn add_taps(sums: &mut [f32], taps: &[f32], columns: &[(Range<usize>, usize)], cells: &[f32], stride: usize) {
        |fused| add_taps_with(fused, sums, taps, columns, cells, stride)
    }
}

#[inline(always)]
fn add_taps_with(
    fused: impl Fused,
    sums: &mut [f32],
    taps: &[f32],
    columns: &[(Range<usize>, usize)],
    cells: &[f32],
    stride: usize,
) {
    for (tap, (results, first)) in taps.iter().zip(columns) {
        let (sums, cells) = (&mut sums[results.clone()], &cells[*first..]);
        if stride == 1 {
            for (sum, cell) in sums.iter_mut().zip(cells) {
                *sum = fused.fma(*tap, *cell, *sum);
            }
        } else {
            for (sum, cells) in sums.iter_mut().zip(cells.chunks(stride)) {
                *sum = fused.fma(*tap, cells[0], *sum);
            }
        }
    }
}

pub fn rectify(values: Vec<f32>) -> Vec<f32> {
    values.into_iter().map(|value| value.max(0.0)).collect()
}

/// Sums of a fully connected layer.
pub fn connect(input: &[f32], layer: &Weights) -> Vec<f32> {
    let rows = layer.weights.chunks_exact(input.len()).zip(&layer.bias);
    rows.map(|(row, bias)| dot(*bias, row, input)).collect()
}

/// Each 3 x 3 cells of every map, every second row and column, made into one by `join`. Cells beyond the map are left out.
pub fn pool(input: &[f32], side: usize, out_side: usize, join: impl Fn(&[f32]) -> f32) -> Vec<f32> {
    let mut out = Vec::new();
    for map in input.chunks_exact(side * side) {
        for (y, x) in (0..out_side * out_side).map(|at| (at / out_side, at % out_side)) {
            let inside =
                (0..9).map(|at| (2 * y + at / 3, 2 * x + at % 3)).filter(|(i, j)| *i < side && *j < side);
            let cells: Vec<f32> = inside.map(|(i, j)| map[i * side + j]).collect();
            out.push(join(&cells));
        }
    }
    out
}

pub fn most(cells: &[f32]) -> f32 {
    cells.iter().copied().fold(f32::NEG_INFINITY, f32::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fused::fma;

    #[test]
    fn a_single_tap_moves_a_map_and_groups_see_their_own_inputs() {
        let convolution = Convolution { inputs: 2, maps: 2, reach: 3, stride: 1, pad: 1, groups: 2 };
        let mut layer = Weights { weights: vec![0.0; 18], bias: vec![0.0, 10.0] };
        // The first map takes the cell above, the second the cell itself.
        layer.weights[1] = 1.0;
        layer.weights[9 + 4] = 1.0;
        let input: Vec<f32> = (0..18).map(|at| at as f32).collect();
        let out = convolution.apply(&input, 3, &layer);
        assert_eq!(out[..9], [0.0, 0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
        assert_eq!(out[9..], (19..28).map(|at| at as f32).collect::<Vec<_>>());
    }

    #[test]
    fn rows_at_once_are_those_cell_by_cell() {
        let mut rng = Rng::new(5);
        for (reach, stride, pad, side) in [(3, 1, 1, 7), (5, 2, 2, 9), (4, 3, 0, 11), (3, 2, 1, 8)] {
            let convolution = Convolution { inputs: 2, maps: 3, reach, stride, pad, groups: 1 };
            let layer = Weights::random(convolution.taps(), 3, &mut rng);
            let input = rng.floats(2 * side * side, -1.0, 1.0);
            let out_side = convolution.out_side(side);
            let plain = (0..3 * out_side * out_side).map(|at| {
                let (map, y, x) = (at / out_side / out_side, at / out_side % out_side, at % out_side);
                let taps = layer.weights[map * convolution.taps()..][..convolution.taps()].iter().enumerate();
                taps.fold(layer.bias[map], |sum, (at, tap)| {
                    let (m, i, j) = (at / reach / reach, at / reach % reach, at % reach);
                    let (row, column) = (y * stride + i, x * stride + j);
                    let inside = |at: usize| (pad..side + pad).contains(&at);
                    if !inside(row) || !inside(column) {
                        return sum;
                    }
                    fma(*tap, input[(m * side + row - pad) * side + column - pad], sum)
                })
            });
            assert_eq!(convolution.apply(&input, side, &layer), plain.collect::<Vec<_>>());
        }
    }

    #[test]
    fn pooling_takes_the_largest_and_keeps_inside() {
        let map: Vec<f32> = (0..16).map(|at| at as f32).collect();
        assert_eq!(pool(&map, 4, 2, most), [10.0, 11.0, 14.0, 15.0]);
    }
}
