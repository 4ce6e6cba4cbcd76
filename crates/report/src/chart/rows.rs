// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bars from left to right, a row each, of one part or several: breakdowns of energy and of issue slots, two runs beside each other.

use super::scale::Scale;
use super::svg::{Drawing, LETTER, Svg, WIDTH, legend, shorten};

/// A row: its name, and its parts with their colour.
pub struct Row {
    pub name: String,
    pub parts: Vec<(String, f64)>,
    /// The text at its end.
    pub text: String,
}

pub struct Rows {
    pub title: String,
    /// Colour and name.
    pub legend: Vec<(String, String)>,
    pub rows: Vec<Row>,
    /// Where the scale ends; the greatest row by default.
    pub most: Option<f64>,
}

const STEP: f64 = 22.0;

impl Rows {
    pub fn draw(&self) -> Drawing {
        let mut svg = Svg::default();
        let longest =
            |of: &dyn Fn(&Row) -> usize| self.rows.iter().map(of).max().unwrap_or_default() as f64 * LETTER;
        let left = longest(&|row| row.name.chars().count().min(34)).min(220.0) + 14.0;
        let right = longest(&|row| row.text.chars().count()) + 12.0;
        let top = if self.legend.is_empty() { 4.0 } else { legend(&mut svg, left, 0.0, &self.legend) + 4.0 };
        let sum =
            |row: &Row| row.parts.iter().map(|part| part.1).filter(|part| part.is_finite()).sum::<f64>();
        let most = self.most.unwrap_or_else(|| self.rows.iter().map(sum).fold(0.0, f64::max));
        let x = Scale::linear(0.0, if most > 0.0 { most } else { 1.0 }, 5, left, WIDTH - right);
        let scale = (WIDTH - right - left) / if most > 0.0 { most } else { 1.0 };
        for (place, row) in self.rows.iter().enumerate() {
            let y = top + STEP * place as f64;
            svg.text(left - 8.0, y + 14.0, "end", "label", &shorten(&row.name, 34));
            let mut end = x.at(0.0);
            svg.open("marks");
            for (part, (class, value)) in row.parts.iter().enumerate() {
                let width = if value.is_finite() { value.max(0.0) * scale } else { 0.0 };
                svg.rect(
                    end,
                    y + 3.0,
                    width,
                    STEP - 7.0,
                    &format!("class=\"{class}\" data-i=\"{part},{place}\""),
                );
                end += width;
            }
            svg.close();
            svg.text(end + 6.0, y + 14.0, "start", "tick", &row.text);
        }
        svg.line((left, top), (left, top + STEP * self.rows.len() as f64), "axis");
        svg.finish(top + STEP * self.rows.len() as f64 + 4.0, &self.title)
    }
}
