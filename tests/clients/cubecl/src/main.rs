// SPDX-License-Identifier: MIT OR Apache-2.0
//! The activation function GELU on the GPU, written in Rust with cubecl: x/2 (1 + erf(x/√2)). Compares with the CPU.

use cubecl::cuda::{CudaDevice, CudaRuntime};
use cubecl::prelude::*;

#[cube(launch)]
fn gelu(input: &Array<f32>, output: &mut Array<f32>) {
    if ABSOLUTE_POS < input.len() {
        let x = input[ABSOLUTE_POS];
        output[ABSOLUTE_POS] = 0.5 * x * (1.0 + f32::erf(x * 0.707_106_77));
    }
}

/// The error function by its series, in double precision.
fn erf(x: f64) -> f64 {
    let (mut term, mut sum) = (x, x);
    for n in 1..200 {
        term *= -x * x / f64::from(n);
        sum += term / f64::from(2 * n + 1);
    }
    sum * std::f64::consts::FRAC_2_SQRT_PI
}

fn main() {
    let client = CudaRuntime::client(&CudaDevice::new(0));
    let input: Vec<f32> = (0..1000u16).map(|i| f32::from(i) / 125.0 - 4.0).collect();
    let length = input.len();
    let from = client.create(f32::as_bytes(&input));
    let to = client.empty(length * size_of::<f32>());
    // SAFETY: both buffers have this many elements.
    let (source, target) = unsafe {
        (ArrayArg::from_raw_parts::<f32>(&from, length, 1), ArrayArg::from_raw_parts::<f32>(&to, length, 1))
    };
    gelu::launch::<CudaRuntime>(
        &client,
        CubeCount::Static(length.div_ceil(128) as u32, 1, 1),
        CubeDim::new(128, 1, 1),
        source,
        target,
    );
    let bytes = client.read_one(to);
    let output = f32::from_bytes(&bytes);
    for (&x, &got) in input.iter().zip(output) {
        let x = f64::from(x);
        let want = 0.5 * x * (1.0 + erf(x / 2f64.sqrt()));
        assert!((f64::from(got) - want).abs() < 1e-5, "gelu({x}) is {want}, not {got}");
    }
    println!("gelu of {length} values is right");
}
