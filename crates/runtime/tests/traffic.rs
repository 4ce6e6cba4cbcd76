// SPDX-License-Identifier: MIT OR Apache-2.0
//! Traffic behind L2 in a functional run against that of a timed one.

use warpwatt_codecs::huffman::SymbolBits;
use warpwatt_config::GpuFile;
use warpwatt_model::techniques::block_compression::Counters as Own;
use warpwatt_runtime::{
    Args, Collected, Device, LaunchConfig, Mode, Nobody, Options, Techniques, Timed, Traffic,
};

/// Each thread reads an element, and stores twice of it elsewhere; `stride` elements apart.
const PTX: &str = ".version 7.0\n.target sm_50\n.address_size 64
.visible .entry twice(.param .u64 in, .param .u64 out, .param .u32 bytes)
{
    .reg .b32 %r<8>;
    .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [in];
    ld.param.u64 %rd2, [out];
    ld.param.u32 %r1, [bytes];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.u32 %r5, %r2, %r3, %r4;
    mul.wide.u32 %rd3, %r5, %r1;
    add.u64 %rd4, %rd1, %rd3;
    add.u64 %rd5, %rd2, %rd3;
    ld.global.u32 %r6, [%rd4];
    add.u32 %r7, %r6, %r6;
    st.global.u32 [%rd5], %r7;
    ret;
}
";

const LINES: u32 = 2048;

fn play(device: &mut Device, stride: u32) {
    let module = device.load_module("twice.ptx", PTX).expect("PTX");
    let bytes = u64::from(LINES) * 128;
    let (input, out) = (device.alloc(bytes).expect("room"), device.alloc(bytes).expect("room"));
    let words: Vec<u8> = (0..LINES * 32).flat_map(|i| (i / 7).to_le_bytes()).collect();
    device.write(input, &words).expect("it fits");
    device.write(out, &words).expect("it fits");
    let threads = LINES * 128 / stride;
    let args = Args::new().ptr(input).ptr(out).u32(stride);
    // Twice: what the second one finds in the cache depends on the first.
    for _ in 0..2 {
        device.launch(module, "twice", &LaunchConfig::new(threads / 128, 128), &args).expect("it runs");
    }
}

#[test]
fn lines_behind_l2_are_about_those_of_a_timed_run() {
    for stride in [4, 128] {
        let mut config = GpuFile::preset("gtx580-e2mc").expect("a preset").config;
        (config.gpu.sms, config.gpu.partitions, config.l2.sets, config.l2.ways) = (2, 2, 16, 8);
        let mut functional = Device::new().expect("a device");
        let log = functional.note_traffic(&config, "twice");
        play(&mut functional, stride);
        let (read, written, words) = functional.with_traffic(&log, |traffic| {
            let lines = traffic.lines();
            let sum = |of: usize| lines.iter().map(|(_, count)| count[of]).sum::<u64>();
            (sum(0), sum(1), traffic.profile(Collected::LoadsStores))
        });
        // A load and a store of a word each, by each thread, in two launches.
        let threads = u64::from(LINES * 128 / stride);
        assert_eq!(words.of_width(SymbolBits::ThirtyTwo).total(), 2 * 2 * threads);

        let mut techniques = Techniques { verify: true, ..Techniques::default() };
        techniques.with("bdi").expect("it is legal");
        let mode = Mode::Timed(Box::new(Timed { techniques, ..Timed::new(config) }));
        let options = Options { mode, ..Options::default() };
        let mut timed = Device::with(options, Box::new(Nobody)).expect("a device");
        play(&mut timed, stride);
        let counters = timed.counters().expect("it is timed");
        let own: &Own = counters.techniques.find().expect("it is on");
        for (what, ours, theirs) in [("read", read, own.filled), ("written", written, own.written)] {
            assert!(theirs > 1000, "stride {stride}: {theirs} lines {what}");
            let apart = ours.abs_diff(theirs) as f64 / theirs as f64;
            assert!(apart < 0.1, "stride {stride}: {ours} lines {what}, {theirs} in a timed run");
        }
    }
}

/// Each thread copies a byte.
const BYTES: &str = ".version 7.0\n.target sm_50\n.address_size 64
.visible .entry bytes(.param .u64 in, .param .u64 out)
{
    .reg .b16 %rs<2>;
    .reg .b32 %r<2>;
    .reg .b64 %rd<6>;
    ld.param.u64 %rd1, [in];
    ld.param.u64 %rd2, [out];
    mov.u32 %r1, %tid.x;
    cvt.u64.u32 %rd3, %r1;
    add.u64 %rd4, %rd1, %rd3;
    add.u64 %rd5, %rd2, %rd3;
    ld.global.u8 %rs1, [%rd4];
    st.global.u8 [%rd5], %rs1;
    ret;
}
";

/// Lines consist of words: a byte that is loaded or stored counts as the word that it is a part of, as that is afterwards.
#[test]
fn an_access_to_a_part_of_a_word_counts_the_word_in_memory() {
    let config = GpuFile::preset("gtx580-e2mc").expect("a preset").config;
    let mut device = Device::new().expect("a device");
    let log = device.note_traffic(&config, "bytes");
    let module = device.load_module("bytes.ptx", BYTES).expect("PTX");
    let (input, out) = (device.alloc(32).expect("room"), device.alloc(32).expect("room"));
    device.write(input, &0x4433_2211_u32.to_le_bytes().repeat(8)).expect("it fits");
    device.write(out, &0xddcc_bbaa_u32.to_le_bytes().repeat(8)).expect("it fits");
    let args = Args::new().ptr(input).ptr(out);
    device.launch(module, "bytes", &LaunchConfig::new(1, 32), &args).expect("it runs");
    let counts = device.with_traffic(&log, |traffic| {
        traffic.profile(Collected::LoadsStores).of_width(SymbolBits::ThirtyTwo).by_frequency(0)
    });
    let counted = |word: u32| counts.iter().find(|(other, _)| *other == word).map_or(0, |(_, count)| *count);
    assert_eq!(counts.iter().map(|(_, count)| count).sum::<u64>(), 64, "a load and a store of each thread");
    assert_eq!(counted(0x4433_2211), 32, "{counts:x?}");
    assert_eq!(counted(0xddcc_bb11) + counted(0xddcc_22aa) + counted(0xdd33_bbaa) + counted(0x44cc_bbaa), 32);
}

/// A program's processes leave their traffic as bytes; together they are the traffic of the program.
#[test]
fn traffic_of_several_processes_adds_up() {
    let mut config = GpuFile::preset("gtx580-e2mc").expect("a preset").config;
    (config.gpu.partitions, config.l2.sets, config.l2.ways) = (2, 16, 8);
    let mut device = Device::new().expect("a device");
    let log = device.note_traffic(&config, "twice");
    play(&mut device, 4);
    let (bytes, lines, bound) = device.with_traffic(&log, |traffic| {
        let lines: Vec<_> = traffic.lines().into_iter().map(|(line, counts)| (*line, counts)).collect();
        (traffic.to_bytes(), lines, traffic.bound(SymbolBits::Sixteen))
    });
    let mut both = Traffic::new(&config, "two of them");
    both.absorb(&bytes).expect("they are traffic");
    assert_eq!(both.bound(SymbolBits::Sixteen), bound);
    both.absorb(&bytes).expect("they are traffic");
    let twice = lines.iter().map(|(line, [read, written])| (line, [2 * read, 2 * written]));
    assert!(both.lines().into_iter().eq(twice), "not twice the lines");
    let words = both.profile(Collected::LoadsStores).of_width(SymbolBits::ThirtyTwo).total();
    assert_eq!(words, 2 * 2 * 2 * u64::from(LINES * 32));
    for damaged in [&bytes[..bytes.len() / 2], &bytes[1..], &bytes[..bytes.len() - 1], b""] {
        assert!(Traffic::new(&config, "damaged").absorb(damaged).is_none());
    }
}
