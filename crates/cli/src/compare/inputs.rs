// SPDX-License-Identifier: MIT OR Apache-2.0
//! What two runs were made with: what differs, and what makes their figures hard to compare.

use std::collections::BTreeSet;

use serde::Serialize;
use warpwatt_results::{Inputs, Mode, RunRecord, Status};

/// An input that differs; what a run does not have is empty.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Differs {
    pub what: String,
    pub a: String,
    pub b: String,
}

/// Short description of the run.
pub fn work(inputs: &Inputs) -> String {
    let seed = inputs.seed.map_or(String::new(), |seed| format!(", seed {seed}"));
    match (&inputs.workload, &inputs.program) {
        (Some(name), _) => format!("{name}@{}{seed}", inputs.size.as_deref().unwrap_or_default()),
        (None, Some(words)) => words.join(" "),
        (None, None) => format!("a launch file{seed}"),
    }
}

/// Every input that is not the same in both, the program that made the records included.
pub fn differences(a: &RunRecord, b: &RunRecord) -> Vec<Differs> {
    let mut all = Vec::new();
    let mut look = |what: &str, of: &dyn Fn(&RunRecord) -> String| {
        let (a, b) = (of(a), of(b));
        if a != b {
            all.push(Differs { what: what.to_owned(), a, b });
        }
    };
    look("workload", &|record| record.inputs.workload.clone().unwrap_or_default());
    look("size", &|record| record.inputs.size.clone().unwrap_or_default());
    look("program", &|record| record.inputs.program.clone().unwrap_or_default().join(" "));
    look("seed", &|record| record.inputs.seed.map_or(String::new(), |seed| seed.to_string()));
    look("PTX", &|record| record.inputs.ptx_sha256.clone());
    look("launch file", &|record| record.inputs.launch_sha256.clone().unwrap_or_default());
    look("GPU", &|record| record.inputs.gpu.as_ref().map_or(String::new(), |gpu| gpu.name.clone()));
    let parameters =
        |record: &RunRecord| record.inputs.gpu.as_ref().map(|gpu| gpu.parameters.clone()).unwrap_or_default();
    let (of_a, of_b) = (parameters(a), parameters(b));
    let keys: BTreeSet<_> = of_a.keys().chain(of_b.keys()).collect();
    for key in keys {
        look(key, &|record| parameters(record).remove(key).unwrap_or_default());
    }
    look("techniques", &|record| record.inputs.techniques.join(" and "));
    look("technology", &|record| record.inputs.technology.clone().unwrap_or_default());
    look("version", &|record| format!("{} ({})", record.tool.version, record.tool.commit));
    look("model", &|record| record.tool.model_version.to_string());
    all
}

/// Why the comparison may not mean what it seems to.
pub fn warnings(a: &RunRecord, b: &RunRecord) -> Vec<String> {
    let mut all = Vec::new();
    for (name, record) in [("A", a), ("B", b)] {
        let reason = record
            .diagnostics
            .first()
            .map_or(String::new(), |found| format!(": {}", found.message.lines().next().unwrap_or_default()));
        match record.status {
            Status::Complete => {}
            Status::Partial => all.push(format!("{name} did not come to its end{reason}")),
            Status::Failed => all.push(format!("{name} failed{reason}")),
        }
    }
    let same_work = |one: &Inputs, other: &Inputs| {
        let key = |inputs: &Inputs| {
            (work(inputs), inputs.ptx_sha256.clone(), inputs.launch_sha256.clone(), inputs.program.clone())
        };
        key(one) == key(other)
    };
    if work(&a.inputs) != work(&b.inputs) {
        let (a, b) = (work(&a.inputs), work(&b.inputs));
        all.push(format!("A is {a} and B is {b}: not the same work"));
    } else if !same_work(&a.inputs, &b.inputs) {
        all.push("A and B ran other kernels under the same name: not the same work".to_owned());
    } else {
        let timed = |record: &RunRecord| -> u64 {
            record
                .by_kernel
                .iter()
                .filter(|group| group.mode == Mode::Timed)
                .map(|group| group.launches)
                .sum()
        };
        let (of_a, of_b) = (timed(a), timed(b));
        if of_a != of_b {
            all.push(format!("{of_a} launches were timed in A and {of_b} in B"));
        }
    }
    if a.tool.model_version != b.tool.model_version {
        let (a, b) = (a.tool.model_version, b.tool.model_version);
        all.push(format!("A was made by model {a} and B by model {b}, which count differently"));
    }
    if let (Some(a), Some(b)) = (&a.inputs.technology, &b.inputs.technology)
        && a != b
    {
        all.push(format!("energy was computed with {a} in A and with {b} in B"));
    }
    all
}
