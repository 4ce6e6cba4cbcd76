// SPDX-License-Identifier: MIT OR Apache-2.0
//! Nothing is lost: what has to add up in every timed launch, whatever it does and wherever it runs.

use warpwatt_config::Config;
use warpwatt_isa::{Class, PredSrc, Program, Reg, Src};
use warpwatt_runtime::{Balance, Counters, LaunchRecord, Observed, SmCounters, Stall, TimedRecord};

/// Checks a launch that ran alone.
pub fn check(record: &LaunchRecord, program: &Program, config: &Config) {
    let timed = record.timed.as_ref().expect("the launch was timed");
    let all = &timed.counters;
    let mut sum = Sum { kernel: &record.kernel, wrong: Vec::new() };
    issue(&mut sum, record, timed, config);
    source_lines(&mut sum, record, all);
    let balance = techniques(&mut sum, all, config);
    register_accesses(&mut sum, record, program, all, &balance);
    networks(&mut sum, all, config);
    caches(&mut sum, all, config);
    memory(&mut sum, all, config, &balance);
    assert!(sum.wrong.is_empty(), "{}: {}", sum.kernel, sum.wrong.join("; "));
}

fn issue(sum: &mut Sum, record: &LaunchRecord, timed: &TimedRecord, config: &Config) {
    let all = &timed.counters;
    for (sm, counters) in timed.per_sm.iter().enumerate() {
        slots(sum, &format!("SM {sm}"), counters, config);
        sum.equal(&format!("cycles of SM {sm}"), counters.issue.cycles, timed.cycles);
    }
    slots(sum, "GPU", &all.sm, config);
    let mut sms = SmCounters::default();
    timed.per_sm.iter().for_each(|counters| sms.add(counters));
    sum.yes("SMs add up to the GPU", sms == all.sm);
    sum.equal("instructions issued", all.sm.issue.issued, record.warp_instructions);
    sum.equal("thread instructions", all.sm.issue.thread_instructions, record.thread_instructions);
    sum.equal("instructions retired", all.sm.issue.retired, all.sm.issue.issued);
    let lanes: u64 = all.sm.issue.lanes.iter().sum();
    sum.equal("instructions by lanes", lanes + all.sm.issue.no_lanes, all.sm.issue.issued);
    sum.equal("barriers", all.sm.issue.barriers, record.barriers);
    sum.equal("blocks", all.sm.issue.ctas, record.grid.iter().map(|&extent| u64::from(extent)).product());
    let units = &all.sm.units;
    let by_unit = units.sp + units.sfu + units.fp64 + units.shuffle + units.memory;
    sum.equal("instructions by unit", by_unit, all.sm.issue.issued + all.sm.issue.injected);
}

fn source_lines(sum: &mut Sum, record: &LaunchRecord, all: &Counters) {
    sum.equal(
        "instructions of lines",
        record.lines.iter().map(|line| line.warp_instructions).sum(),
        record.warp_instructions,
    );
    for reason in Stall::ALL {
        let lines: u64 = record.lines.iter().map(|line| line.stalls[reason as usize]).sum();
        let expected = if reason == Stall::Empty { 0 } else { all.sm.stalls[reason as usize] };
        sum.equal(&format!("stalls of lines, {}", reason.name()), lines, expected);
    }
}

/// Accesses follow from the program and how often its micro-ops were issued.
fn register_accesses(
    sum: &mut Sum,
    record: &LaunchRecord,
    program: &Program,
    all: &Counters,
    balance: &Balance,
) {
    let (reads, writes, at_least) = registers(record, program);
    let read = all.sm.registers.reads.wrapping_sub_signed(balance.register_reads);
    sum.equal("register reads", read, reads);
    let written = all.sm.registers.writes - balance.injected;
    sum.yes(
        &format!("register writes: {written} is not from {at_least} to {writes}"),
        (at_least..=writes).contains(&written),
    );
}

/// Requests that may be in flight at the end of a kernel and arrive in the next one: no instruction waits for prefetched instructions, or for the rest
/// of a line that was written in part.
fn in_flight(config: &Config) -> u64 {
    let of_sm = config.icache.mshrs
        + config.l1d.mshrs
        + config.l1d.miss_queue
        + config.constant.mshrs
        + config.texture.mshrs;
    u64::from(config.gpu.sms * of_sm)
}

fn networks(sum: &mut Sum, all: &Counters, config: &Config) {
    let in_flight = in_flight(config);
    sum.about("requests delivered", all.request.delivered, all.request.packets, in_flight);
    sum.about("replies delivered", all.reply.delivered, all.reply.packets, in_flight);
    sum.about("replies", all.reply.packets, all.request.packets, in_flight);
    sum.equal("replies of L2", all.l2.replies, all.reply.packets);
}

fn caches(sum: &mut Sum, all: &Counters, config: &Config) {
    let in_flight = in_flight(config);
    let (fetch, memory, l2) = (&all.sm.fetch, &all.sm.memory, &all.l2);
    sum.equal("icache", fetch.hits + fetch.misses + fetch.merges + fetch.blocked, fetch.fetches);
    sum.equal("L1", memory.l1d.read_hits + memory.l1d.misses + memory.l1d.merges, memory.l1d.reads);
    sum.equal("texture", memory.texture.hits + memory.texture.misses, memory.texture.reads);
    sum.about("texture fills", memory.texture.fills, memory.texture.misses, in_flight);
    sum.about("constant fills", memory.constant.fills, memory.constant.misses, in_flight);
    sum.about("L1 fills", memory.l1d.fills, memory.l1d.misses + memory.l1d.write_fetches, in_flight);
    if config.second.bytes >= config.second.ways * 128 {
        let requests = fetch.misses + fetch.prefetches + memory.constant.misses;
        sum.equal("second-level reads", memory.second.reads, requests);
    }
    let requests = l2.reads + l2.writes + l2.atomics;
    let answers = l2.read_hits + l2.write_hits + l2.atomic_hits + l2.misses + l2.merges + l2.allocations;
    sum.equal("L2", answers, requests);
    sum.equal("requests of L2", requests, all.request.delivered);
    sum.about("fills of L2", l2.fills, l2.misses, in_flight);
}

/// Lines that are written back may stay in the queues until their entries are needed.
fn memory(sum: &mut Sum, all: &Counters, config: &Config, balance: &Balance) {
    let (l2, dram) = (&all.l2, &all.dram);
    let accesses = u64::from(config.dram_line_accesses());
    let queues = u64::from(config.gpu.partitions * config.dram.channels * 2 * config.dram.queue);
    sum.about("lines read", dram.line_reads, l2.misses, in_flight(config));
    sum.about("lines written", dram.line_writes, l2.write_backs, queues);
    let (read, written) = (accesses * (dram.line_reads - dram.forwards), accesses * dram.line_writes);
    if balance.fewer_bursts {
        sum.yes("no more bursts are read than lines need", dram.reads <= read + queues);
        sum.yes("no more bursts are written than lines need", dram.writes <= written + queues);
    } else {
        sum.about("bursts read", dram.reads, read, queues);
        sum.about("bursts written", dram.writes, written, queues);
    }
    sum.equal("bursts of rows", dram.row_hits + dram.row_misses, dram.reads + dram.writes);
    let busy = (dram.reads + dram.writes) * u64::from(config.dram_access_clocks());
    sum.equal("clocks of the data bus", dram.data_busy, busy);
}

fn slots(sum: &mut Sum, what: &str, counters: &SmCounters, config: &Config) {
    let issue = &counters.issue;
    sum.equal(&format!("issue slots of {what}"), issue.slots, issue.cycles * u64::from(config.sm.schedulers));
    let stalls: u64 = counters.stalls.iter().sum();
    sum.equal(&format!("issues and stalls of {what}"), issue.issued + issue.injected + stalls, issue.slots);
}

/// What techniques add to the machine's sums, and the laws that each of them obeys.
fn techniques(sum: &mut Sum, all: &Counters, config: &Config) -> Balance {
    let mut balance = Balance::default();
    for (technique, own) in all.all_techniques().each() {
        (technique.balance)(own, &mut balance);
        for law in technique.laws {
            let holds = (law.holds)(&Observed { own, machine: all, config });
            sum.yes(&format!("{}: {}", technique.name, law.text), holds);
        }
    }
    let registers = &all.sm.registers;
    let arrays = u64::from(config.rf.sub_banks);
    let (reads, writes) = (registers.reads * arrays, registers.writes * arrays);
    if balance.fewer_arrays {
        sum.yes("no more arrays are read than there are", registers.sub_bank_reads <= reads);
        sum.yes("no more arrays are written than there are", registers.sub_bank_writes <= writes);
    } else {
        sum.equal("arrays read", registers.sub_bank_reads, reads);
        sum.equal("arrays written", registers.sub_bank_writes, writes);
    }
    sum.equal("instructions injected", all.sm.issue.injected, balance.injected);
    balance
}

/// Registers read and written, and how many are written at least: loads whose guard holds for no lane write nothing.
fn registers(record: &LaunchRecord, program: &Program) -> (u64, u64, u64) {
    let (mut reads, mut writes, mut at_least) = (0, 0, 0);
    for (uop, count) in program.uops.iter().zip(&record.per_pc) {
        // A register that is named twice is read once.
        let mut registers = std::collections::BTreeSet::new();
        for i in 0..uop.src.len() {
            if let Src::Reg(first) = uop.src[i]
                && first != Reg::ZERO
            {
                registers.extend(u32::from(first.0)..u32::from(first.0) + uop.src_words(i));
            }
        }
        let read = registers.len() as u32;
        let written = if uop.dst == Reg::ZERO { 0 } else { uop.dst_words() };
        reads += count.issues * u64::from(read);
        writes += count.issues * u64::from(written);
        let loads = matches!(uop.class(), Class::Load | Class::Atomic | Class::Texture | Class::Surface);
        if !loads || uop.guard == PredSrc::TRUE {
            at_least += count.issues * u64::from(written);
        }
    }
    (reads, writes, at_least)
}

struct Sum<'a> {
    kernel: &'a str,
    wrong: Vec<String>,
}

impl Sum<'_> {
    fn equal(&mut self, what: &str, one: u64, other: u64) {
        self.yes(&format!("{what}: {one} is not {other}"), one == other);
    }

    /// As equal, but for what may be under way at the start or at the end.
    fn about(&mut self, what: &str, one: u64, other: u64, under_way: u64) {
        let holds = one.abs_diff(other) <= under_way;
        self.yes(&format!("{what}: {one} is not {other}, not even about ({under_way})"), holds);
    }

    fn yes(&mut self, what: &str, holds: bool) {
        if !holds {
            self.wrong.push(what.to_owned());
        }
    }
}
