// SPDX-License-Identifier: MIT OR Apache-2.0
//! The container of a fat binary: a header of 16 bytes (magic, version, size of the header, size of what follows), then entries,
//! each with a header of at least 64 bytes and its payload. There is no public description; the layout was worked out from the
//! output of `fatbinary` 11.8 to 13.4, whose test images are in `tests/data`.

use std::io::Read;

use super::{Entry, EntryKind, FatbinError, bare_elf, bare_ptx, looks_like_text, until_nul};

pub(super) const MAGIC: u32 = 0xBA55_ED50;
pub(super) const HEADER_BYTES: usize = 16;
const ENTRY_BYTES: usize = 64;

const KIND_PTX: u16 = 1;
const KIND_ELF: u16 = 2;
/// Several entries compressed as one (`-concat`, CUDA 13).
const KIND_JOINED: u16 = 0x100;

const FLAG_LZ4: u64 = 0x2000;
const FLAG_ZSTD: u64 = 0x8000;
/// For one architecture (`a`) or family (`f`) alone.
const FLAG_SPECIFIC: u64 = 0x30_0000;

/// Entries of joined payloads: a count and a size, then headers with the offset where others have their own size.
const JOINED_HEADER_BYTES: usize = 8;
const JOINED_ENTRY_BYTES: usize = 80;

/// Images within images are followed this deep.
const DEEPEST: u32 = 4;
/// No program's code is larger; a header that says so is damaged.
const LARGEST: u64 = 1 << 31;

/// The entries of an image: a fat binary or several in a row, PTX text, or machine code.
pub fn decode(image: &[u8]) -> Result<Vec<Entry>, FatbinError> {
    let mut entries = Vec::new();
    any(image, 0, &mut entries)?;
    Ok(entries)
}

fn any(image: &[u8], depth: u32, entries: &mut Vec<Entry>) -> Result<(), FatbinError> {
    if image.starts_with(&MAGIC.to_le_bytes()) {
        return containers(image, depth, entries);
    }
    if image.starts_with(b"\x7fELF") {
        entries.push(bare_elf(image));
    } else if looks_like_text(&image[..image.len().min(8)]) {
        entries.push(bare_ptx(image));
    } else {
        return Err(FatbinError::Unknown(image[..image.len().min(8)].to_vec()));
    }
    Ok(())
}

fn containers(image: &[u8], depth: u32, entries: &mut Vec<Entry>) -> Result<(), FatbinError> {
    let mut at = 0;
    while image[at..].starts_with(&MAGIC.to_le_bytes()) {
        let header = slice(image, at, HEADER_BYTES as u64, "a header")?;
        let (header_bytes, bytes) = (u64::from(u16_at(header, 6)), u64_at(header, 8));
        if header_bytes < HEADER_BYTES as u64 {
            return Err(FatbinError::Damaged { what: "a header with an impossible size", at });
        }
        let start = at + slice(image, at, header_bytes, "a header")?.len();
        let content = slice(image, start, bytes, "the content of a header")?;
        let mut inside = 0;
        while inside + ENTRY_BYTES <= content.len() {
            inside += entry(content, inside, start, depth, entries)?;
        }
        at = start + content.len();
    }
    Ok(())
}

/// Reads the entry at `at` of a container's content, which starts at `origin` of the image; returns its size.
fn entry(
    content: &[u8],
    at: usize,
    origin: usize,
    depth: u32,
    entries: &mut Vec<Entry>,
) -> Result<usize, FatbinError> {
    let place = origin + at;
    let header = Header::read(slice(content, at, ENTRY_BYTES as u64, "the header of an entry")?);
    let header_bytes = header.offset as usize;
    if header_bytes < ENTRY_BYTES {
        return Err(FatbinError::Damaged { what: "an entry's header with an impossible size", at: place });
    }
    let whole = slice(content, at, header_bytes as u64, "the header of an entry")?;
    let stored = slice(content, at + header_bytes, header.bytes, "the payload of an entry")?;
    let payload = header.expand(stored, place)?;
    if header.kind == KIND_JOINED {
        joined(&whole[ENTRY_BYTES..], &payload, place, depth, entries)?;
    } else {
        header.store(&payload, depth, entries)?;
    }
    Ok(header_bytes + stored.len())
}

/// Entries that were compressed together.
fn joined(
    table: &[u8],
    payload: &[u8],
    place: usize,
    depth: u32,
    entries: &mut Vec<Entry>,
) -> Result<(), FatbinError> {
    let count = slice(table, 0, JOINED_HEADER_BYTES as u64, "a table of joined entries")
        .map(|start| u32_at(start, 0))?;
    for number in 0..count as usize {
        let at = JOINED_HEADER_BYTES + number * JOINED_ENTRY_BYTES;
        let header = Header::read(slice(table, at, ENTRY_BYTES as u64, "a table of joined entries")?);
        let part = slice(payload, header.offset as usize, header.bytes, "a joined entry")?;
        if header.kind == KIND_JOINED {
            return Err(FatbinError::Damaged { what: "joined entries within joined entries", at: place });
        }
        header.store(part, depth, entries)?;
    }
    Ok(())
}

struct Header {
    kind: u16,
    /// Size of the header; of a joined entry, where its payload starts.
    offset: u32,
    /// As stored, with padding.
    bytes: u64,
    /// As stored, without padding; 0 where nothing is compressed.
    compressed: u32,
    isa: (u16, u16),
    sm: u32,
    flags: u64,
    expanded: u64,
}

impl Header {
    fn read(header: &[u8]) -> Header {
        Header {
            kind: u16_at(header, 0),
            offset: u32_at(header, 4),
            bytes: u64_at(header, 8),
            compressed: u32_at(header, 16),
            isa: (u16_at(header, 26), u16_at(header, 24)),
            sm: u32_at(header, 28),
            flags: u64_at(header, 40),
            expanded: u64_at(header, 56),
        }
    }

    /// The payload as it was before compression.
    fn expand(&self, stored: &[u8], at: usize) -> Result<Vec<u8>, FatbinError> {
        let method = match self.flags & (FLAG_LZ4 | FLAG_ZSTD) {
            0 => return Ok(stored.to_vec()),
            FLAG_LZ4 => "LZ4",
            FLAG_ZSTD => "zstd",
            _ => return Err(FatbinError::Damaged { what: "an entry compressed in two ways", at }),
        };
        let packed = slice(stored, 0, u64::from(self.compressed), "a compressed payload")?;
        let failed = |why: String| FatbinError::Compression { at, method, why };
        if self.expanded > LARGEST {
            return Err(failed(format!("its size would be {} bytes", self.expanded)));
        }
        let expanded = self.expanded as usize;
        let payload = if method == "LZ4" {
            // No byte of LZ4 stands for more than 255: room is made for what can be there.
            if expanded > packed.len().saturating_mul(255) + 64 {
                return Err(failed(format!("{} bytes cannot expand to {expanded}", packed.len())));
            }
            lz4_flex::block::decompress(packed, expanded).map_err(|error| failed(error.to_string()))?
        } else {
            let mut payload = Vec::new();
            let decoder =
                ruzstd::decoding::StreamingDecoder::new(packed).map_err(|error| failed(error.to_string()))?;
            decoder
                .take(self.expanded + 1)
                .read_to_end(&mut payload)
                .map_err(|error| failed(error.to_string()))?;
            payload
        };
        if payload.len() != expanded {
            return Err(failed(format!("it has {} bytes instead of {expanded}", payload.len())));
        }
        Ok(payload)
    }

    fn store(&self, payload: &[u8], depth: u32, entries: &mut Vec<Entry>) -> Result<(), FatbinError> {
        if payload.starts_with(&MAGIC.to_le_bytes()) && depth < DEEPEST {
            return any(payload, depth + 1, entries);
        }
        let (kind, payload) = match self.kind {
            KIND_PTX => (EntryKind::Ptx, until_nul(payload)),
            KIND_ELF => (EntryKind::Elf, payload),
            other => (EntryKind::Other(other), payload),
        };
        let specific = self.flags & FLAG_SPECIFIC != 0;
        entries.push(Entry { kind, sm: self.sm, specific, isa: self.isa, payload: payload.to_vec() });
        Ok(())
    }
}

fn slice<'a>(bytes: &'a [u8], at: usize, length: u64, what: &'static str) -> Result<&'a [u8], FatbinError> {
    let rest = bytes.get(at..).unwrap_or_default();
    let cut = FatbinError::Truncated { what, at, needs: length, left: rest.len() as u64 };
    usize::try_from(length).ok().and_then(|length| rest.get(..length)).ok_or(cut)
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from(u16_at(bytes, at)) | u32::from(u16_at(bytes, at + 2)) << 16
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}
