// SPDX-License-Identifier: MIT OR Apache-2.0
//! How wide registers are, and what of the register file's bandwidth is not used: Figures 2 and 3. Of a 64-bit value the lower word counts; both words
//! stand beside.

use super::PACKING;
use crate::figure::{Figure, Series};
use crate::measure::{Column, over};
use crate::paper::Findings;
use crate::point::{PointRecord, Points};

const LOWER: [&str; 2] = ["packing.read_widths.histogram", "packing.write_widths.histogram"];
const UPPER: [&str; 2] = ["packing.read_widths_upper.histogram", "packing.write_widths_upper.histogram"];
const WIDTHS: [&str; 4] = ["1 byte", "2 bytes", "3 bytes", "4 bytes"];

/// Operands and results by width.
fn widths(point: &PointRecord, both: bool) -> Option<[f64; 4]> {
    let names = LOWER.iter().chain(if both { UPPER.as_slice() } else { &[] });
    let mut all = [0.0; 4];
    for name in names {
        for (width, sum) in all.iter_mut().enumerate() {
            *sum += point.bucket(name, width)?;
        }
    }
    Some(all)
}

fn share(points: &Points, both: bool, of: impl Fn([f64; 4]) -> f64) -> Column {
    points.column(PACKING, |point| {
        let widths = widths(point, both)?;
        over(100.0 * of(widths), widths.iter().sum())
    })
}

pub fn evaluate(points: &Points, findings: &mut Findings) {
    let narrow = |[one, two, three, _]: [f64; 4]| one + two + three;
    for (suffix, both) in [("", false), (".both_words", true)] {
        findings.measures.mean(format!("corf.narrow{suffix}"), &share(points, both, narrow));
        findings.measures.mean(format!("corf.one_byte{suffix}"), &share(points, both, |[one, ..]| one));
    }
    findings.measures.most("corf.narrow", &share(points, false, narrow), &points.workloads);
    let mut series: Vec<_> = (0..4)
        .map(|width| Series::new(WIDTHS[width], "%", share(points, false, |widths| widths[width])))
        .collect();
    series.push(Series::new("narrow", "%", share(points, false, narrow)).claimed("corf.narrow"));
    series.push(Series::new("narrow, both words", "%", share(points, true, narrow)));
    let title = "Width of registers read and written";
    findings.figures.push(Figure::new("fig02", "Figure 2", title, &points.workloads, series));
    // Bytes that carry nothing but the sign.
    let unused = |[one, two, three, _]: [f64; 4]| (3.0 * one + 2.0 * two + three) / 4.0;
    findings.figures.push(Figure::new(
        "fig03",
        "Figure 3",
        "Register-file bandwidth spent on bytes that are not needed",
        &points.workloads,
        vec![
            Series::new("unused", "%", share(points, false, unused)),
            Series::new("unused, both words", "%", share(points, true, unused)),
        ],
    ));
}
