// SPDX-License-Identifier: MIT OR Apache-2.0
//! Writes GPU files that give the same parameters when read; optionally with comments.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::file::ROOT;
use crate::listing::shown;
use crate::{Config, GpuFile, PRESETS, Parameter, ParameterKind, Reason};

/// All parameters as TOML, with meaning, unit and legal values if `annotated`.
pub fn to_toml(config: &Config, annotated: bool) -> String {
    written(config, annotated, &BTreeMap::new())
}

/// All parameters as TOML; the reason for each value, where one is known, is a separate comment.
fn written(config: &Config, annotated: bool, reasons: &BTreeMap<&'static str, Reason>) -> String {
    let mut out = String::new();
    for section in Config::SECTIONS {
        let gap = if out.is_empty() { "" } else { "\n" };
        out.push_str(gap);
        if annotated {
            let _ = writeln!(out, "# {}", section.doc);
        }
        let _ = writeln!(out, "[{}]", section.key);
        for parameter in Config::parameters().iter().filter(|parameter| parameter.section == section.key) {
            if annotated {
                let _ = writeln!(out, "# {} {}", parameter.doc, legal(parameter));
                if let Some(reason) = reasons.get(parameter.key) {
                    let _ = writeln!(out, "# {}: {reason}", reason.gpu);
                }
            }
            let _ = writeln!(out, "{} = {}", parameter.name, quoted(config, parameter));
        }
    }
    out
}

impl GpuFile {
    /// The whole file: header and all parameters. Without a name it will be called like the file that it is written to.
    pub fn to_toml(&self, annotated: bool) -> String {
        let text = |text: &str| toml::Value::from(text).to_string();
        let mut out = String::new();
        for (key, value) in [("name", &self.name), ("description", &self.description)] {
            if !value.is_empty() {
                let _ = writeln!(out, "{key} = {}", text(value));
            }
        }
        // All parameters follow, so that a file that was inherited from is not needed.
        let preset = PRESETS.iter().any(|preset| preset.name == self.inherits);
        let _ = writeln!(out, "inherits = {}\n", text(if preset { &self.inherits } else { ROOT }));
        out + &written(&self.config, annotated, &self.reasons)
    }
}

/// Unit and range in brackets.
fn legal(parameter: &Parameter) -> String {
    let unit = if parameter.unit.is_empty() { "" } else { " " };
    format!("({}{unit}{})", parameter.kind, parameter.unit)
}

fn quoted(config: &Config, parameter: &Parameter) -> String {
    let value = shown(config, parameter);
    if matches!(parameter.kind, ParameterKind::Choice(_) | ParameterKind::File) {
        format!("\"{value}\"")
    } else {
        value
    }
}
