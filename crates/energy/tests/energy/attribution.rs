// SPDX-License-Identifier: MIT OR Apache-2.0
//! Energy by place in a program.

use warpwatt_energy::{Part, Shares, attribute};

use crate::support::*;

struct Made {
    /// Whether each counter is one of memory.
    dram: Vec<bool>,
    events: Vec<f64>,
    time: Vec<f64>,
}

impl Shares for Made {
    fn places(&self) -> usize {
        self.events.len()
    }

    fn events(&self, counter: usize) -> Option<&[f64]> {
        (!self.dram[counter]).then_some(&self.events)
    }

    fn time(&self) -> &[f64] {
        &self.time
    }
}

#[test]
fn places_and_what_is_left_over_are_the_total() {
    let model = resolve(&technology("gtx480-40nm"), &gpu("gtx480"));
    let dram = model.counters().map(|name| name.starts_with("dram.")).collect();
    let shares = Made { dram, events: vec![0.5, 0.0, 0.25], time: vec![0.25, 0.125, 0.0] };
    let whole = evaluate(&model);
    let sum = Part { dynamic: whole.dynamic(), static_: whole.static_() };
    let counts = model.counts(&|name| Some(count(name)));
    assert_eq!(model.sum_counts(&counts, whole.time), sum);
    let divided = attribute(&model, &counts, sum, &shares);
    let places: f64 = divided.places.iter().map(|place| place.total().0).sum();
    assert!(near(places + divided.unattributed.total().0, whole.total().0));
    // Time that nobody used, and memory, which here belongs to nobody.
    assert!(near(divided.unattributed.static_.0, whole.static_().0 * 0.625));
    assert!(divided.unattributed.dynamic.0 > whole.dynamic().0 * 0.25);
    assert!(near(divided.places[0].static_.0, whole.static_().0 * 0.25));
    assert_eq!(divided.places[1].dynamic.0, 0.0);
    assert!(near(divided.places[0].dynamic.0, 2.0 * divided.places[2].dynamic.0));
}
