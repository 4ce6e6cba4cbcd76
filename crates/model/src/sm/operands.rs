// SPDX-License-Identifier: MIT OR Apache-2.0
//! The register file and the operand collectors.
//!
//! Registers are spread over banks, each of which gives or takes one operand of a warp in a cycle: 32 lanes of 4 bytes, out of as many
//! sub-banks as make it up. Warped-Compression's 32 banks of 128 bits in 4 clusters and CORF's 4 banks of 8 sub-banks are both 4 banks
//! of 8 here. A collector gathers the operands of one instruction. Banks are booked in the order of issue.

use warpwatt_base::calendar::{Board, HORIZON};
use warpwatt_config::Config;

use super::decode::{Pipe, Pooled, SOURCES, Timing};
use crate::techniques::register_file::{ReadPort, RegisterFile, Values, Written};

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

/// The most collectors of one kind.
const COLLECTORS: usize = 64;

/// Cycles in which the operands that a collector takes are counted, in four bits each.
const COUNTED: u64 = 15;

/// Collectors of one kind: when each is free again, in ascending order, in a ring that starts at `first`.
struct Pool {
    free_at: [u64; COLLECTORS],
    count: usize,
    first: usize,
}

impl Pool {
    fn new(collectors: u32) -> Pool {
        Pool { free_at: [0; COLLECTORS], count: collectors as usize, first: 0 }
    }

    /// Takes the collector that is free first. Most are free again later than all others, and go to the end. Gives the first cycle in which
    /// another one is free.
    #[inline(always)]
    fn take(&mut self, until: u64) -> u64 {
        let mut place = self.first;
        let first = if place + 1 == self.count { 0 } else { place + 1 };
        self.first = first;
        while place != first {
            let before = if place == 0 { self.count - 1 } else { place - 1 };
            let free_at = self.free_at[before % COLLECTORS];
            if free_at <= until {
                break;
            }
            self.free_at[place % COLLECTORS] = free_at;
            place = before;
        }
        self.free_at[place % COLLECTORS] = until;
        self.free_at[first % COLLECTORS]
    }
}

pub struct Operands {
    /// Ports of the banks: those that read, and those that write if they are not the same.
    ports: [Board; 2],
    write_ports: usize,
    /// Result buses.
    buses: Board,
    unit_buses: u64,
    memory_buses: u64,
    /// The bank of each sum of register and warp slot, as a bit.
    bank: [u64; PLACES],
    all_banks: u64,
    /// By kind; the last is not used, since memory instructions have the memory unit's queue.
    pools: [Pool; Pooled::COUNT],
    /// First cycle in which each pool has a free collector.
    free_at: [u64; Pooled::COUNT],
    /// From this cycle on all of them have one.
    all_free_at: u64,
    collector_ports: u64,
    sub_banks: u64,
    counters: RegisterCounters,
    /// Activations of sub-banks that a technique saved, of reads and of writes.
    spared: [u64; 2],
}

impl Operands {
    pub fn new(config: &Config) -> Operands {
        let rf = &config.rf;
        let unit_buses = (1 << rf.write_back) - 1;
        Operands {
            ports: [Board::default(), Board::default()],
            write_ports: usize::from(!rf.shared_port),
            buses: Board::default(),
            unit_buses,
            memory_buses: ((1 << rf.write_back_memory) - 1) << rf.write_back,
            bank: std::array::from_fn(|place| 1 << (place as u32 % rf.banks)),
            all_banks: u64::MAX >> (u64::BITS - rf.banks),
            pools: [rf.collectors_sp, rf.collectors_sfu, rf.collectors_fp64, 1].map(Pool::new),
            free_at: [0; Pooled::COUNT],
            all_free_at: 0,
            collector_ports: u64::from(rf.collector_ports),
            sub_banks: u64::from(rf.sub_banks),
            counters: RegisterCounters::default(),
            spared: [0; 2],
        }
    }

    /// What was counted. An access of a warp activates all sub-banks of its bank, unless a technique knows better.
    pub fn counters(&self) -> RegisterCounters {
        let RegisterCounters { reads, writes, .. } = self.counters;
        RegisterCounters {
            sub_bank_reads: reads * self.sub_banks - self.spared[0],
            sub_bank_writes: writes * self.sub_banks - self.spared[1],
            ..self.counters.clone()
        }
    }

    /// Pools without a free collector, a bit for each.
    #[inline(always)]
    pub fn full(&self, now: u64) -> u32 {
        if self.all_free_at <= now {
            return 0;
        }
        self.free_at.iter().rev().fold(0, |full, &free_at| full << 1 | u32::from(free_at > now))
    }

    /// First cycle in which a collector is free. Those of memory instructions are the memory unit's queue.
    #[inline(always)]
    pub fn free_at(&self, pool: Pooled) -> u64 {
        self.free_at[pool as usize]
    }

    /// A cycle begins. To be called before anything is booked in it.
    #[inline(always)]
    pub fn advance(&mut self, now: u64) {
        self.ports[0].advance(now);
        self.buses.advance(now);
        if self.write_ports != 0 {
            self.ports[1].advance(now);
        }
    }

    /// Books the reads of an instruction that issues now; gives the cycle in which all operands are there.
    #[inline(always)]
    pub fn collect(&mut self, now: u64, warp: usize, timing: &Timing) -> u64 {
        if !timing.reads_plainly {
            return self.collect_one_by_one(now, warp, timing);
        }
        let [first, second] = timing.read_banks.map(|banks| banks.rotate_left(warp as u32) & self.all_banks);
        let ports = &mut self.ports[0];
        if ports.taken(now + 1) & first | ports.taken(now + 2) & second != 0 {
            return if timing.reads_later > 1 {
                self.collect_one_by_one(now, warp, timing)
            } else {
                self.counters.reads += u64::from(timing.sources);
                self.collect_cycle_by_cycle(now, first, second)
            };
        }
        ports.mark(now + 1, first);
        ports.mark(now + 2, second);
        self.counters.read_conflicts += u64::from(timing.reads_later);
        self.counters.reads += u64::from(timing.sources);
        now + 1 + u64::from(first != 0) + u64::from(second != 0)
    }

    /// The same for operands of different banks, one more than ports at most: in each cycle all come whose banks are free, and if that is
    /// everything, the last has to wait.
    #[inline(never)]
    fn collect_cycle_by_cycle(&mut self, now: u64, first: u64, second: u64) -> u64 {
        let ports = &mut self.ports[0];
        let mut left = first | second;
        let (mut at, mut waited) = (now + 1, 0);
        loop {
            let free = left & !ports.taken(at);
            let all = free == first | second && second != 0 && at - now <= COUNTED;
            let come = if all { first } else { free };
            ports.mark(at, come);
            left ^= come;
            at += 1;
            if left == 0 {
                break;
            }
            let rest = left & (left - 1);
            waited += if rest == 0 { 1 } else { u64::from(1 + rest.count_ones()) };
            if at - now == HORIZON {
                while left != 0 {
                    let bank = left & left.wrapping_neg();
                    left ^= bank;
                    let came = ports.book(bank, now + HORIZON);
                    waited += came - (now + HORIZON);
                    at = at.max(came + 1);
                }
                break;
            }
        }
        self.counters.read_conflicts += waited;
        at
    }

    /// The same for any operands: each comes as early as it can, in their order.
    #[inline(never)]
    fn collect_one_by_one(&mut self, now: u64, warp: usize, timing: &Timing) -> u64 {
        self.collect_each(now, warp, timing, |_, at| at + 1)
    }

    /// The same with a technique: fewer arrays may be activated, and data may take longer.
    #[inline(never)]
    pub fn collect_through(
        &mut self,
        now: u64,
        warp: usize,
        timing: &Timing,
        technique: &mut RegisterFile,
    ) -> u64 {
        let mut arrays = 0;
        let ready = self.collect_each(now, warp, timing, |register, at| {
            arrays += u64::from(technique.arrays(warp, register));
            technique.read(now, at, warp, register)
        });
        self.spared[0] += u64::from(timing.sources) * self.sub_banks - arrays;
        ready
    }

    /// Books the operands one by one; `arrive` tells when one that its bank gives in some cycle is there.
    #[inline(always)]
    fn collect_each(
        &mut self,
        now: u64,
        warp: usize,
        timing: &Timing,
        mut arrive: impl FnMut(u8, u64) -> u64,
    ) -> u64 {
        let ports = &mut self.ports[0];
        let sources = &timing.source[..usize::from(timing.sources).min(SOURCES)];
        let first = now + 1;
        let (mut ready, mut waited) = (first, 0);
        // Operands that the collector takes in each of the next cycles.
        let mut taken = 0u64;
        for &register in sources {
            let bank = self.bank[(usize::from(register) + warp) % PLACES];
            let (mut at, mut taken_at) = (first, taken);
            while ports.taken(at) & bank != 0 || taken_at & 15 == self.collector_ports {
                at += 1;
                taken_at >>= 4;
                if at - now == HORIZON {
                    break;
                }
            }
            if at - now < HORIZON {
                ports.mark(at, bank);
            } else {
                at = ports.book(bank, at);
            }
            let wait = at - first;
            if wait < COUNTED {
                taken += 1 << (4 * wait);
            }
            waited += wait;
            ready = ready.max(arrive(register, at));
        }
        self.counters.read_conflicts += waited;
        self.counters.reads += sources.len() as u64;
        ready
    }

    /// A collector is in use until its instruction is dispatched.
    #[inline(always)]
    pub fn hold(&mut self, now: u64, pool: Pooled, until: u64) {
        let free_at = self.pools[pool as usize].take(until);
        self.free_at[pool as usize] = free_at;
        self.all_free_at = self.all_free_at.max(free_at);
        self.counters.collecting += until - now;
    }

    /// Books the way of a result into the register file; gives the cycle in which all of it is written.
    #[inline(always)]
    pub fn write_back(&mut self, now: u64, warp: usize, timing: &Timing) -> u64 {
        if timing.dst_words == 0 {
            return now;
        }
        let buses = if timing.pipe == Pipe::Memory { self.memory_buses } else { self.unit_buses };
        let (mut done, mut waited) = (now, 0);
        for register in usize::from(timing.dst)..usize::from(timing.dst) + usize::from(timing.dst_words) {
            let slot = self.buses.book_any(buses, now);
            let at = self.ports[self.write_ports % 2].book(self.bank[(register + warp) % PLACES], slot);
            waited += at - now;
            done = done.max(at);
        }
        self.counters.write_conflicts += waited;
        self.counters.writes += u64::from(timing.dst_words);
        done
    }

    /// The same with a technique, which is shown the values.
    #[inline(never)]
    pub fn write_back_through(
        &mut self,
        now: u64,
        slot: usize,
        timing: &Timing,
        technique: &mut RegisterFile,
        values: Values,
    ) -> u64 {
        let buses = if timing.pipe == Pipe::Memory { self.memory_buses } else { self.unit_buses };
        let (mut done, mut waited, mut arrays) = (now, 0, 0);
        for word in 0..timing.dst_words {
            let register = timing.dst + word;
            let bank = self.bank[(usize::from(register) + slot) % PLACES];
            let mut port = ReadPort { ports: &mut self.ports[0], bank, reads: 0, arrays: 0 };
            let upper = timing.upper_words >> word & 1 != 0;
            let written = Written { now, slot, register, upper, values: values.of(register) };
            let access = technique.write(written, &mut port);
            self.counters.reads += port.reads;
            self.spared[0] += port.reads * self.sub_banks - port.arrays;
            let start = self.buses.book_any(buses, access.ready);
            let earliest = start.max(access.awake);
            // Arrays that take that long to wake up keep nobody from the others of their bank: a calendar would, since it tells no cycles
            // apart beyond its horizon.
            let far = earliest - now >= HORIZON;
            let at = if far { earliest } else { self.ports[self.write_ports % 2].book(bank, earliest) };
            waited += start - access.ready + (at - earliest);
            arrays += u64::from(access.arrays);
            done = done.max(at);
        }
        self.counters.write_conflicts += waited;
        self.counters.writes += u64::from(timing.dst_words);
        self.spared[1] += u64::from(timing.dst_words) * self.sub_banks - arrays;
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sm::decode::Decoded;
    use warpwatt_base::SplitMix64;
    use warpwatt_isa::{Op, Program, Reg, Src, Ty, Uop};

    /// A register file with what its instructions are decoded for.
    struct File {
        config: Config,
        operands: Operands,
    }

    impl File {
        fn new(banks: u32, ports: u32) -> File {
            let mut config = Config::default();
            (config.rf.banks, config.rf.collector_ports) = (banks, ports);
            File { operands: Operands::new(&config), config }
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
            self.operands.advance(now);
            self.operands.collect(now, warp, &timing)
        }

        fn write_back(&mut self, now: u64, dst: u8, dst_words: u8, pipe: Pipe) -> u64 {
            let timing = Timing { dst, dst_words, pipe, ..self.fma([1, 2, 3]) };
            self.operands.advance(now);
            self.operands.write_back(now, 0, &timing)
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
                plain.operands.advance(now);
                let expected = plain.operands.collect_one_by_one(now, warp, &timing);
                assert_eq!(file.collect(now, warp, registers), expected, "{banks} banks, {ports} ports");
                let dst = registers[0];
                let written = plain.write_back(now, dst, 1, Pipe::Sp);
                assert_eq!(file.write_back(now, dst, 1, Pipe::Sp), written);
            }
            assert_eq!(file.operands.counters(), plain.operands.counters());
        }
    }

    #[test]
    fn the_collector_that_is_free_first_is_taken_whatever_the_order() {
        let mut pool = Pool::new(3);
        for (until, first) in [(10, 0), (5, 0), (20, 5), (7, 7), (6, 6), (30, 10)] {
            assert_eq!(pool.take(until), first, "after {until}");
        }
    }

    #[test]
    fn results_share_the_bus_and_the_port_with_reads() {
        let mut file = File::new(16, 3);
        file.collect(99, 0, [1, 2, 3]);
        assert_eq!(file.write_back(100, 1, 1, Pipe::Sp), 101, "the bank is read in this cycle");
        assert_eq!(file.write_back(100, 8, 2, Pipe::Sp), 101, "one bus slot is left in this cycle");
        assert_eq!(file.write_back(100, 4, 1, Pipe::Memory), 100, "memory has a bus of its own");
    }
}
