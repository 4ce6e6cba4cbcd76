// SPDX-License-Identifier: MIT OR Apache-2.0
//! Attribution of energy to instructions. Dynamic energy follows the events: each counter has a share for every place in the program.
//! Static energy follows the issue slots in which a place issued or stalled. The rest is not attributed.

use crate::resolve::Model;
use crate::units::Joules;

/// Shares of places in what is to be divided. Shares of one kind add up to at most 1.
pub trait Shares {
    /// Places in the program.
    fn places(&self) -> usize;
    /// Shares of the events of a counter, by its place among the model's; `None` if they belong to no place.
    fn events(&self, counter: usize) -> Option<&[f64]>;
    /// Shares of time.
    fn time(&self) -> &[f64];
}

/// Energy of one place.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Part {
    pub dynamic: Joules,
    pub static_: Joules,
}

impl Part {
    pub fn total(&self) -> Joules {
        self.dynamic + self.static_
    }
}

/// Energy by place. With `unattributed` it is all there is.
#[derive(Clone, PartialEq, Debug)]
pub struct Attribution {
    pub places: Vec<Part>,
    pub unattributed: Part,
}

/// Divides the energy of a kernel, of which `whole` is all, among the places of its program.
pub fn attribute(model: &Model, counts: &[f64], whole: Part, shares: &dyn Shares) -> Attribution {
    // By itself, so that places are added to side by side.
    let mut dynamic = vec![0.0; shares.places()];
    let energies = model.dynamic_by_counter(counts).into_iter().enumerate();
    for (counter, Joules(energy)) in energies.filter(|(_, energy)| energy.0 != 0.0) {
        for (sum, share) in dynamic.iter_mut().zip(shares.events(counter).unwrap_or_default()) {
            *sum += energy * share;
        }
    }
    let mut places: Vec<_> =
        dynamic.into_iter().map(|dynamic| Part { dynamic: Joules(dynamic), ..Part::default() }).collect();
    for (place, share) in places.iter_mut().zip(shares.time()) {
        place.static_ = whole.static_ * *share;
    }
    let dynamic: Joules = places.iter().map(|place| place.dynamic).sum();
    let attributed: Joules = places.iter().map(|place| place.static_).sum();
    let unattributed = Part { dynamic: whole.dynamic - dynamic, static_: whole.static_ - attributed };
    Attribution { places, unattributed }
}
