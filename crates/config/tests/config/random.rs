// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random GPUs are legal, differ from each other and reach every choice.

use std::collections::{BTreeMap, BTreeSet};

use warpwatt_config::{Config, ParameterKind, listing, random, validate};

#[test]
fn they_are_legal_and_varied() {
    let mut seen: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for seed in 0..2000 {
        let config = random(seed);
        assert_eq!(validate(&config), Ok(()), "seed {seed}");
        assert!(config.sm.warps >= 16 && config.sm.threads >= 512 && config.sm.registers >= 512 * 32);
        assert!(config.shared.bytes >= 16384, "seed {seed}");
        for (key, value) in listing(&config) {
            seen.entry(key).or_default().insert(value);
        }
    }
    for parameter in Config::parameters() {
        let values = seen[parameter.key].len();
        let least = match parameter.kind {
            ParameterKind::Integer { .. } => 2,
            ParameterKind::Switch => 2,
            ParameterKind::Choice(words) => words.len(),
            ParameterKind::File => 1,
        };
        assert!(values >= least, "{} had {values} values", parameter.key);
    }
    assert_eq!(random(7), random(7));
}
