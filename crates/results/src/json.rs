// SPDX-License-Identifier: MIT OR Apache-2.0
//! How documents are written: indented, with lists of plain values on one line, so that histograms and series stay readable.
//!
//! Entries of objects have lines of their own, and so have those of a list whose first entry is an object or a list. A record has some ten
//! thousand lines, most of them a name and a number: a line's start, its name and what follows are written at once. Numbers with a fraction and
//! texts with characters to escape are left to `serde_json`.

use serde::Serialize;
use serde::ser::{self, Serializer};
use serde_json::Error;
use serde_json::ser::{CompactFormatter, Formatter};

/// The text of a document, with a newline at its end.
pub fn to_text<T: Serialize>(document: &T) -> Result<String, Error> {
    // Memory that is not written to costs nothing, copies to where there is more of it do: most records are shorter.
    let mut writer = Writer { text: Vec::with_capacity(1 << 20), depth: 0, begins_list: false, name: None };
    document.serialize(&mut writer)?;
    writer.text.push(b'\n');
    // SAFETY: all that was written are characters of ASCII, whole texts, and what `serde_json` makes of numbers and texts.
    Ok(unsafe { String::from_utf8_unchecked(writer.text) })
}

struct Writer {
    text: Vec<u8>,
    /// Objects and lists that are open.
    depth: usize,
    /// The first entry of a list comes next: it begins a line if it is an object or a list.
    begins_list: bool,
    /// The name of an entry of an object comes next, of the first one or of another.
    name: Option<Place>,
}

#[derive(Clone, Copy, PartialEq)]
enum Place {
    First,
    Later,
}

/// The start of a line of up to 14 levels, after another entry.
const LINE: &[u8; 32] = b",\n                              ";

/// What is copied of [`LINE`] at once, and what else is around a name at most: quotes, colon and space.
const AROUND: usize = LINE.len() + 4;

impl Writer {
    /// Begins a line, after another entry or as the first one.
    #[inline]
    fn line(&mut self, place: Place) {
        let skipped = usize::from(place == Place::First);
        match LINE.get(skipped..2 + 2 * self.depth) {
            Some(line) => self.text.extend_from_slice(line),
            None => {
                self.text.extend_from_slice(&LINE[skipped..2]);
                (0..self.depth).for_each(|_| self.text.extend_from_slice(b"  "));
            }
        }
    }

    /// Begins the line of an entry of an object, with its name, which has nothing to escape.
    #[inline]
    fn name(&mut self, place: Place, name: &str) {
        let until = 2 + 2 * self.depth;
        if until > LINE.len() {
            self.line(place);
            return [b"\"", name.as_bytes(), b"\": "]
                .iter()
                .for_each(|part| self.text.extend_from_slice(part));
        }
        self.text.reserve(AROUND + name.len());
        let skipped = usize::from(place == Place::First);
        let start = self.text.len();
        // SAFETY: there is room for all of `LINE` and for the name with what is around it, `skipped` is at most 1 and `until` at most the length
        // of `LINE`; all bytes up to the new length are written, none of them beyond that room.
        unsafe {
            let mut at = self.text.as_mut_ptr().add(start);
            // A copy of known length is two instructions. The name is written over what is too much of it.
            at.copy_from_nonoverlapping(LINE.as_ptr().add(skipped), LINE.len() - 1);
            at = at.add(until - skipped);
            at.write(b'"');
            at = at.add(1);
            at.copy_from_nonoverlapping(name.as_ptr(), name.len());
            at = at.add(name.len());
            at.cast::<[u8; 3]>().write(*b"\": ");
            self.text.set_len(start + until - skipped + name.len() + 4);
        }
    }

    #[inline]
    fn begin(&mut self, bracket: u8) {
        if self.begins_list {
            self.line(Place::First);
            self.begins_list = false;
        }
        self.text.push(bracket);
        self.depth += 1;
    }

    #[inline]
    fn end(&mut self, bracket: u8, has_lines: bool) {
        self.depth -= 1;
        if has_lines {
            self.line(Place::First);
        }
        self.text.push(bracket);
    }

    /// Makes a name of a number that was written behind `start`.
    fn quote(&mut self, start: usize, place: Place) -> Result<(), Error> {
        let number = String::from_utf8_lossy(&self.text[start..]).into_owned();
        if !number.starts_with(|first: char| first.is_ascii_digit() || "-tf".contains(first)) {
            return Err(ser::Error::custom("an entry of an object is named by a text or a number"));
        }
        self.text.truncate(start);
        self.name(place, &number);
        Ok(())
    }

    fn signed(&mut self, value: i64) {
        if value < 0 {
            self.text.push(b'-');
        }
        self.digits(value.unsigned_abs());
    }

    #[inline]
    fn digits(&mut self, mut value: u64) {
        if value < 10 {
            return self.text.push(b'0' + value as u8);
        }
        let mut digits = [0; 20];
        let mut from = digits.len();
        while value > 0 {
            from -= 1;
            digits[from] = b'0' + (value % 10) as u8;
            value /= 10;
        }
        self.text.extend_from_slice(&digits[from..]);
    }
}

/// Whether a text is written as it is.
#[inline]
fn is_plain(text: &str) -> bool {
    // Without branches in it, this is done for all bytes at once.
    fn are_plain<const COUNT: usize>(bytes: &[u8; COUNT]) -> bool {
        !bytes.iter().fold(false, |any, &byte| any | (byte < b' ') | (byte == b'"') | (byte == b'\\'))
    }
    let bytes = text.as_bytes();
    let (whole, rest) = bytes.as_chunks::<16>();
    whole.iter().all(are_plain)
        && match (bytes.last_chunk::<16>(), bytes.first_chunk::<8>(), bytes.last_chunk::<8>()) {
            (Some(last), ..) => are_plain(last),
            (None, Some(first), Some(last)) => are_plain(first) && are_plain(last),
            _ => rest.iter().all(|byte| are_plain(&[*byte])),
        }
}

/// A list that is being written, or an object.
struct Open<'w> {
    writer: &'w mut Writer,
    has_entries: bool,
    /// Entries of a list have lines of their own.
    has_lines: bool,
    /// It is the only entry of an object, the content of a variant.
    is_content: bool,
}

impl<'w> Open<'w> {
    #[inline]
    fn new(writer: &'w mut Writer, bracket: u8) -> Open<'w> {
        writer.begin(bracket);
        Open { writer, has_entries: false, has_lines: false, is_content: false }
    }

    /// That of a variant.
    fn variant(writer: &'w mut Writer, variant: &'static str, bracket: u8) -> Open<'w> {
        writer.begin(b'{');
        writer.name(Place::First, variant);
        Open { is_content: true, ..Open::new(writer, bracket) }
    }

    #[inline]
    fn item<T: Serialize + ?Sized>(&mut self, item: &T) -> Result<(), Error> {
        if self.has_entries {
            match self.has_lines {
                true => self.writer.line(Place::Later),
                false => self.writer.text.extend_from_slice(b", "),
            }
            return item.serialize(&mut *self.writer);
        }
        self.has_entries = true;
        let start = self.writer.text.len();
        self.writer.begins_list = true;
        item.serialize(&mut *self.writer)?;
        self.writer.begins_list = false;
        self.has_lines = self.writer.text.get(start) == Some(&b'\n');
        Ok(())
    }

    #[inline]
    fn field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Error> {
        debug_assert!(is_plain(name), "names of fields are not escaped: {name}");
        self.writer.name(if self.has_entries { Place::Later } else { Place::First }, name);
        self.has_entries = true;
        value.serialize(&mut *self.writer)
    }

    fn end(self, bracket: u8, has_lines: bool) -> Result<(), Error> {
        self.writer.end(bracket, has_lines);
        if self.is_content {
            self.writer.end(b'}', true);
        }
        Ok(())
    }
}

/// Entries of lists of all kinds.
macro_rules! list {
    ($($kind:ident: $entry:ident),*) => {$(
        impl ser::$kind for Open<'_> {
            type Ok = ();
            type Error = Error;

            #[inline]
            fn $entry<T: Serialize + ?Sized>(&mut self, item: &T) -> Result<(), Error> {
                self.item(item)
            }

            #[inline]
            fn end(self) -> Result<(), Error> {
                let has_lines = self.has_lines;
                self.end(b']', has_lines)
            }
        }
    )*};
}

list!(SerializeSeq: serialize_element, SerializeTuple: serialize_element);
list!(SerializeTupleStruct: serialize_field, SerializeTupleVariant: serialize_field);

/// Entries of objects whose names are known.
macro_rules! fields {
    ($($kind:ident),*) => {$(
        impl ser::$kind for Open<'_> {
            type Ok = ();
            type Error = Error;

            #[inline]
            fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Error> {
                self.field(name, value)
            }

            #[inline]
            fn end(self) -> Result<(), Error> {
                let has_lines = self.has_entries;
                self.end(b'}', has_lines)
            }
        }
    )*};
}

fields!(SerializeStruct, SerializeStructVariant);

impl ser::SerializeMap for Open<'_> {
    type Ok = ();
    type Error = Error;

    #[inline]
    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        let place = if self.has_entries { Place::Later } else { Place::First };
        self.has_entries = true;
        let start = self.writer.text.len();
        self.writer.name = Some(place);
        key.serialize(&mut *self.writer)?;
        // A text is a name, and has been written as such.
        if self.writer.name.take().is_none() { Ok(()) } else { self.writer.quote(start, place) }
    }

    #[inline]
    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        value.serialize(&mut *self.writer)
    }

    #[inline]
    fn end(self) -> Result<(), Error> {
        let has_lines = self.has_entries;
        self.end(b'}', has_lines)
    }
}

/// Numbers that are written alike.
macro_rules! numbers {
    ($($method:ident($number:ty): $write:ident),*) => {$(
        #[inline]
        fn $method(self, value: $number) -> Result<(), Error> {
            self.$write(value.into());
            Ok(())
        }
    )*};
}

impl<'w> Serializer for &'w mut Writer {
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
        serialize_i8(i8): signed, serialize_i16(i16): signed, serialize_i32(i32): signed, serialize_i64(i64): signed,
        serialize_u8(u8): digits, serialize_u16(u16): digits, serialize_u32(u32): digits, serialize_u64(u64): digits
    }

    fn serialize_bool(self, value: bool) -> Result<(), Error> {
        self.text.extend_from_slice(if value { b"true" } else { b"false" });
        Ok(())
    }

    fn serialize_f32(self, value: f32) -> Result<(), Error> {
        match value.is_finite() {
            true => CompactFormatter.write_f32(&mut self.text, value).map_err(Error::io),
            false => self.serialize_unit(),
        }
    }

    fn serialize_f64(self, value: f64) -> Result<(), Error> {
        match value.is_finite() {
            true => CompactFormatter.write_f64(&mut self.text, value).map_err(Error::io),
            false => self.serialize_unit(),
        }
    }

    fn serialize_char(self, value: char) -> Result<(), Error> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    #[inline]
    fn serialize_str(self, value: &str) -> Result<(), Error> {
        match (self.name.take(), is_plain(value)) {
            (Some(place), true) => self.name(place, value),
            (None, true) => {
                self.text.reserve(value.len() + 2);
                self.text.push(b'"');
                self.text.extend_from_slice(value.as_bytes());
                self.text.push(b'"');
            }
            (place, false) => {
                place.into_iter().for_each(|place| self.line(place));
                serde_json::to_writer(&mut self.text, value)?;
                self.text.extend_from_slice(if place.is_some() { b": " } else { b"" });
            }
        }
        Ok(())
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<(), Error> {
        self.collect_seq(value)
    }

    fn serialize_none(self) -> Result<(), Error> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Error> {
        self.text.extend_from_slice(b"null");
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Error> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<(), Error> {
        self.serialize_str(variant)
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
        let mut object = Open::new(self, b'{');
        object.field(variant, value)?;
        object.end(b'}', true)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Open<'w>, Error> {
        Ok(Open::new(self, b'['))
    }

    fn serialize_tuple(self, _: usize) -> Result<Open<'w>, Error> {
        Ok(Open::new(self, b'['))
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Open<'w>, Error> {
        Ok(Open::new(self, b'['))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Open<'w>, Error> {
        Ok(Open::variant(self, variant, b'['))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Open<'w>, Error> {
        Ok(Open::new(self, b'{'))
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Open<'w>, Error> {
        Ok(Open::new(self, b'{'))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Open<'w>, Error> {
        Ok(Open::variant(self, variant, b'{'))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    /// The same layout, from the values of a document.
    fn plain(value: &Value, depth: usize) -> String {
        let lines = |entries: Vec<String>, [open, close]: [&str; 2]| {
            let indent = "  ".repeat(depth + 1);
            let entries = entries.join(&format!(",\n{indent}"));
            format!("{open}\n{indent}{entries}\n{}{close}", "  ".repeat(depth))
        };
        match value {
            Value::Object(fields) if !fields.is_empty() => {
                let field = |(key, field): (&String, &Value)| {
                    format!("{}: {}", Value::from(key.as_str()), plain(field, depth + 1))
                };
                lines(fields.iter().map(field).collect(), ["{", "}"])
            }
            Value::Array(items) if items.first().is_some_and(|item| item.is_object() || item.is_array()) => {
                lines(items.iter().map(|item| plain(item, depth + 1)).collect(), ["[", "]"])
            }
            Value::Array(items) => {
                format!("[{}]", items.iter().map(Value::to_string).collect::<Vec<_>>().join(", "))
            }
            plain => plain.to_string(),
        }
    }

    #[test]
    fn lists_of_plain_values_stay_on_a_line_and_all_reads_back() {
        let document = json!({
            "a": [1, 2.5, u64::MAX, "x\n\"y"],
            "b": {},
            "c": [],
            "d": [{ "e": null }, [true]],
            "f[\\{": [{ "\\\"": [[], {}] }, "a]\"", "\\"],
            "as long as sixteen": ["as long as\tsixteen", "sixteen and more\u{1}", "eight\u{1f}it", "äöü and more \u{7f}"],
            "numbers": [0, 9, 10, -1, 12345678901u64, i64::MIN, 0.0, -0.0, 1e300, 1.5e-7, f64::MAX],
            "deep": [[[[[[[[[[[[[[[[{ "a": [{ "b": 1, "c": [] }] }]]]]]]]]]]]]]]]],
        });
        let text = super::to_text(&document).expect("it is JSON");
        assert!(text.contains("\"a\": [1, 2.5, 18446744073709551615, \"x\\n\\\"y\"],\n"), "{text}");
        assert!(text.contains("    {\n      \"e\": null\n    },\n    [true]\n"), "{text}");
        assert_eq!(text, plain(&document, 0) + "\n");
        assert_eq!(serde_json::from_str::<Value>(&text).expect("it reads back"), document);
    }

    #[derive(serde::Serialize)]
    enum Kind {
        Unit,
        Newtype(u32),
        Tuple(u8, i8),
        Struct { a: f32, b: char },
    }

    #[test]
    fn all_that_can_be_serialised_is_as_serde_json_has_it() {
        let names = std::collections::BTreeMap::from([(-3, [1u8, 2]), (40, [3, 4])]);
        let kinds = [Kind::Newtype(3), Kind::Unit, Kind::Tuple(1, -1), Kind::Struct { a: 0.5, b: '"' }];
        let document = (names, kinds, [Some(1), None], (), [f64::NAN, 1.0], [f32::INFINITY], [("a", [()])]);
        let text = super::to_text(&document).expect("it is JSON");
        assert_eq!(text, plain(&serde_json::to_value(&document).expect("it is JSON"), 0) + "\n");
        let nameless = std::collections::BTreeMap::from([([1], 2)]);
        assert!(super::to_text(&nameless).is_err(), "a list is no name");
    }
}
