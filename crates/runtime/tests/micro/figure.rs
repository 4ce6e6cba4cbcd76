// SPDX-License-Identifier: MIT OR Apache-2.0
//! A measured figure beside the answer that is known for it.

/// What a micro-benchmark gives.
#[derive(Clone, Debug)]
pub struct Figure {
    pub what: String,
    /// How the known answer follows from parameters, or where it was published.
    pub from: String,
    pub known: f64,
    pub measured: f64,
    pub unit: &'static str,
    /// Part of the known answer by which the measured one may miss it.
    pub tolerance: f64,
    /// What the card itself was found to do, if anybody has published it.
    pub silicon: &'static str,
}

impl Figure {
    pub fn new(
        what: impl Into<String>,
        known: f64,
        measured: f64,
        unit: &'static str,
        tolerance: f64,
    ) -> Figure {
        Figure { what: what.into(), from: String::new(), known, measured, unit, tolerance, silicon: "" }
    }

    pub fn from(self, from: impl Into<String>) -> Figure {
        Figure { from: from.into(), ..self }
    }

    pub fn silicon(self, silicon: &'static str) -> Figure {
        Figure { silicon, ..self }
    }

    /// By how much the known answer is missed, as a part of it.
    pub fn error(&self) -> f64 {
        (self.measured - self.known) / self.known
    }
}

/// Fails with all figures that miss their known answer.
pub fn all_hold(figures: &[Figure]) {
    assert!(!figures.is_empty());
    let wrong: Vec<_> = figures
        .iter()
        .filter(|figure| figure.error().abs() > figure.tolerance + 1e-9)
        .map(|figure| {
            format!(
                "{}: {:.3} {} instead of {:.3} ({:+.1} %, allowed are {:.1} %); {}",
                figure.what,
                figure.measured,
                figure.unit,
                figure.known,
                100.0 * figure.error(),
                100.0 * figure.tolerance,
                figure.from
            )
        })
        .collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}
