// SPDX-License-Identifier: MIT OR Apache-2.0
//! Axes: round ticks, linear and logarithmic scales.

use crate::number::digits;

/// From values to places of the drawing.
#[derive(Clone, Debug)]
pub struct Scale {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
    logarithmic: bool,
    pub ticks: Vec<f64>,
}

impl Scale {
    /// Covers all of the values with round ends, about `count` ticks.
    pub fn linear(low: f64, high: f64, count: usize, from: f64, to: f64) -> Scale {
        let (low, high) = if low.is_finite() && high.is_finite() { (low, high) } else { (0.0, 1.0) };
        let span = if high > low { high - low } else { low.abs().max(1.0) };
        let rough = span / count as f64;
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 2.5, 5.0, 10.0].map(|step| step * power);
        let step = step.into_iter().find(|step| *step >= rough * 0.999).unwrap_or(power * 10.0);
        let (first, last) = ((low / step + 1e-6).floor(), ((low + span) / step - 1e-6).ceil());
        let ticks: Vec<f64> =
            (0..=(last - first) as usize).map(|place| (first + place as f64) * step).collect();
        Scale { low: first * step, high: last * step, from, to, logarithmic: false, ticks }
    }

    /// Whole powers of ten around the values, which must be above 0.
    pub fn logarithmic(low: f64, high: f64, from: f64, to: f64) -> Scale {
        let sound = low.is_finite() && high.is_finite() && low > 0.0 && high >= low;
        let (low, high) = if sound { (low, high) } else { (1.0, 10.0) };
        let first = low.log10().floor() as i32;
        let last = (high.log10().ceil() as i32).max(first + 1);
        let ticks = (first..=last).map(|power| 10f64.powi(power)).collect();
        Scale { low: 10f64.powi(first), high: 10f64.powi(last), from, to, logarithmic: true, ticks }
    }

    pub fn at(&self, value: f64) -> f64 {
        let share = match self.logarithmic {
            true => (value.max(f64::MIN_POSITIVE) / self.low).log10() / (self.high / self.low).log10(),
            false => (value - self.low) / (self.high - self.low),
        };
        self.from + share * (self.to - self.from)
    }

    pub fn label(&self, tick: f64) -> String {
        match self.logarithmic && !(0.01..10000.0).contains(&tick) {
            true => format!("1e{}", tick.log10().round()),
            false => digits(tick, 4),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_cover_the_values() {
        for (low, high) in
            [(0.0, 97.3), (0.0, 1.0), (-5.5, 20.0), (0.981, 1.003), (0.0, 0.0), (3.0, 3.0), (f64::NAN, 1.0)]
        {
            let scale = Scale::linear(low, high, 5, 100.0, 0.0);
            assert!((2..=9).contains(&scale.ticks.len()), "{:?}", scale.ticks);
            if low.is_finite() {
                assert!(scale.low <= low + 1e-6 && scale.high >= high - 1e-6, "{scale:?}");
            }
        }
        assert_eq!(Scale::linear(0.0, 97.3, 5, 0.0, 1.0).ticks, [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        let scale = Scale::linear(0.0, 100.0, 5, 100.0, 0.0);
        assert_eq!((scale.at(0.0), scale.at(100.0)), (100.0, 0.0));
    }

    #[test]
    fn powers_of_ten_surround_the_values() {
        let scale = Scale::logarithmic(0.3, 45.0, 0.0, 30.0);
        assert_eq!(scale.ticks, [0.1, 1.0, 10.0, 100.0]);
        assert!((scale.at(1.0) - 10.0).abs() < 1e-9);
        assert_eq!(Scale::logarithmic(0.0, -1.0, 0.0, 1.0).ticks, [1.0, 10.0]);
    }
}
