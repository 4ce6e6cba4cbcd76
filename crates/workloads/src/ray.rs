// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ray tracing with reflections and shadows, after RAY of Bakhoda et al. (ISPASS 2009).

use crate::check::Check;
use crate::fused::{Fused, with_fused};
use crate::job::Job;
use crate::rng::Rng;
use crate::{Data, Dim, Fill, Info, Kernel, Known, Size, Workload};
use warpwatt_runtime::{Args, Device, Error};

const BLOCK: [u32; 2] = [16, 8];
const BOUNCES: usize = 4;
const WIDTH: Dim = Dim::new("width", [19, 128, 320, 832]);
const HEIGHT: Dim = Dim::new("height", [13, 96, 240, 640]);
const SPHERES: Dim = Dim::new("spheres", [6, 6, 6, 6]);

static INFO: Info = Info {
    name: "ray",
    about: "traces rays in a scene",
    domain: "graphics",
    suite: "ISPASS",
    program: "RAY",
    kernels: &[Kernel::after("ray_render", "render", [16, 8, 1], "once")],
    missing: &[],
    order_dependent: false,
    data: Data::Float,
    dims: &[WIDTH, HEIGHT, SPHERES],
    fill: Fill::Full,
    known: Known::Recalled,
    shape_from: "a pixel a thread in blocks of 16 x 8 (Bakhoda et al., Table I: 16 x 32 blocks of 16 x 8 threads); up to four bounces, with a shadow ray at each",
    values_from: "six spheres of several sizes and mirrors on a floor and a lamp, placed by the seed, of the kind that the original's scenes have",
    generator: 3,
    source: include_str!("../cuda/ray.cu"),
    ptx: include_str!("../ptx/ray.ptx"),
};

pub struct Ray;

impl Workload for Ray {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn run(&self, dev: &mut Device, ptx: &str, size: Size, seed: u64) -> Result<Check, Error> {
        let (width, height) = (WIDTH.at(size), HEIGHT.at(size));
        let scene = Scene::random(SPHERES.at(size) as usize, seed);
        let count = (width * height) as usize;

        let mut job = Job::new(dev, &INFO, ptx)?;
        job.write_symbol("spheres", &scene.spheres.concat())?;
        job.write_symbol("lamp", &scene.lamp)?;
        let image_there = job.zeros::<u32>("image", count)?;
        let depth = job.zeros::<f32>("depth", count)?;
        let args = Args::new().ptr(image_there).ptr(depth).i32(width as i32).i32(height as i32);
        let grid = (width.div_ceil(BLOCK[0]), height.div_ceil(BLOCK[1]));
        job.launch("ray_render", grid, (BLOCK[0], BLOCK[1]), args.i32(scene.spheres.len() as i32))?;
        let found = job.download(image_there, count)?;
        let depth = job.download(depth, count)?;
        job.finish()?;

        let (want, want_depth) = image(&scene, width, height);
        Ok(Check::exact().output("image", &want, &found).output("depth", &want_depth, &depth))
    }
}

type Vector = [f32; 3];

struct Scene {
    /// Place and radius, colour and share of light that is mirrored.
    spheres: Vec<[f32; 8]>,
    lamp: Vector,
}

#[inline(always)]
fn dot(fused: impl Fused, a: Vector, b: Vector) -> f32 {
    fused.fma(a[2], b[2], fused.fma(a[1], b[1], a[0] * b[0]))
}

fn less(a: Vector, b: Vector) -> Vector {
    std::array::from_fn(|i| a[i] - b[i])
}

/// `start` and `by` times `direction`.
#[inline(always)]
fn along(fused: impl Fused, start: Vector, direction: Vector, by: f32) -> Vector {
    std::array::from_fn(|i| fused.fma(by, direction[i], start[i]))
}

with_fused! {
    /// Colours, and the ways that the rays have gone.
    fn image(scene: &Scene, width: u32, height: u32) -> (Vec<u32>, Vec<f32>) { |fused| scene.image(fused, width, height) }
}

impl Scene {
    fn random(spheres: usize, seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let mut sphere = |at: usize| {
            let radius = rng.float(0.5, 1.1);
            let x = (at % 3) as f32 * 2.4 - 2.4 + rng.float(-0.3, 0.3);
            let z = (at / 3) as f32 * 2.6 + rng.float(-0.5, 0.5);
            let [red, green, blue] = [0; 3].map(|_| rng.float(0.2, 1.0));
            [x, radius + rng.float(-0.3, 0.5), z, radius, red, green, blue, rng.float(0.1, 0.9)]
        };
        let spheres = (0..spheres).map(&mut sphere).collect();
        Scene { spheres, lamp: [rng.float(-4.0, 4.0), rng.float(5.0, 8.0), rng.float(-5.0, -2.0)] }
    }

    #[inline(always)]
    fn enters(fused: impl Fused, sphere: &[f32; 8], from: Vector, direction: Vector) -> f32 {
        let centre = less([sphere[0], sphere[1], sphere[2]], from);
        let along = dot(fused, centre, direction);
        let apart = fused.fma(-along, along, dot(fused, centre, centre));
        let inside = fused.fma(sphere[3], sphere[3], -apart);
        if along <= 0.0 || inside < 0.0 {
            return 1e30;
        }
        let at = along - inside.sqrt();
        if at > 1e-3 { at } else { 1e30 }
    }

    #[inline(always)]
    fn image(&self, fused: impl Fused, width: u32, height: u32) -> (Vec<u32>, Vec<f32>) {
        let (mut colours, mut ways) = (Vec::new(), Vec::new());
        for (row, column) in (0..height).flat_map(|row| (0..width).map(move |column| (row, column))) {
            let (colour, way) = self.pixel(fused, column as f32, row as f32, width as f32, height as f32);
            colours.push(colour);
            ways.push(way);
        }
        (colours, ways)
    }

    /// Colour, and the way that the ray has gone.
    #[inline(always)]
    fn pixel(&self, fused: impl Fused, column: f32, row: f32, width: f32, height: f32) -> (u32, f32) {
        let mut at = [0.0, 1.5, -6.0];
        let mut direction =
            [fused.fma(2.0, column, -width) / height, fused.fma(-2.0, row, height) / height, 2.0];
        let scale = 1.0 / dot(fused, direction, direction).sqrt();
        direction = direction.map(|d| d * scale);
        let (mut colour, mut weight, mut travelled) = ([0.0f32; 3], 1.0f32, 0.0f32);
        for _ in 0..BOUNCES {
            let mut nearest = if direction[1] < -1e-4 { -at[1] / direction[1] } else { 1e30 };
            let mut hit = None;
            for sphere in &self.spheres {
                let distance = Self::enters(fused, sphere, at, direction);
                if distance < nearest {
                    (nearest, hit) = (distance, Some(sphere));
                }
            }
            if nearest > 60.0 {
                let high = weight * fused.fma(-0.5, direction[1], 1.0);
                colour = along(fused, colour, [0.5, 0.7, 0.9], high);
                break;
            }
            travelled += nearest;
            at = along(fused, at, direction, nearest);
            let (normal, own, mirror) = match hit {
                Some(s) => (less(at, [s[0], s[1], s[2]]).map(|d| d / s[3]), [s[4], s[5], s[6]], s[7]),
                None => {
                    let dark = (at[0].floor() as i32 ^ at[2].floor() as i32) & 1 != 0;
                    ([0.0, 1.0, 0.0], [if dark { 0.2 } else { 0.8 }; 3], 0.1)
                }
            };
            let to_lamp = less(self.lamp, at);
            let far = dot(fused, to_lamp, to_lamp).sqrt();
            let to_lamp = to_lamp.map(|d| d / far);
            let mut light = dot(fused, normal, to_lamp).max(0.0);
            for sphere in &self.spheres {
                let before = Self::enters(fused, sphere, at, to_lamp);
                if before < far && light > 0.0 {
                    light *= 0.5 * (before / far);
                }
            }
            let shade = weight * (1.0 - mirror) * fused.fma(0.8, light, 0.2);
            colour = along(fused, colour, own, shade);
            weight *= mirror;
            if weight < 0.02 {
                break;
            }
            let back = -2.0 * dot(fused, normal, direction);
            direction = along(fused, direction, normal, back);
        }
        let [r, g, b] = colour.map(|part| (part.min(1.0) * 255.0) as u32);
        (r | g << 8 | b << 16, travelled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fused::Plain;

    #[test]
    fn a_ray_enters_a_sphere_at_its_surface() {
        let sphere = [0.0, 0.0, 5.0, 2.0, 0.0, 0.0, 0.0, 0.0];
        assert_eq!(Scene::enters(Plain, &sphere, [0.0; 3], [0.0, 0.0, 1.0]), 3.0);
        assert_eq!(Scene::enters(Plain, &sphere, [0.0; 3], [0.0, 0.0, -1.0]), 1e30);
        assert_eq!(Scene::enters(Plain, &sphere, [0.0, 3.0, 0.0], [0.0, 0.0, 1.0]), 1e30);
    }
}
