// SPDX-License-Identifier: MIT OR Apache-2.0
//! Points that another build of the program simulated: judged again after a change of claims, reasons or figures, which the model does not depend on.
//!
//! Nothing of another build is used unless a user names its program; then its points are found by the keys that it gives them, and none is run.

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use warpwatt_record as record;
use warpwatt_results::Tool;

use crate::exit::Failure;
use crate::points::{Folder, Task};

/// The version of a program of ours, by the record of a short run; an error if its model is not this one's.
pub fn tool(program: &Path) -> Result<Tool, Failure> {
    let shown = program.display();
    let output = Command::new(program)
        .args(["run", "vecadd@tiny", "--functional", "--json", "-", "-q"])
        .output()
        .map_err(|error| Failure::io("run", program, &error))?;
    let document: Option<Value> = serde_json::from_slice(&output.stdout).ok();
    let field = |name: &str| document.as_ref()?.get("tool")?.get(name).cloned();
    let text = |name: &str| Some(field(name)?.as_str()?.to_owned());
    let model = field("model_version").and_then(|model| model.as_u64());
    let (Some(version), Some(commit), Some(model)) = (text("version"), text("commit"), model) else {
        return Err(Failure::usage(format!("{shown} is no warpwatt program"))
            .help("name the program that simulated the points: `--points-of PROGRAM`"));
    };
    let ours = record::tool();
    if model != u64::from(ours.model_version) {
        return Err(Failure::usage(format!(
            "{shown} has version {model} of the timing model, this program has version {}",
            ours.model_version
        ))
        .help("points of another model cannot be judged as this one's: leave `--points-of` out to simulate them"));
    }
    Ok(Tool::new(&version, &commit, ours.model_version))
}

/// All points have to be there.
pub fn all_there(tasks: &[Task], folder: &Folder, program: &Path) -> Result<(), Failure> {
    let missing = tasks.iter().filter(|task| folder.point(&task.key).is_none()).count();
    if missing == 0 {
        return Ok(());
    }
    let (all, shown) = (tasks.len(), program.display());
    Err(Failure::usage(format!(
        "{missing} of {all} points of {shown} are not in {}",
        folder.path().display()
    ))
    .help(format!(
        "finish the run with {shown}, or leave `--points-of` out to simulate them with this program"
    )))
}
