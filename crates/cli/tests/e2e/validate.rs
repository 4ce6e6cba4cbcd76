// SPDX-License-Identifier: MIT OR Apache-2.0
//! A small JSON-schema validator: the keywords that our own schemas use, and an error for any other.

use serde_json::Value;

/// Where `value` breaks `schema`, if it does.
pub fn violation(root: &Value, schema: &Value, value: &Value, path: &str) -> Option<String> {
    let Some(rules) = schema.as_object() else {
        return (schema == &Value::Bool(false)).then(|| format!("{path}: nothing is allowed here"));
    };
    rules.iter().find_map(|(keyword, rule)| broken(root, rules, keyword, rule, value, path))
}

fn broken(
    root: &Value,
    rules: &serde_json::Map<String, Value>,
    keyword: &str,
    rule: &Value,
    value: &Value,
    path: &str,
) -> Option<String> {
    match keyword {
        "$schema" | "$id" | "$defs" | "title" | "description" | "format" | "default" => None,
        "$ref" => {
            let pointer = rule.as_str().and_then(|text| text.strip_prefix('#')).expect("a local reference");
            violation(root, root.pointer(pointer).expect("the reference leads somewhere"), value, path)
        }
        "type" => {
            let names: Vec<&str> = match rule {
                Value::String(name) => vec![name],
                other => other.as_array().expect("types").iter().filter_map(Value::as_str).collect(),
            };
            (!names.iter().any(|name| has_type(value, name)))
                .then(|| format!("{path}: not {names:?}: {value}"))
        }
        "enum" => (!rule.as_array()?.contains(value)).then(|| format!("{path}: {value} is none of {rule}")),
        "const" => (rule != value).then(|| format!("{path}: {value} is not {rule}")),
        "minimum" => (value.as_f64()? < rule.as_f64()?).then(|| format!("{path}: {value} is below {rule}")),
        "maximum" => (value.as_f64()? > rule.as_f64()?).then(|| format!("{path}: {value} is above {rule}")),
        "minItems" => {
            (value.as_array()?.len() < rule.as_u64()? as usize).then(|| format!("{path}: too short"))
        }
        "maxItems" => {
            (value.as_array()?.len() > rule.as_u64()? as usize).then(|| format!("{path}: too long"))
        }
        "required" => {
            let object = value.as_object()?;
            let missing =
                rule.as_array()?.iter().find(|key| !object.contains_key(key.as_str().unwrap_or_default()))?;
            Some(format!("{path}: {missing} is missing"))
        }
        "properties" => value
            .as_object()?
            .iter()
            .find_map(|(key, inner)| violation(root, rule.get(key)?, inner, &format!("{path}.{key}"))),
        "patternProperties" => value.as_object()?.iter().find_map(|(key, inner)| {
            let rules = rule.as_object()?;
            let inner_rule =
                rules.iter().find_map(|(pattern, rule)| matches(pattern, key).then_some(rule))?;
            violation(root, inner_rule, inner, &format!("{path}.{key}"))
        }),
        "additionalProperties" => {
            let known = rules.get("properties").and_then(Value::as_object);
            let patterns = rules.get("patternProperties").and_then(Value::as_object);
            let others = value.as_object()?.iter().filter(|(key, _)| {
                !known.is_some_and(|known| known.contains_key(*key))
                    && !patterns.is_some_and(|patterns| patterns.keys().any(|pattern| matches(pattern, key)))
            });
            others.into_iter().find_map(|(key, inner)| violation(root, rule, inner, &format!("{path}.{key}")))
        }
        "items" => {
            let list = value.as_array()?;
            list.iter()
                .enumerate()
                .find_map(|(n, inner)| violation(root, rule, inner, &format!("{path}[{n}]")))
        }
        "anyOf" | "oneOf" => {
            let all: Option<Vec<_>> =
                rule.as_array()?.iter().map(|schema| violation(root, schema, value, path)).collect();
            all.map(|reasons| reasons.join(" and "))
        }
        other => Some(format!("{path}: the validator does not know the keyword `{other}`")),
    }
}

/// The only pattern that our schemas have: a whole number as a key.
fn matches(pattern: &str, key: &str) -> bool {
    assert_eq!(pattern, "^\\d+$", "the validator does not know the pattern");
    !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_digit())
}

fn has_type(value: &Value, name: &str) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        _ => false,
    }
}
