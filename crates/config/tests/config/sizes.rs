// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sizes of caches as settings, and files that inherit from files.

use std::collections::BTreeMap;

use warpwatt_config::{Config, GpuFile, apply, apply_all};

#[test]
fn a_size_sets_what_it_follows_from() {
    let set = |setting: &str| {
        let mut config = Config::default();
        apply(&mut config, setting).expect(setting);
        config
    };
    let l2 = set("l2.bytes=1536KB");
    assert_eq!((l2.l2_bytes(), l2.l2.sets), (1536 << 10, 2 * Config::default().l2.sets));
    assert_eq!(set("sm.icache.bytes=4KB").icache.sets, 8);
    assert_eq!(set("sm.constant.bytes=16384").constant.sets, 128);
    assert_eq!(set("sm.texture.bytes=24KB").texture.sets, 8);
    let l1 = set("sm.l1d.bytes=32KB");
    assert_eq!((l1.l1d_bytes(), l1.shared.bytes), (32 << 10, Config::default().shared.bytes));
}

#[test]
fn a_size_that_sets_and_ways_cannot_make_says_how_it_follows() {
    let refused = |setting: &str| apply(&mut Config::default(), setting).expect_err(setting).to_string();
    let message = refused("l2.bytes=1000000");
    assert!(
        message
            .starts_with("invalid l2.bytes = 1000000; l2.bytes = gpu.partitions × l2.sets × l2.ways × 128"),
        "{message}"
    );
    assert!(message.contains("multiple of 12288 bytes"), "{message}");
    for setting in ["l2.bytes=0", "l2.bytes=many", "l2.bytes=", "sm.l1d.bytes=1MB", "sm.constant.bytes=100"] {
        assert!(refused(setting).starts_with("invalid "), "{setting}: {}", refused(setting));
    }
}

#[test]
fn sizes_are_applied_after_what_they_follow_from() {
    for order in [["l2.bytes=768KB", "l2.ways=16"], ["l2.ways=16", "l2.bytes=768KB"]] {
        let mut config = Config::default();
        assert_eq!(apply_all(&mut config, order), []);
        assert_eq!((config.l2_bytes(), config.l2.ways, config.l2.sets), (768 << 10, 16, 64));
    }
    let file = GpuFile::read("[l2]\nbytes = 786432\nways = 16\n", "a.toml").expect("a legal file");
    assert_eq!((file.config.l2.sets, file.config.l2.ways), (64, 16));
    let both = GpuFile::read("[l2]\nsets = 64\nbytes = 786432\n", "a.toml").expect_err("both are set");
    assert!(
        both[0].to_string().starts_with("a.toml:3:9: invalid l2.bytes = 786432; the file sets l2.sets too"),
        "{}",
        both[0]
    );
}

#[test]
fn files_inherit_from_files() {
    let files = BTreeMap::from([
        ("designs/base.toml", "inherits = \"gtx580\"\n[sm]\nwarps = 32\nctas = 4\n"),
        ("designs/new/mine.toml", "inherits = \"../base.toml\"\n[sm]\nctas = 6\n"),
        ("designs/broken.toml", "[sm]\nwarps = 99\n"),
        ("designs/circle.toml", "inherits = \"./circle.toml\"\n"),
    ]);
    let load = |path: &str| {
        let plain = path.replace("new/../", "").replace("./", "");
        files.get(plain.as_str()).map(|text| (*text).to_owned()).ok_or_else(|| "no such file".to_owned())
    };
    let read = |text: &str, name: &str| GpuFile::read_with(text, name, &load);
    let mine = read(files["designs/new/mine.toml"], "designs/new/mine.toml").expect("a legal file");
    assert_eq!((mine.config.sm.warps, mine.config.sm.ctas, mine.config.gpu.sms), (32, 6, 16));
    assert_eq!(mine.inherits, "../base.toml");
    let message = |text: &str| read(text, "designs/x.toml").expect_err(text)[0].to_string();
    assert!(
        message("inherits = \"none.toml\"")
            .starts_with("designs/x.toml:1:12: cannot read designs/none.toml: no such file")
    );
    assert!(
        message("inherits = \"broken.toml\"").starts_with("designs/broken.toml:2:9: invalid sm.warps = 99")
    );
    assert!(message("inherits = \"circle.toml\"").contains("inherits from itself"));
    assert!(message("inherits = \"gtx481\"").contains("there is no GPU `gtx481`"));
    assert!(
        GpuFile::read("inherits = \"base.toml\"", "x.toml").is_err(),
        "without files there are presets only"
    );
}
