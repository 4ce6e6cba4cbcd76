// SPDX-License-Identifier: MIT OR Apache-2.0
//! Writes a document in its layout while it is visited. Numbers, and strings with something to escape, are left to `serde_json`: they have
//! the form that it gives them.

use serde::ser::{self, Error as _, Serialize};
use serde_json::Error;
use serde_json::ser::{CompactFormatter, Formatter};

/// A comma, a new line and its indent, for this many levels at once.
const BREAK: &[u8; 2 + 2 * LEVELS] = b",\n                                ";
const LEVELS: usize = 16;

/// Room for most records, so that they are not copied while they grow; memory that is not written to is not taken.
const ROOM: usize = 1 << 20;

pub(super) struct Writer {
    pub out: Vec<u8>,
    /// Lists and objects that are open.
    depth: usize,
    /// Where the entries of the innermost open list begin, as long as all of them are plain values.
    plain: Option<usize>,
}

impl Writer {
    pub fn new() -> Writer {
        Writer { out: Vec::with_capacity(ROOM), depth: 0, plain: None }
    }

    /// Ends the line, and indents the next one.
    fn new_line(&mut self, comma: bool) {
        let levels = self.depth.min(LEVELS);
        self.out.extend_from_slice(&BREAK[usize::from(!comma)..2 + 2 * levels]);
        for _ in levels..self.depth {
            self.out.extend_from_slice(b"  ");
        }
    }

    /// Begins a list or an object, which is an entry of what is open.
    fn open(&mut self, bracket: u8) {
        if let Some(entries) = self.plain.take() {
            self.divide(entries);
        }
        self.out.push(bracket);
        self.depth += 1;
    }

    /// Gives each entry of a list, all plain so far, a line of its own: another kind of entry follows.
    fn divide(&mut self, entries: usize) {
        let before = self.out.split_off(entries);
        self.new_line(false);
        let (mut copied, mut quoted, mut escaped) = (0, false, false);
        for (at, byte) in before.iter().enumerate() {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => quoted = !quoted,
                b',' if !quoted => {
                    self.out.extend_from_slice(&before[copied..at]);
                    self.new_line(true);
                    // Behind the comma is a space.
                    copied = at + 2;
                }
                _ => {}
            }
        }
    }

    fn list(&mut self) -> Open<'_> {
        self.open(b'[');
        self.plain = Some(self.out.len());
        Open { writer: self, empty: true, close: b']', variant: false }
    }

    fn object(&mut self) -> Open<'_> {
        self.open(b'{');
        Open { writer: self, empty: true, close: b'}', variant: false }
    }

    /// The object around a variant with content, up to that.
    fn variant(&mut self, name: &str) -> Result<(), Error> {
        self.open(b'{');
        self.new_line(false);
        self.string(name)?;
        self.out.extend_from_slice(b": ");
        Ok(())
    }

    fn end_variant(&mut self) {
        self.depth -= 1;
        self.new_line(false);
        self.out.push(b'}');
    }

    fn string(&mut self, text: &str) -> Result<(), Error> {
        if needs_escape(text.as_bytes()) {
            return serde_json::to_writer(&mut self.out, text);
        }
        self.out.reserve(text.len() + 2);
        self.out.push(b'"');
        self.out.extend_from_slice(text.as_bytes());
        self.out.push(b'"');
        Ok(())
    }

    /// A value in quotes, as the key of a map.
    fn key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        let start = self.out.len();
        key.serialize(&mut *self)?;
        match self.out.get(start) {
            Some(b'"') => {}
            Some(b'0'..=b'9' | b'-' | b't' | b'f') => {
                self.out.insert(start, b'"');
                self.out.push(b'"');
            }
            _ => return Err(Error::custom("key must be a string")),
        }
        self.out.extend_from_slice(b": ");
        Ok(())
    }
}

/// Whether a string has quotation marks, backslashes or control characters, eight bytes at a time.
fn needs_escape(bytes: &[u8]) -> bool {
    const ONES: u64 = u64::MAX / 255;
    const HIGH: u64 = ONES << 7;
    // The high bit of a byte that is 0; of bytes above it, too, but only where there is one.
    let zero = |word: u64| word.wrapping_sub(ONES) & !word;
    let found = |eight: &[u8; 8]| {
        let word = u64::from_le_bytes(*eight);
        let control = word.wrapping_sub(ONES * 0x20) & !word;
        control | zero(word ^ (ONES * u64::from(b'"'))) | zero(word ^ (ONES * u64::from(b'\\')))
    };
    let (eights, rest) = bytes.as_chunks();
    let mut any = eights.iter().fold(0, |any, eight| any | found(eight));
    if let Some(last) = bytes.last_chunk() {
        any |= found(last);
    } else {
        let mut padded = [b' '; 8];
        padded[..rest.len()].copy_from_slice(rest);
        any |= found(&padded);
    }
    any & HIGH != 0
}

/// A list or an object that is being written.
pub(super) struct Open<'w> {
    writer: &'w mut Writer,
    empty: bool,
    close: u8,
    /// It is the content of a variant, whose object ends with it.
    variant: bool,
}

impl Open<'_> {
    fn of_variant(self) -> Self {
        Open { variant: true, ..self }
    }

    fn entry<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        if !std::mem::replace(&mut self.empty, false) {
            match self.writer.plain {
                Some(_) => self.writer.out.extend_from_slice(b", "),
                None => self.writer.new_line(true),
            }
        }
        value.serialize(&mut *self.writer)
    }

    fn begin_field(&mut self) {
        self.writer.new_line(!self.empty);
        self.empty = false;
    }

    fn field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), Error> {
        self.begin_field();
        self.writer.string(key)?;
        self.writer.out.extend_from_slice(b": ");
        value.serialize(&mut *self.writer)
    }

    fn finish(self) -> Result<(), Error> {
        self.writer.depth -= 1;
        // What is around this has an entry that is not plain.
        if self.writer.plain.take().is_none() && !self.empty {
            self.writer.new_line(false);
        }
        self.writer.out.push(self.close);
        if self.variant {
            self.writer.end_variant();
        }
        Ok(())
    }
}

macro_rules! entries {
    ($($kind:ident $add:ident;)*) => {$(
        impl ser::$kind for Open<'_> {
            type Ok = ();
            type Error = Error;

            fn $add<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
                self.entry(value)
            }

            fn end(self) -> Result<(), Error> {
                self.finish()
            }
        }
    )*};
}

entries! {
    SerializeSeq serialize_element;
    SerializeTuple serialize_element;
    SerializeTupleStruct serialize_field;
    SerializeTupleVariant serialize_field;
}

macro_rules! fields {
    ($($kind:ident)*) => {$(
        impl ser::$kind for Open<'_> {
            type Ok = ();
            type Error = Error;

            fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), Error> {
                self.field(key, value)
            }

            fn end(self) -> Result<(), Error> {
                self.finish()
            }
        }
    )*};
}

fields! { SerializeStruct SerializeStructVariant }

impl ser::SerializeMap for Open<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        self.begin_field();
        self.writer.key(key)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        value.serialize(&mut *self.writer)
    }

    fn end(self) -> Result<(), Error> {
        self.finish()
    }
}

macro_rules! numbers {
    ($($name:ident $ty:ty => $write:ident;)*) => {$(
        fn $name(self, value: $ty) -> Result<(), Error> {
            CompactFormatter.$write(&mut self.out, value).map_err(Error::custom)
        }
    )*};
}

macro_rules! floats {
    ($($name:ident $ty:ty => $write:ident;)*) => {$(
        fn $name(self, value: $ty) -> Result<(), Error> {
            if value.is_finite() {
                CompactFormatter.$write(&mut self.out, value).map_err(Error::custom)
            } else {
                self.serialize_unit()
            }
        }
    )*};
}

impl<'w> ser::Serializer for &'w mut Writer {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Open<'w>;
    type SerializeTuple = Open<'w>;
    type SerializeTupleStruct = Open<'w>;
    type SerializeTupleVariant = Open<'w>;
    type SerializeMap = Open<'w>;
    type SerializeStruct = Open<'w>;
    type SerializeStructVariant = Open<'w>;

    numbers! {
        serialize_bool bool => write_bool;
        serialize_i8 i8 => write_i8;
        serialize_i16 i16 => write_i16;
        serialize_i32 i32 => write_i32;
        serialize_i64 i64 => write_i64;
        serialize_i128 i128 => write_i128;
        serialize_u8 u8 => write_u8;
        serialize_u16 u16 => write_u16;
        serialize_u32 u32 => write_u32;
        serialize_u64 u64 => write_u64;
        serialize_u128 u128 => write_u128;
    }

    floats! {
        serialize_f32 f32 => write_f32;
        serialize_f64 f64 => write_f64;
    }

    fn serialize_char(self, value: char) -> Result<(), Error> {
        self.string(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Result<(), Error> {
        self.string(value)
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_none(self) -> Result<(), Error> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Error> {
        self.out.extend_from_slice(b"null");
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Error> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<(), Error> {
        self.string(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        self.variant(variant)?;
        value.serialize(&mut *self)?;
        self.end_variant();
        Ok(())
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Open<'w>, Error> {
        Ok(self.list())
    }

    fn serialize_tuple(self, _: usize) -> Result<Open<'w>, Error> {
        Ok(self.list())
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Open<'w>, Error> {
        Ok(self.list())
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Open<'w>, Error> {
        self.variant(variant)?;
        Ok(self.list().of_variant())
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Open<'w>, Error> {
        Ok(self.object())
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Open<'w>, Error> {
        Ok(self.object())
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Open<'w>, Error> {
        self.variant(variant)?;
        Ok(self.object().of_variant())
    }
}

#[cfg(test)]
mod tests {
    use super::needs_escape;

    #[test]
    fn what_needs_an_escape_is_found_in_every_place() {
        for length in 0..40 {
            for text in ["a", "\u{e9}", "\u{20ac}"].map(|letter| letter.repeat(length)) {
                assert!(!needs_escape(text.as_bytes()), "{text:?}");
                for place in 0..text.len() {
                    for byte in [b'"', b'\\', 0, b'\n', 0x1f] {
                        let mut bytes = text.clone().into_bytes();
                        bytes[place] = byte;
                        assert!(needs_escape(&bytes), "{byte} at {place} of {}", bytes.len());
                    }
                }
            }
        }
    }
}
