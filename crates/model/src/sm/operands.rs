// SPDX-License-Identifier: MIT OR Apache-2.0
//! The register file and the operand collectors.
//!
//! Registers are spread over banks, each of which gives or takes one operand of a warp in a cycle: 32 lanes of 4 bytes, out of as many
//! sub-banks as make it up. Warped-Compression's 32 banks of 128 bits in 4 clusters and CORF's 4 banks of 8 sub-banks are both 4 banks
//! of 8 here. A collector gathers the operands of one instruction. Banks are booked in the order of issue.

use warpwatt_base::calendar::Board;
use warpwatt_config::Config;

use super::decode::{Pipe, Pooled, Timing};

warpwatt_base::counters! {
    /// What the register file did.
    pub struct RegisterCounters {
        reads: u64 = "rf.reads.count", "Operands read, of a whole warp each.";
        writes: u64 = "rf.writes.count", "Results written, of a whole warp each.";
        sub_bank_reads: u64 = "rf.sub_bank_reads.count", "SRAM arrays activated by reads.";
        sub_bank_writes: u64 = "rf.sub_bank_writes.count", "SRAM arrays activated by writes.";
        read_conflicts: u64 = "rf.read_conflicts.cycles", "Cycles that operands waited for their bank.";
        write_conflicts: u64 = "rf.write_conflicts.cycles", "Cycles that results waited for the result bus or their bank.";
        collecting: u64 = "rf.collecting.cycles", "Cycles that collectors were in use, added up.";
    }
}

/// Sums of register and warp slot: the size of a table that is indexed without a check.
const PLACES: usize = 512;

/// Collectors of one kind: when each is free again, in ascending order, in a ring that starts at `first`.
struct Pool {
    free_at: Vec<u64>,
    first: usize,
}

impl Pool {
    fn new(collectors: u32) -> Pool {
        Pool { free_at: vec![0; collectors as usize], first: 0 }
    }

    #[inline(always)]
    fn first_free(&self) -> u64 {
        self.free_at[self.first]
    }

    /// Takes the collector that is free first. Most are free again later than all others, and go to the end.
    #[inline(always)]
    fn take(&mut self, until: u64) {
        let mut place = self.first;
        self.first = if place + 1 == self.free_at.len() { 0 } else { place + 1 };
        while place != self.first {
            let before = if place == 0 { self.free_at.len() - 1 } else { place - 1 };
            if self.free_at[before] <= until {
                break;
            }
            self.free_at[place] = self.free_at[before];
            place = before;
        }
        self.free_at[place] = until;
    }
}

pub struct Operands {
    /// Banks for reading, then for writing if they have a port for that, then the result buses of the execution units and of the
    /// memory unit.
    board: Board,
    write_banks: usize,
    unit_buses: std::ops::Range<usize>,
    memory_buses: std::ops::Range<usize>,
    /// The bank of each sum of register and warp slot.
    bank: Box<[u8; PLACES]>,
    pools: [Pool; 3],
    ports: u64,
    sub_banks: u64,
    counters: RegisterCounters,
}

impl Operands {
    pub fn new(config: &Config) -> Operands {
        let rf = &config.rf;
        let banks = rf.banks as usize;
        let write_banks = if rf.shared_port { 0 } else { banks };
        let unit_buses = banks + write_banks..banks + write_banks + rf.write_back as usize;
        let memory_buses = unit_buses.end..unit_buses.end + rf.write_back_memory as usize;
        Operands {
            board: Board::new(memory_buses.end),
            write_banks,
            unit_buses,
            memory_buses,
            bank: Box::new(std::array::from_fn(|place| (place as u32 % rf.banks) as u8)),
            pools: [rf.collectors_sp, rf.collectors_sfu, rf.collectors_fp64].map(Pool::new),
            ports: u64::from(rf.collector_ports),
            sub_banks: u64::from(rf.sub_banks),
            counters: RegisterCounters::default(),
        }
    }

    /// What was counted. An access of a warp activates all sub-banks of its bank.
    pub fn counters(&self) -> RegisterCounters {
        let RegisterCounters { reads, writes, .. } = self.counters;
        RegisterCounters {
            sub_bank_reads: reads * self.sub_banks,
            sub_bank_writes: writes * self.sub_banks,
            ..self.counters.clone()
        }
    }

    /// First cycle in which a collector is free. Those of memory instructions are the memory unit's queue.
    #[inline(always)]
    pub fn free_at(&self, pool: Pooled) -> u64 {
        match pool {
            Pooled::Sp => self.pools[0].first_free(),
            Pooled::Sfu => self.pools[1].first_free(),
            Pooled::Fp64 => self.pools[2].first_free(),
            Pooled::Memory => 0,
        }
    }

    #[inline(always)]
    fn bank(&self, warp: usize, register: u8) -> usize {
        usize::from(self.bank[(usize::from(register) + warp) % PLACES])
    }

    /// Books the reads of an instruction that issues now; gives the cycle in which all operands are there.
    #[inline(always)]
    pub fn collect(&mut self, now: u64, warp: usize, timing: &Timing) -> u64 {
        self.board.advance(now);
        let sources = usize::from(timing.sources);
        let (mut ready, mut waited) = (now + 1, 0);
        // Operands that the collector takes in each of the next cycles, four bits each; what comes later is not told apart.
        let mut taken = 0u64;
        for &register in timing.source.iter().take(sources) {
            let bank = self.bank(warp, register);
            let mut at = self.board.first_free(bank, now + 1);
            let mut shift = 4 * (at - now - 1).min(15);
            while taken >> shift & 15 == self.ports && shift != 60 {
                at = self.board.first_free(bank, at + 1);
                shift = 4 * (at - now - 1).min(15);
            }
            taken = taken.wrapping_add(1 << shift);
            self.board.take_one(bank, at);
            waited += at - now - 1;
            ready = ready.max(at + 1);
        }
        self.counters.read_conflicts += waited;
        self.counters.reads += sources as u64;
        ready
    }

    /// A collector is in use until its instruction is dispatched.
    #[inline(always)]
    pub fn hold(&mut self, now: u64, pool: Pooled, until: u64) {
        self.pools[pool as usize % 3].take(until);
        self.counters.collecting += until - now;
    }

    /// Books the way of a result into the register file; gives the cycle in which all of it is written.
    #[inline(always)]
    pub fn write_back(&mut self, now: u64, warp: usize, timing: &Timing) -> u64 {
        if timing.dst_words == 0 {
            return now;
        }
        self.board.advance(now);
        let mut done = now;
        for register in timing.dst..timing.dst + timing.dst_words {
            let buses = if timing.pipe == Pipe::Memory { &self.memory_buses } else { &self.unit_buses };
            let slot = self.board.book_any(buses.clone(), now, 1);
            let bank = self.bank(warp, register) + self.write_banks;
            let at = self.board.book(bank, slot);
            self.counters.write_conflicts += at - now;
            done = done.max(at);
        }
        self.counters.writes += u64::from(timing.dst_words);
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sm::decode::Decoded;
    use warpwatt_isa::{Op, Program, Reg, Src, Ty, Uop};

    fn fma(registers: [u8; 3]) -> Timing {
        let mut uop = Uop::new(Op::Ffma, Ty::F32);
        uop.dst = Reg(0);
        for (i, register) in registers.into_iter().enumerate() {
            uop.src[i] = Src::Reg(Reg(register));
        }
        let program = Program { uops: vec![uop], ..Program::default() };
        Decoded::new(&program, &Config::default()).timing.remove(0)
    }

    fn operands(banks: u32, ports: u32) -> Operands {
        let mut config = Config::default();
        (config.rf.banks, config.rf.collector_ports) = (banks, ports);
        Operands::new(&config)
    }

    #[test]
    fn operands_of_different_banks_come_at_once_and_those_of_one_bank_one_by_one() {
        assert_eq!(operands(16, 3).collect(100, 0, &fma([1, 2, 3])), 102);
        assert_eq!(operands(16, 3).collect(100, 0, &fma([1, 17, 33])), 104);
    }

    #[test]
    fn a_register_that_is_named_twice_is_read_once() {
        assert_eq!(operands(16, 1).collect(100, 0, &fma([5, 5, 5])), 102);
    }

    #[test]
    fn a_collector_takes_no_more_operands_in_a_cycle_than_it_has_ports() {
        assert_eq!(operands(16, 1).collect(100, 0, &fma([1, 2, 3])), 104);
        assert_eq!(operands(16, 2).collect(100, 0, &fma([1, 2, 3])), 103);
    }

    #[test]
    fn warps_are_shifted_against_each_other() {
        let mut operands = operands(4, 3);
        assert_eq!(operands.collect(100, 0, &fma([4, 8, 12])), 104);
        assert_eq!(operands.collect(100, 1, &fma([4, 8, 12])), 104);
        assert_eq!(operands.collect(100, 4, &fma([4, 8, 12])), 107);
    }

    #[test]
    fn the_collector_that_is_free_first_is_taken_whatever_the_order() {
        let mut pool = Pool::new(3);
        for (until, first) in [(10, 0), (5, 0), (20, 5), (7, 7), (6, 6), (30, 10)] {
            pool.take(until);
            assert_eq!(pool.first_free(), first, "after {until}");
        }
    }

    #[test]
    fn results_share_the_bus_and_the_port_with_reads() {
        let mut operands = operands(16, 3);
        operands.collect(99, 0, &fma([1, 2, 3]));
        let result = |dst, dst_words| Timing { dst, dst_words, ..fma([1, 2, 3]) };
        assert_eq!(operands.write_back(100, 0, &result(1, 1)), 101, "the bank is read in this cycle");
        assert_eq!(operands.write_back(100, 0, &result(8, 2)), 101, "one bus slot is left in this cycle");
        let loaded = Timing { pipe: Pipe::Memory, ..result(4, 1) };
        assert_eq!(operands.write_back(100, 0, &loaded), 100, "memory has a bus of its own");
    }
}
