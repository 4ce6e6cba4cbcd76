// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bars over labels, in groups, each bar one value or a stack of several, with the mean of all labels at the right and the paper's mean marked on it.

use super::scale::Scale;
use super::svg::{Drawing, LETTER, Svg, WIDTH, legend, shorten};
use crate::figure::Series;

/// A part of a bar: a column of the figure, with its colour and its name in the legend.
#[derive(Clone, PartialEq, Debug)]
pub struct Segment {
    pub series: usize,
    pub class: String,
    pub name: String,
}

pub struct Bars<'a> {
    pub title: String,
    pub labels: &'a [String],
    pub series: &'a [Series],
    /// Bars of a group, from the left, each from below.
    pub stacks: Vec<Vec<Segment>>,
    /// Names of the bars, where a bar has several parts.
    pub names: Vec<String>,
    pub unit: String,
    pub means: bool,
}

const LEFT: f64 = 56.0;
const HEIGHT: f64 = 230.0;

impl Bars<'_> {
    fn value(&self, segment: &Segment, label: usize) -> Option<f64> {
        let series = &self.series[segment.series];
        let value = if label < self.labels.len() { *series.values.get(label)? } else { series.mean };
        value.filter(|value| value.is_finite())
    }

    fn groups(&self) -> usize {
        self.labels.len() + usize::from(self.means)
    }

    /// Ratios that are all near 1 are drawn from there.
    fn base(&self) -> f64 {
        let singles = self.stacks.iter().all(|stack| stack.len() == 1);
        if self.unit != "x" || !singles {
            return 0.0;
        }
        let places = (0..self.groups()).flat_map(|label| self.stacks.iter().map(move |stack| (label, stack)));
        let values: Vec<f64> = places
            .flat_map(|(label, stack)| stack.iter().filter_map(move |part| self.value(part, label)))
            .collect();
        let near = !values.is_empty() && values.iter().all(|value| (0.6..=1.4).contains(value));
        if near { 1.0 } else { 0.0 }
    }

    /// The least and the most that has to be seen.
    fn extent(&self, base: f64) -> (f64, f64) {
        let (mut low, mut high) = (base, base);
        let mut see = |value: f64| (low, high) = (low.min(value), high.max(value));
        for label in 0..self.groups() {
            for stack in &self.stacks {
                let (mut up, mut down) = (base, base);
                for part in stack {
                    if let Some(value) = self.value(part, label) {
                        let from = if value >= base { &mut up } else { &mut down };
                        *from += value - base;
                    }
                    let series = &self.series[part.series];
                    if let ([_], Some((least, most))) =
                        (&stack[..], series.spread.get(label).copied().flatten())
                    {
                        (up, down) = (up.max(most), down.min(least));
                    }
                    if let ([_], Some(paper), true) = (&stack[..], series.paper, self.means) {
                        (up, down) = (up.max(paper), down.min(paper));
                    }
                }
                see(up);
                see(down);
            }
        }
        (low, if high > low { high } else { low + 1.0 })
    }

    pub fn draw(&self) -> Drawing {
        let mut svg = Svg::default();
        let top = self.legend(&mut svg) + 14.0;
        let base = self.base();
        let (low, high) = self.extent(base);
        let bottom = top + HEIGHT;
        let y = Scale::linear(low, high, 5, bottom, top);
        svg.open("grid");
        for tick in &y.ticks {
            svg.line((LEFT, y.at(*tick)), (WIDTH, y.at(*tick)), "gridline");
            svg.text(LEFT - 6.0, y.at(*tick) + 4.0, "end", "tick", &y.label(*tick));
        }
        svg.text(0.0, top - 6.0, "start", "tick", &self.unit);
        svg.close();

        let groups = self.groups();
        // The mean is set apart.
        let apart = if self.means { 0.6 } else { 0.0 };
        let step = (WIDTH - LEFT - 8.0) / (groups as f64 + apart);
        let begin = |label: usize| {
            let gap = if label >= self.labels.len() { apart } else { 0.0 };
            LEFT + 4.0 + step * (label as f64 + gap)
        };
        let inner = step * if groups > 24 { 0.86 } else { 0.78 };
        let width = (inner / self.stacks.len() as f64).min(46.0);
        let margin = (step - width * self.stacks.len() as f64) / 2.0;
        self.marks(&mut svg, &y, base, |label, stack| begin(label) + margin + width * stack as f64, width);
        svg.line((LEFT, y.at(base)), (WIDTH, y.at(base)), "axis");
        if self.means {
            let x = begin(self.labels.len()) - step * apart / 2.0;
            svg.line((x, top), (x, bottom), "gridline");
        }
        let height = self.labels(&mut svg, bottom, step, begin);
        svg.finish(height, &format!("{}. The table below has its values.", self.title))
    }

    fn legend(&self, svg: &mut Svg) -> f64 {
        let mut entries = Vec::<(String, String)>::new();
        for part in self.stacks.iter().flatten() {
            if !entries.iter().any(|(class, name)| (class, name) == (&part.class, &part.name)) {
                entries.push((part.class.clone(), part.name.clone()));
            }
        }
        let marked =
            |stack: &Vec<Segment>| matches!(&stack[..], [part] if self.series[part.series].paper.is_some());
        if self.means && self.stacks.iter().any(marked) {
            entries.push(("paper".to_owned(), "the paper's value".to_owned()));
        }
        let mut height = legend(svg, LEFT, 0.0, &entries);
        if self.names.len() > 1 {
            let text = format!("bars of a group, from the left: {}", self.names.join(", "));
            svg.text(LEFT, height + 8.0, "start", "tick", &shorten(&text, 140));
            height += 16.0;
        }
        height
    }

    fn marks(&self, svg: &mut Svg, y: &Scale, base: f64, x: impl Fn(usize, usize) -> f64, width: f64) {
        let bar = (width - if width > 6.0 { 1.0 } else { 0.2 }).max(0.4);
        // By colour, so that each mark need not name it.
        let mut classes = Vec::<&str>::new();
        for part in self.stacks.iter().flatten() {
            if !classes.contains(&part.class.as_str()) {
                classes.push(&part.class);
            }
        }
        for class in classes {
            svg.open(&format!("marks {class}"));
            for label in 0..self.groups() {
                for (place, stack) in self.stacks.iter().enumerate() {
                    let (mut up, mut down) = (base, base);
                    for part in stack {
                        let Some(value) = self.value(part, label) else { continue };
                        let from = if value >= base { &mut up } else { &mut down };
                        let start = *from;
                        *from += value - base;
                        if part.class == class {
                            let (one, other) = (y.at(start), y.at(*from));
                            let i = format!("data-i=\"{},{label}\"", part.series);
                            svg.rect(x(label, place), one.min(other), bar, (one - other).abs(), &i);
                        }
                    }
                }
            }
            svg.close();
        }
        self.whiskers(svg, y, |label, stack| x(label, stack) + bar / 2.0, bar);
    }

    /// The spread over seeds, and the paper's value.
    fn whiskers(&self, svg: &mut Svg, y: &Scale, middle: impl Fn(usize, usize) -> f64, bar: f64) {
        svg.open("whiskers");
        for (place, stack) in self.stacks.iter().enumerate() {
            let [part] = &stack[..] else { continue };
            let series = &self.series[part.series];
            for label in 0..self.labels.len() {
                if let Some((least, most)) = series.spread.get(label).copied().flatten()
                    && (y.at(least) - y.at(most)).abs() > 1.0
                {
                    let x = middle(label, place);
                    svg.line((x, y.at(least)), (x, y.at(most)), "whisker");
                }
            }
        }
        svg.close();
        for (place, stack) in self.stacks.iter().enumerate().filter(|_| self.means) {
            let [part] = &stack[..] else { continue };
            if let Some(paper) = self.series[part.series].paper.filter(|paper| paper.is_finite()) {
                let x = middle(self.labels.len(), place);
                svg.line((x - bar / 2.0 - 2.0, y.at(paper)), (x + bar / 2.0 + 2.0, y.at(paper)), "paperline");
                svg.diamond(x, y.at(paper), &format!("data-i=\"{},{}\"", part.series, self.labels.len() + 1));
            }
        }
    }

    /// Names below the groups, slanted where they do not fit; gives where the drawing ends.
    fn labels(&self, svg: &mut Svg, bottom: f64, step: f64, begin: impl Fn(usize) -> f64) -> f64 {
        let mut names: Vec<String> = self.labels.iter().map(|name| shorten(name, 24)).collect();
        if self.means {
            names.push("mean".to_owned());
        }
        let longest = names.iter().map(|name| name.chars().count()).max().unwrap_or_default() as f64 * LETTER;
        let slanted = longest > step - 4.0;
        // Not all bank numbers are labelled.
        let every =
            if slanted && longest <= 3.0 * LETTER { (longest / step).ceil().max(1.0) as usize } else { 1 };
        let slanted = slanted && every == 1;
        for (label, name) in names.iter().enumerate() {
            let x = begin(label) + step / 2.0;
            match slanted {
                true => svg.slanted(x + 4.0, bottom + 14.0, name),
                false if label % every == 0 => svg.text(x, bottom + 16.0, "middle", "tick", name),
                false => {}
            }
        }
        bottom + if slanted { 24.0 + longest * 0.75 } else { 24.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(values: &[Option<f64>], mean: f64, paper: Option<f64>) -> Series {
        Series {
            name: "s<1>".into(),
            unit: "%".into(),
            values: values.to_vec(),
            mean: Some(mean),
            paper,
            ..Series::default()
        }
    }

    fn bars<'a>(labels: &'a [String], series: &'a [Series], unit: &str) -> Bars<'a> {
        let stacks = (0..series.len()).map(|place| {
            vec![Segment { series: place, class: format!("c{place}"), name: series[place].name.clone() }]
        });
        Bars {
            title: "t".into(),
            labels,
            series,
            stacks: stacks.collect(),
            names: Vec::new(),
            unit: unit.into(),
            means: true,
        }
    }

    #[test]
    fn every_value_is_a_mark_and_nothing_is_none() {
        let labels = ["a".to_owned(), "b&c".to_owned(), "d".to_owned()];
        let all = [series(&[Some(1.0), None, Some(-3.0)], -1.0, Some(2.0))];
        let svg = bars(&labels, &all, "%").draw().inline();
        for i in ["0,0", "0,2", "0,3", "0,4"] {
            assert!(svg.contains(&format!("data-i=\"{i}\"")), "{i} in {svg}");
        }
        assert!(!svg.contains("data-i=\"0,1\"") && svg.contains("b&amp;c") && svg.contains("s&lt;1&gt;"));
        assert_eq!(svg.matches("class=\"paper\"").count(), 2, "in the legend and on the mean");
    }

    #[test]
    fn ratios_near_one_are_drawn_from_one() {
        let labels = ["a".to_owned()];
        let near = [series(&[Some(0.98)], 0.98, None)];
        let far = [series(&[Some(2.98)], 2.98, None)];
        assert_eq!(bars(&labels, &near, "x").base(), 1.0);
        assert_eq!(bars(&labels, &far, "x").base(), 0.0);
        assert_eq!(bars(&labels, &near, "%").base(), 0.0);
    }

    #[test]
    fn a_chart_of_nothing_is_drawn() {
        let svg = bars(&[], &[], "x").draw().inline();
        assert!(svg.contains("<svg") && !svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }
}
