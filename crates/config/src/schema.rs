// SPDX-License-Identifier: MIT OR Apache-2.0
//! The JSON schema of a GPU file, from the declarations; editors use it to complete and check.

use serde_json::{Value, json};

use crate::listing::values;
use crate::{Config, Kind, PRESETS, Parameter};

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
            "name": { "type": "string", "description": "What the GPU is called." },
            "description": { "type": "string", "description": "One line about it." },
            "inherits": {
                "enum": names,
                "default": names[0],
                "description": "The GPU that this file lists differences from.",
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
            let mut rule = kind(parameter);
            rule["default"] = defaults[parameter.key].clone();
            at["properties"][parameter.name] = rule;
        }
    }
    schema
}

fn kind(parameter: &Parameter) -> Value {
    let unit = if parameter.unit.is_empty() { String::new() } else { format!(" In {}.", parameter.unit) };
    let description = format!("{}{unit}", parameter.doc);
    match parameter.kind {
        Kind::Integer { min, max } => {
            json!({ "type": "integer", "minimum": min, "maximum": max, "description": description })
        }
        Kind::Switch => json!({ "type": "boolean", "description": description }),
        Kind::Choice(words) => json!({ "enum": words, "description": description }),
        Kind::File => json!({ "type": "string", "description": description }),
    }
}
