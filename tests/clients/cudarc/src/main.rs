// SPDX-License-Identifier: MIT OR Apache-2.0
//! cudarc: PTX from a file, a launch with the builder, events, memory in stream order; checked against the host.

use cudarc::driver::{CudaContext, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::Ptx;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::args().nth(1).ok_or("usage: cudarc-client FILE.ptx")?;
    let context = CudaContext::new(0)?;
    let stream = context.new_stream()?;
    let module = context.load_module(Ptx::from_file(file))?;
    let add = module.load_function("add")?;

    let n = 1000;
    let a: Vec<f32> = (0..n).map(|i| i as f32 * 0.25).collect();
    let b: Vec<f32> = (0..n).map(|i| (n - i) as f32).collect();
    let (da, db) = (stream.clone_htod(&a)?, stream.clone_htod(&b)?);
    let mut dc = stream.alloc_zeros::<f32>(n)?;
    let count = n as i32;
    let mut launch = stream.launch_builder(&add);
    launch.arg(&da).arg(&db).arg(&mut dc).arg(&count);
    // SAFETY: the arguments are those of `add`, and the buffers hold `count` elements.
    unsafe { launch.launch(LaunchConfig::for_num_elems(n as u32)) }?;
    let c = stream.clone_dtoh(&dc)?;
    stream.synchronize()?;
    for i in 0..n {
        if c[i] != a[i] + b[i] {
            return Err(format!("c[{i}] is {}, not {}", c[i], a[i] + b[i]).into());
        }
    }
    println!("cudarc: {n} sums are right on {}", context.name()?);
    Ok(())
}
