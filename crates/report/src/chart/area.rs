// SPDX-License-Identifier: MIT OR Apache-2.0
//! Areas over time, stacked: power by component. Each interval is a step, since its value is a mean over the interval; time without
//! intervals is left empty.

use super::class;
use super::scale::Scale;
use super::svg::{Drawing, Svg, WIDTH, legend};

pub struct Area<'a> {
    pub title: String,
    /// Starts and ends of the intervals.
    pub spans: &'a [(f64, f64)],
    /// Name and value in each interval, from below.
    pub layers: &'a [(String, Vec<f64>)],
    pub unit: String,
    pub axis: String,
}

const LEFT: f64 = 56.0;
const HEIGHT: f64 = 220.0;

impl Area<'_> {
    pub fn draw(&self) -> Drawing {
        let mut svg = Svg::default();
        let entries: Vec<_> = (0..self.layers.len())
            .map(|place| (class(place, self.layers.len(), false), self.layers[place].0.clone()))
            .collect();
        let top = legend(&mut svg, LEFT, 0.0, &entries) + 14.0;
        let bottom = top + HEIGHT;
        let of = |layer: &(String, Vec<f64>), place: usize| {
            layer.1.get(place).copied().filter(|value| value.is_finite() && *value > 0.0).unwrap_or_default()
        };
        let sum = |place: usize| self.layers.iter().map(|layer| of(layer, place)).sum::<f64>();
        let most = (0..self.spans.len()).map(sum).fold(0.0, f64::max);
        let y = Scale::linear(0.0, if most > 0.0 { most } else { 1.0 }, 5, bottom, top);
        let low = self.spans.first().map_or(0.0, |span| span.0);
        let high = self.spans.last().map_or(1.0, |span| span.1);
        let x = Scale::linear(low, high, 8, LEFT, WIDTH - 8.0);
        // Time ends where the data end, not at the next tick.
        let span = if high > low { high - low } else { 1.0 };
        let at = |time: f64| LEFT + (time - low) / span * (WIDTH - 8.0 - LEFT);
        svg.open("grid");
        for tick in &y.ticks {
            svg.line((LEFT, y.at(*tick)), (WIDTH - 8.0, y.at(*tick)), "gridline");
            svg.text(LEFT - 6.0, y.at(*tick) + 4.0, "end", "tick", &y.label(*tick));
        }
        for tick in x.ticks.iter().filter(|tick| (low..=high).contains(*tick)) {
            svg.line((at(*tick), bottom), (at(*tick), bottom + 4.0), "axis");
            svg.text(at(*tick), bottom + 17.0, "middle", "tick", &x.label(*tick));
        }
        svg.text(0.0, top - 6.0, "start", "tick", &self.unit);
        svg.text(WIDTH - 8.0, bottom + 33.0, "end", "tick", &self.axis);
        svg.close();
        let mut below = vec![0.0; self.spans.len()];
        let mut intervals: Vec<_> = self.spans.iter().enumerate().collect();
        intervals.retain(|(_, (start, end))| end > start);
        for (place, layer) in self.layers.iter().enumerate() {
            let class = format!("area {}", class(place, self.layers.len(), false));
            // Between launches nothing is known: each run of intervals is an area of its own.
            for run in intervals.chunk_by(|(_, (_, end)), (_, (start, _))| start <= end) {
                let mut upper = Vec::with_capacity(4 * run.len());
                let mut lower = Vec::with_capacity(2 * run.len());
                for (interval, (start, end)) in run {
                    let (from, to) = (below[*interval], below[*interval] + of(layer, *interval));
                    upper.extend([(at(*start), y.at(to)), (at(*end), y.at(to))]);
                    lower.extend([(at(*start), y.at(from)), (at(*end), y.at(from))]);
                    below[*interval] = to;
                }
                upper.extend(lower.into_iter().rev());
                svg.path(&upper, &class, true);
            }
        }
        svg.open("marks hit");
        for (interval, (start, end)) in self.spans.iter().enumerate() {
            svg.rect(at(*start), top, at(*end) - at(*start), HEIGHT, &format!("data-i=\"*,{interval}\""));
        }
        svg.close();
        svg.line((LEFT, bottom), (WIDTH - 8.0, bottom), "axis");
        svg.finish(bottom + 38.0, &self.title)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_without_intervals_is_left_empty() {
        let areas = |spans: &[(f64, f64)]| {
            let layers = [("a".to_owned(), vec![1.0; spans.len()]), ("b".to_owned(), vec![2.0; spans.len()])];
            let (title, unit, axis) = ("t".to_owned(), "W".to_owned(), "cycle".to_owned());
            Area { title, spans, layers: &layers, unit, axis }
                .draw()
                .inline()
                .matches("class=\"area ")
                .count()
        };
        assert_eq!(areas(&[(0.0, 10.0), (10.0, 20.0)]), 2, "one for each layer");
        assert_eq!(
            areas(&[(0.0, 10.0), (10.0, 20.0), (50.0, 60.0)]),
            4,
            "and one for each on either side of the gap"
        );
        assert_eq!(areas(&[(0.0, 10.0), (10.0, 10.0)]), 2, "an interval without time has no area");
    }
}
