// SPDX-License-Identifier: MIT OR Apache-2.0
//! What bookings in order of issue are worth: a twin of operand collectors and banks that arbitrates anew in each cycle, on the instruction
//! streams of workloads. docs/validation.md has the figures; `WARPWATT_BLESS=1` writes them anew.

use std::fmt::Write;

use warpwatt_config::{Config, GpuFile};
use warpwatt_model::techniques::probes::twin;
use warpwatt_runtime::{Device, Mode, Nobody, Options, Techniques, Timed};
use warpwatt_testing::golden;
use warpwatt_workloads::{Size, all};

/// What the twin says of a workload.
struct Said {
    name: &'static str,
    cycles: u64,
    twin: twin::Counters,
}

fn run(config: &Config) -> Vec<Said> {
    let one = |workload: &&'static dyn warpwatt_workloads::Workload| {
        let mut techniques = Techniques::default();
        techniques.with("probe-twin").expect("it is there");
        let timed = Timed { techniques, threads: 1, ..Timed::new(config.clone()) };
        let options = Options { mode: Mode::Timed(Box::new(timed)), ..Options::default() };
        let mut device = Device::with(options, Box::new(Nobody)).expect("a device");
        let name = workload.info().name;
        let run = workload.run(&mut device, workload.ptx(), Size::Tiny, 1);
        run.unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut said = Said { name, cycles: 0, twin: twin::Counters::default() };
        for record in device.log() {
            let timed = record.timed.as_ref().expect("the launch was timed");
            let own = timed.counters.all_techniques();
            said.cycles += timed.cycles;
            said.twin.add(own.find::<twin::Counters>().expect("it is on"));
        }
        said
    };
    all().iter().map(one).collect()
}

/// Cycles per instruction.
fn each(cycles: u64, said: &Said) -> f64 {
    cycles as f64 / said.twin.instructions.max(1) as f64
}

fn table(text: &mut String, title: &str, said: &[Said]) {
    let _ = writeln!(
        text,
        "\n{title}\n\n| workload | booked | arbitrated | difference | instructions that differ | by |"
    );
    let _ = writeln!(text, "|---|---:|---:|---:|---:|---:|");
    for one in said {
        let twin = &one.twin;
        let _ = writeln!(
            text,
            "| {} | {:.3} | {:.3} | {:+.3} | {:.1} % | {:.3} |",
            one.name,
            each(twin.booked, one),
            each(twin.arbitrated, one),
            each(twin.arbitrated, one) - each(twin.booked, one),
            100.0 * twin.apart as f64 / twin.instructions.max(1) as f64,
            each(twin.off, one)
        );
    }
}

const HEAD: &str = "
## Bookings of register banks

Banks are booked in issue order, and bookings are final; hardware arbitrates in each cycle. A reference model of collectors and banks arbitrates in parallel with the
run, on the same instructions in the same cycles (`cargo test -p warpwatt-workloads --test bookings`): the oldest access of a bank goes first,
writes before reads. Cycles from issue to the last operand, mean over the instructions of each workload at `tiny`; the last column is the mean absolute difference. The test requires that the mean differs by at most a quarter of a cycle on every workload and both GPUs.
";

#[test]
fn bookings_are_within_a_quarter_of_a_cycle_of_arbitration_in_each_cycle() {
    let gpu = |name: &str| GpuFile::preset(name).expect("a preset").config;
    let mut text = HEAD.to_owned();
    for name in ["gtx480", "gtx480-wc"] {
        let said = run(&gpu(name));
        table(&mut text, &format!("On `{name}`:"), &said);
        for one in &said {
            let apart = each(one.twin.arbitrated, one) - each(one.twin.booked, one);
            assert!(apart.abs() <= 0.25, "{name}, {}: {apart:+.3} cycles", one.name);
            assert!(one.twin.instructions > 0 && one.cycles > 0, "{}", one.name);
        }
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../runtime/tests/micro/bookings.md");
    golden::check(path, &text, "Run the tests with WARPWATT_BLESS=1, then those of validation.md");
}
