// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compression at a controller, step by step.

use std::sync::Arc;

use warpwatt_base::SplitMix64;
use warpwatt_codecs::profile::{Collected, Profile};
use warpwatt_config::{Config, GpuFile};

use super::metadata::MetadataCache;
use super::{Counters, e2mc};
use crate::partition::{LineBytes, Transfer, TransferPlan, TransferSite, Way};
use crate::techniques::{Build, Fault, Techniques};

const ALL: [&str; 7] =
    ["bdi", "fpc", "cpack", "e2mc:symbol_bits=4", "e2mc:symbol_bits=8", "e2mc", "e2mc:symbol_bits=32"];

fn gpu() -> Config {
    GpuFile::preset("gtx580-e2mc").expect("a preset").config
}

/// Small numbers, of which there are few.
fn small(seed: u64) -> LineBytes {
    let mut random = SplitMix64::new(seed);
    let mut bytes = [0; 128];
    bytes.chunks_mut(4).for_each(|word| word[0] = random.next_u32() as u8 % 4);
    bytes
}

fn noise(seed: u64) -> LineBytes {
    let mut random = SplitMix64::new(seed);
    std::array::from_fn(|_| random.next_u32() as u8)
}

fn profile() -> Profile {
    let mut profile = Profile::new(Collected::Dram, "small numbers");
    (0..500).for_each(|seed| profile.add(&small(seed)));
    profile
}

/// A controller's site.
fn site(text: &str, config: &Config, inject: Option<Fault>) -> Box<dyn TransferSite> {
    let mut techniques = Techniques::default();
    techniques.with(text).expect("it is legal");
    techniques.validate(config).expect("it is possible");
    techniques.symbols = Some(Arc::new(profile()));
    let (_, technique, settings) = techniques.settings().next().expect("it is on");
    let build = Build { config, settings, techniques: &techniques, instance: 0, verify: true, inject };
    technique.sites.transfer.expect("it acts at controllers")(&build)
}

struct Bench {
    site: Box<dyn TransferSite>,
    now: u64,
}

impl Bench {
    fn new(text: &str) -> Bench {
        Bench { site: site(text, &gpu(), None), now: 1000 }
    }

    fn transfer(&mut self, way: Way, line: u64, bytes: &LineBytes) -> TransferPlan {
        let mut plan = TransferPlan::WHOLE;
        let transfer = Transfer { now: self.now, way, address: 128 * line, line, bytes: Some(bytes) };
        self.site.transfer(&transfer, &mut plan);
        self.now += 1000;
        plan
    }

    fn counters(&self) -> Counters {
        self.site.counters().of::<Counters>().expect("its counters").clone()
    }
}

#[test]
fn a_fill_takes_what_was_written_back_whatever_memory_holds_by_then() {
    for text in ALL {
        let mut bench = Bench::new(text);
        let written = bench.transfer(Way::WriteBack, 7, &small(1)).bytes;
        assert!(written <= 96, "{text}: {written}");
        // A kernel has overwritten the line; its store is in device memory and not in DRAM.
        assert_eq!(bench.transfer(Way::Fill, 7, &noise(2)).bytes, written, "{text}");
        // The other way round, and by a copy of the host.
        bench.transfer(Way::WriteBack, 7, &noise(2));
        assert_eq!(bench.transfer(Way::Fill, 7, &small(1)).bytes, 128, "{text}");
        bench.transfer(Way::HostWrite, 7, &small(1));
        assert_eq!(bench.transfer(Way::Fill, 7, &noise(2)).bytes, written, "{text}");
        assert_eq!(bench.transfer(Way::Fill, 8, &small(1)).bytes, 128, "{text}: never written");
        assert_eq!(bench.site.corrupted(), None, "{text}");
    }
}

/// Section III-E: up to 96 bytes are stored encoded; Table II: what is fetched.
#[test]
fn lines_are_stored_encoded_if_that_saves_a_burst() {
    // A word of two bytes takes FPC 19 bits, one of four 35, a zero run 6.
    let line = |halves: usize, words: usize| {
        let mut bytes = [0; 128];
        for (i, place) in bytes.chunks_mut(4).enumerate() {
            let value: u32 = match i {
                _ if i < halves => 0x4321,
                _ if i < halves + words => 0x1234_5678,
                _ => 0,
            };
            place.copy_from_slice(&value.to_le_bytes());
        }
        bytes
    };
    // Bits: 19 h + 35 w + 6 for each run of up to 8 zeros.
    for (halves, words, stored, bursts) in
        [(27, 0, 65, 3), (26, 0, 63, 2), (19, 11, 94, 3), (19, 12, 128, 4), (0, 0, 3, 1)]
    {
        let mut bench = Bench::new("fpc");
        let plan = bench.transfer(Way::WriteBack, 0, &line(halves, words));
        assert_eq!(plan.bytes, stored, "{halves}, {words}");
        let counters = bench.counters();
        assert_eq!((counters.written_bytes, counters.written_bursts), (u64::from(stored), bursts));
        assert_eq!(counters.raw, u64::from(stored == 128));
    }
}

/// With accesses of 64 bytes a line takes one or two.
#[test]
fn with_larger_accesses_a_line_has_to_be_smaller() {
    let mut config = gpu();
    config.dram.bus_bytes = 8;
    let mut bench = Bench { site: site("bdi", &config, None), now: 0 };
    // Differences of two bytes: 73 bytes are more than 64.
    let spread: LineBytes = std::array::from_fn(|i| (i % 4 == 1) as u8 * i as u8);
    assert_eq!(bench.transfer(Way::WriteBack, 0, &spread).bytes, 128);
    assert_eq!(bench.transfer(Way::WriteBack, 0, &small(1)).bytes, 41);
    config.dram.bus_bytes = 16;
    let mut techniques = Techniques::default();
    techniques.with("bdi").expect("it is legal");
    let refused = techniques.validate(&config).expect_err("a line is one access");
    assert!(refused[0].message.contains("one access"), "{}", refused[0]);
}

#[test]
fn a_flipped_bit_is_noticed_with_every_codec() {
    for text in ALL {
        for ways in 1..=8 {
            let text = if text.starts_with("e2mc") {
                &format!("{text}{}ways={ways}", if text.contains(':') { "," } else { ":" })
            } else {
                text
            };
            for bytes in [small(1), noise(2), [0; 128]] {
                let mut bench = Bench { site: site(text, &gpu(), Some(Fault::Dram)), now: 0 };
                bench.transfer(Way::HostWrite, 3, &bytes);
                assert!(bench.site.fault_is_pending() && bench.site.corrupted().is_none());
                bench.transfer(Way::Fill, 3, &bytes);
                assert!(bench.site.corrupted().is_some_and(|message| message.contains("0x180")), "{text}");
                assert!(!bench.site.fault_is_pending());
            }
        }
    }
}

/// Table VI, in DRAM clocks of 1002 MHz and core cycles of 822 MHz; ways divide the decompressor's, rounded up.
#[test]
fn latencies_are_those_of_the_table() {
    let core = |clocks: u64| (clocks * 822).div_ceil(1002);
    for (text, compress, decompress) in [
        ("bdi", 1, 1),
        ("fpc", 6, 10),
        ("e2mc:symbol_bits=4,ways=1", 154, 233),
        ("e2mc:symbol_bits=8,ways=8", 84, 18),
        ("e2mc:ways=1", 46, 82),
        ("e2mc", 46, 21),
        ("e2mc:symbol_bits=32", 24, 11),
        ("e2mc:latency=set,compress_clocks=80,decompress_clocks=0", 80, 0),
    ] {
        let mut bench = Bench::new(text);
        let plan = bench.transfer(Way::WriteBack, 0, &small(1));
        assert_eq!(u64::from(plan.wait), core(compress), "{text}");
        let plan = bench.transfer(Way::Fill, 0, &small(1));
        assert_eq!(bench.site.arrived(5000, &plan, false), 5000 + core(decompress), "{text}");
        // A line that is stored as it is does not pass the decompressor.
        bench.transfer(Way::WriteBack, 0, &noise(1));
        let plan = bench.transfer(Way::Fill, 0, &noise(1));
        assert_eq!(bench.site.arrived(9000, &plan, false), 9000, "{text}");
    }
}

/// 64 GB/s are a line in 2 ns, or 1.644 cycles.
#[test]
fn units_bound_the_lines_in_a_row() {
    let mut bench = Bench::new("e2mc:latency=set,decompress_clocks=0");
    bench.transfer(Way::WriteBack, 0, &small(1));
    let plan = bench.transfer(Way::Fill, 0, &small(1));
    let done: Vec<u64> = (0..100).map(|_| bench.site.arrived(10_000, &plan, false)).collect();
    assert_eq!((done[0], done[99]), (10_000, 10_000 + (99 * 1683u64).div_ceil(1024)));
    assert!(bench.counters().decompressor_waits > 0);
    let mut bench = Bench::new("e2mc:latency=set,decompress_clocks=0,decompress_rate=0");
    bench.transfer(Way::WriteBack, 0, &small(1));
    let plan = bench.transfer(Way::Fill, 0, &small(1));
    assert!((0..100).all(|_| bench.site.arrived(10_000, &plan, false) == 10_000));
}

#[test]
fn metadata_of_128_lines_come_with_one_access_and_changed_ones_go_back() {
    let mut counters = Counters::default();
    let mut cache = MetadataCache::new(8192);
    for line in 0..128 {
        let metadata = cache.access(line, line == 5, &mut counters).expect("it can miss");
        assert_eq!((metadata.line, metadata.missing, metadata.write_back), (0, line == 0, None));
    }
    // 64 sets of 4 ways: the fifth line of a set takes the place of the one that was used longest ago.
    for i in 1..5 {
        let metadata = cache.access(128 * 64 * i, false, &mut counters).expect("it can miss");
        assert!(metadata.missing);
        assert_eq!(metadata.write_back.map(|(line, _)| line), (i == 4).then_some(0));
    }
    assert_eq!((counters.metadata_misses, counters.metadata_write_backs), (5, 1));
    assert_eq!((counters.metadata_reads, counters.metadata_writes), (127 + 4, 1 + 5));
    assert_eq!(MetadataCache::new(0).access(0, true, &mut counters), None);
}

/// Online codes: nothing is compressed until they are there, and what was in memory before counts by the accounting.
#[test]
fn online_codes_come_from_all_controllers_when_their_time_has_come() {
    for (accounting, expected) in [("trace", true), ("strict", false)] {
        let text =
            format!("e2mc:probability=online,sampling=5000,generation_cycles=10000,accounting={accounting}");
        let mut bench = Bench::new(&text);
        let mut other = Bench::new(&text);
        bench.transfer(Way::HostWrite, 0, &small(0));
        assert_eq!(bench.transfer(Way::Fill, 0, &small(0)).bytes, 128);
        let plan = bench.transfer(Way::WriteBack, 1, &small(1));
        assert_eq!((plan.bytes, plan.wait, plan.metadata), (128, 0, None));
        (2..50).for_each(|line| _ = other.transfer(Way::WriteBack, line, &small(line)));
        assert_eq!(bench.counters().sampled, 2);
        assert_eq!(bench.site.tells_at(), 5000);
        let told = [bench.site.tell().expect("it sampled"), other.site.tell().expect("it sampled")];
        bench.site.hear(20_000, &told);
        bench.now = 29_999;
        assert_eq!(bench.transfer(Way::Fill, 1, &small(1)).bytes, 128);
        bench.now = 30_000;
        let plan = bench.transfer(Way::Fill, 1, &small(1));
        assert_eq!(plan.bytes < 96, expected, "{accounting}: {}", plan.bytes);
        assert_eq!(bench.counters().encoded_anew, if expected { 2 } else { 0 });
        assert!(bench.transfer(Way::WriteBack, 1, &small(1)).bytes < 96);
        assert!(bench.transfer(Way::Fill, 1, &small(1)).bytes < 96);
        assert_eq!(bench.site.tells_at(), u64::MAX);
        assert_eq!(bench.site.corrupted(), None);
    }
}

/// New codes leave lines alone that were stored with earlier ones: each is decoded with its own.
#[test]
fn lines_keep_the_codes_that_they_were_stored_with() {
    let mut bench = Bench::new("e2mc:probability=online,sampling=1000,recode=500");
    (0..20).for_each(|line| _ = bench.transfer(Way::WriteBack, line, &small(line)));
    let told = [bench.site.tell().expect("it sampled")];
    bench.site.hear(bench.now, &told);
    assert_eq!(bench.site.tells_at(), 1500);
    let first = bench.transfer(Way::WriteBack, 0, &small(0)).bytes;
    // Other values from here on.
    let other = |seed| small(seed).map(|byte| byte.wrapping_mul(77));
    (1..20).for_each(|line| _ = bench.transfer(Way::WriteBack, line, &other(line)));
    let told = [bench.site.tell().expect("it samples on")];
    bench.site.hear(bench.now, &told);
    let (old, new) =
        (bench.transfer(Way::Fill, 1, &other(1)).bytes, bench.transfer(Way::WriteBack, 1, &other(1)).bytes);
    assert!(new < old, "{new} {old}");
    assert_eq!(bench.transfer(Way::Fill, 0, &small(0)).bytes, first);
    assert_eq!((bench.counters().codes, bench.site.corrupted()), (2, None));
}

#[test]
fn settings_that_contradict_each_other_are_refused() {
    for (text, what) in [
        ("e2mc:values=1000", "values"),
        ("bdi:metadata_bytes=96", "metadata_bytes"),
        ("e2mc:probability=online,profile=x", "profile"),
    ] {
        let mut techniques = Techniques::default();
        techniques.with(text).expect("each is legal by itself");
        let refused = techniques.validate(&gpu()).expect_err("together they are not");
        assert!(refused[0].message.contains(what), "{}", refused[0]);
    }
    let parameters = e2mc::Parameters::default();
    assert_eq!(parameters.latencies(), (46, 21));
    let mut both = Techniques::default();
    both.with("bdi").expect("it is legal");
    both.with("e2mc").expect("it is legal");
    assert!(both.validate(&gpu()).expect_err("one at a time")[0].message.contains("exclude each other"));
}
