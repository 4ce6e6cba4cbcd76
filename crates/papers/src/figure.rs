// SPDX-License-Identifier: MIT OR Apache-2.0
//! Figures as data: named series with a value for each workload, or for each place of another axis, and their means.

use serde_json::{Map, Value, json};

use crate::claim::Claim;
use crate::measure::Column;
use crate::number::{FIGURE, rounded};

/// Name and version of a figure file's layout.
const FIGURE_SCHEMA: &str = "warpwatt.figure/1";

/// One figure, or a table of ours beside them.
#[derive(Clone, PartialEq, Debug)]
pub struct Figure {
    /// The name of its file.
    pub name: &'static str,
    /// Where it is in the paper; nothing for one of ours.
    pub place: Option<&'static str>,
    pub title: &'static str,
    /// What values are given for: `workload`, `bank`.
    pub axis: &'static str,
    pub labels: Vec<String>,
    pub series: Vec<Series>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Series {
    pub name: String,
    pub unit: &'static str,
    /// By label; the mean of all seeds that have it.
    pub values: Column,
    /// The least and the most of any seed, by label.
    pub spread: Vec<Option<(f64, f64)>>,
    /// The claim about its mean.
    pub claim: Option<&'static str>,
    /// Values are ratios, whose harmonic mean is worth knowing.
    pub ratio: bool,
}

impl Series {
    pub fn new(name: impl Into<String>, unit: &'static str, values: Column) -> Series {
        Series { name: name.into(), unit, values, spread: Vec::new(), claim: None, ratio: false }
    }

    /// The paper has a mean for it.
    pub fn claimed(self, claim: &'static str) -> Series {
        Series { claim: Some(claim), ..self }
    }

    pub fn ratio(self) -> Series {
        Series { ratio: true, ..self }
    }

    /// The series of all seeds as one.
    fn together(seeds: &[&Series]) -> Option<Series> {
        let first = *seeds.first()?;
        let at = |place: usize| -> Vec<f64> {
            seeds.iter().filter_map(|series| *series.values.0.get(place)?).collect()
        };
        let places = 0..first.values.0.len();
        let mean = |values: Vec<f64>| {
            let count = values.len();
            (count > 0).then(|| values.into_iter().sum::<f64>() / count as f64)
        };
        let spread = |values: Vec<f64>| {
            let low = values.iter().copied().reduce(f64::min)?;
            let high = values.iter().copied().reduce(f64::max)?;
            (values.len() > 1).then_some((low, high))
        };
        Some(Series {
            values: Column(places.clone().map(|place| mean(at(place))).collect()),
            spread: places.map(|place| spread(at(place))).collect(),
            ..first.clone()
        })
    }
}

impl Figure {
    /// A figure by workload.
    pub fn new(
        name: &'static str,
        place: &'static str,
        title: &'static str,
        workloads: &[String],
        series: Vec<Series>,
    ) -> Figure {
        let place = (!place.is_empty()).then_some(place);
        Figure { name, place, title, axis: "workload", labels: workloads.to_vec(), series }
    }

    /// The figures of all seeds, each as one with means over seeds. All seeds have the same figures and series.
    pub fn together(seeds: &[Vec<Figure>]) -> Vec<Figure> {
        let Some(first) = seeds.first() else { return Vec::new() };
        let one = |(place, figure): (usize, &Figure)| {
            let series = (0..figure.series.len()).filter_map(|number| {
                let of_seeds: Vec<_> =
                    seeds.iter().filter_map(|figures| figures.get(place)?.series.get(number)).collect();
                Series::together(&of_seeds)
            });
            Figure { series: series.collect(), ..figure.clone() }
        };
        first.iter().enumerate().map(one).collect()
    }

    /// The document of the figure's file; `claims` give what the paper has.
    pub fn document(&self, paper: &str, claims: &[Claim]) -> Value {
        let number = |value: Option<f64>| value.map(|value| rounded(value, FIGURE));
        let series = self.series.iter().map(|series| {
            let values: Map<String, Value> = self
                .labels
                .iter()
                .zip(&series.values.0)
                .map(|(label, value)| (label.clone(), json!(number(*value))))
                .collect();
            let mut fields = Map::new();
            fields.insert("name".to_owned(), series.name.as_str().into());
            fields.insert("unit".to_owned(), series.unit.into());
            fields.insert("values".to_owned(), values.into());
            let spread: Map<String, Value> = self
                .labels
                .iter()
                .zip(&series.spread)
                .filter_map(|(label, spread)| {
                    let (low, high) = (*spread)?;
                    Some((label.clone(), json!([rounded(low, FIGURE), rounded(high, FIGURE)])))
                })
                .collect();
            if !spread.is_empty() {
                fields.insert("spread".to_owned(), spread.into());
            }
            fields.insert("mean".to_owned(), json!(number(series.values.mean())));
            if series.ratio {
                fields.insert("harmonic_mean".to_owned(), json!(number(series.values.harmonic_mean())));
                fields.insert("geometric_mean".to_owned(), json!(number(series.values.geometric_mean())));
            }
            if let Some(claim) = claims.iter().find(|claim| Some(claim.id.as_str()) == series.claim) {
                fields.insert("claim".to_owned(), claim.id.as_str().into());
                fields.insert("paper".to_owned(), json!(claim.value));
            }
            Value::Object(fields)
        });
        let mut fields = Map::new();
        fields.insert("schema".to_owned(), FIGURE_SCHEMA.into());
        fields.insert("paper".to_owned(), paper.into());
        if let Some(place) = self.place {
            fields.insert("figure".to_owned(), place.into());
        }
        fields.insert("title".to_owned(), self.title.into());
        fields.insert("axis".to_owned(), self.axis.into());
        fields.insert("series".to_owned(), series.collect::<Vec<_>>().into());
        Value::Object(fields)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_has_values_means_and_what_the_paper_says() {
        let labels = ["a".to_owned(), "b".to_owned()];
        let values = Column(vec![Some(1.0), Some(4.0)]);
        let series = vec![
            Series::new("ratio", "x", values.clone()).ratio().claimed("wc.ratio_nondivergent"),
            Series::new("plain", "%", Column(vec![None, Some(1.0 / 3.0)])),
        ];
        let figure = Figure::new("fig08", "Figure 8", "ratios", &labels, series);
        let document = figure.document("p", &crate::claims().expect("claims"));
        assert_eq!(document["figure"], "Figure 8");
        let ratio = &document["series"][0];
        assert_eq!(ratio["values"], json!({ "a": 1.0, "b": 4.0 }));
        assert_eq!((&ratio["mean"], &ratio["harmonic_mean"]), (&json!(2.5), &json!(1.6)));
        assert_eq!((&ratio["claim"], &ratio["paper"]), (&json!("wc.ratio_nondivergent"), &json!(2.5)));
        let plain = &document["series"][1];
        assert_eq!(plain["values"], json!({ "a": null, "b": 0.333333 }));
        assert!(plain.get("spread").is_none(), "there is one seed");
        assert!(plain.get("paper").is_none() && plain.get("harmonic_mean").is_none());
    }

    #[test]
    fn seeds_become_means_with_a_spread() {
        let labels = ["a".to_owned(), "b".to_owned()];
        let seed = |one: Option<f64>, other: Option<f64>| {
            vec![Figure::new("f", "", "t", &labels, vec![Series::new("s", "%", Column(vec![one, other]))])]
        };
        let figures =
            Figure::together(&[seed(Some(1.0), Some(5.0)), seed(Some(3.0), None), seed(Some(2.0), None)]);
        let series = &figures[0].series[0];
        assert_eq!(series.values, Column(vec![Some(2.0), Some(5.0)]));
        assert_eq!(series.spread, [Some((1.0, 3.0)), None], "one seed has no spread");
        let document = figures[0].document("p", &[]);
        assert_eq!(document["series"][0]["spread"], json!({ "a": [1.0, 3.0] }));
    }
}
