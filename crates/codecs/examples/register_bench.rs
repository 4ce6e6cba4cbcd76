// SPDX-License-Identifier: MIT OR Apache-2.0
//! Nanoseconds for a warp register, by what is done to it and by what it holds.

use std::hint::black_box;
use std::time::Instant;

use warpwatt_base::SplitMix64;
use warpwatt_codecs::bdi::{classify, explore};
use warpwatt_codecs::narrow::Widths;
use warpwatt_codecs::similarity::Distances;
use warpwatt_codecs::{ENTRY_BYTES, LANES, Values};

/// As many registers as a warp has at most: they stay in the first-level cache, as those of a running warp do.
const REGISTERS: usize = 64;
/// A sample is short, tens of microseconds, so that some of the many are not interrupted by whoever else uses the machine.
const ROUNDS: usize = 40;
const SAMPLES: usize = 500;

/// The best sample.
fn nanoseconds(registers: &[Values], mut work: impl FnMut(&Values)) -> f64 {
    let samples = (0..SAMPLES).map(|_| {
        let start = Instant::now();
        for _ in 0..ROUNDS {
            registers.iter().for_each(|values| work(black_box(values)));
        }
        start.elapsed().as_nanos() as f64 / (ROUNDS * registers.len()) as f64
    });
    samples.fold(f64::INFINITY, f64::min)
}

fn registers(mut lane: impl FnMut(usize, usize) -> u32) -> Vec<Values> {
    (0..REGISTERS).map(|register| std::array::from_fn(|index| lane(register, index))).collect()
}

fn main() {
    let mut seed = SplitMix64::new(1);
    let kinds = [
        ("constant", registers(|register, _| register as u32 * 77)),
        ("thread index", registers(|register, lane| (register * LANES + lane) as u32)),
        ("row addresses", registers(|register, lane| (0x1000_0000 + register * 4096 + lane * 512) as u32)),
        ("random", registers(|_, _| seed.next_u32())),
    ];
    println!(
        "{:14} {:>9} {:>8} {:>8} {:>8} {:>8} {:>10}",
        "ns a register", "classify", "encode", "decode", "explore", "narrow", "distances"
    );
    for (name, registers) in &kinds {
        let mut entry = [0; ENTRY_BYTES];
        let range = classify(&registers[0]);
        println!(
            "{name:14} {:9.1} {:8.1} {:8.1} {:8.1} {:8.1} {:10.1}",
            nanoseconds(registers, |values| {
                black_box(classify(values));
            }),
            nanoseconds(registers, |values| {
                black_box(range.encode(values, black_box(&mut entry)).is_ok());
            }),
            nanoseconds(registers, |_| {
                black_box(range.decode(black_box(&entry)));
            }),
            nanoseconds(registers, |values| {
                black_box(explore(values));
            }),
            nanoseconds(registers, |values| {
                black_box(Widths::of(values).bytes());
            }),
            nanoseconds(registers, |values| {
                black_box(Distances::of(values).category());
            }),
        );
    }
}
