// SPDX-License-Identifier: MIT OR Apache-2.0
//! GPU files are read as written, and written as read.

use std::collections::BTreeMap;

use warpwatt_base::SplitMix64;
use warpwatt_config::{
    Basis, Config, GpuFile, Policy, Topology, apply, listing, random, sha256, to_toml, values,
};

#[test]
fn a_file_lists_what_differs() {
    let text = "inherits = \"gtx580\"\n[sm]\nscheduler = \"lrr\"\nwarps = 0x20\n[sm.l1d]\nmshrs = 1_6\nglobal = false\n[noc]\ntopology = \"mesh\"\n";
    let file = GpuFile::read(text, "some/where/mine.toml").expect("a legal file");
    let mut wanted = GpuFile::preset("gtx580").expect("a preset").config;
    wanted.sm.scheduler = Policy::Lrr;
    wanted.sm.warps = 32;
    wanted.l1d.mshrs = 16;
    wanted.l1d.global = false;
    wanted.noc.topology = Topology::Mesh;
    assert_eq!(file.config, wanted);
    assert_eq!((file.name.as_str(), file.inherits.as_str()), ("mine", "gtx580"));
    assert_eq!(Config::load(text, "mine.toml"), Ok(wanted));
}

#[test]
fn an_empty_file_is_refused_and_the_default_is_a_gtx480() {
    let refused = Config::load("", "empty.toml").expect_err("there is nothing in it");
    assert!(refused[0].to_string().contains("inherits = \"gtx480\""), "{}", refused[0]);
    assert_eq!(GpuFile::preset("gtx480").expect("a preset").config, Config::default());
}

#[test]
fn dotted_keys_and_inline_tables_are_sections_too() {
    let mut wanted = Config::default();
    wanted.l1d.mshrs = 7;
    assert_eq!(Config::load("sm.l1d.mshrs = 7", "a.toml"), Ok(wanted.clone()));
    assert_eq!(Config::load("sm = { l1d = { mshrs = 7 } }", "a.toml"), Ok(wanted));
}

#[test]
fn what_is_written_reads_back() {
    for seed in 0..300 {
        let config = random(seed);
        for annotated in [false, true] {
            assert_eq!(
                Config::load(&to_toml(&config, annotated), "x.toml").as_ref(),
                Ok(&config),
                "seed {seed}"
            );
        }
        let mut rebuilt = Config::default();
        for (key, value) in listing(&config) {
            apply(&mut rebuilt, &format!("{key}={value}")).expect("a legal setting");
        }
        assert_eq!(rebuilt, config, "seed {seed}");
    }
}

#[test]
fn headers_survive_whatever_they_say() {
    let mut random = SplitMix64::new(1);
    let letters: Vec<char> = "ab \"'\\#=[]{}äß🙂$%".chars().collect();
    for _ in 0..200 {
        let word: String =
            (0..12).map(|_| letters[random.below(letters.len() as u32) as usize]).collect::<String>() + "x";
        let word = word.trim().to_owned();
        let file = GpuFile {
            name: word.clone(),
            description: word,
            inherits: "gtx480-wc".to_owned(),
            config: warpwatt_config::random(random.next_u64()),
            reasons: BTreeMap::new(),
            rest: None,
        };
        assert_eq!(GpuFile::read(&file.to_toml(true), "x.toml"), Ok(file));
    }
}

#[test]
fn a_file_without_a_name_is_called_like_the_file() {
    let preset = GpuFile::preset("gtx480-corf").expect("a preset");
    let file = GpuFile { name: String::new(), reasons: BTreeMap::new(), rest: None, ..preset };
    let read = GpuFile::read(&file.to_toml(true), "dir/fast.toml").expect("a legal file");
    assert_eq!(read, GpuFile { name: "fast".to_owned(), inherits: "gtx480-gpgpusim".to_owned(), ..file });
}

#[test]
fn annotations_tell_meaning_unit_and_range() {
    let text = to_toml(&Config::default(), true);
    assert!(text.contains("# L1 data cache, with lines of 128 bytes.\n[sm.l1d]\n"), "{text}");
    assert!(text.contains("# Miss status registers (MSHRs): lines being fetched. (1–256)\nmshrs = 64\n"));
    assert!(text.contains(
        "# Scheduling policy: which ready warp issues. (gto, lrr, two-level)\nscheduler = \"gto\"\n"
    ));
    assert!(text.contains("(8192–262144 bytes)\nonchip_bytes = 65536\n"));
    assert!(!to_toml(&Config::default(), false).contains('#'));
}

#[test]
fn settings_are_applied() {
    let mut config = Config::default();
    for setting in
        ["sm.scheduler=lrr", " sm.l1d.global = off ", "sm.shared.bytes=16KB", "sm.registers=65_536"]
    {
        apply(&mut config, setting).expect(setting);
    }
    assert_eq!(config.sm.scheduler, Policy::Lrr);
    assert!(!config.l1d.global);
    assert_eq!((config.shared.bytes, config.sm.registers), (16384, 65536));
}

#[test]
fn the_hash_tells_every_parameter() {
    let mut seen = std::collections::BTreeSet::from([sha256(&Config::default())]);
    for parameter in Config::parameters() {
        let mut config = Config::default();
        let other = match parameter.kind {
            warpwatt_config::ParameterKind::Integer { min, max } => {
                vec![min.to_string(), max.to_string()]
            }
            warpwatt_config::ParameterKind::Switch => vec!["true".to_owned(), "false".to_owned()],
            warpwatt_config::ParameterKind::File => vec![String::new(), "file".to_owned()],
            warpwatt_config::ParameterKind::Choice(words) => {
                words.iter().map(|word| (*word).to_owned()).collect()
            }
        };
        let now = config.get(parameter.key).expect("a value");
        let other = other.iter().find(|value| **value != now).expect("another value");
        config.set(parameter.key, other).expect("a legal value");
        assert!(seen.insert(sha256(&config)), "{}", parameter.key);
        assert_eq!(values(&config).len(), Config::parameters().len());
    }
}

#[test]
fn a_reason_may_stand_beside_a_value_or_in_its_place() {
    let text = "inherits = \"gtx480-wc\"\nrest = \"why not\"\n[sm]\nwarps = { value = 32, source = \"a book\" }\n\
                ctas = { choice = \"8 is enough\" }\nthreads = { agrees = \"so says the book\" }\nschedulers = 1\n";
    let file = GpuFile::read(text, "mine.toml").expect("a legal file");
    let parent = GpuFile::preset("gtx480-wc").expect("a preset");
    assert_eq!((file.config.sm.warps, file.config.sm.ctas, file.config.sm.threads), (32, 8, 1536));
    let reason = |key: &str| file.reasons.get(key).map(|reason| (reason.basis, &*reason.text, &*reason.gpu));
    assert_eq!(reason("sm.warps"), Some((Basis::Source, "a book", "mine")));
    assert_eq!(reason("sm.ctas"), Some((Basis::Choice, "8 is enough", "mine")));
    assert_eq!(reason("sm.threads"), Some((Basis::Agrees, "so says the book", "mine")));
    // Another value than the one that the reason was about.
    assert_eq!(reason("sm.schedulers"), None);
    assert_eq!(file.reasons.get("clock.core_mhz"), parent.reasons.get("clock.core_mhz"));
    assert_eq!(file.unexplained(), ["sm.schedulers"]);
    let written = file.to_toml(true);
    assert!(written.contains("# mine: a book\nwarps = 32\n"), "{written}");
    assert_eq!(GpuFile::read(&written, "x.toml").expect("a legal file").config, file.config);
}
