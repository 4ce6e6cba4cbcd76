// SPDX-License-Identifier: MIT OR Apache-2.0
//! Flat bytes: global memory as buffers at fixed addresses, and the windows of the generic address space.

use std::collections::BTreeMap;

pub const SHARED: u64 = 0x1_0000_0000;
pub const LOCAL: u64 = 0x2_0000_0000;
pub const CONST: u64 = 0x3_0000_0000;
pub const PARAM: u64 = 0x4_0000_0000;
pub const FUNCTION: u64 = 0x5_0000_0000;
pub const WINDOW: u64 = 0x1_0000_0000;

/// Global memory: buffers by their first address. Buffers do not touch: an access stays inside of one.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    buffers: BTreeMap<u64, Vec<u8>>,
}

impl Memory {
    pub fn new() -> Memory {
        Memory::default()
    }

    pub fn map(&mut self, address: u64, bytes: Vec<u8>) {
        self.buffers.insert(address, bytes);
    }

    /// The buffer that starts at `address`.
    pub fn buffer(&self, address: u64) -> Option<&[u8]> {
        self.buffers.get(&address).map(Vec::as_slice)
    }

    pub(crate) fn bytes(&mut self, address: u64, len: u64) -> Result<&mut [u8], String> {
        self.buffers
            .range_mut(..=address)
            .next_back()
            .and_then(|(&base, bytes)| slice(bytes, address - base, len))
            .ok_or_else(|| format!("global address {address:#x} (+{len}) is in no buffer"))
    }
}

/// `len` bytes from `offset`, if they are there.
pub(crate) fn slice(bytes: &mut [u8], offset: u64, len: u64) -> Option<&mut [u8]> {
    let start = usize::try_from(offset).ok()?;
    let end = start.checked_add(usize::try_from(len).ok()?)?;
    bytes.get_mut(start..end)
}

pub(crate) fn load(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
}

pub(crate) fn store(bytes: &mut [u8], value: u64) {
    for (index, byte) in bytes.iter_mut().enumerate() {
        *byte = (value >> (8 * index)) as u8;
    }
}
