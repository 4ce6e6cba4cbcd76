// SPDX-License-Identifier: MIT OR Apache-2.0
//! Properties of an ELF program: whether it contains its own CUDA runtime, and its fixed library paths.

use std::path::{Path, PathBuf};

use object::elf::{DT_NEEDED, DT_RPATH, DT_RUNPATH, FileHeader64, SHN_UNDEF};
use object::read::elf::{Dyn, FileHeader, Sym};
use object::{Endianness, ReadRef, StringTable};

/// Sections that compilers put device code and its registration into.
const DEVICE_CODE: [&[u8]; 3] = [b".nv_fatbin", b".nvFatBinSegment", b"__nv_relfatbin"];
/// A function that such code calls; if it is an import of the program, the runtime is shared.
const REGISTRATION: &[u8] = b"__cudaRegisterFatBinary";

#[derive(Default)]
pub struct Image {
    device_code: bool,
    shared_runtime: bool,
    /// Folders that are searched before LD_LIBRARY_PATH.
    rpath: Vec<String>,
    runpath: bool,
}

impl Image {
    /// Reads what is of interest of a program; `None` for what is no 64-bit ELF file, or a damaged one, which is the loader's to complain about.
    pub fn read<'data>(bytes: impl ReadRef<'data>) -> Option<Image> {
        let header = FileHeader64::<Endianness>::parse(bytes).ok()?;
        let endian = header.endian().ok()?;
        let sections = header.sections(endian, bytes).ok()?;
        let mut image = Image::default();
        for section in sections.iter() {
            let name = sections.section_name(endian, section).unwrap_or_default();
            image.device_code |= DEVICE_CODE.contains(&name);
        }
        if let Ok(Some((entries, link))) = sections.dynamic(endian, bytes) {
            let strings = sections.strings(endian, bytes, link).unwrap_or_default();
            for entry in entries {
                image.entry(endian, entry, strings);
            }
        }
        if let Ok(symbols) = sections.symbols(endian, bytes, object::elf::SHT_DYNSYM) {
            for symbol in symbols.iter().filter(|symbol| symbol.st_shndx(endian) == SHN_UNDEF) {
                image.shared_runtime |= symbols.symbol_name(endian, symbol) == Ok(REGISTRATION);
            }
        }
        Some(image)
    }

    fn entry<'data>(
        &mut self,
        endian: Endianness,
        entry: &object::elf::Dyn64<Endianness>,
        strings: StringTable<'data, impl ReadRef<'data>>,
    ) {
        let text = || {
            let offset = u32::try_from(entry.d_val(endian)).ok()?;
            Some(String::from_utf8_lossy(strings.get(offset).ok()?).into_owned())
        };
        match entry.d_tag(endian) {
            DT_NEEDED => {
                self.shared_runtime |= text().is_some_and(|name| name.starts_with("libcudart.so"));
            }
            DT_RPATH => self.rpath.extend(text().iter().flat_map(|path| path.split(':')).map(str::to_owned)),
            DT_RUNPATH => self.runpath = true,
            _ => {}
        }
    }

    /// Whether it holds device code and the runtime that launches it.
    pub fn has_static_runtime(&self) -> bool {
        self.device_code && !self.shared_runtime
    }

    /// Folders whose libraries come before those of LD_LIBRARY_PATH.
    pub fn stubborn_folders(&self, origin: &Path) -> Vec<PathBuf> {
        if self.runpath {
            return Vec::new();
        }
        let origin = origin.to_string_lossy();
        let expanded =
            |path: &String| PathBuf::from(path.replace("${ORIGIN}", &origin).replace("$ORIGIN", &origin));
        self.rpath.iter().filter(|path| !path.is_empty()).map(expanded).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_test_is_a_program_without_device_code() {
        let bytes = std::fs::read(std::env::current_exe().expect("it runs")).expect("it can be read");
        let image = Image::read(bytes.as_slice()).expect("it is ELF");
        assert!(!image.has_static_runtime());
        assert!(image.stubborn_folders(Path::new("/")).is_empty());
    }

    #[test]
    fn what_is_not_elf_or_cut_off_is_nothing_to_us() {
        assert!(Image::read(b"#!/bin/sh\n".as_slice()).is_none());
        let bytes = std::fs::read(std::env::current_exe().expect("it runs")).expect("it can be read");
        for length in [0, 4, 63, 64, 100, 1000, bytes.len() / 2] {
            assert!(Image::read(&bytes[..length]).is_none_or(|image| !image.has_static_runtime()));
        }
    }

    #[test]
    fn a_path_for_all_time_is_expanded() {
        let image = Image { rpath: vec!["$ORIGIN/../lib".to_owned(), String::new()], ..Image::default() };
        assert_eq!(image.stubborn_folders(Path::new("/opt/bin")), [PathBuf::from("/opt/bin/../lib")]);
        let polite = Image { runpath: true, ..image };
        assert!(polite.stubborn_folders(Path::new("/opt/bin")).is_empty());
    }
}
