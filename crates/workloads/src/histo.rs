// SPDX-License-Identifier: MIT OR Apache-2.0
//! Saturating histogram of a clustered image, after Parboil's histo: counts in shared memory, window by window of
//! bins, joined by global atomics. Integer atomics give the same counts in any order.

use crate::check::Check;
use crate::job::Job;
use crate::rng::Rng;
use crate::{Data, Dim, Fill, Info, Kernel, Known, Size, Workload};
use warpwatt_runtime::{Args, Device, Error};

const BLOCK: u32 = 256;
/// Bins that a block counts.
const WINDOW: u32 = 1024;
const BINS: u32 = 4_001;
/// Pixels that a thread counts.
const SHARE: u32 = 16;
const PIXELS: Dim = Dim::new("pixels", [9_003, 95_003, 800_003, 6_800_001]);

static INFO: Info = Info {
    name: "histo",
    about: "saturating histogram",
    domain: "image processing",
    suite: "Parboil",
    program: "histo",
    kernels: &[
        Kernel::after("histo_prescan", "histo_prescan_kernel", [512, 1, 1], "once a round")
            .but([256, 1, 1], "once"),
        Kernel::after("histo_main", "histo_main_kernel", [768, 1, 1], "once a round")
            .but([256, 1, 1], "once"),
        Kernel::after("histo_final", "histo_final_kernel", [512, 1, 1], "once a round")
            .but([256, 1, 1], "once"),
    ],
    missing: &["histo_intermediates_kernel: pixels are read as they are"],
    order_dependent: false,
    data: Data::Integer,
    dims: &[PIXELS],
    fill: Fill::Full,
    known: Known::Read,
    shape_from: "windows of bins in shared memory, joined by atomics; smaller blocks than Parboil's. Parboil makes the same histogram in 20 or more rounds, ours in one",
    values_from: "three clusters of values, as on the wafer images of Parboil",
    generator: 3,
    source: include_str!("../cuda/histo.cu"),
    ptx: include_str!("../ptx/histo.ptx"),
};

pub struct Histo;

impl Workload for Histo {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn run(&self, dev: &mut Device, ptx: &str, size: Size, seed: u64) -> Result<Check, Error> {
        let n = PIXELS.at(size);
        let image = image(n as usize, seed);
        let blocks = blocks(n);

        let mut job = Job::new(dev, &INFO, ptx)?;
        let pixels = job.upload("image", &image)?;
        let range = job.upload("range", &[u32::MAX, 0])?;
        let counts = job.zeros::<u32>("counts", BINS as usize)?;
        let bytes = job.zeros::<u8>("histogram", BINS as usize)?;
        job.launch("histo_prescan", blocks, BLOCK, Args::new().ptr(pixels).u32(n).ptr(range))?;
        let ends: Vec<u32> = job.download(range, 2)?;
        // A wrong range must not ask for an absurd grid: the check below tells.
        let windows = (ends[1].saturating_sub(ends[0]) / WINDOW + 1).min(BINS.div_ceil(WINDOW));
        let args = Args::new().ptr(pixels).u32(n).ptr(range).ptr(counts);
        job.launch("histo_main", (blocks, windows), BLOCK, args)?;
        job.launch("histo_final", BINS.div_ceil(BLOCK), BLOCK, Args::new().ptr(counts).u32(BINS).ptr(bytes))?;
        let counts = job.download(counts, BINS as usize)?;
        let bytes = job.download(bytes, BINS as usize)?;
        job.finish()?;

        let (want_counts, want_bytes) = reference(&image);
        let want_ends = [image.iter().min(), image.iter().max()].map(|end| end.copied().unwrap_or_default());
        Ok(Check::exact().output("range", &want_ends, &ends).output("counts", &want_counts, &counts).output(
            "histogram",
            &want_bytes,
            &bytes,
        ))
    }
}

fn blocks(pixels: u32) -> u32 {
    pixels.div_ceil(BLOCK * SHARE)
}

/// Most pixels are close to one of three values, as on the wafer that Parboil's images show; one in eight is
/// anywhere. The least and the greatest value come once each, late in the
/// shares of threads at the far end of the search tree.
fn image(pixels: usize, seed: u64) -> Vec<u32> {
    let mut rng = Rng::new(seed);
    let mut pixel = || {
        let (centre, spread) = match rng.below(8) {
            0..=3 => (1900.0, 60.0),
            4..=5 => (2200.0, 25.0),
            6 => (900.0, 200.0),
            _ => return 40 + rng.below(BINS - 60),
        };
        (centre + spread * rng.bell()) as u32
    };
    let mut image: Vec<u32> = (0..pixels).map(|_| pixel()).collect();
    let stride = (blocks(pixels as u32) * BLOCK) as usize;
    image[2 * stride - 1] = 30;
    image[3 * stride - 3] = BINS - 10;
    image
}

fn reference(image: &[u32]) -> (Vec<u32>, Vec<u8>) {
    let mut counts = vec![0u32; BINS as usize];
    for bin in image {
        counts[*bin as usize] += 1;
    }
    let bytes = counts.iter().map(|count| u8::try_from(*count).unwrap_or(u8::MAX)).collect();
    (counts, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_fit_the_bins_and_cluster() {
        let image = image(20_000, 1);
        assert!(image.iter().all(|bin| *bin < BINS));
        let near = image.iter().filter(|bin| (1700..2300).contains(*bin)).count();
        assert!(near > 14_000, "{near} of 20000 pixels in the clusters");
    }

    #[test]
    fn reference_counts_every_pixel_and_saturates() {
        let mut image = vec![7; 300];
        image.extend([3, 3, 4]);
        let (counts, bytes) = reference(&image);
        assert_eq!((counts[3], counts[4], counts[7]), (2, 1, 300));
        assert_eq!((bytes[3], bytes[4], bytes[7]), (2, 1, 255));
        assert_eq!(counts.iter().sum::<u32>(), 303);
    }
}
