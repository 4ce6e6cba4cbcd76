// SPDX-License-Identifier: MIT OR Apache-2.0
//! Packing, virtualization, CORF and CORF++ on a device, by programs whose cost is known.

use warpwatt_config::{Config, GpuFile};
use warpwatt_model::SmCounters;
use warpwatt_model::techniques::{corf, corf_plus, packing, renaming, virtualization};
use warpwatt_runtime::{
    Args, Device, InjectedFault, LaunchConfig, LaunchRecord, Mode, Nobody, Options, Techniques, Timed,
};
use warpwatt_testing::conserve;

const HEAD: &str = ".version 7.0\n.target sm_50\n.address_size 64\n";

/// A kernel that computes on two values for each thread and stores one.
fn kernel(body: &str) -> String {
    format!(
        "{HEAD}.visible .func (.param .u32 back) twice(.param .u32 of)
{{
    .reg .b32 %r<4>;
    ld.param.u32 %r1, [of];
    add.u32 %r2, %r1, %r1;
    st.param.u32 [back], %r2;
    ret;
}}
.visible .entry k(.param .u64 out)
{{
    .reg .pred %p<4>;
    .reg .b32 %r<24>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r10, %ctaid.x;
    mov.u32 %r11, %ntid.x;
    mov.u32 %r1, %tid.x;
    mad.lo.u32 %r12, %r10, %r11, %r1;
    mul.wide.u32 %rd2, %r12, 4;
    add.u64 %rd3, %rd1, %rd2;
    ld.global.u32 %r2, [%rd3];
    and.b32 %r4, %r2, 15;
{body}
    st.global.u32 [%rd3], %r2;
    ret;
}}
"
    )
}

struct Setup {
    config: Config,
    with: Vec<&'static str>,
    inject: Option<InjectedFault>,
    blocks: u32,
    threads: u32,
    host_threads: u32,
    step: bool,
}

struct Ran {
    record: LaunchRecord,
    results: Vec<u32>,
    cycles: u64,
    counters: SmCounters,
    pending: bool,
}

impl Ran {
    fn of<T: warpwatt_base::counters::CounterSet + Clone>(&self) -> T {
        self.counters.techniques.find::<T>().expect("it is on").clone()
    }
}

impl Setup {
    fn new(with: &[&'static str]) -> Setup {
        let mut config = GpuFile::preset("gtx480-corf").expect("a preset").config;
        config.gpu.sms = 1;
        config.rf.collectors_shared = 4;
        let with = with.to_vec();
        Setup { config, with, inject: None, blocks: 1, threads: 32, host_threads: 1, step: false }
    }

    /// Several blocks of several warps on several SMs.
    fn wide(with: &[&'static str]) -> Setup {
        let mut setup = Setup { blocks: 12, threads: 112, ..Setup::new(with) };
        setup.config.gpu.sms = 3;
        setup
    }

    fn techniques(&self) -> Techniques {
        let mut techniques = Techniques { verify: true, inject: self.inject, ..Techniques::default() };
        self.with.iter().for_each(|text| techniques.with(text).expect("it is legal"));
        techniques.validate(&self.config).expect("it is possible");
        techniques
    }

    fn run(&self, body: &str) -> Result<Ran, String> {
        let timed = Timed {
            techniques: self.techniques(),
            threads: self.host_threads,
            step_every_cycle: self.step,
            ..Timed::new(self.config.clone())
        };
        let mode = Mode::Timed(Box::new(timed));
        let mut device =
            Device::with(Options { mode, ..Options::default() }, Box::new(Nobody)).expect("a device");
        let ptx = kernel(body);
        let module = device.load_module("k.ptx", &ptx).unwrap_or_else(|error| panic!("{error}\n{ptx}"));
        let all = self.blocks * self.threads;
        let out = device.alloc(u64::from(4 * all)).expect("there is room");
        let bytes: Vec<u8> = (0..all).flat_map(|thread| (thread % 7 + 1).to_le_bytes()).collect();
        device.write(out, &bytes).expect("it fits");
        let launch = LaunchConfig::new(self.blocks, self.threads);
        device.launch(module, "k", &launch, &Args::new().ptr(out)).map_err(|error| error.to_string())?;
        let mut bytes = vec![0; 4 * all as usize];
        device.read(out, &mut bytes).map_err(|error| error.to_string())?;
        let results = bytes.as_chunks::<4>().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
        let pending = device.fault_is_pending();
        let record = LaunchRecord { host_seconds: 0.0, ..device.log()[0].clone() };
        let timed = record.timed.as_ref().expect("it is timed");
        let (cycles, counters) = (timed.cycles, timed.counters.sm.clone());
        let ran = Ran { results, cycles, counters, pending, record };
        let program = device.compile(module, "k", false).expect("it ran").program;
        conserve::check(&ran.record, &self.techniques().rewrite(&program).unwrap_or(program), &self.config);
        Ok(ran)
    }
}

fn run(with: &[&'static str], body: &str) -> Ran {
    Setup::new(with).run(body).unwrap_or_else(|error| panic!("{with:?}: {error}"))
}

const LINKS: u32 = 60;

/// Cycles of one link of a chain, once the instruction cache is warm.
fn per_link(with: &[&'static str], link: &str) -> f64 {
    let rounds = |rounds: u32| {
        let links = link.repeat(LINKS as usize);
        format!(
            "    mov.u32 %r3, 0;\nagain:\n    add.u32 %r3, %r3, 1;\n    setp.lt.u32 %p1, %r3, {rounds};\n{links}    @%p1 bra again;\n"
        )
    };
    (run(with, &rounds(5)).cycles - run(with, &rounds(4)).cycles) as f64 / f64::from(LINKS)
}

/// Sums that wait for each other, of two narrow registers.
const NARROW: &str = "    sub.u32 %r2, %r4, %r2;\n";
/// Sums that wait for each other, of values of all widths.
const MIXED: &str = "    mad.lo.u32 %r2, %r2, %r4, %r2;\n";

fn near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 0.2, "{found} is not {expected}");
}

const FREE_TABLE: &str = "renaming:ports=0";
const FREE_PACKING: &str = "packing:packers=0,growth_reads=off";

/// Everything at once: divergence, guards, a call, values that grow and shrink, ends in the middle.
fn mixed() -> String {
    let growth: String = (0..24).map(|step| format!("    mad.lo.u32 %r2, %r2, %r2, {step};\n")).collect();
    format!(
        "    mov.u32 %r5, 3;
    setp.lt.u32 %p1, %r1, 16;
    @%p1 bra one;
    mad.lo.u32 %r2, %r2, %r2, 700;
    setp.gt.u32 %p2, %r1, 100;
    @%p2 exit;
    sub.u32 %r6, %r4, %r5;
    bra both;
one:
{growth}    add.u32 %r6, %r2, %r4;
both:
    add.u32 %r2, %r2, %r6;
    {{
        .param .u32 of; .param .u32 back;
        st.param.u32 [of], %r2;
        call.uni (back), twice, (of);
        ld.param.u32 %r7, [back];
    }}
    setp.eq.u32 %p3, %r4, 3;
    @%p3 mov.u32 %r7, -5;
    @%p3 mul.lo.u32 %r7, %r7, 1000000;
    add.u32 %r2, %r7, %r4;
    mov.u32 %r8, 0;
turn:
    xor.b32 %r2, %r2, %r8;
    add.u32 %r8, %r8, 1;
    setp.lt.u32 %p1, %r8, %r4;
    @%p1 bra turn;
    shfl.bfly.b32 %r9, %r2, 1, 31;
    and.b32 %r9, %r9, 7;
    add.u32 %r2, %r2, %r9;
"
    )
}

/// Each technique, alone and together, with its options.
const WAYS: [&[&str]; 18] = [
    &["renaming"],
    &["packing"],
    &["virtualization"],
    &["packing", "virtualization"],
    &["packing:coalesce=on", "virtualization"],
    &["corf"],
    &["corf++"],
    &["corf:virtualization=off"],
    &["corf:packing=off"],
    &["corf++:virtualization=off"],
    &["corf++:hints=parity"],
    &["corf:first_fit=off,loop_weight=2"],
    &["corf", "renaming:ports=1,write_ports=on"],
    &["packing:packers=1,pack_cycles=2,unpack_cycles=1,sub_bank_energy=selective"],
    &["corf++", "packing:sub_bank_energy=selective"],
    &["virtualization:joins=off", "renaming:wake_cycles=9"],
    &["packing", "renaming:gating=slices,wake_cycles=3"],
    &["corf", "renaming:gating=off"],
];

#[test]
fn results_are_those_of_the_baseline_and_nothing_of_how_it_is_simulated_shows() {
    let plain = Setup::wide(&[]).run(&mixed()).expect("it runs");
    for way in WAYS {
        let ran = Setup::wide(way).run(&mixed()).unwrap_or_else(|error| panic!("{way:?}: {error}"));
        assert!(ran.results == plain.results, "{way:?}: other results");
        let threads = Setup { host_threads: 3, ..Setup::wide(way) };
        let stepped = Setup { step: true, ..Setup::wide(way) };
        for twin in [threads, stepped] {
            let twin = twin.run(&mixed()).unwrap_or_else(|error| panic!("{way:?}: {error}"));
            assert!(twin.counters == ran.counters, "{way:?}: other counters");
        }
    }
}

#[test]
fn a_flipped_bit_is_noticed() {
    for way in WAYS {
        let setup = Setup { inject: Some(InjectedFault::Rf), ..Setup::wide(way) };
        match setup.run(&mixed()) {
            Ok(ran) => panic!("{way:?}: nothing was noticed ({})", ran.pending),
            Err(error) => assert!(error.contains("is stored as"), "{way:?}: {error}"),
        }
    }
}

#[test]
fn with_everything_free_cycles_are_those_of_the_baseline() {
    for body in [mixed(), NARROW.repeat(50), MIXED.repeat(50)] {
        let plain = Setup::wide(&[]).run(&body).expect("it runs");
        let ways: [&[&str]; 4] = [
            &[FREE_TABLE, FREE_PACKING],
            &[FREE_TABLE, "virtualization"],
            &[FREE_TABLE, FREE_PACKING, "virtualization"],
            &[FREE_TABLE, FREE_PACKING, "corf:pairs=none,first_fit=off"],
        ];
        for way in ways {
            let ran = Setup::wide(way).run(&body).expect("it runs");
            assert_eq!(ran.cycles, plain.cycles, "{way:?}");
            assert_eq!(ran.counters.registers.reads, plain.counters.registers.reads, "{way:?}");
        }
    }
}

#[test]
fn reads_fall_by_exactly_those_that_coalesce() {
    let plain = Setup::wide(&[]).run(&mixed()).expect("it runs").counters.registers;
    for way in [["corf"], ["corf++"]] {
        let ran = Setup::wide(&way).run(&mixed()).expect("it runs");
        let counters: packing::Counters = ran.of();
        assert!(counters.coalesced > 0, "{way:?}");
        let registers = &ran.counters.registers;
        assert_eq!(registers.reads, plain.reads + counters.growth_reads - counters.coalesced, "{way:?}");
        assert_eq!(registers.sub_bank_reads, 8 * registers.reads, "an access activates its whole entry");
        assert_eq!(registers.writes, plain.writes);
    }
}

#[test]
fn two_operands_of_one_entry_take_a_cycle_less_than_two_entries() {
    let apart = per_link(&["packing", "virtualization"], NARROW);
    near(per_link(&["corf:metadata=off"], NARROW), apart - 1.0);
    near(per_link(&["corf++:metadata=off"], NARROW), apart - 1.0);
    near(per_link(&[], NARROW), apart);
    let ran = run(&["corf"], &NARROW.repeat(50));
    let counters: packing::Counters = ran.of();
    assert!(counters.coalesced >= 50, "each link once: {}", counters.coalesced);
}

#[test]
fn a_port_conflict_of_the_table_delays_a_coalesced_read_by_a_cycle() {
    // Both operands of a link lie in one bank of the table, which has one port for them: with corf++, whose bank is the warp's.
    let two = per_link(&["corf++:metadata=off"], NARROW);
    near(per_link(&["corf++:metadata=off", "renaming:ports=1"], NARROW), two + 1.0);
    let waits = |with: &[&'static str]| run(with, &NARROW.repeat(50)).of::<renaming::Counters>().port_waits;
    assert!(waits(&["corf++", "renaming:ports=1"]) >= waits(&["corf++"]) + 50);
    // Three operands conflict once where all are looked up in one bank with two ports.
    let three = "    mad.lo.u32 %r2, %r4, %r10, %r2;\n".repeat(40);
    assert!(waits(&["corf++"]) + 40 <= run(&["corf++"], &three).of::<renaming::Counters>().port_waits);
}

#[test]
fn packing_and_unpacking_take_the_cycles_that_they_are_given() {
    let free = per_link(&["packing"], NARROW);
    near(per_link(&["packing:pack_cycles=3"], NARROW), free + 3.0);
    near(per_link(&["packing:unpack_cycles=2"], NARROW), free + 2.0);
}

#[test]
fn metadata_is_issued_by_every_warp_and_counted_apart() {
    let body = mixed();
    let off = Setup::wide(&["corf:metadata=off"]).run(&body).expect("it runs").counters.issue.issued;
    let ran = Setup::wide(&["corf"]).run(&body).expect("it runs");
    let counters: corf::Counters = ran.of();
    let warps = 12 * 4;
    assert_eq!(counters.metadata, warps * (counters.pairs / warps).div_ceil(4));
    assert_eq!(ran.counters.issue.issued, off + counters.metadata);
    let off = Setup::wide(&["corf++:metadata=off"]).run(&body).expect("it runs").counters.issue.issued;
    let ran = Setup::wide(&["corf++"]).run(&body).expect("it runs");
    let counters: corf_plus::Counters = ran.of();
    assert_eq!(counters.metadata, warps, "no more than 27 registers need one");
    assert_eq!(ran.counters.issue.issued, off + counters.metadata);
    let parity: corf_plus::Counters = Setup::wide(&["corf++:hints=parity"]).run(&body).expect("it runs").of();
    assert_eq!(parity.metadata, 0);
}

#[test]
fn registers_are_released_also_after_divergence() {
    let body = mixed();
    let whole = |with: &[&'static str]| {
        let ran = Setup::wide(with).run(&body).expect("it runs");
        let table: renaming::Counters = ran.of();
        table.entries as f64 / table.registers as f64
    };
    let [packed, released, both] =
        [&["packing"][..], &["virtualization"], &["packing", "virtualization"]].map(whole);
    assert!(packed < whole(&["renaming"]) && released < whole(&["renaming"]));
    assert!(both < packed && both < released, "{both}, {packed}, {released}");
    let ran = Setup::wide(&["virtualization"]).run(&body).expect("it runs");
    let counters: virtualization::Counters = ran.of();
    assert!(counters.released > 0 && counters.released_at_joins > 0);
    assert!(whole(&["virtualization:joins=off"]) > released);
}

#[test]
fn corf_plus_admits_blocks_by_the_fullest_bank() {
    // 11 blocks of three warps fit by registers; of their 33 warps a bank would serve 9, with more registers than it has entries.
    let many: String = (0..28).map(|i| format!("    xor.b32 %q{i}, %r2, {i};\n")).collect();
    let sum: String = (0..28).map(|i| format!("    mad.lo.u32 %r2, %r2, %r2, %q{i};\n")).collect();
    let body = format!("    .reg .b32 %q<28>;\n{many}    bar.sync 0;\n{sum}");
    let mut setup = Setup { blocks: 16, threads: 96, ..Setup::new(&["corf++"]) };
    setup.config.sm.register_unit = 32;
    setup.config.sm.ctas = 16;
    let ran = setup.run(&body).expect("it runs");
    let counters: corf_plus::Counters = ran.of();
    let registers = ran.of::<renaming::Counters>().registers;
    assert!(registers > 0 && counters.warps == 48);
    let table: renaming::Counters = ran.of();
    assert_eq!(table.elsewhere, 0, "every bank has room for its warps");
    let plain = Setup { with: vec!["packing", "virtualization"], ..setup }.run(&body).expect("it runs");
    assert!(plain.results == ran.results);
}
