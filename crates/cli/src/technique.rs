// SPDX-License-Identifier: MIT OR Apache-2.0
//! Techniques on the command line: which are on, and `list techniques`.

use std::fmt::Write;

use serde_json::json;
use warpwatt_base::suggest;
use warpwatt_config::Config;
use warpwatt_runtime::{InjectedFault, Technique, TechniqueError, Techniques};

use crate::args::{FaultPlace, GpuArgs, ListArgs};
use crate::console::{Console, write_result};
use crate::exit::{Exit, Failure, UsageProblem};
use crate::table::paragraph;

/// The message when verification has detected the injected fault.
pub const NOTICED: &str = "this is the bit that `--inject-fault` flipped: the error was detected";

impl From<TechniqueError> for UsageProblem {
    fn from(TechniqueError { message, help }: TechniqueError) -> UsageProblem {
        UsageProblem { message, help }
    }
}

/// What follows `technique.` in a setting of a technique; `None` for one of the GPU.
pub fn setting(text: &str) -> Option<&str> {
    text.trim_start().strip_prefix("technique.")
}

/// The techniques that `--with` and `--set technique.` switch on. Settings come after, so that they change what is on.
pub fn choose(args: &GpuArgs, refused: &mut Vec<UsageProblem>) -> Techniques {
    let mut techniques = Techniques::default();
    for text in &args.with {
        match twice(text) {
            Some(told) => refused.push(told),
            None => refused.extend(techniques.with(text).err().map(UsageProblem::from)),
        }
    }
    for text in args.set.iter().filter_map(|text| setting(text)) {
        match text.split_once('=') {
            Some((key, value)) => {
                refused.extend(techniques.set(key.trim(), value.trim()).err().map(UsageProblem::from));
            }
            None => refused.push(UsageProblem {
                message: format!("`technique.{text}` has no value"),
                help: "write technique.NAME.parameter=value".to_owned(),
            }),
        }
    }
    techniques.verify |= args.verify_techniques;
    techniques
}

/// A parameter that is given twice: one of the values would be lost.
fn twice(text: &str) -> Option<UsageProblem> {
    let (name, settings) = text.split_once(':')?;
    let keys: Vec<_> =
        settings.split(',').filter_map(|setting| Some(setting.split_once('=')?.0.trim())).collect();
    let (_, key) = keys.iter().enumerate().find(|(place, key)| keys[..*place].contains(key))?;
    Some(UsageProblem {
        message: format!("`{key}` of `{}` is given twice", name.trim()),
        help: "give it once".to_owned(),
    })
}

/// What is not possible together, or on this GPU.
pub fn check(techniques: &Techniques, config: &Config, refused: &mut Vec<UsageProblem>) {
    refused.extend(techniques.validate(config).err().unwrap_or_default().into_iter().map(UsageProblem::from));
}

/// Enables the injection of a fault; it needs a technique that stores data at that site.
pub fn inject(place: FaultPlace, techniques: &mut Techniques) -> Result<(), Failure> {
    let fault = match place {
        FaultPlace::Rf => InjectedFault::Rf,
        FaultPlace::Cache => InjectedFault::Cache,
        FaultPlace::Dram => InjectedFault::Dram,
    };
    if !techniques.on().any(|technique| technique.stores.contains(&fault)) {
        let message = format!(
            "`--inject-fault {}` has no effect: no enabled technique stores data in the {}",
            fault.name(),
            fault.place()
        );
        return Err(Failure::usage(message).help("add `--with NAME`; `warpwatt list techniques` shows them"));
    }
    techniques.inject = Some(fault);
    techniques.verify = true;
    Ok(())
}

/// `list techniques`.
pub fn list(args: &ListArgs, console: &Console) -> Result<Exit, Failure> {
    if let Some(name) = &args.show {
        console.result(&show(find(name)?)?);
        return Ok(Exit::Ok);
    }
    if let Some(path) = &args.json {
        let all = Techniques::ALL.iter().copied().map(as_json).collect::<Result<Vec<_>, _>>()?;
        let text = serde_json::to_string_pretty(&json!({ "techniques": all }))
            .map_err(|error| Failure::new(Exit::Internal, error.to_string()))?;
        write_result(path, &(text + "\n"), console)?;
        return Ok(Exit::Ok);
    }
    let all = Techniques::ALL.iter().copied().map(headline).collect::<Vec<_>>();
    console.result(&all.join("\n"));
    console.summary("\n`--with NAME` enables one. `--show NAME` prints its parameters and counters.\n");
    Ok(Exit::Ok)
}

fn find(name: &str) -> Result<&'static Technique, Failure> {
    Techniques::ALL.iter().copied().find(|info| info.name == name).ok_or_else(|| {
        let names: Vec<_> = Techniques::ALL.iter().map(|info| info.name).collect();
        Failure::usage(format!("there is no technique `{name}`")).help(match suggest::nearest(name, &names) {
            Some(nearest) => format!("did you mean `{nearest}`?"),
            None => format!("there are: {}", names.join(", ")),
        })
    })
}

/// A technique with its default settings.
fn usual(info: &Technique) -> Result<Techniques, Failure> {
    let mut techniques = Techniques::default();
    techniques.with(info.name).map_err(|error| Failure::new(Exit::Internal, error.to_string()))?;
    Ok(techniques)
}

fn headline(info: &Technique) -> String {
    let first = format!("{} ({}): {}", info.name, info.places().join(", "), info.paper);
    paragraph(&first, 0) + &paragraph(info.doc, 2)
}

fn show(info: &Technique) -> Result<String, Failure> {
    let mut out = headline(info);
    let _ = writeln!(out, "\nparameters, as in `--with {}:KEY=VALUE,KEY=VALUE`", info.name);
    for (parameter, value) in usual(info)?.values(info) {
        let default = format!("{value} {}", parameter.unit);
        let _ = write!(
            out,
            "\n  {} = {}    can be {}\n{}",
            parameter.name,
            default.trim_end(),
            Techniques::legal(parameter.kind),
            paragraph(parameter.doc, 6)
        );
    }
    out += "\ncounters (while it is enabled)\n";
    for counter in info.counters {
        let _ = write!(out, "\n  {}\n{}", counter.name, paragraph(counter.doc, 6));
    }
    Ok(out)
}

fn as_json(info: &Technique) -> Result<serde_json::Value, Failure> {
    let parameters: Vec<_> = usual(info)?
        .values(info)
        .map(|(parameter, value)| {
            json!({
                "name": parameter.name,
                "key": parameter.key,
                "default": value,
                "unit": parameter.unit,
                "legal": Techniques::legal(parameter.kind),
                "description": parameter.doc,
            })
        })
        .collect();
    let counters: Vec<_> = info
        .counters
        .iter()
        .map(|counter| json!({ "name": counter.name, "description": counter.doc }))
        .collect();
    Ok(json!({
        "name": info.name,
        "acts_in": info.places(),
        "excludes": info.excludes,
        "needs": info.needs,
        "faults": info.stores.iter().map(|fault| fault.name()).collect::<Vec<_>>(),
        "description": info.doc,
        "paper": info.paper,
        "parameters": parameters,
        "counters": counters,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(with: &[&str], set: &[&str]) -> (Techniques, Vec<UsageProblem>) {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        let mut refused = Vec::new();
        let args = GpuArgs { with: owned(with), set: owned(set), ..GpuArgs::default() };
        let techniques = choose(&args, &mut refused);
        (techniques, refused)
    }

    #[test]
    fn with_and_set_are_the_same_and_settings_come_last() {
        let (one, none) = chosen(&["warped-compression:gating=off"], &[]);
        assert_eq!(none, []);
        let (other, _) = chosen(&[], &["technique.warped-compression.gating=off"]);
        assert_eq!(one, other);
        let (both, none) = chosen(
            &["warped-compression:gating=off"],
            &["technique.warped-compression.gating=on", "sm.warps=32"],
        );
        assert_eq!((both.canonical(), none), (vec!["warped-compression".to_owned()], Vec::new()));
    }

    #[test]
    fn each_mistake_is_told_with_what_to_do() {
        let (_, refused) = chosen(
            &[
                "warped-compression:gating=on, gating=off",
                "warped-compression",
                "warped-compression",
                "wrapped",
            ],
            &["technique.warped-compression.gating", "technique.gating=on"],
        );
        let messages: Vec<_> = refused.iter().map(|told| told.message.as_str()).collect();
        assert_eq!(
            messages,
            [
                "`gating` of `warped-compression` is given twice",
                "`warped-compression` is asked for twice",
                "there is no technique `wrapped`",
                "`technique.warped-compression.gating` has no value",
                "`technique.gating` names no parameter",
            ]
        );
        assert!(refused.iter().all(|told| !told.help.is_empty()));
    }

    #[test]
    fn a_fault_needs_something_that_stores() {
        let (mut techniques, _) = chosen(&[], &[]);
        assert!(inject(FaultPlace::Rf, &mut techniques).is_err_and(|failure| failure.exit == Exit::Usage));
        let (mut techniques, _) = chosen(&["warped-compression"], &[]);
        techniques.verify = false;
        assert!(inject(FaultPlace::Rf, &mut techniques).is_ok());
        assert!(techniques.verify && techniques.inject == Some(InjectedFault::Rf));
    }

    #[test]
    fn a_technique_is_shown_within_a_hundred_columns() {
        for info in Techniques::ALL {
            let text = show(info).expect("it can be switched on");
            for line in text.lines() {
                assert!(line.chars().count() <= 100, "{line}");
            }
            for parameter in (info.parameters)() {
                assert!(text.contains(&format!("\n  {} = ", parameter.name)), "{}", parameter.name);
            }
            for counter in info.counters {
                assert!(text.contains(counter.name));
            }
        }
    }
}
