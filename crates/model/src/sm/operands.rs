// SPDX-License-Identifier: MIT OR Apache-2.0
//! The register file and the operand collectors.
//!
//! Registers are spread over banks, each of which gives or takes one operand of a warp in a cycle: 32 lanes of 4 bytes, out of as many
//! sub-banks as make it up. Warped-Compression's 32 banks of 128 bits in 4 clusters and CORF's 4 banks of 8 sub-banks are both 4 banks
//! of 8 here. A collector gathers the operands of one instruction. Banks are booked in the order of issue.

use warpwatt_base::calendar::Calendar;
use warpwatt_config::Config;

use super::decode::{Pipe, Timing};

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

/// Collectors of one kind: when each is free again.
struct Pool {
    free_at: Vec<u64>,
    /// The smallest of them.
    first_free: u64,
}

impl Pool {
    fn new(collectors: u32) -> Pool {
        Pool { free_at: vec![0; collectors as usize], first_free: 0 }
    }

    #[inline(always)]
    fn take(&mut self, until: u64) {
        let first = self.first_free;
        let mut taken = false;
        let mut least = u64::MAX;
        for free_at in &mut self.free_at {
            if !taken && *free_at == first {
                *free_at = until;
                taken = true;
            }
            least = least.min(*free_at);
        }
        self.first_free = least;
    }
}

pub struct Operands {
    reads: Vec<Calendar>,
    /// Empty when banks have one port for reads and writes.
    writes: Vec<Calendar>,
    /// Result buses: of the execution units, and of the memory unit.
    buses: [Vec<Calendar>; 2],
    pools: [Pool; 3],
    ports: u32,
    sub_banks: u64,
    pub counters: RegisterCounters,
}

/// The pool that an instruction's collector comes from. Memory instructions have theirs in the memory unit's queue.
#[inline(always)]
fn pool(pipe: Pipe) -> usize {
    match pipe {
        Pipe::Sp | Pipe::Shuffle | Pipe::Memory => 0,
        Pipe::Sfu => 1,
        Pipe::Fp64 => 2,
    }
}

impl Operands {
    pub fn new(config: &Config) -> Operands {
        let rf = &config.rf;
        let banks = || vec![Calendar::default(); rf.banks as usize];
        Operands {
            reads: banks(),
            writes: if rf.shared_port { Vec::new() } else { banks() },
            buses: [rf.write_back, rf.write_back_memory]
                .map(|width| vec![Calendar::default(); width as usize]),
            pools: [rf.collectors_sp, rf.collectors_sfu, rf.collectors_fp64].map(Pool::new),
            ports: rf.collector_ports,
            sub_banks: u64::from(rf.sub_banks),
            counters: RegisterCounters::default(),
        }
    }

    /// First cycle in which a collector of the pipe is free.
    #[inline(always)]
    pub fn free_at(&self, pipe: Pipe) -> u64 {
        self.pools[pool(pipe)].first_free
    }

    #[inline(always)]
    fn bank(&self, warp: usize, register: u8) -> usize {
        let (at, banks) = (usize::from(register) + warp, self.reads.len());
        if banks.is_power_of_two() { at & (banks - 1) } else { at % banks }
    }

    /// Books the reads of an instruction that issues now; gives the cycle in which all operands are there.
    #[inline(always)]
    pub fn collect(&mut self, now: u64, warp: usize, timing: &Timing) -> u64 {
        let sources = usize::from(timing.sources);
        let mut ready = now + 1;
        // Operands that the collector takes in each of the next cycles, four bits each.
        let mut taken = 0u64;
        for &register in &timing.source[..sources] {
            let bank = self.bank(warp, register);
            let mut at = now + 1;
            loop {
                at = self.reads[bank].first_free(now, at);
                let shift = 4 * (at - now - 1).min(15);
                if (taken >> shift & 15) < u64::from(self.ports) || at > now + 15 {
                    taken = taken.wrapping_add(1 << shift);
                    break;
                }
                at += 1;
            }
            self.reads[bank].take(at, 1);
            self.counters.read_conflicts += at - now - 1;
            ready = ready.max(at + 1);
        }
        self.counters.reads += sources as u64;
        self.counters.sub_bank_reads += sources as u64 * self.sub_banks;
        ready
    }

    /// A collector is in use until its instruction is dispatched.
    #[inline(always)]
    pub fn hold(&mut self, now: u64, pipe: Pipe, until: u64) {
        self.pools[pool(pipe)].take(until);
        self.counters.collecting += until - now;
    }

    /// Books the way of a result into the register file; gives the cycle in which all of it is written.
    #[inline(always)]
    pub fn write_back(&mut self, now: u64, warp: usize, timing: &Timing) -> u64 {
        let (first, words) = (timing.dst, timing.dst_words);
        let mut done = now;
        for register in first..first + words {
            let buses = &mut self.buses[usize::from(timing.pipe == Pipe::Memory)];
            let (mut bus, mut slot) = (0, buses[0].first_free(now, now));
            for other in 1..buses.len() {
                if slot == now {
                    break;
                }
                let at = buses[other].first_free(now, now);
                if at < slot {
                    (bus, slot) = (other, at);
                }
            }
            buses[bus].take(slot, 1);
            let bank = self.bank(warp, register);
            let ports = if self.writes.is_empty() { &mut self.reads } else { &mut self.writes };
            let at = ports[bank].book(now, slot);
            self.counters.write_conflicts += at - now;
            done = done.max(at);
        }
        self.counters.writes += u64::from(words);
        self.counters.sub_bank_writes += u64::from(words) * self.sub_banks;
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
    fn a_collector_takes_no_more_operands_in_a_cycle_than_it_has_ports() {
        assert_eq!(operands(16, 1).collect(100, 0, &fma([1, 2, 3])), 104);
        assert_eq!(operands(16, 2).collect(100, 0, &fma([1, 2, 3])), 103);
    }

    #[test]
    fn warps_are_shifted_against_each_other() {
        let mut operands = operands(4, 3);
        assert_eq!(operands.collect(100, 0, &fma([4, 4, 4])), 104);
        assert_eq!(operands.collect(100, 1, &fma([4, 4, 4])), 104);
        assert_eq!(operands.collect(100, 4, &fma([4, 4, 4])), 107);
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
