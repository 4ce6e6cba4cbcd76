// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bookings of reads and writes, and that the shortcuts book what the plan books.

use super::*;
use crate::sm::Decoded;
use warpwatt_base::SplitMix64;
use warpwatt_isa::{Op, Program, Reg, Src, Ty, Uop};

/// A register file with what its instructions are decoded for.
struct File {
    config: Config,
    file: RegisterFile,
}

impl File {
    fn new(banks: u32, ports: u32) -> File {
        let mut config = Config::default();
        (config.rf.banks, config.rf.collector_ports) = (banks, ports);
        File { file: RegisterFile::new(&config, &Techniques::default(), 0), config }
    }

    fn fma(&self, registers: [u8; 3]) -> Timing {
        let mut uop = Uop::new(Op::Ffma, Ty::F32);
        uop.dst = Reg(0);
        for (i, register) in registers.into_iter().enumerate() {
            uop.src[i] = Src::Reg(Reg(register));
        }
        let program = Program { uops: vec![uop], ..Program::default() };
        Decoded::new(&program, &self.config).timing.remove(0)
    }

    fn collect(&mut self, now: u64, warp: usize, registers: [u8; 3]) -> u64 {
        let timing = self.fma(registers);
        self.file.advance(now);
        self.file.collect(now, warp, &timing)
    }

    fn write_back(&mut self, now: u64, dst: u8, dst_words: u8, unit: Unit) -> u64 {
        let timing = Timing { dst, dst_words, unit, ..self.fma([1, 2, 3]) };
        self.file.advance(now);
        self.file.write_plainly(now, 0, &timing, unit == Unit::Memory)
    }
}

#[test]
fn operands_of_different_banks_come_at_once_and_those_of_one_bank_one_by_one() {
    assert_eq!(File::new(16, 3).collect(100, 0, [1, 2, 3]), 102);
    assert_eq!(File::new(16, 3).collect(100, 0, [1, 17, 33]), 104);
}

#[test]
fn a_register_that_is_named_twice_is_read_once() {
    assert_eq!(File::new(16, 1).collect(100, 0, [5, 5, 5]), 102);
}

#[test]
fn a_collector_takes_no_more_operands_in_a_cycle_than_it_has_ports() {
    assert_eq!(File::new(16, 1).collect(100, 0, [1, 2, 3]), 104);
    assert_eq!(File::new(16, 2).collect(100, 0, [1, 2, 3]), 103);
}

#[test]
fn warps_are_shifted_against_each_other() {
    let mut file = File::new(4, 3);
    assert_eq!(file.collect(100, 0, [4, 8, 12]), 104);
    assert_eq!(file.collect(100, 1, [4, 8, 12]), 104);
    assert_eq!(file.collect(100, 4, [4, 8, 12]), 107);
}

#[test]
fn all_ways_to_collect_book_the_same() {
    let mut random = SplitMix64::new(11);
    for (banks, ports) in [(16, 2), (16, 1), (4, 2), (2, 3), (64, 2), (6, 2), (1, 1), (8, 8)] {
        let (mut file, mut plain) = (File::new(banks, ports), File::new(banks, ports));
        let mut now = 0;
        for round in 0..20_000 {
            // Now and then the banks get so crowded that bookings go beyond the horizon.
            now += if round % 1000 < 40 { 0 } else { random.next_u64() % 3 };
            let mut register = || (random.next_u64() % 32) as u8;
            let registers = [register(), register(), register()];
            let warp = usize::from(register());
            let timing = plain.fma(registers);
            plain.file.advance(now);
            let expected = plain.file.collect_one_by_one(now, warp, &timing);
            assert_eq!(file.collect(now, warp, registers), expected, "{banks} banks, {ports} ports");
            let dst = registers[0];
            let written = plain.write_back(now, dst, 1, Unit::Sp);
            assert_eq!(file.write_back(now, dst, 1, Unit::Sp), written);
        }
        assert_eq!(file.file.counters(), plain.file.counters());
    }
}

#[test]
fn results_share_the_bus_and_the_port_with_reads() {
    let mut file = File::new(16, 3);
    file.collect(99, 0, [1, 2, 3]);
    assert_eq!(file.write_back(100, 1, 1, Unit::Sp), 101, "the bank is read in this cycle");
    assert_eq!(file.write_back(100, 8, 2, Unit::Sp), 101, "one bus slot is left in this cycle");
    assert_eq!(file.write_back(100, 4, 1, Unit::Memory), 100, "memory has a bus of its own");
}

#[test]
fn a_result_of_two_registers_is_written_as_one_register_after_the_other() {
    for (banks, unit) in [(16, Unit::Memory), (16, Unit::Sp), (2, Unit::Sp), (1, Unit::Memory)] {
        let mut random = SplitMix64::new(u64::from(banks));
        let (mut file, mut plain) = (File::new(banks, 3), File::new(banks, 3));
        let mut now = 0;
        for _ in 0..20_000 {
            now += random.next_u64() % 3;
            let dst = (random.next_u64() % 40) as u8;
            let done = file.write_back(now, dst, 2, unit);
            plain.file.advance(now);
            let buses = plain.file.buses(unit == Unit::Memory);
            let ends = [dst, dst + 1].map(|register| {
                let start = plain.file.calendars.book_any_on(BUSES, buses, now);
                let bank = plain.file.map.bit(0, register);
                plain.file.calendars.book_on(plain.file.write_ports as usize, bank, start)
            });
            plain.file.counters.write_conflicts += ends[0] + ends[1] - 2 * now;
            plain.file.counters.writes += 2;
            assert_eq!(done, ends[0].max(ends[1]));
            assert_eq!(file.file.counters(), plain.file.counters());
        }
    }
}
