// SPDX-License-Identifier: MIT OR Apache-2.0
//! Images in the likeness of photographs. Their spectrum falls with frequency as that of natural images does (Field, "Relations between
//! the statistics of natural images and the response properties of cortical cells", 1987): noise of several grain sizes, the coarser
//! the stronger.

use crate::rng::Rng;
use crate::wide::wide;

/// Brightness of each pixel, from 0 to 255, row after row.
pub fn photo(width: usize, height: usize, rng: &mut Rng) -> Vec<u8> {
    let mut sum = vec![0.0f32; width * height];
    for grain in [64usize, 32, 16, 8, 4, 2] {
        let (cols, rows) = (width / grain + 2, height / grain + 2);
        let lattice = rng.floats(cols * rows, -1.0, 1.0);
        let strength = grain as f32;
        let parts: Vec<f32> = (0..grain).map(|at| at as f32 / grain as f32).collect();
        // A row of the lattice between its columns, as wide as the image or wider.
        let stretched = |row: usize| {
            let points = &lattice[row * cols..][..cols];
            let mut values = Vec::with_capacity(cols * grain);
            for [left, right] in points.array_windows() {
                values.extend(parts.iter().map(|part| left + (right - left) * part));
            }
            values
        };
        // Above and below the pixels of a row.
        let (mut top, mut bottom) = (Vec::new(), stretched(0));
        for (y, row) in sum.chunks_exact_mut(width).enumerate() {
            if y % grain == 0 {
                top = std::mem::replace(&mut bottom, stretched(y / grain + 1));
            }
            let part_y = parts[y % grain];
            wide(|| {
                for (pixel, (top, bottom)) in row.iter_mut().zip(top.iter().zip(&bottom)) {
                    *pixel += strength * (top + (bottom - top) * part_y);
                }
            });
        }
    }
    wide(|| sum.into_iter().map(|value| (128.0 + 1.6 * value).clamp(0.0, 255.0) as u8).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_alike_and_the_whole_range_is_used() {
        let image = photo(200, 150, &mut Rng::new(4));
        let steps: u32 = image.windows(2).map(|pair| u32::from(pair[0].abs_diff(pair[1]))).sum();
        assert!(steps < 12 * image.len() as u32, "{steps}");
        let (least, most) = (image.iter().min().copied(), image.iter().max().copied());
        assert!(least < Some(60) && most > Some(200), "{least:?} to {most:?}");
    }
}
