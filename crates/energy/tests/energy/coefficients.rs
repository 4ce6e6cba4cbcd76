// SPDX-License-Identifier: MIT OR Apache-2.0
//! No coefficient is dead: each one that is written in a technology file is doubled, and the total moves by exactly its part.

use warpwatt_energy::{Amount, Spanned, TECHNOLOGIES, Technology};

use crate::support::*;

/// A number in a technology: which structure, and which of its numbers.
struct Coefficient {
    what: String,
    double: Box<dyn Fn(&mut Technology)>,
}

fn doubled(amount: &mut Spanned<Amount>) {
    match &mut amount.value {
        Amount::Number(number) => *number *= 2.0,
        Amount::Table { at, relative_to: None, .. } => {
            at.to_mut().iter_mut().for_each(|point| point[1] *= 2.0)
        }
        // Twice the share of the whole: all points but the one that is the whole.
        Amount::Table { at, relative_to: Some(whole), .. } => {
            at.to_mut().iter_mut().filter(|point| point[0] != *whole).for_each(|point| point[1] *= 2.0);
        }
        Amount::Key(_) => panic!("a name cannot be doubled"),
    }
}

fn is_number(amount: &Spanned<Amount>) -> bool {
    !matches!(amount.value, Amount::Key(_))
}

/// Every number that multiplies energy.
fn coefficients(technology: &Technology) -> Vec<Coefficient> {
    let mut all = Vec::new();
    let mut add = |what: String, double: Box<dyn Fn(&mut Technology)>| all.push(Coefficient { what, double });
    for (s, (_, structure)) in technology.structures.iter().enumerate() {
        let name = &structure.name.value;
        for (e, event) in structure.events.iter().enumerate() {
            let what = format!("{name}, {}", event.counter.value);
            if event.pj.as_ref().is_some_and(is_number) {
                add(
                    what.clone(),
                    Box::new(move |t| t.structures[s].1.events.to_mut()[e].pj.iter_mut().for_each(doubled)),
                );
            }
            if event.mw.as_ref().is_some_and(is_number) {
                add(
                    what.clone(),
                    Box::new(move |t| t.structures[s].1.events.to_mut()[e].mw.iter_mut().for_each(doubled)),
                );
            }
            for (f, _) in event.times.iter().enumerate().filter(|(_, factor)| is_number(factor)) {
                add(
                    format!("{what}, factor {f}"),
                    Box::new(move |t| doubled(&mut t.structures[s].1.events.to_mut()[e].times.to_mut()[f])),
                );
            }
        }
        for (p, power) in structure.statics.iter().enumerate() {
            if power.mw.as_ref().is_some_and(is_number) {
                let what = format!("{name}, power {p}");
                add(
                    what,
                    Box::new(move |t| t.structures[s].1.statics.to_mut()[p].mw.iter_mut().for_each(doubled)),
                );
            }
            for (f, _) in power.instances.iter().enumerate().filter(|(_, factor)| is_number(factor)) {
                add(
                    format!("{name}, instances {f}"),
                    Box::new(move |t| {
                        doubled(&mut t.structures[s].1.statics.to_mut()[p].instances.to_mut()[f])
                    }),
                );
            }
            for (q, state) in power.states.iter().enumerate() {
                let what = format!("{name}, {}", state.counter.value);
                if state.fraction.as_ref().is_some_and(is_number) {
                    let double = move |t: &mut Technology| {
                        t.structures[s].1.statics.to_mut()[p].states.to_mut()[q]
                            .fraction
                            .iter_mut()
                            .for_each(doubled);
                    };
                    add(what, Box::new(double));
                } else if state.mw.as_ref().is_some_and(is_number) {
                    let double = move |t: &mut Technology| {
                        t.structures[s].1.statics.to_mut()[p].states.to_mut()[q]
                            .mw
                            .iter_mut()
                            .for_each(doubled);
                    };
                    add(what, Box::new(double));
                }
            }
        }
    }
    all
}

/// Whether a coefficient is 0, so that doubling it changes nothing.
fn zero(what: &str) -> bool {
    // An unused entry and an SM with warps take nothing: states whose power is 0.
    ["rf.free_entries.cycles", "sm.active.cycles"].iter().any(|name| what.ends_with(name))
}

#[test]
fn doubling_a_coefficient_moves_the_total_by_exactly_its_part() {
    for text in TECHNOLOGIES {
        let config = gpu("gtx480");
        let technology = technology(text.name);
        let before = evaluate(&resolve(&technology, &config));
        let all = coefficients(&technology);
        assert!(all.len() >= 3, "{}", text.name);
        for coefficient in all {
            let mut changed = technology.clone();
            (coefficient.double)(&mut changed);
            assert!(changed != technology || zero(&coefficient.what), "{}", coefficient.what);
            let twice = evaluate(&resolve(&changed, &config));
            (coefficient.double)(&mut changed);
            (coefficient.double)(&mut changed);
            let eight = evaluate(&resolve(&changed, &config));
            // The part is what was added by doubling; three times it again by the next two doublings.
            let part = twice.total().0 - before.total().0;
            let more = eight.total().0 - before.total().0;
            let scale = before.total().0;
            assert!((more - 7.0 * part).abs() < 1e-9 * scale, "{} is not linear", coefficient.what);
            if zero(&coefficient.what) {
                assert_eq!(part, 0.0, "{}", coefficient.what);
                continue;
            }
            assert!(part != 0.0, "{}: {} does nothing", text.name, coefficient.what);
            // One structure alone moved.
            let moved: Vec<_> = before
                .structures
                .iter()
                .zip(&twice.structures)
                .filter(|(a, b)| a != b)
                .map(|(a, b)| (&a.name, (b.dynamic.0 + b.static_.0) - (a.dynamic.0 + a.static_.0)))
                .collect();
            assert_eq!(moved.len(), 1, "{}", coefficient.what);
            assert!(coefficient.what.starts_with(&**moved[0].0), "{}", coefficient.what);
            assert!((moved[0].1 - part).abs() < 1e-9 * scale, "{}", coefficient.what);
        }
    }
}

/// Parameters of techniques that a technology multiplies something with.
fn keys(technology: &Technology) -> Vec<&'static str> {
    let mut amounts = Vec::new();
    for (_, structure) in &technology.structures {
        for event in structure.events.iter() {
            amounts.extend(event.pj.iter().chain(&event.mw).chain(event.times.iter()));
        }
        for power in structure.statics.iter() {
            amounts.extend(power.mw.iter().chain(power.instances.iter()));
            for state in power.states.iter() {
                amounts.extend(state.fraction.iter().chain(&state.mw).chain(state.times.iter()));
            }
        }
    }
    let used =
        |name: &str| amounts.iter().any(|amount| matches!(&amount.value, Amount::Key(key) if key == name));
    PARAMETERS.iter().map(|(name, _)| *name).filter(|name| used(name)).collect()
}

#[test]
fn doubling_a_technique_s_parameter_moves_the_total_by_its_part() {
    let mut walked = 0;
    for text in TECHNOLOGIES {
        let (config, technology) = (gpu("gtx480"), technology(text.name));
        let total = |name: &str, factor: f64| {
            let times = |(key, value): &(&'static str, f64)| {
                (*key, if *key == name { value * factor } else { *value })
            };
            let parameters: Vec<_> = PARAMETERS.iter().map(times).collect();
            evaluate(&resolve_at(&technology, &config, TECHNIQUES, &parameters)).total().0
        };
        for name in keys(&technology) {
            let (before, twice, eight) = (total(name, 1.0), total(name, 2.0), total(name, 8.0));
            assert!(twice > before, "{}: {name} does nothing", text.name);
            let linear = (eight - before) - 7.0 * (twice - before);
            assert!(linear.abs() < 1e-9 * before, "{}: {name} is not linear", text.name);
            walked += 1;
        }
    }
    // Compression, compressors, decompressors, gating and wake-up, of the file itself and of all that inherit the whole GPU; of
    // caches, wake-up, word lines and gating, of all that have the whole GPU; gating of entries, of CORF's file and of the same.
    assert_eq!(walked, 6 * 5 + 5 * 3 + 6);
}

#[test]
fn techniques_that_are_off_take_no_energy() {
    for text in TECHNOLOGIES {
        let (technology, config) = (technology(text.name), gpu("gtx480"));
        let off = resolve_at(&technology, &config, &[], PARAMETERS);
        let on = resolve(&technology, &config);
        assert!(off.structures.len() <= on.structures.len() && evaluate(&off).total().0 > 0.0);
        let named = |counter: &str| off.counters().any(|name| name == counter);
        assert!(!named("wc.compressions.count") && !named("rf.gated.cycles"), "{}", text.name);
    }
}

#[test]
fn the_part_of_an_event_is_its_count_times_its_energy() {
    let config = gpu("gtx480");
    let model = resolve(&technology("gtx480-40nm"), &config);
    let one = |name: &'static str| {
        let whole =
            model.evaluate(&|counter| (counter == name).then_some(1.0), warpwatt_energy::Seconds(0.0));
        whole.total().0 * 1e12
    };
    assert!(near(one("shared.reads.count"), 2120.0));
    assert!(near(one("l2.written.bytes"), 15024.0 / 128.0));
    // A hit is a write that did not miss.
    assert!(near(one("l2.hit_written.bytes"), (13851.0 - 15024.0) / 128.0));
    assert!(near(one("l1d.written.bytes"), 2604.0 / 128.0));
    // A word that all lanes share.
    assert!(near(one("sm.constant_operands.count"), 53.0));
    assert!(near(one("ops.int_add.lanes.count"), 86.08));
    assert!(near(one("rf.sub_bank_reads.count"), 7.27 * 4.0));
    // 32 bytes: the part itself, and 32 pins that are at 0 half of the time for 8 beats of 3.696 Gb/s.
    assert!(near(one("dram.reads.count"), 1261.0 + 11.25e-3 * 32.0 * 8.0 / (4.0 * 924e6) * 1e12));
    assert!(near(one("sm.thread_instructions.count"), 25.5 / (15.0 * 64.0 * 700e6) * 1e12));
}
