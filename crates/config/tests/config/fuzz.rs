// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whatever a file holds, it is read or refused with messages; never a panic.

use warpwatt_base::SplitMix64;
use warpwatt_config::{Config, PRESETS, apply, listing, to_toml, validate};

const SNIPPETS: &[&str] = &[
    "[",
    "]",
    "[[",
    "=",
    "\"",
    "'''",
    "#",
    "\n",
    "{",
    "}",
    ".",
    ",",
    "-",
    "0x",
    "1e9",
    "99999999999999999999999",
    "true",
    "\u{0}",
    "🙂",
    "inherits = \"gtx480-wc\"\n",
    "[sm]\n",
    "sm.warps = 0\n",
    "[sm.fetch]\n",
    "[[sm]]\n",
    "\\u0000",
    "nan",
    "1979-05-27T07:32:00Z",
];

#[test]
fn mutated_presets_never_panic() {
    let mut random = SplitMix64::new(3);
    let mut texts: Vec<String> = PRESETS.iter().map(|preset| preset.text.to_owned()).collect();
    texts.push(to_toml(&Config::default(), true));
    texts.push(to_toml(&Config::default(), false));
    let (mut read, mut refused) = (0, 0);
    for round in 0..20_000 {
        let mut bytes = texts[random.below(texts.len() as u32) as usize].clone().into_bytes();
        for _ in 0..=random.below(4) {
            let at = random.below(bytes.len() as u32 + 1) as usize;
            let end = (at + random.below(12) as usize).min(bytes.len());
            match random.below(4) {
                0 => drop(bytes.drain(at..end)),
                1 => {
                    let snippet = SNIPPETS[random.below(SNIPPETS.len() as u32) as usize];
                    bytes.splice(at..at, snippet.bytes());
                }
                2 => bytes[at..end].iter_mut().for_each(|byte| *byte = random.next_u32() as u8),
                _ => {
                    let copy = bytes[at..end].to_vec();
                    let to = random.below(bytes.len() as u32 + 1) as usize;
                    bytes.splice(to..to, copy);
                }
            }
        }
        let text = String::from_utf8_lossy(&bytes);
        match Config::load(&text, "fuzz.toml") {
            Ok(config) => {
                read += 1;
                assert_eq!(validate(&config), Ok(()), "round {round}: {text}");
            }
            Err(errors) => {
                refused += 1;
                let lines = text.lines().count() as u32 + 1;
                for error in &errors {
                    let place = error.place.as_ref().expect("a place");
                    assert!((1..=lines).contains(&place.line), "round {round}: {error}");
                    assert!(!error.problem.message().is_empty() && !error.problem.help().is_empty());
                }
                assert!(!errors.is_empty());
            }
        }
    }
    assert!(read > 1000 && refused > 1000, "{read} read, {refused} refused");
}

#[test]
fn mutated_settings_never_panic() {
    let mut random = SplitMix64::new(4);
    let settings: Vec<String> =
        listing(&Config::default()).iter().map(|(key, value)| format!("{key}={value}")).collect();
    for _ in 0..4_000 {
        let mut text = settings[random.below(settings.len() as u32) as usize].clone();
        let snippet = SNIPPETS[random.below(SNIPPETS.len() as u32) as usize];
        let at = random.below(text.len() as u32 + 1) as usize;
        text.insert_str(at, snippet);
        if let Err(error) = apply(&mut Config::default(), &text) {
            assert!(!error.to_string().contains(char::is_control), "{error}");
        }
    }
}
