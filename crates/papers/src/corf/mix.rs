// SPDX-License-Identifier: MIT OR Apache-2.0
//! Integer and floating-point programs, classified by their instruction mix. The paper names no list; its class means are those of about 15 integer programs
//! and 5 of floating point.

use super::BASE;
use crate::figure::{Figure, Series};
use crate::measure::{Column, Mean, Measures, over};
use crate::paper::Findings;
use crate::point::{PointRecord, Points};

const FLOATING_POINT: [&str; 9] = [
    "ops.fp16.count",
    "ops.fp32_add.count",
    "ops.fp32_mul.count",
    "ops.fp64.count",
    "ops.exponential.count",
    "ops.logarithm.count",
    "ops.reciprocal.count",
    "ops.root.count",
    "ops.sine.count",
];
const INTEGER: [&str; 9] = [
    "ops.bit_count.count",
    "ops.compare.count",
    "ops.dot.count",
    "ops.int_add.count",
    "ops.int_mul.count",
    "ops.int_wide.count",
    "ops.logic.count",
    "ops.min_max.count",
    "ops.shift.count",
];

/// Programs of the paper's 20 that belong to a class, as derived from its means.
const PROGRAMS: [f64; 2] = [15.0, 5.0];

pub struct Mix {
    pub classes: [(&'static str, Vec<bool>); 2],
}

fn sum(point: &PointRecord, names: &[&str]) -> f64 {
    names.iter().filter_map(|name| point.count(name)).sum()
}

impl Mix {
    /// A program is one of floating point if more than half of its arithmetic is.
    pub fn of(points: &Points, findings: &mut Findings) -> Mix {
        let share = points.column(BASE, |point| {
            let (float, integer) = (sum(point, &FLOATING_POINT), sum(point, &INTEGER));
            over(100.0 * float, float + integer)
        });
        let is_float: Vec<bool> =
            share.0.iter().map(|share| share.is_some_and(|share| share > 50.0)).collect();
        let is_integer = share.0.iter().map(|share| share.is_some_and(|share| share <= 50.0)).collect();
        findings.figures.push(Figure::new(
            "mix",
            "",
            "Floating-point operations of all arithmetic; more than half make a floating-point program",
            &points.workloads,
            vec![Series::new("floating point", "%", share)],
        ));
        Mix { classes: [("integer", is_integer), ("floating_point", is_float)] }
    }

    /// Means of all and of each class, and that of all weighted as the paper's programs are.
    pub fn measure(&self, measures: &mut Measures, id: &str, column: &Column, mean: Mean) {
        measures.by_class(id, column, mean, &self.classes);
        let weighted = format!("{id}.mix_15_5");
        measures.by_class(&weighted, column, mean, &self.classes);
        let by_class = |place: usize| column.only(&self.classes[place].1).average(mean);
        let value = match (by_class(0), by_class(1)) {
            (Some(integer), Some(float)) => {
                Some((PROGRAMS[0] * integer + PROGRAMS[1] * float) / PROGRAMS.iter().sum::<f64>())
            }
            _ => None,
        };
        measures.of(format!("{weighted}:all"), value, column.count());
    }
}
