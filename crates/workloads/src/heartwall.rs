// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tracks the wall of a heart through an ultrasound video, after Rodinia's heartwall.

use crate::check::Check;
use crate::fused::{add_products, add_squares, fma};
use crate::images::photo;
use crate::job::Job;
use crate::rng::Rng;
use crate::{Data, Dim, Fill, Info, Kernel, Known, Size, Workload};
use warpwatt_runtime::{Args, Device, Error};

const BLOCK: usize = 256;
/// Pixels of a side of a template.
const SIDE: usize = 11;
const TAPS: usize = SIDE * SIDE;
const WIDTH: usize = 340;
const HEIGHT: usize = 300;
const POINTS: Dim = Dim::new("points", [2, 12, 45, 60]);
const FRAMES: Dim = Dim::new("frames", [1, 2, 1, 5]);
// Pixels that a point may move by from frame to frame.
const REACH: Dim = Dim::new("reach", [2, 7, 7, 10]);
// Threads that search.
const SEARCHERS: Dim = Dim::new("searchers", [16, 256, 256, 256]);

static INFO: Info = Info {
    name: "heartwall",
    about: "tracks a beating heart",
    domain: "medical imaging",
    suite: "Rodinia",
    program: "heartwall",
    kernels: &[Kernel::after("heartwall_track", "kernel", [256, 1, 1], "once a frame")],
    missing: &[],
    order_dependent: false,
    data: Data::Mixed,
    dims: &[POINTS, FRAMES, REACH, SEARCHERS],
    fill: Fill::Full,
    known: Known::Recalled,
    shape_from: "a block of 256 threads for each of 51 points, a launch a frame, as Rodinia's. Its kernel goes through convolution, cumulative sums and a mask in many steps; ours has the correlation and the search of its maximum in fewer ones, with smaller templates",
    values_from: "frames of a generated photograph that shifts by up to two pixels from one to the next, with noise, in whole numbers from 0 to 255",
    generator: 3,
    source: include_str!("../cuda/heartwall.cu"),
    ptx: include_str!("../ptx/heartwall.ptx"),
};

pub struct Heartwall;

impl Workload for Heartwall {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn run(&self, dev: &mut Device, ptx: &str, size: Size, seed: u64) -> Result<Check, Error> {
        let (points, reach) = (POINTS.at(size) as usize, REACH.at(size) as i32);
        let mut rng = Rng::new(seed);
        let frames = video(FRAMES.at(size) as usize + 1, &mut rng);
        let mut want = Tracks::around(&frames[0], points);

        let mut job = Job::new(dev, &INFO, ptx)?;
        let templates = job.upload("templates", &want.templates)?;
        let rows = job.upload("rows", &want.rows)?;
        let columns = job.upload("columns", &want.columns)?;
        let scores = job.zeros::<f32>("scores", points)?;
        let image = job.zeros::<i32>("frame", WIDTH * HEIGHT)?;
        for frame in &frames[1..] {
            job.write(image, frame)?;
            let args = Args::new().ptr(image).i32(WIDTH as i32).ptr(templates).ptr(rows).ptr(columns);
            job.launch(
                "heartwall_track",
                points as u32,
                BLOCK as u32,
                args.i32(reach).i32(SEARCHERS.at(size) as i32).ptr(scores),
            )?;
        }
        let found = Tracks {
            rows: job.download(rows, points)?,
            columns: job.download(columns, points)?,
            templates: job.download(templates, points * TAPS)?,
            scores: job.download(scores, points)?,
        };
        job.finish()?;

        frames[1..].iter().for_each(|frame| want.follow(frame, reach));
        Ok(Check::exact()
            .output("rows", &want.rows, &found.rows)
            .output("columns", &want.columns, &found.columns)
            .output("templates", &want.templates, &found.templates)
            .output("scores", &want.scores, &found.scores))
    }
}

/// A scene that moves, seen through a window.
fn video(frames: usize, rng: &mut Rng) -> Vec<Vec<i32>> {
    let border = 2 * frames + 2;
    let wide = WIDTH + 2 * border;
    let scene = photo(wide, HEIGHT + 2 * border, rng);
    let (mut x, mut y) = (border as i32, border as i32);
    let mut all = Vec::new();
    for _ in 0..frames {
        let mut frame = rng.ints(WIDTH * HEIGHT, -3, 4);
        let rows = scene.chunks_exact(wide).skip(y as usize).map(|row| &row[x as usize..]);
        for (noise, row) in frame.chunks_exact_mut(WIDTH).zip(rows) {
            noise
                .iter_mut()
                .zip(row)
                .for_each(|(noise, pixel)| *noise = (i32::from(*pixel) + *noise).clamp(0, 255));
        }
        all.push(frame);
        (x, y) = (x + rng.int(-2, 3), y + rng.int(-2, 3));
    }
    all
}

struct Tracks {
    rows: Vec<i32>,
    columns: Vec<i32>,
    templates: Vec<f32>,
    scores: Vec<f32>,
}

impl Tracks {
    /// Points on two ellipses in the middle of the frame.
    fn around(frame: &[i32], points: usize) -> Self {
        let place = |at: usize| {
            let angle = 2.0 * std::f64::consts::PI * at as f64 / points as f64;
            let far = if at.is_multiple_of(2) { 1.0 } else { 0.6 };
            let row = HEIGHT as f64 / 2.0 + 25.0 * far * libm::sin(angle);
            (row as i32, (WIDTH as f64 / 2.0 + 40.0 * far * libm::cos(angle)) as i32)
        };
        let (rows, columns): (Vec<i32>, Vec<i32>) = (0..points).map(place).unzip();
        let patch = |(row, column): (&i32, &i32)| -> Vec<f32> {
            patch(frame, *row, *column).map(|p| p as f32).collect()
        };
        let templates = rows.iter().zip(&columns).flat_map(patch).collect();
        Tracks { rows, columns, templates, scores: vec![0.0; points] }
    }

    fn follow(&mut self, frame: &[i32], reach: i32) {
        for (point, taps) in self.templates.chunks_exact_mut(TAPS).enumerate() {
            let mean = taps.iter().fold(0.0, |sum, tap| sum + tap) / TAPS as f32;
            let (row, column) = (self.rows[point], self.columns[point]);
            let mut best = (f32::NEG_INFINITY, 0, 0);
            for dy in -reach..=reach {
                let scores = scores(frame, row + dy, column - reach, 2 * reach as usize + 1, taps, mean);
                for (dx, score) in (-reach..).zip(scores) {
                    if score > best.0 {
                        best = (score, dy, dx);
                    }
                }
            }
            self.scores[point] = best.0;
            (self.rows[point], self.columns[point]) = (row + best.1, column + best.2);
            for (tap, pixel) in taps.iter_mut().zip(patch(frame, row + best.1, column + best.2)) {
                *tap = fma(0.9, *tap, 0.1 * pixel as f32);
            }
        }
    }
}

/// The pixels around a place.
fn patch(frame: &[i32], row: i32, column: i32) -> impl Iterator<Item = i32> + '_ {
    let first = (row as usize - SIDE / 2) * WIDTH + column as usize - SIDE / 2;
    (0..TAPS).map(move |at| frame[first + at / SIDE * WIDTH + at % SIDE])
}

/// The scores of places side by side.
fn scores(frame: &[i32], row: i32, column: i32, places: usize, taps: &[f32], mean: f32) -> Vec<f32> {
    let [mut sums, mut squares, mut crosses] = [0; 3].map(|_| vec![0.0; places]);
    let first = (row as usize - SIDE / 2) * WIDTH + column as usize - SIDE / 2;
    for (frame, taps) in frame[first..].chunks(WIDTH).zip(taps.chunks_exact(SIDE)) {
        let pixels: Vec<f32> = frame[..places + SIDE - 1].iter().map(|pixel| *pixel as f32).collect();
        for (pixels, tap) in pixels.windows(places).zip(taps) {
            sums.iter_mut().zip(pixels).for_each(|(sum, pixel)| *sum += pixel);
            add_squares(&mut squares, pixels, 0.0);
            add_products(&mut crosses, *tap, pixels);
        }
    }
    let score = |((sum, square), cross): ((&f32, &f32), &f32)| {
        fma(-mean, *sum, *cross) / (fma(-(sum / TAPS as f32), *sum, *square) + 1.0).sqrt()
    };
    sums.iter().zip(&squares).zip(&crosses).map(score).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_follow_a_shift() {
        let frames = video(2, &mut Rng::new(7));
        let mut tracks = Tracks::around(&frames[0], 4);
        let shifted: Vec<i32> =
            (0..WIDTH * HEIGHT).map(|at| frames[0][(at + 1).min(WIDTH * HEIGHT - 1)]).collect();
        let before = tracks.columns.clone();
        tracks.follow(&shifted, 3);
        assert_eq!(tracks.columns, before.iter().map(|column| column - 1).collect::<Vec<_>>());
    }
}
