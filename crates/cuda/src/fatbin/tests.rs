// SPDX-License-Identifier: MIT OR Apache-2.0
//! Images from an encoder of our own and from NVIDIA's `fatbinary`, whole and damaged.

use proptest::prelude::*;

use super::*;

#[derive(Clone, Copy, PartialEq, Debug)]
enum Packing {
    Plain,
    Lz4,
    Zstd,
}

/// An entry as `fatbinary` writes it.
fn encode(entry: &Entry, packing: Packing) -> Vec<u8> {
    let (stored, flag) = match packing {
        Packing::Plain => (entry.payload.clone(), 0),
        Packing::Lz4 => (lz4_flex::block::compress(&entry.payload), 0x2000),
        Packing::Zstd => {
            let level = ruzstd::encoding::CompressionLevel::Fastest;
            (ruzstd::encoding::compress_to_vec(entry.payload.as_slice(), level), 0x8000)
        }
    };
    let padded = stored.len().next_multiple_of(8);
    let kind: u16 = match entry.kind {
        EntryKind::Ptx => 1,
        EntryKind::Elf => 2,
        EntryKind::Other(kind) => kind,
    };
    let packed = if packing == Packing::Plain { 0 } else { stored.len() as u32 };
    let flags: u64 = 0x11 | flag | if entry.specific { 0x10_0000 } else { 0 };
    let mut out = Vec::new();
    out.extend(kind.to_le_bytes());
    out.extend(0x101u16.to_le_bytes());
    out.extend(64u32.to_le_bytes());
    out.extend((padded as u64).to_le_bytes());
    out.extend(packed.to_le_bytes());
    out.extend(64u32.to_le_bytes());
    out.extend(entry.isa.1.to_le_bytes());
    out.extend(entry.isa.0.to_le_bytes());
    out.extend(entry.sm.to_le_bytes());
    out.extend([0; 8]);
    out.extend(flags.to_le_bytes());
    out.extend([0; 8]);
    out.extend((if packed == 0 { 0 } else { entry.payload.len() as u64 }).to_le_bytes());
    out.extend(&stored);
    out.resize(64 + padded, 0);
    out
}

fn container(entries: &[Vec<u8>]) -> Vec<u8> {
    let content = entries.concat();
    let mut out = 0xBA55_ED50u32.to_le_bytes().to_vec();
    out.extend([1, 0, 16, 0]);
    out.extend((content.len() as u64).to_le_bytes());
    out.extend(content);
    out
}

fn ptx(sm: u32, specific: bool) -> Entry {
    let letter = if specific { "a" } else { "" };
    let text =
        format!(".version 8.4\n.target sm_{sm}{letter}, debug\n.address_size 64\n// {}\n", "x".repeat(90));
    Entry { kind: EntryKind::Ptx, sm, specific, isa: (8, 4), payload: text.into_bytes() }
}

fn elf(sm: u32) -> Entry {
    Entry { kind: EntryKind::Elf, sm, specific: false, isa: (1, 8), payload: b"\x7fELF 16 bytes ok".to_vec() }
}

const SPEED: &[u8] = include_bytes!("../../tests/data/add-speed.fatbin");
const DEFAULT: &[u8] = include_bytes!("../../tests/data/add-default.fatbin");
const JOINED: &[u8] = include_bytes!("../../tests/data/add-joined.fatbin");

#[test]
fn images_of_nvidias_tools_are_read() {
    for (image, sms) in [(SPEED, vec![(75, false), (80, false)]), (DEFAULT, vec![(75, false), (80, false)])] {
        let entries = decode(image).expect("it is whole");
        assert_eq!(entries.iter().map(|entry| (entry.sm, entry.specific)).collect::<Vec<_>>(), sms);
        for entry in &entries {
            let text = String::from_utf8_lossy(&entry.payload);
            assert_eq!((entry.kind, entry.isa), (EntryKind::Ptx, (9, 4)));
            assert!(
                text.contains(&format!(".target sm_{}\n", entry.sm)) && text.contains("_Z3addPfi"),
                "{text}"
            );
        }
    }
    let joined = decode(JOINED).expect("it is whole");
    let sms: Vec<_> = joined.iter().map(|entry| (entry.sm, entry.specific)).collect();
    assert_eq!(sms, [(75, false), (80, false), (90, true)]);
    assert!(joined.iter().all(|entry| !entry.payload.contains(&0)), "no padding is left");
}

#[test]
fn nested_and_consecutive_containers_are_followed() {
    let inner = container(&[encode(&ptx(70, false), Packing::Lz4)]);
    let wrapping = Entry { kind: EntryKind::Other(64), sm: 0, specific: false, isa: (0, 0), payload: inner };
    let mut image = container(&[encode(&wrapping, Packing::Plain), encode(&elf(80), Packing::Plain)]);
    image.extend(container(&[encode(&ptx(75, false), Packing::Zstd)]));
    let entries = decode(&image).expect("it is whole");
    assert_eq!(entries, [ptx(70, false), elf(80), ptx(75, false)]);
}

#[test]
fn the_newest_ptx_that_the_device_has_is_chosen() {
    let chosen = |sms: &[(u32, bool)]| {
        let entries: Vec<_> = sms.iter().map(|&(sm, specific)| ptx(sm, specific)).collect();
        target(&choose(&entries, 75).expect("there is PTX"))
    };
    fn target(text: &str) -> (u32, bool) {
        choose::target_of(text)
    }
    assert_eq!(chosen(&[(52, false), (70, false), (80, false)]), (70, false));
    assert_eq!(chosen(&[(90, false), (80, false)]), (80, false), "the lowest above");
    assert_eq!(chosen(&[(90, true), (100, false)]), (100, false), "code for one architecture comes last");
    assert_eq!(chosen(&[(90, true)]), (90, true));
}

#[test]
fn machine_code_alone_is_refused_with_the_flag_that_helps() {
    let text = choose(&[elf(90), elf(80), elf(80)], 75).expect_err("there is no PTX").to_string();
    for part in ["sm_80, sm_90", "-gencode arch=compute_75,code=compute_75", "--cuda-include-ptx=sm_75"] {
        assert!(text.contains(part), "{text}");
    }
    assert_eq!(choose(&[], 75), Err(Refusal::Empty));
    let lto = Entry { kind: EntryKind::Other(8), ..elf(75) };
    assert_eq!(choose(&[lto], 75), Err(Refusal::Intermediate(8)));
}

#[test]
fn bare_images_tell_what_they_are() {
    let text = b"\n// c\n.version 7.8\n.target sm_90a\n\0rubbish";
    let entries = decode(text).expect("it is text");
    assert_eq!((entries[0].sm, entries[0].specific, entries[0].isa), (90, true, (7, 8)));
    assert!(entries[0].payload.ends_with(b"sm_90a\n"));
    let mut elf = vec![0; 64];
    elf[..4].copy_from_slice(b"\x7fELF");
    (elf[8], elf[48], elf[49]) = (7, 80, 5);
    assert_eq!(decode(&elf).expect("it is ELF")[0].sm, 80);
    (elf[8], elf[48], elf[49]) = (8, 4, 90);
    assert_eq!(decode(&elf).expect("it is ELF")[0].sm, 90);
    assert_eq!(decode(&[1, 2, 3]), Err(FatbinError::Unknown(vec![1, 2, 3])));
    assert_eq!(decode(&[]), Err(FatbinError::Unknown(vec![])));
}

#[repr(C)]
struct Wrapper(u32, u32, *const u8, *const *const u8);

#[test]
fn pointers_lead_to_wrappers_containers_and_texts() {
    let image = container(&[encode(&ptx(75, false), Packing::Lz4)]);
    let (wrapper, text) =
        (Wrapper(0x4662_43b1, 1, image.as_ptr(), std::ptr::null()), c".version 6.0\n.target sm_30\n");
    // SAFETY: the images are whole.
    unsafe {
        assert_eq!(from_pointer((&raw const wrapper).cast()), Ok(vec![ptx(75, false)]));
        assert_eq!(from_pointer(image.as_ptr()), Ok(vec![ptx(75, false)]));
        assert_eq!(from_pointer(text.as_ptr().cast()).expect("it is text")[0].sm, 30);
        assert_eq!(from_pointer(c"".as_ptr().cast()), Err(FatbinError::Unknown(vec![])));
        assert_eq!(from_pointer(std::ptr::null()), Err(FatbinError::Null));
        let odd = Wrapper(0x4662_43b1, 3, image.as_ptr(), std::ptr::null());
        assert_eq!(from_pointer((&raw const odd).cast()), Err(FatbinError::Wrapper(3)));
    }
}

#[test]
fn units_of_relocatable_code_come_one_by_one() {
    let first = container(&[encode(&ptx(75, false), Packing::Lz4), encode(&ptx(80, false), Packing::Zstd)]);
    let second = container(&[encode(&ptx(70, false), Packing::Plain)]);
    let (machine, linked) = (container(&[encode(&elf(75), Packing::Plain)]), container(&[]));
    let runtime = Entry {
        payload: b".entry __nv_static_51__e2_22_cuda_device_runtime_cu_7f_30_k".to_vec(),
        ..ptx(121, false)
    };
    let runtime = container(&[encode(&runtime, Packing::Plain)]);
    let list = [first.as_ptr(), second.as_ptr(), runtime.as_ptr(), machine.as_ptr(), std::ptr::null()];
    let wrapper = Wrapper(0x4662_43b1, 2, linked.as_ptr(), list.as_ptr());
    // SAFETY: the images are whole and the list ends with a null pointer.
    let texts = unsafe { load((&raw const wrapper).cast(), 75) }.expect("there is PTX");
    let targets: Vec<_> = texts.iter().map(|text| choose::target_of(text).0).collect();
    assert_eq!(targets, [75, 70]);
    let list = [machine.as_ptr(), std::ptr::null()];
    let wrapper = Wrapper(0x4662_43b1, 2, linked.as_ptr(), list.as_ptr());
    // SAFETY: as above.
    let refused = unsafe { load((&raw const wrapper).cast(), 75) };
    assert_eq!(refused, Err(LoadError::Refused(Refusal::MachineCode(vec!["sm_75".to_owned()]))));
}

#[test]
fn a_header_that_promises_gigabytes_is_an_error() {
    for packing in [Packing::Lz4, Packing::Zstd] {
        let mut image = container(&[encode(&ptx(75, false), packing)]);
        image[16 + 56..16 + 64].copy_from_slice(&(1u64 << 30).to_le_bytes());
        assert!(matches!(decode(&image), Err(FatbinError::Compression { .. })));
        image[16 + 56..16 + 64].copy_from_slice(&u64::MAX.to_le_bytes());
        assert!(matches!(decode(&image), Err(FatbinError::Compression { .. })));
    }
}

#[test]
fn every_truncation_is_an_error() {
    for image in [SPEED, DEFAULT, JOINED] {
        for length in 2..image.len() {
            assert!(decode(&image[..length]).is_err(), "{length} bytes");
        }
    }
}

fn entries() -> impl Strategy<Value = Vec<(Entry, Packing)>> {
    let packing = prop_oneof![Just(Packing::Plain), Just(Packing::Lz4), Just(Packing::Zstd)];
    let kind = prop_oneof![Just(EntryKind::Ptx), Just(EntryKind::Elf), Just(EntryKind::Other(8))];
    let payload = prop::collection::vec(1u8..=255, 8..600).prop_map(|mut bytes| {
        // Whole multiples of the padding, so that what comes back is what went in; no image within an image.
        bytes.truncate(bytes.len() / 8 * 8);
        bytes[0] = b'.';
        bytes
    });
    let entry = (kind, 20u32..130, any::<bool>(), (1u16..10, 0u16..9), payload)
        .prop_map(|(kind, sm, specific, isa, payload)| Entry { kind, sm, specific, isa, payload });
    prop::collection::vec((entry, packing), 0..5)
}

proptest! {
    #[test]
    fn what_was_encoded_comes_back(entries in entries()) {
        let image = container(&entries.iter().map(|(entry, packing)| encode(entry, *packing)).collect::<Vec<_>>());
        let expected: Vec<_> = entries.into_iter().map(|(entry, _)| entry).collect();
        prop_assert_eq!(decode(&image), Ok(expected));
    }

    #[test]
    fn damage_never_panics(
        which in 0usize..3,
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let mut image = [SPEED, DEFAULT, JOINED][which].to_vec();
        for (at, value) in damage {
            let at = at.index(image.len());
            image[at] = value;
        }
        if let Some(cut) = cut {
            image.truncate(cut.index(image.len()));
        }
        if let Ok(entries) = decode(&image) {
            let _ = choose(&entries, 75);
        }
    }

    #[test]
    fn headers_of_random_numbers_never_panic(content in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = decode(&container(&[content]));
    }
}
