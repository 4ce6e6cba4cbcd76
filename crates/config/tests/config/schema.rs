// SPDX-License-Identifier: MIT OR Apache-2.0
//! The schema accepts every preset and what we write, and nothing that the reader refuses by kind, range or name.

use serde_json::{Value, json};
use warpwatt_config::{Config, PRESETS, gpu_schema, random, reference, to_toml};

/// As much of JSON Schema as our schemas use.
fn accepts(schema: &Value, value: &Value) -> bool {
    if let Some(kinds) = schema["anyOf"].as_array() {
        return kinds.iter().any(|kind| accepts(kind, value));
    }
    if let Some(words) = schema["enum"].as_array() {
        return words.contains(value);
    }
    match schema["type"].as_str() {
        Some("string") => value.as_str().is_some_and(|text| match schema["pattern"].as_str() {
            // The only pattern that there is: the name of a file.
            Some(pattern) => pattern == "(\\.toml$|/)" && (text.ends_with(".toml") || text.contains('/')),
            None => true,
        }),
        Some("boolean") => value.is_boolean(),
        Some("integer") => {
            let bounds = (schema["minimum"].as_i64(), schema["maximum"].as_i64());
            value.as_i64().is_some_and(|number| bounds.0 <= Some(number) && Some(number) <= bounds.1)
        }
        Some("object") => value.as_object().is_some_and(|object| {
            object.iter().all(|(key, value)| match schema["properties"].get(key) {
                Some(rule) => accepts(rule, value),
                None => schema["additionalProperties"] != json!(false),
            })
        }),
        other => panic!("the schema has a type {other:?}"),
    }
}

fn as_json(text: &str) -> Value {
    let table: toml::Table = text.parse().expect("TOML");
    serde_json::to_value(table).expect("JSON")
}

#[test]
fn presets_and_written_files_fit() {
    let schema = gpu_schema();
    for preset in PRESETS {
        assert!(accepts(&schema, &as_json(preset.text)), "{}", preset.name);
    }
    for seed in 0..50 {
        assert!(accepts(&schema, &as_json(&to_toml(&random(seed), false))), "seed {seed}");
    }
}

#[test]
fn schema_and_reader_refuse_the_same() {
    let schema = gpu_schema();
    for text in [
        "[sm]\nwarps = 65",
        "[sm]\nwarps = \"48\"",
        "[sm]\nscheduler = \"fifo\"",
        "[sm.l1d]\nglobal = 1",
        "[sm]\nwarp = 48",
        "[sm.l1d.x]\ny = 1",
        "sm = 3",
        "inherits = \"hd5870\"",
        "name = 3",
        "rest = 3",
        "[sm]\nwarps = { value = 65, source = \"a guess\" }",
        "[sm]\nwarps = { value = 32, reason = \"a guess\" }",
        "[sm]\nwarps = { value = 32, source = 3 }",
    ] {
        assert!(!accepts(&schema, &as_json(text)), "{text}");
        assert!(Config::load(text, "x.toml").is_err(), "{text}");
    }
}

#[test]
fn every_parameter_is_in_schema_and_reference() {
    let (schema, page) = (gpu_schema(), reference());
    for parameter in Config::parameters() {
        let pointer = format!("/properties/{}", parameter.key.replace('.', "/properties/"));
        let rule = schema.pointer(&pointer).unwrap_or_else(|| panic!("{}", parameter.key));
        assert!(rule["description"].as_str().is_some_and(|text| text.starts_with(parameter.doc)));
        assert!(page.contains(&format!("| `{}` |", parameter.key)), "{}", parameter.key);
    }
    for preset in PRESETS {
        assert!(page.contains(&format!("### `{}`", preset.name)));
    }
}
