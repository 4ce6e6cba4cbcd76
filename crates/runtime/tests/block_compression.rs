// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compression at the memory controllers on a device: traffic that adds up, bandwidth that is gained, and nothing that is lost.

use std::sync::Arc;

use warpwatt_base::SplitMix64;
use warpwatt_codecs::profile::{Collected, Profile};
use warpwatt_config::{Config, GpuFile};
use warpwatt_model::techniques::block_compression::Counters as Own;
use warpwatt_runtime::{
    Args, Counters, Device, DevicePtr, InjectedFault, LaunchConfig, Mode, Nobody, Options, Techniques, Timed,
};

const ALL: [&str; 10] = [
    "bdi",
    "bdi:metadata_bytes=128",
    "fpc",
    "cpack",
    "e2mc:symbol_bits=4,ways=8",
    "e2mc:symbol_bits=8,ways=3",
    "e2mc",
    "e2mc:symbol_bits=32,ways=1",
    "e2mc:probability=online,sampling=200000",
    "e2mc:probability=online,sampling=200000,accounting=strict,recode=100000",
];

/// Each thread adds up some words, a grid apart, and stores the sum; with `scatter` it also changes the first of them.
fn ptx(scatter: bool) -> String {
    let store = if scatter { "st.global.u32 [%rd7], %r6;" } else { "" };
    format!(
        ".version 7.0\n.target sm_50\n.address_size 64
.visible .entry add(.param .u64 in, .param .u64 out, .param .u32 rounds, .param .u32 stride)
{{
    .reg .pred %p<2>;
    .reg .b32 %r<12>;
    .reg .b64 %rd<10>;
    ld.param.u64 %rd1, [in];
    ld.param.u64 %rd2, [out];
    ld.param.u32 %r1, [rounds];
    ld.param.u32 %r11, [stride];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.u32 %r5, %r2, %r3, %r4;
    mul.wide.u32 %rd3, %r5, %r11;
    add.u64 %rd7, %rd1, %rd3;
    mov.u64 %rd4, %rd7;
    mov.u32 %r8, %nctaid.x;
    mul.lo.u32 %r9, %r8, %r3;
    mul.wide.u32 %rd5, %r9, %r11;
    mov.u32 %r6, 0;
next:
    ld.global.u32 %r7, [%rd4];
    add.u32 %r6, %r6, %r7;
    add.u64 %rd4, %rd4, %rd5;
    sub.u32 %r1, %r1, 1;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra next;
    {store}
    mul.wide.u32 %rd8, %r5, 4;
    add.u64 %rd6, %rd2, %rd8;
    st.global.u32 [%rd6], %r6;
    ret;
}}
"
    )
}

struct Setup {
    config: Config,
    blocks: u32,
    rounds: u32,
    scatter: bool,
    threads: u32,
    step: bool,
    inject: Option<InjectedFault>,
}

struct Ran {
    cycles: u64,
    kernel: Counters,
    /// After everything has come to rest.
    all: Counters,
    results: Vec<u8>,
}

impl Ran {
    fn own(&self) -> &Own {
        self.all.techniques.find().expect("it is on")
    }
}

impl Setup {
    fn new() -> Setup {
        let mut config = GpuFile::preset("gtx580-e2mc").expect("a preset").config;
        config.gpu.sms = 4;
        config.gpu.partitions = 1;
        Setup { config, blocks: 16, rounds: 8, scatter: false, threads: 1, step: false, inject: None }
    }

    fn run(&self, with: &str, word: impl Fn(u32) -> u32) -> Result<Ran, String> {
        let mut techniques = Techniques { verify: true, inject: self.inject, ..Techniques::default() };
        if !with.is_empty() {
            techniques.with(with).expect("it is legal");
        }
        let count = self.blocks * 256 * self.rounds;
        let bytes: Vec<u8> = (0..count).flat_map(|i| word(i).to_le_bytes()).collect();
        let mut profile = Profile::new(Collected::LoadsStores, "the input");
        profile.add(&bytes);
        techniques.symbols = Some(Arc::new(profile));
        let timed = Timed {
            techniques,
            threads: self.threads,
            step_every_cycle: self.step,
            ..Timed::new(self.config.clone())
        };
        let options = Options { mode: Mode::Timed(Box::new(timed)), ..Options::default() };
        let mut device = Device::with(options, Box::new(Nobody)).expect("a device");
        let module = device.load_module("add.ptx", &ptx(self.scatter)).expect("PTX");
        let input = device.alloc(bytes.len() as u64).expect("there is room");
        let out = device.alloc(u64::from(self.blocks * 256 * 4)).expect("there is room");
        let failed = |error: warpwatt_runtime::Error| error.to_string();
        device.write(input, &bytes).map_err(failed)?;
        let launch = |device: &mut Device, from: DevicePtr| {
            let args = Args::new().ptr(from).ptr(out).u32(self.rounds).u32(4);
            device.launch(module, "add", &LaunchConfig::new(self.blocks, 256), &args).map_err(failed)
        };
        launch(&mut device, input)?;
        let mut results = vec![0; (self.blocks * 256 * 4) as usize];
        device.read(out, &mut results).map_err(failed)?;
        let mut all = vec![0; bytes.len()];
        device.read(input, &mut all).map_err(failed)?;
        results.extend(all);
        let timed = device.log()[0].timed.clone().expect("it is timed");
        let all = device.counters().expect("it is timed");
        Ok(Ran { cycles: timed.cycles, kernel: (*timed.counters).clone(), all, results })
    }
}

/// A byte of noise in each word: 41 bytes in base and differences, two accesses of 32.
fn narrow(i: u32) -> u32 {
    SplitMix64::new(u64::from(i)).next_u32() % 128
}

fn noise(i: u32) -> u32 {
    SplitMix64::new(u64::from(i)).next_u32()
}

/// A small L2, so that lines come and go.
fn small_l2() -> Setup {
    let mut setup = Setup { scatter: true, ..Setup::new() };
    (setup.config.l2.sets, setup.config.l2.ways) = (4, 4);
    setup
}

#[test]
fn accesses_to_memory_are_those_of_the_stored_lines_and_of_metadata_exactly() {
    for with in ALL {
        let setup = small_l2();
        let line_accesses = u64::from(setup.config.dram_line_accesses());
        let ran = setup
            .run(with, |i| if (i / 32).is_multiple_of(3) { noise(i) } else { narrow(i) })
            .expect("it runs");
        let (own, dram) = (ran.own(), &ran.all.dram);
        let read = own.filled_bursts + line_accesses * own.filled_without_bytes - own.forwarded_bursts
            + own.metadata_misses
            - own.metadata_forwards;
        assert_eq!(dram.reads, read, "{with}: {own:?}");
        let written =
            own.written_bursts + line_accesses * own.written_without_bytes + own.metadata_write_backs;
        assert_eq!(dram.writes, written, "{with}: {own:?}");
        assert!(own.filled > 1000 && own.written > 200 && own.metadata_misses > 0, "{with}: {own:?}");
        // Strictly, lines that the host copied before there were codes stay as they are.
        let gains = own.filled_bursts < line_accesses * own.filled;
        assert_eq!(gains, !with.contains("strict"), "{with}: {own:?}");
        assert_eq!(own.filled + own.filled_without_bytes, ran.all.l2.misses, "{with}");
    }
}

#[test]
fn results_are_the_same_and_neither_threads_nor_skipping_shows() {
    let word = |i: u32| if (i / 32).is_multiple_of(3) { noise(i) } else { narrow(i) };
    let plain = small_l2().run("", word).expect("it runs");
    for with in ALL {
        let ran = small_l2().run(with, word).expect("it runs");
        assert!(ran.results == plain.results, "{with}: other results");
        for twin in [Setup { threads: 3, ..small_l2() }, Setup { step: true, ..small_l2() }] {
            let twin = twin.run(with, word).expect("it runs");
            assert_eq!(twin.cycles, ran.cycles, "{with}");
            assert!(twin.kernel == ran.kernel && twin.all == ran.all, "{with}: other counters");
        }
    }
}

#[test]
fn a_stream_that_is_half_as_large_is_read_nearly_twice_as_fast() {
    // As many blocks as the SMs hold, and a memory so slow that its bus is what they wait for.
    let mut setup = Setup { blocks: 24, rounds: 16, ..Setup::new() };
    (setup.config.clock.dram_mhz, setup.config.l2.mshrs) = (250, 128);
    // Neighbouring banks in groups of their own: within a group, commands are further apart than the bus needs.
    setup.config.dram.upper_groups = false;
    let (plain, noisy) = (setup.run("", narrow).expect("it runs"), setup.run("", noise).expect("it runs"));
    assert_eq!(plain.cycles, noisy.cycles);
    let busy =
        plain.kernel.dram.data_busy as f64 / (plain.kernel.dram.active + plain.kernel.dram.idle) as f64;
    assert!(busy > 0.7, "the memory is busy {busy:.2} of the time");
    for with in ["bdi", "e2mc", "e2mc:symbol_bits=8,ways=8"] {
        let ran = setup.run(with, narrow).expect("it runs");
        let speedup = plain.cycles as f64 / ran.cycles as f64;
        assert!(speedup > 1.7 && speedup < 2.05, "{with}: {speedup:.2}");
        // What cannot be compressed costs metadata, and no more.
        let ran = setup.run(with, noise).expect("it runs");
        let (own, reads) = (ran.own(), noisy.all.dram.reads);
        assert_eq!(ran.all.dram.reads, reads + own.metadata_misses - own.metadata_forwards, "{with}");
        assert!((ran.cycles as f64) < 1.05 * noisy.cycles as f64, "{with}: {} {}", ran.cycles, noisy.cycles);
    }
}

#[test]
fn without_latency_gain_and_misses_of_metadata_nothing_changes() {
    for setup in [Setup::new(), small_l2()] {
        let plain = setup.run("", noise).expect("it runs");
        for with in [
            "bdi:compress_clocks=0,decompress_clocks=0,metadata_bytes=0",
            "e2mc:latency=set,compress_clocks=0,decompress_clocks=0,compress_rate=0,decompress_rate=0,metadata_bytes=0",
        ] {
            let ran = setup.run(with, noise).expect("it runs");
            assert_eq!(ran.cycles, plain.cycles, "{with}");
            let mut machine = ran.kernel.clone();
            (machine.techniques, machine.sm.techniques) = Default::default();
            assert!(machine == plain.kernel, "{with}: other counters");
        }
    }
}

/// Lines of zeros are written back, then a word of each is overwritten: device memory has the new word before the line is fetched.
#[test]
fn a_line_that_is_overwritten_between_write_back_and_fill_is_filled_as_it_was_written() {
    let text = ".version 7.0\n.target sm_50\n.address_size 64
.visible .entry put(.param .u64 at, .param .u32 value, .param .u32 stride)
{
    .reg .b32 %r<8>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [at];
    ld.param.u32 %r1, [value];
    ld.param.u32 %r2, [stride];
    mov.u32 %r3, %ctaid.x;
    mov.u32 %r4, %ntid.x;
    mov.u32 %r5, %tid.x;
    mad.lo.u32 %r6, %r3, %r4, %r5;
    mul.wide.u32 %rd2, %r6, %r2;
    add.u64 %rd3, %rd1, %rd2;
    mul.lo.u32 %r7, %r1, %r6;
    st.global.u32 [%rd3], %r7;
    ret;
}
";
    let mut config = small_l2().config;
    config.gpu.sms = 1;
    let mut techniques = Techniques { verify: true, ..Techniques::default() };
    techniques.with("bdi").expect("it is legal");
    let mode = Mode::Timed(Box::new(Timed { techniques, ..Timed::new(config) }));
    let mut device =
        Device::with(Options { mode, ..Options::default() }, Box::new(Nobody)).expect("a device");
    let module = device.load_module("put.ptx", text).expect("PTX");
    let lines = 1024u32;
    let at = device.alloc(u64::from(128 * lines)).expect("there is room");
    // Whole lines of zeros, most of which are written back; then a word in each.
    let words = LaunchConfig::new(lines * 32 / 256, 256);
    device.launch(module, "put", &words, &Args::new().ptr(at).u32(0).u32(4)).expect("it runs");
    let before = device.counters().expect("it is timed");
    let one_each = LaunchConfig::new(lines / 256, 256);
    device.launch(module, "put", &one_each, &Args::new().ptr(at).u32(0x1234_5677).u32(128)).expect("it runs");
    let after = device.counters().expect("it is timed").since(&before);
    let own: &Own = after.techniques.find().expect("it is on");
    assert!(own.filled > 900, "{own:?}");
    // A byte each, as of lines of zeros, though a line with such a word in it takes 27.
    assert_eq!((own.filled_bytes, own.filled_bursts), (own.filled, own.filled), "{own:?}");
    assert!(own.written_bytes > 20 * own.written, "{own:?}");
}

#[test]
fn a_flipped_bit_in_memory_is_noticed_with_every_codec() {
    for with in ALL {
        let setup = Setup { inject: Some(InjectedFault::Dram), ..small_l2() };
        let error = setup.run(with, narrow).err().unwrap_or_else(|| panic!("{with}: nothing was noticed"));
        assert!(error.contains("read from memory differs from the one written"), "{with}: {error}");
    }
}
