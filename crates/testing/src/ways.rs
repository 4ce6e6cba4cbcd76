// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ways to use a technique, for all tests that run programs with one: what is stored is compared with what was given.

use warpwatt_runtime::Techniques;

/// Each setting of Warped-Compression that changes what happens, at least once, and techniques that rename registers, without what they add to
/// the program.
pub const WAYS: [&str; 14] = [
    "warped-compression",
    "warped-compression:observe=on,gating=off",
    "warped-compression:compression=off",
    "warped-compression:encodings=4-0",
    "warped-compression:encodings=4-1+4-2,valid_on=launch",
    "warped-compression:divergent=merge,compressors=1,decompressors=1",
    "warped-compression:window=thread",
    "warped-compression:window=thread,valid_on=launch,gating=on",
    "warped-compression:mov=off,compress_cycles=8,decompress_cycles=8,wake_cycles=50",
    "packing:coalesce=on",
    "virtualization",
    "corf:metadata=off",
    "corf++:metadata=off",
    "corf++:hints=parity",
];

/// A technique as it is written, watched.
pub fn with(text: &str) -> Techniques {
    let mut techniques = Techniques { verify: true, ..Techniques::default() };
    if !text.is_empty() {
        techniques.with(text).expect("it is legal");
    }
    techniques
}
