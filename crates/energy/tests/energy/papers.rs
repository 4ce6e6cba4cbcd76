// SPDX-License-Identifier: MIT OR Apache-2.0
//! The papers' own numbers, exactly where they give them.

use warpwatt_energy::{Seconds, Technology};

use crate::support::*;

fn structure_j(technology: &str, gpu_name: &str, structure: &str, counter: &str) -> (f64, f64) {
    let config = gpu(gpu_name);
    let model = resolve(&self::technology(technology), &config);
    let whole = model.evaluate(&|name| (name == counter).then_some(1.0), Seconds(0.0));
    let still = model.evaluate(&|_| None, Seconds(1.0));
    let of = |whole: &warpwatt_energy::Breakdown| {
        let found = whole.structures.iter().find(|part| &*part.name == structure);
        found.unwrap_or_else(|| panic!("{technology} has no {structure}")).clone()
    };
    (of(&whole).dynamic.0 * 1e12, of(&still).static_.0 * 1e3)
}

fn technology(name: &str) -> Technology {
    crate::support::technology(name)
}

#[test]
fn warped_compression_table_3() {
    let at = |structure, counter| structure_j("wc45", "gtx480-wc", structure, counter);
    let (access, leakage) = at("register banks", "rf.sub_bank_reads.count");
    assert!(near(access, 7.0) && near(leakage, 15.0 * 32.0 * 5.8));
    assert!(near(at("register wires", "rf.sub_bank_writes.count").0, 9.6));
    let (compress, leakage) = at("compressors", "wc.compressions.count");
    assert!(near(compress, 23.0) && near(leakage, 15.0 * 2.0 * 0.12));
    let (decompress, leakage) = at("decompressors", "wc.decompressions.count");
    assert!(near(decompress, 21.0) && near(leakage, 15.0 * 4.0 * 0.08));
}

/// Arrays may be larger or smaller than the 4 KB that the leakage is of.
#[test]
fn a_register_file_that_is_off_leaks_what_gating_leaves() {
    for (name, gpu_name) in
        [("wc45", "gtx480-wc"), ("wc45", "gtx480"), ("gtx480-40nm", "gtx480"), ("combined-40nm", "gtx480-wc")]
    {
        let config = gpu(gpu_name);
        let model = resolve_with(&technology(name), &config, &["warped-compression"]);
        let arrays = config.gpu.sms * config.rf.banks * config.rf.sub_banks;
        let off = f64::from(arrays) * f64::from(config.clock.core_mhz) * 1e6;
        let leakage = |gated: f64| {
            let whole = model.evaluate(&|name| (name == "rf.gated.cycles").then_some(gated), Seconds(1.0));
            let banks = whole.structures.iter().find(|part| &*part.name == "register banks");
            banks.map_or(0.0, |banks| banks.static_.0)
        };
        assert!(near(leakage(off), 0.05 * leakage(0.0)), "{name} on {gpu_name}");
        assert!(near(leakage(off / 2.0), 0.525 * leakage(0.0)), "{name} on {gpu_name}");
        let woken = model.evaluate(&|name| (name == "wc.wakeups.count").then_some(10.0), Seconds(0.0));
        assert!(near(woken.total().0 * 1e12, 30.0), "{name}");
    }
}

/// 128 wires, half of which change: capacitance times voltage squared, a quarter of it drawn from the supply per wire and cycle.
#[test]
fn the_wires_of_warped_compression_follow_from_their_capacitance() {
    assert!(near(128.0 * 300e-15 * 1.0 / 4.0 * 1e12, 9.6));
}

/// 60 % dynamic and 40 % leakage of the register file's energy mean about 1.5 accesses of a warp in a cycle of an SM.
#[test]
fn warped_compression_s_split_of_dynamic_and_leakage_energy() {
    let config = gpu("gtx480-wc");
    let model = resolve_with(&technology("wc45"), &config, &[]);
    let cycles = f64::from(config.clock.core_mhz) * 1e6;
    let accesses = 1.5 * cycles * f64::from(config.gpu.sms) * f64::from(config.rf.sub_banks);
    let whole = model.evaluate(&|name| (name == "rf.sub_bank_reads.count").then_some(accesses), Seconds(1.0));
    let share = whole.dynamic().0 / whole.total().0;
    assert!((share - 0.60).abs() < 0.01, "{share}");
}

#[test]
fn corf_table_2_and_section_8() {
    let at = |structure, counter| structure_j("corf40", "gtx480-corf", structure, counter);
    let (access, leakage) = at("register banks", "rf.sub_bank_reads.count");
    assert!(near(access * 8.0, 149.76) && near(leakage, 15.0 * 89.6));
    let (lookup, leakage) = at("renaming table", "renaming.lookups.count");
    assert!(near(lookup, 1.83) && near(leakage, 15.0 * 5.56));
    let (logic, leakage) = at("CORF logic", "packing.unpacked.count");
    assert!(near(leakage, 0.2));
    // 57 mW at two accesses a cycle, and the paper's 3 % of overhead with the table's 1.2 %.
    assert!(near(logic * 15.0 * 2.0 * 700e6 * 1e-9, 57.0));
    assert!(((logic + lookup) / 149.76 - 0.03).abs() < 0.001);
    let (other, table) =
        (at("CORF logic", "packing.packed.count").0, at("renaming table", "renaming.updates.count").0);
    assert!(near(other, logic) && near(table, lookup));
}

/// Entries without a register do not leak: half of them off for a second is half of Table 2's 89.6 mW, on each SM.
#[test]
fn corf_s_free_entries_are_gated() {
    let config = gpu("gtx480-corf");
    let none = [("technique.renaming.gated_leakage", 0.0)];
    let model = resolve_at(&technology("corf40"), &config, &["renaming"], &none);
    let slices = f64::from(config.sm.registers) / 8.0;
    let half = 0.5 * slices * f64::from(config.gpu.sms) * f64::from(config.clock.core_mhz) * 1e6;
    let whole = model.evaluate(&|name| (name == "renaming.gated.cycles").then_some(half), Seconds(1.0));
    let banks = whole.structures.iter().find(|part| &*part.name == "register banks").expect("a structure");
    assert!(near(banks.static_.0, 15.0 * 89.6e-3 / 2.0));
}

/// Table IV follows from Table III: units for 4 x 192.4 GB/s, half of it in each direction, times their power.
#[test]
fn e2mc_s_units_draw_what_table_iv_says() {
    let (compress, _) = structure_j("e2mc32", "gtx580-e2mc", "E2MC compressors", "mc.compressed.bytes");
    let (decompress, _) = structure_j("e2mc32", "gtx580-e2mc", "E2MC decompressors", "mc.decompressed.bytes");
    assert!(near(compress, 5.47e-3 / 2.86e9 * 1e12), "{compress}");
    assert!(near(decompress, 11.89e-3 / 1.6e9 * 1e12), "{decompress}");
    // A line of 128 bytes.
    assert!((compress * 128.0 - 245.0).abs() < 0.5 && (decompress * 128.0 - 951.0).abs() < 0.5);
    // 136 compressors and 240 decompressors, at full rate: 0.7 and 2.8 W.
    let watts = |energy: f64, units: f64, rate: f64| energy * 1e-12 * units * rate;
    assert!((watts(compress, 136.0, 2.86e9) - 0.7).abs() < 0.06);
    assert!((watts(decompress, 240.0, 1.6e9) - 2.8).abs() < 0.06);
}

#[test]
fn combined_figures_are_the_papers_times_the_stated_scaling() {
    let at = |structure, counter| structure_j("combined-40nm", "gtx480-corf", structure, counter);
    assert!(near(at("register banks", "rf.sub_bank_reads.count").0 * 8.0, 149.76));
    let (compress, leakage) = at("compressors", "wc.compressions.count");
    assert!(near(compress, 23.0 * 0.819) && near(leakage, 15.0 * 2.0 * 0.12 * 0.685));
    let whole = |structure, counter| structure_j("gtx480-40nm", "gtx480", structure, counter);
    assert_eq!(whole("compressors", "wc.compressions.count"), (compress, leakage));
    let (decompress, leakage) = whole("decompressors", "wc.decompressions.count");
    assert!(near(decompress, 21.0 * 0.819) && near(leakage, 15.0 * 4.0 * 0.08 * 0.685));
    assert!((0.819_f64 - 40.0 / 45.0 * 0.96 * 0.96).abs() < 0.0005);
    assert!((0.685_f64 - 4.01 / 5.85).abs() < 0.0005);
    let e2mc = at("E2MC compressors", "mc.compressed.bytes").0;
    assert!(near(e2mc, 5.47 / 2.86 * 1.422));
    assert!((1.422_f64 - 40.0 / 32.0 * (0.96_f64 / 0.9).powi(2)).abs() < 0.0005);
}
