// SPDX-License-Identifier: MIT OR Apache-2.0
//! Images as a program gives them: by their address, without a length. How long they are is in their headers.

use std::ffi::CStr;

use super::container::{HEADER_BYTES, MAGIC, decode};
use super::{Entry, FatbinError, Refusal, bare_elf, bare_ptx, choose, looks_like_text};

/// The wrapper that compilers put around a fat binary: magic, version, address of the data, and for version 2 a list of more.
const WRAPPER: u32 = 0x4662_43B1;
const LINKED: u32 = 2;
/// Translation units that one program may be linked from; a list without an end is not followed further.
const MOST_UNITS: usize = 1 << 16;

/// In names of NVIDIA's device runtime, with which kernels launch kernels. `nvcc` links it to all relocatable code, used or not; it
/// is for the newest architectures only, and nothing of it could run here.
const DEVICE_RUNTIME: &str = "_cuda_device_runtime_cu_";

#[repr(C)]
struct Wrapper {
    magic: u32,
    version: u32,
    data: *const u8,
    /// Version 1: the name of a file, unused. Version 2: null-terminated addresses of the fat binaries that are to be linked.
    more: *const *const u8,
}

/// Why an image cannot be run.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LoadError {
    #[error(transparent)]
    Image(#[from] FatbinError),
    #[error(transparent)]
    Refused(#[from] Refusal),
}

/// The PTX texts of an image that suit a device of this capability: one, or several that are to be linked.
///
/// # Safety
/// As [`from_pointer`].
pub unsafe fn load(image: *const u8, capability: u32) -> Result<Vec<String>, LoadError> {
    // SAFETY: as the caller promises.
    texts(unsafe { units(image) }?, capability)
}

/// The PTX text of an image of known size that suits a device of this capability.
pub fn load_bytes(image: &[u8], capability: u32) -> Result<Vec<String>, LoadError> {
    texts(vec![decode(image)?], capability)
}

fn texts(units: Vec<Vec<Entry>>, capability: u32) -> Result<Vec<String>, LoadError> {
    let (texts, refusals): (Vec<_>, Vec<_>) =
        units.iter().map(|unit| choose(unit, capability)).partition(Result::is_ok);
    // A unit of machine code alone, such as NVIDIA's device runtime, is in the way only if there is nothing else.
    if texts.is_empty() {
        let all: Vec<_> = units.into_iter().flatten().collect();
        let refusal = choose(&all, capability).err().or(refusals.into_iter().find_map(Result::err));
        return Err(refusal.unwrap_or(Refusal::Empty).into());
    }
    let mut texts: Vec<String> = texts.into_iter().flatten().collect();
    if texts.len() > 1 {
        texts.retain(|text| !text.contains(DEVICE_RUNTIME));
    }
    Ok(texts)
}

/// The entries of an image: a wrapper, a fat binary, PTX text that ends with a NUL, or machine code.
///
/// # Safety
/// `image` is null or points to a readable image of one of these forms, whole as its headers say.
pub unsafe fn from_pointer(image: *const u8) -> Result<Vec<Entry>, FatbinError> {
    // SAFETY: as the caller promises.
    Ok(unsafe { units(image) }?.into_iter().flatten().collect())
}

/// The entries of an image by translation unit: one for all but programs of relocatable device code.
///
/// # Safety
/// As [`from_pointer`].
pub unsafe fn units(image: *const u8) -> Result<Vec<Vec<Entry>>, FatbinError> {
    if image.is_null() {
        return Err(FatbinError::Null);
    }
    // SAFETY: every form has at least four bytes, PTX text included.
    if unsafe { magic(image) } != WRAPPER {
        // SAFETY: as the caller promises.
        return Ok(vec![unsafe { single(image) }?]);
    }
    // SAFETY: the magic number says that it is a wrapper; it need not be aligned.
    let wrapper = unsafe { image.cast::<Wrapper>().read_unaligned() };
    let mut units = Vec::new();
    match wrapper.version {
        1 => {}
        LINKED if wrapper.more.is_null() => {}
        LINKED => {
            for number in 0..MOST_UNITS {
                // SAFETY: the list ends with a null pointer, which ends the loop.
                let unit = unsafe { wrapper.more.add(number).read_unaligned() };
                if unit.is_null() {
                    break;
                }
                // SAFETY: the list holds images.
                units.push(unsafe { single(unit) }?);
            }
        }
        other => return Err(FatbinError::Wrapper(other)),
    }
    if !wrapper.data.is_null() {
        // SAFETY: the wrapper holds an image.
        let linked = unsafe { single(wrapper.data) }?;
        // What the linker made of the units is machine code; where there is none the container is empty.
        if units.is_empty() || linked.iter().any(|entry| entry.kind == super::EntryKind::Ptx) {
            units.push(linked);
        }
    }
    if units.is_empty() { Err(FatbinError::Null) } else { Ok(units) }
}

unsafe fn magic(image: *const u8) -> u32 {
    let mut bytes = [0; 4];
    for (at, byte) in bytes.iter_mut().enumerate() {
        // SAFETY: the caller's image has four bytes, or is a text whose NUL comes before.
        *byte = unsafe { image.add(at).read() };
        if *byte == 0 {
            break;
        }
    }
    u32::from_le_bytes(bytes)
}

/// An image that is not wrapped.
unsafe fn single(image: *const u8) -> Result<Vec<Entry>, FatbinError> {
    // SAFETY: as for `units`.
    let start = unsafe { magic(image) };
    if start == MAGIC {
        // SAFETY: a container starts with 16 bytes, which say how long it is.
        let header = unsafe { std::slice::from_raw_parts(image, HEADER_BYTES) };
        let header_bytes = usize::from(u16::from_le_bytes([header[6], header[7]]));
        let content = u64::from_le_bytes([
            header[8], header[9], header[10], header[11], header[12], header[13], header[14], header[15],
        ]);
        let Some(whole) = usize::try_from(content).ok().and_then(|bytes| bytes.checked_add(header_bytes))
        else {
            return Err(FatbinError::Damaged { what: "a header with an impossible size", at: 0 });
        };
        if whole > isize::MAX as usize || header_bytes < HEADER_BYTES {
            return Err(FatbinError::Damaged { what: "a header with an impossible size", at: 0 });
        }
        // SAFETY: the caller's image is as long as its header says.
        return decode(unsafe { std::slice::from_raw_parts(image, whole) });
    }
    if start == u32::from_le_bytes(*b"\x7fELF") {
        // SAFETY: an ELF file has a header of 64 bytes. The code itself cannot be used, so no more is read.
        return Ok(vec![bare_elf(unsafe { std::slice::from_raw_parts(image, 64) })]);
    }
    let bytes = start.to_le_bytes();
    let known = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    if !looks_like_text(&bytes[..known]) {
        return Err(FatbinError::Unknown(bytes[..known].to_vec()));
    }
    // SAFETY: it is text, which the caller ends with a NUL.
    Ok(vec![bare_ptx(unsafe { CStr::from_ptr(image.cast()) }.to_bytes())])
}
