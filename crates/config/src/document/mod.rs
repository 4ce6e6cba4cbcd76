// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files in TOML as trees with positions. Every run reads a GPU and a technology, for which a general parser takes longer than for the rest of
//! a run's preparation: files in the plain form of the built-in ones are read by [`quick`], all others by the `toml` crate, which also
//! explains what is no TOML. Tests compare the two, positions included.

mod deserialize;
mod quick;

use std::borrow::Cow;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

pub use deserialize::from_plain;
pub(crate) use quick::quick;

/// Keys with their values, in the order of keys.
#[derive(Default, PartialEq, Debug)]
pub(crate) struct Table<'t>(Vec<(Spanned<Cow<'t, str>>, Spanned<Value<'t>>)>);

#[derive(PartialEq, Debug)]
pub(crate) enum Value<'t> {
    String(Cow<'t, str>),
    Integer {
        digits: Cow<'t, str>,
        radix: u32,
    },
    /// As written.
    Float(Cow<'t, str>),
    Boolean(bool),
    Date,
    List(Vec<Spanned<Value<'t>>>),
    Table(Table<'t>),
}

impl<'t> Table<'t> {
    /// A document in any form of TOML.
    pub fn parse(text: &'t str) -> Result<Table<'t>, toml::de::Error> {
        Ok(DeTable::parse(text)?.into_inner().into())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn get(&self, key: &str) -> Option<&Spanned<Value<'t>>> {
        self.place(key).ok().map(|place| &self.0[place].1)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&Spanned<Cow<'t, str>>, &Spanned<Value<'t>>)> {
        self.0.iter().map(|(key, value)| (key, value))
    }

    /// Where a key is, or where it belongs.
    fn place(&self, key: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|(known, _)| (**known.get_ref()).cmp(key))
    }
}

impl<'t> Value<'t> {
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::String(text) => Some(text),
            _ => None,
        }
    }
}

impl<'t> From<DeTable<'t>> for Table<'t> {
    fn from(table: DeTable<'t>) -> Self {
        let mut entries: Vec<_> = table.into_iter().map(|(key, value)| (key, converted(value))).collect();
        entries.sort_by(|(a, _), (b, _)| a.get_ref().cmp(b.get_ref()));
        Table(entries)
    }
}

fn converted(value: Spanned<DeValue>) -> Spanned<Value> {
    let span = value.span();
    let value = match value.into_inner() {
        DeValue::String(text) => Value::String(text),
        DeValue::Integer(number) => {
            Value::Integer { digits: Cow::Owned(number.as_str().to_owned()), radix: number.radix() }
        }
        DeValue::Float(number) => Value::Float(Cow::Owned(number.as_str().to_owned())),
        DeValue::Boolean(switch) => Value::Boolean(switch),
        DeValue::Datetime(_) => Value::Date,
        DeValue::Array(values) => Value::List(values.into_iter().map(converted).collect()),
        DeValue::Table(table) => Value::Table(table.into()),
    };
    Spanned::new(span, value)
}
