// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads the plain part of TOML: bare keys, strings in one line without escapes, decimal numbers, lists, inline tables in one line, and headers
//! of tables and of lists of tables, each table at most once. Whatever else it meets, right or wrong, it leaves to the general parser.

use std::borrow::Cow;
use std::ops::Range;

use toml::Spanned;

use super::{Table, Value};

/// Lists and tables in each other, at most.
const DEPTH: u32 = 16;

/// A document in the plain part of TOML; `None` for all others.
pub(crate) fn quick(text: &str) -> Option<Table<'_>> {
    let control = |byte: u8| (byte < b' ' && byte != b'\n' && byte != b'\t') || byte == 0x7f;
    if text.bytes().fold(false, |any, byte| any | control(byte)) {
        return None;
    }
    Parser { text, at: 0 }.document()
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
}

/// `[a.b]` or `[[a]]`.
struct Header<'t> {
    path: Vec<Spanned<Cow<'t, str>>>,
    list: bool,
    span: Range<usize>,
}

impl<'t> Parser<'t> {
    fn document(mut self) -> Option<Table<'t>> {
        let mut root = Table::default();
        // The header whose entries are being read, and the entries.
        let (mut header, mut open) = (None, Table::default());
        // Lists that headers made.
        let mut lists = Vec::new();
        loop {
            self.blank(true);
            let next = self.peek();
            if matches!(next, None | Some(b'[')) {
                match header.take() {
                    None => root = std::mem::take(&mut open),
                    Some(header) => root.attach(header, std::mem::take(&mut open), self.text, &mut lists)?,
                }
            }
            match next {
                None => return Some(root),
                Some(b'[') => header = Some(self.header()?),
                Some(_) => self.pair(&mut open, 0)?,
            }
            self.line_end()?;
        }
    }

    fn header(&mut self) -> Option<Header<'t>> {
        let start = self.at;
        self.at += 1;
        let list = self.take(b'[');
        let mut path = Vec::new();
        loop {
            path.push(self.key()?);
            if !self.take(b'.') {
                break;
            }
        }
        // Lists in tables are told apart by the general parser.
        let closed = self.take(b']') && (!list || (path.len() == 1 && self.take(b']')));
        closed.then_some(Header { path, list, span: start..self.at })
    }

    /// `key = value`.
    fn pair(&mut self, table: &mut Table<'t>, depth: u32) -> Option<()> {
        let key = self.key()?;
        self.blank(false);
        if !self.take(b'=') {
            return None;
        }
        self.blank(false);
        let value = self.value(depth)?;
        table.insert(key, value)
    }

    fn key(&mut self) -> Option<Spanned<Cow<'t, str>>> {
        let bare = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        let length = self.rest().iter().take_while(|byte| bare(byte)).count();
        let span = self.at..self.at + length;
        self.at = span.end;
        (length > 0).then(|| Spanned::new(span.clone(), Cow::Borrowed(&self.text[span])))
    }

    fn value(&mut self, depth: u32) -> Option<Spanned<Value<'t>>> {
        let start = self.at;
        let value = match self.peek()? {
            b'"' => {
                let inside = &self.rest()[1..];
                let length = memchr::memchr3(b'"', b'\\', b'\n', inside)?;
                // Three quotation marks begin a string of several lines.
                if inside[length] != b'"' || (length == 0 && inside.get(1) == Some(&b'"')) {
                    return None;
                }
                self.at += length + 2;
                Value::String(Cow::Borrowed(&self.text[start + 1..self.at - 1]))
            }
            b'[' if depth < DEPTH => self.list(depth + 1)?,
            b'{' if depth < DEPTH => self.inline(depth + 1)?,
            b'-' | b'0'..=b'9' => self.number()?,
            b't' => self.word("true", Value::Boolean(true))?,
            b'f' => self.word("false", Value::Boolean(false))?,
            _ => return None,
        };
        Some(Spanned::new(start..self.at, value))
    }

    fn word(&mut self, word: &str, value: Value<'t>) -> Option<Value<'t>> {
        self.rest().starts_with(word.as_bytes()).then_some(())?;
        self.at += word.len();
        self.ended().then_some(value)
    }

    fn list(&mut self, depth: u32) -> Option<Value<'t>> {
        self.at += 1;
        let mut values = Vec::new();
        loop {
            self.blank(true);
            if self.take(b']') {
                return Some(Value::List(values));
            }
            values.push(self.value(depth)?);
            self.blank(true);
            if !self.take(b',') && self.peek() != Some(b']') {
                return None;
            }
        }
    }

    fn inline(&mut self, depth: u32) -> Option<Value<'t>> {
        self.at += 1;
        let mut table = Table::default();
        self.blank(false);
        if self.take(b'}') {
            return Some(Value::Table(table));
        }
        loop {
            self.blank(false);
            self.pair(&mut table, depth)?;
            self.blank(false);
            if self.take(b'}') {
                return Some(Value::Table(table));
            }
            if !self.take(b',') {
                return None;
            }
        }
    }

    fn number(&mut self) -> Option<Value<'t>> {
        let start = self.at;
        self.take(b'-');
        let zero = self.peek() == Some(b'0');
        let digits = self.digits();
        if digits == 0 || (zero && digits > 1) {
            return None;
        }
        let mut float = false;
        if self.take(b'.') {
            float = true;
            (self.digits() > 0).then_some(())?;
        }
        if self.take(b'e') || self.take(b'E') {
            float = true;
            let _sign = self.take(b'-') || self.take(b'+');
            (self.digits() > 0).then_some(())?;
        }
        let digits = Cow::Borrowed(&self.text[start..self.at]);
        let value = if float { Value::Float(digits) } else { Value::Integer { digits, radix: 10 } };
        self.ended().then_some(value)
    }

    fn digits(&mut self) -> usize {
        let count = self.rest().iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += count;
        count
    }

    /// Whether what was read ends here.
    fn ended(&self) -> bool {
        matches!(self.peek(), None | Some(b' ' | b'\t' | b'\n' | b',' | b']' | b'}' | b'#'))
    }

    /// Passes space, and with `lines` the ends of lines and comments, too.
    fn blank(&mut self, lines: bool) {
        loop {
            match self.peek() {
                Some(b' ' | b'\t') => self.at += 1,
                Some(b'\n') if lines => self.at += 1,
                Some(b'#') if lines => self.comment(),
                _ => return,
            }
        }
    }

    fn comment(&mut self) {
        let length = memchr::memchr(b'\n', self.rest());
        self.at = length.map_or(self.text.len(), |length| self.at + length);
    }

    fn line_end(&mut self) -> Option<()> {
        self.blank(false);
        if self.peek() == Some(b'#') {
            self.comment();
        }
        (self.take(b'\n') || self.peek().is_none()).then_some(())
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let taken = self.peek() == Some(byte);
        self.at += usize::from(taken);
        taken
    }

    fn rest(&self) -> &'t [u8] {
        &self.text.as_bytes()[self.at..]
    }
}

impl<'t> Table<'t> {
    /// `None` if the key is there already.
    fn insert(&mut self, key: Spanned<Cow<'t, str>>, value: Spanned<Value<'t>>) -> Option<()> {
        let place = self.place(key.get_ref()).err()?;
        self.0.insert(place, (key, value));
        Some(())
    }

    /// Puts the entries behind a header where it says; `lists` are those that headers made.
    fn attach(
        &mut self,
        header: Header<'t>,
        entries: Table<'t>,
        text: &str,
        lists: &mut Vec<Cow<'t, str>>,
    ) -> Option<()> {
        let Header { mut path, list, span } = header;
        let name = path.pop()?;
        let mut table = self;
        for key in path {
            let place = match table.place(key.get_ref()) {
                Ok(place) => place,
                Err(place) => {
                    let implied = Spanned::new(key.span(), Value::Table(Table::default()));
                    table.0.insert(place, (key, implied));
                    place
                }
            };
            let known = &mut table.0[place].1;
            // An inline table is complete.
            if text.as_bytes()[known.span().start] == b'{' {
                return None;
            }
            match known.get_mut() {
                Value::Table(inner) => table = inner,
                _ => return None,
            }
        }
        let entries = Spanned::new(span.clone(), Value::Table(entries));
        if !list {
            return table.insert(name, entries);
        }
        match table.place(name.get_ref()) {
            Err(_) => {
                lists.push(name.get_ref().clone());
                table.insert(name, Spanned::new(span, Value::List(vec![entries])))
            }
            Ok(place) => match table.0[place].1.get_mut() {
                Value::List(tables) if lists.contains(name.get_ref()) => {
                    tables.push(entries);
                    Some(())
                }
                _ => None,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MEMORIES, PRESETS};

    /// With positions, which comparisons of values leave out.
    fn same(text: &str) {
        let (quick, general) = (quick(text).expect("it is plain"), Table::parse(text).expect("it is TOML"));
        assert_eq!(format!("{quick:#?}"), format!("{general:#?}"), "{text}");
    }

    #[test]
    fn built_in_files_are_plain_and_read_alike() {
        PRESETS.iter().for_each(|preset| same(preset.text));
        MEMORIES.iter().for_each(|memory| same(memory.text));
    }

    #[test]
    fn plain_forms_are_read_alike() {
        same("");
        same("# only a comment");
        same("b = 1\na=-0.5e-3 # comment\nc = [ 1, [\"x\", true],\n# comment\n { d = \"\", e = {} } , ]\n\n");
        same("[a.b]\nx = false\n[c]\n[a.d]\n[[e]]\ny = 0\n[[e]]\n[[f]]\nz = 1E+5");
        same("x = \"\u{20ac} # no comment [\"\t\n[t]  # comment \u{e9}\n");
    }

    #[test]
    fn what_is_not_plain_or_not_right_is_left_to_the_general_parser() {
        let texts = [
            "a = \"\\n\"",
            "a = 'x'",
            "a = \"\"\"x\"\"\"",
            "a.b = 1",
            "\"a\" = 1",
            "a = 0x1f",
            "a = 1_000",
            "a = +1",
            "a = 01",
            "a = 1.",
            "a = 1e",
            "a = inf",
            "a = truth",
            "a = 1979-05-27",
            "a = 1 b = 2",
            "a = [1 2]",
            "a = [1,, 2]",
            "a = {b = 1,}",
            "a = {b = 1\n}",
            "a = {b = 1, b = 2}",
            "a = 1\na = 2",
            "a = {}\n[a.b]",
            "a = {}\n[a]",
            "a = [{}]\n[[a]]",
            "[a]\n[a]",
            "[a.b]\n[a]",
            "[a]\n[[a]]",
            "[[a]]\n[a.b]",
            "[[a.b]]",
            "[a",
            "[[a]",
            "[]",
            "[a] b = 1",
            "a",
            "a =",
            "a = \"x",
            "a = 1\r\n",
            "\u{feff}a = 1",
        ];
        for text in texts {
            assert_eq!(quick(text), None, "{text}");
        }
        let deep = format!("a = {}{}", "[".repeat(1000), "]".repeat(1000));
        assert_eq!(quick(&deep), None);
    }
}
