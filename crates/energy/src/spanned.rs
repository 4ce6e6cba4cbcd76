// SPDX-License-Identifier: MIT OR Apache-2.0
//! A value with its place in a file, for messages. Other than that of the TOML reader, it can be part of a constant.

use std::ops::Range;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[derive(Clone, PartialEq, Debug)]
pub struct Spanned<T> {
    pub value: T,
    /// Bytes of the file.
    pub span: Range<usize>,
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Spanned<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let found = toml::Spanned::deserialize(deserializer)?;
        Ok(Spanned { span: found.span(), value: found.into_inner() })
    }
}

/// For the defaults in a schema.
impl<T: Serialize> Serialize for Spanned<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value.serialize(serializer)
    }
}
