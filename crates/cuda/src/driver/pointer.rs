// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a pointer points to (`CUpointer_attribute`).

use crate::core::memory::{MemoryKind, Pointed};
use crate::core::{Code, Core, Result};
use crate::driver::context::current;
use crate::driver::{In, Out, api, with};

const HOST: u32 = 1;
const DEVICE: u32 = 2;

/// What is known of a pointer: start, size, kind, number.
struct Known {
    base: u64,
    bytes: u64,
    kind: MemoryKind,
    id: u64,
}

fn look(core: &Core, at: u64) -> Option<Known> {
    match core.pointed(at) {
        Pointed::Block(block) => {
            Some(Known { base: block.base, bytes: block.bytes, kind: block.kind, id: block.id })
        }
        Pointed::Variable { base, bytes } => Some(Known { base, bytes, kind: MemoryKind::Device, id: base }),
        Pointed::Nothing | Pointed::Host => None,
    }
}

/// Writes an attribute, in the size that it has.
fn write(known: &Known, number: u32, at: u64, data: u64) -> Result<()> {
    let (word, flag) =
        (|value: u64| Out::<u64>::at(data).put(value), |value: u32| Out::<u32>::at(data).put(value));
    let byte = |value: bool| Out::<u8>::at(data).put(u8::from(value));
    let of_host = matches!(known.kind, MemoryKind::Pinned { .. } | MemoryKind::Registered { .. });
    match number {
        1 => word(current()),
        2 => flag(if of_host { HOST } else { DEVICE }),
        3 => word(at),
        4 if known.kind.host_sees() => word(at),
        // Memory that the host cannot see has no address there.
        4 => Err(Code::INVALID_VALUE),
        6 => byte(false),
        7 | 20 => word(known.id),
        8 => byte(known.kind == MemoryKind::Managed),
        9 => Out::<i32>::at(data).put(0),
        10 => byte(false),
        11 | 19 => word(known.base),
        12 | 18 => word(known.bytes),
        13 => byte(true),
        14 => word(0),
        15 | 21 => byte(false),
        // The device reads and writes.
        16 => flag(3),
        17 => word(if let MemoryKind::Pool { pool } = known.kind { pool } else { 0 }),
        _ => Err(Code::INVALID_VALUE),
    }
}

/// What is written for a pointer that only the host knows.
fn write_nothing(number: u32, data: u64) -> Result<()> {
    match number {
        6 | 8 | 10 | 13 | 15 | 21 => Out::<u8>::at(data).put(0),
        2 | 16 => Out::<u32>::at(data).put(0),
        9 => Out::<i32>::at(data).put(-2),
        1 | 3 | 4 | 7 | 11 | 12 | 14 | 17..=20 => Out::<u64>::at(data).put(0),
        _ => Err(Code::INVALID_VALUE),
    }
}

api! {
    fn cuPointerGetAttribute(data: u64, number: u32, at: u64) {
        with(|core| {
            let known = look(core, at).ok_or(Code::INVALID_VALUE)?;
            write(&known, number, at, data)
        })
    }

    fn cuPointerGetAttributes(count: u32, numbers: In<u32>, data: In<u64>, at: u64) {
        let (numbers, data) = (numbers.list(count as usize)?, data.list(count as usize)?);
        with(|core| {
            let known = look(core, at);
            for (&number, &data) in numbers.iter().zip(&data) {
                match &known {
                    // Memory without an address on the host has none here either.
                    Some(known) if number != 4 || known.kind.host_sees() => write(known, number, at, data)?,
                    _ => write_nothing(number, data)?,
                }
            }
            Ok(())
        })
    }

    fn cuPointerSetAttribute(value: In<u8>, number: u32, at: u64) {
        value.get()?;
        // `SYNC_MEMOPS` alone can be set, and copies are that careful anyway.
        if number != 6 {
            return Err(Code::INVALID_VALUE);
        }
        with(|core| look(core, at).map(|_| ()).ok_or(Code::INVALID_VALUE))
    }
}
