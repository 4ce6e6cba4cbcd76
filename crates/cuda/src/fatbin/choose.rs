// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which of an image's entries runs: the PTX for the newest architecture that the device has, as on hardware; else the oldest of
//! those beyond, since the simulator is not bound to one. Code for one architecture alone comes last.

use super::{Entry, EntryKind};

/// Why nothing in an image can run.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refusal {
    #[error(
        "the image holds no PTX, only machine code for {}; add PTX when compiling: \
         `-gencode arch=compute_75,code=compute_75` (nvcc), `--cuda-include-ptx=sm_75` (clang); with NVRTC compile for \
         `compute_75` and take `nvrtcGetPTX` in place of `nvrtcGetCUBIN`",
        .0.join(", ")
    )]
    MachineCode(Vec<String>),
    #[error(
        "the image holds no PTX, only intermediate code of kind {0:#x}; compile without link-time optimisation \
         (`-dlto`, `code=lto_75`), or add `-gencode arch=compute_75,code=compute_75`"
    )]
    Intermediate(u16),
    #[error("the image holds no code")]
    Empty,
}

/// The PTX text that suits a device of this capability (75 stands for 7.5).
pub fn choose(entries: &[Entry], capability: u32) -> Result<String, Refusal> {
    let rank = |entry: &&Entry| {
        let beyond = entry.sm > capability;
        // Smaller is better: not specific, not beyond; then the nearest.
        (
            entry.specific,
            beyond,
            if beyond { entry.sm } else { capability - entry.sm },
            std::cmp::Reverse(entry.isa),
        )
    };
    if let Some(best) = entries.iter().filter(|entry| entry.kind == EntryKind::Ptx).min_by_key(rank) {
        return Ok(String::from_utf8_lossy(&best.payload).into_owned());
    }
    let mut machines: Vec<_> = entries
        .iter()
        .filter(|entry| entry.kind == EntryKind::Elf)
        .map(|entry| (entry.sm, entry.specific))
        .collect();
    machines.sort_unstable();
    machines.dedup();
    let name = |(sm, specific)| match (sm, specific) {
        (0, _) => "an unknown architecture".to_owned(),
        (sm, false) => format!("sm_{sm}"),
        (sm, true) => format!("sm_{sm}a"),
    };
    Err(match (machines.is_empty(), entries.first()) {
        (false, _) => Refusal::MachineCode(machines.into_iter().map(name).collect()),
        (true, Some(Entry { kind: EntryKind::Other(kind), .. })) => Refusal::Intermediate(*kind),
        (true, _) => Refusal::Empty,
    })
}

/// What follows a directive at the beginning of a line, up to the end of the line or a comma.
fn directive<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = text.lines().map(str::trim);
    let rest = lines.find_map(|line| line.strip_prefix(name).filter(|rest| rest.starts_with([' ', '\t'])))?;
    rest.split([',', '/']).next().map(str::trim)
}

/// The number of `.version 8.4`.
pub(super) fn version_of(text: &str) -> (u16, u16) {
    let number = directive(text, ".version").and_then(|version| {
        let (major, minor) = version.split_once('.')?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    });
    number.unwrap_or_default()
}

/// The number of `.target sm_90a`, and whether it is for that architecture alone.
pub fn target_of(text: &str) -> (u32, bool) {
    let Some(name) = directive(text, ".target").and_then(|target| target.strip_prefix("sm_")) else {
        return (0, false);
    };
    let digits = name.trim_end_matches(['a', 'f']);
    (digits.parse().unwrap_or(0), digits.len() < name.len())
}
