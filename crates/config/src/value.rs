// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kinds of value that a parameter can have, and how each is written.

/// What a parameter takes, for messages, the schema and the documentation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ParameterKind {
    /// A whole number from `min` to `max`.
    Integer { min: u32, max: u32 },
    /// `true` or `false`.
    Switch,
    /// One of some words.
    Choice(&'static [&'static str]),
    /// The name of a file, or nothing.
    File,
}

impl std::fmt::Display for ParameterKind {
    /// What is legal, as in “allowed: 1–64”.
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            ParameterKind::Integer { min, max } => write!(f, "{min}–{max}"),
            ParameterKind::Switch => f.write_str("true or false"),
            ParameterKind::Choice(words) => f.write_str(&words.join(", ")),
            ParameterKind::File => f.write_str("the name of a file, without commas"),
        }
    }
}

/// A value that a parameter can have.
pub trait Value: Copy + PartialEq {
    /// What is legal, given the range of the declaration.
    fn kind(range: (u32, u32)) -> ParameterKind;
    /// Reads a value; `None` if the text is none of this kind. The unit decides whether sizes such as `16KB` are understood.
    fn read(text: &str, unit: &str) -> Option<Self>;
    fn show(self) -> String;
    /// As a number, for the range check.
    fn number(self) -> Option<u32>;
}

impl Value for u32 {
    fn kind((min, max): (u32, u32)) -> ParameterKind {
        ParameterKind::Integer { min, max }
    }

    fn read(text: &str, unit: &str) -> Option<u32> {
        let sizes = [("KB", 10), ("MB", 20)];
        let size = sizes.iter().find_map(|(name, shift)| Some((text.strip_suffix(name)?, shift)));
        match size {
            Some((number, shift)) if unit == "bytes" => u32::read(number, "")?.checked_mul(1 << shift),
            _ if text.starts_with(|first: char| first.is_ascii_digit()) => text.replace('_', "").parse().ok(),
            _ => None,
        }
    }

    fn show(self) -> String {
        self.to_string()
    }

    fn number(self) -> Option<u32> {
        Some(self)
    }
}

impl Value for bool {
    fn kind(_: (u32, u32)) -> ParameterKind {
        ParameterKind::Switch
    }

    fn read(text: &str, _: &str) -> Option<bool> {
        match text {
            "true" | "on" => Some(true),
            "false" | "off" => Some(false),
            _ => None,
        }
    }

    fn show(self) -> String {
        self.to_string()
    }

    fn number(self) -> Option<u32> {
        None
    }
}

/// The name of a file. Names live as long as the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FileName(pub &'static str);

impl FileName {
    /// No file.
    pub const NONE: FileName = FileName("");
}

impl Value for FileName {
    fn kind(_: (u32, u32)) -> ParameterKind {
        ParameterKind::File
    }

    fn read(text: &str, _: &str) -> Option<FileName> {
        (!text.contains([',', '\n'])).then(|| FileName(text.to_owned().leak()))
    }

    fn show(self) -> String {
        self.0.to_owned()
    }

    fn number(self) -> Option<u32> {
        None
    }
}

/// Declares an enumeration whose variants are words in files and on the command line.
#[macro_export]
macro_rules! choice {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum $name { $($(#[$doc])* $variant,)* }

        impl $crate::Value for $name {
            fn kind(_: (u32, u32)) -> $crate::ParameterKind {
                $crate::ParameterKind::Choice(&[$($word),*])
            }
            fn read(text: &str, _: &str) -> Option<Self> {
                match text { $($word => Some($name::$variant),)* _ => None }
            }
            fn show(self) -> String {
                match self { $($name::$variant => $word,)* }.to_owned()
            }
            fn number(self) -> Option<u32> {
                None
            }
        }
    };
}
