// SPDX-License-Identifier: MIT OR Apache-2.0
//! Suites of papers: which programs they measure, and which of our workloads are these (`data/suites.toml`).

use std::collections::BTreeMap;

use serde::Deserialize;

const TEXT: &str = include_str!("../data/suites.toml");

/// The programs of a paper.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Suite {
    /// Benchmark suites that they are from.
    pub suites: Vec<String>,
    /// Number of programs that the paper states.
    #[serde(default)]
    pub count: Option<usize>,
    /// Workloads of a quick run.
    #[serde(default)]
    pub quick: Vec<String>,
    pub programs: Vec<Program>,
    /// Our workloads that more bandwidth does not speed up, which a paper measures beside its suite.
    #[serde(default)]
    pub compute_bound: Vec<String>,
}

#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// As the paper calls it.
    pub name: String,
    /// Our workloads, the best first.
    pub ours: Vec<String>,
    /// The paper's text names it.
    #[serde(default)]
    pub named: bool,
    #[serde(default)]
    pub class: Option<String>,
    /// Why workloads behind the first are not the paper's program.
    #[serde(default)]
    pub stands_in: Option<String>,
}

/// What there is of a suite.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Chosen {
    /// Our workloads, in the order of programs.
    pub workloads: Vec<String>,
    /// Programs that none of our workloads is.
    pub missing: Vec<String>,
    /// Workloads that replace another program, and how they differ.
    pub stand_ins: BTreeMap<String, String>,
    /// The class of each workload that has one.
    pub classes: BTreeMap<String, String>,
    /// Workloads beside the suite.
    pub compute_bound: Vec<String>,
}

/// The suites of all papers, by name.
pub fn suites() -> Result<BTreeMap<String, Suite>, toml::de::Error> {
    toml::from_str(TEXT)
}

/// The suite of a paper.
pub fn suite(paper: &str) -> Result<Option<Suite>, toml::de::Error> {
    Ok(suites()?.remove(paper))
}

impl Program {
    /// The best of our workloads for it that a table of workloads has.
    pub fn workload(&self, table: &[&str]) -> Option<&str> {
        self.ours.iter().map(String::as_str).find(|name| table.contains(name))
    }
}

impl Suite {
    /// What there is of it in a table of workloads.
    pub fn choose(&self, table: &[&str]) -> Chosen {
        let there = |name: &&String| table.contains(&name.as_str());
        let compute_bound = self.compute_bound.iter().filter(there).cloned().collect();
        let mut chosen = Chosen { compute_bound, ..Chosen::default() };
        for program in &self.programs {
            let found = program.ours.iter().enumerate().find(|(_, name)| table.contains(&name.as_str()));
            let Some((place, name)) = found else {
                chosen.missing.push(program.name.clone());
                continue;
            };
            if let Some(why) = program.stands_in.as_ref().filter(|_| place > 0) {
                chosen.stand_ins.insert(name.clone(), why.clone());
            }
            if let Some(class) = &program.class {
                chosen.classes.insert(name.clone(), class.clone());
            }
            if !chosen.workloads.contains(name) {
                chosen.workloads.push(name.clone());
            }
        }
        chosen
    }
}

impl Chosen {
    /// Which of these workloads are of a class.
    pub fn members(&self, class: &str, workloads: &[String]) -> Vec<bool> {
        workloads.iter().map(|name| self.classes.get(name).is_some_and(|other| other == class)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_paper_has_a_suite() {
        for (paper, programs) in
            [("warped-compression", 23), ("corf", 24), ("e2mc", 15), ("caches", 22), ("combined", 10)]
        {
            let suite = suite(paper).expect("it reads").expect(paper);
            assert_eq!(suite.programs.len(), programs, "{paper}");
            for program in &suite.programs {
                assert!(
                    program.ours.len() < 2 || program.stands_in.is_some() || paper != "caches",
                    "{}",
                    program.name
                );
            }
        }
        assert_eq!(suite("none").expect("it reads"), None);
    }

    #[test]
    fn a_quick_run_is_of_programs_of_the_suite() {
        for (paper, suite) in suites().expect("they read") {
            assert!(suite.quick.len() >= 5 && suite.quick.len() < suite.programs.len(), "{paper}");
            for name in &suite.quick {
                assert!(suite.programs.iter().any(|program| program.ours.contains(name)), "{paper}: {name}");
            }
        }
    }

    #[test]
    fn a_suite_is_what_the_table_has_of_it() {
        let suite = suite("warped-compression").expect("it reads").expect("a suite");
        let chosen = suite.choose(&["vecadd", "bfs", "lib", "pathfinder"]);
        assert_eq!(chosen.workloads, ["pathfinder", "lib", "bfs"], "in the order of the suite");
        assert_eq!(chosen.missing.len(), 20);
        assert!(chosen.stand_ins.contains_key("bfs") && !chosen.stand_ins.contains_key("lib"));
        let whole = suite.choose(&["bfs", "bfs_ispass"]);
        assert_eq!((whole.workloads, whole.stand_ins.len()), (vec!["bfs_ispass".to_owned()], 0));
    }

    #[test]
    fn classes_are_those_of_the_paper() {
        let chosen =
            suite("e2mc").expect("it reads").expect("a suite").choose(&["bfs", "transpose", "kmeans"]);
        let workloads = ["transpose", "bfs", "other"].map(str::to_owned);
        assert_eq!(chosen.members("integer", &workloads), [false, true, false]);
    }
}
