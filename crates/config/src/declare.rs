// SPDX-License-Identifier: MIT OR Apache-2.0
//! The macro that declares parameters: each once, with type, default, range, unit and meaning. Structures, reading, writing and
//! documentation all come from the declaration.

use crate::value::ParameterKind;

/// What is known about a parameter besides its value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parameter {
    /// Dotted, as in files and on the command line.
    pub key: &'static str,
    /// The part of the key before the last dot.
    pub section: &'static str,
    /// The part of the key after the last dot.
    pub name: &'static str,
    pub kind: ParameterKind,
    pub unit: &'static str,
    pub doc: &'static str,
}

/// Parameters that belong together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Section {
    /// Dotted, as in files.
    pub key: &'static str,
    pub doc: &'static str,
}

/// Why a value was not taken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refusal {
    UnknownKey,
    /// Not a value of the parameter's kind, or out of its range.
    BadValue(ParameterKind),
}

/// Values of a technique's parameters.
pub trait Settings: std::any::Any + std::fmt::Debug + Send + Sync {
    /// The value of a parameter, by its name without the technique's, as it is written.
    fn get(&self, name: &str) -> Option<String>;
    /// Gives a parameter a value, if it is one of its kind and in its range.
    fn set(&mut self, name: &str, text: &str) -> Result<(), Refusal>;
    fn boxed(&self) -> Box<dyn Settings>;
    fn equals(&self, other: &dyn Settings) -> bool;
    fn as_any(&self) -> &dyn std::any::Any;
}

impl dyn Settings {
    /// The values as the type that the technique declares. A technique reads only its own settings.
    pub fn of<T: 'static>(&self) -> &T {
        self.as_any().downcast_ref().expect("a technique reads its own settings")
    }
}

macro_rules! parameters {
    ($(
        #[doc = $section_doc:literal]
        $section:ident: $name:ident = $prefix:literal {
            $($field:ident: $ty:ty = $default:expr, $range:expr, $unit:literal, $doc:literal;)*
        }
    )*) => {
        $(
            #[doc = $section_doc]
            #[derive(Clone, PartialEq, Eq, Debug)]
            pub struct $name { $(#[doc = $doc] pub $field: $ty,)* }

            impl Default for $name {
                fn default() -> Self {
                    $name { $($field: $default,)* }
                }
            }
        )*

        /// Every parameter of a GPU.
        #[derive(Clone, PartialEq, Eq, Debug, Default)]
        pub struct Config { $(#[doc = $section_doc] pub $section: $name,)* }

        impl Config {
            /// All sections, in the order of their declaration.
            pub const SECTIONS: &'static [Section] = &[$(Section { key: $prefix, doc: $section_doc.trim_ascii_start() },)*];

            /// All parameters, in the order of their declaration.
            pub fn parameters() -> &'static [Parameter] {
                static ALL: std::sync::LazyLock<Vec<Parameter>> = std::sync::LazyLock::new(|| {
                    let range = |range: std::ops::RangeInclusive<u32>| (*range.start(), *range.end());
                    vec![$($(Parameter {
                        key: concat!($prefix, ".", stringify!($field)),
                        section: $prefix,
                        name: stringify!($field),
                        kind: <$ty as Value>::kind(range($range)),
                        unit: $unit,
                        doc: $doc,
                    },)*)*]
                });
                &ALL
            }

            /// The value of a parameter, as it is written.
            pub fn get(&self, key: &str) -> Option<String> {
                match key {
                    $($(concat!($prefix, ".", stringify!($field)) => Some(self.$section.$field.show()),)*)*
                    _ => None,
                }
            }

            /// Gives a parameter a value, if it is one of its kind and in its range.
            pub fn set(&mut self, key: &str, text: &str) -> Result<(), Refusal> {
                match key {
                    $($(concat!($prefix, ".", stringify!($field)) => {
                        let range = $range;
                        let kind = <$ty as Value>::kind((*range.start(), *range.end()));
                        let value = <$ty as Value>::read(text.trim(), $unit).ok_or(Refusal::BadValue(kind))?;
                        if value.number().is_some_and(|number| !range.contains(&number)) {
                            return Err(Refusal::BadValue(kind));
                        }
                        self.$section.$field = value;
                        Ok(())
                    })*)*
                    _ => Err(Refusal::UnknownKey),
                }
            }
        }
    };
}
pub(crate) use parameters;

/// Declares the parameters of a technique, which are written `technique.NAME.parameter`: the same form as those of a GPU.
#[macro_export]
macro_rules! technique_parameters {
    (
        $(#[$meta:meta])*
        $name:ident = $technique:literal {
            $($field:ident: $ty:ty = $default:expr, $range:expr, $unit:literal, $doc:literal;)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, PartialEq, Eq, Debug)]
        pub struct $name { $(#[doc = $doc] pub $field: $ty,)* }

        impl Default for $name {
            fn default() -> Self {
                $name { $($field: $default,)* }
            }
        }

        impl $name {
            /// All parameters, in the order of their declaration.
            pub fn parameters() -> &'static [$crate::Parameter] {
                static ALL: std::sync::LazyLock<Vec<$crate::Parameter>> = std::sync::LazyLock::new(|| {
                    let range = |range: std::ops::RangeInclusive<u32>| (*range.start(), *range.end());
                    vec![$($crate::Parameter {
                        key: concat!("technique.", $technique, ".", stringify!($field)),
                        section: concat!("technique.", $technique),
                        name: stringify!($field),
                        kind: <$ty as $crate::Value>::kind(range($range)),
                        unit: $unit,
                        doc: $doc,
                    },)*]
                });
                &ALL
            }
        }

        impl $crate::Settings for $name {
            fn get(&self, name: &str) -> Option<String> {
                match name {
                    $(stringify!($field) => Some($crate::Value::show(self.$field)),)*
                    _ => None,
                }
            }

            fn set(&mut self, name: &str, text: &str) -> Result<(), $crate::Refusal> {
                match name {
                    $(stringify!($field) => {
                        let range = $range;
                        let kind = <$ty as $crate::Value>::kind((*range.start(), *range.end()));
                        let refused = $crate::Refusal::BadValue(kind);
                        let value = <$ty as $crate::Value>::read(text.trim(), $unit).ok_or(refused.clone())?;
                        if $crate::Value::number(value).is_some_and(|number| !range.contains(&number)) {
                            return Err(refused);
                        }
                        self.$field = value;
                        Ok(())
                    })*
                    _ => Err($crate::Refusal::UnknownKey),
                }
            }

            fn boxed(&self) -> Box<dyn $crate::Settings> {
                Box::new(self.clone())
            }

            fn equals(&self, other: &dyn $crate::Settings) -> bool {
                other.as_any().downcast_ref() == Some(self)
            }

            fn as_any(&self) -> &dyn std::any::Any {
                self
            }
        }
    };
}
