// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lines move without the zeros at their end. What memory holds of a line is fixed when it is written back or copied, and compared when it is read.

use std::collections::BTreeMap;

use warpwatt_base::counters::{Charge, CounterSet};
use warpwatt_config::technique_parameters;

use crate::partition::{LineBytes, Transfer, TransferPlan, TransferSite, Way};
use crate::techniques::{Build, Fault, Law, Sites, Technique};

technique_parameters! {
    /// Parameters of the probe.
    Parameters = "probe-shorten" {
        shorten: bool = true, 0..=0, "", "Zeros at the end of a line are left out; off changes nothing.";
        cycles: u32 = 0, 0..=1000, "cycles", "Core cycles that a shortened line takes longer to L2.";
    }
}

warpwatt_base::counters! {
    /// Counters of the probe.
    pub struct Counters(Charge::AllLines) {
        filled: u64 = "probe_shorten.filled.count", "Lines read from memory.";
        written: u64 = "probe_shorten.written.count", "Lines written back.";
        copied: u64 = "probe_shorten.copied.count", "Lines that the host copied or filled.";
        read: u64 = "probe_shorten.read.count", "Lines that the host read.";
        without_bytes: u64 = "probe_shorten.without_bytes.count", "Lines of local memory, constants and code, which move as they are.";
        saved: u64 = "probe_shorten.saved.bytes", "Bytes that did not move.";
    }
}

pub static TECHNIQUE: Technique = Technique {
    name: "probe-shorten",
    doc: "Lines move without the zeros at their end.",
    paper: "a probe of transfers at the memory controllers",
    parameters: Parameters::parameters,
    settings: || Box::<Parameters>::default(),
    counters: Counters::INFO,
    zero: || Box::<Counters>::default(),
    excludes: &[],
    needs: &[],
    check: |_, _, _| (),
    stores: &[Fault::Dram],
    sites: Sites { transfer: Some(|build| Box::new(Shorten::new(build))), ..Sites::NONE },
    balance: |_, balance| balance.fewer_bursts = true,
    laws: &[Law {
        text: "lines written back are those of L2",
        holds: |run| {
            let written = run.machine.l2.write_backs;
            run.own.of::<Counters>().is_some_and(|own| own.written == written)
        },
    }],
};

struct Shorten {
    shorten: bool,
    cycles: u32,
    verify: bool,
    /// What memory holds of each line that was written: its bytes without the zeros at the end, and a sum of all of them.
    lines: BTreeMap<u64, (Vec<u8>, u64)>,
    flip: bool,
    corrupted: Option<String>,
    counters: Counters,
}

/// A sum that every single bit changes.
fn sum(bytes: &LineBytes) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |sum, &byte| (sum ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

impl Shorten {
    fn new(build: &Build) -> Shorten {
        let parameters: &Parameters = build.settings.of();
        Shorten {
            shorten: parameters.shorten,
            cycles: parameters.cycles,
            verify: build.verify,
            lines: BTreeMap::new(),
            flip: build.inject == Some(Fault::Dram),
            corrupted: None,
            counters: Counters::default(),
        }
    }

    fn store(&mut self, address: u64, bytes: &LineBytes) -> u32 {
        let length = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
        let sum = if self.verify { sum(bytes) } else { 0 };
        self.lines.insert(address, (bytes[..length].to_vec(), sum));
        length as u32
    }

    /// How many bytes of a line memory holds, after they were verified.
    fn load(&mut self, address: u64) -> Option<u32> {
        let (stored, expected) = self.lines.get_mut(&address)?;
        if self.flip
            && let Some(first) = stored.first_mut()
        {
            *first ^= 1;
            self.flip = false;
        }
        if self.verify {
            let mut bytes = [0; 128];
            bytes[..stored.len()].copy_from_slice(stored);
            if sum(&bytes) != *expected {
                self.corrupted =
                    Some(format!("the line at {address:#x} read from memory differs from the one written"));
            }
        }
        Some(stored.len() as u32)
    }
}

impl TransferSite for Shorten {
    fn transfer(&mut self, transfer: &Transfer, plan: &mut TransferPlan) {
        let Transfer { way, address, bytes, .. } = *transfer;
        *match way {
            Way::Fill => &mut self.counters.filled,
            Way::WriteBack => &mut self.counters.written,
            Way::HostWrite => &mut self.counters.copied,
            Way::HostRead => &mut self.counters.read,
        } += 1;
        let Some(bytes) = bytes else {
            self.counters.without_bytes += 1;
            return;
        };
        let length = match way {
            Way::WriteBack | Way::HostWrite => Some(self.store(address, bytes)),
            Way::Fill | Way::HostRead => self.load(address),
        };
        if let Some(length) = length.filter(|_| self.shorten && matches!(way, Way::Fill | Way::WriteBack)) {
            self.counters.saved += u64::from(plan.bytes - length);
            plan.bytes = length;
            plan.cycles += self.cycles;
        }
    }

    fn counters(&self) -> Box<dyn CounterSet> {
        self.counters.boxed()
    }

    fn corrupted(&self) -> Option<String> {
        self.corrupted.clone()
    }

    fn fault_is_pending(&self) -> bool {
        self.flip
    }
}
