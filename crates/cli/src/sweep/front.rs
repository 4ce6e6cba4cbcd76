// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a sweep found: time and energy of each configuration, and which of them are on the Pareto front: no other is as good in both and better in one.

use serde_json::{Value, json};
use warpwatt_papers::{Column, Figure, Series};

use super::expand::Plan;
use crate::points::FoundPoints;

/// Name and version of the layout of a sweep's result.
pub const RESULT_SCHEMA: &str = "warpwatt.sweep-result/1";

/// Time and energy of a configuration.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Cost {
    pub seconds: f64,
    pub energy_j: f64,
}

/// Which costs no other beats. What has no cost is on no front.
///
/// From the quickest on, with those that take as long by energy: a cost is on the front if none that is quicker takes as little energy, and none that is as
/// quick takes less.
pub fn front(costs: &[Option<Cost>]) -> Vec<bool> {
    let mut order: Vec<(usize, Cost)> =
        costs.iter().enumerate().filter_map(|(place, cost)| Some((place, (*cost)?))).collect();
    order.sort_by(|(_, a), (_, b)| {
        a.seconds.total_cmp(&b.seconds).then_with(|| a.energy_j.total_cmp(&b.energy_j))
    });
    let mut on = vec![false; costs.len()];
    let mut last: Option<Cost> = None;
    for (place, cost) in order {
        // The least energy of all before it is that of the last one on the front.
        on[place] = last.is_none_or(|last| cost.energy_j < last.energy_j || cost == last);
        if on[place] {
            last = Some(cost);
        }
    }
    on
}

/// Costs by subject and configuration: means over seeds.
pub fn costs(plan: &Plan, found: &FoundPoints) -> Vec<Vec<Option<Cost>>> {
    let none = (Some(Cost { seconds: 0.0, energy_j: 0.0 }), 0.0);
    let mut sums = vec![vec![none; plan.configurations.len()]; plan.subjects.len()];
    for cell in &plan.cells {
        let cost = found
            .get(cell.task)
            .and_then(|point| Some(Cost { seconds: point.seconds?, energy_j: point.energy_j }));
        let (sum, count) = &mut sums[cell.subject][cell.configuration];
        // Where one seed is missing, there is no mean.
        *sum = sum.zip(cost).map(|(sum, cost)| Cost {
            seconds: sum.seconds + cost.seconds,
            energy_j: sum.energy_j + cost.energy_j,
        });
        *count += 1.0;
    }
    let mean = |(sum, count): (Option<Cost>, f64)| {
        let sum = sum.filter(|_| count > 0.0)?;
        Some(Cost { seconds: sum.seconds / count, energy_j: sum.energy_j / count })
    };
    sums.into_iter().map(|of_subject| of_subject.into_iter().map(mean).collect()).collect()
}

/// Costs over those of the first configuration, as geometric means over subjects; none where a subject has none.
pub fn relative(costs: &[Vec<Option<Cost>>]) -> Vec<Option<Cost>> {
    let configurations = costs.first().map_or(0, Vec::len);
    let one = |configuration: usize| {
        let (mut time, mut energy) = (0.0, 0.0);
        for of_subject in costs {
            let (base, cost) = (of_subject.first().copied()??, of_subject[configuration]?);
            time += (cost.seconds / base.seconds).ln();
            energy += (cost.energy_j / base.energy_j).ln();
        }
        let count = costs.len() as f64;
        Some(Cost { seconds: (time / count).exp(), energy_j: (energy / count).exp() })
    };
    (0..configurations).map(one).collect()
}

/// The figures of a sweep: its Pareto front, and time and energy by subject.
pub fn figures(plan: &Plan, costs: &[Vec<Option<Cost>>]) -> Vec<Figure> {
    let labels: Vec<_> = plan.configurations.iter().map(|one| one.name.clone()).collect();
    let column =
        |costs: &[Option<Cost>], of: fn(Cost) -> f64| Column(costs.iter().map(|cost| cost.map(of)).collect());
    let relative = relative(costs);
    let on_front = front(&relative).into_iter().zip(&relative);
    let on_front = on_front.map(|(on, cost)| cost.map(|_| f64::from(u8::from(on)))).collect();
    let pareto = vec![
        Series::new("time", "x", column(&relative, |cost| cost.seconds)).ratio(),
        Series::new("energy", "x", column(&relative, |cost| cost.energy_j)).ratio(),
        Series::new("energy-delay product", "x", column(&relative, |cost| cost.seconds * cost.energy_j))
            .ratio(),
        Series::new("on the front", "1", Column(on_front)),
    ];
    let by_subject = |unit: &'static str, of: fn(Cost) -> f64| {
        let subjects = plan.subjects.iter().zip(costs);
        subjects.map(|(name, costs)| Series::new(name.clone(), unit, column(costs, of))).collect()
    };
    let figure = |name, title, series| Figure {
        name,
        place: None,
        title,
        axis: "configuration",
        labels: labels.clone(),
        series,
    };
    vec![
        figure(
            "pareto",
            "Energy and time over the first configuration, geometric means over what was run",
            pareto,
        ),
        figure("time", "Execution time", by_subject("s", |cost| cost.seconds)),
        figure("energy", "Energy of the whole GPU", by_subject("J", |cost| cost.energy_j)),
    ]
}

/// The document of what was found (`warpwatt.sweep-result/1`).
pub fn document(name: &str, plan: &Plan, costs: &[Vec<Option<Cost>>], failed: &[String]) -> Value {
    let configurations: Vec<_> = plan
        .configurations
        .iter()
        .map(|one| {
            json!({
                "name": one.name,
                "gpu": one.gpu,
                "techniques": one.techniques,
                "parameters": one.parameters,
            })
        })
        .collect();
    let rows = |costs: &[Option<Cost>], energy: &str, time: &str| -> Vec<Value> {
        let all = plan.configurations.iter().zip(costs).zip(front(costs));
        all.map(|((configuration, cost), front)| {
            json!({
                "configuration": configuration.name,
                (time): cost.map(|cost| cost.seconds),
                (energy): cost.map(|cost| cost.energy_j),
                "front": front,
            })
        })
        .collect()
    };
    let subjects: Vec<_> = plan
        .subjects
        .iter()
        .zip(costs)
        .map(|(name, costs)| json!({ "name": name, "costs": rows(costs, "energy_j", "seconds") }))
        .collect();
    json!({
        "schema": RESULT_SCHEMA,
        "name": name,
        "tool": warpwatt_record::tool(),
        "configurations": configurations,
        "subjects": subjects,
        "means": rows(&relative(costs), "energy", "time"),
        "points": plan.tasks.len(),
        "failed": failed,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn costs(pairs: &[(f64, f64)]) -> Vec<Option<Cost>> {
        pairs.iter().map(|&(seconds, energy_j)| Some(Cost { seconds, energy_j })).collect()
    }

    #[test]
    fn the_front_has_what_nothing_beats() {
        let all = costs(&[(1.0, 4.0), (2.0, 2.0), (2.0, 3.0), (4.0, 1.0), (5.0, 1.0), (2.0, 2.0)]);
        // The same costs twice are both on it.
        assert_eq!(front(&all), [true, true, false, true, false, true]);
        let mut missing = all.clone();
        missing[0] = None;
        assert_eq!(front(&missing), [false, true, false, true, false, true]);
        assert!(front(&[]).is_empty());
    }

    /// The definition, pair by pair.
    fn plain_front(costs: &[Option<Cost>]) -> Vec<bool> {
        let beats = |a: &Cost, b: &Cost| a.seconds <= b.seconds && a.energy_j <= b.energy_j && a != b;
        let beaten = |cost: &Cost| costs.iter().flatten().any(|other| beats(other, cost));
        costs.iter().map(|cost| cost.is_some_and(|cost| !beaten(&cost))).collect()
    }

    #[test]
    fn the_front_is_that_of_its_definition() {
        let mut state = 1_u64;
        for length in 0..200 {
            let mut next = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                // Few values, so that many are the same.
                (state >> 60) as f64
            };
            let some: Vec<_> = (0..length % 25)
                .map(|_| (next() > 1.0).then(|| Cost { seconds: next(), energy_j: next() }))
                .collect();
            assert_eq!(front(&some), plain_front(&some), "{some:?}");
        }
    }

    #[test]
    fn means_are_over_the_first_configuration() {
        let all = vec![costs(&[(1.0, 8.0), (2.0, 4.0)]), costs(&[(10.0, 1.0), (80.0, 0.125)])];
        let means = relative(&all);
        let rounded = |cost: &Option<Cost>| {
            cost.map(|cost| ((cost.seconds * 1e9).round() / 1e9, (cost.energy_j * 1e9).round() / 1e9))
        };
        assert_eq!(means.iter().map(rounded).collect::<Vec<_>>(), [Some((1.0, 1.0)), Some((4.0, 0.25))]);
        let lost = vec![costs(&[(1.0, 8.0), (2.0, 4.0)]), vec![costs(&[(1.0, 1.0)])[0], None]];
        assert_eq!(relative(&lost)[1], None, "a mean over other subjects would be another quantity");
    }
}
