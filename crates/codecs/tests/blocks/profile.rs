// SPDX-License-Identifier: MIT OR Apache-2.0
//! Profiles as files.

use warpwatt_base::SplitMix64;
use warpwatt_codecs::huffman::{Frequencies, Huffman, SymbolBits};
use warpwatt_codecs::profile::{Collected, KEPT, Profile, ProfileError};

use crate::inputs;

fn some() -> Profile {
    let mut seed = SplitMix64::new(5);
    let mut profile = Profile::new(Collected::Dram, "some blocks, seed 5");
    (0..300).for_each(|_| profile.add(&inputs::block(&mut seed)));
    profile
}

#[test]
fn a_profile_comes_back_from_its_file() {
    let profile = some();
    let text = profile.to_text();
    let back = Profile::from_text(&text).unwrap();
    assert_eq!(back.to_text(), text);
    assert_eq!((back.collected, &back.of), (Collected::Dram, &profile.of));
    for width in SymbolBits::ALL {
        assert_eq!(back.of_width(width).total(), profile.of_width(width).total());
        let [ours, theirs] = [&back, &profile].map(|one| Huffman::new(one.of_width(width), 1024, 1));
        assert_eq!(ours.escape(), theirs.escape());
    }
}

#[test]
fn values_beyond_the_most_frequent_are_added_up() {
    let mut profile = Profile::new(Collected::LoadsStores, "many");
    (0..KEPT as u32 + 10).for_each(|value| profile.add_word(value));
    let back = Profile::from_text(&profile.to_text()).unwrap();
    let kept = back.of_width(SymbolBits::ThirtyTwo);
    assert_eq!((kept.rest(), kept.total()), (10, KEPT as u64 + 10));
}

#[test]
fn what_is_no_profile_is_refused_with_the_reason() {
    let text = some().to_text();
    assert_eq!(Profile::from_text(""), Err(ProfileError::NoProfile));
    assert_eq!(Profile::from_text("{}\n"), Err(ProfileError::NoProfile));
    let newer = text.replacen("profile/1", "profile/2", 1);
    assert_eq!(Profile::from_text(&newer), Err(ProfileError::Version("warpwatt.profile/2".to_owned())));
    for damaged in [
        text.replacen("rest 0", "rest 1", 1),
        text[..text.len() - 3].to_owned(),
        text.clone() + "x",
        "warpwatt.profile/1\n".to_owned(),
    ] {
        assert_eq!(Profile::from_text(&damaged), Err(ProfileError::Hash));
    }
}

/// A file that somebody wrote with the right hash, and that says something else than it should.
#[test]
fn lines_that_are_wrong_are_named() {
    use sha2::{Digest, Sha256};
    let text = some().to_text();
    let body = text.splitn(3, '\n').nth(2).unwrap();
    let with = |body: String| {
        let hash: String = Sha256::digest(body.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
        Profile::from_text(&format!("warpwatt.profile/1\nsha256 {hash}\n{body}")).unwrap_err().to_string()
    };
    assert!(
        with(body.replacen("dram", "cache", 1)).starts_with("line 3 of the profile: expected `collected")
    );
    assert!(with(body.replacen("tree 0", "tree 1", 1)).contains("ascending order"));
    assert!(with(body.replacen("values 16", "values 99999999999", 1)).contains("expected a value"));
    assert!(with(body.to_owned() + "0 1\n").contains("nothing is expected"));
    assert!(
        with("collected dram\nof x\n".to_owned()).contains("line 5 of the profile: `symbols` is missing")
    );
}

#[test]
fn counts_of_parts_add_up_to_those_of_the_whole() {
    let mut seed = SplitMix64::new(6);
    let blocks: Vec<_> = (0..100).map(|_| inputs::block(&mut seed)).collect();
    for width in SymbolBits::ALL {
        let count = |blocks: &[Vec<u8>]| {
            let mut frequencies = Frequencies::new(width);
            blocks.iter().for_each(|block| frequencies.add(block));
            frequencies
        };
        let mut parts = count(&blocks[..30]);
        parts.merge(&count(&blocks[30..]));
        assert_eq!(parts, count(&blocks));
    }
}
