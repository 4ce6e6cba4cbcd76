// SPDX-License-Identifier: MIT OR Apache-2.0
//! The JSON schema of a GPU file, from the declarations; editors use it to complete and check.

use serde_json::{Value, json};

use crate::listing::values;
use crate::sizes::SIZES;
use crate::{Config, MEMORIES, PRESETS, Parameter, ParameterKind};

/// The schema of `warpwatt.gpu/1` as a JSON document.
pub fn gpu_schema() -> Value {
    let names: Vec<_> = PRESETS.iter().map(|preset| preset.name).collect();
    let mut schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "warpwatt.gpu/1",
        "title": "GpuFile",
        "description": "The parameters of a GPU, as differences from another one.",
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "name": { "type": "string", "description": "Name of the GPU." },
            "description": { "type": "string", "description": "One line about it." },
            "inherits": {
                "anyOf": [{ "enum": names }, { "type": "string", "pattern": "(\\.toml$|/)" }],
                "default": names[0],
                "description": "The GPU that this file lists differences from: a built-in one, or a file, relative to this one.",
            },
            "memory": {
                "enum": MEMORIES.iter().map(|memory| memory.name).collect::<Vec<_>>(),
                "description": "A built-in memory, whose clock, geometry and timing replace the inherited ones.",
            },
            "rest": {
                "type": "string",
                "description": "Why the parameters that the file does not list are those of the GPU that it inherits from.",
            },
        },
    });
    let defaults = values(&Config::default());
    for section in Config::SECTIONS {
        let mut at = &mut schema;
        for part in section.key.split('.') {
            at = &mut at["properties"][part];
            at["type"] = "object".into();
            at["additionalProperties"] = false.into();
        }
        at["description"] = section.doc.into();
        for parameter in Config::parameters().iter().filter(|parameter| parameter.section == section.key) {
            let mut rule = with_reason(&kind(parameter));
            rule["description"] = described(parameter).into();
            rule["default"] = defaults[parameter.key].clone();
            at["properties"][parameter.name] = rule;
        }
    }
    for size in SIZES {
        let section = size.key.trim_end_matches(".bytes").replace('.', "/properties/");
        if let Some(at) = schema.pointer_mut(&format!("/properties/{section}/properties")) {
            at["bytes"] = json!({
                "anyOf": [{ "type": "integer", "minimum": 1, "maximum": u32::MAX }, { "type": "string" }],
                "description": format!("Size in bytes, {}: sets {}.", size.formula, size.sets),
            });
        }
    }
    schema
}

fn described(parameter: &Parameter) -> String {
    let unit = if parameter.unit.is_empty() { String::new() } else { format!(" In {}.", parameter.unit) };
    format!("{}{unit}", parameter.doc)
}

fn kind(parameter: &Parameter) -> Value {
    match parameter.kind {
        ParameterKind::Integer { min, max } => json!({ "type": "integer", "minimum": min, "maximum": max }),
        ParameterKind::Switch => json!({ "type": "boolean" }),
        ParameterKind::Choice(words) => json!({ "enum": words }),
        ParameterKind::File => json!({ "type": "string" }),
    }
}

/// A value, or a table with the value and its reason.
fn with_reason(value: &Value) -> Value {
    let text = |description: &str| json!({ "type": "string", "description": description });
    let table = json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "value": value,
            "source": text("Source of the value."),
            "agrees": text("Source that confirms the inherited value."),
            "choice": text("Why this value was chosen."),
        },
    });
    json!({ "anyOf": [value, table] })
}
