// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parts, intervals and SMs add up to the whole.

use warpwatt_energy::{Seconds, TECHNOLOGIES};

use crate::support::*;

#[test]
fn structures_and_components_add_up_to_the_total() {
    for text in TECHNOLOGIES {
        let model = resolve(&technology(text.name), &gpu("gtx480"));
        let whole = evaluate(&model);
        let structures: f64 = whole.structures.iter().map(|part| part.dynamic.0 + part.static_.0).sum();
        let components: f64 = whole.components().iter().map(|component| component.total().0).sum();
        assert!(whole.total().0 > 0.0);
        assert!(near(structures, whole.total().0) && near(components, whole.total().0), "{}", text.name);
        let by_counter: f64 = model
            .dynamic_by_counter(&model.counts(&|name| Some(count(name))))
            .iter()
            .map(|energy| energy.0)
            .sum();
        assert!(near(by_counter, whole.dynamic().0));
    }
}

#[test]
fn intervals_add_up_to_the_whole() {
    let model = resolve(&technology("gtx480-40nm"), &gpu("gtx480"));
    let whole = evaluate(&model);
    let parts: f64 = [0.1, 0.35, 0.55]
        .map(|share| model.evaluate(&|name| Some(count(name) * share), Seconds(TIME.0 * share)).total().0)
        .iter()
        .sum();
    assert!(near(parts, whole.total().0), "{parts} {}", whole.total().0);
}

#[test]
fn sms_and_what_they_share_add_up_to_the_whole() {
    let config = gpu("gtx480");
    let model = resolve(&technology("gtx480-40nm"), &config);
    let of_sm =
        |name: &str| !["noc.", "l2.", "dwl.l2_", "dram."].iter().any(|prefix| name.starts_with(prefix));
    let share = 1.0 / f64::from(config.gpu.sms);
    let sm = model.evaluate_sm(&model.counts(&|name| of_sm(name).then(|| count(name) * share)), TIME);
    let whole = evaluate(&model);
    let outside = ["network", "L2", "memory chips", "memory interface", "constant power"];
    let inside = whole.structures.iter().filter(|structure| !outside.contains(&&*structure.name));
    let (dynamic, static_) =
        inside.fold((0.0, 0.0), |sum, part| (sum.0 + part.dynamic.0, sum.1 + part.static_.0));
    assert!(near(sm.dynamic.0 / share, dynamic), "{} {dynamic}", sm.dynamic.0 / share);
    assert!(near(sm.static_.0 / share, static_), "{} {static_}", sm.static_.0 / share);
}

#[test]
fn static_energy_is_power_times_time_when_nothing_sleeps() {
    let config = gpu("gtx480");
    for text in TECHNOLOGIES {
        let model = resolve(&technology(text.name), &config);
        let whole = model.evaluate(&|_| None, TIME);
        assert_eq!(whole.dynamic().0, 0.0);
        assert!(near(whole.static_().0, model.static_watts() * TIME.0), "{}", text.name);
    }
    // One structure, to the bit.
    let model = resolve_with(&technology("wc45"), &config, &[]);
    let whole = model.evaluate(&|_| None, TIME);
    let watts = 5.8 * (15.0 * 32768.0 * (1.0 / 1024.0)) * 1e-3;
    assert_eq!(whole.static_().0, watts * TIME.0);
}

#[test]
fn what_sleeps_takes_its_fraction() {
    let config = gpu("gtx480-wc");
    let tight = [
        ("technique.warped-compression.compression", 1.0),
        ("technique.warped-compression.compressors", 2.0),
        ("technique.warped-compression.decompressors", 4.0),
        ("technique.warped-compression.gated_leakage", 0.0),
        ("technique.warped-compression.wake_pj", 0.0),
    ];
    let model = resolve_at(&technology("wc45"), &config, &["warped-compression"], &tight);
    let banks = |gated: f64| {
        let counter = |name: &str| (name == "rf.gated.cycles").then_some(gated);
        model.evaluate(&counter, Seconds(1.0)).structures[0].static_.0
    };
    // All 32 banks of 15 SMs at 5.8 mW; all gated for the whole second.
    assert!(near(banks(0.0), 15.0 * 32.0 * 5.8e-3));
    let cycles = f64::from(config.clock.core_mhz) * 1e6;
    assert!(banks(15.0 * 32.0 * cycles).abs() < 1e-12);
    assert!(near(banks(15.0 * 8.0 * cycles), 15.0 * 24.0 * 5.8e-3));
}

/// Gating by itself needs no units: the baseline that compression is compared with does not pay for them.
#[test]
fn units_of_a_compression_that_is_off_do_not_leak() {
    let config = gpu("gtx480-wc");
    for name in ["wc45", "gtx480-40nm", "combined-40nm"] {
        let leakage = |compression: f64| {
            let switch = |(key, value): &(&'static str, f64)| match *key {
                "technique.warped-compression.compression" => (*key, compression),
                _ => (*key, *value),
            };
            let parameters: Vec<_> = PARAMETERS.iter().map(switch).collect();
            let model = resolve_at(&technology(name), &config, &["warped-compression"], &parameters);
            let whole = model.evaluate(&|_| None, Seconds(1.0));
            let units = whole.structures.iter().filter(|part| part.name.ends_with("compressors"));
            units.map(|units| units.static_.0).sum::<f64>()
        };
        assert!(leakage(1.0) > 0.0 && leakage(0.0) == 0.0, "{name}");
    }
}

#[test]
fn precharged_memory_takes_its_standby_power() {
    let config = gpu("gtx480");
    let model = resolve(&technology("gtx480-40nm"), &config);
    let memory = |idle: f64| {
        let counter = |name: &str| (name == "dram.idle.clocks").then_some(idle);
        let whole = model.evaluate(&counter, Seconds(1.0));
        let chips = whole.structures.iter().find(|structure| &*structure.name == "memory chips");
        chips.map_or(0.0, |chips| chips.static_.0)
    };
    assert!(near(memory(0.0), 12.0 * 0.675));
    // Twelve channels of one chip each, all of the time.
    assert!(near(memory(12.0 * 924e6), 12.0 * 0.375));
}

#[test]
fn energy_delay_products_follow_from_total_and_time() {
    let whole = evaluate(&resolve(&technology("corf40"), &gpu("gtx480-corf")));
    assert_eq!(whole.edp(), whole.total().0 * TIME.0);
    assert_eq!(whole.ed2p(), whole.total().0 * TIME.0 * TIME.0);
}
