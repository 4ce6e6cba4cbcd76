// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every site of techniques, by a probe whose effect is worked out beforehand. Nothing else may change: with zero effect, no counter of the machine
//! does.

mod caches;
mod division;

use warpwatt_base::counters::Count;
use warpwatt_config::{Config, GpuFile};
use warpwatt_model::techniques::probes;
use warpwatt_runtime::texture::{ChannelKind, Format, Image, Sampler, Storage};
use warpwatt_runtime::{
    Args, Counters, Device, InjectedFault, LaunchConfig, LaunchRecord, Mode, Nobody, Options, Techniques,
    Timed,
};
use warpwatt_testing::conserve;

const HEAD: &str = ".version 7.0\n.target sm_50\n.address_size 64\n";

/// A kernel that computes on a value for each thread and stores it.
fn kernel(body: &str) -> String {
    format!(
        "{HEAD}.const .align 4 .u32 table[4] = {{5, 6, 7, 8}};
.visible .entry k(.param .u64 out, .param .u32 n, .param .u64 texels)
{{
    .reg .pred %p<4>;
    .reg .b32 %r<24>;
    .reg .b64 %rd<9>;
    .shared .align 4 .b8 sh[4096];
    ld.param.u64 %rd1, [out];
    mov.u32 %r10, %ctaid.x;
    mov.u32 %r11, %ntid.x;
    mov.u32 %r1, %tid.x;
    mad.lo.u32 %r12, %r10, %r11, %r1;
    mul.wide.u32 %rd2, %r12, 4;
    add.u64 %rd3, %rd1, %rd2;
    ld.global.u32 %r2, [%rd3];
    ld.param.u32 %r13, [n];
    shr.u32 %r13, %r13, 31;
    ld.param.u64 %rd8, [texels];
{body}
    st.global.u32 [%rd3], %r2;
    ret;
}}
"
    )
}

struct Ran {
    record: LaunchRecord,
    counters: Counters,
    results: Vec<u32>,
    /// Everything counted, copies before and after the kernel included.
    pending: bool,
}

impl Ran {
    fn cycles(&self) -> u64 {
        self.record.timed.as_ref().expect("it is timed").cycles
    }

    /// What the machine counted, without techniques.
    fn machine(&self) -> Vec<(String, Vec<u64>)> {
        let mut all = Vec::new();
        let mut counters = self.counters.clone();
        (counters.techniques, counters.sm.techniques) = Default::default();
        counters.visit(&mut |name, count| {
            let values = match count {
                Count::Sum(sum) => vec![sum],
                Count::Histogram(buckets) => buckets.to_vec(),
            };
            all.push((name.to_owned(), values));
        });
        all
    }
}

struct Setup {
    config: Config,
    with: Vec<&'static str>,
    inject: Option<InjectedFault>,
    blocks: u32,
    threads: u32,
    threads_of_host: u32,
    step: bool,
}

impl Setup {
    fn new(with: &[&'static str]) -> Setup {
        let mut config = GpuFile::preset("gtx480").expect("a preset").config;
        config.gpu.sms = 1;
        Setup {
            config,
            with: with.to_vec(),
            inject: None,
            blocks: 1,
            threads: 32,
            threads_of_host: 1,
            step: false,
        }
    }

    fn run(&self, body: &str) -> Result<Ran, String> {
        self.run_on(body, |thread| thread + 1)
    }

    fn run_on(&self, body: &str, value: impl Fn(u32) -> u32) -> Result<Ran, String> {
        let mut techniques = Techniques { verify: true, inject: self.inject, ..Techniques::default() };
        for text in &self.with {
            techniques.with(text).expect("it is legal");
        }
        let timed = Timed {
            techniques,
            threads: self.threads_of_host,
            step_every_cycle: self.step,
            ..Timed::new(self.config.clone())
        };
        let mode = Mode::Timed(Box::new(timed));
        let mut device =
            Device::with(Options { mode, ..Options::default() }, Box::new(Nobody)).expect("a device");
        let ptx = kernel(body);
        let module = device.load_module("k.ptx", &ptx).unwrap_or_else(|error| panic!("{error}\n{ptx}"));
        let count = self.blocks * self.threads;
        let out = device.alloc(u64::from(4 * count)).expect("there is room");
        let bytes: Vec<u8> = (0..count).flat_map(|thread| value(thread).to_le_bytes()).collect();
        device.write(out, &bytes).map_err(|error| error.to_string())?;
        let config = LaunchConfig::new(self.blocks, self.threads);
        let texels = device.alloc(16).expect("there is room");
        let format = Format { kind: ChannelKind::Unsigned, bits: 32, channels: 1 };
        let storage = Storage::linear(texels.0, 16, format);
        let texture = device.create_image(Image { storage, sampler: Sampler::default() });
        let args = Args::new().ptr(out).u32(count).u64(texture);
        let launched = device.launch(module, "k", &config, &args);
        launched.map_err(|error| error.to_string())?;
        let mut bytes = vec![0; 4 * count as usize];
        device.read(out, &mut bytes).map_err(|error| error.to_string())?;
        let results = bytes.as_chunks::<4>().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
        let record = device.log()[0].clone();
        let counters = record.timed.as_ref().expect("it is timed").counters.as_ref().clone();
        Ok(Ran { record, counters, results, pending: device.fault_is_pending() })
    }
}

fn run(with: &[&'static str], body: &str) -> Ran {
    Setup::new(with).run(body).unwrap_or_else(|error| panic!("{with:?}: {error}"))
}

/// Links of a chain, each of which waits for the one before.
const LINKS: u64 = 100;

fn chain(link: &str) -> String {
    // Twice, so that the difference of two runs is one round with everything in the caches.
    link.repeat(LINKS as usize)
}

/// A loop over some instructions; the cycles of a round are those that the fourth adds to three.
fn per_link(setup: &Setup, link: &str) -> f64 {
    let rounds = |rounds: u32| {
        format!(
            "    mov.u32 %r20, 0;\nagain:\n    add.u32 %r20, %r20, 1;\n    setp.lt.u32 %p1, %r20, {rounds};\n{}    @%p1 bra again;\n",
            chain(link)
        )
    };
    let cycles = |count: u32| setup.run(&rounds(count)).expect("it runs").cycles();
    (cycles(4) - cycles(3)) as f64 / LINKS as f64
}

/// How much longer a link takes with a probe.
fn difference(with: &'static str, link: &str, change: impl Fn(&mut Config)) -> f64 {
    let mut plain = Setup::new(&[]);
    change(&mut plain.config);
    let probed = Setup { with: vec![with], config: plain.config.clone(), ..Setup::new(&[]) };
    per_link(&probed, link) - per_link(&plain, link)
}

#[track_caller]
fn near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 0.15, "{found} is not {expected}");
}

/// A link that reads three registers in three banks.
const THREE: &str = "    mad.lo.u32 %r2, %r2, %r12, %r11;\n";

#[test]
fn two_reads_merged_into_one_take_a_cycle_less_where_a_collector_has_one_port() {
    let one_port = |config: &mut Config| config.rf.collector_ports = 1;
    near(difference("probe-merge", THREE, one_port), -1.0);
    near(difference("probe-merge:merge=off", THREE, one_port), 0.0);
    let (plain, merged) = (run(&[], &chain(THREE)), run(&["probe-merge"], &chain(THREE)));
    let count = merged.counters.all_techniques().find::<probes::merge::Counters>().expect("it is on").merged;
    assert!(count > LINKS);
    assert_eq!(merged.counters.sm.registers.reads, plain.counters.sm.registers.reads - count);
    assert_eq!(
        merged.counters.sm.registers.sub_bank_reads,
        plain.counters.sm.registers.sub_bank_reads - 8 * count
    );
    assert_eq!(merged.results, plain.results);
}

#[test]
fn registers_renamed_to_one_bank_are_read_one_after_the_other() {
    // Three banks and two ports: two cycles; one bank: three. The result has to wait for no read.
    near(difference("probe-rename", THREE, |_| ()), 1.0);
    near(difference("probe-rename:to=5", THREE, |_| ()), 1.0);
    near(difference("probe-rename:rename=off", THREE, |_| ()), 0.0);
}

#[test]
fn registers_are_released_at_the_last_read_of_a_live_range() {
    // %r3 of every link is read by the next instruction alone.
    let link = "    xor.b32 %r3, %r2, %r12;\n    mad.lo.u32 %r2, %r3, %r12, %r2;\n";
    let [few, many] = [10usize, 30].map(|links| {
        let ran = run(&["probe-release"], &link.repeat(links));
        ran.counters.all_techniques().find::<probes::release::Counters>().expect("it is on").clone()
    });
    // A link reads %r3 for the last time, and the old %r2 as it is written anew.
    assert_eq!(many.released - few.released, 20 * 2);
    assert!(many.free > few.free);
    // Half of the warp needs %r2 on its own way: nothing of that is released while they are apart.
    let apart = "    setp.lt.u32 %p1, %r1, 16;\n    @%p1 bra one;\n    mad.lo.u32 %r2, %r2, %r2, 7;\n    bra both;\none:\n    mad.lo.u32 %r2, %r2, 3, %r1;\nboth:\n    add.u32 %r2, %r2, %r12;\n";
    let (plain, released) = (run(&[], apart), run(&["probe-release"], apart));
    assert_eq!(plain.results, released.results);
}

#[test]
fn instructions_of_the_compiler_s_half_are_issued_by_every_warp() {
    let setup = |with: &[&'static str]| Setup { blocks: 6, threads: 96, ..Setup::new(with) };
    let body = chain(THREE);
    let plain = setup(&[]).run(&body).expect("it runs");
    let inserted = setup(&["probe-insert:nops=5"]).run(&body).expect("it runs");
    let warps = 6 * 3;
    assert_eq!(inserted.record.warp_instructions, plain.record.warp_instructions + 5 * warps);
    assert_eq!(inserted.record.thread_instructions, plain.record.thread_instructions + 5 * warps * 32);
    let counted = inserted.counters.all_techniques().find::<probes::insert::Counters>().expect("on").inserted;
    assert_eq!(counted, 5 * warps);
    assert_eq!(inserted.results, plain.results);
}

#[test]
fn an_sm_takes_no_more_blocks_than_a_technique_lets_it() {
    let setup = |with: &[&'static str]| Setup { blocks: 8, threads: 64, ..Setup::new(with) };
    let body = chain(THREE);
    let most = |ran: &Ran| {
        let issue = &ran.counters.sm.issue;
        issue.resident_warps as f64 / issue.active as f64
    };
    let plain = setup(&[]).run(&body).expect("it runs");
    let one = setup(&["probe-limit"]).run(&body).expect("it runs");
    let two = setup(&["probe-limit:blocks=2"]).run(&body).expect("it runs");
    assert!(most(&one) <= 2.0 && most(&two) <= 4.0 && most(&two) > 2.0 && most(&plain) > 4.0);
    assert!(one.cycles() > two.cycles() && two.cycles() > plain.cycles());
    let mut device = {
        let mut techniques = Techniques::default();
        techniques.with("probe-limit:blocks=2").expect("it is legal");
        let mode = Mode::Timed(Box::new(Timed { techniques, ..Timed::new(Config::default()) }));
        Device::with(Options { mode, ..Options::default() }, Box::new(Nobody)).expect("a device")
    };
    let module = device.load_module("k.ptx", &kernel("")).expect("PTX");
    assert_eq!(device.occupancy(module, "k", 64, 0).expect("a kernel"), 2);
}

/// Loads that wait for each other, from the L1 data cache. %r13 is 0, which the compiler does not know.
const L1D: &str = "    and.b32 %r4, %r2, %r13;\n    mul.wide.u32 %rd4, %r4, 4;\n    add.u64 %rd5, %rd3, %rd4;\n    ld.global.u32 %r5, [%rd5];\n    add.u32 %r2, %r2, %r5;\n";
/// A word of its own for each thread of a block, written and read.
const SHARED: &str = "    and.b32 %r4, %r2, %r13;\n    mad.lo.u32 %r4, %r1, 4, %r4;\n    st.shared.u32 [%r4], %r2;\n    ld.shared.u32 %r5, [%r4];\n    add.u32 %r2, %r5, 1;\n";

/// Loads that wait for each other, from constant memory by an index, and through a texture.
const INDEXED: &str = "    and.b32 %r4, %r2, %r13;\n    mov.u64 %rd4, table;\n    cvt.u64.u32 %rd5, %r4;\n    add.u64 %rd4, %rd4, %rd5;\n    ld.const.u32 %r5, [%rd4];\n    add.u32 %r2, %r2, %r5;\n";
const TEXTURE: &str = "    and.b32 %r4, %r2, %r13;\n    tex.1d.v4.u32.s32 {%r5, %r6, %r7, %r8}, [%rd8, {%r4}];\n    add.u32 %r2, %r2, %r5;\n";

#[test]
fn a_hit_is_delayed_by_as_much_as_its_array_waits() {
    near(difference("probe-delay:l1d=7", L1D, |_| ()), 7.0);
    near(difference("probe-delay:l1d=0", L1D, |_| ()), 0.0);
    near(difference("probe-delay:shared=7", SHARED, |_| ()), 7.0);
    near(difference("probe-delay:constant=5", INDEXED, |_| ()), 5.0);
    near(difference("probe-delay:texture=6", TEXTURE, |_| ()), 6.0);
    let no_l1 = |config: &mut Config| config.l1d.global = false;
    // The L2 clock of this GPU is that of its cores.
    near(difference("probe-delay:l2=9", L1D, no_l1), 9.0);
}

#[test]
fn a_constant_operand_waits_for_its_array() {
    let link = "    ld.param.u32 %r6, [n];\n    mad.lo.u32 %r2, %r2, %r6, %r6;\n";
    near(difference("probe-delay:constant=11", link, |_| ()), 11.0);
    near(difference("probe-delay:constant=0", link, |_| ()), 0.0);
}

#[test]
fn an_instruction_fetch_waits_for_its_array() {
    // A warp that branches at every other instruction waits for each fetch.
    let body = |rounds: u32| {
        format!(
            "    mov.u32 %r20, 0;\nagain:\n    add.u32 %r20, %r20, 1;\n    mad.lo.u32 %r2, %r2, %r12, %r20;\n    setp.lt.u32 %p1, %r20, {rounds};\n    @%p1 bra again;\n"
        )
    };
    let cycles = |with: &[&'static str], rounds| run(with, &body(rounds)).cycles();
    let round = |with: &[&'static str]| (cycles(with, 200) - cycles(with, 100)) as f64 / 100.0;
    let (plain, delayed) = (round(&[]), round(&["probe-delay:instruction=13"]));
    assert!(delayed - plain >= 12.9, "a round waits for at least one fetch: {plain}, {delayed}");
    near(round(&["probe-delay:instruction=0"]) - plain, 0.0);
}

#[test]
fn a_line_takes_as_many_bursts_as_its_bytes_need_copies_and_fills_included() {
    let setup = |with: &[&'static str]| {
        let mut setup = Setup { blocks: 64, threads: 256, ..Setup::new(with) };
        // Lines that the host wrote are in memory alone.
        setup.config.pcie.fills_l2 = false;
        setup
    };
    // All values are zero but every 32nd, the first of its line: four bytes of 128 are left, before and after.
    let first = |thread: u32| if thread.is_multiple_of(32) { 1 << 31 } else { 0 };
    let body = "    mul.lo.u32 %r2, %r2, 3;\n";
    let plain = setup(&[]).run_on(body, first).expect("it runs");
    let short = setup(&["probe-shorten"]).run_on(body, first).expect("it runs");
    assert!(plain.results == short.results);
    let own = short.counters.techniques.find::<probes::shorten::Counters>().expect("it is on").clone();
    let lines = 64 * 256 / 32;
    let with_bytes = own.filled + own.written - own.without_bytes;
    assert!(own.filled - own.without_bytes >= lines, "each line of the array is read");
    assert_eq!(own.saved, with_bytes * 124, "four bytes of each line are left");
    let config = &setup(&[]).config;
    let accesses = u64::from(config.dram_line_accesses());
    let fewer = plain.counters.dram.reads - short.counters.dram.reads;
    assert_eq!(fewer, lines * (accesses - 1), "one burst of each line is left");
    // Copies and module variables came before the kernel, and count in the whole run only.
    assert!(short.cycles() < plain.cycles());
    let off = setup(&["probe-shorten:shorten=off"]).run_on(body, first).expect("it runs");
    assert_eq!(off.machine(), plain.machine());
    let late = setup(&["probe-shorten:cycles=40"]).run_on(body, first).expect("it runs");
    assert!(late.cycles() > short.cycles());
}

/// Everything at once that a probe could meet: registers, shared memory, constants, divergence, memory.
fn mixed() -> String {
    format!(
        "{}{SHARED}{L1D}    setp.lt.u32 %p1, %r1, 16;\n    @%p1 bra one;\n    mad.lo.u32 %r2, %r2, %r2, 7;\n    bra both;\none:\n    ld.param.u32 %r6, [n];\n    mad.lo.u32 %r2, %r2, %r6, %r1;\nboth:\n    add.u32 %r2, %r2, %r12;\n",
        chain(THREE)
    )
}

const NEUTRAL: [&str; 8] = [
    "renaming:ports=0",
    "probe-merge:merge=off",
    "probe-rename:rename=off",
    "probe-release",
    "probe-insert:nops=0",
    "probe-limit:blocks=64",
    "probe-delay",
    "probe-shorten:shorten=off",
];

const ACTING: [&str; 7] = [
    "probe-merge",
    "probe-rename:to=3",
    "probe-release",
    "probe-insert:nops=3",
    "probe-limit:blocks=2",
    "probe-delay:l1d=2,constant=3,texture=1,instruction=2,shared=5,l2=4",
    "probe-shorten:cycles=9",
];

fn wide(with: &[&'static str]) -> Setup {
    let mut setup = Setup { blocks: 12, threads: 96, ..Setup::new(with) };
    setup.config.gpu.sms = 3;
    setup
}

#[test]
fn a_probe_without_effect_changes_no_counter_of_the_machine() {
    let plain = wide(&[]).run(&mixed()).expect("it runs");
    for probe in NEUTRAL {
        let ran = wide(&[probe]).run(&mixed()).unwrap_or_else(|error| panic!("{probe}: {error}"));
        for (one, other) in ran.machine().iter().zip(&plain.machine()) {
            assert_eq!(one, other, "{probe}");
        }
        assert!(ran.results == plain.results, "{probe}: other results");
        assert_eq!(ran.cycles(), plain.cycles(), "{probe}");
    }
}

#[test]
fn any_two_techniques_at_once_leave_results_and_conservation_as_they_are() {
    let plain = wide(&[]).run(&mixed()).expect("it runs");
    let all: Vec<_> = ACTING
        .into_iter()
        .chain([
            "warped-compression",
            "corf",
            "drowsy:instruction=on",
            "dwl",
            "block-profile",
            "filter-cache",
            "gated:idle_cycles=40,instruction=on",
        ])
        .collect();
    for (place, one) in all.iter().enumerate() {
        for other in &all[place + 1..] {
            let excluded = [("warped-compression", "corf"), ("drowsy", "gated")];
            if excluded.iter().any(|(a, b)| one.starts_with(a) && other.starts_with(b)) {
                continue;
            }
            let setup = wide(&[one, other]);
            let ran = setup.run(&mixed()).unwrap_or_else(|error| panic!("{one}, {other}: {error}"));
            assert!(ran.results == plain.results, "{one}, {other}: other results");
            let threads = Setup { threads_of_host: 3, ..wide(&[one, other]) };
            let stepped = Setup { step: true, ..wide(&[one, other]) };
            for twin in [threads, stepped] {
                let twin = twin.run(&mixed()).unwrap_or_else(|error| panic!("{one}, {other}: {error}"));
                assert!(twin.counters == ran.counters, "{one}, {other}: other counters");
            }
            conserved(&setup, &ran);
        }
    }
}

/// Checks sums and laws, for the program as techniques changed it.
fn conserved(setup: &Setup, ran: &Ran) {
    let mut techniques = Techniques::default();
    setup.with.iter().for_each(|text| techniques.with(text).expect("it is legal"));
    let mut device = Device::new().expect("a device");
    let module = device.load_module("k.ptx", &kernel(&mixed())).expect("PTX");
    let program = device.compile(module, "k", false).expect("it compiles").program;
    let program = techniques.rewrite(&program).unwrap_or(program);
    conserve::check(&ran.record, &program, &setup.config);
}

#[test]
fn a_flipped_bit_is_noticed_wherever_a_technique_stores_something() {
    let cases = [
        ("probe-rename", InjectedFault::Rf),
        ("warped-compression", InjectedFault::Rf),
        ("corf", InjectedFault::Rf),
        ("probe-delay", InjectedFault::Cache),
        ("drowsy", InjectedFault::Cache),
        ("probe-shorten", InjectedFault::Dram),
    ];
    for (probe, fault) in cases {
        let body = mixed();
        let setup = Setup { inject: Some(fault), ..wide(&[probe]) };
        match setup.run(&body) {
            Ok(ran) => panic!("{probe}: nothing was noticed ({})", ran.pending),
            Err(error) => assert!(!error.is_empty(), "{probe}: {error}"),
        }
        let sound = Setup { inject: None, ..wide(&[probe]) }.run(&body);
        assert!(sound.is_ok_and(|ran| !ran.pending), "{probe}");
    }
}
