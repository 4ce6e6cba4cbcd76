// SPDX-License-Identifier: MIT OR Apache-2.0
//! Points in a plane with lines through it: rooflines, and energy against time.

use super::scale::Scale;
use super::svg::{Drawing, LETTER, Svg, legend, shorten};

pub struct Point {
    pub x: f64,
    pub y: f64,
    pub class: String,
    pub label: String,
    /// Its row of the table behind the chart.
    pub row: usize,
}

pub struct Line {
    pub class: String,
    pub points: Vec<(f64, f64)>,
}

pub struct Scatter {
    pub title: String,
    pub legend: Vec<(String, String)>,
    pub points: Vec<Point>,
    pub lines: Vec<Line>,
    pub x: String,
    pub y: String,
    pub logarithmic: bool,
    pub width: f64,
    pub height: f64,
}

const LEFT: f64 = 64.0;
/// Room for half of the last label of the lower axis.
const RIGHT: f64 = 22.0;

impl Scatter {
    pub fn draw(&self) -> Drawing {
        let mut svg = Svg::default();
        let top = if self.legend.is_empty() { 0.0 } else { legend(&mut svg, LEFT, 0.0, &self.legend) } + 24.0;
        let bottom = top + self.height;
        let sound = |value: &f64| value.is_finite() && (!self.logarithmic || *value > 0.0);
        let all = || {
            self.points
                .iter()
                .map(|point| (point.x, point.y))
                .chain(self.lines.iter().flat_map(|line| line.points.iter().copied()))
        };
        let extent = |values: Vec<f64>| {
            let values = values.into_iter().filter(sound);
            values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
                (low.min(value), high.max(value))
            })
        };
        let (xs, ys) = (extent(all().map(|at| at.0).collect()), extent(all().map(|at| at.1).collect()));
        let scale = |(low, high): (f64, f64), from, to| match self.logarithmic {
            true => Scale::logarithmic(low, high, from, to),
            false => Scale::linear(low, high, 6, from, to),
        };
        let (x, y) = (scale(xs, LEFT, self.width - RIGHT), scale(ys, bottom, top));
        svg.open("grid");
        for tick in &y.ticks {
            svg.line((LEFT, y.at(*tick)), (self.width - RIGHT, y.at(*tick)), "gridline");
            svg.text(LEFT - 6.0, y.at(*tick) + 4.0, "end", "tick", &y.label(*tick));
        }
        let every = x.ticks.len().div_ceil((self.width / 70.0) as usize).max(1);
        for tick in x.ticks.iter().step_by(every) {
            svg.line((x.at(*tick), top), (x.at(*tick), bottom), "gridline");
            svg.text(x.at(*tick), bottom + 17.0, "middle", "tick", &x.label(*tick));
        }
        svg.text(0.0, top - 12.0, "start", "tick", &self.y);
        svg.text(self.width - RIGHT, bottom + 34.0, "end", "tick", &self.x);
        svg.close();
        svg.line((LEFT, bottom), (self.width - RIGHT, bottom), "axis");
        svg.line((LEFT, top), (LEFT, bottom), "axis");
        for line in &self.lines {
            let points: Vec<_> = line.points.iter().filter(|at| sound(&at.0) && sound(&at.1)).collect();
            let points: Vec<_> = points.into_iter().map(|at| (x.at(at.0), y.at(at.1))).collect();
            if points.len() > 1 {
                svg.path(&points, &line.class, false);
            }
        }
        svg.open("marks");
        let mut taken = Vec::<(f64, f64, f64)>::new();
        for point in self.points.iter().filter(|point| sound(&point.x) && sound(&point.y)) {
            let (px, py) = (x.at(point.x), y.at(point.y));
            svg.circle(px, py, 5.0, &format!("class=\"{}\" data-i=\"*,{}\"", point.class, point.row));
            let text = shorten(&point.label, 40);
            let width = text.chars().count() as f64 * LETTER;
            // A name that would cover another is left to the table.
            let at = if px + 10.0 + width < self.width { px + 9.0 } else { px - 9.0 - width };
            let free = taken
                .iter()
                .all(|(left, right, line)| at > *right || at + width < *left || (line - py).abs() > 11.0);
            if free && !text.is_empty() {
                taken.push((at, at + width, py));
                svg.text(at, py + 4.0, "start", "label", &text);
            }
        }
        svg.close();
        svg.wide(self.width, bottom + 40.0, &self.title)
    }
}
