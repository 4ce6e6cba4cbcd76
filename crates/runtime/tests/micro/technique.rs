// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random settings of a technique, as a part of random GPUs.

use warpwatt_base::SplitMix64;
use warpwatt_config::{Config, ParameterKind};
use warpwatt_runtime::Techniques;

/// Every other seed has a technique, with settings of its own, and makes the GPU one that the technique goes with.
pub fn random(seed: u64, config: &mut Config) -> Techniques {
    let mut random = SplitMix64::new(seed ^ 0x7465_6368_6e69);
    if seed.is_multiple_of(2) {
        return Techniques::default();
    }
    config.rf.sub_banks = 8;
    loop {
        let info = &Techniques::ALL[random.below(Techniques::ALL.len() as u32) as usize];
        // What is conserved is worked out from the program as it was compiled.
        if info.sites.program.is_some() {
            continue;
        }
        let mut settings = Vec::new();
        for parameter in (info.parameters)() {
            // Most values stay as they are, so that what is odd meets what is usual.
            if random.chance(2) {
                continue;
            }
            let value = match parameter.kind {
                ParameterKind::Switch => ["off", "on"][random.below(2) as usize].to_owned(),
                ParameterKind::Choice(words) => words[random.below(words.len() as u32) as usize].to_owned(),
                ParameterKind::File => continue,
                ParameterKind::Integer { min, max } => {
                    (min + random.below(max.min(4 * min + 40) - min + 1)).to_string()
                }
            };
            settings.push(format!("{}={value}", parameter.name));
        }
        let mut techniques = Techniques { verify: true, ..Techniques::default() };
        techniques.with(&format!("{}:{}", info.name, settings.join(","))).expect("each is legal by itself");
        if techniques.validate(config).is_ok() {
            return techniques;
        }
    }
}
