// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the built library exports: the names that NVIDIA's libraries export, under the versions that programs ask for. The lists in
//! `names` were read off libcudart 11.8, 12.9 and 13.4, and off `cuda.h` of the same versions.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use object::elf::SHN_UNDEF;
use object::read::elf::{FileHeader, Sym};
use object::{Endianness, elf};

/// Names by version; those without one are under the empty name. The flag says whether the version is the default one.
type Exports = BTreeMap<String, BTreeMap<String, bool>>;

fn library() -> PathBuf {
    let test = std::env::current_exe().expect("the test has a path");
    test.with_file_name("libwarpwatt_cuda.so")
}

fn exports() -> Exports {
    let path = library();
    let data = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let header = elf::FileHeader64::<Endianness>::parse(data.as_slice()).expect("an ELF file");
    let endian = header.endian().expect("an endianness");
    let sections = header.sections(endian, data.as_slice()).expect("sections");
    let symbols = sections.symbols(endian, data.as_slice(), elf::SHT_DYNSYM).expect("dynamic symbols");
    let versions = sections.versions(endian, data.as_slice()).expect("versions").expect("a version table");
    let mut exports = Exports::new();
    for (index, symbol) in symbols.enumerate() {
        if symbol.st_shndx(endian) == SHN_UNDEF || symbol.st_bind() != elf::STB_GLOBAL {
            continue;
        }
        let name = symbols.symbol_name(endian, symbol).expect("a name");
        let name = std::str::from_utf8(name).expect("names are ASCII").to_owned();
        let number = versions.version_index(endian, index);
        let version = versions.version(number.into()).expect("a known version");
        let version =
            version.map_or(String::new(), |version| String::from_utf8_lossy(version.name()).into_owned());
        exports.entry(version).or_default().insert(name, !number.is_hidden());
    }
    exports
}

fn listed(version: &str) -> BTreeSet<String> {
    let path = format!("{}/tests/names/{version}.txt", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    text.lines().map(str::to_owned).collect()
}

const VERSIONS: [&str; 3] = ["libcudart.so.11.0", "libcudart.so.12", "libcudart.so.13"];

#[test]
fn every_version_of_the_runtime_has_the_names_of_the_original() {
    let exports = exports();
    for version in VERSIONS {
        let ours: BTreeSet<String> = exports
            .get(version)
            .into_iter()
            .flat_map(BTreeMap::keys)
            .filter(|&name| name != version)
            .cloned()
            .collect();
        let theirs = listed(version);
        let missing: Vec<_> = theirs.difference(&ours).collect();
        let extra: Vec<_> = ours.difference(&theirs).collect();
        assert!(missing.is_empty(), "{version} lacks {missing:?}");
        assert!(extra.is_empty(), "{version} has {extra:?}, which the original has not");
    }
}

#[test]
fn the_newest_version_of_a_name_is_the_default_one() {
    let exports = exports();
    let all: BTreeSet<String> = VERSIONS.iter().flat_map(|version| listed(version)).collect();
    for name in all {
        let defaults: Vec<&str> =
            VERSIONS.into_iter().filter(|&version| exports[version].get(&name) == Some(&true)).collect();
        let newest = VERSIONS.into_iter().rfind(|&version| exports[version].contains_key(&name));
        assert_eq!(defaults, Vec::from_iter(newest), "{name}");
    }
}

#[test]
fn the_driver_is_there_without_versions() {
    let exports = exports();
    let ours: BTreeSet<String> = exports[""].keys().cloned().collect();
    let missing: Vec<_> = listed("libcuda").into_iter().filter(|name| !ours.contains(name)).collect();
    assert!(missing.is_empty(), "libcuda lacks {missing:?}");
}
