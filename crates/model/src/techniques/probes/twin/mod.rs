// SPDX-License-Identifier: MIT OR Apache-2.0
//! A twin of operand collectors and banks that goes cycle by cycle, on the instruction stream of the run: the difference
//! between the two is the error of booking accesses in order of issue.
//!
//! The machine books the reads of an instruction when it issues and the write of a result when that is there, each in the first free cycle of
//! its bank, for good. The twin takes the same instructions in the same cycles and arbitrates anew in each cycle: every bank serves one access,
//! a write before reads (or after them), of several the oldest; a collector takes as many operands in a cycle as it has ports, and as many
//! results are written as there are result buses. Nothing that the twin finds changes the run.

use std::collections::VecDeque;

use warpwatt_base::counters::{Charge, CounterSet};
use warpwatt_config::technique_parameters;

use crate::register_file::{ReadPlan, ReadPort, RegisterFileSite, WriteAccess, Written};
use crate::sm::SOURCES;
use crate::techniques::{Build, Sites, Technique};

technique_parameters! {
    /// Parameters of the probe.
    Parameters = "probe-twin" {
        writes_first: bool = true, 0..=0, "", "A bank serves writes before reads.";
    }
}

warpwatt_base::counters! {
    /// Counters of the probe.
    pub struct Counters(Charge::Reads) {
        instructions: u64 = "probe_twin.instructions.count", "Instructions with operands from registers.";
        booked: u64 = "probe_twin.booked.cycles", "From issue to the last operand, as booked.";
        arbitrated: u64 = "probe_twin.arbitrated.cycles", "From issue to the last operand, as arbitrated cycle by cycle.";
        apart: u64 = "probe_twin.apart.count", "Instructions whose operands are there in another cycle than booked.";
        off: u64 = "probe_twin.off.cycles", "Cycles by which operands are there earlier or later than booked.";
    }
}

pub static TECHNIQUE: Technique = Technique {
    name: "probe-twin",
    doc: "Arbitrates register banks cycle by cycle beside the run.",
    paper: "a twin of the operand collectors",
    parameters: Parameters::parameters,
    settings: || Box::<Parameters>::default(),
    counters: Counters::INFO,
    zero: || Box::<Counters>::default(),
    excludes: &[],
    needs: &[],
    check: |_, _, _| (),
    stores: &[],
    sites: Sites { register_file: Some(|build| Box::new(Twin::new(build))), ..Sites::NONE },
    balance: |_, _| (),
    laws: &[],
};

/// An instruction that collects operands.
#[derive(Clone, Copy)]
struct Collecting {
    issued: u64,
    /// When its last operand is there as booked.
    booked: u64,
    /// Banks of the operands that are missing.
    banks: [u8; SOURCES],
    missing: usize,
}

struct Twin {
    writes_first: bool,
    shares_port: bool,
    ports: usize,
    buses: usize,
    /// In order of issue.
    collecting: VecDeque<Collecting>,
    /// Results by bank, in order of arrival.
    writes: VecDeque<u8>,
    /// The next cycle to be gone through.
    time: u64,
    counters: Counters,
}

impl Twin {
    fn new(build: &Build) -> Twin {
        let rf = &build.config.rf;
        Twin {
            writes_first: build.settings.of::<Parameters>().writes_first,
            shares_port: rf.shared_port,
            ports: rf.collector_ports as usize,
            buses: (rf.write_back + rf.write_back_memory) as usize,
            collecting: VecDeque::new(),
            writes: VecDeque::new(),
            time: 0,
            counters: Counters::default(),
        }
    }

    /// Goes through all cycles before `now`.
    fn catch_up(&mut self, now: u64) {
        while self.time < now && !(self.collecting.is_empty() && self.writes.is_empty()) {
            let mut taken = 0;
            if self.writes_first {
                self.write_results(&mut taken);
                self.read_operands(&mut taken);
            } else {
                self.read_operands(&mut taken);
                self.write_results(&mut taken);
            }
            self.time += 1;
        }
        self.time = self.time.max(now);
    }

    /// `taken`: banks whose port is in use in this cycle.
    fn write_results(&mut self, taken: &mut u64) {
        let mut own = if self.shares_port { *taken } else { 0 };
        let mut buses = self.buses;
        self.writes.retain(|&bank| {
            let goes = buses != 0 && own >> bank & 1 == 0;
            if goes {
                own |= 1 << bank;
                buses -= 1;
            }
            !goes
        });
        if self.shares_port {
            *taken |= own;
        }
    }

    fn read_operands(&mut self, taken: &mut u64) {
        let now = self.time;
        let counters = &mut self.counters;
        for one in self.collecting.iter_mut().filter(|one| one.issued < now) {
            let mut ports = self.ports;
            let mut place = 0;
            while place < one.missing && ports != 0 {
                let bank = one.banks[place];
                if *taken >> bank & 1 == 0 {
                    *taken |= 1 << bank;
                    ports -= 1;
                    one.missing -= 1;
                    one.banks.copy_within(place + 1.., place);
                } else {
                    place += 1;
                }
            }
            if one.missing == 0 {
                let ready = now + 1;
                counters.instructions += 1;
                counters.booked += one.booked - one.issued;
                counters.arbitrated += ready - one.issued;
                counters.apart += u64::from(ready != one.booked);
                counters.off += ready.abs_diff(one.booked);
            }
        }
        self.collecting.retain(|one| one.missing != 0);
    }
}

impl RegisterFileSite for Twin {
    fn arrive(&mut self, now: u64, _slot: usize, plan: &ReadPlan) -> u64 {
        self.catch_up(now);
        let accesses = plan.accesses();
        if let Some(last) = accesses.iter().map(|access| access.at).max() {
            let mut banks = [0; SOURCES];
            banks.iter_mut().zip(accesses).for_each(|(bank, access)| *bank = access.bank);
            self.collecting.push_back(Collecting {
                issued: now,
                booked: last + 1,
                banks,
                missing: accesses.len(),
            });
        }
        0
    }

    fn write(&mut self, written: &Written, access: &mut WriteAccess, _port: &mut ReadPort) {
        self.catch_up(written.now);
        self.writes.push_back(access.bank);
    }

    fn settle(&mut self, now: u64) {
        self.catch_up(now);
    }

    fn counters(&self) -> Box<dyn CounterSet> {
        self.counters.boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn twin(writes_first: bool) -> Twin {
        Twin {
            writes_first,
            shares_port: true,
            ports: 2,
            buses: 2,
            collecting: VecDeque::new(),
            writes: VecDeque::new(),
            time: 0,
            counters: Counters::default(),
        }
    }

    fn issue(twin: &mut Twin, issued: u64, booked: u64, banks: &[u8]) {
        let mut all = [0; SOURCES];
        all[..banks.len()].copy_from_slice(banks);
        twin.collecting.push_back(Collecting { issued, booked, banks: all, missing: banks.len() });
    }

    #[test]
    fn each_bank_serves_the_oldest_and_a_collector_takes_what_its_ports_allow() {
        let mut twin = twin(true);
        issue(&mut twin, 10, 13, &[0, 1, 2]);
        issue(&mut twin, 10, 12, &[2, 0]);
        twin.catch_up(20);
        // Cycle 11: banks 0 and 1 for the first, 2 for the second; cycle 12: the rest of both.
        let Counters { instructions, booked, arbitrated, apart, off } = twin.counters;
        assert_eq!((instructions, booked, arbitrated, apart, off), (2, 3 + 2, 3 + 3, 1, 1));
    }

    #[test]
    fn a_write_has_the_port_before_or_after_reads() {
        for (writes_first, ready) in [(true, 3), (false, 2)] {
            let mut twin = twin(writes_first);
            issue(&mut twin, 10, 12, &[5]);
            twin.catch_up(11);
            twin.writes.push_back(5);
            twin.catch_up(20);
            assert_eq!(twin.counters.arbitrated, ready);
            assert!(twin.writes.is_empty());
        }
    }
}
