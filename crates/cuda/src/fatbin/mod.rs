// SPDX-License-Identifier: MIT OR Apache-2.0
//! Images that programs hand over as code: fat binaries as `nvcc` and `clang` embed them, bare PTX, bare machine code.
//!
//! A fat binary is a container of entries, each PTX or machine code for one architecture, plain or compressed with LZ4 or
//! zstd; `container` reads it. [`choose`] picks the PTX that suits a device. Nothing in an image is trusted: whatever its
//! bytes, the answer is entries or an error.

mod choose;
mod container;
mod pointer;

pub use choose::{Refusal, choose, target_of};
pub use container::decode;
pub use pointer::{LoadError, from_pointer, load, load_bytes, units};

/// What an entry holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EntryKind {
    Ptx,
    /// Machine code.
    Elf,
    /// Anything else, such as intermediate code for link-time optimisation.
    Other(u16),
}

/// One piece of code for one architecture.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    pub kind: EntryKind,
    /// Architecture as in `sm_75`; 0 where it is not known.
    pub sm: u32,
    /// For one architecture or family alone (`sm_90a`, `sm_100f`), not for later ones.
    pub specific: bool,
    /// Version of the PTX language; of the format for machine code.
    pub isa: (u16, u16),
    /// The code itself, decompressed.
    pub payload: Vec<u8>,
}

/// Why an image cannot be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum FatbinError {
    #[error("the image is neither a fat binary nor PTX nor machine code: it starts with the bytes {0:02x?}")]
    Unknown(Vec<u8>),
    #[error("the image pointer is null")]
    Null,
    #[error("the fat binary is truncated: {what} at byte {at} needs {needs} bytes, {left} are left")]
    Truncated { what: &'static str, at: usize, needs: u64, left: u64 },
    #[error("the fat binary is damaged: {what} at byte {at}")]
    Damaged { what: &'static str, at: usize },
    #[error("the fat binary has an entry at byte {at} that cannot be decompressed ({method}): {why}")]
    Compression { at: usize, method: &'static str, why: String },
    #[error("the wrapper of the fat binary has version {0}; versions 1 and 2 are supported")]
    Wrapper(u32),
}

/// An entry for a bare PTX text, with version and architecture as its header says.
fn bare_ptx(text: &[u8]) -> Entry {
    let text = until_nul(text);
    let shown = String::from_utf8_lossy(&text[..text.len().min(1 << 16)]);
    let (isa, (sm, specific)) = (choose::version_of(&shown), choose::target_of(&shown));
    Entry { kind: EntryKind::Ptx, sm, specific, isa, payload: text.to_vec() }
}

/// An entry for a bare ELF file of machine code.
fn bare_elf(image: &[u8]) -> Entry {
    let flags =
        image.get(48..52).map_or(0, |bytes| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]));
    let abi = image.get(8).copied().unwrap_or(0);
    // The architecture moved by a byte when the format's version did.
    let sm = if abi >= 8 { (flags >> 8) & 0xff } else { flags & 0xff };
    Entry { kind: EntryKind::Elf, sm, specific: false, isa: (u16::from(abi), 0), payload: image.to_vec() }
}

fn until_nul(text: &[u8]) -> &[u8] {
    &text[..text.iter().position(|&byte| byte == 0).unwrap_or(text.len())]
}

/// Whether bytes could be the beginning of a PTX text.
fn looks_like_text(start: &[u8]) -> bool {
    !start.is_empty() && start.iter().all(|&byte| matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~'))
}

#[cfg(test)]
mod tests;
