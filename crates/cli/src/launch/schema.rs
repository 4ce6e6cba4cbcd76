// SPDX-License-Identifier: MIT OR Apache-2.0
//! The JSON schema of a launch file, from the declared keys; editors use it to complete and check.

use serde_json::{Map, Value, json};

use super::content::Element;
use super::keys::{BUFFER, STEPS, Section, TEXTURE, ValueKind};

/// The schema of `warpwatt.launch/1` as a JSON document.
pub fn launch_schema() -> Value {
    let steps: Vec<Value> = STEPS.iter().map(|section| object(section, &[section.keys[0].name])).collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "warpwatt.launch/1",
        "title": "LaunchFile",
        "description": "Buffers and steps that stand for a small host program.",
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "ptx": { "type": "string", "description": super::keys::TOP.keys[0].doc },
            "buffer": { "type": "array", "items": object(&BUFFER, &["name"]) },
            "texture": { "type": "array", "items": object(&TEXTURE, &["name", "buffer", "extent", "format"]) },
            "step": { "type": "array", "items": { "anyOf": steps } },
        },
    })
}

fn object(section: &Section, required: &[&str]) -> Value {
    let mut properties = Map::new();
    for key in section.keys {
        let mut value = kind(key.kind);
        value["description"] = key.doc.into();
        properties.insert(key.name.to_owned(), value);
    }
    json!({
        "description": section.doc,
        "type": "object",
        "additionalProperties": false,
        "required": required,
        "properties": properties,
    })
}

fn kind(kind: ValueKind) -> Value {
    let count = json!({ "type": "integer", "minimum": 0 });
    match kind {
        ValueKind::Text => json!({ "type": "string" }),
        ValueKind::Count => count,
        ValueKind::Number => json!({ "type": "number" }),
        ValueKind::Switch => json!({ "type": "boolean" }),
        ValueKind::Extent => {
            json!({ "anyOf": [count, { "type": "array", "items": count, "minItems": 1, "maxItems": 3 }] })
        }
        ValueKind::Numbers => json!({ "type": "array", "items": { "type": "number" } }),
        ValueKind::Args => {
            json!({ "type": "array", "items": { "anyOf": [{ "type": "string" }, argument()] } })
        }
        ValueKind::Random => fields(&[("seed", "integer"), ("lo", "number"), ("hi", "number")]),
        ValueKind::Iota => fields(&[("start", "number"), ("step", "number")]),
    }
}

fn argument() -> Value {
    let mut names = vec![
        ("ptr", "string"),
        ("symbol", "string"),
        ("texture", "string"),
        ("offset", "integer"),
        ("bytes", "array"),
    ];
    names.extend(Element::ALL.map(|(name, _)| (name, "number")));
    fields(&names)
}

fn fields(fields: &[(&str, &str)]) -> Value {
    let properties: Map<_, _> =
        fields.iter().map(|(name, kind)| ((*name).to_owned(), json!({ "type": kind }))).collect();
    json!({ "type": "object", "additionalProperties": false, "properties": properties })
}
