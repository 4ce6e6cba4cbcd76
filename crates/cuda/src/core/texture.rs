// SPDX-License-Identifier: MIT OR Apache-2.0
//! Texture and surface objects and references.

/// All texture and surface objects that the program holds, and its references.
#[derive(Default)]
pub struct Textures {}

impl Textures {
    pub fn new() -> Textures {
        Textures::default()
    }
}
