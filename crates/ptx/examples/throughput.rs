// SPDX-License-Identifier: MIT OR Apache-2.0
//! How fast PTX is read: `cargo run --release -p warpwatt-ptx --example throughput FILE…` prints megabytes a second.

use std::time::Instant;

fn main() -> std::io::Result<()> {
    let texts = std::env::args().skip(1).map(std::fs::read_to_string).collect::<Result<Vec<_>, _>>()?;
    let bytes: usize = texts.iter().map(String::len).sum();
    let (mut rounds, start) = (0, Instant::now());
    while start.elapsed().as_secs_f64() < 2.0 {
        for text in &texts {
            std::hint::black_box(warpwatt_ptx::parse("text", text));
        }
        rounds += 1;
    }
    let rate = (bytes * rounds) as f64 / start.elapsed().as_secs_f64() / 1e6;
    println!("{} files, {bytes} bytes: {rate:.0} MB/s", texts.len());
    Ok(())
}
