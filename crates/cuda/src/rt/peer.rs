// SPDX-License-Identifier: MIT OR Apache-2.0
//! Access from device to device. There is one device, which is not a peer of itself.

use crate::core::{Code, Result};
use crate::rt::api::{list, put, runtime};
use crate::rt::{check_device, with};

fn no_atomics(place: *mut u32, operations: *const i32, count: u32) -> Result<()> {
    // SAFETY: as many operations as the program says.
    for (index, _) in unsafe { list(operations, count as usize) }?.iter().enumerate() {
        // SAFETY: as many answers as questions.
        unsafe { put(place.wrapping_add(index), 0)? };
    }
    Ok(())
}

runtime! {
    all fn cudaDeviceCanAccessPeer(place: *mut i32, device: i32, peer: i32) unsafe {
        check_device(device)?;
        check_device(peer)?;
        put(place, 0)
    }

    all fn cudaDeviceEnablePeerAccess(peer: i32, flags: u32) {
        if flags != 0 {
            return Err(Code::INVALID_VALUE);
        }
        with(|_| Ok(()))?;
        check_device(peer)?;
        Err(Code::INVALID_DEVICE)
    }

    all fn cudaDeviceDisablePeerAccess(peer: i32) {
        with(|_| Ok(()))?;
        check_device(peer)?;
        Err(Code::PEER_ACCESS_NOT_ENABLED)
    }

    all fn cudaDeviceGetP2PAttribute(place: *mut i32, attribute: i32, from: i32, to: i32) {
        // Between two devices that are one, nothing is defined.
        if place.is_null() || !(1..=5).contains(&attribute) {
            return Err(Code::INVALID_VALUE);
        }
        check_device(from)?;
        check_device(to)?;
        Err(Code::INVALID_DEVICE)
    }

    only13 fn cudaDeviceGetP2PAtomicCapabilities(
        place: *mut u32, operations: *const i32, count: u32, from: i32, to: i32,
    ) {
        check_device(from)?;
        check_device(to)?;
        no_atomics(place, operations, count)
    }

    only13 fn cudaDeviceGetHostAtomicCapabilities(place: *mut u32, operations: *const i32, count: u32, device: i32) {
        check_device(device)?;
        no_atomics(place, operations, count)
    }
}
