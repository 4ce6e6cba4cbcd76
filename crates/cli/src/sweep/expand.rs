// SPDX-License-Identifier: MIT OR Apache-2.0
//! From a sweep to its points: every GPU with every set of techniques and every combination of parameters, for every subject and seed.

use std::collections::{BTreeMap, HashMap, HashSet};

use warpwatt_papers::{Point, REQUEST_SCHEMA};

use super::read::{MOST_POINTS, Subject, Sweep};
use crate::exit::Failure;
use crate::points::{Planner, Task};

/// A way in which everything is run.
#[derive(Clone, PartialEq, Debug)]
pub struct Configuration {
    /// What is different about it.
    pub name: String,
    pub gpu: String,
    pub techniques: Vec<String>,
    pub parameters: BTreeMap<String, String>,
    settings: Vec<String>,
}

/// A point with its place.
pub struct Cell {
    pub configuration: usize,
    pub subject: usize,
    /// Its place among the tasks.
    pub task: usize,
}

pub struct Plan {
    pub configurations: Vec<Configuration>,
    /// Names of what is run.
    pub subjects: Vec<String>,
    pub cells: Vec<Cell>,
    /// Each point once.
    pub tasks: Vec<Task>,
}

impl Plan {
    pub fn new(sweep: &Sweep) -> Result<Plan, Failure> {
        let combinations =
            sweep.parameters.iter().map(|(_, values)| values.len()).fold(1, usize::saturating_mul);
        let all = [sweep.gpus.len(), sweep.techniques.len(), sweep.subjects.len(), sweep.seeds.len()];
        let points = all.into_iter().fold(combinations, usize::saturating_mul);
        if points > MOST_POINTS {
            let message = format!("the sweep has {points} points; the most is {MOST_POINTS}");
            return Err(Failure::usage(message).help("give fewer values, or divide it into several sweeps"));
        }
        let configurations = configurations(sweep);
        let subjects = sweep.subjects.iter().map(shown).collect();
        let mut plan = Plan { configurations, subjects, cells: Vec::new(), tasks: Vec::new() };
        let mut planner = Planner::new()?;
        let mut known = HashMap::new();
        for (configuration, how) in plan.configurations.iter().enumerate() {
            for (subject, what) in sweep.subjects.iter().enumerate() {
                let seeds = match what {
                    Subject::Workload { .. } => sweep.seeds.as_slice(),
                    Subject::Program { .. } => &[1],
                };
                for (place, &seed) in seeds.iter().enumerate() {
                    let suffix = if place == 0 { String::new() } else { format!("/seed-{seed}") };
                    let name = format!("{}/{}{suffix}", plan.subjects[subject], how.name);
                    let task =
                        planner.task(name, point(sweep, how, what, seed)).map_err(|failure| Failure {
                            message: match failure.rendered {
                                true => failure.message.clone(),
                                false => format!("configuration `{}`: {}", how.name, failure.message),
                            },
                            ..failure
                        })?;
                    let next = plan.tasks.len();
                    let task_place = *known.entry(task.key.clone()).or_insert(next);
                    if task_place == next {
                        plan.tasks.push(task);
                    }
                    plan.cells.push(Cell { configuration, subject, task: task_place });
                }
            }
        }
        Ok(plan)
    }
}

fn shown(subject: &Subject) -> String {
    match subject {
        Subject::Workload { name, size } => format!("{name}@{size}"),
        Subject::Program { words, .. } => words.join(" "),
    }
}

fn point(sweep: &Sweep, how: &Configuration, what: &Subject, seed: u64) -> Point {
    let base = match what {
        Subject::Workload { name, size } => {
            Point::of_workload(name, size.name(), seed, &how.gpu, &sweep.technology)
        }
        Subject::Program { words, files } => Point {
            schema: REQUEST_SCHEMA.to_owned(),
            workload: None,
            size: None,
            seed: None,
            command: Some(words.clone()),
            files: files.clone(),
            ..Point::of_workload("", "", 1, &how.gpu, &sweep.technology)
        },
    };
    Point { settings: how.settings.clone(), techniques: how.techniques.clone(), ..base }
}

/// All combinations, the last key fastest; those that are the same stand once.
fn configurations(sweep: &Sweep) -> Vec<Configuration> {
    let mut found: Vec<Configuration> = Vec::new();
    let mut names = HashSet::new();
    let combinations: usize = sweep.parameters.iter().map(|(_, values)| values.len()).product();
    for gpu in &sweep.gpus {
        for techniques in &sweep.techniques {
            for number in 0..combinations {
                let mut rest = number;
                let mut chosen = Vec::new();
                for (key, values) in sweep.parameters.iter().rev() {
                    chosen.push((key, &values[rest % values.len()]));
                    rest /= values.len();
                }
                chosen.reverse();
                chosen.retain(|(key, _)| counts(key, techniques));
                let configuration = configuration(sweep, gpu, techniques, &chosen);
                if names.insert(configuration.name.clone()) {
                    found.push(configuration);
                }
            }
        }
    }
    found
}

/// A parameter of a technique counts where the technique is on.
fn counts(key: &str, techniques: &[String]) -> bool {
    let Some(rest) = key.strip_prefix("technique.") else { return true };
    let Some((name, _)) = rest.rsplit_once('.') else { return true };
    techniques.iter().any(|text| text.split(':').next().is_some_and(|other| other.trim() == name))
}

/// Named by what differs within the sweep.
fn configuration(
    sweep: &Sweep,
    gpu: &str,
    techniques: &[String],
    chosen: &[(&String, &String)],
) -> Configuration {
    let settings: Vec<_> = chosen.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let mut words = Vec::new();
    if sweep.gpus.len() > 1 {
        words.push(gpu.to_owned());
    }
    if sweep.techniques.len() > 1 || !techniques.is_empty() {
        words.push(if techniques.is_empty() { "none".to_owned() } else { techniques.join(" ") });
    }
    let varied =
        |key: &String| sweep.parameters.iter().any(|(other, values)| other == key && values.len() > 1);
    words.extend(chosen.iter().filter(|(key, _)| varied(key)).map(|(key, value)| format!("{key}={value}")));
    Configuration {
        name: if words.is_empty() { "base".to_owned() } else { words.join(" ") },
        gpu: gpu.to_owned(),
        techniques: techniques.to_vec(),
        parameters: chosen.iter().map(|(key, value)| ((*key).clone(), (*value).clone())).collect(),
        settings,
    }
}

#[cfg(test)]
mod tests {
    use super::super::read::read;
    use super::*;

    fn plan(text: &str) -> Result<Plan, Failure> {
        Plan::new(&read(text).unwrap_or_else(|problems| panic!("{problems:?}")))
    }

    #[test]
    fn every_combination_is_a_point() {
        let text = "workloads = [\"vecadd@tiny\", \"bfs@tiny\"]\nseeds = [1, 2]\n[parameters]\n\
                    sm.scheduler = [\"gto\", \"lrr\"]\nsm.ctas = [1, 2, 4]\nl2.ways = 8\n";
        let plan = plan(text).expect("a plan");
        assert_eq!((plan.configurations.len(), plan.tasks.len(), plan.cells.len()), (6, 24, 24));
        assert_eq!(plan.configurations[1].name, "sm.scheduler=gto sm.ctas=2");
        assert_eq!(plan.tasks[1].name, "vecadd@tiny/sm.scheduler=gto sm.ctas=1/seed-2");
        assert!(plan.tasks.iter().all(|task| task.point.settings.contains(&"l2.ways=8".to_owned())));
    }

    #[test]
    fn parameters_of_a_technique_count_where_it_is_on() {
        let text = "workloads = [\"vecadd@tiny\"]\ntechniques = [\"none\", \"drowsy\"]\n[parameters]\n\
                    technique.drowsy.region = [1, 16]\n";
        let plan = plan(text).expect("a plan");
        let names: Vec<_> = plan.configurations.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["none", "drowsy technique.drowsy.region=1", "drowsy technique.drowsy.region=16"]);
        assert_eq!(plan.tasks[2].point.techniques, ["drowsy:region=16"]);
        assert!(plan.tasks[0].point.techniques.is_empty());
    }

    #[test]
    fn what_does_not_go_together_is_told_with_the_configuration() {
        let text = "workloads = [\"vecadd@tiny\"]\ntechniques = [\"none\", [\"corf\", \"corf++\"]]\n";
        let refused = plan(text).err().expect("they exclude each other");
        assert!(refused.message.contains("configuration `corf corf++`"), "{}", refused.message);
    }

    #[test]
    fn a_sweep_has_an_end() {
        let list = |most: u32| (1..=most).map(|number| number.to_string()).collect::<Vec<_>>().join(", ");
        let text = format!(
            "workloads = [\"vecadd\"]\nseeds = [{}]\n[parameters]\nsm.ctas = [1, 2]\nl2.ways = [1, 2]\n\
             sm.l1d.mshrs = [{}]\n",
            list(1000),
            list(256)
        );
        assert!(plan(&text).err().expect("too many").message.contains("1024000 points"));
    }
}
