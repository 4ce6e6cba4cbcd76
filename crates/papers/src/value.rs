// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values of claims: a number, words for an ordering, a map, or a table of rows.

use serde::{Deserialize, Serialize};

use crate::number::shown;

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ClaimValue {
    Number(f64),
    Words(String),
    Map(toml::Table),
}

impl ClaimValue {
    pub fn number(&self) -> Option<f64> {
        match self {
            ClaimValue::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// Of a table, how many values its rows have, or none if they differ; none for anything else.
    pub fn columns(&self) -> Option<Option<usize>> {
        let ClaimValue::Map(map) = self else { return None };
        let lengths: Vec<_> = map.values().filter_map(|row| Some(row.as_array()?.len())).collect();
        let first = *lengths.first()?;
        Some((lengths.len() == map.len() && lengths.iter().all(|length| *length == first)).then_some(first))
    }

    /// The value itself under an empty name; of a map each entry; of a table each place as `row.column`. Words have none.
    pub fn entries(&self, columns: &[String]) -> Vec<(String, f64)> {
        match self {
            ClaimValue::Number(number) => vec![(String::new(), *number)],
            ClaimValue::Words(_) => Vec::new(),
            ClaimValue::Map(map) => map
                .iter()
                .flat_map(|(name, value)| match value.as_array() {
                    Some(row) => row
                        .iter()
                        .zip(columns)
                        .filter_map(|(value, column)| Some((format!("{name}.{column}"), number(value)?)))
                        .collect(),
                    None => number(value).map(|value| (name.clone(), value)).into_iter().collect::<Vec<_>>(),
                })
                .collect(),
        }
    }

    /// As text with its unit.
    pub fn shown(&self, unit: &str) -> String {
        match self {
            ClaimValue::Number(number) => format!("{} {unit}", shown(*number)),
            ClaimValue::Words(words) => words.clone(),
            ClaimValue::Map(map) => format!("{} entries, {unit}", map.len()),
        }
    }
}

fn number(value: &toml::Value) -> Option<f64> {
    value.as_float().or_else(|| value.as_integer().map(|whole| whole as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> ClaimValue {
        #[derive(Deserialize)]
        struct Whole {
            value: ClaimValue,
        }
        toml::from_str::<Whole>(&format!("value = {text}")).expect("a value").value
    }

    #[test]
    fn numbers_words_maps_and_tables_read() {
        let columns = ["ipc", "size"].map(str::to_owned);
        let entries = |text: &str| read(text).entries(&columns);
        assert_eq!(entries("79"), [(String::new(), 79.0)]);
        assert_eq!(entries("\"rises\""), []);
        assert_eq!(entries("{ b = 1.5, a-c = 2 }"), [("a-c".to_owned(), 2.0), ("b".to_owned(), 1.5)]);
        assert_eq!(
            entries("{ corf = [1.04, 0.43] }"),
            [("corf.ipc".to_owned(), 1.04), ("corf.size".to_owned(), 0.43)]
        );
    }

    #[test]
    fn rows_of_a_table_have_the_same_length() {
        assert_eq!(read("{ a = [1, 2], b = [3, 4] }").columns(), Some(Some(2)));
        assert_eq!(read("{ a = [1, 2], b = [3] }").columns(), Some(None));
        assert_eq!(read("{ a = [1, 2], b = 3 }").columns(), Some(None));
        assert_eq!((read("{ a = 1 }").columns(), read("2").columns()), (None, None));
    }
}
