// SPDX-License-Identifier: MIT OR Apache-2.0
//! How long a point is expected to take on one core, from which tasks get their length.
//!
//! Three sources, the first that is there: what `point_seconds` says; what points of the same workload and size took, in this folder; or the size
//! alone. The last is `thread instructions / rate x 1.25 per technique`, where the thread instructions are the geometric mean of the band that
//! a size may have, and the rate is [`THREAD_INSTRUCTIONS_A_SECOND`]. An estimate decides how points are divided, never what they find.

use std::collections::BTreeMap;

use warpwatt_papers::Point;
use warpwatt_workloads::Size;

/// The 6,220 points of all four papers at small ran at 37 million thread instructions a second in total, on one core of a two-core virtual machine
/// (AMD EPYC, 2.4 GHz). Half of it, for nodes that are slower or shared.
pub const THREAD_INSTRUCTIONS_A_SECOND: f64 = 18e6;
/// In the same runs, points took 1.23 times as long with one technique as without, 1.50 with two and 1.99 with three.
pub const TECHNIQUE_FACTOR: f64 = 1.25;
/// What a point takes beside its instructions: inputs, the check, writing the result.
const START_SECONDS: f64 = 0.02;
/// A program of `command` of which nothing is known.
const PROGRAM_SECONDS: f64 = 60.0;

/// What is known about the time that points take.
#[derive(Clone, Debug, Default)]
pub struct Costs {
    /// From the settings, for each point.
    fixed: Option<f64>,
    /// Seconds that points of a subject took without techniques' part, and their number.
    measured: BTreeMap<String, (f64, u64)>,
}

impl Costs {
    pub fn new(fixed: Option<f64>) -> Costs {
        Costs { fixed, ..Costs::default() }
    }

    /// Learns from a point that was run.
    pub fn learn(&mut self, point: &Point, seconds: f64) {
        let (sum, count) = self.measured.entry(point.subject()).or_default();
        *sum += seconds / factor(point);
        *count += 1;
    }

    /// Seconds that a point is expected to take.
    pub fn seconds(&self, point: &Point) -> f64 {
        if let Some(seconds) = self.fixed {
            return seconds;
        }
        if let Some((sum, count)) = self.measured.get(&point.subject()) {
            return (sum / *count as f64 * factor(point)).max(1e-3);
        }
        let Some(size) = point.size.as_deref().and_then(|size| size.parse::<Size>().ok()) else {
            return PROGRAM_SECONDS;
        };
        let (least, most) = size.thread_instructions();
        // The band of tiny begins at 0.
        let instructions = (least.max(most / 10) as f64 * most as f64).sqrt();
        START_SECONDS + instructions / THREAD_INSTRUCTIONS_A_SECOND * factor(point)
    }

    /// What estimates rest on, in words.
    pub fn basis(&self) -> String {
        match (self.fixed, self.measured.len()) {
            (Some(seconds), _) => format!("{seconds} s a point, as `point_seconds` says"),
            (None, 0) => format!(
                "thread instructions of the workload's size at {} M a second, x {TECHNIQUE_FACTOR} for each technique",
                THREAD_INSTRUCTIONS_A_SECOND / 1e6
            ),
            (None, count) => {
                format!("the time that points of {count} workloads took in this folder; others by their size")
            }
        }
    }
}

fn factor(point: &Point) -> f64 {
    TECHNIQUE_FACTOR.powi(i32::try_from(point.techniques.len()).unwrap_or(1))
}

/// Divides points, each with what it takes, into at most so many tasks of about so many seconds on so many cores. What has no room is not looked at.
pub fn pack<T>(
    points: impl Iterator<Item = (T, f64)>,
    cpus: u32,
    task_seconds: f64,
    most: usize,
) -> Vec<Vec<(T, f64)>> {
    let room = task_seconds * f64::from(cpus.max(1));
    let mut tasks: Vec<Vec<(T, f64)>> = Vec::new();
    let mut sum = 0.0;
    for (point, cost) in points {
        if tasks.is_empty() || sum + cost > room {
            if tasks.len() == most {
                break;
            }
            tasks.push(Vec::new());
            sum = 0.0;
        }
        sum += cost;
        if let Some(last) = tasks.last_mut() {
            last.push((point, cost));
        }
    }
    tasks
}

/// The time limit of tasks in minutes, for the longest of them: four times the estimate, and at least an hour.
pub fn limit_minutes(longest_seconds: f64) -> u64 {
    ((4.0 * longest_seconds / 60.0).ceil() as u64).max(60)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(size: &str, techniques: usize) -> Point {
        let techniques = (0..techniques).map(|number| format!("t{number}")).collect();
        Point { techniques, ..Point::of_workload("bfs", size, 1, "gtx480", "gtx480-40nm") }
    }

    #[test]
    fn larger_sizes_and_more_techniques_take_longer() {
        let costs = Costs::default();
        let all: Vec<_> =
            ["tiny", "small", "medium", "large"].iter().map(|size| costs.seconds(&point(size, 0))).collect();
        assert!(all.windows(2).all(|pair| pair[0] < pair[1]), "{all:?}");
        assert!((0.02..0.1).contains(&all[0]) && (10.0..40.0).contains(&all[3]), "{all:?}");
        assert!(costs.seconds(&point("large", 2)) / all[3] > 1.5);
    }

    #[test]
    fn what_was_measured_counts_more_than_the_size() {
        let mut costs = Costs::default();
        costs.learn(&point("tiny", 1), 12.5);
        assert!((costs.seconds(&point("tiny", 0)) - 10.0).abs() < 1e-9);
        assert!(costs.basis().contains("1 workloads"));
        assert!(costs.seconds(&point("small", 0)) < 10.0, "another size is another subject");
        assert_eq!(Costs::new(Some(7.0)).seconds(&point("large", 3)), 7.0);
    }

    #[test]
    fn tasks_are_filled_in_order_and_none_is_empty() {
        let lengths = |seconds: &[f64], cpus, most| -> Vec<usize> {
            let tasks = pack(seconds.iter().copied().enumerate(), cpus, 3.0, most);
            let places: Vec<_> = tasks.iter().flatten().map(|(place, _)| *place).collect();
            assert_eq!(places, (0..places.len()).collect::<Vec<_>>());
            tasks.iter().map(Vec::len).collect()
        };
        assert_eq!(lengths(&[1.0; 10], 1, 9), [3, 3, 3, 1]);
        assert_eq!(lengths(&[1.0; 10], 2, 9), [6, 4]);
        assert_eq!(lengths(&[1.0; 10], 1, 2), [3, 3], "the others have no room");
        assert_eq!(lengths(&[9.0, 1.0, 9.0], 1, 9), [1, 1, 1], "a long point has a task of its own");
        assert!(lengths(&[], 1, 9).is_empty());
    }
}
