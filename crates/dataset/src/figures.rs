// SPDX-License-Identifier: MIT OR Apache-2.0
//! The long table of figures: a row for each value of each series.

use serde_json::Value;

use crate::table::{Column, Table};

/// A value of a series.
struct Row<'a> {
    document: &'a Value,
    figure: &'a str,
    series: &'a Value,
    label: &'a str,
    value: Option<f64>,
}

/// The table `series`, from figures by name and document (`warpwatt.figure/1`).
pub fn figures(figures: &[(&str, &Value)]) -> Table {
    let mut rows = Vec::new();
    for (name, document) in figures {
        for series in document["series"].as_array().into_iter().flatten() {
            for (label, value) in series["values"].as_object().into_iter().flatten() {
                rows.push(Row { document, figure: name, series, label, value: value.as_f64() });
            }
        }
    }
    let text = |name: &str, of: fn(&Row) -> Option<String>| Column::text(name, rows.iter().map(of));
    let real = |name: &str, of: fn(&Row) -> Option<f64>| Column::real(name, rows.iter().map(of));
    let columns = vec![
        text("experiment", |row| row.document["paper"].as_str().map(str::to_owned)),
        text("figure", |row| Some(row.figure.to_owned())),
        text("place", |row| row.document["figure"].as_str().map(str::to_owned)),
        text("title", |row| row.document["title"].as_str().map(str::to_owned)),
        text("series", |row| row.series["name"].as_str().map(str::to_owned)),
        text("unit", |row| row.series["unit"].as_str().map(str::to_owned)),
        text("axis", |row| row.document["axis"].as_str().map(str::to_owned)),
        text("label", |row| Some(row.label.to_owned())),
        real("value", |row| row.value),
        real("low", |row| row.series["spread"][row.label][0].as_f64()),
        real("high", |row| row.series["spread"][row.label][1].as_f64()),
        text("claim", |row| row.series["claim"].as_str().map(str::to_owned)),
        real("paper", |row| row.series["paper"].as_f64()),
    ];
    Table { name: "series", columns }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::table::Data;

    #[test]
    fn every_value_of_every_series_has_a_row() {
        let figure = json!({
            "schema": "warpwatt.figure/1", "paper": "p", "figure": "Figure 8", "title": "t", "axis": "workload",
            "series": [
                { "name": "a", "unit": "%", "values": { "x": 1.0, "y": null }, "spread": { "x": [0.5, 2.0] },
                  "claim": "c", "paper": 2.5 },
                { "name": "b", "unit": "x", "values": { "x": 3.0 } },
            ],
        });
        let table = figures(&[("fig08", &figure)]);
        let column = |name: &str| &table.columns.iter().find(|column| column.name == name).expect(name).data;
        assert_eq!(table.rows(), 3);
        assert_eq!(*column("value"), Data::Real(vec![Some(1.0), None, Some(3.0)]));
        assert_eq!(*column("high"), Data::Real(vec![Some(2.0), None, None]));
        assert_eq!(*column("paper"), Data::Real(vec![Some(2.5), Some(2.5), None]));
    }
}
