// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every key of a sweep file, declared once: advice about unknown keys, the schema and docs/sweeps.md come from here.

use serde_json::{Map, Value, json};

use crate::launch::keys::{Section, ValueKind, key};

pub const SWEEP: Section = Section {
    name: "sweep file",
    doc: "Parameters x workloads (or a program) x techniques: every combination is a point.",
    keys: &[
        key("name", ValueKind::Text, "What tables call the sweep; the name of the file when left out."),
        key("gpu", ValueKind::Args, "Built-in GPUs, or TOML files; `gtx480` when left out."),
        key(
            "technology",
            ValueKind::Text,
            "A built-in technology, or a TOML file; `gtx480-40nm` when left out.",
        ),
        key("workloads", ValueKind::Args, "Built-in workloads, as NAME or NAME@SIZE."),
        key(
            "size",
            ValueKind::Text,
            "Size of workloads that name none: tiny, small, medium or large; `small` when left out.",
        ),
        key("seeds", ValueKind::Numbers, "Seeds of the workloads' inputs; 1 when left out."),
        key("command", ValueKind::Args, "Program and arguments for `exec`, instead of workloads."),
        key(
            "files",
            ValueKind::Args,
            "Files that the program reads, besides those that its arguments name: a change of one makes other points.",
        ),
        key(
            "techniques",
            ValueKind::Args,
            "Sets of techniques, each a text as for `--with`, a list of such texts, or `none`; none when left out.",
        ),
        key(
            "parameters",
            ValueKind::Args,
            "Values for each parameter of the GPU; a key `technique.NAME.KEY` counts where that technique is on.",
        ),
        key("slurm", ValueKind::Args, "Resources and length of array tasks, with `--engine slurm`."),
    ],
};

/// Every key of a sweep file.
pub fn names() -> Vec<&'static str> {
    SWEEP.keys.iter().map(|key| key.name).collect()
}

/// The schema of `warpwatt.sweep/1` as a JSON document.
pub fn schema() -> Value {
    let mut properties = Map::new();
    for key in SWEEP.keys {
        let mut value = shape(key.name);
        value["description"] = key.doc.into();
        properties.insert(key.name.to_owned(), value);
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "warpwatt.sweep/1",
        "title": "SweepFile",
        "description": SWEEP.doc,
        "type": "object",
        "additionalProperties": false,
        "properties": properties,
    })
}

fn shape(name: &str) -> Value {
    let text = json!({ "type": "string" });
    let texts = json!({ "type": "array", "items": text, "minItems": 1 });
    let value = json!({ "type": ["string", "number", "boolean"] });
    match name {
        "gpu" => json!({ "anyOf": [text, texts] }),
        "workloads" | "command" | "files" => texts,
        "seeds" => json!({ "type": "array", "items": { "type": "integer", "minimum": 0 }, "minItems": 1 }),
        "techniques" => {
            let set = json!({ "anyOf": [text, { "type": "array", "items": text }] });
            json!({ "type": "array", "items": set, "minItems": 1 })
        }
        "parameters" => {
            // A key with dots is a table in a table.
            let values = json!({ "anyOf": [value, { "type": "array", "items": value, "minItems": 1 }, { "type": "object" }] });
            json!({ "type": "object", "additionalProperties": values })
        }
        "slurm" => crate::slurm::settings::schema(),
        _ => text,
    }
}
