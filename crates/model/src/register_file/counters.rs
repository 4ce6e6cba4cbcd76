// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the register file counts.

use warpwatt_base::counters::Charge;

warpwatt_base::counters! {
    /// What the register file did.
    pub struct RegisterCounters {
        reads: u64 = "rf.reads.count", "Operands read, of a whole warp each.", Charge::Reads;
        writes: u64 = "rf.writes.count", "Results written, of a whole warp each.", Charge::Writes;
        sub_bank_reads: u64 = "rf.sub_bank_reads.count", "SRAM arrays activated by reads.", Charge::Reads;
        sub_bank_writes: u64 = "rf.sub_bank_writes.count", "SRAM arrays activated by writes.", Charge::Writes;
        read_conflicts: u64 = "rf.read_conflicts.cycles", "Cycles that operands waited for their bank.";
        write_conflicts: u64 = "rf.write_conflicts.cycles", "Cycles that results waited for the result bus or their bank.";
        collecting: u64 = "rf.collecting.cycles", "Cycles in which operand collectors were in use, summed over collectors.";
    }
}
