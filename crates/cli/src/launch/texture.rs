// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads the `[[texture]]` tables of a launch file.

use warpwatt_runtime::texture::{AddressMode, ChannelKind, Filter, Format, Sampler, Shape};

use super::Texture;
use super::keys;
use super::read::Reader;
use super::table::{Entry, Read, Table, shorten};

/// Texels of a texture. Real limits are lower; this one keeps sizes well inside of 64 bits.
const MOST_TEXELS: u128 = 1 << 32;

const SHAPES: &[(&str, Shape)] = &[
    ("linear", Shape::Linear),
    ("1d", Shape::D1),
    ("2d", Shape::D2),
    ("3d", Shape::D3),
    ("layered-1d", Shape::Layered1d),
    ("layered-2d", Shape::Layered2d),
    ("cube", Shape::Cube),
];

const FILTERS: &[(&str, Filter)] = &[("point", Filter::Point), ("linear", Filter::Linear)];

const ADDRESS_MODES: &[(&str, AddressMode)] = &[
    ("clamp", AddressMode::Clamp),
    ("wrap", AddressMode::Wrap),
    ("mirror", AddressMode::Mirror),
    ("border", AddressMode::Border),
];

const CHANNELS: &[(&str, (ChannelKind, u8))] = &[
    ("u8", (ChannelKind::Unsigned, 8)),
    ("i8", (ChannelKind::Signed, 8)),
    ("u16", (ChannelKind::Unsigned, 16)),
    ("i16", (ChannelKind::Signed, 16)),
    ("f16", (ChannelKind::Float, 16)),
    ("u32", (ChannelKind::Unsigned, 32)),
    ("i32", (ChannelKind::Signed, 32)),
    ("f32", (ChannelKind::Float, 32)),
];

impl Reader {
    pub(super) fn texture(&mut self, entry: &Entry) -> Read<Texture> {
        let table = entry.table(&keys::TEXTURE, &mut self.problems)?;
        let name_entry = table.need("name", &mut self.problems)?;
        let name = name_entry.text(&mut self.problems)?.to_owned();
        if name.is_empty() || self.textures.contains(&name) {
            let message = format!("`{}` cannot be the name of this texture", shorten(&name));
            return self.problems.error(name_entry.span, message, "every texture needs a name of its own");
        }
        let buffer_entry = table.need("buffer", &mut self.problems)?;
        let buffer = buffer_entry.text(&mut self.problems)?;
        let buffer = self.known_buffer(buffer, buffer_entry.span)?;
        let extent = self.extent(&table, "extent")?;
        let texels: u128 = extent.iter().map(|&extent| u128::from(extent)).product();
        if !(1..=MOST_TEXELS).contains(&texels) {
            let at = table.get("extent").map_or(table.at(), |entry| entry.span);
            let help = format!("it can have 1 to {MOST_TEXELS} texels");
            return self.problems.error(at, format!("a texture cannot have {texels} texels"), help);
        }
        let switch = |key: &str, reader: &mut Self| {
            table
                .optional(key, &mut reader.problems, |entry, p| entry.switch(p))
                .map(|value| value.unwrap_or(false))
        };
        let mode = self.word(&table, "address", ADDRESS_MODES)?.unwrap_or_default();
        let sampler = Sampler {
            address: [mode; 3],
            filter: self.word(&table, "filter", FILTERS)?.unwrap_or_default(),
            normalized: switch("normalized", self)?,
            read_normalized: switch("unit_range", self)?,
            ..Sampler::default()
        };
        Ok(Texture {
            name,
            buffer,
            shape: self.word(&table, "shape", SHAPES)?.unwrap_or(Shape::D2),
            extent,
            format: self.format(&table)?,
            sampler,
            reference: table
                .optional("reference", &mut self.problems, |entry, p| entry.text(p))?
                .map(str::to_owned),
            line: self.line(entry.span),
        })
    }

    /// One of a list of words.
    fn word<T: Copy>(&mut self, table: &Table, key: &str, words: &[(&str, T)]) -> Read<Option<T>> {
        let Some(entry) = table.get(key) else { return Ok(None) };
        let text = entry.text(&mut self.problems)?;
        if let Some((_, value)) = words.iter().find(|(word, _)| *word == text) {
            return Ok(Some(*value));
        }
        let all: Vec<_> = words.iter().map(|(word, _)| *word).collect();
        self.problems.error(
            entry.span,
            format!("`{key}` cannot be `{}`", shorten(text)),
            format!("it is one of {}", all.join(", ")),
        )
    }

    fn format(&mut self, table: &Table) -> Read<Format> {
        let entry = table.need("format", &mut self.problems)?;
        let text = entry.text(&mut self.problems)?;
        let (channel, count) = text.split_once('x').unwrap_or((text, "1"));
        let found = CHANNELS.iter().find(|(name, _)| *name == channel).map(|(_, channel)| *channel);
        match (found, count) {
            (Some((kind, bits)), "1" | "2" | "4") => {
                Ok(Format { kind, bits, channels: count.parse().unwrap_or(1) })
            }
            _ => {
                let names: Vec<_> = CHANNELS.iter().map(|(name, _)| *name).collect();
                let help =
                    format!("channels are {}, one, two or four of them, as in `u8x4`", names.join(", "));
                self.problems.error(entry.span, format!("there is no texel format `{}`", shorten(text)), help)
            }
        }
    }
}
