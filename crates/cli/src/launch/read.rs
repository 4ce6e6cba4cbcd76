// SPDX-License-Identifier: MIT OR Apache-2.0
//! From TOML text to a [`LaunchFile`]. All that is wrong is reported at once, each with its line and advice.

use std::path::PathBuf;

use toml::de::DeTable;
use warpwatt_base::Span;
use warpwatt_ptx::{Diagnostic, suggest};

use super::content::{Content, Element, Number};
use super::keys::{self, Key, STEPS, Section, ValueKind};
use super::table::{Entry, Problems, Read, Reported, Table, shorten, span};
use super::{Action, Arg, Buffer, BufferOffset, Launch, LaunchFile, Step};

/// The most that all buffers together may take: what a device has.
const MOST_BYTES: u64 = warpwatt_memory::DEFAULT_CAPACITY;

const RANDOM: Section = Section {
    name: "random content",
    doc: "",
    keys: &[
        Key { name: "seed", kind: ValueKind::Count, doc: "" },
        Key { name: "lo", kind: ValueKind::Number, doc: "" },
        Key { name: "hi", kind: ValueKind::Number, doc: "" },
    ],
};

const IOTA: Section = Section {
    name: "iota content",
    doc: "",
    keys: &[
        Key { name: "start", kind: ValueKind::Number, doc: "" },
        Key { name: "step", kind: ValueKind::Number, doc: "" },
    ],
};

/// Reads a launch file. On failure, the diagnostics point into `text`.
pub fn read(text: &str) -> Result<LaunchFile, Vec<Diagnostic>> {
    let newlines = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at).collect();
    let mut reader =
        Reader { newlines, buffers: Vec::new(), textures: Vec::new(), problems: Problems::default() };
    let file = match DeTable::parse(text) {
        Ok(table) => reader.file(table.get_ref()),
        Err(error) => {
            let at = error.span().map_or(Span::default(), span);
            reader.problems.error(
                at,
                error.message(),
                "the file has to be TOML; docs/launch-file.md has examples",
            )
        }
    };
    match file {
        Ok(file) if reader.problems.0.is_empty() => Ok(file),
        _ => Err(reader.problems.0),
    }
}

pub(super) struct Reader {
    /// Where the lines of the text end.
    newlines: Vec<usize>,
    /// Names and types of the buffers read so far.
    pub(super) buffers: Vec<(String, Element)>,
    /// Names of the textures read so far.
    pub(super) textures: Vec<String>,
    pub(super) problems: Problems,
}

impl Reader {
    fn file(&mut self, table: &DeTable) -> Read<LaunchFile> {
        let top = Table::new(&keys::TOP, table, Span::default(), &mut self.problems);
        let ptx = top.optional("ptx", &mut self.problems, |entry, p| entry.text(p))?.map(PathBuf::from);
        let mut file = LaunchFile { ptx, ..LaunchFile::default() };
        for entry in self.tables(&top, "buffer") {
            if let Ok(buffer) = self.buffer(&entry) {
                self.buffers.push((buffer.name.clone(), buffer.element));
                file.buffers.push(buffer);
            }
        }
        let sizes =
            file.buffers.iter().filter_map(|buffer| buffer.count.map(|count| count * buffer.element.bytes()));
        let total = sizes.fold(0_u64, u64::saturating_add);
        if total > MOST_BYTES {
            let message = format!("the buffers take {total} bytes together; the device has {MOST_BYTES}");
            let _: Read<()> = self.problems.error(top.at(), message, "make them smaller");
        }
        for entry in self.tables(&top, "texture") {
            if let Ok(texture) = self.texture(&entry) {
                self.textures.push(texture.name.clone());
                file.textures.push(texture);
            }
        }
        for entry in self.tables(&top, "step") {
            if let Ok(step) = self.step(&entry) {
                file.steps.push(step);
            }
        }
        Ok(file)
    }

    fn tables<'a>(&mut self, top: &Table<'a>, key: &str) -> Vec<Entry<'a>> {
        let list = top.optional(key, &mut self.problems, |entry, p| entry.list(p));
        list.ok().flatten().unwrap_or_default()
    }

    pub(super) fn line(&self, at: Span) -> u32 {
        self.newlines.partition_point(|end| *end < at.start as usize) as u32 + 1
    }

    fn buffer(&mut self, entry: &Entry) -> Read<Buffer> {
        let table = entry.table(&keys::BUFFER, &mut self.problems)?;
        let name_entry = table.need("name", &mut self.problems)?;
        let name = name_entry.text(&mut self.problems)?.to_owned();
        if name.is_empty() || self.buffers.iter().any(|(known, _)| *known == name) {
            let message = format!("`{}` cannot be the name of this buffer", shorten(&name));
            return self.problems.error(name_entry.span, message, "every buffer needs a name of its own");
        }
        let element = self.element(&table)?;
        let content = self.content(&table, element.unwrap_or(Element::U8))?;
        let count = table.optional("count", &mut self.problems, |entry, p| entry.count(MOST_BYTES, p))?;
        let bytes = table.optional("bytes", &mut self.problems, |entry, p| entry.count(MOST_BYTES, p))?;
        if let (Some(_), Some(bytes)) = (count, table.get("bytes")) {
            let help = "leave one of them out";
            return self.problems.error(bytes.key_span, "`count` and `bytes` both give the size", help);
        }
        let element = element.unwrap_or(Element::U8);
        let size = element.bytes();
        let count = match bytes {
            Some(bytes) if bytes % size != 0 => {
                let at = table.get("bytes").map_or(table.at(), |entry| entry.span);
                let message = format!("{bytes} bytes are not a whole number of {} elements", element.name());
                return self.problems.error(at, message, format!("use a multiple of {size}"));
            }
            Some(bytes) => Some(bytes / size),
            None => count.or(content.own_count()),
        };
        if count.is_none() && !matches!(content, Content::File(_)) {
            let help = "add `count = ...` (with `type`), or `bytes = ...`";
            return self.problems.error(
                table.at(),
                format!("the size of buffer `{}` is not given", shorten(&name)),
                help,
            );
        }
        if let (Some(count), Some(own)) = (count, content.own_count())
            && own > count
        {
            let at = table.get("values").map_or(table.at(), |entry| entry.span);
            let message = format!("{own} values do not fit into {count} elements");
            return self.problems.error(at, message, "raise the size or give fewer values");
        }
        if count.is_some_and(|count| count.saturating_mul(size) > MOST_BYTES) {
            let message = format!(
                "buffer `{}` is larger than the device's memory of {MOST_BYTES} bytes",
                shorten(&name)
            );
            return self.problems.error(table.at(), message, "make it smaller");
        }
        let address = table.optional("address", &mut self.problems, |entry, p| entry.count(u64::MAX, p))?;
        Ok(Buffer { name, element, count, content, address, line: self.line(entry.span) })
    }

    fn element(&mut self, table: &Table) -> Read<Option<Element>> {
        let Some(entry) = table.get("type") else { return Ok(None) };
        let name = entry.text(&mut self.problems)?;
        match Element::from_name(name) {
            Some(element) => Ok(Some(element)),
            None => {
                let known = Element::ALL.map(|(name, _)| name);
                let help = match suggest::nearest(name, &known) {
                    Some(nearest) => format!("did you mean `{nearest}`? There are {}", known.join(", ")),
                    None => format!("there are {}", known.join(", ")),
                };
                self.problems.error(entry.span, format!("there is no element type `{}`", shorten(name)), help)
            }
        }
    }

    /// The element type of a step: its own, or that of its buffer.
    fn element_at(&mut self, table: &Table, place: &BufferOffset) -> Read<Element> {
        let own = self.element(table)?;
        let buffers =
            self.buffers.iter().find(|(name, _)| *name == place.buffer).map(|(_, element)| *element);
        Ok(own.or(buffers).unwrap_or(Element::U8))
    }

    /// The content given by a table; zeros by default.
    fn content(&mut self, table: &Table, element: Element) -> Read<Content> {
        let given: Vec<_> =
            ["fill", "values", "file", "random", "iota"].iter().filter_map(|key| table.get(key)).collect();
        let entry = match given[..] {
            [] => return Ok(Content::Zero),
            [entry] => entry,
            [first, second, ..] => {
                let message = format!("`{}` and `{}` both give the contents", first.key, second.key);
                return self.problems.error(second.key_span, message, "leave one of them out");
            }
        };
        Ok(match entry.key {
            "fill" => Content::Fill(self.held(entry, element)?),
            "values" => {
                let list = entry.list(&mut self.problems)?;
                Content::Values(list.iter().map(|entry| self.held(entry, element)).collect::<Read<_>>()?)
            }
            "file" => Content::File(PathBuf::from(entry.text(&mut self.problems)?)),
            "random" => {
                let random = entry.table(&RANDOM, &mut self.problems)?;
                let seed =
                    random.optional("seed", &mut self.problems, |entry, p| entry.count(u64::MAX, p))?;
                let lo = random.optional("lo", &mut self.problems, |entry, p| entry.real(p))?.unwrap_or(0.0);
                let hi = random.optional("hi", &mut self.problems, |entry, p| entry.real(p))?.unwrap_or(1.0);
                if !(lo < hi && (hi - lo).is_finite()) {
                    let help = "values are taken from lo (included) to hi (not included)";
                    return self.problems.error(entry.span, "`lo` has to be less than `hi`", help);
                }
                Content::Random { seed: seed.unwrap_or(1), lo, hi }
            }
            _ => {
                let iota = entry.table(&IOTA, &mut self.problems)?;
                let start = iota.get("start").map(|entry| self.held(entry, element)).transpose()?;
                let step = iota.optional("step", &mut self.problems, |entry, p| entry.number(p))?;
                Content::Iota { start: start.unwrap_or(Number::Int(0)), step: step.unwrap_or(Number::Int(1)) }
            }
        })
    }

    /// A number that the element type can hold.
    fn held(&mut self, entry: &Entry, element: Element) -> Read<Number> {
        let number = entry.number(&mut self.problems)?;
        let decimal = entry.value.as_integer().is_some_and(|integer| integer.radix() == 10);
        if element.holds(number) && !(decimal && element.is_negative_as_bits(number)) {
            return Ok(number);
        }
        let message = format!("{number} is not a {}", element.name());
        self.problems.error(entry.span, message, "choose another `type`, or a number that fits")
    }

    fn step(&mut self, entry: &Entry) -> Read<Step> {
        let Some(raw) = entry.value.as_table() else {
            return self.problems.error(
                entry.span,
                "a step has to be a table",
                "begin it with a line `[[step]]`",
            );
        };
        let mut kinds =
            STEPS.iter().filter(|section| raw.iter().any(|(key, _)| *key.get_ref() == section.keys[0].name));
        let Some(section) = kinds.next() else {
            let names: Vec<_> = STEPS.iter().map(|section| section.keys[0].name).collect();
            let typo = raw.iter().find_map(|(key, _)| suggest::nearest(key.get_ref(), &names));
            let help = match typo {
                Some(nearest) => format!("did you mean `{nearest}`?"),
                None => format!("give it one of the keys {}", names.join(", ")),
            };
            return self.problems.error(entry.span, "this step does not say what to do", help);
        };
        let table = Table::new(section, raw, entry.span, &mut self.problems);
        let line = self.line(entry.span);
        let action = match section.keys[0].name {
            "launch" => Action::Launch(self.launch(&table)?),
            "write" => {
                let to = self.place(&table, "write", "offset")?;
                let element = self.element_at(&table, &to)?;
                let (count, content) = (self.count(&table, "count")?, self.content(&table, element)?);
                Action::Write { to, element, count, content }
            }
            "symbol" => {
                let element = self.element(&table)?.unwrap_or(Element::U8);
                Action::Symbol {
                    name: table.need("symbol", &mut self.problems)?.text(&mut self.problems)?.to_owned(),
                    offset: self.count(&table, "offset")?.unwrap_or(0),
                    count: self.count(&table, "count")?,
                    content: self.content(&table, element)?,
                    element,
                }
            }
            "memset" => Action::Memset {
                to: self.place(&table, "memset", "offset")?,
                value: table
                    .optional("value", &mut self.problems, |entry, p| entry.count(255, p))?
                    .unwrap_or(0) as u8,
                bytes: self.count(&table, "bytes")?,
            },
            "copy" => {
                let _ = table.need("from", &mut self.problems)?;
                Action::Copy {
                    to: self.place(&table, "copy", "offset")?,
                    from: self.place(&table, "from", "from_offset")?,
                    bytes: self.count(&table, "bytes")?,
                }
            }
            "dump" => Action::Dump {
                from: self.place(&table, "dump", "offset")?,
                bytes: self.count(&table, "bytes")?,
                file: PathBuf::from(table.need("file", &mut self.problems)?.text(&mut self.problems)?),
                text: self.text_format(&table)?,
            },
            "compare" => {
                let with = self.place(&table, "compare", "offset")?;
                let element = self.element_at(&table, &with)?;
                Action::Compare {
                    with,
                    count: self.count(&table, "count")?,
                    expected: self.content(&table, element)?,
                    element,
                    abs: self.tolerance(&table, "abs")?,
                    rel: self.tolerance(&table, "rel")?,
                }
            }
            _ => Action::Free(self.place(&table, "free", "offset")?.buffer),
        };
        Ok(Step { action, line })
    }

    fn count(&mut self, table: &Table, key: &str) -> Read<Option<u64>> {
        table.optional(key, &mut self.problems, |entry, p| entry.count(MOST_BYTES, p))
    }

    fn tolerance(&mut self, table: &Table, key: &str) -> Read<f64> {
        let Some(entry) = table.get(key) else { return Ok(0.0) };
        let value = entry.real(&mut self.problems)?;
        if value >= 0.0 {
            return Ok(value);
        }
        self.problems.error(entry.span, format!("a tolerance of {value} accepts nothing"), "give 0 or more")
    }

    fn text_format(&mut self, table: &Table) -> Read<bool> {
        let Some(entry) = table.get("format") else { return Ok(false) };
        match entry.text(&mut self.problems)? {
            "raw" => Ok(false),
            "text" => Ok(true),
            other => {
                let message = format!("there is no format `{}`", shorten(other));
                self.problems.error(entry.span, message, "it is `raw` or `text`")
            }
        }
    }

    fn place(&mut self, table: &Table, buffer: &str, offset: &str) -> Read<BufferOffset> {
        let entry = table.need(buffer, &mut self.problems)?;
        let name = entry.text(&mut self.problems)?;
        let buffer = self.known_buffer(name, entry.span)?;
        Ok(BufferOffset { buffer, offset: self.count(table, offset)?.unwrap_or(0) })
    }

    pub(super) fn known_buffer(&mut self, name: &str, at: Span) -> Read<String> {
        let known: Vec<_> = self.buffers.iter().map(|(name, _)| name.as_str()).collect();
        if known.contains(&name) {
            return Ok(name.to_owned());
        }
        let help = match suggest::nearest(name, &known) {
            Some(nearest) => format!("did you mean `{nearest}`?"),
            None if known.is_empty() => "declare it with `[[buffer]]` first".to_owned(),
            None => format!("the buffers are {}", known.join(", ")),
        };
        self.problems.error(at, format!("there is no buffer `{}`", shorten(name)), help)
    }

    fn launch(&mut self, table: &Table) -> Read<Launch> {
        let most = u64::from(u32::MAX);
        let count =
            |key, problems: &mut Problems| table.optional(key, problems, |entry, p| entry.count(most, p));
        let kernel = table.need("launch", &mut self.problems)?.text(&mut self.problems)?.to_owned();
        let grid = self.extent(table, "grid");
        let block = self.extent(table, "block");
        let mut args = Vec::new();
        let mut whole = true;
        if let Some(entry) = table.get("args") {
            for entry in entry.list(&mut self.problems)? {
                match self.arg(&entry) {
                    Ok(arg) => args.push(arg),
                    Err(Reported) => whole = false,
                }
            }
        }
        let shared = count("shared", &mut self.problems)?.unwrap_or(0) as u32;
        let stream = count("stream", &mut self.problems)?.unwrap_or(0) as u32;
        let cooperative = table.optional("cooperative", &mut self.problems, |entry, p| entry.switch(p))?;
        let prefer_l1 = table.optional("prefer_l1", &mut self.problems, |entry, p| entry.switch(p))?;
        if !whole {
            return Err(Reported);
        }
        let (cooperative, prefer_l1) = (cooperative.unwrap_or(false), prefer_l1.unwrap_or(false));
        Ok(Launch { kernel, grid: grid?, block: block?, shared, stream, cooperative, prefer_l1, args })
    }

    pub(super) fn extent(&mut self, table: &Table, key: &str) -> Read<[u32; 3]> {
        let entry = table.need(key, &mut self.problems)?;
        let list = match entry.value.as_array() {
            Some(_) => entry.list(&mut self.problems)?,
            None => {
                vec![Entry { key: entry.key, key_span: entry.key_span, value: entry.value, span: entry.span }]
            }
        };
        if list.is_empty() || list.len() > 3 {
            let message = format!("`{key}` has {} extents", list.len());
            return self.problems.error(entry.span, message, "give one to three, as in `[16, 16]`");
        }
        let mut extent = [1; 3];
        for (axis, entry) in list.iter().enumerate() {
            extent[axis] = entry.count(u64::from(u32::MAX), &mut self.problems)? as u32;
        }
        Ok(extent)
    }

    fn arg(&mut self, entry: &Entry) -> Read<Arg> {
        const FORMS: &str = "write \"buf:NAME\", { ptr = \"NAME\" }, { symbol = \"NAME\" }, { u32 = 5 }, { f32 = 1.5 } or { bytes = [1, 2] }";
        if let Some(text) = entry.value.as_str() {
            let Some(name) = text.strip_prefix("buf:") else {
                return self.problems.error(
                    entry.span,
                    format!("`{}` is not an argument", shorten(text)),
                    FORMS,
                );
            };
            return Ok(Arg::Buffer(BufferOffset { buffer: self.known_buffer(name, entry.span)?, offset: 0 }));
        }
        let Some(table) = entry.value.as_table() else {
            return self.problems.error(entry.span, "the type of this argument is not given", FORMS);
        };
        let items: Vec<_> = table.iter().collect();
        let find = |wanted: &str| {
            items.iter().find(|(key, _)| key.get_ref() == wanted).map(|(_, value)| Entry::new("args", value))
        };
        let offset = match find("offset") {
            Some(entry) => entry.count(MOST_BYTES, &mut self.problems)?,
            None => 0,
        };
        let others: Vec<_> = items.iter().filter(|(key, _)| key.get_ref() != "offset").collect();
        let [(key, value)] = others[..] else {
            return self.problems.error(entry.span, "an argument has one value", FORMS);
        };
        let (key, value) = (key.get_ref().as_ref(), Entry::new("args", value));
        match key {
            "ptr" => {
                let name = value.text(&mut self.problems)?;
                Ok(Arg::Buffer(BufferOffset { buffer: self.known_buffer(name, value.span)?, offset }))
            }
            "symbol" => Ok(Arg::Symbol { name: value.text(&mut self.problems)?.to_owned(), offset }),
            "texture" => {
                let name = value.text(&mut self.problems)?;
                if self.textures.iter().any(|known| known == name) {
                    return Ok(Arg::Texture(name.to_owned()));
                }
                let message = format!("there is no texture `{}`", shorten(name));
                self.problems.error(value.span, message, "declare it with `[[texture]]`")
            }
            "bytes" => {
                let list = value.list(&mut self.problems)?;
                let bytes =
                    list.iter().map(|entry| entry.count(255, &mut self.problems).map(|byte| byte as u8));
                Ok(Arg::Bytes(bytes.collect::<Read<_>>()?))
            }
            _ => match Element::from_name(key) {
                Some(element) => {
                    let mut bytes = Vec::new();
                    element.put(self.held(&value, element)?, &mut bytes);
                    Ok(Arg::Number(element, bytes))
                }
                None => {
                    let message = format!("there is no argument type `{}`", shorten(key));
                    self.problems.error(entry.span, message, FORMS)
                }
            },
        }
    }
}
