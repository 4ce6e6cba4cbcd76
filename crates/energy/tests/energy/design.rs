// SPDX-License-Identifier: MIT OR Apache-2.0
//! Energy follows the design: what an event and a second cost as geometry, clock, voltage, node and temperature change.

use warpwatt_config::Config;
use warpwatt_energy::{Model, Seconds};

use crate::support::*;

fn changed(settings: &[(&str, &str)]) -> Config {
    let mut config = gpu("gtx480");
    for (key, value) in settings {
        config.set(key, value).unwrap_or_else(|refusal| panic!("{key}: {refusal:?}"));
    }
    config
}

fn model(settings: &[(&str, &str)]) -> Model {
    resolve_with(&technology("gtx480-40nm"), &changed(settings), &[])
}

/// Picojoules of one event.
fn one(settings: &[(&str, &str)], counter: &str) -> f64 {
    let whole = model(settings).evaluate(&|name| (name == counter).then_some(1.0), Seconds(0.0));
    whole.total().0 * 1e12
}

/// Watts of a structure that does nothing.
fn still(settings: &[(&str, &str)], structure: &str) -> f64 {
    let whole = model(settings).evaluate(&|_| None, Seconds(1.0));
    let found = whole.structures.iter().find(|part| &*part.name == structure);
    found.map_or(f64::NAN, |part| part.static_.0)
}

#[test]
fn an_l2_of_96_mb_costs_more_than_one_of_768_kb() {
    let large = [("l2.sets", "8192")];
    for counter in ["l2.read_hits.count", "l2.reads.count", "l2.written.bytes", "l2.atomic_written.bytes"] {
        let (before, after) = (one(&[], counter), one(&large, counter));
        assert!(after > 4.0 * before, "{counter}: {before} to {after}");
    }
    assert!(still(&large, "L2") > 100.0 * still(&[], "L2"));
    let area = |settings: &[(&str, &str)]| model(settings).die_mm2.unwrap_or(f64::NAN);
    assert!(near(area(&[]), 529.0));
    assert!(area(&large) > 700.0, "{}", area(&large));
    // Flits cross a larger die.
    let flit = "noc.request.flits.count";
    assert!(near(one(&large, flit) / one(&[], flit), (area(&large) / 529.0).sqrt()));
}

#[test]
fn a_smaller_array_costs_less_and_a_larger_one_more_for_every_structure() {
    let cases: [(&str, &str, &str, &[&str], &str); 8] = [
        (
            "sm.onchip_bytes",
            "57344",
            "131072",
            &["l1d.read_hits.count", "l1d.written.bytes"],
            "L1 data cache",
        ),
        ("l2.sets", "16", "1024", &["l2.read_hits.count", "l2.written.bytes"], "L2"),
        ("sm.icache.sets", "4", "64", &["icache.hits.count"], "instruction cache"),
        ("sm.constant.sets", "16", "256", &["constant.hits.count"], "constant cache"),
        ("sm.texture.sets", "1", "64", &["texture.hits.count"], "texture cache"),
        (
            "sm.second.bytes",
            "8192",
            "131072",
            &["second.reads.count", "second.fills.count"],
            "second-level cache",
        ),
        (
            "sm.registers",
            "16384",
            "131072",
            &["rf.sub_bank_reads.count", "rf.sub_bank_writes.count"],
            "register banks",
        ),
        (
            "sm.shared.bytes",
            "16384",
            "57344",
            &["shared.reads.count", "shared.atomics.count"],
            "shared memory",
        ),
    ];
    for (key, small, large, counters, structure) in cases {
        // The L1 data cache has what shared memory leaves.
        let [small, large] = [small, large].map(|value| [(key, value)]);
        for counter in counters {
            let all = [one(&small, counter), one(&[], counter), one(&large, counter)];
            assert!(all[0] < all[1] && all[1] < all[2], "{key}, {counter}: {all:?}");
        }
        let all = [&small[..], &[], &large].map(|settings| still(settings, structure));
        assert!(all[0] < all[1] && all[1] < all[2], "{key}, {structure}: {all:?}");
    }
}

#[test]
fn a_second_level_of_less_than_a_set_is_not_there() {
    let ways = |bytes| [("sm.second.bytes", bytes), ("sm.second.ways", "4")];
    for none in ["0", "511"] {
        assert_eq!(still(&ways(none), "second-level cache"), 0.0);
        assert_eq!(one(&ways(none), "second.fills.count"), 0.0);
        // It takes no area either: 15 arrays of 0.1 mm2 are gone.
        let area = model(&ways(none)).die_mm2.unwrap_or(f64::NAN);
        assert!((525.0..528.5).contains(&area), "{area}");
    }
    assert!(still(&ways("512"), "second-level cache") > 0.0);
    // A line that is there is four accesses, one that is not a look at the tags.
    let hit = one(&[], "second.hits.count") + one(&[], "second.reads.count");
    assert!(near(hit, 4.0 * one(&[], "second.reads.count")), "{hit}");
}

#[test]
fn ways_and_ports_cost_by_how_they_are_read() {
    // L1 reads all ways at once, L2 one after the tags.
    let at = |key: &str, value: &str, counter: &str| one(&[(key, value)], counter) / one(&[], counter);
    assert!(at("sm.l1d.ways", "8", "l1d.read_hits.count") > 1.2);
    let of_the_same_size = [("l2.ways", "32"), ("l2.sets", "32")];
    let more = one(&of_the_same_size, "l2.read_hits.count") / one(&[], "l2.read_hits.count");
    assert!(more > 1.0 && more < 1.2, "{more}");
    // Banks of one size: the more there are, the longer their wires.
    assert!(at("sm.rf.banks", "32", "rf.sub_bank_reads.count") < 1.1);
    assert!(at("sm.shared.banks", "64", "shared.reads.count") < 1.1);
}

#[test]
fn a_gpu_of_4_ghz_costs_more_than_one_of_700_mhz() {
    let fast = [("clock.core_mhz", "4000")];
    for counter in ["ops.fp32_mul.lanes.count", "rf.sub_bank_reads.count", "l1d.read_hits.count"] {
        let (before, after) = (one(&[], counter), one(&fast, counter));
        assert!(after > 5.0 * before, "{counter}: {before} to {after}");
    }
    // The same work in less time: a second's worth at 700 MHz.
    let work = |settings: &[(&str, &str)], seconds: f64| {
        model(settings).evaluate(&|name| Some(count(name) * 1e3), Seconds(seconds)).total().0
    };
    assert!(work(&fast, 0.7 / 4.0) > work(&[], 1.0));
    // L2 and network have clocks of their own; memory has a voltage of its own.
    for counter in ["l2.read_hits.count", "noc.reply.flits.count", "dram.activates.count"] {
        assert!(near(one(&fast, counter), one(&[], counter)), "{counter}");
    }
    assert!(one(&[("clock.l2_mhz", "1400")], "l2.read_hits.count") > 2.0 * one(&[], "l2.read_hits.count"));
}

#[test]
fn a_pinned_voltage_stays_and_leakage_follows_voltage_and_temperature() {
    let pinned = [("clock.core_mhz", "1400"), ("power.core_mv", "960")];
    assert!(near(one(&pinned, "ops.int_add.lanes.count"), one(&[], "ops.int_add.lanes.count")));
    assert!(near(still(&pinned, "SM logic"), still(&[], "SM logic")));
    // Its clock runs twice as fast.
    assert!(near(still(&pinned, "idle SMs"), 2.0 * still(&[], "idle SMs")));
    let high = [("power.core_mv", "1056")];
    assert!(near(one(&high, "l1d.read_hits.count"), 1.21 * one(&[], "l1d.read_hits.count")));
    for structure in ["SM logic", "register banks", "L1 data cache"] {
        assert!(near(still(&high, structure), 1.1_f64.powi(4) * still(&[], structure)), "{structure}");
        // McPAT's ratio for logic, CACTI's for arrays.
        let ratio = if structure == "SM logic" { 46.4 / 28.5 } else { 105.16 / 42.70 };
        let hot = still(&[("power.kelvin", "380")], structure);
        assert!(near(hot, ratio * still(&[], structure)), "{structure}");
    }
}

#[test]
fn a_smaller_node_costs_less() {
    let mut before = [f64::INFINITY; 4];
    for nm in ["45", "40", "32", "22"] {
        let node = [("power.node_nm", nm)];
        let now = [
            one(&node, "ops.fp32_add.lanes.count"),
            one(&node, "l2.read_hits.count"),
            one(&node, "noc.reply.flits.count"),
            still(&node, "SM logic"),
        ];
        for (now, before) in now.iter().zip(before) {
            assert!(*now < before, "{nm} nm: {now} after {before}");
        }
        before = now;
    }
}

/// Every parameter of `power` is one that energy depends on.
#[test]
fn every_parameter_of_power_moves_energy() {
    let total = |settings: &[(&str, &str)]| evaluate(&model(settings)).total().0;
    let values = [
        ("power.node_nm", "32"),
        ("power.kelvin", "320"),
        ("power.core_mv", "1000"),
        ("power.noc_mv", "1000"),
        ("power.l2_mv", "1000"),
    ];
    let known = Config::parameters().iter().filter(|parameter| parameter.section == "power");
    assert_eq!(known.count(), values.len());
    for setting in values {
        assert!((total(&[setting]) / total(&[]) - 1.0).abs() > 1e-4, "{setting:?}");
    }
}

/// What the papers give is for one clock and one array.
#[test]
fn the_papers_register_files_stay_as_they_are() {
    for name in ["wc45", "corf40"] {
        let energy = |settings: &[(&str, &str)]| {
            let model = resolve_with(&technology(name), &changed(settings), &[]);
            model.evaluate(&|name| Some(count(name)), TIME).total().0
        };
        let other = [
            ("power.node_nm", "22"),
            ("power.kelvin", "380"),
            ("clock.core_mhz", "2000"),
            ("power.core_mv", "700"),
        ];
        assert_eq!(energy(&other), energy(&[]), "{name}");
    }
    for name in ["thesis32", "e2mc32", "combined-40nm"] {
        let config =
            changed(&[("clock.core_mhz", "822"), ("clock.noc_mhz", "1644"), ("clock.l2_mhz", "822")]);
        let model = resolve_with(&technology(name), &config, &[]);
        let one = model.evaluate(&|name| (name == "l2.reads.count").then_some(1.0), Seconds(0.0));
        assert!(near(one.total().0, 102e-12), "{name}");
    }
}

/// GPUWattch's own readings stand beside.
#[test]
fn gpuwattch_s_readings_are_its_own() {
    let model = resolve_with(&technology("gpuwattch-40nm"), &gpu("gtx480"), &[]);
    let one = |counter: &str| {
        model.evaluate(&|name| (name == counter).then_some(1.0), Seconds(0.0)).total().0 * 1e12
    };
    assert!(near(one("sm.constant_operands.count"), 53.0 * 32.0));
    assert!(near(one("l2.writes.count"), 15024.0) && near(one("l1d.writes.count"), 2604.0));
    assert!(near(one("dram.reads.count"), 26948.0 / 2.0));
    let still = model.evaluate(&|_| None, Seconds(1.0));
    assert!(still.structures.iter().filter(|part| part.off_chip).all(|part| part.static_.0 == 0.0));
}
