// SPDX-License-Identifier: MIT OR Apache-2.0
//! The JSON schema of the run record, made from the record's own types.

use crate::record::RunRecord;

/// The schema of `warpwatt.run/2` as a JSON document.
pub fn run_schema() -> serde_json::Value {
    let mut schema = serde_json::to_value(schemars::schema_for!(RunRecord)).unwrap_or_default();
    if let Some(object) = schema.as_object_mut() {
        object.insert("$id".to_owned(), crate::RUN_SCHEMA.into());
    }
    schema
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_schema_names_every_part_of_a_record() {
        let schema = super::run_schema();
        let parts = schema["properties"].as_object().expect("an object schema");
        for part in [
            "schema",
            "tool",
            "mode",
            "status",
            "inputs",
            "kernels",
            "by_kernel",
            "totals",
            "check",
            "diagnostics",
            "host",
        ] {
            assert!(parts.contains_key(part), "{part}");
        }
    }
}
