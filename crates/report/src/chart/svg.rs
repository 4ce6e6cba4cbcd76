// SPDX-License-Identifier: MIT OR Apache-2.0
//! Elements of a drawing. Colours are classes: those of the page follow its theme, those of a file are written into it.

use std::fmt::Write;

use crate::html::escape;

/// Width of all charts, in units of the drawing.
pub const WIDTH: f64 = 960.0;
/// Width of a letter of the font of labels, about.
pub const LETTER: f64 = 6.1;

/// Colours of a stand-alone drawing, for print: the light theme of the page.
const ALONE: &str = include_str!("../../assets/chart.css");

#[derive(Default)]
pub struct Svg {
    body: String,
}

/// With at most two decimals.
pub fn at(value: f64) -> String {
    let text = format!("{:.2}", if value.is_finite() { value } else { 0.0 });
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

impl Svg {
    pub fn open(&mut self, class: &str) {
        let _ = write!(self.body, "<g class=\"{class}\">");
    }

    pub fn close(&mut self) {
        self.body.push_str("</g>\n");
    }

    pub fn rect(&mut self, x: f64, y: f64, width: f64, height: f64, attributes: &str) {
        let space = if attributes.is_empty() { "" } else { " " };
        let _ = write!(
            self.body,
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"{space}{attributes}/>",
            at(x),
            at(y),
            at(width.max(0.0)),
            at(height.max(0.0))
        );
    }

    pub fn line(&mut self, from: (f64, f64), to: (f64, f64), class: &str) {
        let _ = write!(
            self.body,
            "<line class=\"{class}\" x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"/>",
            at(from.0),
            at(from.1),
            at(to.0),
            at(to.1)
        );
    }

    /// `anchor` is start, middle or end.
    pub fn text(&mut self, x: f64, y: f64, anchor: &str, class: &str, text: &str) {
        let _ = write!(
            self.body,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"{anchor}\" class=\"{class}\">{}</text>",
            at(x),
            at(y),
            escape(text)
        );
    }

    /// Ends at a place, from below left.
    pub fn slanted(&mut self, x: f64, y: f64, text: &str) {
        let _ = write!(
            self.body,
            "<text transform=\"translate({} {}) rotate(-40)\" text-anchor=\"end\" class=\"tick\">{}</text>",
            at(x),
            at(y),
            escape(text)
        );
    }

    pub fn path(&mut self, points: &[(f64, f64)], class: &str, closed: bool) {
        let mut d = String::new();
        for (place, (x, y)) in points.iter().enumerate() {
            let _ = write!(d, "{}{} {}", if place == 0 { "M" } else { "L" }, at(*x), at(*y));
        }
        if closed {
            d.push('Z');
        }
        let _ = write!(self.body, "<path class=\"{class}\" d=\"{d}\"/>");
    }

    /// The mark of a paper's value: a diamond with a line across the bar.
    pub fn diamond(&mut self, x: f64, y: f64, attributes: &str) {
        let _ = write!(
            self.body,
            "<path class=\"paper\" d=\"M{} {}l5 -5l5 5l-5 5Z\" {attributes}/>",
            at(x - 5.0),
            at(y)
        );
    }

    pub fn circle(&mut self, x: f64, y: f64, radius: f64, attributes: &str) {
        let _ = write!(
            self.body,
            "<circle cx=\"{}\" cy=\"{}\" r=\"{}\" {attributes}/>",
            at(x),
            at(y),
            at(radius)
        );
    }

    pub fn finish(self, height: f64, label: &str) -> Drawing {
        self.wide(WIDTH, height, label)
    }

    /// Of another width than most.
    pub fn wide(self, width: f64, height: f64, label: &str) -> Drawing {
        Drawing { body: self.body, width, height, label: label.to_owned() }
    }
}

/// A drawing that is done.
pub struct Drawing {
    body: String,
    width: f64,
    height: f64,
    label: String,
}

impl Drawing {
    /// As a part of a page. Arrow keys go through its marks.
    pub fn inline(&self) -> String {
        format!(
            "<svg class=chart viewBox=\"0 0 {} {}\" role=img tabindex=0 aria-label=\"{}\">{}</svg>",
            at(self.width),
            at(self.height),
            escape(&self.label),
            self.body
        )
    }

    /// As a file of its own.
    pub fn file(&self) -> String {
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
             width=\"{width}\" height=\"{height}\" font-family=\"Helvetica, Arial, sans-serif\"><title>{}</title><style>{ALONE}</style>\
             <rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>{}</svg>\n",
            escape(&self.label),
            self.body,
            width = at(self.width),
            height = at(self.height),
        )
    }
}

/// A legend in rows, from the left; gives the height that it takes.
pub fn legend(svg: &mut Svg, left: f64, top: f64, entries: &[(String, String)]) -> f64 {
    let (mut x, mut y) = (left, top + 10.0);
    for (class, name) in entries {
        let name = shorten(name, 60);
        let width = 28.0 + name.chars().count() as f64 * LETTER;
        if x + width > WIDTH && x > left {
            (x, y) = (left, y + 17.0);
        }
        match class.as_str() {
            "paper" => svg.diamond(x + 6.0, y - 4.0, ""),
            class => svg.rect(x, y - 9.0, 11.0, 11.0, &format!("class=\"{class}\"")),
        }
        svg.text(x + 16.0, y, "start", "label", &name);
        x += width + 8.0;
    }
    y - top + 8.0
}

/// A text of at most so many letters.
pub fn shorten(text: &str, most: usize) -> String {
    match text.chars().count() > most {
        true => text.chars().take(most.saturating_sub(1)).chain(['…']).collect(),
        false => text.to_owned(),
    }
}
