// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values of any type from documents in the plain form.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::value::{
    BorrowedStrDeserializer, Error, MapDeserializer, SeqDeserializer, StringDeserializer,
};
use serde::de::{self, Error as _, IntoDeserializer};
use serde_spanned::de::{SpannedDeserializer, is_spanned};
use toml::Spanned;

use super::{Value, quick};

/// A document in the plain form as a value; `None` where it has another form or is not right: the general parser has to be asked then.
pub fn from_plain<'t, T: Deserialize<'t>>(text: &'t str) -> Option<T> {
    let root = Spanned::new(0..text.len(), Value::Table(quick(text)?));
    T::deserialize(Node(root)).ok()
}

struct Node<'t>(Spanned<Value<'t>>);

impl<'t> IntoDeserializer<'t> for Node<'t> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

/// A key or a text.
struct Text<'t>(Cow<'t, str>);

impl<'t> IntoDeserializer<'t> for Text<'t> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> de::Deserializer<'de> for Text<'de> {
    type Error = Error;

    fn deserialize_any<V: de::Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
            Cow::Owned(text) => visitor.visit_string(text),
        }
    }

    serde::forward_to_deserialize_any! {
        bool u8 u16 u32 u64 u128 i8 i16 i32 i64 i128 f32 f64 char str string seq option newtype_struct struct enum
        bytes byte_buf map unit ignored_any unit_struct tuple_struct tuple identifier
    }
}

impl<'de> de::Deserializer<'de> for Node<'de> {
    type Error = Error;

    fn deserialize_any<V: de::Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0.into_inner() {
            Value::String(text) => Text(text).deserialize_any(visitor),
            Value::Integer { digits, radix } => {
                visitor.visit_i64(i64::from_str_radix(&digits, radix).map_err(Error::custom)?)
            }
            Value::Float(digits) => match digits.parse::<f64>() {
                Ok(number) if number.is_finite() => visitor.visit_f64(number),
                _ => Err(Error::custom("no number")),
            },
            Value::Boolean(switch) => visitor.visit_bool(switch),
            Value::Date => Err(Error::custom("a date")),
            Value::List(values) => visitor.visit_seq(SeqDeserializer::new(values.into_iter().map(Node))),
            Value::Table(table) => visitor.visit_map(MapDeserializer::new(
                table.0.into_iter().map(|(key, value)| (Text(key.into_inner()), Node(value))),
            )),
        }
    }

    // What is there is not missing.
    fn deserialize_option<V: de::Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: de::Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_struct<V: de::Visitor<'de>>(
        self,
        name: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        if is_spanned(name) {
            let span = self.0.span();
            return visitor.visit_map(SpannedDeserializer::new(self, span));
        }
        self.deserialize_any(visitor)
    }

    fn deserialize_enum<V: de::Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.0.into_inner() {
            Value::String(Cow::Borrowed(name)) => visitor.visit_enum(BorrowedStrDeserializer::new(name)),
            Value::String(Cow::Owned(name)) => visitor.visit_enum(StringDeserializer::new(name)),
            // A variant with content: rare, and left to the general parser.
            _ => Err(Error::custom("no name")),
        }
    }

    serde::forward_to_deserialize_any! {
        bool u8 u16 u32 u64 u128 i8 i16 i32 i64 i128 f32 f64 char str string seq bytes byte_buf map unit ignored_any
        unit_struct tuple_struct tuple identifier
    }
}
