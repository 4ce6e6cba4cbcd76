// SPDX-License-Identifier: MIT OR Apache-2.0
//! Warped-Compression on a device, by programs whose cost is known.

use warpwatt_config::{Config, GpuFile};
use warpwatt_model::SmCounters;
use warpwatt_model::techniques::warped_compression::Counters;
use warpwatt_runtime::{Args, Device, LaunchConfig, Mode, Nobody, Options, Techniques, Timed};

const HEAD: &str = ".version 7.0\n.target sm_50\n.address_size 64\n";

/// A kernel that computes on a value for each thread and stores it.
fn kernel(body: &str) -> String {
    format!(
        "{HEAD}.visible .entry k(.param .u64 out)
{{
    .reg .pred %p<4>;
    .reg .b32 %r<16>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.u64 %rd3, %rd1, %rd2;
    ld.global.u32 %r2, [%rd3];
{body}
    st.global.u32 [%rd3], %r2;
    ret;
}}
"
    )
}

/// Runs a block of some threads over values, and gives the kernel's cycles, counters and results.
fn run(ptx: &str, with: &str, threads: u32, values: impl Fn(u32) -> u32) -> (u64, SmCounters, Vec<u32>) {
    let config: Config = GpuFile::preset("gtx480-wc").expect("a preset").config;
    let mut techniques = Techniques { verify: true, ..Techniques::default() };
    if !with.is_empty() {
        techniques.with(with).expect("it is legal");
    }
    let mode = Mode::Timed(Box::new(Timed { techniques, ..Timed::new(config) }));
    let mut device =
        Device::with(Options { mode, ..Options::default() }, Box::new(Nobody)).expect("a device");
    let module = device.load_module("k.ptx", ptx).unwrap_or_else(|error| panic!("{error}\n{ptx}"));
    let out = device.alloc(u64::from(4 * threads)).expect("there is room");
    let bytes: Vec<u8> = (0..threads).flat_map(|thread| values(thread).to_le_bytes()).collect();
    device.write(out, &bytes).expect("it fits");
    let args = Args::new().ptr(out);
    device.launch(module, "k", &LaunchConfig::new(1, threads), &args).expect("it runs");
    let mut bytes = vec![0; 4 * threads as usize];
    device.read(out, &mut bytes).expect("it fits");
    let results = bytes.as_chunks::<4>().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
    let timed = device.log()[0].timed.as_ref().expect("it is timed");
    (timed.cycles, timed.counters.sm.clone(), results)
}

/// Sums that wait for each other, and that no compiler can shorten.
fn chain(length: u32) -> String {
    (0..length).map(|step| format!("    mad.lo.u32 %r2, %r2, %r2, {};\n", step + 1)).collect()
}

#[test]
fn a_chain_pays_both_latencies_at_every_link_if_its_values_compress() {
    const LINKS: u32 = 100;
    let rounds = |rounds: u32| {
        kernel(&format!(
            "    mov.u32 %r3, 0;\nagain:\n    add.u32 %r3, %r3, 1;\n    setp.lt.u32 %p1, %r3, {rounds};\n{}    @%p1 bra again;\n",
            chain(LINKS)
        ))
    };
    // Once the instruction cache is warm, a round takes its links and little else.
    let [three, four] = [3, 4].map(rounds);
    let per_link = |with: &str, values: fn(u32) -> u32| {
        let with = format!("warped-compression:wake_cycles=0,{with}");
        let cycles = |with: &str| run(&four, with, 32, values).0 - run(&three, with, 32, values).0;
        (cycles(&with) - cycles("")) as f64 / f64::from(LINKS)
    };
    let near = |measured: f64, expected: f64| (measured - expected).abs() < 0.2;
    // All threads compute the same: <4,0> throughout.
    let (same, different) = (|_| 3, |thread: u32| thread.wrapping_mul(0x9e37_79b9));
    let found = per_link("", same);
    assert!(near(found, 3.0), "compression 2, decompression 1: {found}");
    let found = per_link("compress_cycles=8", same);
    assert!(near(found, 9.0), "compression 8, decompression 1: {found}");
    let found = per_link("decompress_cycles=8", same);
    assert!(near(found, 10.0), "compression 2, decompression 8: {found}");
    let found = per_link("", different);
    assert!(near(found, 2.0), "the compressor does not know before it has tried: {found}");
    assert!(near(per_link("compression=off", different), 0.0));
}

#[test]
fn accesses_shrink_with_the_values() {
    let ptx = kernel(&chain(200));
    let arrays = |values: fn(u32) -> u32| {
        let registers = run(&ptx, "warped-compression", 32, values).1.registers;
        registers.sub_bank_writes as f64 / registers.writes as f64
    };
    let same = arrays(|_| 3);
    assert!(same < 1.5, "nearly everything is stored in one array: {same}");
    let different = arrays(|thread| thread.wrapping_mul(0x9e37_79b9));
    assert!(different > 7.0, "the chain's values do not compress: {different}");
}

#[test]
fn a_move_is_injected_once_for_a_register_in_a_diverged_phase() {
    // Threads of the upper half take a path that updates the value again and again.
    let body = format!(
        "    setp.lt.u32 %p1, %r1, 16;\n    @%p1 bra over;\n{}over:\n    add.u32 %r2, %r2, 1;\n",
        chain(40)
    );
    let (cycles, counters, results) = run(&kernel(&body), "warped-compression", 32, |_| 5);
    let moves = counters.techniques.find::<Counters>().expect("it is on").moves;
    assert_eq!(moves, 1, "the value is compressed when it is loaded");
    assert_eq!(counters.issue.injected, moves);
    let (free_cycles, free, expected) = run(&kernel(&body), "warped-compression:mov=off", 32, |_| 5);
    assert_eq!(free.techniques.find::<Counters>().map(|counters| counters.moves), Some(0));
    assert_eq!(results, expected);
    assert!(cycles > free_cycles, "it takes a way through the pipeline: {cycles}, {free_cycles}");
    let (_, whole, _) = run(&kernel(&chain(40)), "warped-compression", 32, |_| 5);
    assert_eq!(whole.issue.injected, 0, "a warp that never diverges needs none");
}

#[test]
fn a_warp_that_is_not_full_stores_nothing_compressed() {
    let (_, counters, _) = run(&kernel(&chain(10)), "warped-compression", 20, |_| 5);
    let wc = counters.techniques.find::<Counters>().expect("it is on");
    assert_eq!((wc.stored[1..].iter().sum::<u64>(), wc.compressions, wc.moves), (0, 0, 0));
    assert_eq!((wc.writes[0], wc.writes[4], wc.instructions[4]), (0, 0, 0), "nor has it split");
    assert!(wc.writes[2] > 10, "its warps are short");
}
