// SPDX-License-Identifier: MIT OR Apache-2.0
//! Register packing: narrow registers share an entry of the register file (Ergin et al., MICRO 2004; Wang and Zhang, 2017), as CORF takes it for its
//! starting point (ASPLOS 2019, sections 2 and 6). `renaming` has the table and does the work; here are parameters and counters.

use warpwatt_base::counters::{Charge, CounterSet};
use warpwatt_config::{choice, technique_parameters};

use super::{Balance, Law, Sites, Technique};

choice! {
    /// Which sub-banks of an entry an access activates.
    SubBanks {
        /// All of them (CORF, sections 7 and 8: savings come from fewer accesses).
        Whole = "whole",
        /// Those of the slices that it is for, were bytes interleaved over sub-banks (Figure 10 C).
        Selective = "selective",
    }
}

technique_parameters! {
    /// Parameters of register packing.
    Parameters = "packing" {
        packers: u32 = 2, 0..=16, "", "Packers of an SM; each packs one result per cycle. 0: packing takes no time.";
        pack_cycles: u32 = 0, 0..=32, "cycles", "Latency of packing.";
        unpack_cycles: u32 = 0, 0..=32, "cycles", "Latency of unpacking a narrow operand.";
        growth_reads: bool = true, 0..=0, "", "A register that becomes wider in a partial write is read first; off: at no cost.";
        coalesce: bool = false, 0..=0, "", "Two operands that first-fit packing put into one entry are read with one access.";
        sub_bank_energy: SubBanks = SubBanks::Whole, 0..=0, "", "Which sub-banks of an entry an access activates.";
    }
}

warpwatt_base::counters! {
    /// Counters of register packing. Histograms have four places: 1, 2, 3 and 4 bytes.
    pub struct Counters {
        packed: u64 = "packing.packed.count", "Results that a packer put into their slices.", Charge::Writes;
        unpacked: u64 = "packing.unpacked.count", "Operands that an unpacker took out of their slices.", Charge::Reads;
        packer_waits: u64 = "packing.packer_waits.cycles", "Cycles that results waited for a packer.";
        grown: u64 = "packing.grown.count", "Registers that outgrew their slices and were moved.", Charge::Writes;
        widened: u64 = "packing.widened.count", "Registers that grew within slices that they had kept.", Charge::Writes;
        shrunk: u64 = "packing.shrunk.count", "Registers that need fewer slices than before, and keep them.", Charge::Writes;
        growth_reads: u64 = "packing.growth_reads.count", "Registers read because they grew while a lane was left out.", Charge::Writes;
        write_widths: [u64; 4] = "packing.write_widths.histogram", "Registers written, by width; no upper halves of 64-bit values.";
        write_widths_upper: [u64; 4] = "packing.write_widths_upper.histogram", "Upper halves of 64-bit values written, by width.";
        read_widths: [u64; 4] = "packing.read_widths.histogram", "Operands read, by width; no upper halves of 64-bit values.";
        read_widths_upper: [u64; 4] = "packing.read_widths_upper.histogram", "Upper halves of 64-bit values read, by width.";
        multi_source: u64 = "packing.multi_source.count", "Instructions with two or more register sources; a 64-bit operand is one.", Charge::Issues;
        multi_source_reads: u64 = "packing.multi_source_reads.count", "Registers read by instructions with two or more register sources.", Charge::Reads;
        multi_source_wide: u64 = "packing.multi_source_wide.count", "Instructions with two or more register sources that read the upper half of a 64-bit value.", Charge::Issues;
        operands: u64 = "packing.operands.count", "Register sources; a 64-bit operand is one.", Charge::Reads;
        multi_source_operands: u64 = "packing.multi_source_operands.count", "Register sources of instructions with two or more of them.", Charge::Reads;
        potential: u64 = "packing.potential.count", "Instructions with two narrow register sources that would fit into one entry; no upper halves of 64-bit values.", Charge::Issues;
        potential_both: u64 = "packing.potential_both.count", "Instructions with two narrow register sources that would fit into one entry, upper halves included.", Charge::Issues;
        coalesced: u64 = "packing.coalesced.count", "Reads that came with another operand's access.", Charge::Reads;
        coalesced_instructions: u64 = "packing.coalesced_instructions.count", "Instructions with a read that came with another operand's access.", Charge::Issues;
        coalesced_lower: u64 = "packing.coalesced_lower.count", "Instructions in which one access reads two operands, neither of them the upper half of a 64-bit value.", Charge::Issues;
    }
}

pub const NAME: &str = "packing";

pub static TECHNIQUE: Technique = Technique {
    name: NAME,
    doc: "Narrow registers of a warp share an entry of the register file.",
    paper: "Wang and Zhang, GPU Register Packing, 2017, as in Asghari Esfeden et al., CORF, ASPLOS 2019",
    parameters: Parameters::parameters,
    settings: || Box::<Parameters>::default(),
    counters: Counters::INFO,
    zero: || Box::<Counters>::default(),
    excludes: &[],
    needs: &["renaming"],
    check: |_, _, _| (),
    stores: &[],
    sites: Sites::NONE,
    balance,
    laws: LAWS,
};

fn balance(counters: &dyn CounterSet, balance: &mut Balance) {
    if let Some(counters) = counters.of::<Counters>() {
        balance.register_reads += counters.growth_reads as i64 - counters.coalesced as i64;
    }
    balance.fewer_arrays = true;
}

const LAWS: &[Law] = &[
    Law {
        text: "every result that is stored passes a packer",
        holds: |run| {
            let writes = run.machine.sm.registers.writes;
            run.own.of::<Counters>().is_some_and(|own| {
                own.packed == sum(&own.write_widths) + sum(&own.write_widths_upper) && own.packed <= writes
            })
        },
    },
    Law {
        text: "every operand passes an unpacker",
        holds: |run| {
            // Other techniques may add reads or merge them too; these are the program's own.
            let mut balance = Balance::default();
            run.machine
                .all_techniques()
                .each()
                .for_each(|(technique, own)| (technique.balance)(own, &mut balance));
            let operands = run.machine.sm.registers.reads.wrapping_sub_signed(balance.register_reads);
            run.own.of::<Counters>().is_some_and(|own| {
                let read = sum(&own.read_widths) + sum(&own.read_widths_upper);
                own.unpacked == read && read <= operands
            })
        },
    },
    Law {
        text: "what coalesces has two sources that fit together",
        holds: |run| {
            run.own.of::<Counters>().is_some_and(|own| {
                own.coalesced_instructions <= own.potential_both
                    && own.potential <= own.potential_both
                    && own.potential_both <= own.multi_source
                    && own.coalesced_instructions <= own.coalesced
                    && own.coalesced_lower <= own.coalesced_instructions
            })
        },
    },
];

fn sum(histogram: &[u64]) -> u64 {
    histogram.iter().sum()
}
